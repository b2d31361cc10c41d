//! The place of a problem: line and column, and the few lines of the text around it that an error shows.
//!
//! An excerpt is a copy of at most [`MOST_LINES`] lines of [`MOST_COLUMNS`] characters, so a problem neither
//! holds the whole text nor is slower far behind its begin. A line of a generated file may have a million
//! characters; a renderer that underlines the last of them fails beyond column 65,529.

use std::cell::OnceCell;
use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::visible::{clipped, escape, is_hidden, visible};

/// Most characters that are shown of a line.
const MOST_COLUMNS: usize = 160;
/// Characters before the place that are shown of a longer line: enough to see the key of a value.
const BEFORE: usize = 60;
/// Most lines that are shown of a place, which may be a part with all its keys.
const MOST_LINES: usize = 8;
/// Most characters that are shown of a file's name in an error.
const MOST_NAME: usize = 300;
/// The character that stands for the part of a line that is left out.
const LEFT_OUT: char = '\u{2026}';

/// A text that problems point into.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    name: String,
    text: String,
    /// Offset at which each line begins; computed when first needed, because a valid scenario does not need
    /// it.
    lines: OnceCell<Vec<usize>>,
}

impl Text {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), lines: OnceCell::new() }
    }

    /// The name of the file or the argument.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    fn lines(&self) -> &[usize] {
        let after_breaks = || self.text.match_indices('\n').map(|(at, _)| at + 1);
        self.lines.get_or_init(|| std::iter::once(0).chain(after_breaks()).collect())
    }

    /// The number of the line that has the byte `at`, from 0.
    fn line_of(&self, at: usize) -> usize {
        self.lines().partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The bytes of a line without its line break.
    fn line(&self, number: usize) -> Range<usize> {
        let start = self.lines().get(number).copied().unwrap_or(self.text.len());
        let end = self.lines().get(number + 1).map_or(self.text.len(), |next| next - 1);
        start..start + self.text[start..end].trim_end_matches('\r').len()
    }

    /// The place of a span.
    pub(crate) fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let start = floor_boundary(&self.text, span.start);
        let end = floor_boundary(&self.text, span.end).max(start);
        let first = self.line_of(start);
        // a span that ends with a line break does not reach into the next line
        let last = self.line_of(end.saturating_sub(1).max(start)).min(first + MOST_LINES - 1);
        let shown = first.saturating_sub(1)..=(last + 1).min(self.lines().len() - 1);
        let mut excerpt = Excerpt {
            name: visible(&clipped(&self.name, MOST_NAME)).into_owned(),
            text: String::new(),
            first: *shown.start(),
            line: first,
            column: self.text[self.line(first).start..start].chars().count(),
            span: 0..0,
        };
        for number in shown {
            let of_line = self.line(number);
            let at = if number == first { start..end } else { of_line.start..end.max(of_line.start) };
            let marked = excerpt.push(
                &self.text[of_line.clone()],
                at.start.saturating_sub(of_line.start)..at.end.saturating_sub(of_line.start),
            );
            if number == first {
                excerpt.span = marked;
            } else if (first..=last).contains(&number) {
                excerpt.span.end = marked.end;
            }
            excerpt.text.push('\n');
        }
        excerpt
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// The lines around a problem, made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The name of the file or the argument.
    name: String,
    text: String,
    /// The number of the first line in `text`, from 0.
    first: usize,
    /// The line of the problem, from 0.
    pub(crate) line: usize,
    /// The column of the problem in characters, from 0.
    pub(crate) column: usize,
    /// The problem's bytes in `text`.
    pub(crate) span: Range<usize>,
}

