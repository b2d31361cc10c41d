//! A template: a scenario in which names in braces stand for values of axes.

use std::collections::BTreeSet;

use fairpace_scenario::quantity::parse_time;
use serde::Deserialize;
use toml::Table;

use crate::item::{Amount, names};
use crate::source::{Wrong, text};

/// A scenario that gives a case for each combination of the axes that it names.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Template {
    /// Name of the template's cases, with names in braces.
    #[serde(deserialize_with = "text")]
    pub(crate) name: String,
    /// The part of the link's rate that flows can use.
    #[serde(default = "Amount::one")]
    pub(crate) available: Amount,
    #[serde(default)]
    pub(crate) window: Table,
    #[serde(rename = "link")]
    pub(crate) links: Vec<Table>,
    #[serde(rename = "flow")]
    pub(crate) flows: Vec<FlowPart>,
    /// The other keys of the template, which are the keys of the scenario.
    #[serde(flatten)]
    pub(crate) top: Table,
}

/// A part of a template that gives a `[[flow]]`, or one `[[flow]]` for each item of a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct FlowPart {
    /// Name of the list that gives the flows.
    pub(crate) each: Option<String>,
    /// Time between the starts of successive flows.
    pub(crate) apart: Option<String>,
    #[serde(flatten)]
    pub(crate) part: Table,
}

impl Template {
    /// Checks what the type allows but a template does not. `at` is the key of the template.
    pub(crate) fn check(&self, at: &str, wrong: &mut Wrong<'_>) {
        let has_part = !matches!(self.available, Amount::Fixed(part) if !is_part(part));
        let help = "the part of the link's rate that a flow can have: 0.5 of a policer at half of it";
        let (key, message) = (format!("{at}.available"), "`available` must be above 0 and at most 1");
        wrong.unless(has_part, "out-of-range", &key, message, help);
        for reserved in ["title", "seed"].into_iter().filter(|key| self.top.contains_key(*key)) {
            let help = "`name` is the title of its cases, and seeds are an argument";
            let message = format!("a template has no `{reserved}`");
            wrong.add("unknown-key", &format!("{at}.{reserved}"), message, help);
        }
        for (number, FlowPart { each, apart, part }) in (1..).zip(&self.flows) {
            let at = format!("{at}.flow.{number}.apart");
            match (each, apart.as_deref().map(parse_time)) {
                (None, Some(_)) => {
                    let help = "name a list with `each`, or write `start`";
                    wrong.add("impossible", &at, "there is no `each`", help);
                }
                (_, Some(Err(error))) => wrong.add("wrong-unit", &at, error.message, error.help),
                (_, Some(Ok(_))) if part.contains_key("start") => {
                    wrong.add("impossible", &at, "the flow has a `start`", "leave one of them out");
                }
                _ => {}
            }
        }
    }

    /// The names that the template uses: names in braces, names in place of numbers, and the lists of `each`.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let parts = [&self.top, &self.window].into_iter().chain(&self.links);
        let parts = parts.chain(self.flows.iter().map(|flow| &flow.part));
        let texts = parts.flat_map(Table::values).filter_map(|value| value.as_str());
        let lists = self.flows.iter().filter_map(|flow| flow.each.as_deref());
        texts.chain([&*self.name]).flat_map(names).chain(lists).chain(self.available.name()).collect()
    }
}

/// Whether a number is a valid part of a link's rate.
pub(crate) fn is_part(number: f64) -> bool {
    number > 0.0 && number <= 1.0
}
