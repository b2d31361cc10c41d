//! What is wrong with a criterion's file is named with its place, and says what to write.

use std::path::Path;

use fairpace_experiment::{Criterion, Form, load};
use fairpace_scenario::Invalid;

use crate::support::{SMALL, small};

fn parse(text: &str) -> Result<Criterion, Invalid> {
    Criterion::parse(Path::new("folder/small.toml"), text)
}

#[test]
fn the_small_criterion_is_right() {
    let criterion = parse(SMALL).unwrap();
    let cases = criterion.cases("reno", &[], Form::Full, "").unwrap();
    let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["10mbit 10/10ms", "10mbit 10/50ms", "100mbit 10/10ms", "100mbit 10/50ms"]);
    assert_eq!((cases[1].row.as_str(), &cases[1].column[..]), ("10/50ms", &["10mbit".to_owned()][..]));
    assert_eq!(criterion.cases("reno", &[], Form::Quick, "").unwrap().len(), 2);
    let asked = criterion.conditions();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].text, "short queue: queue_ms <= 8 or 4");
    assert_eq!(criterion.name, "small");
}

/// What is replaced by what, and the place, key and message of the problem.
const WRONG: [(&str, &str, (usize, &str, &str)); 25] = [
    ("title = \"Small\"\n", "", (0, "title", "`title` is missing")),
    ("why = \"Tests are.\"", "why = 3", (4, "why", "invalid type: integer `3`, expected a string")),
    ("[page]", "[pages]", (13, "pages", "there is no key `pages`")),
    (
        "rtts = [[10, 10], [10, 50]]",
        "rtts = 10",
        (8, "axis.rtts", "invalid type: integer `10`, expected a sequence"),
    ),
    ("rtts = [[10, 10], [10, 50]]", "rtts = [1979-05-27]", (8, "axis.rtts.1", "this is no value of `rtts`")),
    ("rtts = [[10, 10], [10, 50]]", "rtts = []", (8, "axis.rtts", "the axis has no value")),
    ("[10, 50]]", "[10, 10]]", (8, "axis.rtts.2", "`10/10` is there twice")),
    ("rate = \"100mbit\", most", "rate = \"100mbit\", least", (7, "axis.rate.2", "same names as the first")),
    ("rate = [\"10mbit\"]", "rate = [\"11mbit\"]", (11, "quick.rate.1", "the axis `rate` has no such value")),
    ("rate = [\"10mbit\"]", "rat = [\"10mbit\"]", (11, "quick.rat", "there is no key `rat`")),
    ("columns = [\"rate\"]", "columns = [\"bdp\"]", (14, "page.columns", "it must be a list of axes")),
    (
        "name = \"{rate} {rtts}ms\"",
        "name = \"{rate} {rtt}ms\"",
        (16, "template.1", "no axis has a value `rtt`"),
    ),
    ("each = \"rtts\", ", "", (21, "template.1.flow.1.apart", "there is no `each`")),
    ("apart = \"500ms\"", "apart = \"500\"", (21, "template.1.flow.1.apart", "500")),
    ("duration = \"10s\"", "seed = 3", (18, "template.1.seed", "a template has no `seed`")),
    ("duration = \"10s\"", "available = 2", (18, "template.1.available", "above 0 and at most 1")),
    ("[[template]]", "[template]", (16, "template", "expected a sequence")),
    ("metric = \"queue_ms\"", "metric = \"queue\"", (25, "condition.1.metric", "there is no metric `queue`")),
    ("metric = \"queue_ms\"", "metric = \"share\"", (23, "condition.1.of", "`of` is missing")),
    (
        "metric = \"queue_ms\"",
        "metric = \"jain\"\nof = \"a\"",
        (26, "condition.1.of", "`jain` is of all flows"),
    ),
    ("at_most = \"{most}\"", "at_most = \"4\"", (26, "condition.1.at_most", "this is no number")),
    ("at_most = \"{most}\"", "at_mots = 4", (26, "condition.1.at_mots", "there is no key `at_mots`")),
    ("at_most = \"{most}\"\n", "", (23, "condition.1", "the condition has no bound")),
    ("at_most = \"{most}\"", "at_most = \"{mots}\"", (23, "condition.1", "no axis that has a value `mots`")),
    ("id = \"S1\"", "id = S1", (1, "", "this is not TOML")),
];

