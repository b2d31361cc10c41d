//! Propagation in order: a delay that may change, jitter, Wi-Fi, aggregation.

use fairpace_scenario::Random;

use crate::elements::jitter::Jitter;
use crate::elements::wifi::Wifi;
use crate::time::Nanos;

/// The state that gives the arrival time of each packet that enters. The order is kept: when the delay falls,
/// packets catch up with those ahead, but do not overtake them.
#[derive(Debug, Clone)]
pub struct Propagation {
    delay_ns: Nanos,
    /// Time before which the delay is all there is; 0 from the first step on.
    plain_until: Nanos,
    last: Nanos,
    /// Settings of few paths, kept apart so that the other paths stay small.
    more: Option<Box<More>>,
}

#[derive(Debug, Clone)]
struct More {
    /// Later delays: each a time and the delay from then on.
    steps: Vec<(Nanos, Nanos)>,
    next_step: usize,
    jitter: Jitter,
    aggregation_ns: Nanos,
    wifi: Option<Wifi>,
    random: Random,
}

impl Propagation {
    /// Returns a propagation that takes `delay_ns`.
    pub fn new(delay_ns: Nanos) -> Self {
        Propagation { delay_ns, plain_until: Nanos::MAX, last: 0, more: None }
    }

    /// Adds other delays from given times on, which must grow.
    #[must_use]
    pub fn with_delays(mut self, steps: Vec<(Nanos, Nanos)>) -> Self {
        debug_assert!(steps.is_sorted_by(|a, b| a.0 < b.0));
        if let Some((first, _)) = steps.first() {
            self.plain_until = self.plain_until.min(*first);
            self.more_mut().steps = steps;
        }
        self
    }

