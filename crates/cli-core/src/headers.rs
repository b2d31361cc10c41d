//! Algorithms that the user wrote: headers that the arguments name, or a scenario file among them.
//!
//! Such a header is compiled and runs in a process of its own, a second instance of this program with the
//! same arguments ([`crate::supervised`]). There its name means the algorithm, for every command.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use fairpace_bpf_build::{self as build, NativeCompiler, Sources};
use fairpace_cc::Origin;
use fairpace_cc::plugin::{Compiled, PluginError};

use crate::failure::{Exit, Failure};
use crate::output::note;

/// Bytes of a scenario file that are read here: it is read in whole, and checked, later.
const MOST_TEXT: u64 = 1 << 20;
/// What `--set SECTION.KEY` begins with, if it is no parameter of an algorithm.
const SECTIONS: [&str; 3] = ["flow", "link", "window"];
/// The option whose folder may name headers. That of `--out` does not count: an earlier result in it may name
/// some.
const CRITERIA: &str = "--criteria";
/// How the path of a header ends.
const END: &str = ".h";

/// The headers that these arguments name, as they are written: `--cc ./mine.h,bbr3`, `load mine.h`, or `cc =
/// "mine.h"` in a scenario file.
#[must_use]
pub fn named(arguments: &[OsString]) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut before = "";
    for argument in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        let words = argument.split([',', '=']);
        found.extend(words.filter(|word| word.ends_with(END) && word.len() > END.len()).map(str::to_owned));
        let criteria = argument.strip_prefix("--criteria=").or((before == CRITERIA).then_some(argument));
        let files = match criteria {
            Some(folder) => criteria_in(Path::new(folder)),
            None if argument.ends_with(END) => Vec::new(),
            None => vec![PathBuf::from(argument)],
        };
        for file in files {
            found.extend(in_scenario(&begin_of(&file).unwrap_or_default()));
        }
        before = argument;
    }
    found.into_iter().filter(|name| Path::new(name).is_file()).collect()
}

/// The files of a folder of criteria.
fn criteria_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")).collect()
}

/// The begin of a regular file: a pipe would be consumed, and a device may have no end.
fn begin_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::metadata(path).ok().filter(Metadata::is_file)?;
    File::open(path).ok()?.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Texts in quotes that end as a header does.
fn in_scenario(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let quoted =
        lines.flat_map(|line| ['"', '\''].into_iter().flat_map(|quote| line.split(quote).skip(1).step_by(2)));
    quoted.filter(|text| text.ends_with(END)).map(str::to_owned).collect()
}

/// Compiles and loads them, in this order. What the compiler warns of is shown if `warn`.
///
/// # Errors
/// One cannot be compiled, or has the name of another algorithm.
pub fn load(headers: &[String], warn: bool) -> Result<(), Failure> {
    let compiler = NativeCompiler::new(Sources::contained().map_err(failed)?).map_err(failed)?;
    for (header, written) in distinct(headers) {
        let name = header.file_stem().unwrap_or_default().to_string_lossy();
        if SECTIONS.contains(&&*name) {
            let message =
                format!("{name} cannot be an algorithm's name: scenarios have a section of that name");
            return Err(Failure::new(Exit::Usage, message, "rename the file and what is in it"));
        }
        let library = compiler.compile(&header, &cache_folder()).map_err(failed)?;
        for line in library.warnings.lines().filter(|_| warn) {
            note(line);
        }
        let origin = Origin { header, written, digest: library.digest };
        load_one(Compiled { library: library.path, origin })?;
    }
    #[cfg(feature = "kernel")]
    fairpace_kernel::compile_with(for_bpf::compile);
    Ok(())
}

/// Each file once, as the user wrote it first.
pub(crate) fn first_written(headers: &[String]) -> Vec<String> {
    distinct(headers).into_iter().filter_map(|(_, written)| written.into_iter().next()).collect()
}

/// Each file once, with all the ways in which it is written.
fn distinct(headers: &[String]) -> Vec<(PathBuf, Vec<String>)> {
    let mut found: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for written in headers {
        let path = std::path::absolute(written).unwrap_or_else(|_| PathBuf::from(written));
        let same =
            |other: &Path| other == path || fs::canonicalize(other).ok() == fs::canonicalize(&path).ok();
        match found.iter_mut().find(|(other, _)| other.file_stem() == path.file_stem() && same(other)) {
            Some((_, all)) => all.push(written.clone()),
            None => found.push((path, vec![written.clone()])),
        }
    }
    found
}

