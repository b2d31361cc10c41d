//! A template: a scenario in which names in braces stand for values of axes.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use fairpace_scenario::quantity::parse_time;
use toml::de::{DeTable, DeValue};

use crate::amount::Amount;
use crate::condition::amount;
use crate::item::names;
use crate::read::{Reader, Table, ends};

/// A scenario that gives a case for each combination of the axes that it names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    /// Name of its cases, with names in braces.
    pub(crate) name: String,
    pub(crate) span: Range<usize>,
    /// The part of the link's rate that can be had.
    pub(crate) available: Amount,
    pub(crate) top: Part,
    pub(crate) window: Part,
    pub(crate) links: Vec<Part>,
    pub(crate) flows: Vec<FlowPart>,
}

/// Keys of one part of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) entries: Vec<Entry>,
    pub(crate) span: Range<usize>,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: Written,
    pub(crate) span: Range<usize>,
}

/// A value as it stands in the template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    /// A text, which may have names in braces.
    Text(String),
    /// Anything else, in TOML.
    Raw(String),
}

/// A `[[flow]]`, or one for each item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlowPart {
    pub(crate) part: Part,
    pub(crate) each: Option<Each>,
}

/// A flow is repeated for each item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Each {
    /// Name of the list.
    pub(crate) of: String,
    /// Each flow starts this much after the one before.
    pub(crate) apart: Duration,
    pub(crate) span: Range<usize>,
}

/// Keys of a template that are not the scenario's.
const OWN: [&str; 5] = ["name", "available", "window", "link", "flow"];

impl Template {
    pub(crate) fn read(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Self> {
        let name = reader.text(of, "name");
        let available = match amount(reader, of, "available") {
            Some(Amount::Fixed(part)) if !is_part(part) => {
                let span = of.table.get("available").map_or(0..0, toml::Spanned::span);
                let help = "the part of the link's rate that a flow can have: 0.5 of a policer at half of it";
                let message = "`available` must be above 0 and at most 1";
                reader.complain(span, "out-of-range", &of.key("available"), message, help);
                return None;
            }
            part => part.unwrap_or(Amount::Fixed(1.0)),
        };
        for reserved in ["title", "seed"].into_iter().filter(|name| of.table.contains_key(*name)) {
            let span = of.table.get(reserved).map_or(0..0, toml::Spanned::span);
            let help = "`name` is the title of its cases, and seeds are an argument";
            let message = format!("a template has no `{reserved}`");
            reader.complain(span, "unknown-key", &of.key(reserved), message, help);
        }
        let window = reader.table(of, "window").map(|(_, value, table)| part(reader, table, value.span()));
        let links = reader.tables(of, "link");
        let links = links.into_iter().map(|(_, value, table)| part(reader, table, value.span())).collect();
        let mut flows = Vec::new();
        for (path, value, table) in reader.tables(of, "flow") {
            let of = Table { table, path: &path, span: ends(value) };
            flows.extend(FlowPart::read(reader, of));
        }
        let mut top = part(reader, of.table, of.span.0..of.span.1);
        top.entries.retain(|entry| !OWN.contains(&entry.key.as_str()));
        let span = of.span.0..of.span.1;
        Some(Self { name: name?, span, available, top, window: window.unwrap_or_default(), links, flows })
    }

    /// The names in braces, also of a number, and the lists of `each`.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let parts = [&self.top, &self.window].into_iter().chain(&self.links);
        let parts = parts.chain(self.flows.iter().map(|flow| &flow.part));
        let texts = parts.flat_map(|part| &part.entries).filter_map(|entry| match &entry.value {
            Written::Text(text) => Some(text.as_str()),
            Written::Raw(_) => None,
        });
        let lists = self.flows.iter().filter_map(|flow| Some(flow.each.as_ref()?.of.as_str()));
        let number = match &self.available {
            Amount::Named(name) => Some(name.as_str()),
            Amount::Fixed(_) => None,
        };
        texts.chain([self.name.as_str()]).flat_map(names).chain(lists).chain(number).collect()
    }
}

/// Whether a number is a part of a link's rate.
pub(crate) fn is_part(number: f64) -> bool {
    number > 0.0 && number <= 1.0
}

impl FlowPart {
    fn read(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Self> {
        let mut part = part(reader, of.table, of.span.0..of.span.1);
        part.entries.retain(|entry| !["each", "apart"].contains(&entry.key.as_str()));
        let has = |name: &str| of.table.get(name).map(toml::Spanned::span);
        let (each, apart) = (has("each"), has("apart"));
        let Some(span) = each else {
            if let Some(span) = apart {
                let help = "name a list with `each`, or write `start`";
                reader.complain(span, "impossible", &of.key("apart"), "there is no `each`", help);
            }
            return Some(Self { part, each: None });
        };
        let list = reader.text(of, "each")?;
        let apart = match apart {
            None => Duration::ZERO,
            Some(span) => match parse_time(&reader.text(of, "apart")?) {
                Ok(time) => time,
                Err(error) => {
                    reader.complain(span, "wrong-unit", &of.key("apart"), error.message, error.help);
                    return None;
                }
            },
        };
        Some(Self { part, each: Some(Each { of: list, apart, span }) })
    }
}

/// All keys of a table but its tables of links and flows.
fn part(reader: &Reader<'_>, table: &DeTable<'_>, span: Range<usize>) -> Part {
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in table {
        let written = match value.get_ref() {
            DeValue::String(text) => Written::Text(text.to_string()),
            _ => Written::Raw(reader.source.text.get(value.span()).unwrap_or_default().to_owned()),
        };
        entries.push(Entry { key: key.get_ref().to_string(), value: written, span: value.span() });
    }
    // as in the file
    entries.sort_by_key(|entry| entry.span.start);
    Part { entries, span }
}
