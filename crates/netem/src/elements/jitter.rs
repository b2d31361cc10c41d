//! Jitter: random deviations of a delay, uniform or normal, independent or correlated.

use fairpace_scenario::{Distribution, JitterShape, Random, WHOLE_PPB};

use crate::time::Nanos;

/// Largest deviation of the normal distribution, in standard deviations: netem's table of the distribution
/// ends there, too (16-bit entries of 1/8192 deviation). One value of 15,800 is beyond and is drawn again.
const MOST_DEVIATIONS: f64 = JitterShape::MOST_DEVIATIONS as f64;

/// The deviations of successive packets from a delay.
///
/// Uniform values are from 0 to the scale. Normal values have the mean 0 and the scale as standard deviation;
/// they are exact up to the truncation (Box and Muller, "A note on the generation of random normal deviates",
/// Annals of Mathematical Statistics, 1958), where netem takes entries of a table.
///
/// Correlation is netem's (`get_crandom` in net/sched/sch_netem.c): each value is c times the last one and
/// (1 - c) times a new one. Here that holds of the deviations themselves. netem correlates the random integer
/// from which it derives an entry of the table by its remainder, which is hardly correlated any more.
#[derive(Debug, Clone, Default)]
pub struct Jitter {
    scale_ns: Nanos,
    shape: JitterShape,
    /// The last value, if values are correlated.
    last: Option<f64>,
}

impl Jitter {
    /// Returns jitter of this scale.
    pub fn new(scale_ns: Nanos, shape: JitterShape) -> Self {
        Jitter { scale_ns, shape, last: None }
    }

    /// True if there is no jitter.
    pub fn is_zero(&self) -> bool {
        self.scale_ns == 0
    }

    /// The largest amount by which a value is below 0, ns.
    pub fn most_below_ns(&self) -> Nanos {
        match self.shape.distribution {
            Distribution::Uniform => 0,
            Distribution::Normal => self.scale_ns.saturating_mul(JitterShape::MOST_DEVIATIONS.into()),
        }
    }

    /// Returns `delay_ns` with the deviation of the next packet; at least 0.
    #[inline]
    pub fn delay(&mut self, delay_ns: Nanos, random: &mut Random) -> Nanos {
        if self.shape == JitterShape::default() {
            return delay_ns.saturating_add(random.below(self.scale_ns.saturating_add(1)));
        }
        delay_ns.saturating_add_signed(self.next_ns(random) as i64)
    }

    /// Returns the next deviation, ns.
    fn next_ns(&mut self, random: &mut Random) -> f64 {
        let new = match self.shape.distribution {
            Distribution::Uniform => random.below(self.scale_ns.saturating_add(1)) as f64,
            Distribution::Normal => truncated_normal(random) * self.scale_ns as f64,
        };
        let part = self.shape.correlation_ppb as f64 / WHOLE_PPB as f64;
        let value = self.last.map_or(new, |last| part * last + (1.0 - part) * new);
        self.last = Some(value);
        value
    }
}

/// Returns a value of the standard normal distribution between the largest deviations.
fn truncated_normal(random: &mut Random) -> f64 {
    loop {
        // the functions of libm are the same on every machine; 1 - u is above 0
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
        let value = radius * libm::cos(2.0 * std::f64::consts::PI * random.unit());
        if value.abs() <= MOST_DEVIATIONS {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of packets.
    const N: usize = 200_000;

    /// Returns the deviations of N packets in scales.
    fn values(distribution: Distribution, correlation_ppb: u64) -> Vec<f64> {
        let (mut jitter, mut random) =
            (Jitter::new(1_000_000, JitterShape { distribution, correlation_ppb }), Random::new(1));
        (0..N).map(|_| (jitter.delay(10_000_000, &mut random) as f64 - 1e7) / 1e6).collect()
    }

    /// Returns mean, standard deviation and correlation of neighbours.
    fn moments(values: &[f64]) -> (f64, f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        let product = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n;
        (mean, variance.sqrt(), product / variance)
    }

    #[test]
    fn normal_jitter_has_the_moments_and_the_tails_of_its_distribution() {
        let values = values(Distribution::Normal, 0);
        let (mean, deviation, correlation) = moments(&values);
        // four standard errors: 1 / sqrt(N) of the mean and of a correlation of 0, 1 / sqrt(2 N) of the
        // deviation
        assert!(mean.abs() < 0.009 && (deviation - 1.0).abs() < 0.0064, "{mean} {deviation}");
        assert!(correlation.abs() < 0.009, "{correlation}");
        let share = |beyond: f64| values.iter().filter(|v| v.abs() > beyond).count() as f64 / N as f64;
        // 31.73 % are beyond one deviation, 4.55 % beyond two, none beyond four
        assert!((share(1.0) - 0.3173).abs() < 0.0042 && (share(2.0) - 0.0455).abs() < 0.0019);
        assert!(share(3.5) > 0.0 && share(4.0) == 0.0);
    }

    #[test]
    fn correlation_is_that_of_neighbours_and_takes_its_part_of_the_deviation() {
        for (distribution, mean, deviation) in
            [(Distribution::Normal, 0.0, 1.0), (Distribution::Uniform, 0.5, 12f64.sqrt().recip())]
        {
            let (seen_mean, seen, correlation) = moments(&values(distribution, 250_000_000));
            // sqrt((1 - 1/4) / (1 + 1/4)) = 0.7746
            assert!((seen / (0.6f64.sqrt() * deviation) - 1.0).abs() < 0.01, "{seen}");
            assert!((seen_mean - mean).abs() < 0.009 && (correlation - 0.25).abs() < 0.01, "{correlation}");
        }
    }

    #[test]
    fn no_delay_is_below_zero() {
        let shape = JitterShape { distribution: Distribution::Normal, correlation_ppb: 0 };
        let (mut jitter, mut random) = (Jitter::new(1_000, shape), Random::new(2));
        let delays: Vec<Nanos> = (0..10_000).map(|_| jitter.delay(1_000, &mut random)).collect();
        // a delay of one deviation: 15.87 % are below it, four standard errors
        let none = delays.iter().filter(|delay| **delay == 0).count();
        assert!(none.abs_diff(1_587) < 146 && delays.iter().all(|delay| *delay <= 5_000), "{none}");
        assert_eq!(jitter.most_below_ns(), 4_000);
    }
}
