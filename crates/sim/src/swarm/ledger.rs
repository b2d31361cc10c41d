//! A ledger: an observer's accounts of every link, computed only from the times at which packets arrive and
//! leave.
//!
//! The accounts share no code with the meters of `fairpace-netem`, with which they are compared.

use std::collections::{BTreeMap, VecDeque};

use fairpace_results::observer::{ConnectionId, Content, EcnField, LinkEvent, Observer, Packet};
use fairpace_scenario::{Ecn, Link, Queue, Scenario};

/// Longest time in which a flow that must deliver may deliver nothing. After five timeouts in a row 31 s have
/// passed; each needs a packet that is lost or dropped.
pub(crate) const LONGEST_PAUSE_NS: u64 = 30_000_000_000;

fn is_data(packet: &Packet) -> bool {
    matches!(packet.content, Content::Data { .. } | Content::Datagram { .. })
}

/// Identifies a packet within its connection. A duplicate has the key of its original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    sent_ns: u64,
    bytes: u32,
    number: u64,
}

impl Key {
    fn of(packet: &Packet) -> Self {
        let number = match packet.content {
            Content::Data { seq: number, .. } | Content::Datagram { number } => number,
            Content::Syn | Content::HandshakeAck | Content::Ack(_) => u64::MAX,
        };
        Key { sent_ns: packet.sent_ns, bytes: packet.bytes, number }
    }
}

/// A flow at a link. Sums of bytes x ns cover the whole run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Use {
    /// Bytes that waited or were being transmitted, over time.
    pub(crate) inside_byte_ns: i128,
    /// Bytes that were being transmitted, over time: only packets that have left count, on a wire that never
    /// changes.
    pub(crate) service_byte_ns: f64,
    bytes: i128,
    /// Number of data packets that left and were not lost.
    pub(crate) data_pkts: u64,
    /// Numbers of data packets in the last [`LONGEST_PAUSE_NS`]: packets that left and were not lost, and
    /// packets that were lost or dropped.
    pub(crate) late_pkts: u64,
    pub(crate) late_missing_pkts: u64,
}

/// The account of a link.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) flows: Vec<Use>,
    /// Time when each packet at the link came, in order: by flow; where connections have queues of their own,
    /// by connection; in a dual queue, L4S packets apart.
    there: BTreeMap<(ConnectionId, bool), VecDeque<(Key, u64)>>,
    queues_connections: bool,
    queues_l4s: bool,
    /// Transmission time of a byte: see [`byte_ns`].
    pub(crate) byte_ns: Option<f64>,
    pub(crate) left_bytes: u64,
    /// True if a packet or its duplicate was dropped: they cannot be distinguished, so waiting times are
    /// unknown.
    pub(crate) mixes_copies: bool,
    /// Numbers of packets that went through, and of packets that were dropped or lost.
    passed_pkts: u64,
    missing_pkts: u64,
    /// Number of packets that left within the window, and the sum of their waiting times.
    pub(crate) window_pkts: u64,
    pub(crate) window_wait_ns: f64,
    pub(crate) longest_wait_ns: f64,
}

/// The accounts of all links.
pub(crate) struct Ledger {
    pub(crate) links: Vec<Account>,
    end_ns: u64,
    window_ns: (u64, u64),
    ecn: Vec<bool>,
    /// Failures, in words.
    pub(crate) wrong: Vec<String>,
}

/// Returns the transmission time of a byte on a wire of one rate; 0 with a token bucket; `None`: the time is
/// not constant.
pub(crate) fn byte_ns(link: &Link) -> Option<f64> {
    match (
        &link.trace,
        link.burst_bytes,
        link.rate_at.is_empty() && link.handover.is_none() && link.cellular.is_none(),
    ) {
        (None, Some(_), _) => Some(0.0),
        (None, None, true) => Some(8e9 / link.rate_bps as f64),
        _ => None,
    }
}

impl Account {
    /// Returns the packets at the link that may not overtake the arriving `packet`.
    fn beside(&mut self, packet: &Packet) -> &mut VecDeque<(Key, u64)> {
        let is_l4s = self.queues_l4s && matches!(packet.ecn, EcnField::Ect1 | EcnField::Ce);
        self.queue_of(packet, is_l4s)
    }

    /// Returns the queue of a packet that leaves or is dropped; the packet is one of the first two there. The
    /// packet may have been marked, so its ECN field does not say which of two queues it was in.
    fn before(&mut self, packet: &Packet) -> &mut VecDeque<(Key, u64)> {
        let key = Key::of(packet);
        let has = |queue: &VecDeque<(Key, u64)>| queue.iter().take(2).any(|(other, _)| *other == key);
        let is_l4s = self.queues_l4s && has(self.queue_of(packet, true));
        self.mixes_copies |= is_l4s && has(self.queue_of(packet, false));
        self.queue_of(packet, is_l4s)
    }

    fn queue_of(&mut self, packet: &Packet, is_l4s: bool) -> &mut VecDeque<(Key, u64)> {
        let index = if self.queues_connections { packet.connection.index } else { 0 };
        self.there.entry((ConnectionId { index, ..packet.connection }, is_l4s)).or_default()
    }

