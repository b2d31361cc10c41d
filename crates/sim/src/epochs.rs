//! Epochs of conservative parallel simulation, on one thread: all senders, then all links, then all
//! receivers.
//!
//! The treatment of a packet by a link has no effect on any host before the packet has arrived. So for as
//! long as the shortest path from a link to a receiver takes (the lookahead), connections cannot affect each
//! other (Chandy and Misra 1979, Fujimoto 1990). An epoch is at most that long. Each connection runs for the
//! whole epoch at once, while its memory is in the nearest cache; then the links take all segments in the
//! order of time; then each receiver takes the segments that arrive. See
//! docs/decisions/0003-lookahead-epochs.md.
//!
//! Results do not depend on where epochs begin and end. Tests compare them with the results of one event
//! after the other.

use fairpace_netem::{Fate, Link, Nanos, Packet, Propagation, Transit};
use fairpace_results::observer::Observer;
use fairpace_tcp::prefetch;

use crate::connection::{Connection, Dispatch};
use crate::event_queue::NEVER;
use crate::flow::Flow;
use crate::header::{EpochSegment, Header, arriving_ecn, ecn, segment_bytes};
use crate::simulation::{FirstLink, NO_LINK, Simulation};

/// Target number of packets per epoch, at 32 bytes each. With 500 connections, each then sends about 130
/// packets in a row. Shorter epochs lose part of the speed; twice as long epochs gain little (decision 3).
const TARGET_PKTS: usize = 65_536;
/// Distance of the prefetched burst: a link prefetches the segments of the burst this number of bursts ahead.
/// Segments are stored by slot, but links take them by time; eight bursts are a few hundred instructions.
const AHEAD: usize = 8;
/// Value of [`EpochSegment::leaves`] for a segment that its link drops or loses.
const DROPPED: Nanos = NEVER - 1;

/// The epochs of a simulation.
#[derive(Default)]
pub(crate) struct Epochs {
    /// Length of the longest possible epoch, ns.
    pub(crate) lookahead: Nanos,
    /// Length of the next epoch, ns, unless a boundary ends it earlier. It is halved or doubled so that an
    /// epoch has about [`TARGET_PKTS`] packets.
    pub(crate) span: Nanos,
    /// The segments of all connections in an epoch, one connection after the other.
    segments: Vec<EpochSegment>,
    bursts: Vec<Burst>,
    turns: Vec<Turn>,
    /// The bursts in the order of time.
    order: Vec<Key>,
}

/// The lookahead of a simulation, ns: the shortest time from a link to a receiver. `None` if connections
/// cannot run in epochs. They can if the first hop of every flow's data is a link with a fast path, its ACKs
/// take no links, and no flow is a workload or has datagrams, whose lengths a segment does not have.
pub(crate) fn lookahead<O: Observer>(simulation: &Simulation<O>) -> Option<Nanos> {
    let has_epochs = |(flow, first): (&Flow, &FirstLink)| {
        let is_plain = flow.workload.is_none() && !flow.has_datagrams;
        first.index != NO_LINK && !flow.acks_take_links && is_plain
    };
    if !simulation.flows.iter().zip(&simulation.first_links).all(has_epochs) {
        return None;
    }
    let paths = simulation.network.paths.iter().zip(&simulation.first_links);
    let times = paths.map(|(path, first)| {
        simulation.fast_path.behind[first.index as usize].least_ns() + path.own.least_to_receiver_ns()
    });
    times.min().filter(|ns| *ns > 0)
}

/// The segments that a connection sends at one time: from the end of the burst before up to this index.
#[derive(Debug, Clone, Copy)]
struct Burst {
    at: Nanos,
    end: usize,
}

/// The bursts that a connection sends in an epoch: from the end of the turn before up to this index.
#[derive(Debug, Clone, Copy)]
struct Turn {
    slot: u32,
    end: usize,
}

