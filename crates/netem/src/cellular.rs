//! Rates of cellular links that follow from a scenario's seed.

use std::f64::consts::TAU;

use fairpace_scenario::{Cellular, Random, Scenario, WHOLE_PPB, ns};

use crate::purpose::Purpose;
use crate::time::{MS, Nanos};

/// Time from one rate to the next. Recorded links are fitted at this distance (`docs/notes/cellular.md`).
const STEP: Nanos = 100 * MS;

/// Returns the rates after each change, bits per second; 0 is an outage. Until the first change the link has
/// its own rate, which is the mean of all.
///
/// The logarithm of the rate is x(n + 1) = m x(n) + sqrt(1 - m^2) z, with z from a standard normal
/// distribution and m = exp(-STEP / memory), times the standard deviation that gives the spread. Rates and
/// outages come from generators of their own, so the rates between outages do not depend on the outages,
/// except for the factor that makes the mean exact. Logarithm, exponential and cosine are libm's, which are
/// the same on every machine.
pub(crate) fn rate_steps(scenario: &Scenario, link: usize, of: Cellular) -> Vec<(Nanos, u64)> {
    let mean_bps = scenario.links[link].rate_bps as f64;
    let stream = |purpose: Purpose| purpose.stream(scenario.seed, link as u32);
    let (mut walk, mut outages) = (stream(Purpose::CellularRates), stream(Purpose::CellularOutages));
    // of a log-normal distribution: (standard deviation / mean)^2 = exp(deviation^2) - 1
    let spread = of.spread_ppb as f64 / WHOLE_PPB as f64;
    let deviation = libm::sqrt(libm::log1p(spread * spread));
    let memory = libm::exp(-(STEP as f64) / ns(of.memory).max(1) as f64);
    let innovation = libm::sqrt(1.0 - memory * memory);
    let begins_ppb = per_step_ppb(of.outage_every);
    let ends_ppb = per_step_ppb(of.outage);
    let (mut level, mut is_out) = (normal(&mut walk), false);
    let mut next = || {
        level = memory * level + innovation * normal(&mut walk);
        let changes = outages.chance(if is_out { ends_ppb } else { begins_ppb });
        is_out ^= changes;
        if is_out { 0.0 } else { libm::exp(deviation * level) }
    };
    // the run's last step may be shorter than the others
    let duration = ns(scenario.duration);
    let steps: Vec<(Nanos, f64)> =
        (1..duration.div_ceil(STEP)).map(|number| (number * STEP, next())).collect();
    let lasts = |at: Nanos| STEP.min(duration - at) as f64;
    let sum: f64 = steps.iter().map(|(at, rate)| rate * lasts(*at)).sum();
    let time: f64 = steps.iter().map(|(at, _)| lasts(*at)).sum();
    // nothing but an outage has no mean
    let factor = if sum > 0.0 { mean_bps * time / sum } else { 0.0 };
    steps.into_iter().map(|(at, rate)| (at, (rate * factor) as u64)).collect()
}

/// Returns the probability that a state of this mean length ends in a step, billionths; 0 without a length.
fn per_step_ppb(mean: Option<std::time::Duration>) -> u64 {
    mean.map_or(0, |mean| WHOLE_PPB * STEP / ns(mean).max(STEP))
}

