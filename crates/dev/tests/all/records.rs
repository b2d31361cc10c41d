//! docs/reference/json.md describes what each command prints with `--json`. Unit tests do the same for
//! commands that take long or need the kernel.

use fairpace_robustness::hostile::{HeaderRecord, Record};

use crate::support::documented::assert_documented;
use crate::support::run;

#[test]
fn every_record_is_documented() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let papers = format!("{root}/reproduction");
    let folder = crate::tables::folder();
    let tables = folder.path().join("tables.toml");
    let tables = tables.to_string_lossy();
    let grid = format!("{papers}/bbrv3-startup-mahmud2025/grid.toml");
    let duels = folder.path().join("duels.toml");
    let text = "title = \"t\"\npage = \"d.md\"\n[duels]\ncc = \"reno\"\nseeds = 1\nduration = \"600ms\"\n\
                warmup = \"300ms\"\nstagger = \"50ms\"\n";
    std::fs::write(&duels, text).unwrap();
    let duels = duels.to_string_lossy();
    let script = format!("{root}/crates/packetdrill/scripts/slow-start.pkt");
    let commands: [(&str, &[&str]); 7] = [
        ("run", &[&duels]),
        ("run", &[&tables, "--short", "-q"]),
        ("swarm", &["--count", "2", "--out", "/nonexistent"]),
        ("bench-load", &["two/bbr1", "200"]),
        ("run", &[&grid, "--table", "grid-tenth"]),
        ("packetdrill", &[&script]),
        ("docs", &["--check", "--dir", root]),
    ];
    for (command, more) in commands {
        let arguments: Vec<&str> = command.split(' ').chain(more.iter().copied()).chain(["--json"]).collect();
        let record = run(&arguments).succeeds().json();
        assert_documented(command, &record);
    }
}

/// A run of hostile headers needs root.
#[test]
fn the_record_of_hostile_headers_is_documented() {
    let record = Record { headers: vec![HeaderRecord::default()], ..Record::default() };
    assert_documented("hostile", &record);
}
