//! Adaptors that are processes: good ones, and each way not to follow the protocol.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fairpace_conform::adaptor::Adaptor;
use fairpace_conform::case::Case;
use fairpace_conform::{Outcome, contained, run};

/// An answer to the first line.
const HELLO: &str = concat!(
    r#"{"seq":0,"protocol":"fairpace.conform/1","name":"test","version":"1","#,
    r#""supports":["spurious","timeout"]}"#
);

fn case(name: &str) -> Case {
    let cases = contained().expect("the contained cases are cases");
    cases.into_iter().find(|case| case.header.case == name).expect("it is contained")
}

fn outcome(command: &[&str], case_name: &str, within_ms: u64) -> Outcome {
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let mut adaptor =
        Adaptor::start(&command, Duration::from_millis(within_ms), || false).expect("it can be started");
    run(&case(case_name), &mut adaptor)
}

/// What is said of a shell script that is no good adaptor.
fn problem(script: &str) -> String {
    match outcome(&["sh", "-c", script], "A.1", 500) {
        Outcome::Broken { problem } => problem,
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn each_way_not_to_follow_the_protocol_is_named() {
    let answers = |answer: &str| format!("read l; echo '{HELLO}'; read l; echo '{answer}'; cat >/dev/null");
    for (script, expected) in [
        (
            "read l; echo 'out of luck' >&2; exit 3".to_owned(),
            "ended with exit status: 3; it said: out of luck",
        ),
        (format!("read l; echo '{HELLO}'; kill -9 $$"), "ended with signal: 9"),
        ("sleep 100".to_owned(), "line 0: no answer within 0.5 s; it was ended"),
        (format!("read l; echo '{HELLO}'; exec sleep 100"), "line 1: no answer within 0.5 s"),
        ("echo hello; cat".to_owned(), "line 0: the answer is no JSON"),
        (answers("[1]"), "line 1: the answer is no object: [1]"),
        (answers("{\"cwnd_bytes\":12000}"), "line 1: the answer has no \"seq\""),
        (format!("while echo '{HELLO}'; do :; done"), "line 1: the answer has the number 0"),
        ("head -c 100000 /dev/zero | tr '\\0' x; cat".to_owned(), "an answer has more than 16384 bytes"),
        (
            HELLO_OF_ANOTHER.replace("HELLO", &HELLO.replace("conform/1", "conform/9")),
            "speaks fairpace.conform/9",
        ),
        (answers("{\"seq\":1,\"cwnd_bytes\":12000,\"pacing_rate\":5}"), "unknown field `pacing_rate`"),
        (answers("{\"seq\":1,\"pacing_rate_Bps\":5}"), "missing field `cwnd_bytes`"),
        (answers("{\"seq\":1,\"cwnd_bytes\":12000,\"state\":\"PROBE\"}"), "unknown variant `PROBE`"),
        (answers("{\"seq\":1,\"error\":\"no memory\"}"), "the adaptor reports: no memory"),
    ] {
        let problem = problem(&script);
        assert!(problem.contains(expected), "{expected:?} is not in {problem:?}");
    }
}

/// A script that answers with another version.
const HELLO_OF_ANOTHER: &str = "read l; echo 'HELLO'; cat >/dev/null";

#[test]
fn what_cannot_be_applied_says_why() {
    let declines = r#"{"seq":1,"not_applicable":"no STARTUP"}"#;
    let script = format!("read l; echo '{HELLO}'; read l; echo '{declines}'; cat >/dev/null");
    let reason = |outcome| match outcome {
        Outcome::NotApplicable { reason } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(outcome(&["sh", "-c", &script], "A.1", 5000)), "no STARTUP");
    let lacks = script.replace("\"spurious\",", "");
    assert_eq!(reason(outcome(&["sh", "-c", &lacks], "A.18", 5000)), "the adaptor does not support spurious");
    let silent = script.replace("\"not_applicable\":\"no STARTUP\"", "\"cwnd_bytes\":12000");
    assert!(
        reason(outcome(&["sh", "-c", &silent], "A.1", 5000)).contains("neither a state nor a pacing rate")
    );
}

#[test]
fn what_an_adaptor_started_ends_with_it() {
    let folder = std::env::temp_dir().join(format!("fairpace-conform-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("pid");
    let script = format!("sleep 1000 & echo $! > {}; sleep 1000", file.display());
    let began = Instant::now();
    assert!(problem(&script).contains("no answer within"));
    let id = std::fs::read_to_string(&file).expect("it was written").trim().to_owned();
    std::fs::remove_dir_all(&folder).expect("it is there");
    // a process that has ended and was not waited for yet is a zombie of init
    let state = || std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    while !state().is_empty() && !state().contains(") Z ") {
        assert!(began.elapsed() < Duration::from_secs(10), "{id} lives: {}", state());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_wait_ends_when_it_is_stopped() {
    let command = ["sleep", "1000"].map(str::to_owned);
    let began = Instant::now();
    let stopped = move || began.elapsed() > Duration::from_millis(100);
    let mut adaptor = Adaptor::start(&command, Duration::from_secs(600), stopped).expect("there is a sleep");
    assert_eq!(run(&case("A.1"), &mut adaptor), Outcome::Broken { problem: "interrupted".to_owned() });
    drop(adaptor);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_program_that_is_not_there_cannot_be_started() {
    let error = |command: &[String]| Adaptor::start(command, Duration::from_secs(1), || false).err();
    let text = error(&["./not-there".to_owned()]).expect("it is not there").to_string();
    assert!(text.starts_with("cannot start ./not-there: "), "{text}");
    assert!(error(&[]).is_some());
}

/// The example of an adaptor in Rust.
fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_fairpace-conform-adaptor"))
}

#[test]
fn the_adaptor_in_rust_gives_the_outcomes_of_the_library() {
    let example = example();
    let example = example.to_str().expect("the path is text");
    assert_eq!(outcome(&[example, "bbr3_draft"], "A.3", 10_000), Outcome::Passed { unseen: 0 });
    assert!(matches!(outcome(&[example, "bbr3"], "A.3", 10_000), Outcome::Failed(m) if m.section == "5.3.2"));
}

#[test]
fn the_adaptor_in_python_passes_the_case_of_its_startup_and_declines_others() {
    if Command::new("python3").arg("--version").output().is_err() {
        return fairpace_test_support::skip("there is no python3");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conform/adaptors/minimal.py");
    let script = script.to_str().expect("the path is text");
    let outcome = |case| outcome(&["python3", script], case, 10_000);
    assert_eq!(outcome("A.3"), Outcome::Passed { unseen: 0 });
    assert!(matches!(outcome("A.10"), Outcome::NotApplicable { .. }));
}
