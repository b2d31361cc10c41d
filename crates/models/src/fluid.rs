//! What both simulations need: BBR's windowed maximum, and a queue that Little's law sets.

use std::collections::VecDeque;

/// The largest sample of the last `rounds` rounds, the present one among them. Rounds must not go back.
#[derive(Debug, Clone)]
pub(crate) struct MaxOfRounds {
    rounds: u64,
    /// Candidates: ascending rounds, descending samples.
    samples: VecDeque<(u64, f64)>,
}

impl MaxOfRounds {
    pub(crate) fn new(rounds: u64, first: f64) -> Self {
        Self { rounds, samples: VecDeque::from([(0, first)]) }
    }

    /// Takes a sample; gives the maximum.
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

/// The queueing delay, in the unit of `rtt`, at which throughputs by Little's law, `inflight / (rtt + delay)`, add up to `capacity`; 0 when
/// they do not fill it.
pub(crate) fn littles_delay(flows: &[(f64, f64); 2], capacity: f64) -> f64 {
    let used = |delay: f64| -> f64 { flows.iter().map(|(inflight, rtt)| inflight / (rtt + delay)).sum() };
    if capacity <= 0.0 || used(0.0) <= capacity {
        return 0.0;
    }
    // at this delay even flows without any RTT of their own would not exceed the capacity
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
    }

    #[test]
    fn littles_delay_fills_the_link_and_not_more() {
        assert_eq!(littles_delay(&[(1.0, 2.0), (1.0, 2.0)], 1.0), 0.0);
        let delay = littles_delay(&[(3.0, 1.0), (5.0, 2.0)], 1.0);
        assert!((3.0 / (1.0 + delay) + 5.0 / (2.0 + delay) - 1.0).abs() < 1e-12);
    }
}
