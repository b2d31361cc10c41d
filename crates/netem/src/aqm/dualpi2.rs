//! DualPI2, the coupled dual-queue AQM of L4S (RFC 9332, appendix A).
//!
//! ECT(1) and CE packets go to the queue L, all others to C (RFC 9331, section 5.1). A PI controller holds
//! the delay of C near its target by a probability p':
//!
//!   C   drops, or marks if ECT(0), with p'^2: the window of a Classic flow is about 1 / sqrt(p'^2)
//!   L   marks with the larger of k p' and a ramp over its own delay: the window of a Scalable flow is 2 / p
//!
//! With the coupling factor k = 2 a flow of L gets about the rate of a flow of C (section 2.1), though L
//! hardly waits: it has priority while C gets a guaranteed share of the link.
//!
//! The control law, the ramp, `recur`, and what happens in overload are those of appendices A.1 and A.2. Of
//! the schedulers that section 2.4 leaves open, this is the one that appendix A.2 recommends, weighted round
//! robin, with the weight that Linux gives C, 10 % (net/sched/sch_dualpi2.c); the RFC's example is 1/16.
//! Linux draws random numbers where the RFC's `recur` counts, has a step at 1 ms in L, and updates p' every
//! 16 ms.

use fairpace_scenario::WHOLE_PPB;

use super::ring::{DropReason, MTU_BYTES, Ring, Sink, Waiting, mark};
use crate::packet::Packet;
use crate::time::{MS, Nanos, SECOND};
use fairpace_results::observer::EcnField;
use fairpace_scenario::{DualPi2, Limit};

// Gains of the controller by the worst RTT: alpha = 0.1 Tupdate / RTT_max^2 and beta = 0.3 / RTT_max, Hz (RFC
// 9332, appendix A.1).
const ALPHA: f64 = 0.1;
const BETA: f64 = 0.3;
/// The largest probability of marks in L (p_Lmax, RFC 9332, appendix A.1).
const MOST_L: f64 = 1.0;

/// The controller of C, and the probabilities in both queues that follow from it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Control {
    /// p', the probability from which the marking and the drop probability are computed.
    p_prime: f64,
    /// The delay at the last update, s.
    delay_old_s: f64,
    next_update: Nanos,
    update_ns: Nanos,
    target_s: f64,
    alpha: f64,
    beta: f64,
}

/// A signal with a given probability, spread evenly: the RFC's `recur`.
#[derive(Debug, Clone, Copy, Default)]
struct Recur(f64);

impl Recur {
    #[inline]
    fn signals(&mut self, probability: f64) -> bool {
        self.0 += probability;
        let signals = self.0 > 1.0;
        if signals {
            self.0 -= 1.0;
        }
        signals
    }
}

/// The queues L and C.
#[derive(Debug, Clone)]
pub(super) struct DualPi2Queue<T> {
    settings: DualPi2,
    limit: Limit,
    l: Ring<T>,
    c: Ring<T>,
    recur_l: Recur,
    recur_c: Recur,
    control: Control,
    /// Delay at which the ramp begins.
    ramp_from_ns: Nanos,
    /// Bytes that C is owed of those that L has sent while packets waited in both queues, in billionths of a
    /// byte.
    owed_to_c: i128,
}

impl<T> DualPi2Queue<T> {
    pub(super) fn new(settings: DualPi2, rate_bps: u64, limit: Limit) -> Self {
        let unlimited = Limit::Packets(u64::MAX);
        // On a slow link the ramp begins at the time of a full packet. Otherwise it would mark packets
        // because of the one before them (RFC 9332, appendix A.2: Th_len, 1 packet). The RFC has an example
        // in which it begins at the time of two there.
        let full_packet_ns = (MTU_BYTES * 8 * SECOND).checked_div(rate_bps).unwrap_or(0);
        DualPi2Queue {
            settings,
            limit,
            l: Ring::new(unlimited),
            c: Ring::new(unlimited),
            recur_l: Recur::default(),
            recur_c: Recur::default(),
            control: Control::new(settings),
            ramp_from_ns: settings.ramp_from_ns.max(full_packet_ns),
            owed_to_c: 0,
        }
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        _: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        self.catch_up(now);
        let bytes = self.backlog_bytes() + u64::from(packet.bytes);
        if self.len() > 0 && self.limit.is_exceeded_by(bytes, self.len() as u64 + 1) {
            return Err((packet, DropReason::Full));
        }
        match packet.ecn {
            EcnField::Ect1 | EcnField::Ce => self.l.push(now, packet),
            EcnField::NotEct | EcnField::Ect0 => self.c.push(now, packet),
        }
        Ok(())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, sink: &mut impl Sink<T>) -> Option<Waiting<T>> {
        self.catch_up(now);
        loop {
            let is_l = self.is_turn_of_l();
            let queue = if is_l { &mut self.l } else { &mut self.c };
            let mut next = queue.pop()?;
            if is_l && self.passes_l(now, &mut next, sink) || !is_l && self.passes_c(&mut next, sink) {
                self.charge(is_l, next.packet.bytes);
                return Some(next);
            }
            sink.dropped(next.packet, DropReason::Early);
        }
    }

