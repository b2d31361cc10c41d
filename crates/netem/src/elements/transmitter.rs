//! Departure times of packets: a wire whose rate may change, a token bucket, or recorded opportunities.

use std::sync::Arc;

use fairpace_scenario::OPPORTUNITY_BYTES;

use crate::time::{MS, Nanos, SECOND};

/// A transmitter: it sends one packet after the other and computes when each has left, as soon as the packet
/// is known to be next.
///
/// A transmitter has no queue and does not remember packets: the caller decides which packet is next.
#[derive(Debug, Clone)]
pub struct Transmitter {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Wire(Wire),
    Bucket(Bucket),
    Trace(Trace),
}

impl Transmitter {
    /// Returns a wire of `rate_bps` bits per second; 0 is taken as 1. The fraction of a nanosecond is carried
    /// from packet to packet, so a busy wire has exactly its rate; a departure time is the exact time rounded
    /// down.
    pub fn wire(rate_bps: u64) -> Self {
        Transmitter { kind: Kind::Wire(Wire::new(rate_bps.max(1))) }
    }

    /// Returns a wire with other rates from given times on, in bits per second; 0 is an outage. Times must
    /// grow and be later than 0. A packet in transmission at a step continues at the new rate; at rate 0 it
    /// waits for the next step.
    pub fn wire_with_rates(rate_bps: u64, steps: &[(Nanos, u64)]) -> Self {
        Transmitter { kind: Kind::Wire(Wire::new(rate_bps.max(1)).with_rates(steps)) }
    }

    /// Returns a token bucket that fills at `rate_bps` up to `burst_bytes` and begins full (Linux's sch_tbf
    /// without a peak rate). A packet that finds enough tokens leaves at once and whole; others wait for
    /// their tokens. A packet larger than the bucket waits until the bucket is full.
    pub fn bucket(rate_bps: u64, burst_bytes: u64) -> Self {
        let (rate_bps, burst_bytes) = (rate_bps.max(1), burst_bytes.max(1));
        Transmitter { kind: Kind::Bucket(Bucket { rate_bps, burst_bytes, full: 0, fraction: 0, last: 0 }) }
    }

    /// Returns a trace: opportunities at these milliseconds, each for [`OPPORTUNITY_BYTES`], repeated after
    /// the last opportunity (Mahimahi's link shells). The rest of an opportunity serves the next packet if
    /// the packet is there; otherwise the rest is lost.
    pub fn trace(opportunities_ms: Arc<[u32]>) -> Self {
        let last_ms = opportunities_ms.last().copied().unwrap_or(0).max(1);
        let trace = Trace { period: Nanos::from(last_ms) * MS, at_ms: opportunities_ms, ..Trace::default() };
        Transmitter { kind: Kind::Trace(trace) }
    }

    /// Returns whether the transmitter sends the next packet exactly when the last packet has left.
    pub fn is_wire(&self) -> bool {
        matches!(self.kind, Kind::Wire(_))
    }

    /// The time when a packet of `bytes` bytes would begin to leave, if it were next now.
    #[inline]
    pub fn starts(&self, now: Nanos, bytes: u32) -> Nanos {
        match &self.kind {
            Kind::Wire(wire) => wire.free.max(now),
            Kind::Bucket(bucket) => bucket.starts(now, bytes),
            Kind::Trace(trace) => trace.starts(now),
        }
    }

    /// Sends a packet of `bytes` bytes, not before `now`, and returns the time when its last bit leaves;
    /// `Nanos::MAX`: never. Times must not go back.
    #[inline]
    pub fn send(&mut self, now: Nanos, bytes: u32) -> Nanos {
        match &mut self.kind {
            Kind::Wire(wire) => wire.send(now, bytes),
            Kind::Bucket(bucket) => bucket.send(now, bytes),
            Kind::Trace(trace) => trace.send(now, bytes),
        }
    }

