//! A file of criteria, and problems at places in it.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use fairpace_scenario::{Invalid, Problem};

/// What a problem is with.
pub(crate) const ABOUT: &str = "criterion";

/// Largest file of criteria, bytes: 26,000 lines of 40 characters. A larger file is none.
const MOST_BYTES: u64 = 1 << 20;

/// A file with its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// Its path, as errors name it; files that it names are looked for in its folder.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Result<Self, Invalid> {
        let name = path.display().to_string();
        // as of a scenario: a device or a pipe may never end
        let is_small = |found: &fs::Metadata| found.is_file() && found.len() <= MOST_BYTES;
        let text = match fs::metadata(path) {
            Ok(found) if !is_small(&found) => Err(io::Error::other("it is not a file of at most 1 MiB")),
            Ok(_) => fs::read_to_string(path),
            Err(error) => Err(error),
        };
        text.map(|text| Self { name, text }).map_err(|error| unreadable(path, &error))
    }

    /// A problem at bytes of the text.
    pub(crate) fn problem(
        &self,
        span: Range<usize>,
        kind: &'static str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        Problem::of(ABOUT, kind, key, message, help).within(&self.name, &self.text, span)
    }

    /// The same as the only problem.
    pub(crate) fn invalid(
        &self,
        span: Range<usize>,
        kind: &'static str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Invalid {
        Invalid { problems: vec![self.problem(span, kind, key, message, help)] }
    }
}

/// A file or folder of criteria that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Invalid {
    let help = "criteria are a folder with a TOML file for each criterion, such as evaluation/level";
    let problem = Problem::of(ABOUT, "file", "", format!("cannot read it: {error}"), help);
    Invalid { problems: vec![problem.in_file(path.display().to_string())] }
}
