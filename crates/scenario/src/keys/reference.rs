//! The reference page of all keys, from their declarations.

use super::{DefaultValue, Key, Kind, RunsOn, Section, of, of_flow, of_link};
use crate::flow::Flow;
use crate::link::Link;
use crate::quantity::{self, Dimension};
use crate::value::Value;

/// The reference of all keys, as Markdown tables: the generated part of `docs/reference/scenario.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let header = section.header();
        let title = if header.is_empty() { "At the top".to_owned() } else { format!("`{header}`") };
        text.push_str(&format!(
            "\n## {title}\n\n| key | kind, units | range | default | runs on | meaning |\n\
             |---|---|---|---|---|---|\n"
        ));
        for key in of(section) {
            let only = match key.queues {
                [] => String::new(),
                queues => format!("For {}. ", queues.join(", ")),
            };
            text.push_str(&format!(
                "| `{}` | {} | {} | {} | {} | {only}{} |\n",
                key.name,
                kind_name(key.kind),
                key.bounds(),
                default(key),
                runs_on(key.runs_on),
                key.meaning
            ));
        }
    }
    text
}

fn runs_on(runs_on: RunsOn) -> String {
    match runs_on {
        RunsOn::Both => "both".into(),
        RunsOn::Simulator => "simulator".into(),
        RunsOn::BothExcept(word) => format!("both; `{word}`: simulator"),
    }
}

/// What holds without the key, in words.
fn default(key: &Key) -> String {
    match key.default {
        DefaultValue::None => "**must be given**".into(),
        DefaultValue::Words(words) => words.into(),
        DefaultValue::OfField => {
            let value = value_of_new(key).map(|value| value.to_toml(key.kind)).unwrap_or_default();
            value.trim_matches('"').to_owned()
        }
    }
}

/// The value of the key's field in a new link or flow.
fn value_of_new(key: &Key) -> Option<Value> {
    match key.section {
        Section::Top | Section::Window => None,
        Section::Link => of_link().find(|row| row.key().name == key.name)?.get(&Link::new("", 0, 0)),
        Section::Flow => of_flow().find(|row| row.key().name == key.name)?.get(&Flow::any()),
    }
}

fn kind_name(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Integer => "whole number".into(),
        Kind::Quantity(dimension) => format!("{}: {}", dimension.name(), dimension.unit_list()),
        Kind::Steps(dimension) => format!("steps, as in `{}`", quantity::example_steps(dimension)),
        Kind::Buffer => format!("size: {}; or pkts, bdp", Dimension::Size.unit_list()),
        Kind::Limit => format!("size: {}; or pkts", Dimension::Size.unit_list()),
        Kind::Bool => "true or false".into(),
        Kind::Links => "list of names of links".into(),
        Kind::Trace | Kind::Sizes => "file, by its path from the scenario file's folder".into(),
        Kind::Algorithm => "name of an algorithm".into(),
        Kind::Choice(_) => "word".into(),
        Kind::Parameters => "table".into(),
    }
}