    /// The rate at the start, bits per second; the mean of a trace.
    pub fn rate_bps(&self) -> u64 {
        match &self.kind {
            Kind::Wire(wire) => wire.steps.first().map_or(0, |s| s.1),
            Kind::Bucket(bucket) => bucket.rate_bps,
            Kind::Trace(trace) => trace.mean_bps(),
        }
    }

    /// Number of bits that the transmitter could send between two times, without tokens at hand.
    pub fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        match &self.kind {
            Kind::Wire(wire) => wire.capacity_bits(from, to),
            Kind::Bucket(bucket) => bucket.rate_bps as f64 * to.saturating_sub(from) as f64 / SECOND as f64,
            Kind::Trace(trace) => trace.capacity_bits(from, to),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Wire {
    /// Rate in force at `free`, unless a step is due there.
    rate_bps: u64,
    /// All steps: each a time and the rate from then on. The first step is at 0.
    steps: Vec<(Nanos, u64)>,
    /// The first step after `rate_bps`, and its time; `Nanos::MAX`: there is no further step.
    next_step: usize,
    next_step_at: Nanos,
    /// Time when the wire is free: `free + fraction / rate_bps`.
    free: Nanos,
    fraction: u64,
    /// Length of the last packet and its transmission time: most packets are as long as the packet before.
    last_bytes: u32,
    last_service: (Nanos, u64),
}

impl Wire {
    fn new(rate_bps: u64) -> Self {
        Wire {
            rate_bps,
            steps: vec![(0, rate_bps)],
            next_step: 1,
            next_step_at: Nanos::MAX,
            ..Wire::default()
        }
    }

    fn with_rates(mut self, steps: &[(Nanos, u64)]) -> Self {
        debug_assert!(steps.is_sorted_by(|a, b| a.0 < b.0) && steps.first().is_none_or(|s| s.0 > 0));
        self.steps.extend_from_slice(steps);
        self.next_step_at = self.steps.get(1).map_or(Nanos::MAX, |s| s.0);
        self
    }

    #[inline]
    fn send(&mut self, now: Nanos, bytes: u32) -> Nanos {
        if now > self.free {
            (self.free, self.fraction) = (now, 0);
        }
        if bytes != self.last_bytes {
            self.note_service(bytes);
        }
        let (whole, fraction) = self.last_service;
        // the two fractions together may make one nanosecond more
        if self.free.saturating_add(whole).saturating_add(1) >= self.next_step_at {
            self.send_across_steps(bytes);
            return self.free;
        }
        // without a branch, since the carry is unpredictable
        let fraction = self.fraction + fraction;
        let carries = fraction >= self.rate_bps;
        self.fraction = fraction - u64::from(carries) * self.rate_bps;
        self.free += whole + u64::from(carries);
        self.free
    }

    fn note_service(&mut self, bytes: u32) {
        let bits_ns = u64::from(bytes) * 8 * SECOND;
        self.last_bytes = bytes;
        self.last_service = match self.rate_bps {
            0 => (Nanos::MAX, 0), // not before the next step
            rate => (bits_ns / rate, bits_ns % rate),
        };
    }

    /// Sends a packet whose last bit leaves after the rate changes, or may change.
    #[cold]
    fn send_across_steps(&mut self, bytes: u32) {
        // work and capacity in bits x ns per s: whole numbers for any rate and fraction
        let mut work = u128::from(bytes) * 8 * u128::from(SECOND);
        loop {
            let (rate, until) = (u128::from(self.rate_bps), self.next_step_at);
            let is_last = until == Nanos::MAX;
            if is_last && rate == 0 {
                (self.free, self.fraction) = (Nanos::MAX, 0);
                return;
            }
            let fraction = u128::from(self.fraction);
            // an idle wire may be beyond the step; then there is no fraction
            let possible = rate * u128::from(until.saturating_sub(self.free)) - fraction;
            if is_last || work <= possible {
                self.free = self.free.saturating_add(((work + fraction) / rate) as u64);
                self.fraction = ((work + fraction) % rate) as u64;
                return;
            }
            work -= possible;
            (self.free, self.fraction) = (self.free.max(until), 0);
            self.take_step();
        }
    }

    /// Goes on to the next rate.
    fn take_step(&mut self) {
        self.rate_bps = self.steps[self.next_step].1;
        self.next_step += 1;
        self.next_step_at = self.steps.get(self.next_step).map_or(Nanos::MAX, |s| s.0);
        self.last_bytes = 0; // its transmission time was at the old rate
    }

    fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        let ends = self.steps.iter().skip(1).map(|s| s.0).chain([Nanos::MAX]);
        let part = |((begins, rate), ends): (&(Nanos, u64), Nanos)| {
            let ns = ends.min(to).saturating_sub(from.max(*begins));
            *rate as f64 * ns as f64 / SECOND as f64
        };
        self.steps.iter().zip(ends).map(part).sum()
    }
}

/// A token bucket, which is full again at `full + fraction / rate_bps`. Before this time, the missing tokens
/// are the rate times the time left.
#[derive(Debug, Clone)]
struct Bucket {
    rate_bps: u64,
    burst_bytes: u64,
    full: Nanos,
    fraction: u64,
    /// Time when the last packet left.
    last: Nanos,
}

impl Bucket {
    fn starts(&self, now: Nanos, bytes: u32) -> Nanos {
        // tokens that may be missing when the packet leaves, as a time: rounded down, so that it never leaves
        // early
        let missing = u128::from(self.burst_bytes.saturating_sub(u64::from(bytes))) * 8 * u128::from(SECOND);
        let missing = (missing / u128::from(self.rate_bps)) as u64;
        let full = self.full + Nanos::from(self.fraction > 0);
        full.saturating_sub(missing).max(self.last).max(now)
    }

