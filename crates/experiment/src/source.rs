//! A TOML file that leads to scenarios: serde reads it, and each problem has the place of its key.

use std::fmt::Display;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fairpace_scenario::{Invalid, Problem};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Largest size of a file, bytes: 26,000 lines of 40 characters. A larger file is not an experiment.
const MOST_BYTES: u64 = 1 << 20;

/// A file with its text, for parsing and for the places of problems.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// What the file describes, such as `criterion`; errors name it.
    pub about: &'static str,
    /// Path of the file in errors. Files that it names are looked up in its folder.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

/// The path of a key, and the ranges of the text where the key and its value are.
type Place = (String, [Range<usize>; 2]);

impl Source {
    /// Reads a file; `help` tells where such files are.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is larger than 1 MiB.
    pub fn read(path: &Path, about: &'static str, help: &str) -> Result<Self, Invalid> {
        // as of a scenario: a device or a pipe may never end
        let is_small = |found: &fs::Metadata| found.is_file() && found.len() <= MOST_BYTES;
        let text = match fs::metadata(path) {
            Ok(found) if !is_small(&found) => Err(io::Error::other("it is not a file of at most 1 MiB")),
            Ok(_) => fs::read_to_string(path),
            Err(error) => Err(error),
        };
        let text = text.map_err(|error| unreadable(path, about, &error, help))?;
        Ok(Self { about, name: path.display().to_string(), text })
    }

    /// Parses the file.
    ///
    /// # Errors
    /// Returns the first key or value that the type `T` does not allow.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        let places = self.places().map_err(|error| {
            let message = format!("this is not TOML: {}", error.message());
            self.at(error.span().unwrap_or_default(), ("syntax", String::new(), message, String::new()))
        })?;
        toml::from_str(&self.text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let key = places.into_iter().find(|(_, places)| places.contains(&span)).map(|(key, _)| key);
            self.at(span, said(error.message(), key.unwrap_or_default()))
        })
    }

    /// A problem at a key: `template.2.flow.1.apart`, where items of lists have numbers from 1. If the file
    /// does not have the key, the place is that of the nearest table around it.
    #[must_use]
    pub fn problem(
        &self,
        kind: &'static str,
        key: &str,
        message: impl Display,
        help: impl Display,
    ) -> Problem {
        let problem = Problem::of(self.about, kind, key, message.to_string(), help.to_string());
        problem.within(&self.name, &self.text, self.place(key).0)
    }

    /// The same error as [`problem`](Self::problem), as the only problem of the file.
    #[must_use]
    pub fn invalid(&self, kind: &'static str, key: &str, message: impl Display, help: &str) -> Invalid {
        Invalid { problems: vec![self.problem(kind, key, message, help)] }
    }

    /// The problem of a scenario, at the key whose value led to the scenario.
    pub(crate) fn moved(&self, problem: Problem, message: String, key: &str) -> Problem {
        let moved = Problem::of(self.about, problem.kind, problem.key, message, problem.help);
        moved.within(&self.name, &self.text, self.place(key).0)
    }

    fn at(&self, span: Range<usize>, (kind, key, message, help): Said) -> Invalid {
        let problem = Problem::of(self.about, kind, key, message, help);
        Invalid { problems: vec![problem.within(&self.name, &self.text, span)] }
    }

    /// Whether the file has a key, so that its value is not the default.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.place(key).1
    }

    /// The place of a key's value, or of the nearest table around it; and whether the file has the key.
    fn place(&self, key: &str) -> (Range<usize>, bool) {
        let is_around =
            |of: &str| key.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let around = self.places().unwrap_or_default().into_iter().filter(|(of, _)| is_around(of));
        let nearest = around.max_by_key(|(of, _)| of.len());
        nearest.map_or((0..0, false), |(of, [_, value])| (value, of == key))
    }

    /// Each key with its place and the place of its value.
    fn places(&self) -> Result<Vec<Place>, toml::de::Error> {
        let mut places = Vec::new();
        add_places(&DeValue::Table(DeTable::parse(&self.text)?.into_inner()), "", &mut places);
        Ok(places)
    }
}

fn add_places(within: &DeValue<'_>, at: &str, places: &mut Vec<Place>) {
    let mut add = |name: &str, place: Range<usize>, value: &Spanned<DeValue<'_>>| {
        let key = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        places.push((key.clone(), [place, value.span()]));
        add_places(value.get_ref(), &key, places);
    };
    match within {
        DeValue::Table(table) => {
            table.iter().for_each(|(name, value)| add(name.get_ref(), name.span(), value))
        }
        DeValue::Array(items) => {
            (1..).zip(items.iter()).for_each(|(number, item)| add(&format!("{number}"), item.span(), item));
        }
        _ => {}
    }
}

