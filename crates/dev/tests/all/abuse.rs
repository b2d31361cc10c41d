//! `fairpace-dev abuse`: each way to misbehave is caught, shown by programs that misbehave in that way.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Folder, program, run};

/// A program that is a script of `sh`; its path.
fn stub(place: &Folder, script: &str) -> String {
    let path = place.write("stub", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.file("stub")
}

/// The rules that a script violates in some invocations of a class.
fn violated(script: &str, class: &str, count: &str) -> Vec<String> {
    let place = Folder::create();
    let stub = stub(&place, script);
    let arguments =
        ["--program", &stub, "--only", class, "--count", count, "--limit", "500ms", "--seed", "3"];
    let ended = run(&[&["abuse", "--json", "--quiet"], &arguments[..]].concat());
    let record = ended.json();
    assert_eq!(record["invocations"].to_string(), count);
    let groups = record["violations"].as_array().unwrap();
    assert_eq!(groups.is_empty(), ended.message().is_empty(), "violations are a failure");
    let mut rules: Vec<String> = groups.iter().map(|group| group["rule"].as_str().unwrap().into()).collect();
    rules.dedup();
    rules
}

/// A refusal as it should be.
const REFUSAL: &str = r#"case "$*" in
*--json*) echo '{"error":{"exit_code":2}}' >&2 ;;
*) echo 'error: no' >&2 ;;
esac
exit 2"#;

#[test]
fn a_program_that_refuses_in_order_violates_nothing() {
    for class in ["keys", "files"] {
        assert_eq!(violated(REFUSAL, class, "20"), [""; 0], "{class}");
    }
}

#[test]
fn each_wrong_end_is_caught() {
    let caught = |script: &str| violated(script, "keys", "2");
    assert_eq!(caught("echo \"thread 'main' panicked at src/x.rs:1:2:\" >&2; exit 101"), ["panic"]);
    assert_eq!(caught("kill -SEGV $$"), ["crash"]);
    assert_eq!(caught("echo '{\"error\":{\"exit_code\":1}}' >&2; exit 1"), ["internal"]);
    assert_eq!(caught("echo '{\"error\":{\"exit_code\":3}}' >&2; exit 3"), ["code"]);
    assert_eq!(caught("echo '{\"error\":{\"exit_code\":77}}' >&2; exit 77"), ["code"]);
    assert_eq!(caught("exit 2"), ["silent"]);
}

#[test]
fn a_program_that_hangs_is_caught_whether_it_waits_or_computes() {
    assert_eq!(violated("sleep 60", "keys", "1"), ["hang"]);
    assert_eq!(violated("while :; do :; done", "keys", "1"), ["hang"]);
    assert_eq!(violated("trap '' INT TERM HUP QUIT; while :; do sleep 1; done", "signals", "4"), ["hang"]);
}

#[test]
fn a_program_without_handlers_is_caught_when_a_signal_ends_it_in_the_middle() {
    // the next start is the short one
    let busy = "case \"$*\" in *100ms*) echo '{}'; exit 0 ;; esac; while :; do :; done";
    // a signal that ends nothing, such as SIGSTOP, lets it compute to the limit
    let found = violated(busy, "signals", "16");
    assert!(found.contains(&"signal".to_owned()), "{found:?}");
}

#[test]
fn earlier_runs_and_the_next_start_are_judged_too() {
    let fails = |code: u8| {
        format!(
            "echo '{{}}'; case \"$*\" in *duration=100ms*) echo 'error: no' >&2; exit {code} ;; esac; exit 0"
        )
    };
    assert_eq!(violated(&fails(5), "out", "24"), ["code"]);
    let without_end = |code: u8| fails(code).replace("exit 0", "exec sleep 60");
    assert_eq!(violated(&without_end(3), "signals", "16"), ["code"]);
    assert_eq!(violated(&without_end(5), "signals", "16"), [""; 0]);
}

