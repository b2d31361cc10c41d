//! The compilation for this machine: a shared library of one header, for the simulator
//! (`fairpace_cc::plugin`).

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_cc::NATIVE_DEFINES;
use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{Algorithm, Error, Kind, Sources};

/// Longest time of a compilation. A header that includes itself for ever, or a device without an end, would
/// keep clang busy.
const LONGEST: Duration = Duration::from_secs(60);
/// Most memory that clang may take, bytes.
const MOST_MEMORY: u64 = 2 << 30;
/// Largest file that clang may write, bytes.
const MOST_FILE: u64 = 64 << 20;
/// Most bytes of clang's messages that are kept.
const MOST_MESSAGES: usize = 64 << 10;
/// Options of clang. Undefined behaviour that can be found ends the process; the other options are those of
/// fairpace-cc's own build.
const FLAGS: [&str; 12] = [
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffreestanding",
    "-nostdlibinc", // clang has the headers of freestanding C itself
    "-fno-builtin",
    "-fsanitize=undefined",
    "-fsanitize-trap=undefined",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-unused-function",
];

/// Options for linking the library.
const LINK: [&str; 3] = ["-shared", "-nostdlib", "-Wl,-Bsymbolic"];

/// The compiler for this machine: clang.
#[derive(Debug)]
pub struct NativeCompiler {
    clang: OsString,
    version: String,
    resources: PathBuf,
    sources: Sources,
}

/// A compiled header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Path of the shared library.
    pub path: PathBuf,
    /// A hash, in hex, of all files that the library was compiled from, of the options and of clang's
    /// version.
    pub digest: String,
    /// The header and the files beside it that it includes: path from the header's folder, and text.
    pub files: Vec<(String, String)>,
    /// Warnings of clang; empty if there are none, or if the library was kept from an earlier call.
    pub warnings: String,
}

impl NativeCompiler {
    /// Returns a compiler with the clang of the environment variable `CLANG`, else `clang`.
    ///
    /// # Errors
    /// [`Error::NoClang`].
    pub fn new(sources: Sources) -> Result<Self, Error> {
        let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
        let ask = |what: &str| -> Result<String, Error> {
            let no_clang = |cause| Error::NoClang { clang: clang.to_string_lossy().into_owned(), cause };
            let answer = Command::new(&clang).arg(what).stdin(Stdio::null()).output().map_err(no_clang)?;
            Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        };
        // the lines below say where it is
        let version = ask("--version")?.lines().take(2).collect();
        let resources = ask("-print-resource-dir")?.into();
        Ok(Self { clang, version, resources, sources })
    }

    /// Compiles a header `NAME.h`. The library is written to a folder, as `NAME-DIGEST.so`; if the file
    /// exists already, nothing is compiled.
    ///
    /// # Errors
    /// The header cannot be read, does not compile, is changed meanwhile, includes a file that is neither
    /// beside it nor Fairpace's, or has no name for an algorithm. Or the folder cannot be written, or others
    /// may write to it.
    pub fn compile(&self, header: &Path, folder: &Path) -> Result<Library, Error> {
        let run = Run::new(self, header)?;
        let (digest, files) = run.inputs()?;
        let folder = private_folder(folder)?;
        let path = folder.join(format!("{}-{}.so", run.name, &digest[..16]));
        if path.exists() {
            return Ok(Library { path, digest, files, warnings: String::new() });
        }
        let made = run.scratch.path().join("made.so");
        let mut command = run.command();
        command.args(LINK).arg("-o").arg(&made);
        let warnings = run.perform(command.arg(self.sources.cc().join("native/native.c")))?;
        // what clang has read must be what was hashed
        if run.inputs()?.0 != digest {
            return Err(Error::Changed { name: run.name });
        }
        // in one step: another call may compile the same
        let mut beside =
            tempfile::Builder::new().prefix(".fairpace-").tempfile_in(&folder).map_err(Error::io(&folder))?;
        let mut from = File::open(&made).map_err(Error::io(&made))?;
        io::copy(&mut from, &mut beside).map_err(Error::io(beside.path()))?;
        beside.as_file().sync_all().map_err(Error::io(beside.path()))?;
        beside.persist(&path).map_err(|error| Error::io(&path)(error.error))?;
        Ok(Library { path, digest, files, warnings })
    }

