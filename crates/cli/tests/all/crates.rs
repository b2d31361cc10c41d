//! Which of our crates the program has: no curve and no equation of a paper.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_program_has_no_crate_of_the_papers() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "-p", "fairpace", "-e", "normal", "--prefix", "none", "--locked", "--offline"]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let ours = text.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("fairpace-"));
    let expected = [
        "bpf-build",
        "cc",
        "cli-core",
        "conform",
        "experiment",
        "kernel",
        "netem",
        "report",
        "results",
        "scenario",
        "sim",
        "tcp",
        "testbed",
        "trace",
    ];
    assert_eq!(ours.collect::<BTreeSet<_>>(), expected.into());
}
