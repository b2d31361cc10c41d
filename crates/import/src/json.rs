//! JSON whose values know their places in the text, for errors that name line and path.

use fairpace_scenario::Invalid;
use serde_json::Value;

use crate::source::{Part, Source, Warning};

/// A step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Reads the text of a JSON object.
///
/// # Errors
/// A text that is not JSON, or not an object, with its place.
pub(crate) fn read(source: Source<'_>) -> Result<Value, Invalid> {
    let value: Value = serde_json::from_str(source.text).map_err(|error| {
        let at = source.offset(error.line().max(1), error.column());
        let end = source.text.len();
        let begin = (0..=at.min(end)).rev().find(|at| source.text.is_char_boundary(*at)).unwrap_or(0);
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        let is_second = what == "trailing characters";
        let (message, help) = match what {
            _ if error.is_eof() => {
                ("the file ends early: it is truncated".to_owned(), "copy the file in full")
            }
            _ if is_second => (
                "it is no JSON: text follows the first object".to_owned(),
                "save the output of each run to a file of its own",
            ),
            _ => (format!("it is no JSON: {what}"), "save the output of one run as it is"),
        };
        // the last name before the place: the key of the value, or a key of the object
        let key = source.text[..begin].rsplit('"').nth(1).filter(|name| !name.contains([':', '\n']));
        let key = key.filter(|_| !is_second);
        let part = Part::new(begin..end.min(begin + 1), key.unwrap_or_default());
        source.refuse(&part, message, help)
    })?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(source.refuse_all("it is no JSON object", "name another file"))
    }
}

/// A value with its path from the root.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    source: Source<'a>,
    pub(crate) value: &'a Value,
    path: Vec<Step>,
}

impl<'a> Node<'a> {
    pub(crate) fn root(source: Source<'a>, value: &'a Value) -> Self {
        Self { source, value, path: Vec::new() }
    }

    /// The value of a key; `None` if it is missing or `null`.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.part(value, Step::Key(key.to_owned())))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The key is missing.
    pub(crate) fn needed(&self, key: &str) -> Result<Node<'a>, Invalid> {
        self.get(key)
            .ok_or_else(|| self.refuse(format!("`{key}` is missing"), "save the whole output of one run"))
    }

    /// The items of an array; none for another value.
    pub(crate) fn items(&self) -> impl Iterator<Item = Node<'a>> + '_ {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, value)| self.part(value, Step::Index(index)))
    }

    fn part(&self, value: &'a Value, step: Step) -> Node<'a> {
        let path = self.path.iter().cloned().chain([step]).collect();
        Node { source: self.source, value, path }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// Another value.
    pub(crate) fn number(&self) -> Result<f64, Invalid> {
        match self.value.as_f64() {
            Some(number) if number.is_finite() && number >= 0.0 => Ok(number),
            Some(number) if number < 0.0 => Err(self.refuse("it is negative", "a measurement never is")),
            _ => Err(self.refuse("it is no number", "save the output of one run as it is")),
        }
    }

    /// The number at a key, if the key exists.
    ///
    /// # Errors
    /// A value that is no number, or is negative.
    pub(crate) fn number_at(&self, key: &str) -> Result<Option<f64>, Invalid> {
        self.get(key).map(|node| node.number()).transpose()
    }

    /// The text at a key, if there is one.
    pub(crate) fn text_at(&self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// Whether the value at a key is true, or a number that is not zero.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|value| {
            value.as_bool().unwrap_or(false) || value.as_f64().is_some_and(|number| number != 0.0)
        })
    }

    /// The value's part of the text, named by its path.
    fn place(&self) -> Part {
        let mut name = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if name.is_empty() => name += key,
                Step::Key(key) => name += &format!(".{key}"),
                Step::Index(index) => name += &format!("[{index}]"),
            }
        }
        let at = offset(self.source.text.as_bytes(), &self.path).unwrap_or(0);
        let end = at + self.source.text[at..].find(['\n', ',']).unwrap_or(self.source.text.len() - at);
        Part::new(at..end, name)
    }

    /// The error that the value cannot be translated.
    pub(crate) fn refuse(&self, message: impl Into<String>, help: impl Into<String>) -> Invalid {
        self.source.refuse(&self.place(), message, help)
    }

    /// A remark on the value.
    pub(crate) fn warning(&self, message: impl Into<String>) -> Warning {
        self.source.warning(&self.place(), message)
    }
}

/// The first byte of the value at a path, in a text that is valid JSON.
fn offset(text: &[u8], path: &[Step]) -> Option<usize> {
    let mut at = blank(text, 0);
    for step in path {
        at = match step {
            Step::Key(key) => member(text, at, key)?,
            Step::Index(index) => item(text, at, *index)?,
        };
    }
    Some(at)
}

/// The first byte from `at` on that is no blank.
fn blank(text: &[u8], at: usize) -> usize {
    at + text.iter().skip(at).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The first byte behind the value at `at`.
fn behind(text: &[u8], at: usize) -> usize {
    let (mut depth, mut is_text, mut here) = (0usize, false, at);
    while let Some(byte) = text.get(here) {
        match byte {
            b'\\' if is_text => here += 1,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => return here,
            b']' | b'}' => depth -= 1,
            b',' | b':' if depth == 0 => return here,
            _ => {}
        }
        here += 1;
    }
    text.len()
}

/// The value of a key of the object at `at`. Of a key that is repeated serde_json keeps the last value.
fn member(text: &[u8], at: usize, key: &str) -> Option<usize> {
    let mut here = blank(text, at + 1);
    let mut found = None;
    while text.get(here) == Some(&b'"') {
        let colon = behind(text, here);
        let name: String = serde_json::from_slice(text.get(here..colon)?).ok()?;
        let value = blank(text, colon + 1);
        if name == key {
            found = Some(value);
        }
        here = blank(text, behind(text, value) + 1);
    }
    found
}

/// An item of the array at `at`.
fn item(text: &[u8], at: usize, index: usize) -> Option<usize> {
    let mut here = blank(text, at + 1);
    for _ in 0..index {
        here = blank(text, behind(text, here) + 1);
    }
    (here < text.len()).then_some(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_its_text() {
        let text = "{ \"a\\\"]\": [1, {\"b\": \"x,]\"},\n [], {\"c\" : [2,-3]}], \"d\": null }";
        let source = Source { name: "f", text };
        let value = read(source).unwrap();
        let a = Node::root(source, &value).get("a\"]").unwrap();
        let last = a.items().nth(3).unwrap().get("c").unwrap().items().nth(1).unwrap();
        let place = last.place();
        assert_eq!((&text[place.span.clone()], place.key.as_str()), ("-3]}]", "a\"][3].c[1]"));
        assert_eq!(source.line(place.span.start), 2);
        assert!(last.number().is_err() && Node::root(source, &value).get("d").is_none());
    }

    #[test]
    fn what_is_no_json_has_its_place() {
        for (text, line, word) in [
            ("{\n\"a\": ", 2, "truncated"),
            ("{\n\"a\": NaN}", 2, "no JSON"),
            ("{}\n{}", 2, "no JSON"),
            ("3", 0, "object"),
        ] {
            let problem = read(Source { name: "f", text }).unwrap_err().problems.remove(0);
            assert_eq!(problem.line, line, "{text}");
            assert!(problem.message.contains(word), "{text}: {}", problem.message);
        }
    }
}
