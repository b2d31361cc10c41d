//! Headers: algorithms of the user that a command or its scenario file names.
//!
//! The parsed arguments say where a command names algorithms ([`Named`]). A header among them is compiled and
//! runs in a process of its own, a second instance of this program with the same arguments
//! ([`crate::supervised`]). In that process the header's name means its algorithm, for every command.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use fairpace_bpf_build::{self as build, NativeCompiler, Sources};
use fairpace_cc::plugin::{Compiled, PluginError};
use fairpace_cc::{Algorithm, Origin};
use fairpace_scenario::{Cc, Set};

use crate::failure::{Exit, Failure};
use crate::output::note;

/// Most bytes of a scenario file that are read here; later the file is read in full and checked.
const MOST_TEXT: u64 = 1 << 20;
/// Sections of keys in `--set SECTION.KEY`; any other section is an algorithm.
const SECTIONS: [&str; 3] = ["flow", "link", "window"];
/// End of the path of a header.
const END: &str = ".h";

/// The headers that a command names, as the user wrote them.
#[derive(Debug, Default)]
pub struct Named(BTreeSet<String>);

impl Named {
    /// Adds the headers among names of algorithms: `--cc ./mine.h,./mine.h:gain=2`, `load mine.h`.
    #[must_use]
    pub fn names(mut self, names: &[String]) -> Self {
        let headers = names.iter().map(|name| Cc::split(name).0).filter(|name| is_header(name));
        self.0.extend(headers.map(str::to_owned));
        self
    }

    /// Adds the headers that `--set flow.cc=./mine.h` names.
    #[must_use]
    pub fn sets(self, sets: &[Set]) -> Self {
        let values = sets.iter().map(|set| set.to_string().split_once('=').unwrap_or_default().1.to_owned());
        self.names(&values.collect::<Vec<_>>())
    }

    /// Adds the headers that flows of a scenario file name: `cc = "mine.h"` is beside the file. A file that
    /// is not a scenario names none.
    #[must_use]
    pub fn scenario(self, file: &Path) -> Self {
        match begin_of(file) {
            Some(text) => self.text(file, &text),
            None => self,
        }
    }

