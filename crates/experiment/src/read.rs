//! Reads tables of a file, and collects what is wrong with them.

use std::ops::Range;

use fairpace_scenario::Problem;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::source::Source;

/// A table with its path in the file: `template.2.link.1`.
#[derive(Clone, Copy)]
pub(crate) struct Table<'t, 'i> {
    pub(crate) table: &'t DeTable<'i>,
    pub(crate) path: &'t str,
    /// Where it is; errors about what is missing point there.
    pub(crate) span: (usize, usize),
}

impl Table<'_, '_> {
    /// The path of a key.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Range<usize> {
        self.span.0..self.span.1
    }
}

/// Collects problems, so that one look shows all.
pub(crate) struct Reader<'s> {
    pub(crate) source: &'s Source,
    pub(crate) problems: Vec<Problem>,
}

impl Reader<'_> {
    pub(crate) fn complain(
        &mut self,
        span: Range<usize>,
        kind: &'static str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.push(self.source.problem(span, kind, key, message, help));
    }

    /// Where a value is, or the table if it is not there.
    pub(crate) fn place(&self, of: Table<'_, '_>, name: &str) -> Range<usize> {
        of.table.get(name).map_or(of.place(), Spanned::span)
    }

    /// Complains about every key that is not one of these.
    pub(crate) fn known(&mut self, of: Table<'_, '_>, known: &[&str]) {
        for name in of.table.keys().filter(|name| !known.contains(&name.get_ref().as_ref())) {
            let written = name.get_ref().as_ref();
            let meant = fairpace_cc::nearest(written, known.iter().copied());
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}Known are {}", known.join(", "));
            let message = format!("there is no key `{written}` here");
            self.complain(name.span(), "unknown-key", &of.key(written), message, help);
        }
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, of: Table<'_, '_>, name: &str) -> Option<String> {
        let Some(value) = of.table.get(name) else {
            let message = format!("`{name}` is missing");
            self.complain(of.place(), "missing-key", &of.key(name), message, format!("add {name} = \"...\""));
            return None;
        };
        match value.get_ref().as_str() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            _ => {
                let message = format!("`{name}` must be a text that is not empty");
                self.complain(value.span(), "wrong-type", &of.key(name), message, "write it in quotes");
                None
            }
        }
    }

    /// A text that may be there.
    pub(crate) fn optional_text(&mut self, of: Table<'_, '_>, name: &str) -> Option<String> {
        of.table.contains_key(name).then(|| self.text(of, name))?
    }

    /// A list of texts that may be there.
    pub(crate) fn texts(&mut self, of: Table<'_, '_>, name: &str) -> Vec<String> {
        let Some(value) = of.table.get(name) else { return Vec::new() };
        let items = value.get_ref().as_array();
        let texts = items.and_then(|items| items.iter().map(|item| item.get_ref().as_str()).collect());
        let Some(texts): Option<Vec<&str>> = texts else {
            let message = format!("`{name}` must be a list of texts");
            self.complain(value.span(), "wrong-type", &of.key(name), message, "write it in brackets");
            return Vec::new();
        };
        texts.into_iter().map(str::to_owned).collect()
    }

    /// A number that may be there.
    pub(crate) fn number(&mut self, of: Table<'_, '_>, name: &str) -> Option<f64> {
        let value = of.table.get(name)?;
        let number = number(value.get_ref());
        if number.is_none() {
            let message = format!("`{name}` must be a finite number");
            self.complain(value.span(), "wrong-type", &of.key(name), message, "write it without quotes");
        }
        number
    }

    /// A list of tables, each with its path.
    pub(crate) fn tables<'t, 'i>(
        &mut self,
        of: Table<'t, 'i>,
        name: &str,
    ) -> Vec<(String, &'t Spanned<DeValue<'i>>, &'t DeTable<'i>)> {
        let Some(value) = of.table.get(name) else {
            let message = format!("there is no `{name}`");
            let help = format!("add a part `[[{}]]`", of.key(name));
            self.complain(of.place(), "missing-key", &of.key(name), message, help);
            return Vec::new();
        };
        let mut found = Vec::new();
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        for (number, item) in (1..).zip(items) {
            let path = format!("{}.{number}", of.key(name));
            match item.get_ref() {
                DeValue::Table(table) if value.get_ref().is_array() => found.push((path, item, table)),
                _ => {
                    let message = format!("`{name}` must be a list of tables");
                    let help = format!("write `[[{}]]`, or {name} = [{{ ... }}]", of.key(name));
                    self.complain(item.span(), "wrong-type", &path, message, help);
                }
            }
        }
        found
    }

    /// A table that may be there, with its path.
    pub(crate) fn table<'t, 'i>(
        &mut self,
        of: Table<'t, 'i>,
        name: &str,
    ) -> Option<(String, &'t Spanned<DeValue<'i>>, &'t DeTable<'i>)> {
        let value = of.table.get(name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some((of.key(name), value, table)),
            _ => {
                let message = format!("`{name}` must be a table");
                self.complain(
                    value.span(),
                    "wrong-type",
                    &of.key(name),
                    message,
                    format!("write `[{name}]`"),
                );
                None
            }
        }
    }
}

/// A finite number.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Begin and end of a value, to be copied.
pub(crate) fn ends(value: &Spanned<DeValue<'_>>) -> (usize, usize) {
    (value.span().start, value.span().end)
}
