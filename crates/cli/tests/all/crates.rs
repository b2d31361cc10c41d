//! Which of our crates the program has: no curve and no equation of a paper; and which crates are for others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Our crates that a crate is built of, itself among them.
fn tree_of(krate: &str) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "-p", krate, "-e", "normal", "--prefix", "none", "--locked", "--offline"]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    names.filter(|name| name.starts_with("fairpace")).map(str::to_owned).collect()
}

#[test]
fn the_program_has_no_crate_of_the_papers() {
    let ours = tree_of("fairpace");
    let ours = ours.iter().filter_map(|name| name.strip_prefix("fairpace-"));
    let expected = [
        "bpf-build",
        "cc",
        "cli-core",
        "conform",
        "experiment",
        "import",
        "kernel",
        "netem",
        "report",
        "results",
        "scenario",
        "sim",
        "tcp",
        "testbed",
        "trace",
        "virtual",
    ];
    assert_eq!(ours.collect::<BTreeSet<_>>(), expected.into());
}

/// A crate is for others if docs/api has its public items, which `scripts/public-api.sh --check` compares.
#[test]
fn a_crate_for_others_is_published_and_any_other_says_that_it_is_internal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut published = BTreeSet::from(["fairpace".to_owned()]);
    let mut needed = tree_of("fairpace");
    for folder in folders.chain([root.join("cc")]) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let name = manifest.split('"').nth(1).unwrap().to_owned();
        let source =
            ["src/lib.rs", "src/main.rs"].iter().find_map(|file| fs::read_to_string(folder.join(file)).ok());
        let is_internal = source.unwrap().starts_with("//! Internal: only Fairpace's own crates use it. ");
        let is_for_others = root.join(format!("docs/api/{name}.txt")).exists();
        assert_ne!(is_internal, is_for_others, "{name}: its first line, and docs/api");
        if is_for_others {
            needed.extend(tree_of(&name));
        }
        if !manifest.contains("\npublish = false") {
            published.insert(name);
        }
    }
    assert_eq!(published, needed, "published are the program, the crates for others, and what these need");
}
