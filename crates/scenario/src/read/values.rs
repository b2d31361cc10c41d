//! Reads single values and reports wrong ones.

use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::fault::Complaint;
use crate::key::{Key, Kind};
use crate::quantity::{self, BurstLength, Dimension, NotAQuantity};
use crate::value::{Given, Value};
use crate::{Cc, Drops, Sizes, TimeTable, Trace, check, files, keys};

use super::{Part, REFERENCE, Reader};

/// The value of a key in a file, and its place.
type Written<'i> = Spanned<DeValue<'i>>;

impl Reader<'_> {
    /// Returns the valid values of a part; complains about the others.
    pub(super) fn given(&mut self, part: &Part<'_, '_>) -> Given {
        let mut given = Given::default();
        if self.is_full() {
            return given;
        }
        for key in keys::of(part.section) {
            let Some(written) = part.table.get(key.name) else { continue };
            if let Some(value) = self.value(part, key, written) {
                given.push(key, value);
            }
        }
        given
    }

    fn value(&mut self, part: &Part<'_, '_>, key: &'static Key, written: &Written<'_>) -> Option<Value> {
        Some(match key.kind {
            Kind::Text => Value::Text(self.text(key, written)?),
            Kind::Integer => Value::Number(self.integer(key, written)?),
            Kind::Quantity(dimension) => {
                let text = self.quantity_text(key, written)?;
                let number = self.parsed(key, written, quantity::parse(text, dimension))?;
                Value::Number(self.bounded(key, written, number)?)
            }
            Kind::Steps(dimension) => {
                let text = self.quantity_text(key, written)?;
                let steps = self.parsed(key, written, quantity::parse_steps(text, dimension))?;
                for (_, number) in &steps {
                    self.bounded(key, written, *number);
                }
                Value::Steps(steps)
            }
            Kind::Buffer => {
                let text = self.quantity_text(key, written)?;
                Value::Buffer(self.parsed(key, written, quantity::parse_buffer(text))?)
            }
            Kind::Limit => {
                let text = self.quantity_text(key, written)?;
                let limit = self.parsed(key, written, quantity::parse_limit(text))?;
                self.bounded(key, written, limit.bytes())?;
                Value::Limit(limit)
            }
            Kind::BurstLength => Value::BurstLength(self.burst_length(key, written)?),
            Kind::Bool => Value::Truth(self.truth(key, written)?),
            Kind::Links => Value::Names(self.names(part, key, written)?),
            Kind::Drops => Value::Drops(self.drops(part, key, written)?),
            Kind::Trace => Value::Trace(self.file(key, written, read_trace)?),
            Kind::TimeTable(dimension) => {
                let read = |file: &str, text: &str| TimeTable::read(file, text, dimension);
                Value::TimeTable(self.file(key, written, read)?)
            }
            Kind::Sizes => {
                let name = self.text(key, written)?;
                match Sizes::built_in(&name) {
                    Some(sizes) => Value::Sizes(sizes),
                    None => Value::Sizes(self.file(key, written, Sizes::read)?),
                }
            }
            Kind::Algorithm => {
                let mut name = self.text(key, written)?;
                if self.sources.is_of_file(&written.span()) {
                    name = Cc::from_folder(self.folder, &name);
                }
                let cc = check::algorithm(&name, self.target);
                Value::Cc(cc.map_or_else(|complaint| self.wrong(key, written, complaint), Some)?)
            }
            Kind::Choice(words) => Value::Word(self.choice(key, words, written)?),
            // they are read when the algorithm is known
            Kind::Parameters => return None,
        })
    }

    /// Complains about a value.
    fn wrong<T>(&mut self, key: &Key, written: &Written<'_>, complaint: Complaint) -> Option<T> {
        self.complain(written.span(), &key.section.path(key.name), complaint);
        None
    }

    pub(super) fn find<'t, 'i>(
        &self,
        part: &Part<'t, 'i>,
        name: &str,
    ) -> Option<(&'static Key, &'t Written<'i>)> {
        Some((keys::find(part.section, name)?, part.table.get(name)?))
    }

    pub(super) fn bounded(&mut self, key: &Key, written: &Written<'_>, number: u64) -> Option<u64> {
        let bounded = check::bounds(key, number).map(|()| number);
        bounded.map_or_else(|complaint| self.wrong(key, written, complaint), Some)
    }

    fn wrong_type<T>(&mut self, key: &Key, value: &Written<'_>) -> Option<T> {
        let wanted = match key.kind {
            Kind::Integer => "a whole number".to_owned(),
            Kind::BurstLength => "a whole number, or a time in quotes,".to_owned(),
            Kind::Quantity(dimension) => format!("{} in quotes", dimension.noun()),
            Kind::Steps(_) => "steps in quotes".to_owned(),
            Kind::Buffer | Kind::Limit => "a size in quotes".to_owned(),
            Kind::Bool => "true or false, without quotes,".to_owned(),
            Kind::Links => "a list of names".to_owned(),
            Kind::Drops => "a list of packets".to_owned(),
            _ => "text in quotes".to_owned(),
        };
        let message = format!("`{}` is {}, but {wanted} is wanted", key.name, kind_of(value.get_ref()));
        let help = format!("write {} = {}", key.name, key.written_example());
        self.wrong(key, value, Complaint::new("wrong-type", message, help))
    }

    fn text(&mut self, key: &Key, written: &Written<'_>) -> Option<String> {
        let DeValue::String(text) = written.get_ref() else {
            return self.wrong_type(key, written);
        };
        if text.chars().any(|c| c.is_control() && !(key.multiline && c == '\n')) {
            let message = format!("`{}` has a control character or a line break", key.name);
            return self.wrong(key, written, Complaint::new("wrong-type", message, "write it on one line"));
        }
        if !matches!(key.kind, Kind::Choice(_)) {
            self.bounded(key, written, text.chars().count() as u64)?;
        }
        Some(text.to_string())
    }

    fn choice(
        &mut self,
        key: &Key,
        words: &'static [&'static str],
        written: &Written<'_>,
    ) -> Option<&'static str> {
        let text = self.text(key, written)?;
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Some(word);
        }
        let meant = fairpace_cc::nearest(&text, words.iter().copied());
        let help =
            meant.map_or_else(|| format!("write one of {}", words.join(", ")), |m| format!("write \"{m}\""));
        let message = format!("`{}` cannot be \"{text}\": known are {}", key.name, words.join(", "));
        self.wrong(key, written, Complaint::new("out-of-range", message, help))
    }

    fn integer(&mut self, key: &Key, written: &Written<'_>) -> Option<u64> {
        let DeValue::Integer(integer) = written.get_ref() else {
            return self.wrong_type(key, written);
        };
        if integer.as_str().starts_with('-') {
            let message = format!("`{}` is {}: it must not be negative", key.name, integer.as_str());
            let help = format!("write a value from {}", key.bounds());
            return self.wrong(key, written, Complaint::new("out-of-range", message, help));
        }
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(u64::MAX);
        self.bounded(key, written, number)
    }

    /// Reads a number of packets, or a time in quotes.
    fn burst_length(&mut self, key: &Key, written: &Written<'_>) -> Option<BurstLength> {
        let DeValue::String(text) = written.get_ref() else {
            return Some(BurstLength::Pkts(self.integer(key, written)?));
        };
        let time = quantity::parse(text, Dimension::Time).map_err(|mut error| {
            error.help.push_str("; a number of packets has no quotes");
            error
        });
        let ns = self.parsed(key, written, time)?;
        Some(BurstLength::Time(Duration::from_nanos(ns)))
    }

    fn quantity_text<'t>(&mut self, key: &Key, value: &'t Written<'_>) -> Option<&'t str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            DeValue::Integer(number) => self.no_unit(key, value, number.as_str()),
            DeValue::Float(number) => self.no_unit(key, value, number.as_str()),
            _ => self.wrong_type(key, value),
        }
    }

    fn no_unit<'t>(&mut self, key: &Key, value: &Written<'_>, number: &str) -> Option<&'t str> {
        let (name, example) = (key.name, key.written_example());
        let message = format!("`{name}` is {number} without a unit");
        let help = format!("write the unit with the number and both in quotes, as in {name} = {example}");
        self.wrong(key, value, Complaint::new("wrong-unit", message, help))
    }

    fn parsed<T>(&mut self, key: &Key, value: &Written<'_>, result: Result<T, NotAQuantity>) -> Option<T> {
        let complaint = |error: NotAQuantity| {
            let kind = if error.is_negative { "out-of-range" } else { "wrong-unit" };
            Complaint::new(kind, format!("`{}`: {}", key.name, error.message), error.help)
        };
        result.map_or_else(|error| self.wrong(key, value, complaint(error)), Some)
    }

    fn truth(&mut self, key: &Key, written: &Written<'_>) -> Option<bool> {
        written.get_ref().as_bool().or_else(|| self.wrong_type(key, written))
    }

    /// Reads a list of names; remembers the place of each name.
    fn names(
        &mut self,
        part: &Part<'_, '_>,
        key: &'static Key,
        written: &Written<'_>,
    ) -> Option<Vec<String>> {
        let DeValue::Array(items) = written.get_ref() else {
            return self.wrong_type(key, written);
        };
        self.bounded(key, written, items.len() as u64)?;
        let spans = items.iter().map(Spanned::span).collect();
        self.items.insert((part.section.header(), part.index, key.name), spans);
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            names.extend(item.get_ref().as_str().or_else(|| self.wrong_type(key, item)).map(str::to_owned));
        }
        (names.len() == items.len()).then_some(names)
    }

    /// Reads a list of packets. A wrong entry is complained about at its place.
    fn drops(&mut self, part: &Part<'_, '_>, key: &'static Key, written: &Written<'_>) -> Option<Drops> {
        let entries = self.names(part, key, written)?;
        match Drops::parse(&entries) {
            Ok(drops) => Some(drops),
            Err(wrong) => {
                let place = written.get_ref().as_array().and_then(|items| items.get(wrong.index));
                let help = format!("write entries like {}", Drops::FORMS);
                let complaint = Complaint::new("out-of-range", format!("`{}`: {wrong}", key.name), help);
                self.wrong(key, place.unwrap_or(written), complaint)
            }
        }
    }

    /// Reads the file that the value names.
    fn file<T>(
        &mut self,
        key: &Key,
        written: &Written<'_>,
        read: impl FnOnce(&str, &str) -> Result<T, String>,
    ) -> Option<T> {
        let (file, name) = (self.text(key, written)?, key.name);
        let is_of_file = self.sources.is_of_file(&written.span());
        let place = if is_of_file { self.folder.join(&file) } else { file.clone().into() };
        let contained = self.contained.filter(|_| is_of_file);
        let found = match contained {
            Some(files) => {
                let found = files.iter().find(|(path, _)| Path::new(path) == place);
                found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "the program lacks it".to_owned())
            }
            None => files::text(&place),
        };
        let complaint = match found {
            Ok(text) => match read(&file, &text) {
                Ok(found) => return Some(found),
                Err(why) => {
                    let help = match key.kind {
                        Kind::TimeTable(Dimension::Share) => {
                            "write seconds and a share from 0 to 1 in each line, as in `10 0.05`".into()
                        }
                        Kind::TimeTable(_) => {
                            "write seconds and a number of bytes in each line, as in `0.5 20000`".into()
                        }
                        _ => format!("{REFERENCE} says what a file for `{name}` holds"),
                    };
                    Complaint::new("file", format!("`{file}` {why}"), help)
                }
            },
            Err(why) => {
                let known = match key.kind {
                    Kind::Sizes => format!("built in are {}; ", Sizes::BUILT_IN.join(", ")),
                    _ => String::new(),
                };
                let from =
                    if is_of_file { "the folder of the scenario file" } else { "the working directory" };
                let place = std::path::absolute(&place).unwrap_or(place);
                let place = place.display();
                let help =
                    format!("{known}a file is named by its path from {from}; it was looked for as {place}");
                Complaint::new("file", format!("`{name}`: cannot read `{file}`: {why}"), help)
            }
        };
        self.wrong(key, written, complaint)
    }
}

/// Reads a trace whose mean rate a link can have.
fn read_trace(file: &str, text: &str) -> Result<Trace, String> {
    let trace = Trace::read(file, text)?;
    check::trace(&trace)?;
    Ok(trace)
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
