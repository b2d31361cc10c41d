//! Compiles all algorithms of algorithms.def, as one translation unit, for the machine that Rust targets.
//!
//! The build script of a crate that depends on this one finds the C sources by `DEP_FAIRPACE_CC_INCLUDE`, the
//! folder that holds `algorithms.def`, the headers of the algorithms, `contract/`, `lib/` and `bpf/`.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Most bytes of a flow's state; C checks each algorithm against this size, Rust reserves as much per flow.
const STATE_BYTES: usize = 768;
/// Size of the ring in which the kernel's host remembers sends, bytes (cc/lib/sends.h); checked in C, too.
const SENDS_BYTES: usize = 3088;
/// Most parameters that an algorithm may declare; checked in C, too.
const MAX_PARAMETERS: usize = 64;

fn main() {
    // asked for when it runs: a checkout may have been moved since this was compiled
    let root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let root = PathBuf::from(&root);
    for source in sources(&root) {
        println!("cargo:rerun-if-changed={}", source.display());
    }
    println!("cargo:include={}", root.display());
    println!("cargo:rustc-env=CC_NATIVE_STATE_BYTES={STATE_BYTES}");
    println!("cargo:rustc-env=CC_NATIVE_SENDS_BYTES={SENDS_BYTES}");
    println!("cargo:rustc-env=CC_NATIVE_MAX_PARAMETERS={MAX_PARAMETERS}");

    println!("cargo:rustc-env=CC_SOURCES={}", sources_hash(&root));

    let mut build = cc::Build::new();
    build
        .file(root.join("native/native.c"))
        .file(root.join("native/clamp.c"))
        .include(&root)
        .define("CC_NATIVE_STATE_BYTES", STATE_BYTES.to_string().as_str())
        .define("CC_NATIVE_SENDS_BYTES", SENDS_BYTES.to_string().as_str())
        .define("CC_NATIVE_MAX_PARAMETERS", MAX_PARAMETERS.to_string().as_str())
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true);
    for flag in ["-ffreestanding", "-Wconversion", "-Wshadow"] {
        build.flag(flag);
    }
    if std::env::var("PROFILE").as_deref() == Ok("debug") {
        // broken rules of an algorithm become a Rust panic, which unwinds through the C
        build.define("CC_CHECKS", None).flag("-fexceptions");
    }
    if std::env::var_os("CARGO_FEATURE_UBSAN").is_some() {
        // A trap instead of a report: freestanding code has no run-time library to report with.
        build.flag("-fsanitize=undefined").flag("-fsanitize-undefined-trap-on-error");
    }
    for header in headers(&root.join("algorithms.def")) {
        build.flag("-include").flag(root.join(header));
    }
    build.compile("fairpace_cc");
}

/// Returns the sources of the object. Folders stand for all files in them; tests and the Rust sources are not
/// listed, so that a change to them does not compile the C again.
fn sources(root: &Path) -> Vec<PathBuf> {
    let list = root.join("algorithms.def");
    let mut sources =
        vec![root.join("build.rs"), root.join("contract"), root.join("lib"), root.join("native")];
    sources.extend(headers(&list).into_iter().map(|header| root.join(header)));
    sources.push(list);
    sources
}

/// The begin of the SHA-256 of the algorithms and of what they include, in the order of their paths: the
/// kernel into which they are built has the same (linux/Makefile).
fn sources_hash(root: &Path) -> String {
    let mut files = vec![PathBuf::from("algorithms.def")];
    for folder in ["", "contract", "lib"] {
        let inside = root.join(folder).read_dir().unwrap_or_else(|e| panic!("{folder}: {e}")).flatten();
        let names = inside.map(|entry| Path::new(folder).join(entry.file_name()));
        files.extend(names.filter(|name| name.extension().is_some_and(|ending| ending == "h")));
    }
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    let read = |name| std::fs::read(root.join(name)).unwrap_or_else(|e| panic!("{e}"));
    let hash = Sha256::digest(files.iter().flat_map(read).collect::<Vec<u8>>());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns NAME.h for each `CC_ALGORITHM(NAME, ...` line.
fn headers(list: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let names = text.lines().filter_map(|line| line.strip_prefix("CC_ALGORITHM(")?.split(',').next());
    names.map(|name| PathBuf::from(format!("{}.h", name.trim()))).collect()
}
