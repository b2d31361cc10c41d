//! Parts of both simulations: BBR's windowed maximum, and the queueing delay by Little's law.

use std::collections::VecDeque;

/// A windowed maximum: the largest sample of the last `rounds` rounds, including the present one; with 0
/// rounds, the last sample. Rounds must not decrease.
#[derive(Debug, Clone)]
pub(crate) struct MaxOfRounds {
    rounds: u64,
    /// Candidates for the maximum: rounds ascend, samples descend.
    samples: VecDeque<(u64, f64)>,
}

impl MaxOfRounds {
    pub(crate) fn new(rounds: u64, first: f64) -> Self {
        Self { rounds, samples: VecDeque::from([(0, first)]) }
    }

    /// Adds a sample and returns the maximum.
    pub(crate) fn update(&mut self, round: u64, sample: f64) -> f64 {
        while self.samples.back().is_some_and(|(_, last)| *last <= sample) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, sample));
        while self.samples.front().is_some_and(|(taken, _)| taken + self.rounds <= round) {
            self.samples.pop_front();
        }
        self.samples.front().map_or(sample, |(_, largest)| *largest)
    }
}

/// The queueing delay, in the unit of `rtt`, at which throughputs by Little's law, `inflight / (rtt +
/// delay)`, add up to `capacity`. It is 0 if they do not fill the capacity.
pub(crate) fn littles_delay(flows: &[(f64, f64); 2], capacity: f64) -> f64 {
    let used = |delay: f64| -> f64 { flows.iter().map(|(inflight, rtt)| inflight / (rtt + delay)).sum() };
    if capacity <= 0.0 || used(0.0) <= capacity {
        return 0.0;
    }
    // at this delay the flows do not exceed the capacity even with an RTT of 0
    let mut above = flows.iter().map(|(inflight, _)| inflight).sum::<f64>() / capacity;
    let mut below = 0.0;
    // 100 halvings are more than a double has bits
    for _ in 0..100 {
        let middle = 0.5 * (below + above);
        if used(middle) > capacity {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_as_many_rounds_as_the_window_has() {
        let mut filter = MaxOfRounds::new(3, 9.0);
        let maxima: Vec<_> = (1..=5).map(|round| filter.update(round, round as f64)).collect();
        assert_eq!(maxima, [9.0, 9.0, 3.0, 4.0, 5.0]);
        let mut filter = MaxOfRounds::new(2, 9.0);
        let maxima: Vec<_> = (1..=4).map(|round| filter.update(round, 5.0 - round as f64)).collect();
        assert_eq!(maxima, [9.0, 4.0, 3.0, 2.0]);
        let mut filter = MaxOfRounds::new(0, 9.0);
        let maxima: Vec<_> = (1..=4).map(|sample| filter.update(1, 5.0 - sample as f64)).collect();
        assert_eq!(maxima, [4.0, 3.0, 2.0, 1.0]);
    }

    #[test]
    fn littles_delay_fills_the_link_and_not_more() {
        assert_eq!(littles_delay(&[(1.0, 2.0), (1.0, 2.0)], 1.0), 0.0);
        let delay = littles_delay(&[(3.0, 1.0), (5.0, 2.0)], 1.0);
        assert!((3.0 / (1.0 + delay) + 5.0 / (2.0 + delay) - 1.0).abs() < 1e-12);
    }
}
