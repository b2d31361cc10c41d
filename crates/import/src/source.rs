//! The text of an input, and places in it.

use std::ops::Range;

use fairpace_scenario::{Invalid, Problem, clipped, visible};

/// Most characters of the input that a comment quotes.
const MOST_QUOTED: usize = 80;

/// The text of an input.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name of the file, or words for where the text comes from.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A remark on a part of an input: its translation differs in a harmless way, or it has no effect here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line of the input, from 1.
    pub line: usize,
    /// The key, option or column of the input.
    pub key: String,
    /// What differs, as a sentence.
    pub message: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.key, self.message)
    }
}

/// A part of an input: its bytes, and its name in messages.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) span: Range<usize>,
    pub(crate) key: String,
}

impl Part {
    pub(crate) fn new(span: Range<usize>, key: impl Into<String>) -> Self {
        Self { span, key: key.into() }
    }
}

impl Source<'_> {
    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The start of a line and column, both from 1; the column counts bytes.
    pub(crate) fn offset(&self, line: usize, column: usize) -> usize {
        let breaks = self.text.match_indices('\n').map(|(at, _)| at + 1);
        let start = std::iter::once(0).chain(breaks).nth(line.saturating_sub(1)).unwrap_or(self.text.len());
        (start + column.saturating_sub(1)).min(self.text.len())
    }

    /// The error that a part of the input cannot be translated.
    pub(crate) fn refuse(&self, part: &Part, message: impl Into<String>, help: impl Into<String>) -> Invalid {
        let (key, message) = (&part.key, message.into());
        let message = if key.is_empty() { message } else { format!("{key}: {message}") };
        let problem = Problem::of("import", "not-translated", key, message, help);
        Invalid { problems: vec![problem.within(self.name, self.text, part.span.clone())] }
    }

    /// The error about the input as a whole.
    pub(crate) fn refuse_all(&self, message: impl Into<String>, help: impl Into<String>) -> Invalid {
        let problem = Problem::of("import", "not-translated", "", message, help);
        Invalid { problems: vec![problem.in_file(self.name)] }
    }

    /// A remark on a part of the input.
    pub(crate) fn warning(&self, part: &Part, message: impl Into<String>) -> Warning {
        let message = visible(&message.into()).into_owned();
        Warning { line: self.line(part.span.start), key: visible(&part.key).into_owned(), message }
    }

    /// The comment that names the part of the input from which a key was made: "line 2: rate 10mbit".
    pub(crate) fn quote(&self, part: &Part) -> String {
        let text = self.text.get(part.span.clone()).unwrap_or_default();
        let text = text.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
        let text = clipped(&text, MOST_QUOTED);
        format!("line {}: {}", self.line(part.span.start), visible(&text))
    }
}
