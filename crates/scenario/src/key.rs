//! The declaration of a scenario key: its name, kind, range, default and meaning, and where it works.
//! `row.rs` connects it with the field of a struct.

use crate::quantity::{self, BurstLength, Dimension};

/// The part of a file in which a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The top of the file.
    Top,
    /// The table `[window]`.
    Window,
    /// A table `[[link]]`.
    Link,
    /// A table `[[flow]]`.
    Flow,
}

impl Section {
    /// All sections, in the order of a file.
    pub const ALL: [Self; 4] = [Self::Top, Self::Window, Self::Link, Self::Flow];

    /// The section's header as written in a file; empty for the top.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Window => "[window]",
            Self::Link => "[[link]]",
            Self::Flow => "[[flow]]",
        }
    }

    /// The section's name: `link`; empty for the top.
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

/// The kind of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Free text.
    Text,
    /// A whole number, without a unit.
    Integer,
    /// A number with its unit.
    Quantity(Dimension),
    /// Steps: times, each with the value that holds from then on.
    Steps(Dimension),
    /// A buffer: a size, packets, a multiple of the bandwidth-delay product, or a time.
    Buffer,
    /// A size or packets.
    Limit,
    /// The length of a burst: a number of packets, or a time.
    BurstLength,
    /// `true` or `false`.
    Bool,
    /// A list of names of links.
    Links,
    /// A list of packets, by kind and number.
    Drops,
    /// A trace: the path of its file from the folder of the scenario file.
    Trace,
    /// A table of times and values: the path of its file from the folder of the scenario file.
    TimeTable(Dimension),
    /// A distribution of sizes: built in, or the path of its file from the folder of the scenario file.
    Sizes,
    /// The name of an algorithm.
    Algorithm,
    /// A choice of one of these words.
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
/// The kind of a key whose value is a time; likewise a rate, a size and a share below.
pub(crate) const TIME: Kind = Kind::Quantity(Dimension::Time);
pub(crate) const RATE: Kind = Kind::Quantity(Dimension::Rate);
pub(crate) const SIZE: Kind = Kind::Quantity(Dimension::Size);
pub(crate) const SHARE: Kind = Kind::Quantity(Dimension::Share);

/// Most flows of a scenario, groups expanded.
pub(crate) const MOST_FLOWS: u64 = 100_000;
/// Most links on a route: the largest time to live of an IP packet (RFC 791).
pub(crate) const MOST_HOPS: u64 = 255;
/// Most entries of a flow's `drop`.
pub(crate) const MOST_DROPS: u64 = 1_000;
/// Most links of a scenario.
pub(crate) const MOST_LINKS: u64 = 10_000;
/// Most flows that the workloads of a scenario start on average.
pub(crate) const MOST_ARRIVALS: u64 = 10_000_000;
/// Most points of the time series.
pub(crate) const MOST_POINTS: u64 = 1_000_000;
/// Most points of the time series over all flows: about 2 GB with the files that hold them.
pub(crate) const MOST_FLOW_POINTS: u64 = 10_000_000;

/// The targets on which a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// The simulator and the testbed.
    Both,
    /// The simulator; the testbed refuses the key.
    Simulator,
    /// The simulator and the testbed. The testbed refuses these words as values.
    BothExcept(&'static [&'static str]),
}

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// No default: the key must be given.
    None,
    /// A default that these words describe: it depends on other keys, or is the absence of something.
    Words(&'static str),
    /// The value that the field of the key has in a new scenario, link or flow: [`Key::default_text`].
    OfField,
}

/// A relation of a key to another key of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The key has no effect without this one.
    Needs(&'static str),
    /// The key and this one cannot both be given.
    Excludes(&'static str),
    /// The key has no effect if this other key is false, and the reason.
    NeedsTrue(&'static str, &'static str),
}

/// The declaration of a key.
#[derive(Clone, Copy)]
pub struct Key {
    /// The section in which the key stands.
    pub section: Section,
    /// The key's name as written.
    pub name: &'static str,
    /// The kind of the key's value.
    pub kind: Kind,
    /// Smallest value, in the stored unit (ns, bit/s, B); for text, least number of characters.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// The key's default.
    pub default: DefaultValue,
    /// The meaning of the key.
    pub meaning: &'static str,
    /// The targets on which the key works.
    pub runs_on: RunsOn,
    /// The queues that have the key; empty: the key does not depend on the queue.
    pub queues: &'static [&'static str],
    /// Relations of the key to other keys of its part: those that it needs and those that it excludes.
    pub(crate) relations: &'static [Relation],
    /// The example value that errors show; `None`: an example that follows from the kind.
    pub(crate) example: Option<&'static str>,
    /// The queue that needs the key.
    pub(crate) needed_by_queue: Option<&'static str>,
    /// The key that may be given instead: one of the two keys must be given.
    pub(crate) unless: Option<&'static str>,
    /// True if the value is a text of several lines.
    pub(crate) multiline: bool,
    /// True if the value decides the outcome: the scenario's hash covers it.
    pub(crate) hashed: bool,
    /// True if the canonical form has the key even at its default.
    pub(crate) always_printed: bool,
}

impl Key {
    /// Declares a key that must be given.
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

    /// Writes a value of this key, as in a scenario file.
    #[must_use]
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Quantity(dimension) | Kind::Steps(dimension) => quantity::show(value, dimension),
            Kind::Buffer | Kind::Limit => quantity::show(value, Dimension::Size),
            Kind::Text | Kind::Trace | Kind::TimeTable(_) | Kind::Sizes | Kind::Algorithm => {
                format!("{value} characters")
            }
            Kind::Links => format!("{value} links"),
            Kind::Drops => format!("{value} entries"),
            Kind::Integer | Kind::BurstLength | Kind::Bool | Kind::Choice(_) | Kind::Parameters => {
                value.to_string()
            }
        }
    }

    /// The range in words, such as "10us to 10s"; empty for a key without range.
    #[must_use]
    pub fn bounds(&self) -> String {
        match self.kind {
            Kind::Choice(words) => words.join(", "),
            Kind::Bool => "true, false".into(),
            Kind::Parameters => String::new(),
            Kind::BurstLength => format!("{} to {} or {}", self.least, self.most, BurstLength::time_range()),
            Kind::Text
            | Kind::Trace
            | Kind::TimeTable(_)
            | Kind::Sizes
            | Kind::Algorithm
            | Kind::Links
            | Kind::Drops => format!("{} to {}", self.least, self.show(self.most)),
            _ => format!("{} to {}", self.show(self.least), self.show(self.most)),
        }
    }

    /// An example of the key's value, as in a scenario file.
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
            Kind::TimeTable(_) => quoted("traces/table.txt"),
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
