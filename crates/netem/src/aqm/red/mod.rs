//! RED, random early detection: Floyd and Jacobson, "Random early detection gateways for congestion
//! avoidance", IEEE/ACM Transactions on Networking 1(4), 1993; and Linux's version, whose rules differ.
//!
//! A moving average of the backlog in bytes, computed as packets arrive, is compared with two thresholds.
//! From the lower threshold on packets are dropped with a probability that grows with the average; above the
//! upper threshold all packets are dropped. Gaps between drops are uniform, not geometric, so the share of
//! drops is about twice the configured probability. Packets count alike whatever their length: neither Linux
//! nor this file weighs the probability by length, as section VII of the paper allows.
//!
//! Linux's adaptive RED and its flags `harddrop` and `nodrop` are not implemented.

mod floyd;
mod linux;
mod settings;

use fairpace_scenario::Random;

use super::ring::{DropReason, Ring, Sink, Waiting, mark};
use crate::packet::Packet;
use crate::time::Nanos;
use fairpace_results::observer::EcnField;
use fairpace_scenario::{Limit, Red, RedRules};
use floyd::Floyd;
use linux::Linux;
use settings::Verdict;

/// A queue under RED.
#[derive(Debug, Clone)]
pub(super) struct RedQueue<T> {
    ring: Ring<T>,
    state: RedState,
    /// Time since which the link is idle.
    idle_since: Option<Nanos>,
}

/// The state of RED without a queue.
#[derive(Debug, Clone)]
pub(crate) struct RedState {
    average: Average,
    ecn: bool,
    random: Random,
}

#[derive(Debug, Clone)]
enum Average {
    Linux(Linux),
    Floyd(Floyd),
}

/// RED's decision on a packet, if there is room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Pass,
    Mark,
    Drop,
}

impl RedState {
    pub(crate) fn new(settings: &Red, rate_bps: u64, random: Random) -> Self {
        let average = match settings.rules {
            RedRules::Linux => Average::Linux(Linux::new(settings, rate_bps)),
            RedRules::Floyd { gentle } => Average::Floyd(Floyd::new(settings, gentle, rate_bps)),
        };
        RedState { average, ecn: settings.ecn, random }
    }

    /// Decides on a packet that arrives at a backlog of `backlog_bytes`, or after the link was idle for
    /// `idle_ns`.
    #[inline]
    pub(crate) fn decide(&mut self, backlog_bytes: u64, idle: Option<Nanos>, ecn: EcnField) -> Action {
        let (verdict, may_mark) = match &mut self.average {
            Average::Linux(linux) => {
                linux.update(backlog_bytes, idle);
                (linux.decide(&mut self.random), true)
            }
            Average::Floyd(floyd) => {
                floyd.update(backlog_bytes, idle);
                let verdict = floyd.decide(&mut self.random);
                (verdict, verdict == Verdict::Early)
            }
        };
        match verdict {
            Verdict::Pass => Action::Pass,
            _ if may_mark && self.ecn && ecn != EcnField::NotEct => Action::Mark,
            _ => Action::Drop,
        }
    }
}