    fn send(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let at = self.starts(now, bytes);
        if at > self.full {
            (self.full, self.fraction) = (at, 0);
        }
        let bits_ns = u128::from(bytes) * 8 * u128::from(SECOND) + u128::from(self.fraction);
        self.full = self.full.saturating_add((bits_ns / u128::from(self.rate_bps)) as u64);
        self.fraction = (bits_ns % u128::from(self.rate_bps)) as u64;
        self.last = at;
        at
    }
}

#[derive(Debug, Clone, Default)]
struct Trace {
    at_ms: Arc<[u32]>,
    period: Nanos,
    /// True once an opportunity has been used.
    begun: bool,
    /// The last used opportunity: `at_ms[next]` of this period.
    cycle: u64,
    next: usize,
    /// Bytes left of this opportunity.
    left: u32,
    /// Time when the last packet left.
    last: Nanos,
}

impl Trace {
    fn time(&self, cycle: u64, index: usize) -> Nanos {
        cycle.saturating_mul(self.period).saturating_add(Nanos::from(self.at_ms[index]) * MS)
    }

    /// Returns the first opportunity not before `now` and not before the opportunity in use: cycle, index,
    /// bytes left.
    fn seek(&self, now: Nanos) -> Option<(u64, usize, u32)> {
        if self.at_ms.is_empty() {
            return None;
        }
        let now = now.max(self.last);
        if self.left > 0 && self.time(self.cycle, self.next) >= now {
            return Some((self.cycle, self.next, self.left));
        }
        // the next one in order, unless it has passed
        let (cycle, index) = if self.begun { self.after(self.cycle, self.next) } else { (0, 0) };
        if self.time(cycle, index) >= now {
            return Some((cycle, index, OPPORTUNITY_BYTES));
        }
        // a time that ends a period may belong to it or to the next one: both are searched
        let cycle = now.div_ceil(self.period).saturating_sub(1);
        let found = (cycle..).find_map(|cycle| {
            let index = self.at_ms.partition_point(|ms| cycle * self.period + Nanos::from(*ms) * MS < now);
            (index < self.at_ms.len()).then_some((cycle, index))
        });
        found.map(|(cycle, index)| (cycle, index, OPPORTUNITY_BYTES))
    }

