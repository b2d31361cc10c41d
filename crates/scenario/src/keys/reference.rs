//! The reference page of all keys, from their declarations.

use std::time::Duration;

use super::{DefaultValue, Key, Kind, RunsOn, Section, of, of_flow, of_link, of_scenario};
use crate::files::Sizes;
use crate::flow::Flow;
use crate::impairments::{Burst, Loss};
use crate::key::Relation;
use crate::link::Link;
use crate::quantity::{self, Dimension};
use crate::queue::Queue;
use crate::row::Lens;
use crate::scenario::Scenario;
use crate::traffic::{Traffic, WRITE_EVERY, Writes};
use crate::value::Value;

/// How a file is named.
const FILE: &str = "file, by its path from the scenario file's folder";

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
            let default = match (key.default, key.unless) {
                (DefaultValue::None, None) => "**must be given**".into(),
                (DefaultValue::None, Some(other)) => format!("**must be given**, unless `{other}` is"),
                _ => key.default_text(),
            };
            text.push_str(&format!(
                "| `{}` | {} | {} | {default} | {} | {} |\n",
                key.name,
                key.kind_text(),
                key.bounds(),
                runs_on(key.runs_on),
                key.whole_meaning(),
            ));
        }
    }
    text
}

fn runs_on(runs_on: RunsOn) -> String {
    match runs_on {
        RunsOn::Both => "both".into(),
        RunsOn::Simulator => "simulator".into(),
        RunsOn::BothExcept(words) => format!("both; `{}`: simulator", words.join("`, `")),
    }
}

/// What the key needs of others, and which it excludes.
fn relations(relations: &[Relation]) -> String {
    let quoted = |name: &str| format!("`{name}`");
    let needed = relations.iter().filter_map(|relation| match relation {
        Relation::Needs(other) => Some(quoted(other)),
        Relation::NeedsTrue(other, _) => Some(format!("`{other} = true`")),
        Relation::Excludes(_) => None,
    });
    let excluded = relations.iter().filter_map(|relation| match relation {
        Relation::Excludes(other) => Some(quoted(other)),
        _ => None,
    });
    let sentence = |verb: &str, names: Vec<String>| match names.is_empty() {
        true => String::new(),
        false => format!(" {verb} {}.", names.join(", ")),
    };
    sentence("Needs", needed.collect()) + &sentence("Not with", excluded.collect())
}

impl Key {
    /// What holds without the key, in words or as a file writes it; empty for one that must be given.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.default {
            DefaultValue::None => String::new(),
            DefaultValue::Words(words) => words.into(),
            DefaultValue::OfField => {
                let value = self.value_of_new().map(|value| value.to_toml(self.kind)).unwrap_or_default();
                value.trim_matches('"').to_owned()
            }
        }
    }

    /// Whether a file must have it.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.default == DefaultValue::None && self.unless.is_none()
    }

    /// What it holds and in which units: "time: ns, us, ms, s, min or h".
    #[must_use]
    pub fn kind_text(&self) -> String {
        kind_name(self.kind)
    }

    /// What it means, for which queues, and which other keys it needs or excludes, as Markdown.
    #[must_use]
    pub fn whole_meaning(&self) -> String {
        let only = match self.queues {
            [] => String::new(),
            queues => format!("For {}. ", queues.join(", ")),
        };
        format!("{only}{}{}", self.meaning, relations(self.relations))
    }

    /// The value of the key's field in a new scenario, link or flow that has this field.
    fn value_of_new(&self) -> Option<Value> {
        fn of<P: 'static>(
            mut rows: impl Iterator<Item = &'static dyn Lens<P>>,
            part: &P,
            name: &str,
        ) -> Option<Value> {
            rows.find(|row| row.key().name == name)?.get(part)
        }
        match self.section {
            Section::Top | Section::Window => {
                of(of_scenario(), &Scenario::of_length(Duration::ZERO), self.name)
            }
            Section::Link => {
                let plain = Link::new("", 0, 0);
                let queue = self.queues.first().and_then(|name| Queue::named(name, plain.buffer));
                let queue = queue.unwrap_or_default();
                let loss = Loss { burst: Some(Burst::default()), ..plain.loss };
                of(of_link(), &Link { queue, loss, ..plain }, self.name)
            }
            Section::Flow => {
                let writes = Writes::Paced { rate_bps: 0, every: WRITE_EVERY };
                let traffic = Traffic { writes, ..Traffic::default() };
                of(of_flow(), &Flow { traffic, ..Flow::any() }, self.name)
            }
        }
    }
}

fn kind_name(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Integer => "whole number".into(),
        Kind::BurstLength => format!("whole number of packets, or time: {}", Dimension::Time.unit_list()),
        Kind::Quantity(dimension) => format!("{}: {}", dimension.name(), dimension.unit_list()),
        Kind::Steps(dimension) => format!("steps, as in `{}`", quantity::example_steps(dimension)),
        Kind::Buffer => format!("size: {}; or pkts, bdp, or a time", Dimension::Size.unit_list()),
        Kind::Limit => format!("size: {}; or pkts", Dimension::Size.unit_list()),
        Kind::Bool => "true or false".into(),
        Kind::Links => "list of names of links".into(),
        Kind::Drops => "list of packets: data, ack, syn or synack with a number".into(),
        Kind::Trace | Kind::TimeTable(_) => FILE.into(),
        Kind::Sizes => format!("{}, or a {FILE}", Sizes::BUILT_IN.join(", ")),
        Kind::Algorithm => "name of an algorithm".into(),
        Kind::Choice(_) => "word".into(),
        Kind::Parameters => "table".into(),
    }
}