    /// Returns the [`Library::digest`] that a header has now.
    ///
    /// # Errors
    /// The errors of [`compile`](Self::compile).
    pub fn digest(&self, header: &Path) -> Result<String, Error> {
        Ok(Run::new(self, header)?.inputs()?.0)
    }
}

/// Returns a list of algorithms with a single entry.
fn list(name: &str) -> String {
    format!(
        "#ifdef CC_ALGORITHM\nCC_ALGORITHM({name}, {name}_kind, {name}_title, {name}_source)\n\
         #undef CC_ALGORITHM\n#endif\n#undef CC_PRESET\n"
    )
}

/// Returns C for the kind, title and source that a header declares, with an error or a default where it does
/// not.
fn kind(name: &str) -> String {
    format!(
        "#ifndef {name}_kind\n#error \"{name}.h lacks a line such as: #define {name}_kind CC_OWNS_CWND\"\n\
         #define {name}_kind CC_OWNS_CWND\n#endif\n\
         #ifndef {name}_title\n#define {name}_title \"{name}.h\"\n#endif\n\
         #ifndef {name}_source\n#define {name}_source \"{name}.h\"\n#endif\n"
    )
}

/// Makes a folder that only this user and root can write to, because libraries in it are run. Returns its
/// path without links.
///
/// # Errors
/// It cannot be made, or it or a folder around it belongs to another user or can be written to by others.
pub fn private_folder(folder: &Path) -> Result<PathBuf, Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::io(folder))?;
    let folder = fs::canonicalize(folder).map_err(Error::io(folder))?;
    for part in folder.ancestors() {
        let found = fs::metadata(part).map_err(Error::io(part))?;
        let is_own = found.uid() == 0 || found.uid() == geteuid().as_raw();
        // in a sticky folder (/tmp) others cannot replace what is there
        let is_closed = found.mode() & 0o022 == 0 || (part != folder && found.mode() & 0o1000 != 0);
        if !is_own || !is_closed {
            return Err(Error::Writable { folder: part.to_owned() });
        }
    }
    Ok(folder)
}

/// A compilation of a header.
struct Run<'a> {
    compiler: &'a NativeCompiler,
    name: String,
    header: PathBuf,
    scratch: TempDir,
}

impl<'a> Run<'a> {
    fn new(compiler: &'a NativeCompiler, header: &Path) -> Result<Self, Error> {
        let name = Algorithm::new(header, Kind::OwnsCwnd)?.name().to_owned();
        let header = fs::canonicalize(header).map_err(Error::io(header))?;
        let scratch = tempfile::Builder::new().prefix("fairpace-").tempdir();
        let scratch = scratch.map_err(Error::io(std::env::temp_dir()))?;
        write(&scratch.path().join("algorithms.def"), &list(&name))?;
        write(&scratch.path().join("kind.h"), &kind(&name))?;
        Ok(Self { compiler, name, header, scratch })
    }

    fn command(&self) -> Command {
        let scratch = self.scratch.path();
        let mut command = Command::new(&self.compiler.clang);
        command.args(FLAGS).args(defines()).arg("-fno-crash-diagnostics");
        command.arg("-I").arg(scratch).arg("-I").arg(self.compiler.sources.cc());
        command.arg("-include").arg(&self.header).arg("-include").arg(scratch.join("kind.h"));
        command
    }

    /// Returns the files that the library is compiled from. This list is made first, without the lines of
    /// errors: clang's message about a file that is no C could show the file's content.
    fn included(&self) -> Result<Vec<PathBuf>, Error> {
        let to = self.scratch.path().join("files");
        let mut command = self.command();
        command.args(["-M", "-w", "-fno-caret-diagnostics", "-MF"]).arg(&to);
        self.perform(command.arg(self.compiler.sources.cc().join("native/native.c")))?;
        let text = fs::read_to_string(&to).map_err(Error::io(&to))?;
        let beside = self.header.parent().unwrap_or(Path::new("/"));
        let own = [beside, self.compiler.sources.cc(), &self.compiler.resources, self.scratch.path()];
        let own: Vec<PathBuf> = own.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect();
        let mut files = Vec::new();
        for file in in_rule(&text) {
            let path = fs::canonicalize(&file).map_err(Error::io(&file))?;
            if !own.iter().any(|folder| path.starts_with(folder)) {
                return Err(Error::Included { name: self.name.clone(), file: path });
            }
            files.push(path);
        }
        Ok(files)
    }

