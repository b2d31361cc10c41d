//! `fairpace-dev conformance`, without flows of the kernel: `make conformance` runs those.

use crate::support::{Folder, run};

#[test]
fn errors_come_before_the_first_run() {
    let place = Folder::create();
    run(&["conformance", &place.file("")]).fails(2, "there is no scenario in");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/bbr1-alone.toml");
    place.write("mine.md", "mine\n");
    run(&["conformance", scenario, "--out", &place.file("mine.md")]).fails(5, "the two marks once each");
    assert_eq!(place.read("mine.md"), "mine\n");
    run(&["conformance", "--runs", "0"]).fails(2, "--runs");
}
