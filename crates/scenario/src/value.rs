//! The value of a key, between a file and the field of a typed scenario.

use std::time::Duration;

use crate::cc::Cc;
use crate::drops::{Dropped, Drops};
use crate::files::{Sizes, TimeTable, Trace};
use crate::key::{Key, Kind};
use crate::quantity::{Buffer, BurstLength, Dimension, Limit, show, show_limit, show_steps, show_time};

/// The value of a key, in stored units (ns, bit/s, B).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Truth(bool),
    Word(&'static str),
    /// Steps: each is a time and the value that holds from then on.
    Steps(Vec<(u64, u64)>),
    Limit(Limit),
    BurstLength(BurstLength),
    /// A buffer as written; it becomes a limit when the link's rate and the RTT are known.
    Buffer(Buffer),
    Names(Vec<String>),
    Drops(Drops),
    Cc(Cc),
    Trace(Trace),
    TimeTable(TimeTable),
    Sizes(Sizes),
    /// The parameters of an algorithm: names, and values as written.
    Table(Vec<(&'static str, String)>),
}

impl Value {
    /// The value as written in a file; files by their names.
    pub(crate) fn to_toml(&self, kind: Kind) -> String {
        match (self, kind) {
            (Value::Text(text), _) => quoted(text),
            (Value::Number(number), Kind::Quantity(dimension)) => quoted(&show(*number, dimension)),
            (Value::Number(number), _) => number.to_string(),
            (Value::Truth(truth), _) => truth.to_string(),
            (Value::Word(word), _) => quoted(word),
            (Value::Steps(steps), Kind::Steps(dimension)) => quoted(&show_steps(steps, dimension)),
            (Value::Steps(steps), _) => quoted(&show_steps(steps, Dimension::Time)),
            (Value::Limit(limit), _) => quoted(&show_limit(*limit)),
            (Value::BurstLength(BurstLength::Pkts(pkts)), _) => pkts.to_string(),
            (Value::BurstLength(BurstLength::Time(time)), _) => quoted(&show_time(*time)),
            // a limit takes its place before anything is printed
            (Value::Buffer(_), _) => String::new(),
            (Value::Names(names), _) => list(names.iter().map(|name| quoted(name))),
            (Value::Drops(drops), _) => {
                list(drops.iter().map(Dropped::to_string).map(|entry| quoted(&entry)))
            }
            (Value::Cc(cc), _) => quoted(&cc.written()),
            (Value::Trace(trace), _) => quoted(&trace.file),
            (Value::TimeTable(table), _) => quoted(&table.file),
            (Value::Sizes(sizes), _) => quoted(&sizes.name),
            (Value::Table(table), _) => {
                let pairs: Vec<_> = table
                    .iter()
                    .map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)))
                    .collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }

    /// The numbers that the key's range holds for; for text and names of files, the count of characters.
    pub(crate) fn measures(&self) -> Vec<u64> {
        let characters = |text: &str| vec![text.chars().count() as u64];
        match self {
            Value::Text(text) => characters(text),
            Value::Number(number) => vec![*number],
            Value::Steps(steps) => steps.iter().map(|(_, value)| *value).collect(),
            Value::Limit(limit) => vec![limit.bytes()],
            Value::BurstLength(BurstLength::Pkts(pkts)) => vec![*pkts],
            Value::Trace(trace) => characters(&trace.file),
            Value::TimeTable(table) => characters(&table.file),
            Value::Sizes(sizes) => characters(&sizes.name),
            Value::Truth(_)
            | Value::Word(_)
            | Value::Buffer(_)
            // times have a range of their own: BurstLength::check
            | Value::BurstLength(BurstLength::Time(_))
            | Value::Names(_)
            | Value::Drops(_)
            | Value::Cc(_)
            | Value::Table(_) => Vec::new(),
        }
    }

    /// Returns whether the value is this word, or the algorithm of this name.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        match self {
            Value::Word(other) => *other == word,
            Value::Cc(cc) => cc.to_string() == word,
            _ => false,
        }
    }

    /// Panics: a row declares a kind of values that its field does not take. Tests find such rows.
    pub(crate) fn is_of_another_kind(&self) {
        debug_assert!(false, "the kind of a key does not fit its field: {self:?}");
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            other => {
                other.is_of_another_kind();
                0
            }
        }
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.number())
    }
}

/// Writes a TOML array.
fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Writes a TOML basic string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The values that are given in one part of a file.
#[derive(Debug, Default)]
pub(crate) struct Given(Vec<(&'static Key, Value)>);

impl Given {
    pub(crate) fn push(&mut self, key: &'static Key, value: Value) {
        self.0.push((key, value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(&'static Key, Value)> {
        self.0.iter()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    /// Replaces the value of a key, or removes it.
    pub(crate) fn replace(&mut self, name: &str, value: Option<Value>) {
        if let Some(at) = self.0.iter().position(|(key, _)| key.name == name) {
            match value {
                Some(value) => self.0[at].1 = value,
                None => drop(self.0.remove(at)),
            }
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).map(Value::number)
    }

    pub(crate) fn time(&self, name: &str) -> Option<Duration> {
        self.number(name).map(Duration::from_nanos)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}
