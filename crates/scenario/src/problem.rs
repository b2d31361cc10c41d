//! Problems of a scenario with their places: miette diagnostics that also serve as data. Errors in
//! `figure.toml` and `paper.toml` of fairpace-papers use the same type.

use std::fmt;
use std::ops::Range;

use miette::{Diagnostic, LabeledSpan, SourceCode};

use crate::excerpt::{Excerpt, Text};
use crate::visible::{clipped, visible};

/// Most characters of a problem's key; the longest path of a key has a third of it.
const MOST_KEY: usize = 120;
/// Most characters of a problem's message and of its help: a list of all keys fits. Both may quote a key or a
/// value that is as long as the file.
const MOST_TEXT: usize = 2_000;

/// Most characters of a file's name in a message: Linux opens no file with a longer name, but an argument may
/// be longer.
const MOST_FILE: usize = 4_096;

/// A problem of a scenario or another file.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Kind of the problem, for programs: `syntax`, `unknown-key`, `wrong-type`, `wrong-unit`,
    /// `out-of-range`, `missing-key`, `duplicate-name`, `impossible`, `unknown-algorithm`,
    /// `unknown-parameter`, `wrong-parameter`, `not-on-target`, `file`.
    pub kind: &'static str,
    /// Kind of the file with the problem: a `scenario`, or another word.
    pub about: &'static str,
    /// File, or the command-line argument, such as `--set`.
    pub file: String,
    /// Line, from 1; 0 when there is no place.
    pub line: usize,
    /// Column in characters, from 1; 0 when there is no place.
    pub column: usize,
    /// The key, with its section: `link.rate`. Empty if the problem is about no key.
    pub key: String,
    /// Description of the problem.
    pub message: String,
    /// Advice: what to write instead.
    pub help: String,
    excerpt: Option<Excerpt>,
}

impl Problem {
    /// Returns a problem without a place in a text.
    pub(crate) fn new(kind: &'static str, key: String, message: String, help: String) -> Self {
        let [message, help] = [message, help].map(|text| clipped(&text, MOST_TEXT).into_owned());
        let key = clipped(&key, MOST_KEY).into_owned();
        let (file, line, column) = (String::new(), 0, 0);
        Self { kind, about: "scenario", file, line, column, key, message, help, excerpt: None }
    }

    /// Returns a problem of a file that is no scenario but names scenarios.
    #[must_use]
    pub fn of(
        about: &'static str,
        kind: &'static str,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { about, ..Self::new(kind, key.into(), message.into(), help.into()) }
    }

    /// Adds the file's name to a problem without a place in its text.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    /// Adds the place in a TOML file: `span` is bytes of its text.
    #[must_use]
    pub fn within(self, file: &str, text: &str, span: Range<usize>) -> Self {
        self.at(&Text::new(file, text), &span)
    }

    /// Adds the problem's place.
    pub(crate) fn at(mut self, text: &Text, span: &Range<usize>) -> Self {
        let excerpt = text.excerpt(span);
        self.file = text.name().to_owned();
        (self.line, self.column) = (excerpt.line + 1, excerpt.column + 1);
        self.excerpt = Some(excerpt);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = clipped(&self.file, MOST_FILE);
        let file = visible(&file);
        if self.line > 0 {
            write!(f, "{file}:{}:{}: ", self.line, self.column)?;
        } else if !file.is_empty() {
            write!(f, "{file}: ")?;
        }
        f.write_str(&visible(&self.message))
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("{}::{}", self.about, self.kind)))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(visible(&self.help)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.excerpt.as_ref()?.span.clone();
        let label = if self.key.is_empty() { "here".to_owned() } else { visible(&self.key).into_owned() };
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(label), span))))
    }
}

/// Error: all problems of a scenario, in the order of the file; never empty.
#[derive(Debug, Clone, Default)]
pub struct Invalid {
    /// The problems: at most [`Invalid::MOST`].
    pub problems: Vec<Problem>,
}

impl Invalid {
    /// Number of problems at which reading stops: more problems come from a file that is no scenario, or from
    /// one mistake of the program that wrote the file.
    pub const MOST: usize = 100;
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

impl Diagnostic for Invalid {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_too_long_for_a_file_name_is_shown_in_part() {
        let problem = Problem::new("file", String::new(), "cannot read it".into(), "check it".into());
        let problem = Problem { file: "A".repeat(100_000), ..problem };
        let shown = problem.to_string();
        assert!(shown.len() < MOST_FILE + 100, "{} bytes", shown.len());
        assert!(shown.starts_with("AAA") && shown.contains("...") && shown.ends_with("cannot read it"));
    }
}
