//! Random loss, as by bit errors or fading: not the drops of a full queue.

use crate::random::{Random, WHOLE_PPB};
use fairpace_scenario::Burst;

/// Decides which packets are lost.
///
/// Independent losses are Bernoulli trials. Bursts follow Gilbert's chain ("Capacity of a burst-noise
/// channel", Bell System Technical Journal, 1960): in its good state no packet is lost, in its bad state a
/// fixed share; the state may change after each packet. With losses in the good state too it is Elliott's
/// chain ("Estimates of error rates for codes on burst-noise channels", ibid., 1963).
#[derive(Debug, Clone)]
pub struct Loss {
    model: Model,
    random: Random,
}

#[derive(Debug, Clone)]
enum Model {
    Never,
    Independent {
        ppb: u64,
    },
    GilbertElliott {
        /// Share of packets lost in the bad state, and in the good state.
        in_bad_ppb: u64,
        in_good_ppb: u64,
        /// Probability of a change after a packet, in 2^-64: to the bad state, and to the good state.
        worse: u64,
        better: u64,
        bad: bool,
    },
}

/// Why no chain has the requested values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImpossibleLoss {
    /// The mean loss is not below the loss in bursts.
    #[error("the mean loss must be less than the loss within bursts")]
    MoreThanInBursts,
    /// The mean loss is not above the loss between bursts, so there would be no bursts.
    #[error("the mean loss must be more than the loss outside of bursts")]
    LessThanOutside,
    /// Good periods would have to be shorter than one packet.
    #[error(
        "bursts this short cannot make up so high a loss: there would be less than a packet between them"
    )]
    TooDense,
}

impl Loss {
    /// No loss.
    pub fn never() -> Self {
        Loss { model: Model::Never, random: Random::new(0) }
    }

    /// Loses `mean_ppb` billionths of all packets: independently, or in bursts.
    ///
    /// # Errors
    /// As [`Loss::gilbert_elliott`].
    pub fn new(mean_ppb: u64, burst: Option<Burst>, random: Random) -> Result<Self, ImpossibleLoss> {
        match burst {
            None => Ok(Loss::independent(mean_ppb, random)),
            Some(burst) => Loss::gilbert_elliott(mean_ppb, burst, random),
        }
    }

    /// Loses each packet with a probability of `ppb` billionths, independently of others.
    pub fn independent(ppb: u64, random: Random) -> Self {
        let model = if ppb == 0 { Model::Never } else { Model::Independent { ppb } };
        Loss { model, random }
    }

    /// Loses `mean_ppb` billionths of all packets, more of them within bursts than between.
    ///
    /// # Errors
    /// [`ImpossibleLoss`], when no chain has these values.
    pub fn gilbert_elliott(mean_ppb: u64, burst: Burst, mut random: Random) -> Result<Self, ImpossibleLoss> {
        if mean_ppb == 0 {
            return Ok(Loss::never());
        }
        let positive = |n: u64, less: u64| n.checked_sub(less).filter(|n| *n > 0);
        let Burst { pkts, inside_ppb, outside_ppb } = burst;
        let below = positive(inside_ppb.min(WHOLE_PPB), mean_ppb).ok_or(ImpossibleLoss::MoreThanInBursts)?;
        let above = positive(mean_ppb, outside_ppb).ok_or(ImpossibleLoss::LessThanOutside)?;
        // The mean is between the losses of both states. Its distance from each gives the ratio of the times
        // in them, and so the ratio of both probabilities.
        let burst_pkts = pkts.max(1);
        let worse = (u128::from(above) << 64) / (u128::from(below) * u128::from(burst_pkts));
        let bad = random.below(above + below) < above;
        let worse = u64::try_from(worse).map_err(|_| ImpossibleLoss::TooDense)?;
        let better = u64::try_from((1u128 << 64) / u128::from(burst_pkts)).unwrap_or(u64::MAX);
        Ok(Loss {
            model: Model::GilbertElliott {
                in_bad_ppb: inside_ppb,
                in_good_ppb: outside_ppb,
                worse,
                better,
                bad,
            },
            random,
        })
    }

