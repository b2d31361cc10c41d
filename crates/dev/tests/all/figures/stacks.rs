//! The stacks that a paper declares, the figures that the testbed takes, and records whose figures change.

use std::path::Path;

use fairpace_papers::plan::Plan;
use fairpace_papers::{load, results};
use fairpace_scenario::{Scenario, Target};

use super::{FIGURE, PAPER, ROOT, cached, check, folder, record, reproduce};
use crate::support::{Folder, program};

/// A second stack with a longer RTT for all flows.
const BASES: &str = r#"
[[stack]]
name = "near"
title = "as it is"
why = "The paper does not say."

[[stack]]
name = "far"
title = "far away"
why = "The paper does not say."
set = ["flow.rtt=100ms"]
"#;

/// A folder whose paper has [`BASES`].
fn folder_with_bases() -> Folder {
    let place = folder();
    place.write("reproduction/bbq-ma2017/paper.toml", &format!("{PAPER}{BASES}"));
    place
}

#[test]
fn every_base_is_run_judged_and_shown() {
    let place = folder_with_bases();
    // one flow keeps to its own RTT; a hundredth of the rate with one stack alone
    let rate = BASES.replace("flow.rtt=100ms", "link.rate=1mbit");
    place.write("reproduction/bbq-ma2017/paper.toml", &format!("{PAPER}{rate}"));
    let output =
        program().args(["run", "reproduction", "--write"]).current_dir(place.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("bbq-ma2017/fig01: replicated, 4 runs"), "{stderr}");
    assert!(stderr.contains("bbq-ma2017/fig01 on far: partly replicated, 4 runs"), "{stderr}");
    let record = record(&place);
    assert_eq!([&record[0]["stack"], &record[1]["stack"]], ["near", "far"]);
    let front = place.read("REPRODUCTION.md");
    assert!(front.contains("| replicated; partly replicated |"), "{front}");
    let page = place.read("reproduction/bbq-ma2017/README.md");
    assert!(
        page.contains("| simulator, as it is | simulator, far away |") && page.contains("`link.rate=1mbit`")
    );
    assert!(page.contains("**replicated** (as it is), **partly replicated** (far away)"), "{page}");
    assert!(place.read("reproduction/gallery.html").contains("With far away"));
    reproduce(&place, &["--short", "--quiet"]).succeeds();
    let short = results::load_short(&place.path().join("reproduction")).unwrap();
    let names: Vec<_> = short.keys().collect();
    assert_eq!(names, ["bbq-ma2017/fig01", "bbq-ma2017/fig01 on far"]);
}