    /// Returns a hash of all inputs that decide the behaviour of the library, and the files of the user among
    /// them.
    fn inputs(&self) -> Result<(String, Vec<(String, String)>), Error> {
        let beside = self.header.parent().unwrap_or(Path::new("/"));
        let mut own = Vec::new();
        let mut sum = Sha256::new();
        let mut add = |bytes: &[u8]| {
            // the length keeps the end of one apart from the start of the next
            sum.update((bytes.len() as u64).to_le_bytes());
            sum.update(bytes);
        };
        add(self.compiler.version.as_bytes());
        FLAGS.iter().chain(&LINK).for_each(|flag| add(flag.as_bytes()));
        defines().for_each(|define| add(define.as_bytes()));
        for file in self.included()? {
            let bytes = fs::read(&file).map_err(Error::io(&file))?;
            add(&bytes);
            if let Ok(name) = file.strip_prefix(beside) {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                own.push((name.to_string_lossy().into_owned(), text));
            }
        }
        own.sort();
        own.dedup();
        Ok((sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), own))
    }

    /// Runs clang within its limits; returns its warnings.
    fn perform(&self, command: &mut Command) -> Result<String, Error> {
        let messages = self.scratch.path().join("messages");
        let to = File::create(&messages).map_err(Error::io(&messages))?;
        let status = limited(command.stderr(to)).map_err(|cause| Error::NoClang {
            clang: self.compiler.clang.to_string_lossy().into_owned(),
            cause,
        })?;
        let said = fs::read(&messages).map_err(Error::io(&messages))?;
        let said = String::from_utf8_lossy(&said[..said.len().min(MOST_MESSAGES)]).into_owned();
        match status {
            Some(status) if status.success() => Ok(said),
            Some(_) => Err(Error::Refused { name: self.name.clone(), messages: said }),
            None => Err(Error::Endless { name: self.name.clone(), after: LONGEST }),
        }
    }
}

/// Returns the macros that fairpace-cc's own build defines.
fn defines() -> impl Iterator<Item = String> {
    NATIVE_DEFINES.iter().map(|(name, value)| format!("-D{name}={value}"))
}

/// Runs a program with little memory and time; `None`: the program took more time.
fn limited(command: &mut Command) -> io::Result<Option<ExitStatus>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let limits = [
        (Resource::As, MOST_MEMORY),
        (Resource::Fsize, MOST_FILE),
        (Resource::Core, 0),
        // if this process ends before it
        (Resource::Cpu, LONGEST.as_secs()),
    ];
    for (resource, most) in limits {
        // it may have ended already
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Pid::from_child(&child).into(), resource, limit);
    }
    let end = Instant::now() + LONGEST;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(5));
    }
}

/// Returns the files of a rule for make: after the colon, with blanks behind a backslash, over several lines.
fn in_rule(text: &str) -> Vec<PathBuf> {
    let text = text.split_once(": ").map_or("", |(_, files)| files).replace("\\\n", " ");
    let (mut files, mut file) = (Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|next| matches!(next, ' ' | '#' | '\\')) => {
                file.extend(chars.next())
            }
            '$' if chars.peek() == Some(&'$') => file.extend(chars.next()),
            c if c.is_whitespace() => {
                if !file.is_empty() {
                    files.push(PathBuf::from(std::mem::take(&mut file)));
                }
            }
            c => file.push(c),
        }
    }
    if !file.is_empty() {
        files.push(file.into());
    }
    files
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_rule_may_have_blanks_and_stand_on_several_lines() {
        let text = "native.o: /a/native.c \\\n  /b/my\\ folder/mine.h /c/$$x.h\n";
        let expected = ["/a/native.c", "/b/my folder/mine.h", "/c/$x.h"].map(PathBuf::from);
        assert_eq!(in_rule(text), expected);
    }

    #[test]
    fn a_program_has_its_limits() {
        let ended = |script: &str| limited(Command::new("sh").args(["-c", script])).unwrap().unwrap();
        // the limits are set when it has started
        assert!(ended("sleep 0.3; test $(ulimit -v) = 2097152 && test $(ulimit -t) = 60").success());
        assert!(!ended("sleep 0.3; test $(ulimit -v) = unlimited").success());
    }
}