    /// Draws from another random stream from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Can it lose any packet?
    #[inline]
    pub fn is_possible(&self) -> bool {
        !matches!(self.model, Model::Never)
    }

    /// Is the next packet lost?
    #[inline]
    pub fn loses(&mut self) -> bool {
        match self.model {
            Model::Never => false,
            _ => self.draw(),
        }
    }

    #[cold]
    fn draw(&mut self) -> bool {
        match &mut self.model {
            Model::Never => false,
            Model::Independent { ppb } => self.random.chance(*ppb),
            Model::GilbertElliott { in_bad_ppb, in_good_ppb, worse, better, bad } => {
                let ppb = if *bad { *in_bad_ppb } else { *in_good_ppb };
                let lost = ppb > 0 && self.random.chance(ppb);
                let changes = self.random.next_u64() < if *bad { *better } else { *worse };
                *bad ^= changes;
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One percent in billionths.
    const PERCENT: u64 = WHOLE_PPB / 100;

    fn bursts(mean_ppb: u64, pkts: u64, inside_ppb: u64, random: Random) -> Result<Loss, ImpossibleLoss> {
        Loss::gilbert_elliott(mean_ppb, Burst { pkts, inside_ppb, outside_ppb: 0 }, random)
    }

    fn fates(mut loss: Loss, n: usize) -> Vec<bool> {
        (0..n).map(|_| loss.loses()).collect()
    }

    fn share(fates: &[bool]) -> f64 {
        fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
    }

    /// Lengths of runs of lost packets.
    fn runs(fates: &[bool]) -> Vec<usize> {
        fates.split(|lost| !lost).map(<[bool]>::len).filter(|n| *n > 0).collect()
    }

    fn mean(lengths: &[usize]) -> f64 {
        lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
    }

    #[test]
    fn independent_losses_are_within_four_standard_deviations_of_their_rate() {
        let n = 1_000_000;
        for (seed, ppb) in [(1, 10_000), (2, PERCENT / 10), (3, PERCENT), (4, 30 * PERCENT)] {
            let p = ppb as f64 / WHOLE_PPB as f64;
            let deviation = (p * (1.0 - p) / n as f64).sqrt();
            let seen = share(&fates(Loss::independent(ppb, Random::new(seed)), n));
            assert!((seen - p).abs() < 4.0 * deviation, "{seen} of {p}");
        }
    }

    #[test]
    fn independent_losses_do_not_cluster() {
        // the mean length of a run of losses is 1 / (1 - p)
        let seen = fates(Loss::independent(20 * PERCENT, Random::new(5)), 1_000_000);
        assert!((mean(&runs(&seen)) - 1.25).abs() < 0.01);
    }

    #[test]
    fn bursts_have_the_configured_mean_loss_and_length() {
        let (n, p) = (4_000_000, 0.02);
        let loss = bursts(2 * PERCENT, 8, WHOLE_PPB, Random::new(6)).unwrap();
        let seen = fates(loss, n);
        // a chain of memory lambda = 1 - worse - better has (1 + lambda) / (1 - lambda) times a Bernoulli's
        // variance
        let (better, worse) = (1.0 / 8.0, p / (1.0 - p) / 8.0);
        let lambda: f64 = 1.0 - better - worse;
        let deviation = (p * (1.0 - p) / n as f64 * (1.0 + lambda) / (1.0 - lambda)).sqrt();
        assert!((share(&seen) - p).abs() < 4.0 * deviation, "{}", share(&seen));
        // geometric lengths: their standard deviation is about their mean
        let lengths = runs(&seen);
        let deviation = 8.0 / (lengths.len() as f64).sqrt();
        assert!((mean(&lengths) - 8.0).abs() < 4.0 * deviation, "{}", mean(&lengths));
    }

    #[test]
    fn a_bad_period_may_let_packets_through() {
        let loss = bursts(PERCENT, 50, 40 * PERCENT, Random::new(7)).unwrap();
        let seen = fates(loss, 4_000_000);
        assert!((share(&seen) / 0.01 - 1.0).abs() < 0.05, "{}", share(&seen));
        // within a period losses are independent: a loss is followed by one with about 0.4 x (1 - 1/50)
        let followed = seen.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        let lost = seen.iter().filter(|lost| **lost).count() as f64;
        assert!((followed / lost - 0.4 * 0.98).abs() < 0.02, "{}", followed / lost);
    }

    #[test]
    fn elliotts_chain_also_loses_between_bursts_and_keeps_the_mean() {
        let n = 4_000_000;
        let burst = Burst { pkts: 100, inside_ppb: 50 * PERCENT, outside_ppb: PERCENT / 2 };
        let seen = fates(Loss::gilbert_elliott(2 * PERCENT, burst, Random::new(9)).unwrap(), n);
        // it is bad for (2 - 0.5) / (50 - 0.5) of the time, in periods of 100 packets
        let (p, bad, out, inside) = (0.02, 1.5 / 49.5, 0.005, 0.5);
        let better: f64 = 0.01;
        let lambda = 1.0 - better - better * bad / (1.0 - bad);
        // variance: of the draws, and of the share of bad periods, which are correlated over lambda
        let spread = (inside - out) * (inside - out) * bad * (1.0 - bad);
        let variance = p * (1.0 - p) + spread * 2.0 * lambda / (1.0 - lambda);
        assert!((share(&seen) - p).abs() < 4.0 * (variance / n as f64).sqrt(), "{}", share(&seen));
        // P(loss at k and at k + d) = p^2 + spread x lambda^d: the memory of the chain, whatever the state
        // that lost. There are some 1,200 bursts; the variance of their lengths leaves 4 % of uncertainty.
        for d in [1, 10, 100] {
            let both = (0..n - d).filter(|k| seen[*k] && seen[k + d]).count() as f64 / (n - d) as f64;
            let expected = p * p + spread * lambda.powi(d as i32);
            assert!((both - expected).abs() < 0.15 * expected, "{d}: {both} {expected}");
        }
        // After 200 packets without loss the chain is good, or has just become bad: two packets follow on
        // average before a loss.
        let (mut calm, mut after, mut lost) = (0, 0, 0);
        for fate in &seen {
            if calm >= 200 {
                after += 1;
                lost += u32::from(*fate);
            }
            calm = if *fate { 0 } else { calm + 1 };
        }
        let rate = f64::from(lost) / f64::from(after);
        let worse = better * bad / (1.0 - bad);
        assert!((rate / (out + worse) - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn the_same_seed_loses_the_same_packets() {
        let of = |seed| fates(bursts(PERCENT, 4, WHOLE_PPB, Random::new(seed)).unwrap(), 10_000);
        assert_eq!(of(8), of(8));
        assert_ne!(of(8), of(9));
    }

    #[test]
    fn no_loss_draws_nothing_and_loses_nothing() {
        assert!(fates(Loss::independent(0, Random::new(1)), 1000).iter().all(|lost| !lost));
        assert!(fates(bursts(0, 5, WHOLE_PPB, Random::new(1)).unwrap(), 1000).iter().all(|lost| !lost));
        assert!(fates(Loss::independent(WHOLE_PPB, Random::new(1)), 1000).iter().all(|lost| *lost));
    }

    #[test]
    fn contradictory_bursts_are_refused() {
        let refused = |mean, length, within| bursts(mean, length, within, Random::new(1)).err();
        assert_eq!(refused(10 * PERCENT, 5, 10 * PERCENT), Some(ImpossibleLoss::MoreThanInBursts));
        assert_eq!(refused(60 * PERCENT, 1, WHOLE_PPB), Some(ImpossibleLoss::TooDense));
        assert_eq!(refused(40 * PERCENT, 1, WHOLE_PPB), None);
        let burst = Burst { pkts: 5, inside_ppb: WHOLE_PPB, outside_ppb: PERCENT };
        assert_eq!(
            Loss::gilbert_elliott(PERCENT, burst, Random::new(1)).err(),
            Some(ImpossibleLoss::LessThanOutside)
        );
    }
}
