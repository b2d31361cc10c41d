//! `fairpace-dev run` with figures of papers: the short version of each has the recorded verdict, records are
//! checked and shown, and an interruption loses no finished run.

mod repository;
mod stacks;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fairpace_cli_core::progress::expected_packets;
use fairpace_papers::judge::Rule;
use fairpace_papers::kept::path;
use fairpace_papers::plan::Plan;
use fairpace_papers::record::{Finding, Mean, Record, Verdict};
use fairpace_papers::results::{self, Quick};
use fairpace_papers::sheet::Sheet;
use fairpace_papers::{front, load};
use fairpace_scenario::Target;
use fairpace_test_support::{TWO_FLOWS, announce};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::documented::undocumented_keys;
use crate::support::{Ended, Folder, files_below, program, run};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reproduction");

const PAPER: &str = r#"title = "A paper"
authors = "A. Author, 2016"
published = "somewhere"
about = "It says something."
figures = ["fig01"]
"#;

/// A BBR flow against a Reno flow at two RTTs.
const FIGURE: &str = r#"title = "Two flows"
source = "figure 1"
setup = "two flows"
expect = "they share"
no_kernel = "this is a test"

[short]
set = ["duration=1500ms"]

[[run]]
name = "both"
scenario = "small.toml"
seeds = 2

[run.sweep]
title = "RTT, ms"
point = [
    { at = "40 ms", x = 40, set = ["flow.1.rtt=40ms"] },
    { at = "80 ms", x = 80, set = ["flow.1.rtt=80ms"] },
]

[[value]]
what = "goodput"
unit = "Mbit/s"
measure = { run = "both", at = "40 ms", of = "flow.*.goodput_mbps" }
published = 10
tolerance_ratio = 0.5
tolerance_why = "one run"
quote = "The link is full."

[[shape]]
what = "one flow is faster"
quote = "One is faster."
measure = { run = "both", at = "80 ms", of = "flow.*.goodput_mbps" }
is = "above"
than = { run = "both", at = "80 ms", of = "flow.1.goodput_mbps" }

[[plot]]
kind = "sweep"
x = "RTT, ms"
y = "Mbit/s"
line = [{ label = "both", measure = { run = "both", of = "flow.*.goodput_mbps" } }]
"#;

/// A run that is not in the paper.
const OURS: &str = r#"[[run]]
name = "ours"
scenario = "small.toml"
seeds = 2
beside = true

"#;

/// [`FIGURE`] with a run that is not in the paper, alone on its line of the picture.
fn with_ours() -> String {
    let line = ", { label = \"ours\", measure = { run = \"ours\", of = \"flow.*.goodput_mbps\" } }]";
    FIGURE.replacen("[[value]]", &format!("{OURS}[[value]]"), 1).replacen(" }]", &format!(" }}{line}"), 1)
}

/// Performs the command on the folder `reproduction` of a place, and writes what comes of it.
fn reproduce(place: &Folder, arguments: &[&str]) -> Ended {
    run(&[&["run", &place.file("reproduction"), "--write"], arguments].concat())
}

/// Whether the records are those of the figures.
fn check(place: &Folder) -> Ended {
    run(&["run", &place.file("reproduction"), "--check"])
}

/// The numbers on record of the only figure, one entry for each place and stack.
fn record(place: &Folder) -> serde_json::Value {
    serde_json::from_str(&place.read("reproduction/results/bbq-ma2017/fig01.json")).unwrap()
}

/// What a figure came to with its first stack, as its record has it.
fn verdict(place: &Folder) -> Verdict {
    let root = place.path().join("reproduction");
    let sheet = load::papers(&root).unwrap().remove(0).sheets.remove(0);
    Record::load(&root, &sheet).unwrap().verdict(&sheet.stacks[0])
}

