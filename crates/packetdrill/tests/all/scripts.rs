//! The scripts in `scripts/`: each passes, and each fails when what it is about is taken away.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fairpace_packetdrill::{Mutant, Outcome, Script, run};

/// All scripts, by name.
fn scripts() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let files = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path());
    let named = files.map(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("readable"))
    });
    named.collect()
}

fn outcome(name: &str, text: &str, mutant: Option<Mutant>) -> Outcome {
    match Script::parse(name, text) {
        Ok(script) => run(&script, mutant),
        Err(problem) => panic!("{problem}: {}", problem.help),
    }
}

fn fails(name: &str, text: &str, mutant: Option<Mutant>) -> bool {
    matches!(outcome(name, text, mutant), Outcome::Failed(_))
}

#[test]
fn every_script_passes() {
    for (name, text) in scripts() {
        let outcome = outcome(&name, &text, None);
        let problem = outcome.problem().map(|problem| format!("{problem}: {}", problem.help));
        assert_eq!(problem, None);
    }
}

/// What a script is about, switched off in its own text. The others fail with a mutant, or with another
/// number.
#[test]
fn every_script_fails_without_what_it_is_about() {
    let without = [
        ("app-limited", "write(4, ..., 8000) = 8000", "write(4, ..., 7000) = 7000"),
        ("close", "F. 101:101(0)", "F. 102:102(0)"),
        ("ecn", "net.ipv4.tcp_ecn=1", "net.ipv4.tcp_ecn=2"),
        ("ecn-server", "net.ipv4.tcp_ecn=2", "net.ipv4.tcp_ecn=0"),
        ("frto", "net.ipv4.tcp_frto=2", "net.ipv4.tcp_frto=0"),
        ("hystart", "echo 2 >", "echo 1 >"),
        ("idle-restart", "tcp_slow_start_after_idle=1", "tcp_slow_start_after_idle=0"),
        ("lost-retransmission", "tcp_recovery=1", "tcp_recovery=0"),
        ("newreno", "<mss 1000,nop,wscale 7>", "<mss 1000,sackOK,nop,wscale 7>"),
        ("rack-reordering", "tcp_recovery=1", "tcp_recovery=0"),
        ("receive-window", "win 65535 <mss 1000", "win 65535 <mss 500"),
        ("receive-window", "sackOK,nop,wscale 2>", "sackOK,nop,wscale 3>"),
        ("slow-start", "win 65535 <mss 1000", "win 65535 <mss 500"),
        ("spurious-probe", "tcp_early_retrans=3", "tcp_early_retrans=0"),
        ("tail-loss-probe", "tcp_early_retrans=3", "tcp_early_retrans=0"),
        ("undo-by-dsack", "<sack 1:1001,nop,nop>", ""),
        ("undo-by-timestamp", "ecr 2050>\n\n", "ecr 2110>\n\n"),
    ];
    let scripts = scripts();
    for (name, what, other) in without {
        let text = &scripts[name];
        if text.contains(what) {
            assert!(fails(name, &text.replace(what, other), None), "{name} passes with {other:?}");
        } else {
            assert_eq!((name, what), ("receive-window", "win 65535 <mss 1000"), "the script has it");
        }
    }
}

#[test]
fn every_mutant_of_the_sender_fails_a_script() {
    let found = |mutant| -> Vec<String> {
        scripts()
            .into_iter()
            .filter(|(name, text)| fails(name, text, Some(mutant)))
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(found(Mutant::NoPrr), ["prr"]);
    assert_eq!(
        found(Mutant::NoLimitedTransmit),
        ["limited-transmit", "prr", "undo-by-dsack", "undo-by-timestamp"]
    );
    assert_eq!(found(Mutant::DoubleRto), ["frto", "idle-restart", "tail-loss-probe", "timeout"]);
}
