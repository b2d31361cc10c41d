//! What decides the result of a simulation, as hashes: of the simulator's sources, and of each algorithm's.
//!
//! `fairpace-dev run` keeps finished runs by them, so that a change to one algorithm repeats only the
//! runs in which it takes part, and a change to the documentation none. A package of this crate has no
//! sources beside it, and no hashes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What simulates and measures, and what all algorithms include or are compiled with.
const SIMULATOR: [&str; 11] = [
    "crates/netem/src",
    "crates/results/src",
    "crates/scenario/src",
    "crates/sim/src",
    "crates/tcp/src",
    "cc/build.rs",
    "cc/contract",
    "cc/lib/sends.h",
    "cc/native",
    "cc/src",
    "rust-toolchain.toml",
];

/// Writes the table of hashes, and sets FAIRPACE_SIMULATOR.
pub(crate) fn write() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut sum = Sha256::new();
    for part in SIMULATOR {
        if root.join(part).exists() {
            println!("cargo::rerun-if-changed=../../{part}");
        }
        add(&mut sum, &root.join(part));
    }
    println!("cargo::rustc-env=FAIRPACE_SIMULATOR={}", hex(&sum.finalize()));
    if root.join("cc").exists() {
        println!("cargo::rerun-if-changed=../../cc");
    }
    let list = fs::read_to_string(root.join("cc/algorithms.def")).unwrap_or_default();
    let mut table = String::from(
        "/// Each algorithm with the hash of its sources.\nconst SOURCES: &[(&str, &str)] = &[\n",
    );
    for line in entries(&list) {
        let mut words = line.split(['(', ',']).map(str::trim);
        let (Some(kind), Some(name), Some(parent)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let header = if kind == "CC_PRESET" { parent } else { name };
        let mut files = BTreeSet::new();
        includes(&root.join("cc"), &format!("{header}.h"), &mut files);
        let mut sum = Sha256::new();
        sum.update(&line);
        for file in files {
            sum.update(fs::read(root.join("cc").join(file)).unwrap_or_default());
        }
        let _ = writeln!(table, "    ({name:?}, {:?}),", hex(&sum.finalize()));
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("sources.rs"), table).expect("cargo's folder can be written to");
}

/// The entries of algorithms.def, each in one line.
fn entries(list: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in list.lines() {
        match entries.last_mut() {
            _ if line.starts_with("CC_ALGORITHM(") || line.starts_with("CC_PRESET(") => {
                entries.push(line.to_owned())
            }
            Some(entry) if line.starts_with([' ', '\t']) => {
                entry.push(' ');
                entry.push_str(line.trim());
            }
            _ => {}
        }
    }
    entries
}

/// A header and all that it includes in quotes, by their paths in `cc` or beside the including file.
fn includes(cc: &Path, name: &str, files: &mut BTreeSet<PathBuf>) {
    let path = PathBuf::from(name);
    let Ok(text) = fs::read_to_string(cc.join(&path)) else { return };
    if !files.insert(path.clone()) {
        return;
    }
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("#include \"") else { continue };
        let Some((included, _)) = rest.split_once('"') else { continue };
        includes(cc, included, files);
        if let Some(beside) = path
            .parent()
            .map(|folder| folder.join(included))
            .and_then(|path| path.to_str().map(str::to_owned))
        {
            includes(cc, &beside, files);
        }
    }
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(sum: &mut Sha256, path: &Path) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder of the checkout can be read");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| add(sum, path));
    } else {
        sum.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        sum.update(fs::read(path).unwrap_or_default());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