/// A page without its line breaks.
fn flat(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder of papers with one figure.
fn folder() -> Folder {
    let place = Folder::create();
    let figure = "reproduction/bbq-ma2017/fig01";
    fs::create_dir_all(place.path().join(figure)).unwrap();
    place.write("reproduction/bbq-ma2017/paper.toml", PAPER);
    place.write("reproduction/bbq-ma2017/small.toml", &TWO_FLOWS.replace("200kB", "100kB"));
    place.write(&format!("{figure}/figure.toml"), FIGURE);
    place
}

/// With one thing in `figure.toml` written otherwise.
fn with(from: &str, to: &str) -> Folder {
    let place = folder();
    assert!(FIGURE.contains(from), "{from}");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &FIGURE.replacen(from, to, 1));
    place
}

/// All files below a folder, with what is in them.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if entry.path().is_dir() && name != ".cache" {
            copy(&entry.path(), &to.join(name));
        } else if entry.path().is_file() {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// Finished runs in the cache.
fn cached(place: &Folder) -> usize {
    files_below(&place.path().join("reproduction/.cache")).len()
}

#[test]
fn what_a_change_of_a_cause_does_is_computed_and_shown() {
    let place = folder();
    let quote = "quote = \"The link is full.\"\n";
    let cause = "[[value.cause]]\nwhat = \"with a tenth of the rate\"\n\
                 measure = { run = \"slow\", of = \"flow.*.goodput_mbps\" }\n";
    let slow = "[[run]]\nname = \"slow\"\nscenario = \"small.toml\"\nset = [\"link.rate=1mbit\"]\n\
                seeds = 2\nbeside = true\n\n[[value]]";
    let figure = FIGURE
        .replace(quote, &format!("{quote}{cause}"))
        .replacen("[[value]]", slow, 1)
        .replace("published = 10", "published = 1");
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    reproduce(&place, &["--quiet"]).succeeds();
    let front = flat(&place.read("REPRODUCTION.md"));
    for said in ["0 of 1 published values hold", "such a change 1 hold"] {
        assert!(front.contains(said), "{said}: {front}");
    }
    let page = place.read("reproduction/bbq-ma2017/README.md");
    let row = page.lines().find(|line| line.contains("*with a tenth of the rate*")).unwrap();
    assert!(row.contains("reaches it"), "{row}");
    assert!(place.read("reproduction/gallery.html").contains("with a tenth of the rate"));
    reproduce(&place, &["--short", "--quiet"]).succeeds();
}

#[test]
fn a_question_has_its_pictures_beside_it() {
    let place = Folder::create();
    let question = "reproduction/open-questions/first";
    fs::create_dir_all(place.path().join(question)).unwrap();
    place.write("reproduction/open-questions/paper.toml", &PAPER.replace("fig01", "first"));
    place.write("reproduction/open-questions/small.toml", &TWO_FLOWS.replace("200kB", "100kB"));
    place.write(&format!("{question}/figure.toml"), FIGURE);
    reproduce(&place, &["--quiet"]).succeeds();
    let page = place.read("reproduction/open-questions/README.md");
    assert!(page.contains("Two flows") && page.contains("| one flow is faster |"), "{page}");
    assert!(page.contains("](first/picture-1.svg)"), "{page}");
    assert!(place.read(&format!("{question}/picture-1.svg")).contains("RTT, ms"));
}

#[test]
fn a_figure_is_run_recorded_and_shown() {
    let place = folder();
    let command = ["run", "reproduction/bbq-ma2017/fig01", "--write"];
    let output = program().args(command).current_dir(place.path()).output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(stdout.contains("replicated") && stdout.contains("one flow is faster"), "{stdout}");
    assert!(stderr.contains("bbq-ma2017/fig01: replicated, 4 runs"), "{stderr}");
    let record = &record(&place)[0];
    assert_eq!((&record["on"], &record["runs"]), (&"sim".into(), &4.into()));
    let checks = record["checks"].as_object().unwrap();
    assert_eq!(checks.len(), 2, "a value and a relation: {record}");
    assert!(checks.keys().all(|key| key.len() == 16) && record["curves"].is_null(), "{record}");
    assert!(place.read("REPRODUCTION.md").contains("| replicated |"));
    let page = place.read("reproduction/bbq-ma2017/README.md");
    assert!(page.contains("`fairpace-dev run reproduction/bbq-ma2017/fig01`"), "{page}");
    assert!(
        page.contains("](values.svg)")
            && place.read("reproduction/bbq-ma2017/values.svg").contains("fig01 1")
    );
    let gallery = place.read("reproduction/gallery.html");
    assert!(gallery.contains("A paper") && gallery.contains("RTT, ms"), "{gallery}");
    check(&place).succeeds();
}

#[test]
fn finished_runs_are_not_repeated_unless_asked() {
    let place = folder();
    reproduce(&place, &[]).succeeds();
    let result = || place.read("reproduction/results/bbq-ma2017/fig01.json");
    let first = result();
    reproduce(&place, &["--jobs", "1"]).succeeds();
    assert_eq!(result(), first, "with the times that the first runs took");
    reproduce(&place, &["--fresh"]).succeeds();
    assert_ne!(result(), first);
    let without_times = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        let measured = value[0].as_object_mut().unwrap();
        measured.retain(|key, _| key != "wall_s" && key != "cpu_s");
        value
    };
    assert_eq!(without_times(&result()), without_times(&first));
}

