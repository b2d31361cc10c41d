//! Hostile headers: algorithms that return invalid or extreme decisions, for tests of the hosts.
//!
//! `hostile.h` is one algorithm, and its parameters determine its decisions: the numbers from 0 on are 0, 1,
//! 2^32 - 1 and 2^31 - 2 in all fields of every call, for each kind of algorithm, and then random values from
//! the number as a seed. So one compiled object for each kind gives all hostile headers, also where there is
//! no compiler. `flows` runs them on the running kernel and judges the results.

pub mod flows;
mod probe;
mod run;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_bpf_build::{Algorithm, BpfCompiler, Kind, Sources};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_kernel::Object;

pub use run::{HeaderRecord, How, Record, one, run};

/// Text of the header, of an algorithm `hostile`.
const HEADER: &str = include_str!("hostile.h");
/// Names and kinds of the algorithms; a kernel name leaves room for a suffix.
const KINDS: [(&str, Kind, &str); 3] = [
    ("bad_owns", Kind::OwnsCwnd, "CC_OWNS_CWND"),
    ("bad_grows", Kind::GrowsCwnd, "CC_GROWS_CWND"),
    ("bad_tracks", Kind::TracksSends, "CC_TRACKS_SENDS"),
];
/// Number of values that are the same in all fields, before the random ones.
const CONSTANTS: u32 = 4;
/// Number of headers before the random ones.
pub const FIRST_RANDOM: u32 = CONSTANTS * KINDS.len() as u32;

/// A hostile header: the decisions of its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hostile {
    kind: usize,
    values: u32,
    seed: u32,
    calls: u32,
}

impl Hostile {
    /// The header with this number. Every third header is of the same kind. Every second random header is
    /// hostile in all calls, the others in some of them, so that their flows last longer.
    #[must_use]
    pub fn of(number: u32) -> Hostile {
        let (kind, turn) = (number as usize % KINDS.len(), number / KINDS.len() as u32);
        let values = turn.min(CONSTANTS);
        let some = number.wrapping_mul(0x9e37_79b9).rotate_left(turn % 32);
        let in_all = values < CONSTANTS || turn.is_multiple_of(2);
        Hostile { kind, values, seed: number, calls: if in_all { u32::MAX } else { some } }
    }

    /// A header like the one of the audit: its cwnd grows normally, and it reduces ssthresh to 0.
    #[must_use]
    pub fn reduces_to_zero() -> Hostile {
        const REDUCE: u32 = 1; // CC_EVENT_REDUCE
        Hostile { kind: 1, values: 0, seed: 0, calls: 1 << REDUCE }
    }

    /// Name of the algorithm, which is that of its kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self.kind].0
    }

    /// Values of the algorithm's parameters, as `--set` takes them.
    #[must_use]
    pub fn settings(self) -> [(&'static str, u32); 3] {
        [("values", self.values), ("seed", self.seed), ("calls", self.calls)]
    }

    /// The header's object, among the objects of all kinds.
    ///
    /// # Errors
    /// Returns an error if the object is of another algorithm.
    pub fn object(self, objects: &Objects) -> Result<Object, Failure> {
        let mut object = Object::from_elf(&objects.0[self.kind])?;
        for (name, value) in self.settings() {
            object.set(name, value)?;
        }
        Ok(object)
    }
}

/// Writes the headers of all kinds as files of a folder.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub fn write_headers(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let write = |(name, _, c_name): &(&str, Kind, &str)| {
        let text = HEADER.replace("hostile", name).replace("HOSTILE", &name.to_uppercase());
        let path = folder.join(format!("{name}.h"));
        fs::write(&path, format!("#define {name}_kind {c_name}\n{text}"))?;
        Ok(path)
    };
    KINDS.iter().map(write).collect()
}

/// A compiled object of each kind.
#[derive(Debug)]
pub struct Objects(Vec<Vec<u8>>);

impl Objects {
    /// Compiles the objects with clang.
    ///
    /// # Errors
    /// Returns an error if there is no clang, or if a folder for temporary files cannot be written.
    pub fn compile() -> Result<Objects, Failure> {
        let folder = tempfile::tempdir().map_err(|error| failed("a folder for temporary files", &error))?;
        let headers = write_headers(folder.path()).map_err(|error| failed("its headers", &error))?;
        let built = |error: fairpace_bpf_build::Error| {
            Failure::new(Exit::Unsupported, error.to_string(), "install clang, or name --objects")
        };
        let compiler = BpfCompiler::new(Sources::contained().map_err(built)?).map_err(built)?;
        let compile = |(header, (_, kind, _)): (PathBuf, &(&str, Kind, &str))| {
            let algorithm = Algorithm::new(header, *kind).map_err(built)?;
            Ok(compiler.compile(&algorithm).map_err(built)?.elf)
        };
        headers.into_iter().zip(&KINDS).map(compile).collect::<Result<_, Failure>>().map(Objects)
    }

    /// Reads the objects that [`write`](Self::write) left in a folder.
    ///
    /// # Errors
    /// Returns an error if an object cannot be read.
    pub fn read(folder: &Path) -> Result<Objects, Failure> {
        let read = |(name, ..): &(&str, Kind, &str)| {
            let path = folder.join(format!("{name}.o"));
            fs::read(&path).map_err(|error| failed(&path.display().to_string(), &error))
        };
        KINDS.iter().map(read).collect::<Result<_, Failure>>().map(Objects)
    }

    /// Writes the objects to a folder, for a machine without clang.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        for ((name, ..), elf) in KINDS.iter().zip(&self.0) {
            let path = folder.join(format!("{name}.o"));
            fs::write(&path, elf).map_err(|error| failed(&path.display().to_string(), &error))?;
        }
        Ok(())
    }
}

fn failed(what: &str, error: &io::Error) -> Failure {
    let help = "check the folder, its rights and the space in it";
    Failure::new(Exit::Internal, format!("{what}: {error}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_constants_of_each_kind_and_the_rest_is_random() {
        let all: Vec<Hostile> = (0..FIRST_RANDOM + 200).map(Hostile::of).collect();
        for (values, three) in all.chunks(3).take(4).enumerate() {
            assert_eq!(three.iter().map(|of| of.name()).collect::<Vec<_>>(), KINDS.map(|(name, ..)| name));
            assert!(three.iter().all(|of| of.values == values as u32 && of.calls == u32::MAX));
        }
        let random = &all[FIRST_RANDOM as usize..];
        assert!(random.iter().all(|of| of.values == 4));
        let seeds: std::collections::BTreeSet<_> = random.iter().map(|of| of.seed).collect();
        assert_eq!(seeds.len(), 200);
    }
}
