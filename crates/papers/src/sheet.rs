//! A figure with its file, and places in that file.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fairpace_scenario::{Invalid, Problem};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::figure::{Base, Figure};

/// A figure, read from its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Folder of the paper.
    pub paper: String,
    /// Its own folder: "fig05".
    pub id: String,
    /// Path of that folder.
    pub dir: PathBuf,
    /// The content of `figure.toml`.
    pub figure: Figure,
    /// The bases of the paper on which it is run: at least the first.
    pub bases: Vec<Base>,
    /// What is set in its simulated runs on every base.
    pub(crate) hosts: Vec<String>,
    pub(crate) text: Text,
}

impl Sheet {
    /// "bbq-ma2017/fig05".
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.paper, self.id)
    }

    /// "bbq-ma2017/fig05", and for another base than the first "bbq-ma2017/fig05 on single".
    #[must_use]
    pub fn name_on(&self, base: &Base) -> String {
        name_on(&self.paper, &self.id, &self.bases, base)
    }

    /// A file that the figure names: beside `figure.toml`, or below the paper's folder.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let beside = Some(self.dir.join(name));
        let below = self.dir.parent().map(|paper| paper.join(name));
        [beside, below].into_iter().flatten().find(|path| path.is_file())
    }

    /// A problem at a key: `value.2.measure.run`, lists by numbers from 1.
    #[must_use]
    pub fn problem(
        &self,
        kind: &'static str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        self.text.problem("figure", kind, key, message.into(), help.into())
    }

    /// Whether the file itself has a key, rather than its default.
    pub(crate) fn says(&self, key: &str) -> bool {
        let document = DeTable::parse(&self.text.text).ok();
        document.is_some_and(|document| place(document.get_ref(), key).1)
    }
}

/// What a figure of a paper is called on one of its bases.
pub(crate) fn name_on(paper: &str, figure: &str, bases: &[Base], base: &Base) -> String {
    let on = if bases.first() == Some(base) { String::new() } else { format!(" on {}", base.name) };
    format!("{paper}/{figure}{on}")
}

/// A TOML file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    name: String,
    text: String,
}

impl Text {
    /// A problem at a key.
    pub(crate) fn problem(
        &self,
        about: &'static str,
        kind: &'static str,
        key: &str,
        message: String,
        help: String,
    ) -> Problem {
        let document = DeTable::parse(&self.text).ok();
        let span = document.map_or(0..0, |document| place(document.get_ref(), key).0);
        Problem::of(about, kind, key, message, help).within(&self.name, &self.text, span)
    }

    /// Reads the file; `about` says what it describes.
    pub(crate) fn read(path: &Path, about: &'static str) -> Result<Self, Invalid> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read it: {error}");
            let help =
                "a paper has a paper.toml, and a folder with a figure.toml for every figure that it names";
            one(Problem::of(about, "file", "", message, help).in_file(&name))
        })?;
        Ok(Self { name, text })
    }

    /// Parses the file; an error names its line.
    pub(crate) fn parse<T: DeserializeOwned>(&self, about: &'static str) -> Result<T, Invalid> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim().to_owned();
            let kind = match message.split('`').next().unwrap_or_default().trim() {
                "unknown field" => "unknown-key",
                "missing field" => "missing-key",
                _ => "syntax",
            };
            let span = error.span().unwrap_or(0..0);
            let written = self.text.get(span.clone()).unwrap_or_default();
            let key = if kind == "unknown-key" { written } else { "" };
            let help = "crates/papers/src/figure.rs explains every key";
            one(Problem::of(about, kind, key, message, help).within(&self.name, &self.text, span))
        })
    }
}

/// Where a key is, or the nearest thing around it; and whether it is there.
fn place(document: &DeTable<'_>, key: &str) -> (Range<usize>, bool) {
    let mut span = 0..0;
    let mut value: Option<&DeValue<'_>> = None;
    for step in key.split('.').filter(|step| !step.is_empty()) {
        let found = match value {
            None => document.get(step),
            Some(DeValue::Table(table)) => table.get(step),
            Some(DeValue::Array(items)) => {
                step.parse::<usize>().ok().and_then(|n| items.get(n.checked_sub(1)?))
            }
            Some(_) => None,
        };
        let Some(found) = found else { return (span, false) };
        span = found.span();
        value = Some(found.get_ref());
    }
    (span, value.is_some())
}

/// A single problem.
pub(crate) fn one(problem: Problem) -> Invalid {
    Invalid { problems: vec![problem] }
}
