//! Compares the recorded views with the recorded true numbers.

use std::collections::{HashMap, HashSet};
use std::fmt;

use fairpace_cc::{Event, View};
use serde::Serialize;

use super::record::{Packets, Record};

/// Differences between reported and true numbers, in packets.
#[derive(Debug, Clone, Default)]
pub struct Differences(Vec<i64>);

impl Differences {
    fn note(&mut self, reported: u32, truth: u32) {
        self.0.push(i64::from(reported) - i64::from(truth));
    }

    /// Number of the differences.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Part of the differences that are zero, 0 to 1; 1 if there are no differences.
    pub fn exact(&self) -> f64 {
        self.share(|d| d == 0)
    }

    /// Part of the differences that are no further than this from zero.
    pub fn within(&self, pkts: i64) -> f64 {
        self.share(|d| d.abs() <= pkts)
    }

    fn share(&self, is: impl Fn(i64) -> bool) -> f64 {
        match self.count() {
            0 => 1.0,
            all => self.0.iter().filter(|d| is(**d)).count() as f64 / all as f64,
        }
    }
}

/// Writes the cells of a Markdown table: `n  exact  min p1 p10 p50 p90 p99 max`.
impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        if sorted.is_empty() {
            return f.write_str("0 | - | - | - | - | - | - | - | -");
        }
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        write!(f, "{} | {:.1} %", sorted.len(), self.exact() * 100.0)?;
        [0, 1, 10, 50, 90, 99, 100].iter().try_for_each(|p| write!(f, " | {}", at(*p)))
    }
}

/// The result of one run. All differences are reported less true.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    /// Reason why a test must not judge the run: the machine disturbed it. The counts are true in any case,
    /// but the number of losses that occurred then depends on the machine.
    #[serde(skip)]
    pub disturbed: Option<String>,
    /// Goodput of the flow in the whole run, Mbit/s.
    pub goodput_mbps: f64,
    /// Number of ACKs that BBRv3 received.
    pub acks: usize,
    /// Number of samples of packets whose sending was not recorded, or that were retransmitted since.
    pub samples_not_compared: usize,
    /// Differences of the packets in flight when the packet of a sample was sent.
    #[serde(skip)]
    pub sample_inflight: Differences,
    /// Differences of the packets lost since the packet of a sample was sent.
    #[serde(skip)]
    pub sample_lost: Differences,
    /// Differences of the packets in flight by the stateless estimate: the number delivered and marked lost
    /// since the packet of a sample was sent.
    #[serde(skip)]
    pub stateless_inflight: Differences,
    /// Number of LOST events.
    pub lost_events: usize,
    /// Number of LOST events for which no lost packet was found: their packet is not compared.
    pub lost_events_not_compared: usize,
    /// Number of LOST events that came after a retransmission of one of their packets.
    pub lost_events_late: usize,
    /// Differences of the lost packets of a LOST event.
    #[serde(skip)]
    pub event_losses: Differences,
    /// Differences of the packets in flight when the last lost packet of a LOST event was sent.
    #[serde(skip)]
    pub event_inflight: Differences,
    /// Differences of the packets lost since the last lost packet of a LOST event was sent.
    #[serde(skip)]
    pub event_lost: Differences,
    /// Number of ACKs and events with losses, at which BBRv3 tests whether more than 2 % of the packets in
    /// flight were lost.
    pub loss_tests: usize,
    /// Number of these tests that have another result with the true numbers.
    pub loss_tests_wrong: usize,
}

/// The true numbers at the time when a packet was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Order of transmissions: a number that grows with each.
    order: usize,
    inflight_pkts: u32,
    lost_pkts: u32,
    delivered_pkts: u32,
}

/// All sent packets by the sequence number after them: Linux may split a burst later.
#[derive(Debug, Default)]
struct Sendings {
    last: HashMap<u32, Sent>,
    /// Packets retransmitted since the last LOST event, with the numbers of the previous transmission.
    retransmitted: Vec<Sent>,
    /// Packets marked lost at the last LOST event, and not retransmitted since.
    pending: HashSet<u32>,
    order: usize,
}

