//! Every key that a scenario may have: the parser, the bounds, the suggestions and the reference page
//! (docs/reference/scenario.md) all read this one list.

use crate::conditions::{View, WHOLE_PPB};
use crate::hosts::Ecn;
use crate::links::Queue;
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
    /// A size, packets, or a multiple of the bandwidth-delay product.
    Buffer,
    /// A size or packets.
    Limit,
    /// `true` or `false`.
    Bool,
    /// A list of names of links.
    Links,
    /// A file, by its path from the folder of the scenario file.
    File,
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
const FREQUENCY: Kind = Kind::Quantity(Dimension::Frequency);
const YES_OR_NO: (u64, u64) = (0, 1);

/// A full-sized packet on the wire: 1500 bytes of IP and an Ethernet header. A smaller buffer passes nothing.
pub const PACKET_BYTES: u64 = 1514;
/// Flows of one scenario, groups expanded.
pub const MOST_FLOWS: u64 = 100_000;
/// Links on one way of a flow: an IP packet's time to live.
pub const MOST_HOPS: u64 = 255;
/// Links of one scenario.
pub const MOST_LINKS: u64 = 10_000;
/// Flows that the workloads of one scenario start on average.
pub const MOST_ARRIVALS: u64 = 10_000_000;
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
    key(Link, "from", Kind::Text, (1, 64), Some("no node"), "The node that it leads from. Nodes are there for being named."),
    key(Link, "to", Kind::Text, (1, 64), Some("no node"), "The node that it leads to: a link leads one way."),
    key(Link, "rate", RATE, (1_000, 400_000_000_000), None,
        "Rate on the wire. A packet counts its IP length and 14 bytes of Ethernet header. Left out with a `trace`."),
    key(Link, "trace", Kind::File, (1, 4096), Some("the rate is `rate`"),
        "Opportunities to deliver in place of a rate, in the format of Mahimahi: a line for each, with its time in ms, in order, at \
         which 1514 bytes may leave: a full packet with its Ethernet header (Mahimahi counts 1504 bytes for the same packet). They come \
         again after the last one's time. The rate, for a `buffer` in `bdp` too, is their mean."),
    key(Link, "burst", SIZE, (PACKET_BYTES, 16_000_000_000), Some("the rate is that of a wire"),
        "The rate is that of a token bucket that holds so much, and holds it at the start (a shaper): after a pause, so much \
         passes at once."),
    key(Link, "buffer", Kind::Buffer, (PACKET_BYTES, 16_000_000_000), None,
        "How much may wait, headers included; what comes on top is dropped. `100pkts` are 100 packets of any size; `1.5bdp` is \
         1.5 times this link's rate times `bdp_rtt`."),
    key(Link, "bdp_rtt", TIME, (10_000, 10 * S), Some("the longest RTT among the flows"),
        "The delay in the bandwidth-delay product of a `buffer` in `bdp`."),
    key(Link, "rate_at", Kind::Steps(Dimension::Rate), (0, 400_000_000_000), Some("the rate never changes"),
        "Later rates; 0 is an outage, at the end of which what waits goes on."),
    key(Link, "queue", Kind::Choice(Queue::NAMES), (0, 0), Some("fifo"),
        "Which packets wait, are dropped or marked: first in first out; a FIFO that marks above a `step`; random early detection by \
         the rules of Linux (`red`) or of Floyd and Jacobson 1993; CoDel (RFC 8289), FQ-CoDel (RFC 8290), PIE (RFC 8033)."),
    key(Link, "ecn", Kind::Bool, YES_OR_NO, Some("true for fq_codel, else false"),
        "Marks ECN-capable packets in place of dropping them."),
    key(Link, "mark_above", Kind::Limit, (1, 16_000_000_000), Some("must be given with `step`"),
        "An ECN-capable packet that finds more than this waiting is marked (K in RFC 8257)."),
    key(Link, "red_min", SIZE, (1, 4_000_000_000), Some("a third of `red_max`, as tc"),
        "Below this average backlog nothing is dropped early."),
    key(Link, "red_max", SIZE, (1, 4_000_000_000), Some("a quarter of `buffer`, or three times `red_min`, as tc"),
        "Above this average backlog everything is."),
    key(Link, "red_probability", SHARE, (1, WHOLE_PPB), Some("2%, as tc"),
        "The probability to be dropped at an average just below `red_max`."),
    key(Link, "red_burst", Kind::Integer, (1, 4_000_000), Some("(2 `red_min` + `red_max`) / 3 in full packets, as tc"),
        "Full packets that may arrive at once at an empty queue and not be dropped early; it sets the weight of the average (tc's `burst`, \
         with 1514 bytes for `avpkt`)."),
    key(Link, "red_gentle", Kind::Bool, YES_OR_NO, Some("false"),
        "From `red_max` to twice of it the probability grows to one."),
    key(Link, "target", TIME, (1_000, 10 * S), Some("5ms; 15ms for pie"),
        "The waiting time that is acceptable for good."),
    key(Link, "codel_interval", TIME, (1_000, 10 * S), Some("100ms"),
        "For how long `target` may be exceeded; about the longest RTT."),
    key(Link, "ce_threshold", TIME, (0, 10 * S), Some("none"),
        "An ECN-capable packet that waited for longer is marked, whatever CoDel does."),
    key(Link, "fq_buckets", Kind::Integer, (1, 65_536), Some("1024"), "Queues that connections are hashed to, also those of one workload."),
    key(Link, "fq_quantum", SIZE, (256, 1 << 20), Some("1514B"), "What a queue may send in its turn."),
    key(Link, "pie_update", TIME, (100_000, 10 * S), Some("15ms"),
        "From one computation of the probability to the next."),
    key(Link, "policer_rate", RATE, (1_000, 400_000_000_000), Some("no policer"),
        "A token bucket before the queue drops what exceeds this rate on the wire and `policer_burst`."),
    key(Link, "policer_burst", SIZE, (PACKET_BYTES, 16_000_000_000), Some("must be given with `policer_rate`"),
        "What the bucket holds, and holds at the start."),
    key(Link, "loss", SHARE, (0, WHOLE_PPB), Some("0%"),
        "Share of the packets that are lost at random behind the queue, as by bit errors: each has used the link."),
    key(Link, "loss_burst", Kind::Integer, (1, 1_000_000), Some("losses are independent of each other"),
        "Losses come in bad periods of so many packets on average, with a good line between them (Gilbert's model)."),
    key(Link, "loss_in_burst", SHARE, (1, WHOLE_PPB), Some("100%"), "Share of the packets that a bad period loses."),
    key(Link, "loss_outside_burst", SHARE, (0, WHOLE_PPB), Some("0%"),
        "Share of the packets that the good line between them loses (Elliott's model); less than `loss`."),
    key(Link, "delay", TIME, (0, 10 * S), Some("0s"), "Propagation behind the link: part of the RTT of each flow that takes it."),
    key(Link, "jitter", TIME, (0, 10 * S), Some("0s"),
        "Each packet takes up to so much longer behind the link, uniformly at random."),
    key(Link, "reorders", Kind::Bool, YES_OR_NO, Some("false"),
        "Packets may overtake each other by their `jitter`; otherwise they keep their order."),
    key(Link, "duplicate", SHARE, (0, WHOLE_PPB), Some("0%"), "Share of the packets that arrive twice."),
    key(Flow, "name", Kind::Text, (1, 64), Some("the RTT, such as `10ms`; `10ms-2` for the second of that name"),
        "Name in results. The flows of a group are called `NAME-1`, `NAME-2`, ..."),
    key(Flow, "cc", Kind::Algorithm, (1, 64), None,
        "Congestion control: a name that `fairpace algorithms` lists. On the testbed also `kernel:NAME`, one of the kernel's own."),
    key(Flow, "rtt", TIME, (10_000, 10 * S), None, "Round-trip time of the path, without queueing and transmission."),
    key(Flow, "route", Kind::Links, (1, MOST_HOPS), Some("all links that no flow's `reverse` names, in the order of the file"),
        "The links that its data takes, in order."),
    key(Flow, "from", Kind::Text, (1, 64), Some("no node"),
        "In place of `route`: the node that its data leaves from. It takes the links with the least `delay` in all; of several such \
         ways the one with the fewest links; of these the one whose links come first in the file."),
    key(Flow, "to", Kind::Text, (1, 64), Some("no node"), "The node that its data goes to."),
    key(Flow, "reverse", Kind::Links, (0, MOST_HOPS), Some("none: its ACKs meet no queue"),
        "The links that its ACKs take, in order."),
    key(Flow, "access_delay", TIME, (0, 10 * S), Some("0s"),
        "Propagation from the sender to the first link: part of `rtt`, as the `delay` of links is. Half of what is left lies \
         behind the last link, half on the way back."),
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
    key(Flow, "response", SIZE, (1, 1_000_000_000_000_000), Some("no requests"),
        "The application answers requests with so much, one after the other; the first comes at the start."),
    key(Flow, "think", TIME, (0, DAY), Some("0s"),
        "From the arrival of a whole `response` to the next request, which then takes its way to the sender."),
    key(Flow, "arrivals", FREQUENCY, (1, 1_000_000_000), Some("it is one flow"),
        "It is a workload: flows arrive from `start` to `stop` at random, so many per second on average (a Poisson process)."),
    key(Flow, "sizes", Kind::File, (1, 4096), Some("must be given with `arrivals`"),
        "What each flow of a workload sends: `websearch`, `datamining`, `pareto`, or a file with two columns, bytes and the share (0 \
         to 1) of sizes up to there, both growing; sizes are spread evenly between two lines."),
    key(Flow, "receive_buffer", SIZE, (1448, 16_000_000_000), Some("always large enough"),
        "The receiver's window: the sender never has more than this outstanding. Payload; whole packets of 1448 bytes count."),
    key(Flow, "receive_buffer_max", SIZE, (1 << 16, 16_000_000_000), Some("always large enough"),
        "The receiver's window is tuned by the receiver, as Linux does: from 64 KiB up to so much payload."),
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
    key(Flow, "ecn", Kind::Choice(Ecn::NAMES), (0, 0), Some("off"),
        "ECN: not used; `classic` (RFC 3168: a mark is answered like a loss, once per round trip); or with the exact echo of marks of \
         `dctcp` (RFC 8257)."),
    key(Flow, "sack", Kind::Bool, YES_OR_NO, Some("true"),
        "Selective acknowledgments (RFC 2018). Without: NewReno (RFC 6582), without `rack` and `tlp`."),
    key(Flow, "rack", Kind::Bool, YES_OR_NO, Some("true"),
        "Losses are found by time (RFC 8985). Without: by three duplicates (RFC 6675)."),
    key(Flow, "tlp", Kind::Bool, YES_OR_NO, Some("true"), "Tail loss probes (RFC 8985)."),
    key(Flow, "frto", Kind::Bool, YES_OR_NO, Some("true"), "Detection of needless timeouts (RFC 5682)."),
    key(Flow, "undo", Kind::Bool, YES_OR_NO, Some("true"), "Reductions that turn out to have been needless are taken back."),
    key(Flow, "prr", Kind::Bool, YES_OR_NO, Some("true"),
        "Proportional rate reduction (RFC 9937), for algorithms that leave reductions to the host. Without: cwnd falls at once."),
    key(Flow, "idle_restart", Kind::Bool, YES_OR_NO, Some("true"), "cwnd decays while nothing is sent (RFC 2861)."),
    key(Flow, "tso", Kind::Bool, YES_OR_NO, Some("true"),
        "Packets leave in bursts that are sized by the pacing rate. Without: one by one."),
    key(Flow, "pacing", Kind::Bool, YES_OR_NO, Some("as the algorithm asks"),
        "Whether it paces, whatever the algorithm asks for."),
    key(Flow, "initial_cwnd", Kind::Integer, (1, 1_000), Some("10"), "Initial window, packets (RFC 6928)."),
    key(Flow, "ack_every", Kind::Integer, (1, 1_000), Some("2"), "Full packets per ACK."),
    key(Flow, "delayed_ack", Kind::Bool, YES_OR_NO, Some("true"),
        "The receiver waits for `ack_every` packets, for 40 ms and more. Without: it acknowledges each at once."),
    key(Flow, "sack_compression", Kind::Bool, YES_OR_NO, Some("true"),
        "The receiver holds SACKs back for up to 1 ms after three duplicate ACKs, as Linux does."),
    key(Flow, "gro", TIME, (0, S), Some("0s"),
        "Packets that arrive within this time of the first of them are received as one, up to 64 kB."),
    key(Flow, "ack_delay", TIME, (0, 10 * S), Some("0s"),
        "The receiver holds every ACK back for so long: a path seems longer than it is."),
    key(Flow, "ack_delay_at", Kind::Steps(Dimension::Time), (0, 10 * S), Some("`ack_delay` never changes"), "Later values of `ack_delay`."),
    key(Flow, "view", Kind::Choice(View::NAMES), (0, 0), Some("exact"),
        "What the simulator shows an algorithm that asks what was in flight when each packet was sent (BBRv2 and BBRv3): all that \
         the sender knows, or no more than a stock Linux `kernel` can tell. The testbed's kernel always shows the latter."),
    key(Flow, "count", Kind::Integer, (1, MOST_FLOWS), Some("1"), "How many such flows: a group."),
    key(Flow, "stagger", TIME, (0, DAY), Some("0s"), "In a group, each flow starts this much after the one before."),
    key(Flow, "set", Kind::Parameters, (0, 0), Some("the algorithm's defaults"),
        "Parameters of the algorithm, as in `set = { alpha = \"3ms\" }`; `fairpace algorithms` lists them."),
];

