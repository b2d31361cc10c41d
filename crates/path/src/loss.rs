//! Random loss on a line: bit errors, radio fades; not the drops of a full queue.

use crate::random::{Random, WHOLE_PPB};

/// Decides packet by packet.
///
/// Independent losses are Bernoulli trials. Bursts follow Gilbert's chain ("Capacity of a burst-noise channel", Bell
/// System Technical Journal, 1960): in its good state no packet is lost, in its bad state a fixed share; the
/// state may change after each packet. Elliott's generalisation, losses in the good state too, is a second element.
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
    Bursts {
        /// Share of packets lost in the bad state.
        in_bad_ppb: u64,
        /// Chance of a change after a packet, in 2^-64: to the bad state, to the good one.
        worse: u64,
        better: u64,
        bad: bool,
    },
}

/// Why bursts of this kind cannot exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchLoss {
    /// More would be lost on average than in a burst.
    #[error("the mean loss must be less than the loss within bursts")]
    MoreThanInBursts,
    /// Good periods would have to be shorter than one packet.
    #[error(
        "bursts this short cannot make up so high a loss: there would be less than a packet between them"
    )]
    TooDense,
}

impl Loss {
    /// Nothing is ever lost.
    pub fn never() -> Self {
        Loss { model: Model::Never, random: Random::new(0) }
    }

    /// Independent losses, or bursts of so many packets and such a loss, if given.
    ///
    /// # Errors
    /// As [`Loss::bursts`].
    pub fn new(mean_ppb: u64, burst: Option<(u64, u64)>, random: Random) -> Result<Self, NoSuchLoss> {
        match burst {
            None => Ok(Loss::independent(mean_ppb, random)),
            Some((pkts, in_burst_ppb)) => Loss::bursts(mean_ppb, pkts, in_burst_ppb, random),
        }
    }

    /// Each packet is lost with a probability of `ppb` billionths, whatever became of others.
    pub fn independent(ppb: u64, random: Random) -> Self {
        let model = if ppb == 0 { Model::Never } else { Model::Independent { ppb } };
        Loss { model, random }
    }

    /// Of all packets `mean_ppb` billionths are lost. Losses come in bad periods of `burst_pkts` packets on average
    /// (at least 1), in which `in_burst_ppb` billionths of the packets are lost.
    ///
    /// # Errors
    /// [`NoSuchLoss`], when no chain has these values.
    pub fn bursts(
        mean_ppb: u64,
        burst_pkts: u64,
        in_burst_ppb: u64,
        mut random: Random,
    ) -> Result<Self, NoSuchLoss> {
        if mean_ppb == 0 {
            return Ok(Loss::never());
        }
        let good_ppb = in_burst_ppb
            .min(WHOLE_PPB)
            .checked_sub(mean_ppb)
            .filter(|n| *n > 0)
            .ok_or(NoSuchLoss::MoreThanInBursts)?;
        // The chain is in its bad state for mean / in_burst of the time, which fixes the ratio of both chances.
        let burst_pkts = burst_pkts.max(1);
        let worse = (u128::from(mean_ppb) << 64) / (u128::from(good_ppb) * u128::from(burst_pkts));
        let bad = random.below(mean_ppb + good_ppb) < mean_ppb;
        let worse = u64::try_from(worse).map_err(|_| NoSuchLoss::TooDense)?;
        let better = u64::try_from((1u128 << 64) / u128::from(burst_pkts)).unwrap_or(u64::MAX);
        Ok(Loss { model: Model::Bursts { in_bad_ppb: in_burst_ppb, worse, better, bad }, random })
    }

    /// The same with the randomness of another seed, from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Can it lose anything at all?
    #[inline]
    pub fn is_possible(&self) -> bool {
        !matches!(self.model, Model::Never)
    }

    /// Is the next packet lost?
    #[inline]
    pub fn takes(&mut self) -> bool {
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
            Model::Bursts { in_bad_ppb, worse, better, bad } => {
                let lost = *bad && self.random.chance(*in_bad_ppb);
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

    const PERCENT: u64 = WHOLE_PPB / 100;

    fn fates(mut loss: Loss, n: usize) -> Vec<bool> {
        (0..n).map(|_| loss.takes()).collect()
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
    fn bursts_have_the_mean_loss_and_the_mean_length_asked_for() {
        let (n, p) = (4_000_000, 0.02);
        let loss = Loss::bursts(2 * PERCENT, 8, WHOLE_PPB, Random::new(6)).unwrap();
        let seen = fates(loss, n);
        // a chain of memory lambda = 1 - worse - better has (1 + lambda) / (1 - lambda) times a Bernoulli's variance
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
        let loss = Loss::bursts(PERCENT, 50, 40 * PERCENT, Random::new(7)).unwrap();
        let seen = fates(loss, 4_000_000);
        assert!((share(&seen) / 0.01 - 1.0).abs() < 0.05, "{}", share(&seen));
        // within a period losses are independent: a loss is followed by one with about 0.4 x (1 - 1/50)
        let followed = seen.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        let lost = seen.iter().filter(|lost| **lost).count() as f64;
        assert!((followed / lost - 0.4 * 0.98).abs() < 0.02, "{}", followed / lost);
    }

    #[test]
    fn the_same_seed_loses_the_same_packets() {
        let of = |seed| fates(Loss::bursts(PERCENT, 4, WHOLE_PPB, Random::new(seed)).unwrap(), 10_000);
        assert_eq!(of(8), of(8));
        assert_ne!(of(8), of(9));
    }

    #[test]
    fn no_loss_draws_nothing_and_loses_nothing() {
        assert!(fates(Loss::independent(0, Random::new(1)), 1000).iter().all(|lost| !lost));
        assert!(fates(Loss::bursts(0, 5, WHOLE_PPB, Random::new(1)).unwrap(), 1000).iter().all(|lost| !lost));
        assert!(fates(Loss::independent(WHOLE_PPB, Random::new(1)), 1000).iter().all(|lost| *lost));
    }

    #[test]
    fn bursts_that_cannot_be_are_refused() {
        let bursts = |mean, length, within| Loss::bursts(mean, length, within, Random::new(1)).err();
        assert_eq!(bursts(10 * PERCENT, 5, 10 * PERCENT), Some(NoSuchLoss::MoreThanInBursts));
        assert_eq!(bursts(60 * PERCENT, 1, WHOLE_PPB), Some(NoSuchLoss::TooDense));
        assert_eq!(bursts(40 * PERCENT, 1, WHOLE_PPB), None);
    }
}
