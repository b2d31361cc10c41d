//! The C that every algorithm is compiled with.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Algorithm, Error, Kind, settings};

#[cfg(feature = "headers")]
include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Text of the contract, `contract/contract.h`: what an algorithm reads and writes, and may not do.
#[cfg(feature = "headers")]
pub const CONTRACT: &str = include!(concat!(env!("OUT_DIR"), "/contract.rs"));

// Offset and prime of the 64-bit FNV-1a hash (draft-eastlake-fnv, section 5).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Folders of fairpace-cc that hold C for BPF, beside the headers at its top.
const FOLDERS: [&str; 3] = ["contract", "lib", "bpf"];

/// The folders with the contract, the shim and the algorithms (fairpace-cc), and with libbpf's BPF-side
/// headers.
#[derive(Debug)]
pub struct Sources {
    cc: PathBuf,
    libbpf: PathBuf,
    #[cfg(feature = "headers")]
    _unpacked: Option<tempfile::TempDir>,
}

impl Sources {
    /// Returns the sources that this crate contains, unpacked to a temporary folder, which is removed with
    /// the value.
    ///
    /// # Errors
    /// The folder cannot be written.
    #[cfg(feature = "headers")]
    pub fn contained() -> Result<Sources, Error> {
        let unpacked = tempfile::Builder::new().prefix("fairpace-bpf-").tempdir();
        let unpacked = unpacked.map_err(Error::io(std::env::temp_dir()))?;
        for (name, text) in HEADERS {
            let path = unpacked.path().join(name);
            let folder = path.parent().unwrap_or(&path);
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
            fs::write(&path, text).map_err(Error::io(&path))?;
        }
        let (cc, libbpf) = (unpacked.path().join("cc"), unpacked.path().join("libbpf"));
        Ok(Sources { cc, libbpf, _unpacked: Some(unpacked) })
    }

    /// Returns sources in these folders: `cc` holds `algorithms.def`, `libbpf` holds `bpf_helpers.h`. The
    /// build script of a crate that depends on fairpace-cc and libbpf-sys finds them as
    /// `DEP_FAIRPACE_CC_INCLUDE` and `DEP_BPF_INCLUDE/bpf`.
    pub fn in_folders(cc: impl Into<PathBuf>, libbpf: impl Into<PathBuf>) -> Sources {
        Sources {
            cc: cc.into(),
            libbpf: libbpf.into(),
            #[cfg(feature = "headers")]
            _unpacked: None,
        }
    }

    /// The folder of fairpace-cc: `contract/`, `lib/`, `bpf/` and one header per algorithm.
    pub fn cc(&self) -> &Path {
        &self.cc
    }

    /// The folder of libbpf's BPF-side headers.
    pub fn libbpf(&self) -> &Path {
        &self.libbpf
    }

    /// Returns the files of [`Sources::cc`] that objects are made of, relative to that folder, in the order
    /// of their names.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = vec![PathBuf::from("algorithms.def")];
        for folder in std::iter::once("").chain(FOLDERS) {
            let path = self.cc.join(folder);
            for entry in fs::read_dir(&path).map_err(Error::io(&path))? {
                let name = PathBuf::from(folder).join(entry.map_err(Error::io(&path))?.file_name());
                files.extend(Some(name).filter(|n| n.extension().is_some_and(|e| e == "h" || e == "c")));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Returns a number that differs when the sources in [`Sources::cc`] differ, as 16 hexadecimal digits. It
    /// notices a change; it is no protection against forgery.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn digest(&self) -> Result<String, Error> {
        let mut hash = FNV_OFFSET;
        let mut feed = |bytes: &[u8]| {
            // the length keeps the end of one text apart from the start of the next
            for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
            }
        };
        for file in self.files()? {
            let path = self.cc.join(&file);
            feed(file.to_string_lossy().as_bytes());
            feed(&fs::read(&path).map_err(Error::io(&path))?);
        }
        Ok(format!("{hash:016x}"))
    }

    /// Returns the algorithms and presets of `algorithms.def`, in its order.
    ///
    /// # Errors
    /// The list cannot be read, or has a line of another form.
    pub fn listed(&self) -> Result<Vec<Algorithm>, Error> {
        let path = self.cc.join("algorithms.def");
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let mut listed: Vec<Algorithm> = Vec::new();
        let mut rest = text.as_str();
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let bad = |what: String| Error::BadList { line: number, what };
            let of_entry = entry(rest);
            rest = &rest[line.len()..];
            let Some((of, arguments)) = of_entry else { continue };
            let [name, second, ..] = &arguments[..] else {
                return Err(bad("an entry has at least two arguments".to_owned()));
            };
            let algorithm = match of {
                Line::Algorithm => {
                    let kind =
                        Kind::by_c_name(second).ok_or_else(|| bad(format!("there is no kind {second}")))?;
                    Algorithm::new(self.cc.join(format!("{name}.h")), kind)?
                }
                Line::Preset => {
                    let parent = listed.iter().find(|a| a.name() == second);
                    let parent = parent
                        .ok_or_else(|| bad(format!("{name} is a preset of {second}, which is not above")))?;
                    let [_, _, _, _, given] = &arguments[..] else {
                        return Err(bad("a preset has five arguments".to_owned()));
                    };
                    let settings = settings::definition(given)
                        .map_err(|setting| bad(format!("{name} cannot have the default \"{setting}\"")))?;
                    Algorithm { settings: Some(settings), ..parent.clone().listed_as(name)? }
                }
            };
            listed.push(algorithm);
        }
        Ok(listed)
    }
}

enum Line {
    /// A line of an algorithm: `CC_ALGORITHM(name, kind, ...`
    Algorithm,
    /// A line of a preset: `CC_PRESET(name, algorithm, ...`
    Preset,
}

/// Returns the entry at the begin of a text: its macro and the macro's arguments. `None`: the text begins
/// otherwise.
fn entry(text: &str) -> Option<(Line, Vec<String>)> {
    let (of, arguments) = match (text.strip_prefix("CC_ALGORITHM("), text.strip_prefix("CC_PRESET(")) {
        (Some(arguments), _) => (Line::Algorithm, arguments),
        (None, Some(arguments)) => (Line::Preset, arguments),
        (None, None) => return None,
    };
    Some((of, split(arguments)))
}

/// Returns the arguments of a macro up to its closing parenthesis, without quotes; adjacent literals are
/// joined.
fn split(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ')' if !quoted => break,
            ',' if !quoted => arguments.push(String::new()),
            c if quoted || !c.is_whitespace() => arguments.last_mut().expect("it has one").push(c),
            _ => {}
        }
    }
    arguments
}