    /// Share of all packets that did not get through.
    pub(crate) fn loss(&self) -> f64 {
        self.missing_pkts as f64 / (self.missing_pkts + self.passed_pkts).max(1) as f64
    }
}

impl Ledger {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let account = |link: &Link| Account {
            flows: vec![Use::default(); scenario.flows.len()],
            byte_ns: byte_ns(link),
            queues_connections: matches!(link.queue, Queue::FqCodel(_)),
            queues_l4s: matches!(link.queue, Queue::DualPi2(_)),
            ..Account::default()
        };
        let (from, to) = scenario.window;
        Ledger {
            links: scenario.links.iter().map(account).collect(),
            end_ns: scenario.duration.as_nanos() as u64,
            window_ns: (from.as_nanos() as u64, to.as_nanos() as u64),
            ecn: scenario.flows.iter().map(|flow| flow.sending.ecn != Ecn::Off).collect(),
            wrong: Vec::new(),
        }
    }

    /// Counts the packets that are still at a link until the end of the run.
    pub(crate) fn close(&mut self) {
        for flow in self.links.iter_mut().flat_map(|link| &mut link.flows) {
            flow.inside_byte_ns += flow.bytes * i128::from(self.end_ns);
            flow.bytes = 0;
        }
    }

    fn came(&mut self, at: u64, link: usize, packet: &Packet) {
        let account = &mut self.links[link];
        account.beside(packet).push_back((Key::of(packet), at));
        let flow = &mut account.flows[packet.connection.flow as usize];
        flow.bytes += i128::from(packet.bytes);
        flow.inside_byte_ns -= i128::from(packet.bytes) * i128::from(at);
    }

    fn left(&mut self, at: u64, link: usize, packet: &Packet, is_lost: bool) {
        let account = &mut self.links[link];
        let (bytes, key) = (i128::from(packet.bytes), Key::of(packet));
        let first = account.before(packet).pop_front();
        let flow = &mut account.flows[packet.connection.flow as usize];
        let Some((_, came)) = first.filter(|(first, _)| *first == key) else {
            self.wrong
                .push(format!("link {link}: {packet:?} left at {at} ns, but the first one was {first:?}"));
            return;
        };
        if at > self.end_ns {
            return; // departures are reported early: this one is after the end
        }
        flow.bytes -= bytes;
        flow.inside_byte_ns += bytes * i128::from(at);
        let service_ns = account.byte_ns.unwrap_or(0.0) * f64::from(packet.bytes);
        flow.service_byte_ns += f64::from(packet.bytes) * service_ns;
        let wait_ns = (at - came) as f64 - service_ns;
        account.longest_wait_ns = account.longest_wait_ns.max(wait_ns);
        if (self.window_ns.0..self.window_ns.1).contains(&at) {
            account.window_pkts += 1;
            account.window_wait_ns += wait_ns;
        }
        account.left_bytes += u64::from(packet.bytes);
        account.passed_pkts += u64::from(!is_lost);
        account.missing_pkts += u64::from(is_lost);
        flow.data_pkts += u64::from(!is_lost && is_data(packet));
    }

    fn dropped(&mut self, at: u64, link: usize, packet: &Packet) {
        let account = &mut self.links[link];
        account.missing_pkts += 1;
        let there = account.before(packet);
        // the first one of all may be on the wire
        let alike = |place: &usize| there.get(*place).is_some_and(|(key, _)| *key == Key::of(packet));
        let (place, both) = ((0..2).find(alike), (0..2).all(|place| alike(&place)));
        account.mixes_copies |= both;
        let Some(place) = place else {
            self.wrong.push(format!("link {link}: {packet:?} was dropped at {at} ns, but was not first"));
            return;
        };
        account.before(packet).remove(place);
        let flow = &mut account.flows[packet.connection.flow as usize];
        flow.bytes -= i128::from(packet.bytes);
        flow.inside_byte_ns += i128::from(packet.bytes) * i128::from(at);
    }
}

impl Observer for Ledger {
    fn packet(&mut self, at: u64, link: u32, what: LinkEvent, packet: &Packet) {
        let link = link as usize;
        if packet.ecn != EcnField::NotEct && !self.ecn[packet.connection.flow as usize] {
            self.wrong.push(format!("link {link}: {packet:?} is ECN-capable, its flow is not"));
        }
        if is_data(packet) && (self.end_ns.saturating_sub(LONGEST_PAUSE_NS)..=self.end_ns).contains(&at) {
            let flow = &mut self.links[link].flows[packet.connection.flow as usize];
            match what {
                LinkEvent::Departed => flow.late_pkts += 1,
                LinkEvent::Lost | LinkEvent::Dropped | LinkEvent::Refused => flow.late_missing_pkts += 1,
                LinkEvent::Enqueued | LinkEvent::Marked => {}
            }
        }
        match what {
            LinkEvent::Enqueued => self.came(at, link, packet),
            LinkEvent::Departed => self.left(at, link, packet, false),
            LinkEvent::Lost => self.left(at, link, packet, true),
            LinkEvent::Dropped => self.dropped(at, link, packet),
            LinkEvent::Refused => self.links[link].missing_pkts += 1,
            LinkEvent::Marked => {}
        }
    }
}