/// Kind, key, message and help of a problem.
type Said = (&'static str, String, String, String);

/// Splits an error of serde at a key, or of [`wrong`], into the parts of a problem.
fn said(message: &str, key: String) -> Said {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next().unwrap_or_default();
    let help = suggestion(name, &quoted.collect::<Vec<_>>());
    let what = key.rsplit('.').next().unwrap_or_default();
    match message.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["missing", "field"] => {
            let key = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
            ("missing-key", key, format!("`{name}` is missing"), format!("add {name} = ..."))
        }
        ["unknown", "field"] => ("unknown-key", key, format!("there is no key `{name}` here"), help),
        ["unknown", "variant"] => {
            let message = format!("there is no {what} `{name}`");
            ("unknown-name", key, message, help)
        }
        _ => {
            let (kind, said) = message.split_once('\n').unwrap_or(("", message));
            let kind =
                ["wrong-unit", "out-of-range"].into_iter().find(|of| *of == kind).unwrap_or("wrong-type");
            let (message, help) = said.split_once('\n').unwrap_or((said, ""));
            (kind, key, message.to_owned(), help.to_owned())
        }
    }
}

/// A list of problems of a file that its type allows, so that the user sees all of them together.
pub struct Wrong<'s> {
    source: &'s Source,
    problems: Vec<Problem>,
}

impl<'s> Wrong<'s> {
    /// An empty list of problems.
    #[must_use]
    pub const fn new(source: &'s Source) -> Self {
        Self { source, problems: Vec::new() }
    }

    /// Adds a problem at a key, unless the list already has the largest number of problems.
    pub fn add(&mut self, kind: &'static str, key: &str, message: impl Display, help: impl Display) {
        if self.problems.len() < Invalid::MOST {
            self.problems.push(self.source.problem(kind, key, message, help));
        }
    }

    /// Adds a problem at a key, unless a condition holds.
    pub fn unless(
        &mut self,
        is_right: bool,
        kind: &'static str,
        key: &str,
        message: impl Display,
        help: impl Display,
    ) {
        if !is_right {
            self.add(kind, key, message, help);
        }
    }

    /// Adds a problem at a key whose text is empty.
    pub fn said(&mut self, key: &str, text: &str, help: &str) {
        let name = key.rsplit('.').next().unwrap_or_default();
        self.unless(!text.trim().is_empty(), "missing-key", key, format!("`{name}` is empty"), help);
    }

    /// Returns an error if the list has a problem.
    ///
    /// # Errors
    /// Returns all problems of the list.
    pub fn none(self) -> Result<(), Invalid> {
        if self.problems.is_empty() { Ok(()) } else { Err(Invalid { problems: self.problems }) }
    }
}

/// Reads a text that must not be empty.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let empty =
        || D::Error::custom(wrong("wrong-type", "it must be a text that is not empty", "write a few words"));
    Some(text).filter(|text| !text.trim().is_empty()).ok_or_else(empty)
}

/// Text of an error about a value that a type of this crate does not allow; `said` splits it.
pub(crate) fn wrong(kind: &str, message: impl Display, help: impl Display) -> String {
    format!("{kind}\n{message}\n{help}")
}

/// Help that lists the known names, and suggests the one nearest to what the user wrote.
pub(crate) fn suggestion(written: &str, known: &[&str]) -> String {
    let meant = fairpace_cc::nearest(written, known.iter().copied());
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    format!("{meant}Known are {}", known.join(", "))
}

/// The paths in a folder, sorted; `help` tells where such folders are.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn paths_in(folder: &Path, about: &'static str, help: &str) -> Result<Vec<PathBuf>, Invalid> {
    let paths = fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = paths.map_err(|error| unreadable(folder, about, &error, help))?;
    paths.sort();
    Ok(paths)
}

/// The error for a file or folder that cannot be read.
pub(crate) fn unreadable(path: &Path, about: &'static str, error: &io::Error, help: &str) -> Invalid {
    let problem = Problem::of(about, "file", "", format!("cannot read it: {error}"), help);
    Invalid { problems: vec![problem.in_file(path.display().to_string())] }
}
