//! The words of commands of a shell, with their places.

use std::ops::Range;

use fairpace_scenario::Invalid;

use crate::source::{Part, Source};

/// A word of a command.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// The word without quotes.
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

impl Word {
    /// The word as a part of the input that has its own name.
    pub(crate) fn part(&self) -> Part {
        Part::new(self.span.clone(), &self.text)
    }
}

/// The commands of a script: one for each line, and one for each part of a line between `;`, `&&` and `||`.
pub(crate) fn commands(source: &Source<'_>) -> Result<Vec<Vec<Word>>, Invalid> {
    // a line that ends with a backslash continues; blanks in its place keep all offsets
    let joined = source.text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let mut commands = Vec::new();
    let mut start = 0;
    for line in joined.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        let words = words(line.trim_end(), span.start).ok_or_else(|| {
            source.refuse(&Part::new(span, "quotes"), "a quote is not closed", "close it on the same line")
        })?;
        commands.extend(words.split(is_separator).filter(|words| !words.is_empty()).map(<[Word]>::to_vec));
    }
    Ok(commands)
}

fn is_separator(word: &Word) -> bool {
    matches!(word.text.as_str(), ";" | "&&" | "||" | "&")
}

/// The words of a line that begins at byte `start`; `None` if a quote is not closed.
fn words(line: &str, start: usize) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut from = 0;
    for text in shlex::split(line)? {
        let at = from + line[from..].find(|c| !is_blank(c)).unwrap_or(0);
        let end = at + length(&line[at..]);
        from = end;
        let span = start + at..start + end;
        match text.strip_suffix(';').filter(|before| !before.is_empty()) {
            Some(before) => {
                words.push(Word {
                    text: before.to_owned(),
                    span: span.start..span.end.saturating_sub(1).max(span.start),
                });
                words.push(Word { text: ";".to_owned(), span });
            }
            None => words.push(Word { text, span }),
        }
    }
    Some(words)
}

/// Whether a character separates words.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

/// Bytes of the first word, with its quotes.
fn length(text: &str) -> usize {
    let (mut quote, mut is_escaped) = (None, false);
    let is_end = |c: char| {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' && quote != Some('\'') {
            is_escaped = true;
        } else if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && matches!(c, '"' | '\'') {
            quote = Some(c);
        } else {
            return quote.is_none() && is_blank(c);
        }
        false
    };
    text.find(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_places() {
        let text = "# none\ntc 'a b' c; ls \\\n  -l && x\n";
        let source = Source { name: "f", text };
        let all = commands(&source).unwrap();
        let texts: Vec<Vec<&str>> =
            all.iter().map(|words| words.iter().map(|word| word.text.as_str()).collect()).collect();
        assert_eq!(texts, [vec!["tc", "a b", "c"], vec!["ls", "-l"], vec!["x"]]);
        assert_eq!(&text[all[1][1].span.clone()], "-l");
        assert_eq!(source.line(all[1][1].span.start), 3);
        assert!(commands(&Source { name: "f", text: "tc 'a" }).is_err());
    }
}
