//! Compiles cc/bpf/object.bpf.c once per line of cc/algorithms.def and embeds the objects.
//!
//! Without clang the crate still builds, for those who only simulate: loading then says what to install.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// What a machine without a BPF compiler is told; `load` repeats it.
const NO_CLANG: &str = "clang was not found when this program was built: install it (Debian: apt-get install clang) \
                        or point CLANG at one, then build again";

struct Algorithm {
    /// Its name in the list.
    name: String,
    /// The algorithm whose code it is: itself, unless it is a preset.
    code: String,
    kind: String,
}

/// Asked for when this runs: a checkout may have been moved since this was compiled.
fn this_crate() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR").into()
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let cc = env::var_os("DEP_FAIRPACE_CC_INCLUDE").expect("fairpace-cc says where the C sources are");
    let cc = PathBuf::from(cc);
    let headers = env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    println!("cargo:rerun-if-env-changed=CLANG");

    let algorithms = algorithms(&cc.join("algorithms.def"));
    for part in ["algorithms.def", "bpf", "contract", "lib"] {
        println!("cargo:rerun-if-changed={}", cc.join(part).display());
    }
    for Algorithm { code, .. } in &algorithms {
        println!("cargo:rerun-if-changed={}", cc.join(format!("{code}.h")).display());
    }
    let generated = match Command::new(&clang).arg("--version").output() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            println!("cargo:warning={NO_CLANG}");
            // a path that never exists makes cargo ask again, so that an installed clang is noticed
            println!("cargo:rerun-if-changed={}", out.join("clang-was-not-found").display());
            format!("const OBJECTS: Result<&[(&str, &[u8])], &str> = Err({NO_CLANG:?});\n")
        }
        _ => {
            for algorithm in &algorithms {
                compile(&clang, &cc, Path::new(&headers), algorithm, &out);
            }
            compile_truth(&clang, &cc, Path::new(&headers), &out);
            embed(&algorithms)
        }
    };
    let file = out.join("objects.rs");
    fs::write(&file, generated).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// The `CC_ALGORITHM(name, kind, ...` and `CC_PRESET(name, algorithm, ...` lines.
fn algorithms(list: &Path) -> Vec<Algorithm> {
    let text = fs::read_to_string(list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for line in text.lines() {
        let words = |rest: &str| -> Vec<String> { rest.split(',').map(|w| w.trim().to_owned()).collect() };
        if let Some(rest) = line.strip_prefix("CC_ALGORITHM(") {
            let [name, kind, ..] = &words(rest)[..] else { panic!("{}: {line}", list.display()) };
            algorithms.push(Algorithm { name: name.clone(), code: name.clone(), kind: kind.clone() });
        } else if let Some(rest) = line.strip_prefix("CC_PRESET(") {
            let [name, code, ..] = &words(rest)[..] else { panic!("{}: {line}", list.display()) };
            let of = algorithms.iter().find(|a| a.name == *code);
            let kind =
                of.unwrap_or_else(|| panic!("{}: {name} is a preset of what?", list.display())).kind.clone();
            algorithms.push(Algorithm { name: name.clone(), code: code.clone(), kind });
        }
    }
    algorithms
}

fn compile(clang: &str, cc: &Path, headers: &Path, algorithm: &Algorithm, out: &Path) {
    let Algorithm { name, code, kind } = algorithm;
    let mut command = bpf_compiler(clang, cc, headers);
    command.arg("-include").arg(cc.join(format!("{code}.h")));
    let (owns, tracks) = match kind.as_str() {
        "CC_OWNS_CWND" => (1, 0),
        "CC_TRACKS_SENDS" => (1, 1),
        "CC_GROWS_CWND" => (0, 0),
        kind => panic!("algorithms.def: {name}: there is no kind {kind}"),
    };
    command.args([format!("-DCC_NAME={code}"), format!("-DCC_LISTED_NAME={name}")]);
    command.args([format!("-DCC_OWNS={owns}"), format!("-DCC_TRACKS={tracks}")]);
    run(command, name, &cc.join("bpf/object.bpf.c"), &out.join(format!("{name}.bpf.o")));
}

/// What the tests watch the kernel with; nothing of it is in the library.
fn compile_truth(clang: &str, cc: &Path, headers: &Path, out: &Path) {
    let source = this_crate().join("tests/real_time/truth/truth.bpf.c");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-changed={}", source.with_extension("").with_extension("h").display());
    let mut command = bpf_compiler(clang, cc, headers);
    command.arg("-include").arg(cc.join("bbr3.h")).arg("-DTRUTH_OF=bbr3");
    command.args(["-DCC_NAME=truth", "-DCC_LISTED_NAME=truth", "-DCC_OWNS=1", "-DCC_TRACKS=1"]);
    run(command, "truth", &source, &out.join("truth.bpf.o"));
}

fn bpf_compiler(clang: &str, cc: &Path, headers: &Path) -> Command {
    let mut command = Command::new(clang);
    // -g: BTF, which CO-RE needs. v3: 32-bit arithmetic and jumps, in all kernels since 5.1.
    command.args(["-target", target(), "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-ffreestanding"]);
    command.args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function"]);
    command.arg(format!("-ffile-prefix-map={}=cc", cc.display()));
    command.arg("-I").arg(cc).arg("-I").arg(headers.join("bpf"));
    command
}

fn run(mut command: Command, what: &str, source: &Path, object: &Path) {
    command.arg("-c").arg(source).arg("-o").arg(object);
    let result = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let messages = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "clang could not compile {what} for BPF:\n{messages}\n{command:?}");
    for line in messages.lines() {
        println!("cargo:warning={line}");
    }
}

fn target() -> &'static str {
    match env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => "bpfeb",
        _ => "bpfel",
    }
}

/// Source that includes the objects, aligned as ELF wants to be read.
fn embed(algorithms: &[Algorithm]) -> String {
    let row = |a: &Algorithm| {
        format!(
            "    ({0:?}, &Aligned(*include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{0}.bpf.o\"))).0),\n",
            a.name
        )
    };
    let rows: String = algorithms.iter().map(row).collect();
    format!(
        "#[repr(C, align(8))]\nstruct Aligned<T>(T);\n\
         const OBJECTS: Result<&[(&str, &[u8])], &str> = Ok(&[\n{rows}]);\n"
    )
}