impl<T> RedQueue<T> {
    pub(super) fn new(settings: Red, rate_bps: u64, limit: Limit, random: Random) -> Self {
        RedQueue {
            ring: Ring::new(limit),
            state: RedState::new(&settings, rate_bps, random),
            idle_since: Some(0),
        }
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        let idle = self.idle_since.take().map(|since| now - since);
        let action = self.state.decide(self.ring.bytes, idle, packet.ecn);
        if action == Action::Drop {
            return Err((packet, DropReason::Early));
        }
        if !self.ring.has_room(packet.bytes) {
            return Err((packet, DropReason::Full));
        }
        if action == Action::Mark {
            mark(&mut packet, sink);
        }
        self.ring.push(now, packet);
        Ok(())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, _: &mut impl Sink<T>) -> Option<Waiting<T>> {
        let next = self.ring.pop();
        if next.is_none() {
            self.idle_since.get_or_insert(now);
        }
        next
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.ring.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::super::testing::{Recorded, packet};
    use super::settings::{power, weight, weight_log};
    use super::testing::{FLOYD, MANUAL, RATE_BPS};
    use super::*;
    use crate::aqm::ring::MTU_BYTES;
    use crate::time::MS;

    #[test]
    fn the_weight_is_the_one_that_tc_computes() {
        // the manual's example: 55 + 1 - 30 = 26 <= (1 - (31/32)^55) x 32 = 26.4, and 15.5 with 1/16
        assert_eq!(weight_log(30 * MTU_BYTES, 55), 5);
        // The paper, section VI: 50 packets into an average below 5 need a weight of at most 0.0042. 1/256
        // would do, but tc sums one packet less and just misses it: 46 > 45.5.
        assert_eq!(weight_log(5 * MTU_BYTES, 50), 9);
        // the table in Linux's red.h, rounded: the longest bursts for each weight with min at 32 packets
        for (log, burst) in
            [(1, 33), (2, 35), (3, 39), (4, 46), (5, 57), (6, 75), (7, 101), (8, 135), (9, 190)]
        {
            let tc = weight_log(32 * MTU_BYTES, burst - 1)..=weight_log(32 * MTU_BYTES, burst);
            assert!(tc.contains(&log), "{burst}: {tc:?}");
        }
        // no burst at all, and one that can never be allowed
        assert_eq!((weight_log(30 * MTU_BYTES, 0), weight_log(0, u64::MAX)), (1, 31));
    }

    #[test]
    fn idle_time_begins_when_the_link_finds_the_queue_empty() {
        let settings = Red { min_bytes: 0, max_bytes: 1 << 20, burst_pkts: 10, ..FLOYD };
        let mut recorded = Recorded::default();
        let mut queue = RedQueue::new(settings, RATE_BPS, Limit::Packets(1000), Random::new(1));
        let average = |queue: &RedQueue<u32>| match &queue.state.average {
            Average::Floyd(floyd) => floyd.average(),
            Average::Linux(_) => unreachable!(),
        };
        for i in 0..100 {
            let _ = queue.enqueue(MS, packet(1514, i), &mut recorded);
        }
        while queue.dequeue(2 * MS, &mut recorded).is_some() {}
        let before = average(&queue);
        assert!(before > 0.0);
        assert!(queue.dequeue(500 * MS, &mut recorded).is_none(), "asked again: it is still idle since 2 ms");
        let _ = queue.enqueue(2 * MS + 10 * 1_211_200, packet(1514, 0), &mut recorded);
        let kept = 1.0 - weight(weight_log(0, 10));
        assert!((average(&queue) / (before * power(kept, 10)) - 1.0).abs() < 1e-12);
    }

    /// Returns the numbers of packets, of a thousand that arrive while nothing leaves, that were dropped
    /// early, dropped for lack of room, and marked.
    fn fates(settings: Red, ecn: EcnField, limit: Limit) -> (usize, usize, usize) {
        let (mut recorded, mut dropped) = (Recorded::default(), Vec::new());
        let mut queue = RedQueue::new(settings, RATE_BPS, limit, Random::new(7));
        for i in 0..1000 {
            let packet = Packet { ecn, ..packet(1514, i) };
            dropped.extend(queue.enqueue(0, packet, &mut recorded).err());
        }
        let early = dropped.iter().filter(|d| d.1 == DropReason::Early).count();
        assert_eq!(queue.len() + dropped.len(), 1000);
        assert_eq!(queue.backlog_bytes(), 1514 * queue.len() as u64);
        (early, dropped.len() - early, recorded.marked.len())
    }

    #[test]
    fn ecn_capable_packets_are_not_dropped_early() {
        let (linux, floyd) = (Red { ecn: true, ..MANUAL }, Red { ecn: true, ..FLOYD });
        let room = Limit::Bytes(u64::MAX);
        let (early, full, marked) = fates(linux, EcnField::Ect0, room);
        assert!(early == 0 && full == 0 && marked > 800, "above the maximum Linux marks all");
        let (early, full, marked) = fates(floyd, EcnField::Ect0, room);
        assert!(early > 800 && full == 0 && marked > 0, "above the maximum Floyd drops");
        for settings in [linux, floyd] {
            let (early, _, marked) = fates(settings, EcnField::NotEct, room);
            assert!(early > 800 && marked == 0);
        }
        let (early, _, marked) = fates(MANUAL, EcnField::Ect0, room);
        assert!(early > 800 && marked == 0, "marks were not asked for");
    }

    #[test]
    fn a_full_queue_drops_at_any_average() {
        let (early, full, marked) = fates(Red { ecn: true, ..MANUAL }, EcnField::Ect0, Limit::Packets(100));
        assert_eq!((early, full), (0, 900));
        assert!(marked <= 100, "what is dropped is not counted as marked");
        let (early, full, _) = fates(MANUAL, EcnField::NotEct, Limit::Bytes(20 * 1514));
        assert_eq!((early, full), (0, 980), "the average stays below the minimum");
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        let extremes = [0, 1, 1514, 1 << 32, u64::MAX];
        for rules in [RedRules::Linux, RedRules::Floyd { gentle: true }, RedRules::Floyd { gentle: false }] {
            for min_bytes in extremes {
                for max_bytes in extremes {
                    for (max_ppb, burst_pkts, rate_bps) in
                        [(0, 0, 0), (u64::MAX, u64::MAX, u64::MAX), (1, 1, 1), (1_000_000_000, 55, 1 << 40)]
                    {
                        let settings = Red { rules, min_bytes, max_bytes, max_ppb, burst_pkts, ecn: false };
                        let mut recorded = Recorded::default();
                        let mut queue =
                            RedQueue::new(settings, rate_bps, Limit::Bytes(u64::MAX), Random::new(1));
                        for i in 0..50u32 {
                            let _ = queue.enqueue(u64::from(i), packet(i32::MAX as u32, i), &mut recorded);
                            let _ = queue.dequeue(u64::from(i), &mut recorded);
                        }
                        let _ = queue.enqueue(Nanos::MAX, packet(40, 0), &mut recorded);
                    }
                }
            }
        }
    }
}
