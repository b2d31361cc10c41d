//! A link with a first-in first-out queue in front of it.

use std::collections::VecDeque;

use fairpace_results::LinkSummary;

use crate::{Departed, Fate, LinkMeter, Nanos, Packet, SECOND, Schedule};

/// A packet in the queue or on the wire. Its times are known on arrival: nothing can overtake it.
#[derive(Debug, Clone)]
struct Held<T> {
    starts: Nanos,
    departs: Nanos,
    waited_ns: Nanos,
    packet: Packet<T>,
}

/// A link with a byte-limited drop-tail queue.
///
/// A packet departs (last bit out) at `max(arrival, link free) + bytes * 8 / rate`. The fraction of a
/// nanosecond is carried from packet to packet, so a busy link has exactly its rate; a departure time is
/// the exact one rounded down.
///
/// The limit is on the bytes that *wait*. A packet whose transmission has begun has left the queue, as it
/// has on Linux when the device has taken it from a bfifo; it is neither counted against the limit nor part of
/// the backlog. An arriving packet is dropped when waiting bytes plus its own exceed the limit; one that meets
/// an idle link does not wait and is never dropped.
///
/// The rate may change in steps that are known beforehand, so that departures remain computable on arrival. A packet
/// that a step meets in transmission goes on at the new rate; at a rate of 0 it waits on the wire for the next step.
#[derive(Debug, Clone)]
pub struct Fifo<T> {
    /// Rate in force at `free_ns`, unless a step is due there.
    rate_bps: u64,
    /// All steps: from when on, which rate. The first is at 0.
    steps: Vec<(Nanos, u64)>,
    /// The first step after `rate_bps`, and when: `Nanos::MAX` if there is none.
    next_step: usize,
    next_step_ns: Nanos,
    limit_bytes: u64,
    held: VecDeque<Held<T>>,
    /// How many of `held`, from the front, have begun transmission.
    begun: usize,
    waiting_bytes: u64,
    /// The link is free from `free_ns + free_fraction / rate_bps` on.
    free_ns: Nanos,
    free_fraction: u64,
    /// Length of the last packet and its transmission time, since most packets are as long as the one before.
    last_bytes: u32,
    last_service: (Nanos, u64),
    meter: LinkMeter,
}

impl<T> Fifo<T> {
    /// A link of `rate_bps` bits per second whose queue holds `limit_bytes`, shared by `flows` flows and
    /// metered by `schedule`. A rate of 0 is taken as 1 bit per second.
    pub fn new(rate_bps: u64, limit_bytes: u64, flows: usize, schedule: Schedule) -> Self {
        let rate_bps = rate_bps.max(1);
        Fifo {
            rate_bps,
            steps: vec![(0, rate_bps)],
            next_step: 1,
            next_step_ns: Nanos::MAX,
            limit_bytes,
            held: VecDeque::new(),
            begun: 0,
            waiting_bytes: 0,
            free_ns: 0,
            free_fraction: 0,
            last_bytes: 0,
            last_service: (0, 0),
            meter: LinkMeter::new(flows, schedule),
        }
    }

    /// The same with other rates, in bits per second, from given times on; 0 is an outage. Times must grow, and be
    /// later than 0.
    #[must_use]
    pub fn with_rates(mut self, steps: &[(Nanos, u64)]) -> Self {
        debug_assert!(steps.is_sorted_by(|a, b| a.0 < b.0) && steps.first().is_none_or(|s| s.0 > 0));
        self.steps.extend_from_slice(steps);
        self.next_step_ns = self.steps.get(1).map_or(Nanos::MAX, |s| s.0);
        self
    }

    /// Takes a packet and says when its last bit will be out, or gives it back: dropped.
    ///
    /// # Errors
    /// The packet itself, when the queue is full.
    #[inline]
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Result<Nanos, Packet<T>> {
        debug_assert!(self.held.front().is_none_or(|h| h.departs >= now), "push at {now} before poll");
        self.begin(now);
        let bytes = u64::from(packet.bytes);
        let idle = now > self.free_ns || (now == self.free_ns && self.free_fraction == 0);
        if idle {
            (self.free_ns, self.free_fraction) = (now, 0);
        } else if self.waiting_bytes + bytes > self.limit_bytes {
            self.meter.dropped(now, packet.flow, packet.bytes);
            return Err(packet);
        }
        let starts = self.free_ns;
        // Less than a nanosecond of residue can make `starts` equal `now` on a busy link: that is no wait.
        let waits = starts > now;
        self.occupy(packet.bytes);
        let departs = self.free_ns;
        if waits {
            self.waiting_bytes += bytes;
            self.meter.queued(now, packet.flow, packet.bytes);
        } else {
            debug_assert_eq!(self.begun, self.held.len());
            self.begun += 1;
        }
        self.held.push_back(Held { starts, departs, waited_ns: starts - now, packet });
        Ok(departs)
    }

