//! Every key that a scenario may have: the parser, the bounds, the suggestions and the reference page
//! (docs/reference/scenario.md) all read this one list.

use crate::conditions::{View, WHOLE_PPB};
use crate::quantity::{self, Dimension};

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
    /// A size or a multiple of the bandwidth-delay product.
    Buffer,
    /// The name of an algorithm.
    Algorithm,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A table of an algorithm's parameters.
    Parameters,
}

/// One key.
#[derive(Debug, Clone, Copy)]
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
    /// What holds without it, in words; `None`: it must be given.
    pub default: Option<&'static str>,
    /// What it means.
    pub meaning: &'static str,
}

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const DAY: u64 = 86_400 * S;
const TIME: Kind = Kind::Quantity(Dimension::Time);
const RATE: Kind = Kind::Quantity(Dimension::Rate);
const SIZE: Kind = Kind::Quantity(Dimension::Size);
const SHARE: Kind = Kind::Quantity(Dimension::Share);

/// A full-sized packet on the wire: 1500 bytes of IP and an Ethernet header. A smaller buffer passes nothing.
pub const PACKET_BYTES: u64 = 1514;
/// Flows of one scenario, groups expanded.
pub const MOST_FLOWS: u64 = 100_000;
/// Links on one way of a flow: an IP packet's time to live.
pub const MOST_HOPS: u64 = 255;
/// Points of the time series.
pub const MOST_POINTS: u64 = 1_000_000;
/// Points of the time series over all flows: about 2 GB with the files that hold them.
pub const MOST_FLOW_POINTS: u64 = 10_000_000;

const fn key(
    section: Section,
    name: &'static str,
    kind: Kind,
    (least, most): (u64, u64),
    default: Option<&'static str>,
    meaning: &'static str,
) -> Key {
    Key { section, name, kind, least, most, default, meaning }
}

use Section::{Flow, Link, Top, Window};

/// The list.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key(Top, "title", Kind::Text, (1, 200), None, "What is compared, in a few words."),
    key(Top, "why", Kind::Text, (0, 10_000), Some("empty"), "Why somebody should run it."),
    key(Top, "seed", Kind::Integer, (0, i64::MAX as u64), Some("1"),
        "Source of all randomness: the same seed gives the same simulation."),
    key(Top, "duration", TIME, (100 * MS, DAY), None, "Length of the run."),
    key(Top, "interval", TIME, (MS / 10, 3600 * S), Some("100ms, or a tenth of a run shorter than 1s"),
        "Distance of two points in the time series; at most a million points, and ten million over all flows."),
    key(Window, "from", TIME, (0, DAY), Some("20s, or a third of a run shorter than 60s"),
        "Metrics are taken from here ..."),
    key(Window, "to", TIME, (0, DAY), Some("the run's end"), "... to here."),
    key(Link, "name", Kind::Text, (1, 64), Some("`bottleneck` for the only link, else `link1`, `link2`, ..."),
        "Name in results."),
    key(Link, "rate", RATE, (1_000, 400_000_000_000), None,
        "Rate on the wire. A packet counts its IP length and 14 bytes of Ethernet header."),
    key(Link, "buffer", Kind::Buffer, (PACKET_BYTES, 16_000_000_000), None,
        "How much may wait, headers included; what comes on top is dropped. `1.5bdp` is 1.5 times this link's rate times \
         `bdp_rtt`."),
    key(Link, "bdp_rtt", TIME, (10_000, 10 * S), Some("the longest RTT among the flows"),
        "The delay in the bandwidth-delay product of a `buffer` in `bdp`."),
    key(Link, "rate_at", Kind::Steps(Dimension::Rate), (0, 400_000_000_000), Some("the rate never changes"),
        "Later rates; 0 is an outage, at the end of which what waits goes on."),
    key(Link, "policer_rate", RATE, (1_000, 400_000_000_000), Some("no policer"),
        "A token bucket before the queue drops what exceeds this rate on the wire and `policer_burst`."),
    key(Link, "policer_burst", SIZE, (PACKET_BYTES, 16_000_000_000), Some("must be given with `policer_rate`"),
        "What the bucket holds, and holds at the start."),
    key(Link, "loss", SHARE, (0, WHOLE_PPB), Some("0%"),
        "Share of the packets that are lost at random behind the queue, as by bit errors: each has used the link."),
    key(Link, "loss_burst", Kind::Integer, (1, 1_000_000), Some("losses are independent of each other"),
        "Losses come in bad periods of so many packets on average, with a good line between them (Gilbert's model)."),
    key(Link, "loss_in_burst", SHARE, (1, WHOLE_PPB), Some("100%"), "Share of the packets that a bad period loses."),
    key(Flow, "name", Kind::Text, (1, 64), Some("the RTT, such as `10ms`; `10ms-2` for the second of that name"),
        "Name in results. The flows of a group are called `NAME-1`, `NAME-2`, ..."),
    key(Flow, "cc", Kind::Algorithm, (1, 64), None,
        "Congestion control: a name that `fairpace algorithms` lists. On the testbed also `kernel:NAME`, one of the kernel's own."),
    key(Flow, "rtt", TIME, (10_000, 10 * S), None, "Round-trip time of the path, without queueing and transmission."),
    key(Flow, "start", TIME, (0, DAY), Some("0s"), "When it starts."),
    key(Flow, "stop", TIME, (0, DAY), Some("the run's end"), "When it stops."),
    key(Flow, "size", SIZE, (1, 1_000_000_000_000_000), Some("without end"),
        "What the application sends in all; its completion time is reported. The simulator sends whole packets of 1448 bytes."),
    key(Flow, "on", TIME, (MS, DAY), Some("always"),
        "The application has data for so long, then none for `off`, and so on from the start."),
    key(Flow, "off", TIME, (MS, DAY), Some("never"), "See `on`."),
    key(Flow, "write_rate", RATE, (1_000, 400_000_000_000), Some("as fast as it goes"),
        "The application writes at this mean rate, a chunk every `write_every`: a live stream. What cannot be sent yet waits."),
    key(Flow, "write_every", TIME, (MS, DAY), Some("1s"), "See `write_rate`."),
    key(Flow, "receive_buffer", SIZE, (1448, 16_000_000_000), Some("always large enough"),
        "The receiver's window: the sender never has more than this outstanding. Payload; whole packets of 1448 bytes count."),
    key(Flow, "rtt_at", Kind::Steps(Dimension::Time), (10_000, 10 * S), Some("the RTT never changes"),
        "Later round-trip times, as by a change of the route. Packets keep their order."),
    key(Flow, "reorder", SHARE, (1, WHOLE_PPB), Some("no packet is overtaken"),
        "Share of the data packets that take `reorder_delay` longer behind the links, so that others overtake them."),
    key(Flow, "reorder_delay", TIME, (1_000, 10 * S), Some("must be given with `reorder`"), "See `reorder`."),
    key(Flow, "ack_jitter", TIME, (0, 10 * S), Some("0s"),
        "Each ACK takes up to so much longer than half the RTT, uniformly at random; ACKs keep their order."),
    key(Flow, "ack_aggregation", TIME, (0, 10 * S), Some("0s"),
        "ACKs are held back and come together at multiples of this time, as over Wi-Fi or a cellular uplink."),
    key(Flow, "host_jitter", TIME, (0, 10 * S), Some("0s"),
        "The sending host gets round to an ACK up to so much later, uniformly at random and in order: the noise that a simulated \
         host has not."),
    key(Flow, "ack_loss", SHARE, (0, WHOLE_PPB), Some("0%"), "Share of the flow's ACKs that are lost at random."),
    key(Flow, "view", Kind::Choice(View::NAMES), (0, 0), Some("exact"),
        "What the simulator shows an algorithm that asks what was in flight when each packet was sent (BBRv2 and BBRv3): all that \
         the sender knows, or no more than a stock Linux `kernel` can tell. The testbed's kernel always shows the latter."),
    key(Flow, "count", Kind::Integer, (1, MOST_FLOWS), Some("1"), "How many such flows: a group."),
    key(Flow, "stagger", TIME, (0, DAY), Some("0s"), "In a group, each flow starts this much after the one before."),
    key(Flow, "set", Kind::Parameters, (0, 0), Some("the algorithm's defaults"),
        "Parameters of the algorithm, as in `set = { alpha = \"3ms\" }`; `fairpace algorithms` lists them."),
];

