//! The compilation: one call of clang per algorithm.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::{Algorithm, Error, Kind, Sources};

/// A compiled algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The algorithm's name; its name in the kernel is `fp_NAME`.
    pub name: String,
    /// The object: an ELF file with BTF, for libbpf or `fairpace_kernel::Object::from_elf`.
    pub elf: Vec<u8>,
    /// Warnings of clang, empty for none.
    pub warnings: String,
}

/// The compiler: clang, with the sources that every algorithm is compiled with.
#[derive(Debug)]
pub struct BpfCompiler {
    clang: OsString,
    resources: PathBuf,
    target: &'static str,
    sources: Sources,
}

impl BpfCompiler {
    /// Returns a compiler with these sources and the clang of the environment variable `CLANG`, else `clang`.
    ///
    /// The object is for the byte order of this machine; in a build script, for the byte order of the machine
    /// that cargo builds for.
    ///
    /// # Errors
    /// [`Error::NoClang`].
    pub fn new(sources: Sources) -> Result<BpfCompiler, Error> {
        BpfCompiler::with_clang(std::env::var_os("CLANG").unwrap_or_else(|| "clang".into()), sources)
    }

    /// Returns a compiler with these sources and this clang.
    ///
    /// # Errors
    /// [`Error::NoClang`].
    pub fn with_clang(clang: impl Into<OsString>, sources: Sources) -> Result<BpfCompiler, Error> {
        let mut clang = clang.into();
        if Path::new(&clang).components().count() > 1 {
            clang = absolute(Path::new(&clang))?.into(); // clang is started in the folder of a header
        }
        let answer = run(Command::new(&clang).arg("-print-resource-dir"))?;
        if !answer.status.success() {
            let cause = std::io::Error::other(String::from_utf8_lossy(&answer.stderr).trim().to_owned());
            return Err(Error::NoClang { clang: clang.to_string_lossy().into_owned(), cause });
        }
        let resources = String::from_utf8_lossy(&answer.stdout).trim().into();
        let big_endian = std::env::var("CARGO_CFG_TARGET_ENDIAN")
            .map_or(cfg!(target_endian = "big"), |endian| endian == "big");
        let target = if big_endian { "bpfeb" } else { "bpfel" };
        Ok(BpfCompiler { clang, resources, target, sources })
    }

    /// The sources that algorithms are compiled with.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Compiles an algorithm. The object contains no path of this machine: equal sources and equal versions
    /// of clang give equal bytes on every machine.
    ///
    /// # Errors
    /// The header cannot be read, or clang does not accept it; the error holds clang's messages.
    pub fn compile(&self, algorithm: &Algorithm) -> Result<Object, Error> {
        let header = absolute(&algorithm.header)?;
        std::fs::metadata(&header).map_err(Error::io(&header))?;
        let cc = absolute(self.sources.cc())?;
        let mut command = self.command(&cc, &absolute(self.sources.libbpf())?);
        match (header.parent(), header.file_name()) {
            // relative to the header's folder: that folder is in no path then, nor are those around it
            (Some(folder), Some(file)) if folder != cc => {
                command.current_dir(folder).arg("-include").arg(file);
            }
            _ => {
                command.arg("-include").arg(&header);
            }
        }
        let (owns, tracks) = match algorithm.kind {
            Kind::OwnsCwnd => (1, 0),
            Kind::TracksSends => (1, 1),
            Kind::GrowsCwnd => (0, 0),
        };
        command.args([format!("-DCC_NAME={}", algorithm.code)]);
        command.args([format!("-DCC_LISTED_NAME={}", algorithm.listed)]);
        command.args([format!("-DCC_OWNS={owns}"), format!("-DCC_TRACKS={tracks}")]);
        if let Some(settings) = &algorithm.settings {
            command.arg("-D").arg(settings);
        }
        command.arg("-c").arg(cc.join("bpf/object.bpf.c"));
        object(algorithm.listed.clone(), &mut command)
    }

    /// Compiles `bpf/NAME.bpf.c` of the sources: programs of the loader that are no algorithm.
    ///
    /// # Errors
    /// The errors of [`BpfCompiler::compile`].
    pub fn compile_tool(&self, name: &str) -> Result<Object, Error> {
        let cc = absolute(self.sources.cc())?;
        let mut command = self.command(&cc, &absolute(self.sources.libbpf())?);
        command.arg("-c").arg(cc.join("bpf").join(format!("{name}.bpf.c")));
        object(name.to_owned(), &mut command)
    }

    fn command(&self, cc: &Path, libbpf: &Path) -> Command {
        let mut command = Command::new(&self.clang);
        // -g: BTF, which CO-RE needs. v3: 32-bit arithmetic and jumps, in all kernels since 5.1.
        command.args(["-target", self.target, "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-ffreestanding"]);
        command.args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function"]);
        // BPF has no linker that would find a missing function
        command.arg("-Werror=implicit-function-declaration");
        // no folder here contains another one: which of the two clang then chooses depends on its version
        for (from, to) in [(libbpf, "libbpf"), (cc, "cc"), (&self.resources, "clang")] {
            command.arg(mapping(from, to));
        }
        command.args(["-fdebug-compilation-dir", ".", "-fdiagnostics-absolute-paths"]);
        command.arg("-I").arg(cc).arg("-I").arg(libbpf);
        command
    }
}

/// Runs clang, which writes the object to its standard output.
fn object(name: String, command: &mut Command) -> Result<Object, Error> {
    let Output { status, stdout, stderr } = run(command.args(["-o", "-"]))?;
    let messages = String::from_utf8_lossy(&stderr).into_owned();
    if !status.success() {
        return Err(Error::Refused { name, messages });
    }
    Ok(Object { name, elf: stdout, warnings: messages })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::io(path))
}

/// Returns clang's option that writes `to` in place of a folder.
fn mapping(from: &Path, to: &str) -> OsString {
    let mut option = OsString::from("-ffile-prefix-map=");
    option.push(from);
    option.push("=");
    option.push(OsStr::new(to));
    option
}

fn run(command: &mut Command) -> Result<Output, Error> {
    command.stdin(Stdio::null()).output().map_err(|cause| Error::NoClang {
        clang: command.get_program().to_string_lossy().into_owned(),
        cause,
    })
}
