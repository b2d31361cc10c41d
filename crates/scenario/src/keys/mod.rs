//! The declaration of scenario keys. One row per key says what it is called, what it holds, what it means,
//! where it works and which field of the typed scenario it sets. Reading, printing, the checks of typed
//! scenarios, the refusals of the testbed and the reference page (`docs/reference/scenario.md`) all follow
//! from these rows.
//!
//! A row stands beside the struct whose field it sets: `link.rs`, `queue.rs`, `flow.rs`, `traffic.rs`,
//! `hosts.rs`, `impairments.rs` and, for the top of the file, `scenario.rs`.

mod reference;
mod value;

pub use reference::reference;
pub(crate) use value::{Field, Given, Value, ns, words};

use crate::quantity::{self, Dimension};
use crate::{Flow, Link, Scenario, flow, hosts, impairments, link, queue, scenario, traffic};

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// At the top of the file.
    Top,
    /// Under `[window]`.
    Window,
    /// Under `[[link]]`.
    Link,
    /// Under `[[flow]]`.
    Flow,
}

impl Section {
    /// All of them, in the order of a file.
    pub const ALL: [Self; 4] = [Self::Top, Self::Window, Self::Link, Self::Flow];

    /// As it is written in a file; empty for the top.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Window => "[window]",
            Self::Link => "[[link]]",
            Self::Flow => "[[flow]]",
        }
    }

    /// The key's name with its section: `link.rate`.
    pub(crate) fn path(self, key: &str) -> String {
        match self {
            Self::Top => key.to_owned(),
            Self::Window => format!("window.{key}"),
            Self::Link => format!("link.{key}"),
            Self::Flow => format!("flow.{key}"),
        }
    }
}

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Free text.
    Text,
    /// A whole number, without a unit.
    Integer,
    /// A number with its unit.
    Quantity(Dimension),
    /// Times, each with the value that holds from then on.
    Steps(Dimension),
    /// A size, packets, or a multiple of the bandwidth-delay product.
    Buffer,
    /// A size or packets.
    Limit,
    /// `true` or `false`.
    Bool,
    /// A list of names of links.
    Links,
    /// A trace, by its file's path from the folder of the scenario file.
    Trace,
    /// A distribution of sizes: one that is built in, or a file, by its path from the folder of the scenario
    /// file.
    Sizes,
    /// The name of an algorithm.
    Algorithm,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A table of an algorithm's parameters.
    Parameters,
}

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds in a second.
pub(crate) const S: u64 = 1_000 * MS;
/// Nanoseconds in a day.
pub(crate) const DAY: u64 = 86_400 * S;
pub(crate) const TIME: Kind = Kind::Quantity(Dimension::Time);
pub(crate) const RATE: Kind = Kind::Quantity(Dimension::Rate);
pub(crate) const SIZE: Kind = Kind::Quantity(Dimension::Size);
pub(crate) const SHARE: Kind = Kind::Quantity(Dimension::Share);

/// A full-sized packet on the wire: 1500 bytes of IP and an Ethernet header. A smaller buffer passes nothing.
pub const PACKET_BYTES: u64 = 1514;
/// Flows of one scenario, groups expanded.
pub const MOST_FLOWS: u64 = 100_000;
/// Links on one route: the largest time to live of an IP packet (RFC 791).
pub const MOST_HOPS: u64 = 255;
/// Links of one scenario.
pub const MOST_LINKS: u64 = 10_000;
/// Flows that the workloads of one scenario start on average.
pub const MOST_ARRIVALS: u64 = 10_000_000;
/// Points of the time series.
pub const MOST_POINTS: u64 = 1_000_000;
/// Points of the time series over all flows: about 2 GB with the files that hold them.
pub const MOST_FLOW_POINTS: u64 = 10_000_000;

/// Where a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// In the simulator and on the testbed.
    Both,
    /// In the simulator; the testbed refuses it.
    Simulator,
    /// In the simulator and on the testbed, except for this word, which the testbed refuses.
    BothExcept(&'static str),
}

/// What holds without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// Nothing: the key must be given.
    None,
    /// What these words say; it depends on other keys, or is the absence of something.
    Words(&'static str),
    /// The value of the field that the key sets, in a new [`Link`] or [`Flow`].
    OfField,
}

