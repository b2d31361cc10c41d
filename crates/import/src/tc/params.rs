//! The parameters behind the name of a queue discipline.

use fairpace_scenario::Invalid;

use super::words::Word;
use crate::source::{Part, Source, Warning};

/// Shortest abbreviation of a parameter's name that is accepted; tc accepts shorter ones.
const LEAST_ABBREVIATION: usize = 3;

/// A value with the part of the input that it was read from.
#[derive(Debug, Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) part: Part,
}

/// The parameters that have not been read yet.
pub(crate) struct Params<'a> {
    pub(crate) source: Source<'a>,
    /// Name of the queue discipline.
    pub(crate) kind: &'a str,
    words: &'a [Word],
    /// The parameters that were given, by their full names.
    given: Vec<&'static str>,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(source: Source<'a>, kind: &'a str, words: &'a [Word]) -> Self {
        Self { source, kind, words, given: Vec::new(), warnings: Vec::new() }
    }

    /// The next word.
    pub(crate) fn take(&mut self) -> Option<&'a Word> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    /// The name of a parameter, among `names`; `aliases` are pairs of a name and another one for the same.
    ///
    /// # Errors
    /// The parameter was given before: one of the two values would have no effect.
    pub(crate) fn name(
        &mut self,
        key: &Word,
        names: &[&'static str],
        aliases: &[[&'static str; 2]],
    ) -> Result<Option<&'static str>, Invalid> {
        let Some(name) = named(&key.text, names) else { return Ok(None) };
        let name = aliases.iter().find(|[alias, _]| *alias == name).map_or(name, |[_, of]| of);
        if self.given.contains(&name) {
            return Err(self.source.refuse(
                &self.part(key, key),
                "it is given twice",
                "remove one of the two",
            ));
        }
        self.given.push(name);
        Ok(Some(name))
    }

    /// The next word, if it satisfies the condition.
    pub(crate) fn take_if(&mut self, is: impl Fn(&str) -> bool) -> Option<&'a Word> {
        let first = self.words.first().filter(|word| is(&word.text))?;
        self.words = &self.words[1..];
        Some(first)
    }

    /// The next word, if it is a number: tc decides by the first character, too.
    pub(crate) fn number(&mut self) -> Option<&'a Word> {
        self.take_if(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
    }

    /// The part of the input from a key to a value, named by discipline and key.
    pub(crate) fn part(&self, key: &Word, value: &Word) -> Part {
        Part::new(key.span.start..value.span.end.max(key.span.end), format!("{} {}", self.kind, key.text))
    }

    /// The value of a key.
    pub(crate) fn value<T>(
        &mut self,
        key: &Word,
        read: fn(&str) -> Result<T, String>,
    ) -> Result<Given<T>, Invalid> {
        let Some(word) = self.take() else {
            let part = self.part(key, key);
            return Err(self.source.refuse(&part, "its value is missing", "complete the line"));
        };
        let part = self.part(key, word);
        let value = self.read(&part, word, read)?;
        Ok(Given { value, part })
    }

    /// The value that a word has.
    pub(crate) fn read<T>(
        &self,
        part: &Part,
        word: &Word,
        read: fn(&str) -> Result<T, String>,
    ) -> Result<T, Invalid> {
        read(&word.text).map_err(|wrong| self.source.refuse(part, wrong, "write it as tc(8) describes"))
    }

    /// The error that a parameter has no counterpart in a scenario.
    pub(crate) fn untranslated(&self, part: &Part, why: &str, help: &str) -> Invalid {
        self.source.refuse(part, format!("it cannot be translated: {why}"), help)
    }

    /// The error that the discipline has no such parameter.
    pub(crate) fn unknown(&self, key: &Word) -> Invalid {
        let message = format!("{} has no parameter \"{}\" that can be translated", self.kind, key.text);
        self.source.refuse(&self.part(key, key), message, "remove it, or write the scenario by hand")
    }

    /// Records that a parameter has no effect here.
    pub(crate) fn warn(&mut self, part: &Part, message: impl Into<String>) {
        self.warnings.push(self.source.warning(part, message));
    }
}

/// The name that a word means: the name itself, or an abbreviation of it.
fn named(word: &str, names: &[&'static str]) -> Option<&'static str> {
    let exact = names.iter().find(|name| **name == word);
    let abbreviated = |name: &&&'static str| word.len() >= LEAST_ABBREVIATION && name.starts_with(word);
    exact.or_else(|| names.iter().find(abbreviated)).copied()
}