    /// Adds jitter. Packets are then held until the next multiple of `aggregation_ns` (0: they are not held),
    /// as by a radio link that aggregates frames.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter, aggregation_ns: Nanos, random: Random) -> Self {
        if !jitter.is_zero() || aggregation_ns > 0 {
            self.plain_until = 0;
            let more = self.more_mut();
            (more.jitter, more.aggregation_ns, more.random) = (jitter, aggregation_ns, random);
        }
        self
    }

    /// Adds the random extra delay of a packet on Wi-Fi, with this mean.
    #[must_use]
    pub fn with_wifi(mut self, mean_ns: Nanos, random: Random) -> Self {
        self.plain_until = 0;
        let more = self.more_mut();
        (more.wifi, more.random) = (Some(Wifi::new(mean_ns)), random);
        self
    }

    /// Draws from another random stream from now on.
    pub fn reseed(&mut self, seed: u64) {
        if let Some(more) = &mut self.more {
            more.random = Random::new(seed);
        }
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_with(|| {
            let random = Random::new(0);
            let steps = Vec::new();
            let jitter = Jitter::default();
            Box::new(More { steps, next_step: 0, jitter, aggregation_ns: 0, wifi: None, random })
        })
    }

    /// The delay in force at `at`, which must not be before times passed to [`enter`](Propagation::enter).
    /// Packets may still enter before `at`.
    #[inline]
    pub fn delay_at(&self, at: Nanos) -> Nanos {
        if at < self.plain_until { self.delay_ns } else { self.delay_then(at) }
    }

    #[cold]
    fn delay_then(&self, at: Nanos) -> Nanos {
        let coming = self.more.iter().flat_map(|more| &more.steps[more.next_step..]);
        coming.take_while(|step| step.0 <= at).last().map_or(self.delay_ns, |step| step.1)
    }

    /// The shortest time that any packet takes, ns.
    pub fn least_ns(&self) -> Nanos {
        let steps = self.more.iter().flat_map(|more| &more.steps);
        let least_ns = steps.map(|(_, delay_ns)| *delay_ns).fold(self.delay_ns, Nanos::min);
        least_ns.saturating_sub(self.more.as_ref().map_or(0, |more| more.jitter.most_below_ns()))
    }

    /// The delay in ns; `None` if it changes or if anything is added to it.
    pub fn constant_delay_ns(&self) -> Option<Nanos> {
        self.more.is_none().then_some(self.delay_ns)
    }

    /// Returns the time when a packet that enters at `now` leaves. Times must not go back.
    #[inline]
    pub fn enter(&mut self, now: Nanos) -> Nanos {
        self.last = if now < self.plain_until { now + self.delay_ns } else { self.enter_in_order(now) };
        self.last
    }

    #[cold]
    fn enter_in_order(&mut self, now: Nanos) -> Nanos {
        self.take_steps(now);
        let Some(More { jitter, aggregation_ns, wifi, random, .. }) = self.more.as_deref_mut() else {
            return now + self.delay_ns;
        };
        let at = match wifi {
            Some(wifi) => now + self.delay_ns + wifi.delay(random),
            None => now + jitter.delay(self.delay_ns, random),
        };
        let at = if *aggregation_ns == 0 { at } else { at.next_multiple_of(*aggregation_ns) };
        at.max(self.last)
    }

    #[cold]
    fn take_steps(&mut self, now: Nanos) {
        let Some(more) = &mut self.more else { return };
        while let Some((_, delay_ns)) = more.steps.get(more.next_step).filter(|s| s.0 <= now) {
            self.delay_ns = *delay_ns;
            more.next_step += 1;
            self.plain_until = 0; // what is on the way may be overtaken from now on
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purpose::Purpose;
    use fairpace_scenario::JitterShape;

    fn random() -> Random {
        Purpose::AckJitter.stream(1, 0)
    }

    fn uniform(most_ns: Nanos) -> Jitter {
        Jitter::new(most_ns, JitterShape::default())
    }

    #[test]
    fn a_plain_propagation_delays_by_the_same_time() {
        let mut propagation = Propagation::new(1000);
        assert_eq!([0, 7, 7, 100].map(|now| propagation.enter(now)), [1000, 1007, 1007, 1100]);
    }

    #[test]
    fn a_longer_route_leaves_a_gap_and_a_shorter_one_a_burst() {
        let mut propagation = Propagation::new(100).with_delays(vec![(50, 400), (200, 10)]);
        assert_eq!([40, 49, 50, 150].map(|now| propagation.enter(now)), [140, 149, 450, 550]);
        // what took the long route is not overtaken
        assert_eq!([200, 300, 540, 541].map(|now| propagation.enter(now)), [550, 550, 550, 551]);
        assert_eq!(propagation.delay_at(600), 10);
    }

    #[test]
    fn reading_a_future_delay_changes_nothing() {
        let mut propagation = Propagation::new(100).with_delays(vec![(50, 400), (200, 10)]);
        assert_eq!([0, 49, 50, 199, 200].map(|at| propagation.delay_at(at)), [100, 100, 400, 400, 10]);
        assert_eq!([40, 60].map(|now| propagation.enter(now)), [140, 460]);
    }

    #[test]
    fn steps_without_packets_are_skipped() {
        let mut propagation = Propagation::new(1).with_delays(vec![(10, 2), (20, 3), (30, 4)]);
        assert_eq!(propagation.enter(25), 28);
        assert_eq!(propagation.enter(35), 39);
    }

    #[test]
    fn jitter_is_uniform_within_its_bound() {
        // far apart, so that the order plays no part
        let mut propagation = Propagation::new(500).with_jitter(uniform(1000), 0, random());
        let extras: Vec<u64> =
            (0..100_000).map(|i| propagation.enter(i * 10_000) - i * 10_000 - 500).collect();
        assert_eq!((extras.iter().min(), extras.iter().max()), (Some(&0), Some(&1000)));
        let mean = extras.iter().sum::<u64>() as f64 / 1e5;
        // the standard deviation of one is 289
        assert!((mean - 500.0).abs() < 4.0 * 289.0 / 316.0, "{mean}");
    }

    #[test]
    fn jitter_keeps_the_order() {
        let mut propagation = Propagation::new(500).with_jitter(uniform(100_000), 0, random());
        let departures: Vec<u64> = (0..10_000).map(|i| propagation.enter(i * 100)).collect();
        assert!(departures.is_sorted());
        assert!((0..).zip(&departures).all(|(i, at)| (500..=100_500).contains(&(at - i * 100))));
    }

    #[test]
    fn aggregated_packets_leave_at_multiples_of_the_interval() {
        let mut propagation = Propagation::new(3).with_jitter(uniform(0), 10, random());
        assert_eq!([0, 6, 7, 8, 17, 18].map(|now| propagation.enter(now)), [10, 10, 10, 20, 20, 30]);
    }

    /// At 10 Mbit/s a packet comes every 1.2 ms. With one packet of 15 retransmitted for 90 ms on average,
    /// other packets wait behind it and arrive with it.
    #[test]
    fn packets_behind_a_retransmission_arrive_in_a_burst() {
        let mut propagation = Propagation::new(500).with_wifi(7_000_000, random());
        let arrivals: Vec<u64> = (0..100_000).map(|i| propagation.enter(i * 1_211_200)).collect();
        assert!(arrivals.is_sorted());
        let bursts = arrivals.chunk_by(|a, b| a == b);
        let longest = bursts.clone().map(<[u64]>::len).max();
        let together = bursts.filter(|burst| burst.len() > 1).map(<[u64]>::len).sum::<usize>();
        // 90 ms are 74 packets
        assert!(together > 90_000 && longest > Some(74), "{together} in bursts of up to {longest:?}");
    }

    #[test]
    fn the_seed_determines_all_times() {
        let departures = |seed, index| {
            let mut propagation =
                Propagation::new(5).with_jitter(uniform(1000), 0, Purpose::AckJitter.stream(seed, index));
            (0..100).map(|i| propagation.enter(i * 10)).collect::<Vec<_>>()
        };
        assert_eq!(departures(1, 0), departures(1, 0));
        assert_ne!(departures(1, 0), departures(2, 0));
        assert_ne!(departures(1, 0), departures(1, 1));
    }
}