    fn after(&self, cycle: u64, index: usize) -> (u64, usize) {
        if index + 1 < self.at_ms.len() { (cycle, index + 1) } else { (cycle + 1, 0) }
    }

    fn starts(&self, now: Nanos) -> Nanos {
        self.seek(now).map_or(Nanos::MAX, |(cycle, index, _)| self.time(cycle, index))
    }

    fn send(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let Some((mut cycle, mut index, mut left)) = self.seek(now) else { return Nanos::MAX };
        let mut need = bytes;
        while need > left {
            need -= left;
            (cycle, index) = self.after(cycle, index);
            left = OPPORTUNITY_BYTES;
        }
        (self.cycle, self.next, self.left) = (cycle, index, left - need);
        (self.begun, self.last) = (true, self.time(cycle, index));
        self.last
    }

    /// Returns the mean rate over whole periods: the last opportunity counts, although it is at the very end.
    fn mean_bps(&self) -> u64 {
        let bits = self.at_ms.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
        u64::try_from(bits * u128::from(SECOND) / u128::from(self.period)).unwrap_or(u64::MAX)
    }

    fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        // opportunities before a time; the last of a period is at its very end
        let before = |t: Nanos| {
            let cycles = t.saturating_sub(1) / self.period;
            let rest = self.at_ms.partition_point(|ms| Nanos::from(*ms) * MS < t - cycles * self.period);
            (cycles as f64).mul_add(self.at_ms.len() as f64, rest as f64)
        };
        (before(to) - before(from)) * f64::from(OPPORTUNITY_BYTES) * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_busy_wire_sends_exactly_what_its_rates_allow() {
        // rates that divide nothing evenly, changed every 0.7 ms or so: the last bit leaves when the integral
        // says so
        let mut steps: Vec<(Nanos, u64)> =
            (1..500).map(|i| (i * 700_001, 1_000_003 * (1 + i * 7 % 13))).collect();
        steps.push((500 * 700_001, 3_000_017));
        let mut wire = Transmitter::wire_with_rates(7_000_003, &steps);
        let mut bits = 0;
        for i in 0..2000 {
            let last = wire.send(0, 700 + i % 800);
            bits += 8 * u64::from(700 + i % 800);
            let possible = wire.capacity_bits(0, last);
            // a departure is the exact one rounded down: less than a nanosecond's bits are missing
            assert!(bits as f64 - possible < 0.02 && possible - (bits as f64) < 0.02, "{bits} of {possible}");
        }
    }

    #[test]
    fn a_full_bucket_lets_a_burst_out_at_once_then_keeps_its_rate() {
        // 8 Mbit/s: a thousand bytes take a millisecond to come in
        let mut t = Transmitter::bucket(8_000_000, 3_000);
        let out: Vec<Nanos> = (0..5).map(|_| t.send(10, 1000)).collect();
        assert_eq!(out, [10, 10, 10, 1_000_010, 2_000_010]);
        // half a packet's tokens at hand after half a millisecond more
        assert_eq!(t.starts(2_500_010, 1000), 3_000_010);
        // idle for long: full again, and no more than full
        let out: Vec<Nanos> = (0..4).map(|_| t.send(SECOND, 1000)).collect();
        assert_eq!(out, [SECOND, SECOND, SECOND, SECOND + 1_000_000]);
    }

    #[test]
    fn a_small_packet_does_not_overtake_one_that_waits_for_tokens() {
        let mut t = Transmitter::bucket(8_000_000, 1_000);
        assert_eq!(t.send(0, 900), 0);
        assert_eq!(t.send(0, 1000), 900_000);
        assert_eq!(t.send(0, 50), 950_000);
    }