#[test]
fn each_wrong_output_is_caught() {
    let caught = |script: &str| violated(&format!("{script}\n{REFUSAL}"), "keys", "4");
    assert_eq!(caught("printf '\\033[31mred\\n' >&2"), ["control"]);
    assert_eq!(caught("printf '\\302\\233red\\n'"), ["control"]);
    assert_eq!(caught("printf '\\377\\n'"), ["control"]);
    assert_eq!(caught("head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2"), ["length"]);
    assert_eq!(violated("exec yes", "keys", "1"), ["flood"]);
    assert_eq!(violated("echo 'error: no' >&2; exit 2", "keys", "12"), ["json"]);
    assert_eq!(violated("echo '{'", "keys", "12"), ["json"]);
}

#[test]
fn a_refusal_that_takes_much_memory_is_caught() {
    // tail keeps all of it
    let script = format!("head -c 700000000 /dev/zero | tail -c 600000000 >/dev/null\n{REFUSAL}");
    let place = Folder::create();
    let arguments = ["--program", &stub(&place, &script), "--only", "keys", "--count", "1"];
    let ended = run(&[&["abuse", "--json", "--quiet"], &arguments[..]].concat());
    assert_eq!(ended.json()["violations"][0]["rule"], "memory");
}

#[test]
fn files_that_are_left_and_files_that_are_lost_are_caught() {
    let caught = |script: &str| violated(&format!("{script}\n{REFUSAL}"), "keys", "4");
    assert_eq!(caught("echo x >.fairpace-x1"), ["leftover"]);
    assert_eq!(caught("mkdir -p a/b"), ["leftover"]);
    assert_eq!(caught("echo x >s.toml"), ["lost"]);
    assert_eq!(caught("rm s.toml"), ["lost"]);
    // what is in --out at the start, and what comes during the run
    let replaces = "rm -rf out; sleep 0.6; rm -rf out; mkdir out; echo '{}'";
    assert!(violated(replaces, "out", "12").contains(&"lost".to_owned()));
    // a killed process may leave something; the next one removes it
    let leaves = "mkdir -p .fairpace-x1; echo '{}'; case \"$*\" in *100ms*) exit 0 ;; esac; exec sleep 60";
    let tidy = leaves
        .replacen("mkdir", "rm -rf .fairpace-*; mkdir", 1)
        .replace("exit 0", "rm -rf .fairpace-*; exit 0");
    assert_eq!(violated(leaves, "signals", "16"), ["leftover"]);
    // without a handler every signal kills, and not after each is there a next start
    assert!(violated(&tidy, "signals", "16").iter().all(|rule| rule == "leftover"));
}

#[test]
fn one_invocation_is_replayed_with_its_files_its_command_and_its_output() {
    let place = Folder::create();
    let stub = stub(&place, "printf 'what \\033[31m\\n' >&2; exit 2");
    let replay = |seed: &str| {
        run(&["abuse", "--program", &stub, "--only", "files", "--index", "4", "--seed", seed, "--quiet"])
    };
    let ended = replay("9");
    for text in ["$ fairpace sim", "s.toml", "what \\u{1b}[31m", "exit code 2", "VIOLATED control"] {
        assert!(ended.stdout.contains(text), "{text:?} is not in {}", ended.stdout);
    }
    let without_time = |text: &str| text.lines().filter(|line| !line.contains(" after ")).collect::<String>();
    assert_eq!(without_time(&ended.stdout), without_time(&replay("9").stdout));
    assert_ne!(without_time(&ended.stdout), without_time(&replay("10").stdout));
    run(&["abuse", "--index", "4"]).fails(2, "--only");
    run(&["abuse", "--program", "/nonexistent/fairpace"]).fails(2, "there is no program");
}

fn wait(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    None
}

#[test]
fn an_interruption_leaves_no_process_and_no_file() {
    let place = Folder::create();
    let pid = place.file("pid");
    let stub = stub(&place, &format!("echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 60"));
    std::fs::create_dir(place.path().join("tmp")).unwrap();
    let mut command = program();
    command.args(["abuse", "--program", &stub, "--only", "files", "--jobs", "1"]);
    command.env("TMPDIR", place.file("tmp")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !place.path().join("pid").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let sleeper: i32 = place.read("pid").trim().parse().unwrap();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(wait(&mut child), Some(130));
    assert!(kill(Pid::from_raw(sleeper), None).is_err(), "the invocation goes on");
    assert_eq!(std::fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
}
