//! What is wrong with a scenario, and where: miette diagnostics that also serve as data. Errors in
//! `figure.toml` and `paper.toml` of fairpace-reproduce use the same type.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Its kind, for programs: `syntax`, `unknown-key`, `wrong-type`, `wrong-unit`, `out-of-range`,
    /// `missing-key`, `duplicate-name`, `impossible`, `unknown-algorithm`, `unknown-parameter`,
    /// `wrong-parameter`, `not-on-target`, `file`.
    pub kind: &'static str,
    /// What is wrong: a `scenario`, or another kind of file.
    pub about: &'static str,
    /// File, or the command-line argument, such as `--set`.
    pub file: String,
    /// Line, from 1; 0 when there is no place.
    pub line: usize,
    /// Column in characters, from 1; 0 when there is no place.
    pub column: usize,
    /// The key, with its section: `link.rate`. Empty when it is about none.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
    span: Option<Range<usize>>,
    source: Option<Arc<NamedSource<String>>>,
}

/// A text that problems point into.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) source: Arc<NamedSource<String>>,
}

impl Text {
    pub(crate) fn new(name: &str, text: &str, language: &str) -> Self {
        Self { source: Arc::new(NamedSource::new(name, text.to_owned()).with_language(language)) }
    }
}

impl Problem {
    /// A problem without a place in a text.
    pub(crate) fn new(kind: &'static str, key: String, message: String, help: String) -> Self {
        let (file, line, column) = (String::new(), 0, 0);
        Self { kind, about: "scenario", file, line, column, key, message, help, span: None, source: None }
    }

    /// A problem with a file that is no scenario but leads to some.
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

    /// The problem in a file without a place in its text.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    /// The problem at its place in a TOML file: bytes of its text.
    #[must_use]
    pub fn within(self, file: &str, text: &str, span: Range<usize>) -> Self {
        self.at(&Text::new(file, text, "toml"), span)
    }

    /// Puts the problem at its place.
    pub(crate) fn at(mut self, text: &Text, span: Range<usize>) -> Self {
        let inner = text.source.inner();
        let start = floor_boundary(inner, span.start);
        let end = floor_boundary(inner, span.end).max(start);
        let before = &inner[..start];
        self.file = text.source.name().to_owned();
        self.line = before.matches('\n').count() + 1;
        self.column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.span = Some(start..end);
        self.source = Some(Arc::clone(&text.source));
        self
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        } else if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("{}::{}", self.about, self.kind)))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_deref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.span.clone()?;
        let label = if self.key.is_empty() { "here".to_owned() } else { self.key.clone() };
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(label), span))))
    }
}

/// Everything that is wrong with a scenario, in the order of the file; never empty.
#[derive(Debug, Clone)]
pub struct Invalid {
    /// The problems.
    pub problems: Vec<Problem>,
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