#[test]
fn words_may_change_but_a_number_of_another_run_or_bound_is_none() {
    let place = folder();
    reproduce(&place, &["--quiet"]).succeeds();
    let figure = "reproduction/bbq-ma2017/fig01/figure.toml";
    let before = record(&place);
    place.write(figure, &FIGURE.replace("The link is full.", "The link was full.").replace("Two", "2"));
    check(&place).succeeds();
    reproduce(&place, &["--quiet"]).succeeds();
    assert_eq!(record(&place), before, "words are not on record");
    let stale = "has 1 numbers on record of other scenarios or bounds";
    place.write(figure, &FIGURE.replace("tolerance_ratio = 0.5", "tolerance_ratio = 1e-9"));
    check(&place).fails(1, stale);
    assert_eq!(verdict(&place), Verdict::Partly, "the other number is as it was");
    place.write(figure, &FIGURE.replace("published = 10", "published = 11"));
    check(&place).fails(1, stale);
    place.write(figure, FIGURE);
    assert_eq!(verdict(&place), Verdict::Replicated);
    place.write("reproduction/bbq-ma2017/small.toml", &TWO_FLOWS.replace("200kB", "110kB"));
    assert_eq!(verdict(&place), Verdict::NotRun);
    check(&place).fails(1, "has 2 numbers on record");
}

#[test]
fn the_short_version_leaves_the_results_alone() {
    let place = folder();
    reproduce(&place, &["--short"]).succeeds();
    let short = results::load_short(&place.path().join("reproduction")).unwrap();
    let quick = Quick { verdict: Verdict::Replicated, measured: 2, fails: vec![] };
    assert_eq!(short.get("bbq-ma2017/fig01"), Some(&quick));
    assert_eq!(cached(&place), 2, "one seed at each point");
    let mut files = place.files();
    files.retain(|name| name != "reproduction");
    assert!(files.is_empty(), "{files:?}");
    assert_eq!(files_below(&place.path().join("reproduction/results")).len(), 1);
}

#[test]
fn a_run_that_is_not_in_the_paper_is_drawn_and_not_judged() {
    let place = folder();
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &with_ours());
    reproduce(&place, &["--short", "--quiet"]).succeeds();
    assert_eq!(cached(&place), 2, "the quick version has a verdict without it");
    reproduce(&place, &["--quiet"]).succeeds();
    let record = &record(&place)[0];
    assert_eq!((&record["runs"], verdict(&place)), (&6.into(), Verdict::Replicated));
    assert_eq!(record["checks"].as_object().unwrap().len(), 2);
    assert!(place.read("reproduction/gallery.html").contains("ours (not in the paper)"));
}