impl Excerpt {
    /// Appends a line, and returns where the bytes `marked` of the line are in the text.
    fn push(&mut self, line: &str, marked: Range<usize>) -> Range<usize> {
        let window = window(line, marked.start);
        let (from, to) = (marked.start.max(window.start), marked.end.min(window.end));
        if window.start > 0 {
            self.text.push(LEFT_OUT);
        }
        let mut span = self.text.len()..self.text.len();
        for (at, c) in line[window.clone()].char_indices().map(|(at, c)| (window.start + at, c)) {
            if at == from {
                span = self.text.len()..self.text.len();
            }
            if is_hidden(c) {
                self.text.push_str(&escape(c))
            } else {
                self.text.push(c)
            }
            if (from..to).contains(&at) {
                span.end = self.text.len();
            }
        }
        if from >= window.end {
            span = self.text.len()..self.text.len();
        }
        if window.end < line.len() {
            self.text.push(LEFT_OUT);
        }
        span
    }
}

/// The bytes of a line that are shown for a problem at the line's byte `at`.
fn window(line: &str, at: usize) -> Range<usize> {
    let at = floor_boundary(line, at);
    let ahead = |from: usize, count: usize| {
        line[from..].char_indices().nth(count).map_or(line.len(), |(offset, _)| from + offset)
    };
    if ahead(0, MOST_COLUMNS) == line.len() {
        return 0..line.len();
    }
    let start = line[..at].char_indices().rev().nth(BEFORE - 1).map_or(0, |(offset, _)| offset);
    start..ahead(start, MOST_COLUMNS)
}

impl SourceCode for Excerpt {
    /// Returns all lines. If the caller wants no lines around the span, it gets the place itself, which the
    /// header of an error shows.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        if span.offset() + span.len() > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let is_place = lines_before == 0 && lines_after == 0;
        let (line, column) = if is_place { (self.line, self.column) } else { (self.first, 0) };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            self.text.as_bytes(),
            (0, self.text.len()).into(),
            line,
            column,
            self.text.lines().count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> (String, String, (usize, usize)) {
        let excerpt = Text::new("a.toml", text).excerpt(&span);
        (excerpt.text[excerpt.span.clone()].to_owned(), excerpt.text.clone(), (excerpt.line, excerpt.column))
    }

    #[test]
    fn a_place_has_its_line_and_one_on_each_side() {
        let text = "one\r\ntwo = 2\nthree\nfour\n";
        assert_eq!(shown(text, 11..12), ("2".into(), "one\ntwo = 2\nthree\n".into(), (1, 6)));
        assert_eq!(shown(text, 0..3), ("one".into(), "one\ntwo = 2\n".into(), (0, 0)));
        assert_eq!(shown(text, 5..18).0, "two = 2\nthree");
        assert_eq!(shown("", 0..0), (String::new(), "\n".into(), (0, 0)));
        assert_eq!(shown("a", 7..9), (String::new(), "a\n".into(), (0, 1)));
    }

    #[test]
    fn of_a_long_line_a_window_is_shown() {
        let line = format!("{}\u{e9}HERE{}", "x".repeat(70_000), "y".repeat(70_000));
        let (marked, text, place) = shown(&line, 70_002..70_006);
        assert_eq!((marked.as_str(), place), ("HERE", (0, 70_001)));
        assert!(text.chars().count() <= MOST_COLUMNS + 3, "{text}");
        assert!(text.starts_with("\u{2026}xxx") && text.ends_with("yyy\u{2026}\n"), "{text}");
        // a span that is longer than the window ends with it
        assert_eq!(shown(&line, 0..line.len()).0.len(), MOST_COLUMNS);
    }

    #[test]
    fn hidden_characters_are_shown_and_the_mark_stays_at_its_place() {
        let text = "a = \"\u{1b}[31m\u{202e}\" # \u{9b}";
        let (marked, text, place) = shown(text, 4..14);
        assert_eq!(marked, "\"\\u001b[31m\\u202e\"");
        assert_eq!((text.as_str(), place), ("a = \"\\u001b[31m\\u202e\" # \\u009b\n", (0, 4)));
    }

    #[test]
    fn a_place_of_many_lines_shows_the_first() {
        let text = "k = 1\n".repeat(1_000);
        let (marked, text, _) = shown(&text, 0..6_000);
        assert_eq!((marked.lines().count(), text.lines().count()), (MOST_LINES, MOST_LINES + 1));
    }
}