    /// Adds the headers that the text of a scenario file names.
    #[must_use]
    pub fn text(self, file: &Path, text: &str) -> Self {
        let mut found = Vec::new();
        if let Ok(table) = toml::from_str(text) {
            algorithms(&toml::Value::Table(table), false, &mut found);
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        self.names(&found.iter().map(|name| Cc::from_folder(folder, name)).collect::<Vec<_>>())
    }

    /// Adds the headers that criteria in a folder name.
    #[must_use]
    pub fn criteria(self, folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let files = entries.map(|entry| entry.path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
        files.fold(self, |named, file| named.scenario(&file))
    }

    /// All headers, each once, in the order of their texts.
    #[must_use]
    pub fn all(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

fn is_header(text: &str) -> bool {
    text.ends_with(END) && text.len() > END.len() && Path::new(text).is_file()
}

/// Collects the texts of keys `cc`, and of axes, whose values may be algorithms.
fn algorithms(value: &toml::Value, is_algorithm: bool, found: &mut Vec<String>) {
    match value {
        toml::Value::String(text) if is_algorithm => found.push(text.clone()),
        toml::Value::Array(items) => items.iter().for_each(|item| algorithms(item, is_algorithm, found)),
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| {
                algorithms(value, is_algorithm || ["cc", "axis"].contains(&key.as_str()), found);
            });
        }
        _ => {}
    }
}

/// The first bytes of a regular file as text. Other files are not read: a pipe would be consumed, and a
/// device may have no end.
fn begin_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::metadata(path).ok().filter(Metadata::is_file)?;
    File::open(path).ok()?.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Compiles and loads headers, in this order. If `warn`, the warnings of the compiler are shown.
///
/// # Errors
/// Returns an error if a header cannot be compiled, or has the name of another algorithm.
pub fn load(headers: &[String], warn: bool) -> Result<(), Failure> {
    let compiler = NativeCompiler::new(Sources::contained().map_err(failed)?).map_err(failed)?;
    for (header, written) in distinct(headers) {
        let name = header.file_stem().unwrap_or_default().to_string_lossy();
        if SECTIONS.contains(&&*name) {
            let message =
                format!("{name} cannot be an algorithm's name: scenarios have a section of that name");
            return Err(Failure::new(Exit::Usage, message, "rename the file and what is in it"));
        }
        // one that was loaded before keeps its path, by which it is known
        let known = written.iter().find_map(|written| Algorithm::by_name(written).ok()?.header());
        let header = known.map_or(header, Path::to_owned);
        let library = compiler.compile(&header, &cache_folder()).map_err(failed)?;
        for line in library.warnings.lines().filter(|_| warn) {
            note(line);
        }
        let origin = Origin { header, written, digest: library.digest, files: library.files };
        load_one(Compiled { library: library.path, origin })?;
    }
    #[cfg(feature = "kernel")]
    fairpace_kernel::compile_with(for_bpf::compile);
    Ok(())
}

/// A loaded header, compiled for the guest of a kernel in virtual time, where its path from the scenario is
/// `file`.
///
/// # Errors
/// Returns an error if it cannot be compiled, or has changed since it was loaded.
#[cfg(feature = "virtual")]
pub(crate) fn for_guest(file: String, algorithm: Algorithm) -> Result<fairpace_virtual::Header, Failure> {
    let compiler = NativeCompiler::new(Sources::contained().map_err(failed)?).map_err(failed)?;
    let header = algorithm.header().unwrap_or(Path::new(""));
    let library = compiler.compile(header, &cache_folder()).map_err(failed)?;
    let unreadable = |error| Failure::file("cannot read", &library.path, &error, "try again");
    Ok(fairpace_virtual::Header {
        file,
        digest: library.digest.clone(),
        files: library.files.clone(),
        library: fs::read(&library.path).map_err(unreadable)?,
        object: for_bpf::compile(algorithm)
            .map_err(|why| Failure::new(Exit::Usage, why, "see its messages"))?,
    })
}

/// In the guest: loads headers that the host compiled, whose paths are below `folder`.
///
/// # Errors
/// Returns an error if a library cannot be written or loaded.
#[cfg(feature = "kernel")]
pub(crate) fn load_compiled(folder: &Path, headers: Vec<fairpace_virtual::Header>) -> Result<(), Failure> {
    for fairpace_virtual::Header { file, digest, files, library, object } in headers {
        let header = folder.join(file);
        let path = header.with_extension("so");
        let failed = |error| Failure::file("cannot write", &path, &error, "");
        fs::write(&path, library).map_err(failed)?;
        let written = vec![header.display().to_string()];
        of_host::keep(&digest, object);
        load_one(Compiled { library: path.clone(), origin: Origin { header, written, digest, files } })?;
    }
    fairpace_kernel::compile_with(of_host::kept);
    Ok(())
}

/// Loads headers as [`load`] does, for a process in which they change: a header that is loaded and has not
/// changed since is not loaded again, and the name of one that has changed means the new one from now on.
///
/// # Errors
/// The errors of [`load`].
pub fn load_changed(headers: &[String], warn: bool) -> Result<(), Failure> {
    let is_changed = |header: &&String| !Algorithm::by_name(header).is_ok_and(is_as_loaded);
    let changed: Vec<String> = headers.iter().filter(is_changed).cloned().collect();
    if changed.is_empty() { Ok(()) } else { load(&changed, warn) }
}

/// Whether the files of a loaded header have the texts that it was compiled from.
fn is_as_loaded(algorithm: Algorithm) -> bool {
    let Some(header) = algorithm.header().and_then(|header| fs::canonicalize(header).ok()) else {
        return false;
    };
    let folder = header.parent().unwrap_or(Path::new("/"));
    let is_same = |(name, text): &(String, String)| {
        fs::read(folder.join(name)).is_ok_and(|now| String::from_utf8_lossy(&now) == *text)
    };
    algorithm.files().iter().all(is_same)
}

/// The headers, each file once, as the user first wrote its path.
pub(crate) fn first_written(headers: &[String]) -> Vec<String> {
    distinct(headers).into_iter().filter_map(|(_, written)| written.into_iter().next()).collect()
}

/// The headers, each file once, with all the ways in which the user wrote its path.
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

/// Path of the folder that keeps compiled headers and finished runs from one call to the next. For root it is
/// not in HOME, which may belong to another user.
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

/// Path of the [`cache_folder`], which is created if it does not exist. Only this user and root can write to
/// it.
///
/// # Errors
/// Returns an error if the folder cannot be created, or if others can write to it.
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

/// Objects of headers that the host of this guest compiled.
#[cfg(feature = "kernel")]
mod of_host {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    use fairpace_cc::Algorithm;

    /// The objects, by the digests of their headers.
    static KEPT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());

    /// Keeps an object for [`kept`].
    pub(super) fn keep(digest: &str, object: Vec<u8>) {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.to_owned(), object);
    }

    /// The object of a loaded header, which the host compiled.
    pub(super) fn kept(algorithm: Algorithm) -> Result<Vec<u8>, String> {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let found = algorithm.digest().and_then(|digest| kept.get(digest)).cloned();
        found.ok_or_else(|| format!("the host has not compiled {algorithm}"))
    }
}

/// Loaded headers as objects for the kernel.
#[cfg(feature = "virtual")]
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
    fn headers_are_found_where_algorithms_are_named_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = place.path().join(name);
            fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let [one, two, three, four, five] = ["one.h", "two.h", "three.h", "four.h", "five.h"].map(path);
        let scenario = place.path().join("scenario.toml");
        fs::write(&scenario, format!("title = \"{two}\"\n[[flow]]\ncc = \"./four.h:gain=2\"\n")).unwrap();
        let set = format!("flow.a.cc={three}").parse::<Set>().unwrap();
        let names = [one.clone(), "bbr3".into(), "missing.h".into(), ".h".into(), "a.hh".into()];
        let found = Named::default().names(&names).sets(&[set]).scenario(&scenario).all();
        assert_eq!(found, [four.clone(), one, three]);
        let axis = format!("[axis]\nrival = [\"bbr1\", \"{five}\"]\n");
        fs::write(place.path().join("criterion.toml"), axis).unwrap();
        assert_eq!(Named::default().criteria(place.path()).all(), [five, four]);
        fs::write(&scenario, "not = toml = at all").unwrap();
        assert!(Named::default().scenario(&scenario).all().is_empty());
    }
}