#[test]
fn a_number_stays_when_a_run_or_a_check_is_added_and_goes_when_its_own_measure_changes() {
    let place = folder();
    let root = place.path().join("reproduction");
    let sheet = |figure: &str| {
        let figure = figure.replace("no_kernel = \"this is a test\"", "[kernel]\nrepeats = 2");
        place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
        load::papers(&root).unwrap().remove(0).sheets.remove(0)
    };
    let before = sheet(FIGURE);
    let on = Target::Testbed;
    let mut measured =
        results::measured(&before, &before.stacks[0], on, Rule::Interval, &[], String::new(), "c");
    let seen = Mean { n: 2, mean: 7.0, half: Some(1.0) };
    measured.values[0].numbers.ours = vec![seen];
    let mut record = Record::blank(&before);
    record.add(measured);
    record.store(&root, &before).unwrap();
    let shape = "[[shape]]\nwhat = \"w\"\nours = true\nis = \"above\"\nfactor = 1\n\
                 measure = { run = \"both\", at = \"80 ms\", of = \"flow.*.goodput_mbps\" }\n";
    let first = |figure: &str| Record::load(&root, &sheet(figure)).unwrap().measured.pop();
    for figure in [with_ours(), format!("{FIGURE}\n{shape}")] {
        let measured = first(&figure).unwrap();
        assert_eq!(measured.values[0].ours(), Some(seen));
        assert_eq!(measured.shapes.last().unwrap().finding, Finding::NotMeasured);
    }
    assert_eq!(first(&FIGURE.replacen("goodput_mbps", "retransmits", 1)), None);
    let named = sheet(&with_ours().replace("no_kernel = \"this is a test\"", "[kernel]\nruns = [\"ours\"]"));
    let cases = Plan::of(&named, &named.stacks[0], on, false).unwrap().cases;
    assert_eq!(cases.iter().map(|case| case.run).collect::<Vec<_>>(), [1], "it runs where it is named");
}

#[test]
fn what_is_contradicted_ours_or_not_checked_is_listed() {
    let place = folder();
    let more = r#"
[[shape]]
what = "we expect more"
ours = true
measure = { run = "both", at = "80 ms", of = "flow.*.goodput_mbps" }
is = "above"
factor = 1000

[[shape]]
what = "goodput is not negative"
quote = "It is not negative."
by_construction = "Bytes are counted."
measure = { run = "both", at = "80 ms", of = "flow.*.goodput_mbps" }
is = "above"
factor = 0

[[claim]]
quote = "Users are happier."
why = "Users are not simulated."
"#;
    let figure = FIGURE.replace("published = 10", "published = 100") + more;
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure);
    reproduce(&place, &["--quiet"]).succeeds();
    let front = place.read("REPRODUCTION.md");
    let row = "| A. Author, 2016, 1 figure | simulator | 0 of 1 | 1 of 1 | 1 | 0 | 0 | 0 of 1 | 1 | 1 |";
    assert!(front.contains(row), "{front}");
    let page = place.read("reproduction/bbq-ma2017/README.md");
    let line =
        |of: &str| page.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {page}"));
    assert!(line("| 1 | goodput | 100 Mbit/s (± 50) |").ends_with(", **contradicted** |"), "{page}");
    line("| we expect more (ours) |");
    line("- Cannot fail: goodput is not negative. Bytes are counted.");
    line("- No check: “Users are happier.” Users are not simulated.");
    assert!(place.read("reproduction/gallery.html").contains("Users are not simulated."));
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on() {
    let place = with("seeds = 2", "seeds = 20");
    // some are finished in an instant, but not all
    let slow = TWO_FLOWS.replace("duration = \"2s\"", "duration = \"60s\"");
    place.write("reproduction/bbq-ma2017/small.toml", &slow);
    let mut command = program();
    command.args(["run", "reproduction", "--write", "--jobs", "1", "--quiet"]).current_dir(place.path());
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while cached(&place) < 2 {
        assert!(begun.elapsed() < Duration::from_secs(300), "nothing is finished");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), None, "it ends in order");
    let kept = cached(&place);
    assert!(kept >= 2, "{kept}");
    if output.status.success() {
        announce("NOT JUDGED", "the run was finished before the signal came");
        return;
    }
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    let said = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the same command goes on from there"), "{said}");
    assert!(!place.path().join("reproduction/results").exists(), "the figure is not finished");
    let newest = |place: &Folder| {
        let files = files_below(&place.path().join("reproduction/.cache"));
        files
            .into_iter()
            .map(|path| (fs::metadata(&path).unwrap().modified().unwrap(), path))
            .collect::<Vec<_>>()
    };
    let before = newest(&place);
    // the cache is that of the program, not of this test
    let status = program()
        .args(["run", "reproduction", "--write", "--quiet"])
        .current_dir(place.path())
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    let after = newest(&place);
    assert_eq!(after.len(), 40);
    assert!(before.iter().all(|file| after.contains(file)), "a finished run was run again");
}