#[test]
fn a_wrong_file_is_named_with_line_and_key() {
    for (replaced, by, (line, key, message)) in WRONG {
        let invalid = parse(&small(replaced, by)).expect_err(by);
        let found = invalid.problems.iter().find(|problem| {
            problem.key == key && problem.message.contains(message) && (line == 0 || problem.line == line)
        });
        let problem = found.unwrap_or_else(|| panic!("{by}: {line} {key} {message} is not in\n{invalid}"));
        assert_eq!(problem.file, "folder/small.toml");
        assert_eq!(problem.about, "criterion");
    }
}

#[test]
fn a_product_of_axes_has_a_limit() {
    let many = |name: &str| format!("{name} = {:?}\n", (0..101).collect::<Vec<_>>());
    let text = small("[quick]", &format!("{}{}\n[quick]", many("a"), many("b")));
    let text = text.replace("name = \"{rate} {rtts}ms\"", "name = \"{rate} {rtts}ms {a} {b}\"");
    let invalid = parse(&text).unwrap_err();
    assert!(invalid.to_string().contains("gives 40804 cases; it may give 10000"), "{invalid}");
}

#[test]
fn a_scenario_that_is_wrong_is_named_at_the_line_of_its_template() {
    let wrong = [
        (
            "rate = \"10mbit\", most",
            "rate = \"10mbps\", most",
            20,
            "link.rate",
            "(in the case `10mbps 10/10ms`)",
        ),
        ("name = \"{rate} {rtts}ms\"", "name = \"{rate}\"", 17, "template.1.name", "two cases are called"),
        ("duration = \"10s\"", "duration = \"1s\"", 19, "window", "in the case"),
        ("buffer = \"0.01bdp\"", "bufer = \"1bdp\"", 20, "link.bufer", "there is no key `bufer`"),
        ("apart = \"500ms\", ", "start = 5, ", 21, "flow.start", "in the case"),
    ];
    for (replaced, by, line, key, message) in wrong {
        let text = small(replaced, by).replace("rate = [\"10mbit\"]", "rate = [\"100mbit\"]");
        let invalid = parse(&text).unwrap().cases("reno", &[], Form::Full, "").expect_err(by);
        let problem = &invalid.problems[0];
        assert_eq!((problem.line, problem.file.as_str()), (line, "folder/small.toml"), "{invalid}");
        assert!(
            problem.key.starts_with(key) && problem.message.contains(message),
            "{}: {invalid}",
            problem.key
        );
    }
}

#[test]
fn a_wrong_set_is_named_as_such() {
    let sets = ["link.rat=1mbit".parse().unwrap()];
    let invalid = parse(SMALL).unwrap().cases("reno", &sets, Form::Full, "").unwrap_err();
    assert_eq!(invalid.problems[0].file, "--set", "{invalid}");
}

#[test]
fn a_condition_of_flows_needs_them_in_every_template() {
    let text = small("metric = \"queue_ms\"", "metric = \"share\"\nof = \"own\"");
    let invalid = parse(&text).unwrap().cases("reno", &[], Form::Full, "").unwrap_err();
    assert!(invalid.to_string().contains("there is no flow `own`"), "{invalid}");
    assert_eq!(invalid.problems[0].line, 23);
}

#[test]
fn a_folder_has_criteria_with_ids_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    assert!(load(folder.path()).unwrap_err().to_string().contains("there is no criterion in it"));
    assert!(load(&folder.path().join("none")).unwrap_err().to_string().contains("cannot read it"));
    std::fs::write(folder.path().join("a.toml"), SMALL).unwrap();
    std::fs::write(folder.path().join("b.toml"), small("id = \"S1\"", "id = \"S0\"")).unwrap();
    let ids: Vec<_> = load(folder.path()).unwrap().into_iter().map(|criterion| criterion.id).collect();
    assert_eq!(ids, ["S0", "S1"]);
    std::fs::write(folder.path().join("c.toml"), SMALL).unwrap();
    let invalid = load(folder.path()).unwrap_err();
    assert!(invalid.to_string().contains("c.toml:1:6: `S1` is the id of"), "{invalid}");
}

#[test]
fn cases_without_conditions_can_be_measured_and_are_no_criteria() {
    let (text, _) = SMALL.split_once("[[condition]]").unwrap();
    let cases = parse(text).unwrap().cases("reno", &[], Form::Full, "").unwrap();
    assert_eq!(cases.len(), 4);
    assert!(cases.iter().all(|case| case.checks.is_empty()));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), text).unwrap();
    let invalid = load(folder.path()).unwrap_err();
    assert!(invalid.to_string().contains("there is no `condition`"), "{invalid}");
}