/// Returns a number from a standard normal distribution (Box and Muller 1958): exact, up to the 53 bits of
/// the two uniform numbers that it takes, which bound it by 8.6.
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
    radius * libm::cos(TAU * random.unit())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairpace_scenario::Link;

    use super::*;
    use crate::time::SECOND;

    /// Statistics of `docs/notes/cellular.md` for a recorded link, over six hours.
    fn scenario(seed: u64, outages: bool) -> (Scenario, Cellular) {
        let cellular = Cellular {
            spread_ppb: 850_000_000,
            memory: Duration::from_secs(2),
            outage: outages.then_some(Duration::from_millis(600)),
            outage_every: outages.then_some(Duration::from_secs(10)),
        };
        let link = Link { cellular: Some(cellular), ..Link::new("radio", 5_000_000, 1_000_000) };
        let lasts = Duration::from_secs(6 * 3_600);
        let scenario = Scenario {
            title: String::new(),
            why: String::new(),
            seed,
            duration: lasts,
            window: (Duration::ZERO, lasts),
            interval: Duration::from_secs(1),
            links: vec![link.clone(), link],
            flows: Vec::new(),
            hash: String::new(),
        };
        (scenario, cellular)
    }

    fn rates_mbps(seed: u64, outages: bool) -> Vec<f64> {
        let (scenario, cellular) = scenario(seed, outages);
        let steps = rate_steps(&scenario, 0, cellular);
        assert!((1..).zip(&steps).all(|(number, (at, _))| *at == number * STEP));
        assert_eq!(steps.len() as u64, 6 * 3_600 * SECOND / STEP - 1);
        steps.into_iter().map(|(_, rate)| rate as f64 / 1e6).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn mean_spread_and_memory_are_those_of_the_keys() {
        let rates = rates_mbps(1, false);
        // exactly, but for the fractions of bit/s that 216,000 rates lose
        assert!((mean(&rates) - 5.0).abs() < 1e-6, "{}", mean(&rates));
        let variance = mean(&rates.iter().map(|rate| (rate - 5.0).powi(2)).collect::<Vec<_>>());
        // six hours have 5,400 independent values: the error of the spread is about 2 %
        assert!((variance.sqrt() / 5.0 - 0.85).abs() < 0.06, "{}", variance.sqrt() / 5.0);
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let centre = mean(&logs);
        let together = |steps: usize| {
            let products = logs.iter().zip(&logs[steps..]).map(|(a, b)| (a - centre) * (b - centre));
            mean(&products.collect::<Vec<_>>())
        };
        // sqrt(ln(1 + 0.85^2))
        assert!((together(0).sqrt() - 0.7374).abs() < 0.03, "{}", together(0).sqrt());
        for (steps, expected) in [(1, (-0.05f64).exp()), (10, (-0.5f64).exp()), (20, (-1f64).exp())] {
            let correlation = together(steps) / together(0);
            assert!((correlation - expected).abs() < 0.05, "after {steps} steps: {correlation}");
        }
        // a normal distribution has 15.9 % above one standard deviation, and 2.3 % above two
        let above = |deviations: f64| {
            let bound = centre + deviations * together(0).sqrt();
            logs.iter().filter(|log| **log > bound).count() as f64 / logs.len() as f64
        };
        assert!((above(1.0) - 0.159).abs() < 0.02 && (above(2.0) - 0.023).abs() < 0.008);
    }

    #[test]
    fn outages_have_their_mean_length_and_distance_and_the_mean_rate_stays() {
        let rates = rates_mbps(1, true);
        assert!((mean(&rates) - 5.0).abs() < 1e-6, "{}", mean(&rates));
        let out = rates.iter().filter(|rate| **rate == 0.0).count() as f64;
        let begins = rates.windows(2).filter(|pair| pair[0] > 0.0 && pair[1] == 0.0).count() as f64;
        // about 2,040 outages: their number, and a geometric length, have errors of 2.2 and 2 %
        assert!((out / begins * 0.1 - 0.6).abs() < 0.06, "{} s", out / begins * 0.1);
        let between = (rates.len() as f64 - out) / begins * 0.1;
        assert!((between - 10.0).abs() < 1.0, "{between} s");
        // the walk goes on behind outages: between them rates are those without outages, times one factor
        let quiet = rates_mbps(1, false);
        let first = rates.iter().zip(&quiet).find(|(rate, _)| **rate > 0.0).map(|(a, b)| a / b).unwrap();
        let same = |(a, b): (&f64, &f64)| *a == 0.0 || (a / b / first - 1.0).abs() < 1e-3;
        assert!(rates.iter().zip(&quiet).all(same));
    }

    #[test]
    fn the_seed_and_the_link_decide() {
        let (one, cellular) = scenario(1, true);
        assert_eq!(rate_steps(&one, 0, cellular), rate_steps(&one, 0, cellular));
        assert_ne!(rate_steps(&one, 0, cellular), rate_steps(&one, 1, cellular));
        assert_ne!(rate_steps(&one, 0, cellular), rate_steps(&scenario(2, true).0, 0, cellular));
    }

    #[test]
    fn a_run_shorter_than_a_step_has_the_rate_of_the_link() {
        let (mut one, cellular) = scenario(1, false);
        one.duration = Duration::from_millis(100);
        assert_eq!(rate_steps(&one, 0, cellular), []);
        // a second step that lasts for half of its time has the rate that makes the mean exact: the link's
        one.duration = Duration::from_millis(150);
        let steps = rate_steps(&one, 0, cellular);
        assert!(steps.len() == 1 && steps[0].1.abs_diff(5_000_000) <= 1, "{steps:?}");
    }
}
