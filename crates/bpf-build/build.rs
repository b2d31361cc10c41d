//! Writes a table of the C that an algorithm is compiled with, for inclusion in the crate, with the feature
//! `headers`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of fairpace-cc that hold C that algorithms are compiled with; the headers beside `algorithms.def`
/// come first.
const FOLDERS: [&str; 4] = ["contract", "lib", "bpf", "native"];

/// The headers of libbpf that the shim includes, and the headers that these include.
const LIBBPF: [&str; 5] =
    ["bpf_helpers.h", "bpf_helper_defs.h", "bpf_tracing.h", "bpf_core_read.h", "bpf_endian.h"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_HEADERS").is_none() {
        return;
    }
    let cc = folder("DEP_FAIRPACE_CC_INCLUDE");
    let libbpf = folder("DEP_BPF_INCLUDE").join("bpf");
    let mut files = vec![("cc/algorithms.def".to_owned(), cc.join("algorithms.def"))];
    files.extend(sources(&cc, "cc"));
    for name in FOLDERS {
        files.extend(sources(&cc.join(name), &format!("cc/{name}")));
    }
    files.extend(LIBBPF.map(|name| (format!("libbpf/{name}"), libbpf.join(name))));
    files.sort();

    let mut table = "const HEADERS: &[(&str, &str)] = &[\n".to_owned();
    for (name, path) in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(table, "    ({name:?}, include_str!({path:?})),").expect("a string grows");
    }
    table.push_str("];\n");
    let contract = format!("include_str!({:?})", cc.join("contract/contract.h"));
    let out = folder("OUT_DIR").join("contract.rs");
    fs::write(&out, contract).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
    let out = folder("OUT_DIR").join("headers.rs");
    fs::write(&out, table).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}

fn folder(variable: &str) -> PathBuf {
    env::var_os(variable).unwrap_or_else(|| panic!("cargo sets {variable}")).into()
}

/// Returns the C files directly in a folder, with their names in the table.
fn sources(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let c = paths.filter(|path| path.extension().is_some_and(|e| e == "h" || e == "c"));
    c.map(|path| (format!("{prefix}/{}", path.file_name().unwrap_or_default().to_string_lossy()), path))
        .collect()
}
