//! Reading of single values, with what is said of wrong ones.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::check::{self, Complaint};
use crate::keys::{self, Key, Kind};
use crate::links::Limit;
use crate::quantity::{self, Dimension, NotAQuantity};

use super::{Part, Reader, path};

impl Reader<'_> {
    pub(super) fn find<'t, 'i>(
        &self,
        part: &Part<'t, 'i>,
        name: &str,
    ) -> Option<(&'static Key, &'t Spanned<DeValue<'i>>)> {
        Some((keys::find(part.section, name)?, part.table.get(name)?))
    }

    pub(super) fn bounded(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, number: u64) -> Option<u64> {
        match check::bounds(key, number) {
            Ok(()) => Some(number),
            Err(complaint) => {
                self.complain(value.span(), &path(key.section, key.name), complaint);
                None
            }
        }
    }

    pub(super) fn wrong_type(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) {
        let wanted = match key.kind {
            Kind::Integer => "a whole number".to_owned(),
            Kind::Quantity(dimension) => format!("{} in quotes", dimension.noun()),
            Kind::Steps(_) => "steps in quotes".to_owned(),
            Kind::Buffer | Kind::Limit => "a size in quotes".to_owned(),
            Kind::Bool => "true or false, without quotes,".to_owned(),
            Kind::Links => "a list of names".to_owned(),
            _ => "text in quotes".to_owned(),
        };
        let complaint = Complaint::new(
            "wrong-type",
            format!("`{}` is {}, but {wanted} is wanted", key.name, kind_of(value.get_ref())),
            format!("write {} = {}", key.name, example(key)),
        );
        self.complain(value.span(), &path(key.section, key.name), complaint);
    }

    pub(super) fn text(&mut self, part: &Part<'_, '_>, name: &str) -> Option<String> {
        let (key, value) = self.find(part, name)?;
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(key, value);
            return None;
        };
        if text.chars().any(|c| c.is_control() && !(name == "why" && c == '\n')) {
            let message = format!("`{name}` has a control character or a line break");
            let complaint = Complaint::new("wrong-type", message, "write it on one line");
            self.complain(value.span(), &path(key.section, name), complaint);
            return None;
        }
        if !matches!(key.kind, Kind::Choice(_)) {
            self.bounded(key, value, text.chars().count() as u64)?;
        }
        Some(text.to_string())
    }

    /// One of the words that the key knows.
    pub(super) fn choice(&mut self, part: &Part<'_, '_>, name: &str) -> Option<&'static str> {
        let text = self.text(part, name)?;
        let (key, value) = self.find(part, name)?;
        let Kind::Choice(words) = key.kind else { return None };
        let known = words.iter().copied().find(|word| *word == text);
        if known.is_none() {
            let meant = keys::nearest(&text, words.iter().copied());
            let help = meant
                .map_or_else(|| format!("write one of {}", words.join(", ")), |m| format!("write \"{m}\""));
            let message = format!("`{name}` cannot be \"{text}\": known are {}", words.join(", "));
            let complaint = Complaint::new("out-of-range", message, help);
            self.complain(value.span(), &path(key.section, name), complaint);
        }
        known
    }

    pub(super) fn integer(&mut self, part: &Part<'_, '_>, name: &str) -> Option<u64> {
        let (key, value) = self.find(part, name)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(key, value);
            return None;
        };
        if integer.as_str().starts_with('-') {
            let complaint = Complaint::new(
                "out-of-range",
                format!("`{name}` is {}: it must not be negative", integer.as_str()),
                format!("write a value from {}", key.bounds()),
            );
            self.complain(value.span(), &path(key.section, name), complaint);
            return None;
        }
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(u64::MAX);
        self.bounded(key, value, number)
    }

    pub(super) fn quantity_text<'t>(
        &mut self,
        key: &Key,
        value: &'t Spanned<DeValue<'_>>,
    ) -> Option<&'t str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            DeValue::Integer(number) => self.no_unit(key, value, number.as_str()),
            DeValue::Float(number) => self.no_unit(key, value, number.as_str()),
            _ => {
                self.wrong_type(key, value);
                None
            }
        }
    }

    pub(super) fn no_unit<'t>(
        &mut self,
        key: &Key,
        value: &Spanned<DeValue<'_>>,
        number: &str,
    ) -> Option<&'t str> {
        let complaint = Complaint::new(
            "wrong-unit",
            format!("`{}` is {number} without a unit", key.name),
            format!(
                "write the unit with the number and both in quotes, as in {} = {}",
                key.name,
                example(key)
            ),
        );
        self.complain(value.span(), &path(key.section, key.name), complaint);
        None
    }

    pub(super) fn parsed<T>(
        &mut self,
        key: &Key,
        value: &Spanned<DeValue<'_>>,
        result: Result<T, NotAQuantity>,
    ) -> Option<T> {
        match result {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let kind = if error.message.ends_with("negative") { "out-of-range" } else { "wrong-unit" };
                let message = format!("`{}`: {}", key.name, error.message);
                self.complain(
                    value.span(),
                    &path(key.section, key.name),
                    Complaint::new(kind, message, error.help),
                );
                None
            }
        }
    }

    pub(super) fn quantity(&mut self, part: &Part<'_, '_>, name: &str, dimension: Dimension) -> Option<u64> {
        let (key, value) = self.find(part, name)?;
        let text = self.quantity_text(key, value)?;
        let number = self.parsed(key, value, quantity::parse(text, dimension))?;
        self.bounded(key, value, number)
    }

    /// Steps of a value, in base units; none without the key.
    pub(super) fn steps(
        &mut self,
        part: &Part<'_, '_>,
        name: &str,
        dimension: Dimension,
    ) -> Vec<(Duration, u64)> {
        let Some((key, value)) = self.find(part, name) else { return Vec::new() };
        let steps = self.quantity_text(key, value).map(|text| quantity::parse_steps(text, dimension));
        let steps = steps.and_then(|steps| self.parsed(key, value, steps)).unwrap_or_default();
        for (_, number) in &steps {
            self.bounded(key, value, *number);
        }
        steps.into_iter().map(|(at, number)| (Duration::from_nanos(at), number)).collect()
    }

    pub(super) fn truth(&mut self, part: &Part<'_, '_>, name: &str) -> Option<bool> {
        let (key, value) = self.find(part, name)?;
        let truth = value.get_ref().as_bool();
        if truth.is_none() {
            self.wrong_type(key, value);
        }
        truth
    }

    /// A list of names; remembers where each of them stands.
    pub(super) fn names(&mut self, part: &Part<'_, '_>, name: &str) -> Option<Vec<String>> {
        let (key, value) = self.find(part, name)?;
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(key, value);
            return None;
        };
        self.bounded(key, value, items.len() as u64)?;
        let spans = items.iter().map(Spanned::span).collect();
        self.items.insert((part.section.header(), part.index, key.name), spans);
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref().as_str() {
                Some(name) => names.push(name.to_owned()),
                None => self.wrong_type(key, item),
            }
        }
        (names.len() == items.len()).then_some(names)
    }

    pub(super) fn limit(&mut self, part: &Part<'_, '_>, name: &str) -> Option<Limit> {
        let (key, value) = self.find(part, name)?;
        let text = self.quantity_text(key, value)?;
        let limit = self.parsed(key, value, quantity::parse_limit(text))?;
        self.bounded(key, value, limit.bytes()).map(|_| limit)
    }

    /// A time that may be zero by being left out.
    pub(super) fn time_or_zero(&mut self, part: &Part<'_, '_>, name: &str) -> Duration {
        self.time(part, name).unwrap_or_default()
    }

    pub(super) fn time(&mut self, part: &Part<'_, '_>, name: &str) -> Option<Duration> {
        self.quantity(part, name, Dimension::Time).map(Duration::from_nanos)
    }
}

pub(super) fn example(key: &Key) -> String {
    match (key.kind, key.name) {
        (_, "title") => "\"A short and a long flow share a deep buffer\"".into(),
        (_, "duration") => "\"60s\"".into(),
        (Kind::Integer, _) => "1".into(),
        (Kind::Quantity(dimension), _) => format!("\"{}\"", dimension.example()),
        (Kind::Steps(dimension), _) => format!("\"{}\"", quantity::example_steps(dimension)),
        (Kind::Bool, _) => "true".into(),
        (Kind::Links, _) => "[\"link1\", \"link2\"]".into(),
        (Kind::File, "sizes") => "\"websearch\"".into(),
        (Kind::File, _) => "\"traces/lte.trace\"".into(),
        (Kind::Buffer | Kind::Limit, _) => format!("\"{}\"", Dimension::Size.example()),
        (Kind::Algorithm, _) => "\"bbr1\"".into(),
        (Kind::Text, _) => "\"...\"".into(),
        (Kind::Choice(words), _) => format!("\"{}\"", words[0]),
        (Kind::Parameters, _) => "{ alpha = \"3ms\" }".into(),
    }
}

pub(super) fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