#[test]
fn wrong_figures_are_reported_with_their_place_before_anything_runs() {
    let cases = [
        ("title = \"Two flows\"", "tilte = \"Two flows\"", "there is no key `tilte` here"),
        ("seeds = 2", "seeds = 0", "0 seeds"),
        ("scenario = \"small.toml\"", "scenario = \"none.toml\"", "there is no file `none.toml`"),
        ("scenario = \"small.toml\"\n", "", "must have one source"),
        ("no_kernel = \"this is a test\"", "", "nor why they cannot"),
        (
            "no_kernel = \"this is a test\"",
            "kernel = { repeats = 1, at_a_time = 0 }",
            "none would run, or all would be disturbed",
        ),
        ("tolerance_ratio = 0.5\n", "", "`goodput` has no tolerance"),
        ("\"one run\"", "\"\"", "`goodput` has a tolerance without a reason"),
        (
            "quote = \"The link is full.\"\n",
            "quote = \"q\"\n[[value.cause]]\nwhat = \"\"\n\
             measure = { run = \"both\", at = \"80 ms\", of = \"flow.*.goodput_mbps\" }\n",
            "`what` is empty",
        ),
        (
            "quote = \"The link is full.\"\n",
            "quote = \"q\"\n[[value.cause]]\nwhat = \"w\"\n\
             measure = { run = \"both\", at = \"40 ms\", of = \"flow.*.goodput_mbps\" }\n",
            "it is the measure of the value",
        ),
        ("published = 10\n", "published = 10\nis = \"above\"\n", "a bound or a direction has no tolerance"),
        (
            "is = \"above\"\n",
            "is = \"above\"\ntolerance_ratio = 0.1\n",
            "a bound or a direction has no tolerance",
        ),
        ("is = \"above\"\n", "tolerance_ratio = 0.1\n", "is faster` has a tolerance without a reason"),
        ("is = \"above\"\n", "is = \"above\"\ntolerance_why = \"so\"\n", "and no tolerance"),
        ("quote = \"One is faster.\"\n", "", "must have a source, or be ours"),
        (
            "quote = \"One is faster.\"\n",
            "quote = \"One is faster.\"\nours = true\n",
            "must have a source, or be ours",
        ),
        ("[[plot]]", "[[claim]]\nquote = \"It is fair.\"\nwhy = \"\"\n\n[[plot]]", "`why` is empty"),
        ("quote = \"The link is full.\"", "quote = \" \"", "the value has no source"),
        ("{ run = \"both\", at = \"40 ms\"", "{ run = \"none\", at = \"40 ms\"", "there is no run `none`"),
        ("{ run = \"both\", at = \"40 ms\"", "{ run = \"both\", at = \"4 ms\"", "has no point `4 ms`"),
        ("{ run = \"both\", at = \"40 ms\"", "{ run = \"both\"", "run `both` has a sweep"),
        ("of = \"flow.*.goodput_mbps\"", "of = \"flow.3.goodput_mbps\"", "has no `flow.3.goodput_mbps`"),
        ("of = \"flow.*.goodput_mbps\"", "of = \"flow.1.goodput\"", "did you mean `goodput_mbps`?"),
        (
            "of = \"flow.*.goodput_mbps\"",
            "of = \"flow.*.goodput_mbps\", later_s = 0.02",
            "only a picture over time has `later_s`",
        ),
        ("\"flow.1.rtt=40ms\"", "\"flow.1.rtt=40\"", "run `both` cannot be built"),
        ("set = [\"duration=1500ms\"]", "set = [\"duration\"]", "is not KEY=VALUE"),
    ];
    for (from, to, message) in cases {
        assert_refused_with_place(&with(from, to), message);
    }
}