/// A burst's place in the order of time: time, slot, first segment and the segment after its last, 32 bits
/// each. Bursts at the same time are in the order of their slots, as in the event queue; bursts of one slot
/// in the order in which they were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    /// Length of the longest epoch that a key can hold, ns.
    const LONGEST_NS: Nanos = u32::MAX as Nanos;

    /// Returns the key of a burst; `after_ns` is the time since the epoch began.
    #[inline]
    fn new(after_ns: u32, slot: u32, begin: u32, end: u32) -> Self {
        Key((u128::from(after_ns) << 96)
            | (u128::from(slot) << 64)
            | (u128::from(begin) << 32)
            | u128::from(end))
    }

    #[inline]
    fn parts(self) -> (u32, u32, u32, u32) {
        ((self.0 >> 96) as u32, (self.0 >> 64) as u32, (self.0 >> 32) as u32, self.0 as u32)
    }
}

impl Epochs {
    /// Returns epochs of at most `lookahead`.
    pub(crate) fn new(lookahead: Nanos) -> Self {
        let lookahead = lookahead.min(Key::LONGEST_NS);
        Epochs { lookahead, span: lookahead, ..Epochs::default() }
    }

    /// Runs all connections from `from`, the time of the first event, to the end of the epoch, which is at
    /// `limit` at the latest. Returns the number of events.
    pub(crate) fn run<O: Observer>(
        &mut self,
        simulation: &mut Simulation<O>,
        from: Nanos,
        limit: Nanos,
    ) -> u32 {
        let until = from.saturating_add(self.span).min(limit);
        let events = self.run_senders(simulation, from, until);
        self.run_links(simulation, from);
        self.run_receivers(simulation);
        self.adapt(self.segments.len());
        self.segments.clear();
        events
    }

    /// Runs each connection up to `until`.
    fn run_senders<O: Observer>(&mut self, simulation: &mut Simulation<O>, from: Nanos, until: Nanos) -> u32 {
        let Epochs { segments, bursts, turns, order, .. } = self;
        bursts.clear();
        turns.clear();
        order.clear();
        let mut events = 0;
        loop {
            let (mut at, index) = simulation.queue.first();
            if at >= until {
                return events;
            }
            // also the index of its flow, since there are no workloads
            let slot = index - simulation.first_connection;
            let (connection, flow) = (&mut simulation.connections[slot], &mut simulation.flows[slot]);
            let (slot, bursts_before) = (slot as u32, bursts.len());
            while at < until {
                let before = segments.len();
                let mut dispatch = Dispatch::Epoch(segments);
                connection.run(at, flow, &mut dispatch, &mut simulation.packets, &mut simulation.observer);
                let end = segments.len();
                if end > before {
                    order.push(Key::new((at - from) as u32, slot, before as u32, end as u32));
                    bursts.push(Burst { at, end });
                }
                events += 1;
                at = connection.next_event();
            }
            simulation.queue.set(index, at);
            if bursts.len() > bursts_before {
                turns.push(Turn { slot, end: bursts.len() });
            }
        }
    }

    /// Takes all segments over their links, in the order of time.
    fn run_links<O: Observer>(&mut self, simulation: &mut Simulation<O>, from: Nanos) {
        let Epochs { segments, order, .. } = self;
        order.sort_unstable();
        for (n, key) in order.iter().enumerate() {
            if let Some((.., begin, _)) = order.get(n + AHEAD).map(|key| key.parts()) {
                prefetch::one(&segments[begin as usize]);
            }
            let (after_ns, slot, begin, end) = key.parts();
            let FirstLink { index, data_bytes } = simulation.first_links[slot as usize];
            let sent = &mut segments[begin as usize..end as usize];
            let Some(link) = simulation.fast_path.link(&mut simulation.network, index as usize) else {
                return;
            };
            let now = from + Nanos::from(after_ns);
            if !transit_burst(now, slot, data_bytes, sent, link.link, link.behind) {
                transit_each(now, slot, data_bytes, sent, link.link, link.behind);
            }
        }
    }