    /// Returns whether it is the turn of L. It is unless C waits alone or is owed bytes.
    #[inline]
    fn is_turn_of_l(&self) -> bool {
        self.l.len() > 0 && (self.c.len() == 0 || self.owed_to_c <= 0)
    }

    /// Charges a sent packet. C is owed its share of the bytes that L sends while C waits, and pays with the
    /// rest of the bytes that C sends while L waits.
    #[inline]
    fn charge(&mut self, is_l: bool, bytes: u32) {
        let share = i128::from(self.settings.classic_share_ppb.min(WHOLE_PPB));
        match (is_l, self.l.len(), self.c.len()) {
            (true, _, 1..) => self.owed_to_c += i128::from(bytes) * share,
            (false, 1.., _) => self.owed_to_c -= i128::from(bytes) * (i128::from(WHOLE_PPB) - share),
            _ => self.owed_to_c = 0,
        }
    }

    /// Decides on a packet of L, and may mark it. False: the packet is dropped, since marks do not suffice.
    #[inline]
    fn passes_l(&mut self, now: Nanos, next: &mut Waiting<T>, sink: &mut impl Sink<T>) -> bool {
        let coupled = self.coupled();
        if coupled < MOST_L {
            let probability = self.native(now - next.since).max(coupled);
            if self.recur_l.signals(probability) {
                mark(&mut next.packet, sink);
            }
            return true;
        }
        // saturated: drops as in C, and marks of all others (RFC 9332, appendix A.2)
        if self.recur_l.signals(self.classic()) {
            return false;
        }
        mark(&mut next.packet, sink);
        true
    }

    /// Decides on a packet of C, and may mark it. False: the packet is dropped.
    #[inline]
    fn passes_c(&mut self, next: &mut Waiting<T>, sink: &mut impl Sink<T>) -> bool {
        let probability = self.classic();
        if !self.recur_c.signals(probability) {
            return true;
        }
        // in overload ECN is of no use (RFC 9332, appendix A.2)
        probability < self.most_classic() && mark(&mut next.packet, sink)
    }

    /// p_C, the probability of drops and marks in C.
    #[inline]
    fn classic(&self) -> f64 {
        self.control.p_prime * self.control.p_prime
    }

    /// p_Cmax, the probability in C at which L saturates.
    fn most_classic(&self) -> f64 {
        let k = f64::from(self.settings.coupling.max(1));
        1.0 / (k * k)
    }

    /// p_CL, the probability of marks in L by the coupling.
    #[inline]
    fn coupled(&self) -> f64 {
        self.control.p_prime * f64::from(self.settings.coupling.max(1))
    }

    /// p'_L, the probability of marks in L by its own delay: a ramp, or a step if the ramp's range is 0.
    #[inline]
    fn native(&self, delay_ns: Nanos) -> f64 {
        if delay_ns <= self.ramp_from_ns {
            return 0.0;
        }
        let above_ns = delay_ns - self.ramp_from_ns;
        if above_ns >= self.settings.ramp_range_ns {
            return MOST_L;
        }
        above_ns as f64 / self.settings.ramp_range_ns as f64
    }

    /// Performs the updates that are due. The heads of the queues do not change between events.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        if now >= self.control.next_update && self.control.next_update < Nanos::MAX {
            self.update(now);
        }
    }

    /// Updates p'. The delay is the longer of the delays of L and C, so that L alone can be overloaded, too
    /// (RFC 9332, appendix A.2).
    #[cold]
    fn update(&mut self, now: Nanos) {
        let heads = [self.l.waiting.front(), self.c.waiting.front()];
        let oldest = heads.into_iter().flatten().map(|head| head.since).min();
        self.control.catch_up(now, oldest);
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.l.bytes + self.c.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.l.len() + self.c.len()
    }
}