const EARLY: &[&str] = &["red", "red_floyd"];
const CODEL: &[&str] = &["codel", "fq_codel"];

/// The keys of `[[link]]` that only some queues have, and which.
const OF_QUEUES: &[(&str, &[&str])] = &[
    ("ecn", &["red", "red_floyd", "codel", "fq_codel", "pie"]),
    ("mark_above", &["step"]),
    ("red_min", EARLY),
    ("red_max", EARLY),
    ("red_probability", EARLY),
    ("red_burst", EARLY),
    ("red_gentle", &["red_floyd"]),
    ("target", &["codel", "fq_codel", "pie"]),
    ("codel_interval", CODEL),
    ("ce_threshold", CODEL),
    ("fq_buckets", &["fq_codel"]),
    ("fq_quantum", &["fq_codel"]),
    ("pie_update", &["pie"]),
];

/// The keys that only some queues have, and the names of these.
pub(crate) fn of_queues() -> impl Iterator<Item = (&'static Key, &'static [&'static str])> {
    OF_QUEUES.iter().filter_map(|(name, queues)| Some((find(Section::Link, name)?, *queues)))
}

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
            Kind::Buffer | Kind::Limit => quantity::show(value, Dimension::Size),
            Kind::Text | Kind::File | Kind::Algorithm => format!("{value} characters"),
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
            Kind::Text | Kind::File | Kind::Algorithm | Kind::Links => {
                format!("{} to {}", self.least, self.show(self.most))
            }
            _ => format!("{} to {}", self.show(self.least), self.show(self.most)),
        }
    }

    fn kind_name(&self) -> String {
        match self.kind {
            Kind::Text => "text".into(),
            Kind::Integer => "whole number".into(),
            Kind::Quantity(dimension) => format!("{}: {}", dimension.name(), dimension.unit_list()),
            Kind::Steps(dimension) => format!("steps, as in `{}`", quantity::example_steps(dimension)),
            Kind::Buffer => format!("size: {}; or pkts, bdp", Dimension::Size.unit_list()),
            Kind::Limit => format!("size: {}; or pkts", Dimension::Size.unit_list()),
            Kind::Bool => "true or false".into(),
            Kind::Links => "list of names of links".into(),
            Kind::File => "file, by its path from the scenario file's folder".into(),
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
            let queues = of_queues().find(|(of, _)| std::ptr::eq(*of, key));
            let only = queues.map(|(_, queues)| format!("For {}. ", queues.join(", "))).unwrap_or_default();
            text.push_str(&format!(
                "| `{}` | {} | {} | {default} | {only}{} |\n",
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