    #[test]
    fn opportunities_come_again_after_the_last() {
        let mut t = Transmitter::trace(vec![1, 1, 5].into());
        let out: Vec<Nanos> = (0..7).map(|_| t.send(0, OPPORTUNITY_BYTES) / MS).collect();
        assert_eq!(out, [1, 1, 5, 6, 6, 10, 11]);
        assert_eq!(t.capacity_bits(0, 10 * MS), 5.0 * 1514.0 * 8.0);
        assert_eq!(t.rate_bps(), 3 * 1514 * 8 * 1000 / 5);
    }

    #[test]
    fn the_rest_of_an_opportunity_serves_only_a_waiting_packet() {
        let mut t = Transmitter::trace(vec![10].into());
        // three halves: the second shares the first opportunity, the third has to wait
        assert_eq!([757, 757, 757].map(|bytes| t.send(0, bytes)), [10 * MS, 10 * MS, 20 * MS]);
        // a long packet takes what is left, and more
        assert_eq!(t.send(0, 1514), 30 * MS);
        // no packet was there: opportunities pass, and the rest of the last one too
        assert_eq!(t.send(55 * MS, 100), 60 * MS);
        assert_eq!(t.send(60 * MS, 100), 60 * MS, "still the same millisecond");
        assert_eq!(t.send(61 * MS, 100), 70 * MS);
    }

    #[test]
    fn an_opportunity_at_the_time_of_arrival_is_used() {
        let mut t = Transmitter::trace(vec![0, 4].into());
        assert_eq!([t.send(0, 1514), t.send(0, 1514), t.send(0, 1514)], [0, 4 * MS, 4 * MS]);
        assert_eq!(t.starts(8 * MS, 1514), 8 * MS);
    }

    proptest! {
        /// Departures keep their order and never exceed the rate and burst of the bucket over any interval.
        #[test]
        fn a_bucket_never_exceeds_burst_and_rate(
            rate in 1_000u64..10_000_000_000,
            burst in 1514u64..1_000_000,
            packets in prop::collection::vec((0u64..3_000_000, 40u32..1514), 1..80),
        ) {
            let (mut t, mut now, mut out) = (Transmitter::bucket(rate, burst), 0, Vec::new());
            for (gap, bytes) in packets {
                now += gap;
                let expected = t.starts(now, bytes);
                let at = t.send(now, bytes);
                prop_assert_eq!(at, expected);
                prop_assert!(at >= now && out.last().is_none_or(|(last, _)| *last <= at));
                out.push((at, u64::from(bytes)));
            }
            for i in 0..out.len() {
                let mut sum = 0;
                for (at, bytes) in &out[i..] {
                    sum += bytes;
                    let allowed = burst as f64 + rate as f64 * (at - out[i].0) as f64 / 8e9;
                    prop_assert!(sum as f64 <= allowed + 1e-3, "{} of {}", sum, allowed);
                }
            }
        }

        /// A trace that is always busy delivers exactly the bytes of its opportunities; a late packet finds
        /// the next opportunity.
        #[test]
        fn a_busy_trace_delivers_all_its_opportunities(
            gaps in prop::collection::vec(0u32..20, 1..40),
            packets in prop::collection::vec((0u64..30_000_000, 40u32..4000), 1..60),
        ) {
            let mut sum = 1;
            let at_ms: Vec<u32> = gaps.iter().map(|gap| { sum += gap; sum }).collect();
            let mut t = Transmitter::trace(at_ms.clone().into());
            let (mut now, mut last) = (0, 0);
            for (gap, bytes) in packets {
                now += gap;
                let starts = t.starts(now, bytes);
                let at = t.send(now, bytes);
                prop_assert!(starts >= now && at >= starts && at >= last);
                let ms = (at / MS) as u32 % at_ms.last().unwrap();
                prop_assert!(at.is_multiple_of(MS) && at_ms.iter().any(|x| x % at_ms.last().unwrap() == ms));
                last = at;
            }
        }
    }
}