/// The key of this name.
#[must_use]
pub fn find(section: Section, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.section == section && key.name == name)
}

impl Key {
    /// A value of this key, as people write it.
    #[must_use]
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Quantity(dimension) | Kind::Steps(dimension) => quantity::show(value, dimension),
            Kind::Buffer => quantity::show(value, Dimension::Size),
            Kind::Text | Kind::Algorithm => format!("{value} characters"),
            Kind::Integer | Kind::Choice(_) | Kind::Parameters => value.to_string(),
        }
    }

    /// "10us to 10s"; empty where there is nothing to say.
    #[must_use]
    pub fn bounds(&self) -> String {
        match self.kind {
            Kind::Choice(words) => words.join(", "),
            Kind::Parameters => String::new(),
            Kind::Text | Kind::Algorithm => format!("{} to {}", self.least, self.show(self.most)),
            _ => format!("{} to {}", self.show(self.least), self.show(self.most)),
        }
    }

    fn kind_name(&self) -> String {
        match self.kind {
            Kind::Text => "text".into(),
            Kind::Integer => "whole number".into(),
            Kind::Quantity(dimension) => format!("{}: {}", &dimension.noun()[2..], dimension.unit_list()),
            Kind::Steps(dimension) => format!("steps, as in `{}`", quantity::example_steps(dimension)),
            Kind::Buffer => format!("size: {}; or bdp", Dimension::Size.unit_list()),
            Kind::Algorithm => "name of an algorithm".into(),
            Kind::Choice(_) => "word".into(),
            Kind::Parameters => "table".into(),
        }
    }
}

/// The reference of all keys, as Markdown tables.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let header = section.header();
        let title = if header.is_empty() { "At the top".to_owned() } else { format!("`{header}`") };
        text.push_str(&format!(
            "\n## {title}\n\n| key | kind, units | range | default | meaning |\n|---|---|---|---|---|\n"
        ));
        for key in KEYS.iter().filter(|key| key.section == section) {
            let default = key.default.unwrap_or("**must be given**");
            text.push_str(&format!(
                "| `{}` | {} | {} | {default} | {} |\n",
                key.name,
                key.kind_name(),
                key.bounds(),
                key.meaning
            ));
        }
    }
    text
}

/// The nearest of `known` to what was written, if it is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