#[expect(unsafe_code, reason = "the library's code runs here; this process has been made for it")]
fn load_one(compiled: Compiled) -> Result<(), Failure> {
    let library = compiled.library.clone();
    // SAFETY: compiled from this version's native.c just now, or by the same program before
    let loaded = unsafe { fairpace_cc::plugin::load(compiled) };
    loaded.map(drop).map_err(|error| {
        let help = match &error {
            PluginError::Taken { .. } => "rename the file and what is in it",
            PluginError::Library { .. } => {
                // it may have been cut off; the next call compiles again
                let _ = fs::remove_file(library);
                "try again; if that is no help, is the folder on a file system without execution (noexec)?"
            }
            _ => "see what `fairpace new NAME` writes",
        };
        Failure::new(Exit::Usage, error.to_string(), help)
    })
}

/// Where libraries and finished runs are kept from one call to the next. Root's are not in HOME, which may be
/// that of another user.
#[must_use]
pub fn cache_folder() -> PathBuf {
    let user = rustix::process::geteuid();
    let folder = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_home = || match user.is_root() {
        true => Some(PathBuf::from("/var/cache")),
        false => folder("HOME").map(|home| home.join(".cache")),
    };
    let cache = folder("XDG_CACHE_HOME").or_else(of_home).map(|cache| cache.join("fairpace"));
    cache.unwrap_or_else(|| std::env::temp_dir().join(format!("fairpace-{}", user.as_raw())))
}

/// The same, made if it is not there. Only this user and root can write to it.
///
/// # Errors
/// It cannot be made, or others can write to it.
pub fn private_cache_folder() -> Result<PathBuf, Failure> {
    build::private_folder(&cache_folder()).map_err(failed)
}

fn failed(error: build::Error) -> Failure {
    use build::Error as E;
    let (exit, help) = match &error {
        E::NoClang { .. } => (Exit::Unsupported, "a header is compiled with clang"),
        E::Io { .. } => {
            (Exit::Usage, "name a header that can be read, and a cache folder that can be written")
        }
        E::Refused { .. } => (Exit::Usage, "`fairpace new NAME` writes a header that compiles"),
        E::Writable { .. } => (Exit::Unsupported, "set XDG_CACHE_HOME to a folder of your own"),
        _ => (Exit::Usage, ""),
    };
    Failure::new(exit, error.to_string(), help)
}

/// Loaded headers as objects for the kernel.
#[cfg(feature = "kernel")]
mod for_bpf {
    use std::path::Path;

    use fairpace_bpf_build::{self as build, BpfCompiler, NativeCompiler, Sources};
    use fairpace_cc::{Algorithm, Kind};

    /// The object of a loaded header for the kernel.
    pub(super) fn compile(algorithm: Algorithm) -> Result<Vec<u8>, String> {
        let compile = || {
            let kind = match (algorithm.kind(), algorithm.tracks_sends()) {
                (Kind::GrowsCwnd, _) => build::Kind::GrowsCwnd,
                (Kind::OwnsCwnd, false) => build::Kind::OwnsCwnd,
                (Kind::OwnsCwnd, true) => build::Kind::TracksSends,
            };
            let header = algorithm.header().unwrap_or(Path::new(""));
            let now = NativeCompiler::new(Sources::contained()?)?.digest(header)?;
            if Some(now.as_str()) != algorithm.digest() {
                return Err(build::Error::Changed { name: algorithm.name().to_owned() });
            }
            let compiler = BpfCompiler::new(Sources::contained()?)?;
            compiler.compile(&build::Algorithm::new(header, kind)?)
        };
        compile().map(|object| object.elf).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_in_lists_in_options_and_in_scenario_files() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = place.path().join(name);
            fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let [one, two, three, four] = ["one.h", "two.h", "three.h", "four.h"].map(path);
        let scenario = path("scenario.toml");
        fs::write(&scenario, format!("# \"{two}\"\ncc = \"{four}\"\n")).unwrap();
        let arguments = [
            "fairpace",
            "compare",
            "--cc",
            &format!("{one},bbr3"),
            &format!("--set=flow.a.cc={three}"),
            &scenario,
        ];
        let found = named(&arguments.map(OsString::from));
        assert_eq!(found, [four, one, three]);
        let folder = place.path().to_str().unwrap();
        let of_folder =
            |option: &str| named(&["fairpace", "evaluate", "reno", option, folder].map(OsString::from));
        assert_eq!(of_folder("--criteria"), [found[0].clone()]);
        assert!(of_folder("--out").is_empty(), "an earlier result may name headers");
        assert!(named(&["fairpace", "sim", "missing.h", ".h", "a.hh"].map(OsString::from)).is_empty());
    }
}