#[test]
fn a_run_that_is_not_in_the_paper_follows_all_others_and_decides_nothing() {
    let first = format!("{OURS}[[run]]\nname = \"both\"");
    let line = "line = [{ label = \"ours\", measure = { run = \"ours\", of = \"flow.1.goodput_mbps\" } }, ";
    for (from, to, message) in [
        ("name = \"both\"", "name = \"both\"\nbeside = true", "so it decides no verdict"),
        ("[[run]]\nname = \"both\"", &*first, "but a run of the paper follows"),
        ("line = [", line, "but a line of the paper follows"),
    ] {
        let figure = if from == "line = [" { with_ours() } else { FIGURE.to_owned() };
        let place = folder();
        place.write("reproduction/bbq-ma2017/fig01/figure.toml", &figure.replacen(from, to, 1));
        assert_refused_with_place(&place, message);
    }
}

fn assert_refused_with_place(place: &Folder, message: &str) {
    let ended = reproduce(place, &[]);
    ended.fails(2, message);
    assert!(ended.message().contains("figure.toml"), "{}", ended.message());
    assert_eq!(cached(place), 0);
    let error = reproduce(place, &["--json"]).error();
    let problem = &error["problems"][0];
    assert!(problem["file"].as_str().unwrap().ends_with("fig01/figure.toml"), "{error}");
    assert!(problem["line"].as_u64().unwrap() > 0, "{error}");
}

#[test]
fn folders_and_papers_agree() {
    let place = folder();
    fs::create_dir(place.path().join("reproduction/bbq-ma2017/fig02")).unwrap();
    place.write("reproduction/bbq-ma2017/fig02/figure.toml", FIGURE);
    place.write("reproduction/bbq-ma2017/small.toml", &TWO_FLOWS.replace("200kB", "100kB"));
    let figures = load::papers(&place.path().join("reproduction")).unwrap().remove(0).sheets;
    let names: Vec<_> = figures.iter().map(|sheet| sheet.id.as_str()).collect();
    assert_eq!(names, ["fig01", "fig02"], "one that paper.toml does not name comes last");
    place.write("reproduction/bbq-ma2017/paper.toml", &PAPER.replace("fig01", "fig03"));
    check(&place).fails(2, "there is no folder `fig03`");
    fs::create_dir(place.path().join("reproduction/bbq-ma2016")).unwrap();
    check(&place).fails(2, "`bbq-ma2016` is not one of the papers");
    check(&Folder::create()).fails(2, "cannot read");
}

#[test]
fn the_head_of_the_front_page_counts_every_check_once() {
    let place = folder();
    let record = reproduce(&place, &["--json"]).succeeds().json();
    assert_eq!(undocumented_keys("run", &record), BTreeSet::new());
    let page = place.read("REPRODUCTION.md");
    let row = "| A. Author, 2016, 1 figure | simulator | 1 of 1 | 1 of 1 | 0 | 0 | 0 | – | 0 | 0 |";
    assert!(page.contains(row), "{page}");
    assert!(front::tables(&[]).contains("0 of 0 published values"), "no paper is no error");
}
