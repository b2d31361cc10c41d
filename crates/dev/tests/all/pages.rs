//! Commands that write pages, beside those with tests of their own.

use std::path::Path;
use std::process::Command;

use fairpace_test_support::is_in_program;

use crate::support::{Folder, run};

#[test]
fn docs_check_names_stale_pages_and_docs_writes_them() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    run(&["docs", "--check", "--dir", root]).succeeds();
    let place = Folder::create();
    std::fs::create_dir_all(place.path().join("docs/reference")).unwrap();
    std::fs::create_dir(place.path().join("reproduction")).unwrap();
    place.write("docs/reference/scenario.md", "# Keys\n\nRead this.\n\n## At the top\n\nstale text\n");
    let dir = place.file("");
    let before = changed_at(place.path());
    run(&["docs", "--check", "--dir", &dir]).fails(1, "generated pages are out of date");
    assert_eq!(changed_at(place.path()), before, "a check writes nothing");
    let written = run(&["docs", "--dir", &dir, "--json"]).succeeds().json();
    assert_eq!(written["written"].as_array().unwrap().len(), 6, "{written}");
    assert_eq!(run(&["docs", "--dir", &dir, "--quiet"]).succeeds().stdout, "");
    run(&["docs", "--check", "--dir", &dir]).succeeds();
    assert!(place.read("docs/reference/cli.md").contains("## fairpace compare"));
    assert!(place.read("docs/reference/dev.md").contains("## fairpace-dev run"));
    let keys = place.read("docs/reference/scenario.md");
    assert!(
        keys.contains("Read this.") && !keys.contains("stale text") && keys.contains("`duration`"),
        "{keys}"
    );
}

fn changed_at(folder: &std::path::Path) -> std::time::SystemTime {
    std::fs::metadata(folder).unwrap().modified().unwrap()
}

#[test]
fn a_load_is_known_by_its_name() {
    let line = run(&["bench-load", "two/bbr1", "200"]).succeeds().stdout;
    let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(matches!(numbers[..], [packets, _, kb] if packets > 100.0 && kb > 1000.0), "{line}");
    let record = run(&["bench-load", "two/bbr1", "200", "--json"]).succeeds().json();
    assert_eq!(record["packets"], numbers[0]);
    run(&["bench-load", "two/bbr1", "0"]).fails(2, "duration");
    run(&["bench-load", "20001/bbr1", "200"]).fails(2, "there is no load");
    run(&["bench-load", "three/bbr1", "200"]).fails(2, "there is no load `three/bbr1`");
}

#[test]
fn the_program_does_not_hold_the_path_that_it_was_built_in() {
    let checkout = std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_fairpace-dev"));
    assert!(is_in_program(program, "swarm"), "the search finds nothing");
    assert!(!is_in_program(program, checkout.to_str().unwrap()));
}

#[test]
fn outside_of_a_checkout_nothing_is_written() {
    let place = Folder::create();
    for arguments in [&["run", "reproduction", "--write"][..], &["docs"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairpace-dev"));
        let output = command.args(arguments).current_dir(place.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 5)), "{arguments:?}: {said}");
        assert!(said.contains("checkout") || said.contains("folder"), "{arguments:?}: {said}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "{arguments:?}");
    }
}
