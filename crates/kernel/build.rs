//! Embeds one BPF object per line of cc/algorithms.def, and the loader's own programs (`TOOLS`): compiled
//! here with clang, or from the folder `objects`.
//!
//! A package contains that folder and needs no clang. In a checkout `make objects` writes it; there clang is
//! preferred, since the C may have changed. Objects of other sources are never used: the folder holds the
//! digest of the sources that it was compiled from. Without clang and without objects the crate builds, too,
//! for simulations; loading then returns an error that says what to install.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use fairpace_bpf_build::{BpfCompiler, Error, Object, Sources, TOOLS, compile_all, read_objects};

/// Name of a file that cargo puts into a package only, beside the manifest that it rewrites.
const ONLY_IN_A_PACKAGE: &str = "Cargo.toml.orig";

/// Reason that later errors give; it names no path of the machine that built the program.
const NO_CLANG: &str = "clang was not found when it was built: install it (Debian: apt-get install clang) \
                        or set the environment variable CLANG to its path, and build again";

fn main() {
    let out = variable("OUT_DIR");
    // read when this runs: a checkout may have been moved since this was compiled
    let crate_folder = variable("CARGO_MANIFEST_DIR");
    let objects = crate_folder.join("objects");
    let sources =
        Sources::in_folders(variable("DEP_FAIRPACE_CC_INCLUDE"), variable("DEP_BPF_INCLUDE").join("bpf"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CLANG");
    if objects.exists() {
        // a path that does not exist would make cargo run this every time
        println!("cargo::rerun-if-changed={}", objects.display());
    }
    for file in sources.files().unwrap_or_else(|e| fail(&e)) {
        println!("cargo::rerun-if-changed={}", sources.cc().join(file).display());
    }

    let packaged = crate_folder.join(ONLY_IN_A_PACKAGE).exists();
    let stored = read_objects(&objects, &sources).map_err(|stale| stale.to_string()).and_then(in_byte_order);
    let found = match stored {
        Ok(objects) if packaged => Ok(objects),
        stored => compile(sources).or_else(|no_clang| {
            stored.map_err(|stale| {
                println!("cargo::warning=this build has no BPF objects: {no_clang}; {stale}");
                NO_CLANG.to_owned()
            })
        }),
    };
    let table = match found {
        Ok(objects) => {
            let (tools, listed): (Vec<_>, Vec<_>) =
                objects.into_iter().partition(|object| TOOLS.contains(&&*object.name));
            format!("{ALIGNED}{}{}", embed("OBJECTS", &listed, &out), embed("TOOLS", &tools, &out))
        }
        Err(why) => {
            // a path that never exists makes cargo run this again, so that an installed clang is noticed
            println!("cargo::rerun-if-changed={}", out.join("no-objects").display());
            ["OBJECTS", "TOOLS"].map(|name| format!("{}Err({why:?});\n", constant(name))).concat()
        }
    };
    write(&out.join("objects.rs"), table.as_bytes());
}

fn variable(name: &str) -> PathBuf {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}")).into()
}

/// Returns stored objects if they have the byte order of the target: EI_DATA of the ELF header.
fn in_byte_order(objects: Vec<Object>) -> Result<Vec<Object>, String> {
    let is_big = variable("CARGO_CFG_TARGET_ENDIAN") == Path::new("big");
    let data = if is_big { 2 } else { 1 };
    if objects.iter().all(|object| object.elf.get(5) == Some(&data)) {
        return Ok(objects);
    }
    Err("the stored objects have another byte order than the target".to_owned())
}

/// Compiles the objects; the error says that there is no clang. Any other failure ends the build.
fn compile(sources: Sources) -> Result<Vec<Object>, String> {
    let compiler = match BpfCompiler::new(sources) {
        Err(no_clang @ Error::NoClang { .. }) => return Err(no_clang.to_string()),
        other => other.unwrap_or_else(|e| fail(&e)),
    };
    let objects = compile_all(&compiler).unwrap_or_else(|e| fail(&e));
    for line in objects.iter().flat_map(|object| object.warnings.lines()) {
        println!("cargo::warning={line}");
    }
    Ok(objects)
}

/// Type with the alignment at which ELF must be read.
const ALIGNED: &str = "#[repr(C, align(8))]\nstruct Aligned<T>(T);\n";

/// Returns the begin of a constant: objects by name, or the reason why there are none.
fn constant(name: &str) -> String {
    format!("const {name}: Result<&[(&str, &[u8])], &str> = ")
}

/// Returns source that includes the objects.
fn embed(name: &str, objects: &[Object], out: &Path) -> String {
    let mut table = constant(name) + "Ok(&[\n";
    for Object { name, elf, .. } in objects {
        write(&out.join(format!("{name}.bpf.o")), elf);
        let bytes = format!("*include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bpf.o\"))");
        writeln!(table, "    ({name:?}, &Aligned({bytes}).0),").expect("a string grows");
    }
    table + "]);\n"
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Ends the build with clang's messages, one line of cargo's output each.
fn fail(error: &Error) -> ! {
    for line in error.to_string().lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}