impl Sendings {
    fn note(&mut self, burst: &Packets) {
        for (i, end_seq) in (1..).zip(burst.ends()) {
            self.order += 1;
            let packet = Sent {
                order: self.order,
                inflight_pkts: burst.inflight_pkts + i,
                lost_pkts: burst.lost_pkts,
                delivered_pkts: burst.delivered_pkts,
            };
            let before = self.last.insert(end_seq, packet);
            let was_reported = self.pending.remove(&end_seq);
            self.retransmitted.extend(before.filter(|_| !was_reported));
        }
    }
}

impl Comparison {
    pub(super) fn of(records: &[Record], goodput_mbps: f64) -> Comparison {
        let mut comparison = Comparison { goodput_mbps, ..Comparison::default() };
        let mut sendings = Sendings::default();
        let mut pending = HashSet::new();
        for record in records {
            match record {
                Record::Sent(burst) => sendings.note(burst),
                Record::Pending(burst) => pending.extend(burst.ends()),
                Record::Ack(view) => comparison.on_ack(view, &sendings.last),
                Record::Event(event, view) if *event == Event::Lost as u32 => {
                    comparison.on_lost(view, &mut sendings, std::mem::take(&mut pending));
                }
                Record::Event(..) => {}
            }
        }
        comparison
    }

    fn on_ack(&mut self, view: &View, sent: &HashMap<u32, Sent>) {
        self.acks += 1;
        if view.sample_delivered_pkts < 0 {
            return;
        }
        let packet = sent.get(&view.sample_end_seq);
        let Some(packet) = packet.filter(|p| p.delivered_pkts == view.sample_prior_delivered_pkts) else {
            self.samples_not_compared += 1;
            return;
        };
        let lost_pkts = view.lost_pkts.wrapping_sub(packet.lost_pkts);
        self.sample_inflight.note(view.sample_inflight_pkts, packet.inflight_pkts);
        self.sample_lost.note(view.sample_lost_pkts, lost_pkts);
        let stateless = view.sample_delivered_pkts as u32 + view.losses_pkts;
        self.stateless_inflight.note(stateless, packet.inflight_pkts);
        self.question(view, lost_pkts, packet.inflight_pkts);
    }

    /// Compares a LOST event. Its losses are the packets that are pending now and were not before, and the
    /// packets that a timer had marked and that were already retransmitted.
    fn on_lost(&mut self, view: &View, sendings: &mut Sendings, pending: HashSet<u32>) {
        let fresh =
            pending.difference(&sendings.pending).filter_map(|end_seq| sendings.last.get(end_seq).copied());
        let early = std::mem::take(&mut sendings.retransmitted);
        self.lost_events += 1;
        self.lost_events_late += usize::from(!early.is_empty());
        let lost: Vec<Sent> = fresh.chain(early).collect();
        sendings.pending = pending;
        self.event_losses.note(view.losses_pkts, lost.len() as u32);
        let Some(last) = lost.iter().max_by_key(|packet| packet.order) else {
            self.lost_events_not_compared += 1;
            return;
        };
        let lost_pkts = view.lost_pkts.wrapping_sub(last.lost_pkts);
        self.event_inflight.note(view.sample_inflight_pkts, last.inflight_pkts);
        self.event_lost.note(view.sample_lost_pkts, lost_pkts);
        self.question(view, lost_pkts, last.inflight_pkts);
    }

    fn question(&mut self, view: &View, lost_pkts: u32, inflight_pkts: u32) {
        let is_too_high = |lost: u32, inflight: u32| u64::from(lost) * 256 > u64::from(inflight) * 5;
        if lost_pkts > 0 || view.sample_lost_pkts > 0 {
            self.loss_tests += 1;
            let reported = is_too_high(view.sample_lost_pkts, view.sample_inflight_pkts);
            self.loss_tests_wrong += usize::from(reported != is_too_high(lost_pkts, inflight_pkts));
        }
    }

    /// Rows of a Markdown table: the name of the compared number, and the cells of [`Differences`].
    pub fn rows(&self) -> [(&'static str, &Differences); 6] {
        [
            ("sample: in flight when sent", &self.sample_inflight),
            ("the same by the stateless estimate", &self.stateless_inflight),
            ("sample: lost since sent", &self.sample_lost),
            ("LOST: how many", &self.event_losses),
            ("LOST: in flight when sent", &self.event_inflight),
            ("LOST: lost since sent", &self.event_lost),
        ]
    }
}