#[test]
fn a_run_keeps_to_its_own_value_of_what_a_base_sets() {
    let place = folder_with_bases();
    let sheet = load::papers(&place.path().join("reproduction")).unwrap().remove(0).sheets.remove(0);
    let rtts = |stack| {
        let plan = Plan::of(&sheet, stack, Target::Simulator, false).unwrap();
        let flows: Vec<_> = plan.scenarios().flat_map(|of| of.flows.iter().map(|flow| flow.rtt)).collect();
        flows.into_iter().map(|rtt| rtt.as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(rtts(&sheet.stacks[0]), [40, 60, 40, 60, 80, 60, 80, 60]);
    assert_eq!(rtts(&sheet.stacks[1]), [40, 100, 40, 100, 80, 100, 80, 100]);
}

#[test]
fn what_is_known_of_a_papers_hosts_is_set_in_simulations_and_shown() {
    let place = folder();
    let paper = |why: &str, set: &str| {
        let hosts = format!("{PAPER}\n[hosts]\nwhy = \"{why}\"\nset = [\"{set}\"]\n{BASES}");
        place.write("reproduction/bbq-ma2017/paper.toml", &hosts);
    };
    paper("It says so.", "flow.psh_ack=false");
    let figure = FIGURE.replace("no_kernel = \"this is a test\"", "kernel = { repeats = 1 }");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    let sheet = load::papers(&place.path().join("reproduction")).unwrap().remove(0).sheets.remove(0);
    for (on, stack, expected) in
        [(Target::Simulator, 0, false), (Target::Simulator, 1, false), (Target::Testbed, 0, true)]
    {
        let plan = Plan::of(&sheet, &sheet.stacks[stack], on, false).unwrap();
        let mut flows = plan.scenarios().flat_map(|of| &of.flows).peekable();
        assert!(flows.peek().is_some() && flows.all(|flow| flow.receiving.psh_ack == expected), "{on:?}");
    }
    paper("It says so.", "flow.psh_ack");
    check(&place).fails(2, "KEY=VALUE");
    paper("", "flow.psh_ack=false");
    check(&place).fails(2, "`why` is empty");
    paper("It says so.", "flow.psh_ack=false");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", FIGURE);
    reproduce(&place, &["--quiet"]).succeeds();
    for page in ["reproduction/bbq-ma2017/README.md", "reproduction/gallery.html"] {
        let page = place.read(page);
        assert!(page.contains("It says so.") && page.contains("flow.psh_ack=false"), "{page}");
    }
}

#[test]
fn real_flows_have_a_base_as_far_as_the_testbed_has_its_keys() {
    let place = folder_with_bases();
    let figure = FIGURE.replace("no_kernel = \"this is a test\"", "kernel = { repeats = 1 }");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    let real = |set: &str| {
        let set = BASES.replace("flow.rtt=100ms", set);
        place.write("reproduction/bbq-ma2017/paper.toml", &format!("{PAPER}{set}"));
        let sheet = load::papers(&place.path().join("reproduction")).unwrap().remove(0).sheets.remove(0);
        Plan::of(&sheet, &sheet.stacks[1], Target::Testbed, false).map(|plan| plan.cases.len())
    };
    let all = real("flow.rtt=100ms").unwrap();
    assert!(all > 0);
    assert_eq!(real("flow.tso=false").unwrap(), all);
    assert_eq!(real("flow.sack=false").unwrap(), all);
    assert_eq!(real("flow.tlp=false").unwrap(), 0, "the testbed has no such key");
    assert!(real("flow.rtt=0s").is_err(), "that is wrong anywhere");
}

#[test]
fn a_figure_may_leave_a_base_out_with_a_reason() {
    let place = folder_with_bases();
    let without = |why: &str| {
        let figure = FIGURE.replacen("[short]", &format!("[no_stack]\n{why}\n\n[short]"), 1);
        place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    };
    without("far = \"Its RTTs are the question.\"");
    reproduce(&place, &["--quiet"]).succeeds();
    assert_eq!(cached(&place), 4);
    let page = place.read("reproduction/bbq-ma2017/README.md");
    assert!(page.contains("- Not run with far away: Its RTTs are the question."), "{page}");
    without("near = \"It is the first.\"");
    check(&place).fails(2, "the paper has no stack `near` to leave out");
    without("far = \"\"");
    check(&place).fails(2, "it does not say why");
}

#[test]
fn a_table_of_runs_has_a_file_for_each_base() {
    let place = folder_with_bases();
    let figure = FIGURE
        .replace("scenario = \"small.toml\"", "table = \"runs.csv\"")
        .replace("flow.1.rtt=", "rtt=")
        .replace("flow.*.goodput_mbps", "table.mbps")
        .replace("flow.1.goodput_mbps", "table.least");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    let rows = "rtt,mbps,least\n40ms,10,1\n40ms,10.5,1\n80ms,9,1\n80ms,9.5,1.5\n";
    place.write("reproduction/bbq-ma2017/fig01/runs.csv", rows);
    reproduce(&place, &["--quiet"]).fails(2, "there is no table `runs-far.csv`");
    place.write("reproduction/bbq-ma2017/fig01/runs-far.csv", &rows.replace("ms,10,1", "ms,90,1"));
    reproduce(&place, &["--quiet"]).succeeds();
    let page = place.read("reproduction/bbq-ma2017/README.md");
    let row = page.lines().find(|line| line.contains("| goodput |")).unwrap();
    assert!(row.contains("| 10.2 ± 3.2, holds |") && row.contains("| 50 ± 505, open |"), "{row}");
}

#[test]
fn wrong_bases_are_reported_with_their_place() {
    for (from, to, message) in [
        ("name = \"far\"", "name = \"near\"", "two stacks are called `near`"),
        ("why = \"The paper does not say.\"", "why = \" \"", "`why` is empty"),
        ("set = [\"flow.rtt=100ms\"]", "", "`far` is stack 2 and sets 0 keys"),
        ("flow.rtt=100ms", "flow.rtt", "is not KEY=VALUE"),
    ] {
        let place = folder();
        let paper = format!("{PAPER}{}", BASES.replacen(from, to, 1));
        place.write("reproduction/bbq-ma2017/paper.toml", &paper);
        let ended = check(&place);
        ended.fails(2, message);
        assert!(ended.message().contains("paper.toml"), "{}", ended.message());
    }
}

#[test]
fn every_figure_that_real_flows_can_show_is_one_that_the_testbed_takes() {
    for sheet in load::papers(Path::new(ROOT)).unwrap().iter().flat_map(|folder| &folder.sheets) {
        let plans = sheet.stacks.iter().map(|stack| Plan::of(sheet, stack, Target::Testbed, false));
        let cases: usize = plans.map(|plan| plan.unwrap_or_else(|e| panic!("{e:?}")).cases.len()).sum();
        assert_eq!(cases > 0, sheet.figure.kernel.is_some(), "{}", sheet.name());
    }
}

#[test]
fn real_flows_run_the_cell_of_the_grid_that_a_table_has_rows_of() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reproduction");
    let papers = load::papers(&root).unwrap();
    let mut sheets = papers.iter().flat_map(|paper| &paper.sheets);
    let sheet = sheets.find(|sheet| sheet.name() == "bbrv3-startup-mahmud2025/claim").unwrap();
    let plan = |stack: usize| Plan::of(sheet, &sheet.stacks[stack], Target::Testbed, false).unwrap();
    let named = sheet.figure.kernel.as_ref().unwrap();
    let usual = plan(0);
    assert_eq!(usual.cases.len(), named.runs.len(), "those that are named, and no other table");
    let scenarios: Vec<_> = usual.scenarios().collect();
    assert_eq!(scenarios.len(), named.runs.len() * named.repeats as usize);
    let seeds: Vec<u64> = scenarios.iter().take(named.repeats as usize).map(|of| of.seed).collect();
    assert_eq!(seeds, (1..=u64::from(named.repeats)).collect::<Vec<_>>(), "the seeds of the table");
    assert!(scenarios.iter().all(|of| of.flows.len() == 2 && of.duration.as_secs() == 150));
    let starts = |of: &Scenario| of.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    assert_ne!(starts(scenarios[0]), starts(scenarios[1]), "they are drawn from the seed");
    let jumbo = plan(1);
    assert_eq!(jumbo.cases.len(), usual.cases.len(), "with packets of 9000 bytes as well");
    assert!(jumbo.scenarios().all(|of| of.flows.iter().all(|flow| flow.sending.mtu_bytes == 9000)));
}
