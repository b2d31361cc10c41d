//! The RED of Floyd and Jacobson: figure 2 of the paper, with the queue in bytes.

use fairpace_scenario::Random;

use super::settings::{MOST_BYTES, Verdict, power, weight, weight_log};
use crate::aqm::ring::MTU_BYTES;
use crate::time::{Nanos, SECOND};
use fairpace_scenario::Red;

#[derive(Debug, Clone)]
pub(super) struct Floyd {
    weight: f64,
    average: f64,
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    /// Transmission time of a full packet: one step of the average while the link is idle.
    step_ns: Nanos,
    /// Number of arrivals since the last drop; `None`: the average is not above the minimum.
    count: Option<u64>,
}

impl Floyd {
    pub(super) fn new(settings: &Red, gentle: bool, rate_bps: u64) -> Self {
        let (min, max) = (settings.min_bytes.min(MOST_BYTES), settings.max_bytes.min(MOST_BYTES));
        Floyd {
            weight: weight(weight_log(min, settings.burst_pkts)),
            average: 0.0,
            min: min as f64,
            max: max as f64,
            max_probability: settings.max_ppb.min(1_000_000_000) as f64 / 1e9,
            gentle,
            step_ns: (MTU_BYTES * 8 * SECOND / rate_bps.max(1)).max(1),
            count: None,
        }
    }

    #[inline]
    pub(super) fn update(&mut self, backlog_bytes: u64, idle: Option<Nanos>) {
        match idle {
            None => self.average += self.weight * (backlog_bytes as f64 - self.average),
            Some(idle) => self.average *= power(1.0 - self.weight, idle / self.step_ns),
        }
    }

    /// Decides on a packet. The paper's count is -1 below the minimum: the first packet above it is dropped
    /// with probability p_b.
    #[inline]
    pub(super) fn decide(&mut self, random: &mut Random) -> Verdict {
        if self.average < self.min {
            self.count = None;
            return Verdict::Pass;
        }
        let Some(p_b) = self.probability() else {
            self.count = Some(0);
            return Verdict::Forced;
        };
        let count = self.count.map_or(0, |n| n + 1);
        let left = 1.0 - count as f64 * p_b;
        if left > p_b && random.unit() * left >= p_b {
            self.count = Some(count);
            return Verdict::Pass;
        }
        self.count = Some(0);
        Verdict::Early
    }

    #[cfg(test)]
    pub(super) fn average(&self) -> f64 {
        self.average
    }

    /// The paper's p_b, from the minimum on; `None`: all packets are dropped.
    fn probability(&self) -> Option<f64> {
        if self.average < self.max {
            return Some(self.max_probability * (self.average - self.min) / (self.max - self.min));
        }
        let gently = (self.average - self.max) / self.max;
        (self.gentle && gently < 1.0).then_some(self.max_probability + (1.0 - self.max_probability) * gently)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FLOYD, RATE_BPS, assert_uniform, gaps};
    use super::*;

    fn floyd_at(settings: &Red, gentle: bool, average: f64) -> Floyd {
        Floyd { average, ..Floyd::new(settings, gentle, RATE_BPS) }
    }

    #[test]
    fn gaps_are_uniform() {
        // The paper increments its count before the decision, so the longest gap is one shorter: 1 / p - 1.
        let mut floyd = floyd_at(&FLOYD, false, 60.0 * MTU_BYTES as f64);
        let gaps = gaps(|random| floyd.decide(random), 100_000);
        assert_uniform(&gaps, 99);
    }

    #[test]
    fn the_probability_grows_linearly_between_the_thresholds() {
        for tenth in 1..10 {
            let mut floyd = floyd_at(&FLOYD, false, ((30 + 6 * tenth) * MTU_BYTES) as f64);
            let p = 0.02 * tenth as f64 / 10.0;
            assert!((floyd.probability().unwrap() - p).abs() < 1e-12);
            let seen = gaps(|r| floyd.decide(r), 20_000);
            let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
            // half of 1 / p; the standard deviation of the mean is 0.4 %
            assert!((mean / (0.5 / p) - 1.0).abs() < 0.016, "{mean} at {p}");
        }
    }

    #[test]
    fn nothing_below_the_minimum_and_everything_from_the_maximum_on() {
        let mut random = Random::new(2);
        for (average, verdict) in [(30 * MTU_BYTES - 1, Verdict::Pass), (90 * MTU_BYTES, Verdict::Forced)] {
            let mut floyd = floyd_at(&FLOYD, false, average as f64);
            assert!((0..1000).all(|_| floyd.decide(&mut random) == verdict));
        }
    }

    #[test]
    fn gentle_grows_to_twice_the_maximum() {
        let p = |average: f64| floyd_at(&FLOYD, true, average * MTU_BYTES as f64).probability();
        assert!((p(90.0).unwrap() - 0.02).abs() < 1e-12);
        assert!((p(135.0).unwrap() - 0.51).abs() < 1e-12);
        assert!(p(179.99).unwrap() > 0.999 && p(180.0).is_none());
        let steep = floyd_at(&FLOYD, false, 90.0 * MTU_BYTES as f64);
        assert_eq!(steep.probability(), None);
    }

    #[test]
    fn the_average_follows_the_backlog_by_its_weight() {
        let mut floyd = Floyd::new(&FLOYD, false, RATE_BPS);
        for n in 1..=500 {
            floyd.update(100_000, None);
            let exact = 100_000.0 * (1.0 - (31.0f64 / 32.0).powi(n));
            assert!((floyd.average - exact).abs() < 1e-6, "{n}");
        }
    }

    #[test]
    fn an_idle_link_ages_the_average_as_arrivals_at_an_empty_queue_would() {
        // 1514 bytes at 10 Mbit/s take 1211.2 us
        let (mut idle, mut busy) = (floyd_at(&FLOYD, false, 1e5), floyd_at(&FLOYD, false, 1e5));
        idle.update(0, Some(20 * 1_211_200));
        (0..20).for_each(|_| busy.update(0, None));
        assert!((idle.average - busy.average).abs() < 1e-6, "{} {}", idle.average, busy.average);
        idle.update(0, Some(Nanos::MAX));
        assert_eq!(idle.average, 0.0);
    }
}