/// How a key is related to another one of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The key says nothing without this one.
    Needs(&'static str),
    /// Both cannot be given.
    Excludes(&'static str),
    /// The key says nothing if this one is false; and why.
    NeedsTrue(&'static str, &'static str),
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// Where it stands.
    pub section: Section,
    /// As it is written.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Smallest value, in the base unit (ns, bit/s, B); for text, characters.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// What holds without it.
    pub default: DefaultValue,
    /// What it means.
    pub meaning: &'static str,
    /// Where it works.
    pub runs_on: RunsOn,
    /// The queues that have it; none: it does not depend on the queue.
    pub queues: &'static [&'static str],
    pub(crate) relations: &'static [Relation],
    pub(crate) example: Option<&'static str>,
    /// Printed in the canonical form even at its default.
    pub(crate) always_printed: bool,
    pub(crate) lens: Lens,
}

/// The field that a key sets. `get` returns `None` where the field does not exist, as the interval of a queue
/// that is not CoDel.
#[derive(Clone, Copy)]
pub(crate) enum Lens {
    /// None: the reader alone uses the value.
    Reader,
    Scenario(Access<Scenario>),
    Link(Access<Link>),
    Flow(Access<Flow>),
}

/// Reading and setting of one field of `T`.
pub(crate) struct Access<T> {
    pub(crate) get: fn(&T) -> Option<Value>,
    /// Sets the field; the other values of the part decide about defaults that depend on them.
    pub(crate) set: fn(&mut T, Value, &Given),
}

impl<T> Clone for Access<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Access<T> {}

/// The lens of a plain field: `field!(Flow, sending.sack)`.
macro_rules! field {
    ($part:ident, $($field:tt).+) => {
        $crate::keys::Lens::$part($crate::keys::Access {
            get: |part| $crate::keys::Field::value(&part.$($field).+),
            set: |part, value, _| $crate::keys::Field::set(&mut part.$($field).+, value),
        })
    };
}

/// The lens of a field of an optional struct, which a value creates: `option!(Link, policer: rate_bps)`.
macro_rules! option {
    ($part:ident, $($option:ident).+: $field:tt) => {
        $crate::keys::Lens::$part($crate::keys::Access {
            get: |part| $crate::keys::Field::value(&part.$($option).+.as_ref()?.$field),
            set: |part, value, _| {
                $crate::keys::Field::set(&mut part.$($option).+.get_or_insert_default().$field, value);
            },
        })
    };
}

/// The lens of a field of some variants of an enum: `variant!(Link, queue, Queue::Red(red) => red.ecn)`.
macro_rules! variant {
    ($part:ident, $($field:ident).+, $($pattern:pat => $place:expr),+ $(,)?) => {
        $crate::keys::Lens::$part($crate::keys::Access {
            get: |part| match &part.$($field).+ {
                $($pattern => $crate::keys::Field::value(&$place),)+
                _ => None,
            },
            set: |part, value, _| match &mut part.$($field).+ {
                $($pattern => $crate::keys::Field::set(&mut $place, value),)+
                _ => {}
            },
        })
    };
}

/// Any other lens: how to get the value, and how to set it.
macro_rules! access {
    ($part:ident, $get:expr, $set:expr) => {
        $crate::keys::Lens::$part($crate::keys::Access { get: $get, set: $set })
    };
}

pub(crate) use {access, field, option, variant};

impl Key {
    /// A key that must be given.
    const fn new(
        section: Section,
        name: &'static str,
        kind: Kind,
        lens: Lens,
        meaning: &'static str,
    ) -> Self {
        Self {
            section,
            name,
            kind,
            least: 0,
            most: 1,
            default: DefaultValue::None,
            meaning,
            runs_on: RunsOn::Both,
            queues: &[],
            relations: &[],
            example: None,
            always_printed: false,
            lens,
        }
    }

    pub(crate) const fn top(name: &'static str, kind: Kind, lens: Lens, meaning: &'static str) -> Self {
        Self { always_printed: true, ..Self::new(Section::Top, name, kind, lens, meaning) }
    }

    pub(crate) const fn window(name: &'static str, kind: Kind, lens: Lens, meaning: &'static str) -> Self {
        Self { always_printed: true, ..Self::new(Section::Window, name, kind, lens, meaning) }
    }

    pub(crate) const fn link(name: &'static str, kind: Kind, lens: Lens, meaning: &'static str) -> Self {
        Self::new(Section::Link, name, kind, lens, meaning)
    }

    pub(crate) const fn flow(name: &'static str, kind: Kind, lens: Lens, meaning: &'static str) -> Self {
        Self::new(Section::Flow, name, kind, lens, meaning)
    }

    /// Its smallest and largest value, in base units; for text, in characters; for lists, in items.
    pub(crate) const fn range(self, least: u64, most: u64) -> Self {
        Self { least, most, ..self }
    }

