//! The declaration of one scenario key: its name, kind, range, default and meaning, and where it works.
//! `row.rs` connects it with the field of a struct.

use crate::quantity::{self, BurstLength, Dimension};

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

    /// Its name: `link`; empty for the top.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.header().trim_matches(['[', ']'])
    }

    /// The key's name with its section: `link.rate`.
    pub(crate) fn path(self, key: &str) -> String {
        match self {
            Self::Top => key.to_owned(),
            _ => format!("{}.{key}", self.name()),
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
    /// A number of packets, or a time.
    BurstLength,
    /// `true` or `false`.
    Bool,
    /// A list of names of links.
    Links,
    /// A list of packets, by kind and number.
    Drops,
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
/// A time as the kind of a key; likewise a rate, a size and a share.
pub(crate) const TIME: Kind = Kind::Quantity(Dimension::Time);
pub(crate) const RATE: Kind = Kind::Quantity(Dimension::Rate);
pub(crate) const SIZE: Kind = Kind::Quantity(Dimension::Size);
pub(crate) const SHARE: Kind = Kind::Quantity(Dimension::Share);

/// Flows of one scenario, groups expanded.
pub(crate) const MOST_FLOWS: u64 = 100_000;
/// Links on one route: the largest time to live of an IP packet (RFC 791).
pub(crate) const MOST_HOPS: u64 = 255;
/// Entries of a flow's `drop`.
pub(crate) const MOST_DROPS: u64 = 1_000;
/// Links of one scenario.
pub(crate) const MOST_LINKS: u64 = 10_000;
/// Flows that the workloads of one scenario start on average.
pub(crate) const MOST_ARRIVALS: u64 = 10_000_000;
/// Points of the time series.
pub(crate) const MOST_POINTS: u64 = 1_000_000;
/// Points of the time series over all flows: about 2 GB with the files that hold them.
pub(crate) const MOST_FLOW_POINTS: u64 = 10_000_000;

/// Where a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// In the simulator and on the testbed.
    Both,
    /// In the simulator; the testbed refuses it.
    Simulator,
    /// In the simulator and on the testbed, except for these words, which the testbed refuses.
    BothExcept(&'static [&'static str]),
}

/// What holds without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// Nothing: the key must be given.
    None,
    /// What these words say; it depends on other keys, or is the absence of something.
    Words(&'static str),
    /// The value that the field of the key has in a new scenario, link or flow: [`Key::default_text`].
    OfField,
}

/// How a key is related to another one of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The key has no effect without this one.
    Needs(&'static str),
    /// Both cannot be given.
    Excludes(&'static str),
    /// The key has no effect if this one is false; and why.
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
    /// Smallest value, in the stored unit (ns, bit/s, B); for text, characters.
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
    /// What it needs of other keys of its part, and which it excludes.
    pub(crate) relations: &'static [Relation],
    /// A value as errors show it; `None`: one that follows from the kind.
    pub(crate) example: Option<&'static str>,
    /// The queue that cannot be without it.
    pub(crate) needed_by_queue: Option<&'static str>,
    /// The key that takes its place: one of them must be given.
    pub(crate) unless: Option<&'static str>,
    /// A text of several lines.
    pub(crate) multiline: bool,
    /// It decides the outcome: the scenario's hash covers it.
    pub(crate) hashed: bool,
    /// Printed in the canonical form even at its default.
    pub(crate) always_printed: bool,
}

impl Key {
    /// A key that must be given.
    pub(crate) const fn new(section: Section, name: &'static str, kind: Kind, meaning: &'static str) -> Self {
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
            needed_by_queue: None,
            unless: None,
            multiline: false,
            hashed: true,
            always_printed: false,
        }
    }

    /// A value of this key, as people write it.
    #[must_use]
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Quantity(dimension) | Kind::Steps(dimension) => quantity::show(value, dimension),
            Kind::Buffer | Kind::Limit => quantity::show(value, Dimension::Size),
            Kind::Text | Kind::Trace | Kind::Sizes | Kind::Algorithm => format!("{value} characters"),
            Kind::Links => format!("{value} links"),
            Kind::Drops => format!("{value} entries"),
            Kind::Integer | Kind::BurstLength | Kind::Bool | Kind::Choice(_) | Kind::Parameters => {
                value.to_string()
            }
        }
    }

    /// "10us to 10s"; empty where there is nothing to say.
    #[must_use]
    pub fn bounds(&self) -> String {
        match self.kind {
            Kind::Choice(words) => words.join(", "),
            Kind::Bool => "true, false".into(),
            Kind::Parameters => String::new(),
            Kind::BurstLength => format!("{} to {} or {}", self.least, self.most, BurstLength::time_range()),
            Kind::Text | Kind::Trace | Kind::Sizes | Kind::Algorithm | Kind::Links | Kind::Drops => {
                format!("{} to {}", self.least, self.show(self.most))
            }
            _ => format!("{} to {}", self.show(self.least), self.show(self.most)),
        }
    }

    /// An example of its value, as a file has it.
    pub(crate) fn written_example(&self) -> String {
        let quoted = |text: &str| format!("\"{text}\"");
        if let Some(example) = self.example {
            return example.to_owned();
        }
        match self.kind {
            Kind::Integer | Kind::BurstLength => "1".into(),
            Kind::Quantity(dimension) => quoted(dimension.example()),
            Kind::Steps(dimension) => quoted(&quantity::example_steps(dimension)),
            Kind::Bool => "true".into(),
            Kind::Links => "[\"link1\", \"link2\"]".into(),
            Kind::Drops => "[\"data 9-10\", \"syn 1\"]".into(),
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