impl Control {
    fn new(settings: DualPi2) -> Self {
        let update_ns = settings.update_ns().max(MS);
        let rtt_max_s = seconds(settings.rtt_max_ns.max(MS));
        Control {
            p_prime: 0.0,
            delay_old_s: 0.0,
            next_update: update_ns,
            update_ns,
            target_s: seconds(settings.target_ns),
            alpha: ALPHA * seconds(update_ns) / (rtt_max_s * rtt_max_s),
            beta: BETA / rtt_max_s,
        }
    }

    /// Performs the updates up to `now`, while `oldest` is the oldest packet that waits; `None`: no packet
    /// waits.
    fn catch_up(&mut self, now: Nanos, oldest: Option<Nanos>) {
        let more = (now - self.next_update) / self.update_ns;
        let delay_s = oldest.map_or(0.0, |since| seconds(self.next_update.saturating_sub(since)));
        self.update(delay_s);
        // The others, at once: without a packet the delay stays 0, with one it grows by the same at each.
        let grows_s = if oldest.is_some() { seconds(self.update_ns) } else { 0.0 };
        self.update_often(more, delay_s, grows_s);
        let due = (more + 1).saturating_mul(self.update_ns);
        self.next_update = self.next_update.saturating_add(due);
    }

    /// Performs an update: dualpi2_update of RFC 9332, appendix A.1.
    fn update(&mut self, delay_s: f64) {
        let step = self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - self.delay_old_s);
        self.p_prime = (self.p_prime + step).clamp(0.0, 1.0);
        self.delay_old_s = delay_s;
    }

    /// Performs `n` updates after an update at a delay of `delay_s` that grows by `grows_s` at each. The
    /// steps grow, too: all negative steps come first, so the bounds of p' matter only between them and the
    /// others.
    fn update_often(&mut self, n: u64, delay_s: f64, grows_s: f64) {
        if n == 0 {
            return;
        }
        let n = n as f64;
        let first = self.alpha * (delay_s - self.target_s) + self.beta * grows_s;
        let more = self.alpha * grows_s;
        let negative = if more > 0.0 { (-first / more).floor().clamp(0.0, n) } else { n };
        // the sum of first + more i for i = 1 .. k
        let sum = |k: f64| first * k + more * k * (k + 1.0) / 2.0;
        self.p_prime = (self.p_prime + sum(negative)).clamp(0.0, 1.0);
        self.p_prime = (self.p_prime + sum(n) - sum(negative)).clamp(0.0, 1.0);
        self.delay_old_s = delay_s + n * grows_s;
    }
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Recorded, packet};
    use super::*;

    /// Rate of the link, 100 Mbit/s: a full packet takes 121 us.
    const RATE_BPS: u64 = 100_000_000;

    fn queue(settings: DualPi2) -> DualPi2Queue<u32> {
        DualPi2Queue::new(settings, RATE_BPS, Limit::Packets(u64::MAX))
    }

    fn of(ecn: EcnField, payload: u32) -> Packet<u32> {
        Packet { ecn, ..packet(1514, payload) }
    }

    /// Returns a queue whose probability p' is constant.
    fn held(p_prime: f64) -> DualPi2Queue<u32> {
        let mut q = queue(DualPi2::default());
        q.control = Control { p_prime, next_update: Nanos::MAX, ..q.control };
        q
    }

    #[test]
    fn the_gains_are_those_of_the_rfc() {
        // RFC 9332, appendix A.1: RTT_max = 100 ms and a target of 15 ms give Tupdate = 15 ms, alpha = 0.15
        // Hz, beta = 3 Hz
        let control = Control::new(DualPi2::default());
        assert_eq!(control.update_ns, 15 * MS);
        assert!((control.alpha - 0.15).abs() < 1e-12 && (control.beta - 3.0).abs() < 1e-12);
        let slow = DualPi2 { target_ns: 50 * MS, ..DualPi2::default() };
        assert_eq!(Control::new(slow).update_ns, 33_333_333, "a third of RTT_max, which is less");
    }

    #[test]
    fn the_base_probability_follows_the_control_law() {
        let mut control = Control::new(DualPi2::default());
        let (mut expected, mut old) = (0.0, 0.0);
        for delay_s in [0.02, 0.035, 0.03, 0.015, 0.0, 0.015] {
            control.update(delay_s);
            expected += 0.15 * (delay_s - 0.015) + 3.0 * (delay_s - old);
            expected = f64::max(expected, 0.0);
            old = delay_s;
            assert!((control.p_prime - expected).abs() < 1e-12, "{delay_s}: {} {expected}", control.p_prime);
        }
        control.update(10.0);
        assert_eq!(control.p_prime, 1.0);
    }

    #[test]
    fn missed_updates_give_what_updates_in_time_give() {
        for (p_prime, oldest) in
            [(0.9, None), (0.3, Some(0)), (0.0, Some(5 * MS)), (0.01, Some(90 * MS)), (1.0, Some(0))]
        {
            let begin = Control { p_prime, next_update: 100 * MS, ..Control::new(DualPi2::default()) };
            for updates in [0, 1, 2, 7, 40, 500] {
                let (mut often, mut once) = (begin, begin);
                (0..=updates).for_each(|n| often.catch_up(100 * MS + n * 15 * MS, oldest));
                once.catch_up(100 * MS + updates * 15 * MS, oldest);
                assert_eq!(often.next_update, once.next_update);
                assert!((often.delay_old_s - once.delay_old_s).abs() < 1e-9);
                let difference = often.p_prime - once.p_prime;
                assert!(difference.abs() < 1e-9, "{p_prime} {updates}: {often:?} {once:?}");
            }
        }
    }

    #[test]
    fn the_codepoint_decides_on_the_queue() {
        // RFC 9331, section 5.1: ECT(1) and CE are L4S
        let (mut q, mut recorded) = (queue(DualPi2::default()), Recorded::default());
        let fields = [EcnField::NotEct, EcnField::Ect0, EcnField::Ect1, EcnField::Ce];
        for (i, ecn) in (0..).zip(fields) {
            q.enqueue(0, of(ecn, i), &mut recorded).unwrap();
        }
        let payloads = |ring: &Ring<u32>| ring.waiting.iter().map(|w| w.packet.payload).collect::<Vec<_>>();
        assert_eq!((payloads(&q.c), payloads(&q.l)), (vec![0, 1], vec![2, 3]));
    }

    #[test]
    fn classic_packets_get_their_share_while_both_wait_and_all_of_an_idle_link() {
        for (share_ppb, of_100) in [(100_000_000, 10), (0, 0), (500_000_000, 50)] {
            let mut q = queue(DualPi2 { classic_share_ppb: share_ppb, ..DualPi2::default() });
            let mut recorded = Recorded::default();
            for i in 0..200 {
                q.enqueue(0, of(EcnField::NotEct, i), &mut recorded).unwrap();
                q.enqueue(0, of(EcnField::Ect1, i), &mut recorded).unwrap();
            }
            let mut take = || q.dequeue(0, &mut recorded).map(|w| w.packet.ecn == EcnField::NotEct);
            let classic = (0..100).filter(|_| take() == Some(true)).count();
            assert!(classic.abs_diff(of_100) <= 1, "{classic} of 100 at {share_ppb}");
            while take().is_some() {}
            assert_eq!(q.len(), 0);
            q.enqueue(1, of(EcnField::NotEct, 0), &mut recorded).unwrap();
            assert!(q.dequeue(1, &mut recorded).is_some(), "no other packet waits");
        }
    }

    #[test]
    fn the_ramp_marks_none_below_its_begin_and_all_above_its_end() {
        // RFC 9332, appendix A.1: minTh = 800 us, range = 400 us
        let q = queue(DualPi2::default());
        let us = |us: u64| us * 1000;
        for (delay_us, probability) in
            [(0, 0.0), (800, 0.0), (900, 0.25), (1100, 0.75), (1200, 1.0), (9999, 1.0)]
        {
            assert!((q.native(us(delay_us)) - probability).abs() < 1e-12, "{delay_us}");
        }
        let step = queue(DualPi2 { ramp_range_ns: 0, ramp_from_ns: MS, ..DualPi2::default() });
        assert_eq!((step.native(MS), step.native(MS + 1)), (0.0, 1.0));
        // on a slow link a full packet of 1.2112 ms is no reason for a mark
        let slow = DualPi2Queue::<u32>::new(DualPi2::default(), 10_000_000, Limit::Packets(10));
        assert_eq!(slow.native(1_211_200), 0.0);
        assert!((slow.native(1_411_200) - 0.5).abs() < 1e-9);
    }

    /// Returns, of 1000 packets that pass without delay, the numbers of marked and of dropped packets.
    fn signals(p_prime: f64, ecn: EcnField) -> (usize, usize) {
        let (mut q, mut recorded) = (held(p_prime), Recorded::default());
        for i in 0..1000 {
            q.enqueue(0, of(ecn, i), &mut recorded).unwrap();
            q.dequeue(0, &mut recorded);
        }
        (recorded.marked.len(), recorded.dropped.len())
    }

    #[test]
    fn classic_signals_are_squared_and_those_of_l4s_coupled() {
        // RFC 9332, section 2.1: p_C = p'^2, p_CL = k p'; p' = 10 %: 1 % and 20 %
        let near = |n: usize, expected: usize| n.abs_diff(expected) <= 1;
        let (marked, dropped) = signals(0.1, EcnField::NotEct);
        assert!(marked == 0 && near(dropped, 10), "{dropped}");
        let (marked, dropped) = signals(0.1, EcnField::Ect0);
        assert!(near(marked, 10) && dropped == 0, "{marked}");
        let (marked, dropped) = signals(0.1, EcnField::Ect1);
        assert!(near(marked, 200) && dropped == 0, "{marked}");
    }

    #[test]
    fn in_overload_both_queues_drop_alike_though_packets_are_ecn_capable() {
        // RFC 9332, appendix A.2: p' = 1/2 saturates L, and p_C = p_Cmax = 1/4; p' = 60 %: 36 %
        for (p_prime, dropped) in [(0.5, 250), (0.6, 360)] {
            for ecn in [EcnField::NotEct, EcnField::Ect0, EcnField::Ect1] {
                let seen = signals(p_prime, ecn);
                assert!(seen.1.abs_diff(dropped) <= 1, "{p_prime} {ecn:?}: {seen:?}");
                let marked = if ecn == EcnField::Ect1 { 1000 - seen.1 } else { 0 };
                assert_eq!(seen.0, marked, "{p_prime} {ecn:?}");
            }
        }
        assert_eq!(signals(0.499, EcnField::Ect0).1, 0);
    }

    #[test]
    fn signals_are_evenly_spread() {
        let (mut recur, mut gaps, mut gap) = (Recur::default(), Vec::new(), 0);
        for _ in 0..10_000 {
            gap += 1;
            if recur.signals(0.03) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert!(gaps[1..].iter().all(|gap| (33..=34).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn unresponsive_l4s_packets_alone_are_dropped_too() {
        // twice the rate for 10 s: the delay of L drives the controller, and about half must be dropped
        let (mut q, mut recorded) = (queue(DualPi2::default()), Recorded::default());
        let mut left = 0u32;
        for ms in 0..10_000u64 {
            for i in 0..16 {
                q.enqueue(ms * MS, of(EcnField::Ect1, i), &mut recorded).unwrap();
            }
            left += (0..8).filter(|_| q.dequeue(ms * MS, &mut recorded).is_some()).count() as u32;
        }
        assert!(recorded.dropped.len() > 60_000, "{}", recorded.dropped.len());
        let oldest_ms = q.l.waiting.front().map_or(0, |w| 10_000 - w.since / MS);
        assert!(oldest_ms < 50 && left == 80_000, "{oldest_ms} ms, {left} left");
    }

    #[test]
    fn a_full_buffer_refuses_what_arrives_whichever_queue_it_is_for() {
        let mut q = DualPi2Queue::new(DualPi2::default(), RATE_BPS, Limit::Bytes(3000));
        let mut recorded = Recorded::default();
        q.enqueue(0, of(EcnField::NotEct, 0), &mut recorded).unwrap();
        for ecn in [EcnField::Ect1, EcnField::NotEct] {
            assert_eq!(q.enqueue(0, of(ecn, 1), &mut recorded).map_err(|e| e.1), Err(DropReason::Full));
        }
        q.enqueue(0, Packet { ecn: EcnField::Ect1, ..packet(1400, 2) }, &mut recorded).unwrap();
        assert_eq!((q.backlog_bytes(), q.len(), recorded.dropped.len()), (2914, 2, 0));
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        for time in [0, 1, Nanos::MAX] {
            for number in [0, 1, u32::MAX] {
                let settings = DualPi2 {
                    target_ns: time,
                    update_ns: Some(time),
                    rtt_max_ns: time,
                    coupling: number,
                    ramp_from_ns: time,
                    ramp_range_ns: time,
                    classic_share_ppb: time,
                };
                let mut q = DualPi2Queue::new(settings, u64::from(number), Limit::Bytes(u64::MAX));
                let mut recorded = Recorded::default();
                for now in (0..500).map(|i| i * 7_777_777).chain([1 << 40, 1 << 50, Nanos::MAX, Nanos::MAX]) {
                    for ecn in [EcnField::NotEct, EcnField::Ect1, EcnField::Ce] {
                        let _ = q.enqueue(now, Packet { ecn, ..packet(i32::MAX as u32, 0) }, &mut recorded);
                    }
                    let _ = q.dequeue(now, &mut recorded);
                    assert!((0.0..=1.0).contains(&q.control.p_prime), "{settings:?}");
                }
            }
        }
    }
}