    /// When the next packet departs.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        self.held.front().map(|h| h.departs)
    }

    /// The next packet that has departed by `now`; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        let at = self.next_event().filter(|at| *at <= now)?;
        self.begin(at);
        let Held { waited_ns, packet, .. } = self.held.pop_front()?;
        self.begun -= 1;
        self.meter.departed(at, packet.flow, packet.bytes, waited_ns);
        Some(Departed { at, waited_ns, fate: Fate::Delivered, packet })
    }

    /// Bytes that wait; what is being transmitted is not among them.
    pub fn backlog_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Packets that wait or are being transmitted.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True when nothing waits and nothing is being transmitted.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The link's rate at the start, bits per second.
    pub fn rate_bps(&self) -> u64 {
        self.steps.first().map_or(0, |s| s.1)
    }

    /// Bits that the link could send from one time to another.
    fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        let ends = self.steps.iter().skip(1).map(|s| s.0).chain([Nanos::MAX]);
        let part = |((begins, rate), ends): (&(Nanos, u64), Nanos)| {
            let ns = ends.min(to).saturating_sub(from.max(*begins));
            *rate as f64 * ns as f64 / SECOND as f64
        };
        self.steps.iter().zip(ends).map(part).sum()
    }

    /// A packet was dropped before it reached the queue.
    pub(crate) fn refused(&mut self, now: Nanos, packet: &Packet<T>) {
        self.begin(now);
        self.meter.dropped(now, packet.flow, packet.bytes);
    }

    /// A packet that has departed was lost on the line behind.
    pub(crate) fn lost(&mut self, now: Nanos, flow: u32) {
        self.meter.lost(now, flow);
    }

    /// The window's summary, once it has closed.
    pub fn summary(&self, name: &str) -> LinkSummary {
        let (from, to) = self.meter.window();
        self.meter.summary(name, self.rate_bps(), self.capacity_bits(from, to))
    }

    /// What the link has measured so far.
    pub fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// Ends the measurement at `now`, when everything due has been polled: closes intervals and window.
    pub fn finish(&mut self, now: Nanos) {
        self.begin(now);
        self.meter.finish(now);
    }

    /// Takes packets whose transmission has begun by `now` out of the backlog.
    #[inline]
    fn begin(&mut self, now: Nanos) {
        while let Some(held) = self.held.get(self.begun) {
            if held.starts > now {
                break;
            }
            self.waiting_bytes -= u64::from(held.packet.bytes);
            self.meter.begun(held.starts, held.packet.flow, held.packet.bytes);
            self.begun += 1;
        }
    }

    /// Occupies the link for `bytes` from the time it is free.
    #[inline]
    fn occupy(&mut self, bytes: u32) {
        if bytes != self.last_bytes {
            let bits_ns = u64::from(bytes) * 8 * SECOND;
            self.last_bytes = bytes;
            self.last_service = match self.rate_bps {
                0 => (Nanos::MAX, 0), // not before the next step
                rate => (bits_ns / rate, bits_ns % rate),
            };
        }
        let (whole, fraction) = self.last_service;
        // both fractions together may make one nanosecond more
        if self.free_ns.saturating_add(whole).saturating_add(1) >= self.next_step_ns {
            self.occupy_across_steps(bytes);
            return;
        }
        self.free_ns += whole;
        self.free_fraction += fraction;
        if self.free_fraction >= self.rate_bps {
            self.free_fraction -= self.rate_bps;
            self.free_ns += 1;
        }
    }

    /// The same when a step of the rate has come or may come before the last bit is out.
    #[cold]
    fn occupy_across_steps(&mut self, bytes: u32) {
        // what is to be sent and what can be, in bits x ns per s: whole numbers for any rate and fraction
        let mut work = u128::from(bytes) * 8 * u128::from(SECOND);
        loop {
            let (rate, until) = (u128::from(self.rate_bps), self.next_step_ns);
            let is_last = until == Nanos::MAX;
            if is_last && rate == 0 {
                (self.free_ns, self.free_fraction) = (Nanos::MAX, 0);
                return;
            }
            let fraction = u128::from(self.free_fraction);
            // an idle link may be beyond the step already; then there is no fraction
            let possible = rate * u128::from(until.saturating_sub(self.free_ns)) - fraction;
            if is_last || work <= possible {
                self.free_ns = self.free_ns.saturating_add(((work + fraction) / rate) as u64);
                self.free_fraction = ((work + fraction) % rate) as u64;
                return;
            }
            work -= possible;
            (self.free_ns, self.free_fraction) = (self.free_ns.max(until), 0);
            self.take_step();
        }
    }

    /// Goes on to the next rate.
    fn take_step(&mut self) {
        self.rate_bps = self.steps[self.next_step].1;
        self.next_step += 1;
        self.next_step_ns = self.steps.get(self.next_step).map_or(Nanos::MAX, |s| s.0);
        self.last_bytes = 0; // its transmission time was at the old rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    const SCHEDULE: Schedule = Schedule { window: (0, SECOND), interval: SECOND / 10, end: SECOND };

    fn packet(bytes: u32) -> Packet<u32> {
        Packet { flow: 0, bytes, ecn: Ecn::NotCapable, payload: 0 }
    }

    #[test]
    fn a_million_packets_leave_at_exactly_the_rate() {
        // 1500 bytes at 7 Mbit/s is 1714285.714... ns: any rounding per packet would show.
        let rate = 7_000_000;
        let mut link = Fifo::new(rate, u64::MAX, 1, SCHEDULE);
        let mut last = 0;
        for i in 1..=1_000_000u128 {
            last = link.push(0, packet(1500)).unwrap();
            assert_eq!(u128::from(last), i * 12_000 * 1_000_000_000 / u128::from(rate));
        }
        assert_eq!(last, 1_714_285_714_285);
    }

    #[test]
    fn a_packet_that_meets_an_idle_link_departs_after_its_transmission() {
        let mut link = Fifo::new(100_000_000, 0, 1, SCHEDULE);
        assert_eq!(link.push(500, packet(1250)), Ok(500 + 100_000));
        let d = link.poll(100_500).unwrap();
        assert_eq!((d.at, d.waited_ns), (100_500, 0));
    }

    #[test]
    fn the_packet_in_transmission_does_not_count_against_the_limit() {
        // Room for exactly two waiting packets beside the one on the wire.
        let mut link = Fifo::new(8_000_000, 2000, 1, SCHEDULE);
        let fates: Vec<bool> = (0..5).map(|_| link.push(0, packet(1000)).is_ok()).collect();
        assert_eq!(fates, [true, true, true, false, false]);
        assert_eq!(link.backlog_bytes(), 2000);
        // At 1 ms the second packet goes onto the wire and makes room for one more, and only one.
        assert_eq!(link.poll(1_000_000).unwrap().waited_ns, 0);
        assert_eq!(link.push(1_000_000, packet(1000)), Ok(4_000_000));
        assert!(link.push(1_000_000, packet(1)).is_err());
    }

    #[test]
    fn a_limit_is_reached_but_never_exceeded() {
        let mut link = Fifo::new(8_000_000, 1500, 1, SCHEDULE);
        assert!(link.push(0, packet(1000)).is_ok());
        assert!(link.push(0, packet(1501)).is_err());
        assert!(link.push(0, packet(1500)).is_ok());
        assert!(link.push(0, packet(1)).is_err());
        assert_eq!(link.backlog_bytes(), 1500);
    }

    #[test]
    fn d_d_1_waits_grow_by_service_minus_interarrival() {
        // Service 1 ms, arrivals every 0.8 ms: packet i waits i * 0.2 ms.
        let mut link = Fifo::new(8_000_000, u64::MAX, 1, SCHEDULE);
        let mut waits = Vec::new();
        for i in 0..100u64 {
            let now = i * 800_000;
            while let Some(d) = link.poll(now) {
                waits.push(d.waited_ns);
            }
            assert_eq!(link.push(now, packet(1000)), Ok((i + 1) * 1_000_000));
        }
        waits.extend(std::iter::from_fn(|| link.poll(u64::MAX)).map(|d| d.waited_ns));
        let expected: Vec<u64> = (0..100).map(|i| i * 200_000).collect();
        assert_eq!(waits, expected);
    }

    #[test]
    fn departures_come_in_order_and_only_when_due() {
        let mut link = Fifo::new(8_000_000, u64::MAX, 1, SCHEDULE);
        for i in 0..3 {
            link.push(0, Packet { flow: 0, bytes: 1000, ecn: Ecn::NotCapable, payload: i }).unwrap();
        }
        assert_eq!(link.next_event(), Some(1_000_000));
        assert_eq!(link.poll(999_999), None);
        let left: Vec<_> = std::iter::from_fn(|| link.poll(2_000_000)).map(|d| d.packet.payload).collect();
        assert_eq!(left, [0, 1]);
        assert_eq!(link.len(), 1);
    }

    #[test]
    fn a_packet_that_meets_a_step_goes_on_at_the_new_rate() {
        // 1000 bytes are 8000 bits. At 8 Mbit/s half of them are out after 0.5 ms; the rest takes 2 ms at 2 Mbit/s.
        let mut link = Fifo::new(8_000_000, 10_000, 1, SCHEDULE).with_rates(&[(500_000, 2_000_000)]);
        assert_eq!(link.push(0, packet(1000)), Ok(2_500_000));
        assert_eq!(link.push(0, packet(1000)), Ok(6_500_000));
    }

    #[test]
    fn an_outage_holds_what_it_meets_and_what_comes() {
        let mut link =
            Fifo::new(8_000_000, 2000, 1, SCHEDULE).with_rates(&[(500_000, 0), (10_000_000, 8_000_000)]);
        assert_eq!(link.push(0, packet(1000)), Ok(10_500_000));
        assert_eq!(link.push(1_000_000, packet(1000)), Ok(11_500_000));
        assert_eq!(link.push(2_000_000, packet(1000)), Ok(12_500_000));
        assert!(link.push(3_000_000, packet(1000)).is_err(), "the queue is full");
        assert_eq!(link.poll(11_500_000).map(|d| d.waited_ns), Some(0));
        assert_eq!(link.poll(11_500_000).map(|d| d.waited_ns), Some(9_500_000));
    }

    #[test]
    fn a_link_that_goes_down_for_good_lets_nothing_out() {
        let mut link = Fifo::new(8_000_000, 1000, 1, SCHEDULE).with_rates(&[(500_000, 0)]);
        assert_eq!(link.push(0, packet(1000)), Ok(Nanos::MAX));
        assert!(link.push(1_000_000, packet(1000)).is_ok() && link.push(2_000_000, packet(1000)).is_err());
        assert_eq!(link.poll(SECOND), None);
    }

    #[test]
    fn an_idle_link_has_the_rate_of_its_time() {
        let steps = [(10, 1_000_000), (20, 0), (1_000_000, 4_000_000)];
        let mut link = Fifo::new(8_000_000, 0, 1, SCHEDULE).with_rates(&steps);
        assert_eq!(link.push(2_000_000, packet(1000)), Ok(4_000_000));
    }

    #[test]
    fn a_busy_link_sends_exactly_what_its_rates_allow() {
        // rates that divide nothing evenly, changed every 0.7 ms or so: the last bit is out when the integral says so
        let mut steps: Vec<(Nanos, u64)> =
            (1..500).map(|i| (i * 700_001, 1_000_003 * (1 + i * 7 % 13))).collect();
        steps.push((500 * 700_001, 3_000_017));
        let mut link = Fifo::new(7_000_003, u64::MAX, 1, SCHEDULE).with_rates(&steps);
        let mut bits = 0;
        for i in 0..2000 {
            let last = link.push(0, packet(700 + i % 800)).unwrap();
            bits += 8 * u64::from(700 + i % 800);
            let possible = link.capacity_bits(0, last);
            // a departure is the exact one rounded down: less than a nanosecond's bits are missing
            assert!(bits as f64 - possible < 0.02 && possible - (bits as f64) < 0.02, "{bits} of {possible}");
        }
    }

    #[test]
    fn utilization_is_of_what_the_steps_allow() {
        let schedule = Schedule { window: (0, SECOND), interval: SECOND, end: SECOND };
        let mut link = Fifo::new(8_000_000, u64::MAX, 1, schedule).with_rates(&[(SECOND / 2, 800_000)]);
        for _ in 0..550 {
            link.push(0, packet(1000)).unwrap();
        }
        while link.poll(SECOND).is_some() {}
        link.finish(SECOND);
        let s = link.summary("l");
        // the last packet leaves when the window has just closed
        assert!((s.utilization - 549.0 / 550.0).abs() < 1e-12, "{}", s.utilization);
        assert_eq!(s.rate_mbps, 8.0);
    }
}
