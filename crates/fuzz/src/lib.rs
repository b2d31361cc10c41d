//! Internal: only Fairpace's own crates use it. The fuzz targets: each parser, and each algorithm under
//! arbitrary ACKs.
//!
//! A [`Target`] is a function of bytes that panics when a property does not hold. libFuzzer calls it with
//! inputs that reach new code (`make fuzz`). The inputs that it found are in `corpus/TARGET.tar.gz`, one
//! [archive](Corpus) per target. The tests of this crate run all of them in every build, without the fuzzer.
//! An input that once failed has a name that says what it showed. This command adds an input:
//!
//! ```sh
//! cargo run -p fairpace-fuzz --bin corpus -- add TARGET FILE...
//! ```
//!
//! This crate generates no hostile command lines: `fairpace-dev abuse` does.

#![forbid(unsafe_code)]

mod algorithm;
mod archive;
mod parsers;

use std::path::{Path, PathBuf};

pub use archive::{Corpus, Error, add};

/// A function that is fuzzed.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target and of its corpus.
    pub name: &'static str,
    /// The function, which panics when a property does not hold for these bytes.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    Target { name: "scenario", run: parsers::scenario },
    Target { name: "quantity", run: parsers::quantity },
    Target { name: "figure", run: parsers::figure },
    Target { name: "criterion", run: parsers::criterion },
    Target { name: "trace", run: parsers::trace },
    Target { name: "packetdrill", run: parsers::packetdrill },
    Target { name: "json", run: parsers::json },
    Target { name: "algorithm", run: algorithm::algorithm },
];

impl Target {
    /// Returns the target called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Returns the archive of the target's inputs, in the checkout that this was compiled in.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{}.tar.gz", self.name))
    }
}