    /// It need not be given; these words say what holds then.
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { default: DefaultValue::Words(default), ..self }
    }

    /// It need not be given; the field has a default.
    pub(crate) const fn optional(self) -> Self {
        Self { default: DefaultValue::OfField, ..self }
    }

    /// The testbed refuses it.
    pub(crate) const fn simulator_only(self) -> Self {
        Self { runs_on: RunsOn::Simulator, ..self }
    }

    /// The testbed refuses this word.
    pub(crate) const fn simulator_only_if(self, word: &'static str) -> Self {
        Self { runs_on: RunsOn::BothExcept(word), ..self }
    }

    /// Only these queues have it.
    pub(crate) const fn of_queues(self, queues: &'static [&'static str]) -> Self {
        Self { queues, ..self }
    }

    pub(crate) const fn related(self, relations: &'static [Relation]) -> Self {
        Self { relations, ..self }
    }

    /// What errors show as a value of it.
    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    pub(crate) const fn always_printed(self) -> Self {
        Self { always_printed: true, ..self }
    }
}

/// All keys, in the order of the canonical form.
pub fn all() -> impl Iterator<Item = &'static Key> {
    const GROUPS: &[&[Key]] = &[
        scenario::KEYS,
        link::KEYS,
        queue::KEYS,
        impairments::LINK_KEYS,
        flow::KEYS,
        traffic::KEYS,
        hosts::WINDOW_KEYS,
        impairments::FLOW_KEYS,
        hosts::KEYS,
        flow::LAST_KEYS,
    ];
    GROUPS.iter().copied().flatten()
}

/// The keys of one section.
pub(crate) fn of(section: Section) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.section == section)
}

/// The key of this name.
#[must_use]
pub fn find(section: Section, name: &str) -> Option<&'static Key> {
    of(section).find(|key| key.name == name)
}

/// The key of a flow that sets something which only the simulator has, if there is one: as it would be
/// written.
#[must_use]
pub fn simulator_only(flow: &Flow) -> Option<String> {
    let usual = Flow::new("", flow.cc.clone(), std::time::Duration::ZERO);
    of(Section::Flow).find_map(|key| {
        let Lens::Flow(field) = key.lens else { return None };
        let value = (field.get)(flow)?;
        match key.runs_on {
            RunsOn::Simulator => (Some(&value) != (field.get)(&usual).as_ref()).then(|| key.name.to_owned()),
            RunsOn::BothExcept(word) => {
                (value == Value::Word(word)).then(|| format!("{} = \"{word}\"", key.name))
            }
            RunsOn::Both => None,
        }
    })
}

impl Key {
    /// A value of this key, as people write it.
    #[must_use]
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Quantity(dimension) | Kind::Steps(dimension) => quantity::show(value, dimension),
            Kind::Buffer | Kind::Limit => quantity::show(value, Dimension::Size),
            Kind::Text | Kind::Trace | Kind::Sizes | Kind::Algorithm => format!("{value} characters"),
            Kind::Links => format!("{value} links"),
            Kind::Integer | Kind::Bool | Kind::Choice(_) | Kind::Parameters => value.to_string(),
        }
    }

    /// "10us to 10s"; empty where there is nothing to say.
    #[must_use]
    pub fn bounds(&self) -> String {
        match self.kind {
            Kind::Choice(words) => words.join(", "),
            Kind::Bool => "true, false".into(),
            Kind::Parameters => String::new(),
            Kind::Text | Kind::Trace | Kind::Sizes | Kind::Algorithm | Kind::Links => {
                format!("{} to {}", self.least, self.show(self.most))
            }
            _ => format!("{} to {}", self.show(self.least), self.show(self.most)),
        }
    }

    /// As a value of it is written in a file.
    pub(crate) fn written_example(&self) -> String {
        let quoted = |text: &str| format!("\"{text}\"");
        if let Some(example) = self.example {
            return example.to_owned();
        }
        match self.kind {
            Kind::Integer => "1".into(),
            Kind::Quantity(dimension) => quoted(dimension.example()),
            Kind::Steps(dimension) => quoted(&quantity::example_steps(dimension)),
            Kind::Bool => "true".into(),
            Kind::Links => "[\"link1\", \"link2\"]".into(),
            Kind::Sizes => quoted("websearch"),
            Kind::Trace => quoted("traces/lte.trace"),
            Kind::Buffer | Kind::Limit => quoted(Dimension::Size.example()),
            Kind::Algorithm => quoted("bbr1"),
            Kind::Text => quoted("..."),
            Kind::Choice(words) => quoted(words[0]),
            Kind::Parameters => "{ alpha = \"3ms\" }".into(),
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.section.path(self.name))
    }
}
