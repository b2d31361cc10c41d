//! Extra delays of packets on Wi-Fi.

use crate::time::{MS, Nanos};
use fairpace_scenario::{Random, WHOLE_PPB};

/// Time from one attempt to send to the next while the channel is in use.
const DEFERRAL: Nanos = MS;
/// Mean number of deferrals of a packet.
const DEFERRALS: f64 = 1.0;
/// Time from one retransmission of a frame to the next, ns: 7.5 ms.
const RETRANSMISSION: Nanos = 7_500_000;
/// Mean number of retransmissions of a packet that needs retransmissions.
const RETRANSMISSIONS: f64 = 12.0;
/// Mean time of all retransmissions of a packet, ns: 12 retransmissions of 7.5 ms each in the model.
const RETRANSMITTED: Nanos = 90 * MS;

/// The model of a Wi-Fi channel that other networks use of draft-huitema-ccwg-c4-test, section "Handling of
/// High Jitter Environments". By the hypothesis of its authors stations that do not hear each other cause
/// collisions on bad Wi-Fi, and back-off follows.
///
/// A packet is deferred for N1 ms less a random part of the last ms. N1 has a Poisson distribution with a
/// mean of 1. A share x of the packets is retransmitted, too: N2 times after 7.5 ms each, where N2 has a
/// Poisson distribution with a mean of 12. The target j of the mean delay sets x = (j - 1 ms) / 90 ms. The
/// mean is then 0.3 ms below the target, since the draft does not count the random part, 0.5 ms x (1 - 1/e).
///
/// Packets stay in order, as in the simulator of the draft: a receiver holds frames behind a missing one
/// (IEEE 802.11, reordering buffer of a block acknowledgment). So packets behind a retransmitted packet
/// arrive with it, in a burst. The model has no airtime that stations share, no loss, and no rates that
/// depend on the size of an aggregate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wifi {
    /// x of the model, billionths.
    retransmitted_ppb: u64,
}

impl Wifi {
    /// Returns the model for this target mean, from 1 ms to 91 ms.
    pub(crate) fn new(target: Nanos) -> Self {
        let above = target.saturating_sub(MS).min(RETRANSMITTED);
        Wifi { retransmitted_ppb: above * WHOLE_PPB / RETRANSMITTED }
    }

    /// Returns the delay of a packet, before it waits for those ahead.
    pub(crate) fn delay(self, random: &mut Random) -> Nanos {
        let deferrals = poisson(random, DEFERRALS);
        let deferred = match deferrals {
            0 => 0,
            n => n * DEFERRAL - random.below(DEFERRAL + 1),
        };
        let is_retransmitted = random.below(WHOLE_PPB) < self.retransmitted_ppb;
        let retransmissions = if is_retransmitted { poisson(random, RETRANSMISSIONS) } else { 0 };
        deferred + retransmissions * RETRANSMISSION
    }
}

/// Returns a number with a Poisson distribution (Knuth, "Seminumerical Algorithms", section 3.4.1): numbers
/// from 0 to 1 are multiplied until the product is below e to the minus mean. The exponential is libm's,
/// which gives equal results on every machine.
fn poisson(random: &mut Random, mean: f64) -> u64 {
    let least = libm::exp(-mean);
    let mut product = random.unit();
    let mut count = 0;
    while product > least {
        product *= random.unit();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of packets: enough for four standard deviations to be a percent.
    const PACKETS: usize = 200_000;

    fn delays_ms(target: Nanos) -> Vec<f64> {
        let (wifi, mut random) = (Wifi::new(target), Random::new(1));
        (0..PACKETS).map(|_| wifi.delay(&mut random) as f64 / 1e6).collect()
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    /// A Poisson distribution has equal mean and variance, and is 0 with probability e to the minus mean.
    #[test]
    fn counts_have_a_poisson_distribution() {
        for of in [DEFERRALS, RETRANSMISSIONS] {
            let mut random = Random::new(2);
            let counts: Vec<f64> = (0..PACKETS).map(|_| poisson(&mut random, of) as f64).collect();
            let seen = mean(counts.iter().copied());
            let variance = mean(counts.iter().map(|n| (n - of) * (n - of)));
            let zeros = counts.iter().filter(|n| **n == 0.0).count() as f64 / PACKETS as f64;
            // four standard deviations; the variance of a squared deviation is of + 2 of^2
            assert!((seen - of).abs() < 4.0 * (of / PACKETS as f64).sqrt(), "{seen}");
            assert!(
                (variance - of).abs() < 4.0 * ((of + 2.0 * of * of) / PACKETS as f64).sqrt(),
                "{variance}"
            );
            assert!((zeros - (-of).exp()).abs() < 4.0 * ((-of).exp() / PACKETS as f64).sqrt(), "{zeros}");
        }
    }

    #[test]
    fn the_mean_is_the_target_less_the_random_part() {
        for target_ms in [1, 7, 46, 91] {
            let seen = mean(delays_ms(target_ms * MS).into_iter());
            let expected = target_ms as f64 - 0.5 * (1.0 - (-1f64).exp());
            // of one packet at most some 50 ms
            assert!((seen - expected).abs() < 4.0 * 50.0 / (PACKETS as f64).sqrt(), "{seen} of {expected}");
        }
    }

    /// (7 - 1) / 90 of the packets are retransmitted, of which e^-12 zero times; others are deferred for more
    /// than 10 ms with a probability of 1e-8.
    #[test]
    fn a_share_of_the_packets_is_retransmitted() {
        let delays = delays_ms(7 * MS);
        let spikes: Vec<f64> = delays.iter().copied().filter(|ms| *ms > 10.0).collect();
        let share = spikes.len() as f64 / PACKETS as f64;
        let x = 6.0 / 90.0;
        // one retransmission of 7.5 ms may stay below 10 ms: 12 e^-12 is 7e-5 of them
        assert!((share / x - 1.0).abs() < 4.0 / (x * PACKETS as f64).sqrt() + 1e-3, "{share}");
        assert!((mean(spikes.into_iter()) / 90.7 - 1.0).abs() < 0.02);
        assert!(delays_ms(MS).iter().all(|ms| *ms < 12.0), "up to 1 ms nothing is retransmitted");
    }
}