    /// Hands the segments to their receivers.
    fn run_receivers<O: Observer>(&mut self, simulation: &mut Simulation<O>) {
        let (mut burst, mut begin) = (0, 0);
        for turn in &self.turns {
            let index = turn.slot as usize;
            let Connection { slot, receiver_side, .. } = &mut simulation.connections[index];
            let (flow, observer) = (&mut simulation.flows[index], &mut simulation.observer);
            for &Burst { at, end } in &self.bursts[burst..turn.end] {
                for &EpochSegment { segment, leaves } in &self.segments[begin..end] {
                    match leaves {
                        DROPPED => flow.counts.dropped_pkts += 1,
                        // A link that is down for good never delivers it: it counts as arrived, for the
                        // balance of packets.
                        NEVER => flow.counts.arrived_pkts += 1,
                        _ => {
                            let left = Header::left_at(&segment, at);
                            receiver_side.receive(slot, leaves, segment, left, flow, observer);
                        }
                    }
                }
                begin = end;
            }
            burst = turn.end;
            simulation.queue.set_earlier(simulation.first_connection + index, slot.next_event());
        }
    }

    /// Chooses the length of the next epoch.
    fn adapt(&mut self, sent_pkts: usize) {
        if sent_pkts > TARGET_PKTS {
            self.span = (self.span / 2).max(1);
        } else if sent_pkts < TARGET_PKTS / 4 {
            self.span = self.span.saturating_mul(2).min(self.lookahead);
        }
    }
}

/// Takes a burst over its link as one, if the link can only delay it. False: the burst has not been taken.
#[inline]
fn transit_burst(
    now: Nanos,
    flow: u32,
    data_bytes: u32,
    sent: &mut [EpochSegment],
    link: &mut Link<Header>,
    behind: &mut Propagation,
) -> bool {
    let bytes = sent.first().map_or(0, |first| segment_bytes(&first.segment, data_bytes));
    if sent.iter().any(|one| segment_bytes(&one.segment, data_bytes) != bytes) {
        return false;
    }
    let pkts = sent.len();
    let mut leavess = sent.iter_mut().map(|one| &mut one.leaves);
    link.transit_burst(now, flow, bytes, pkts, |at| {
        if let Some(leaves) = leavess.next() {
            *leaves = if at == NEVER { NEVER } else { behind.enter(at) };
        }
    })
}

/// Takes the segments of a burst over their link one after the other.
fn transit_each(
    now: Nanos,
    flow: u32,
    data_bytes: u32,
    sent: &mut [EpochSegment],
    link: &mut Link<Header>,
    behind: &mut Propagation,
) {
    for EpochSegment { segment, leaves } in sent {
        let (bytes, ecn) = (segment_bytes(segment, data_bytes), ecn(segment));
        let mut packet = Packet { flow, connection: 0, bytes, ecn, payload: () };
        *leaves = match link.transit(now, &mut packet) {
            Some(Transit { at: NEVER, .. }) => NEVER,
            Some(Transit { at, fate: Fate::Delivered, .. }) => behind.enter(at),
            _ => DROPPED,
        };
        segment.ecn = arriving_ecn(packet.ecn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_epoch_follows_the_number_of_packets() {
        let mut epochs = Epochs::new(1_000);
        epochs.adapt(TARGET_PKTS + 1);
        epochs.adapt(TARGET_PKTS + 1);
        assert_eq!(epochs.span, 250);
        epochs.adapt(TARGET_PKTS / 4);
        assert_eq!(epochs.span, 250);
        epochs.adapt(TARGET_PKTS / 4 - 1);
        assert_eq!(epochs.span, 500);
        for sent_pkts in [0, 0, 0] {
            epochs.adapt(sent_pkts);
        }
        assert_eq!(epochs.span, 1_000, "never more than the lookahead");
    }
}
