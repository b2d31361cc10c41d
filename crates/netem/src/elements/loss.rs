//! Random loss, as by bit errors or fading: not the drops of a full queue.

use std::sync::Arc;

use fairpace_results::LossBursts;
use fairpace_scenario::{Burst, BurstLength, Random, WHOLE_PPB, ns};

use crate::elements::loss_steps::InSteps;
use crate::time::{Nanos, SECOND};

/// The model that decides which packets are lost.
///
/// Independent losses are Bernoulli trials. Bursts of packets follow Gilbert's chain ("Capacity of a
/// burst-noise channel", Bell System Technical Journal, 1960): in its good state no packet is lost, in its
/// bad state a fixed share; the state may change after each packet. With losses in the good state, too, the
/// chain is Elliott's ("Estimates of error rates for codes on burst-noise channels", ibid., 1963).
///
/// Bursts of a time are the same two states in continuous time: the state changes whether packets are sent or
/// not.
#[derive(Debug, Clone)]
pub struct Loss {
    model: Model,
    random: Random,
}

/// The models of loss. The chains are boxed: they are larger than the other parts of a link or a connection.
#[derive(Debug, Clone)]
enum Model {
    Never,
    Independent { ppb: u64 },
    InPackets(Box<InPackets>),
    InTime(Box<InTime>),
    InSteps(Box<InSteps>),
}

/// Shares of packets lost in either state, billionths.
#[derive(Debug, Clone, Copy)]
struct Shares {
    in_bad_ppb: u64,
    in_good_ppb: u64,
}

impl Shares {
    fn loses(self, is_bad: bool, random: &mut Random) -> bool {
        let ppb = if is_bad { self.in_bad_ppb } else { self.in_good_ppb };
        ppb > 0 && random.chance(ppb)
    }
}

/// Gilbert and Elliott's chain, whose state may change after each packet.
#[derive(Debug, Clone)]
struct InPackets {
    shares: Shares,
    /// Probabilities of a change after a packet, in 2^-64: to the bad state, and to the good state.
    worse: u64,
    better: u64,
    is_bad: bool,
    /// Time when the first packet of this bad period left.
    bad_since: Option<Nanos>,
    /// Length of the longest bad period, ns; and the number of periods longer than `long_ns`.
    longest_ns: Nanos,
    long: u64,
    long_ns: Nanos,
}

impl InPackets {
    fn loses(&mut self, now: Nanos, random: &mut Random) -> bool {
        let was_bad = self.is_bad;
        let lost = self.shares.loses(was_bad, random);
        self.is_bad ^= random.next_u64() < if was_bad { self.better } else { self.worse };
        if was_bad {
            self.bad_since.get_or_insert(now);
            if !self.is_bad {
                self.ends(now);
            }
        }
        lost
    }

    /// Ends the bad period at `now`, also at the end of the run.
    fn ends(&mut self, now: Nanos) {
        let Some(since) = self.bad_since.take() else { return };
        let lasted_ns = now.saturating_sub(since);
        self.longest_ns = self.longest_ns.max(lasted_ns);
        self.long += u64::from(lasted_ns > self.long_ns);
    }
}

/// Gilbert and Elliott's two states in continuous time, which alternate for exponentially distributed times:
/// a Markov process with the rates 1/B from the bad state to the good one and 1/G back, B and G being their
/// mean times.
///
/// Its stationary distribution is B / (B + G) for the bad state and G / (B + G) for the good one. A packet
/// that finds this distribution is lost with a probability of p = (B x in + G x out) / (B + G), where "in"
/// and "out" are the shares of packets lost in either state. So G = B (in - p) / (p - out).
///
/// Only the state at the times of packets matters. Time t after a state that was bad with a probability of q
/// (0 or 1), the state is bad with b + (q - b) exp(-t / B - t / G), where b = B / (B + G) (Tijms, "A First
/// Course in Stochastic Models", Wiley 2003, example 4.5.1). The state is drawn from this at each packet, so
/// a long pause costs no more than a short one.
#[derive(Debug, Clone)]
struct InTime {
    shares: Shares,
    /// Probability of the bad state, independent of a state long ago.
    bad_share: f64,
    /// Rate of the exponential, 1/B + 1/G, per ns.
    rate_per_ns: f64,
    /// Time when the state was drawn last, and the state.
    drawn: Nanos,
    is_bad: bool,
}

impl InTime {
    fn loses(&mut self, now: Nanos, random: &mut Random) -> bool {
        let elapsed_ns = now.saturating_sub(self.drawn) as f64;
        self.drawn = self.drawn.max(now);
        // libm's exponential, which is the same on every machine
        let memory = libm::exp(-elapsed_ns * self.rate_per_ns);
        let then = if self.is_bad { 1.0 } else { 0.0 };
        self.is_bad = random.unit() < self.bad_share + (then - self.bad_share) * memory;
        self.shares.loses(self.is_bad, random)
    }
}

/// Error: requested values that no chain has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImpossibleLoss {
    /// The mean loss is not below the loss in bursts.
    #[error("the mean loss must be less than the loss within bursts")]
    MoreThanInBursts,
    /// The mean loss is not above the loss between bursts, so the model would have no bursts.
    #[error("the mean loss must be more than the loss outside of bursts")]
    LessThanOutside,
    /// Good periods would have to be shorter than one packet.
    #[error(
        "bursts this short cannot make up so high a loss: there would be less than a packet between them"
    )]
    TooDense,
}

impl Loss {
    /// Returns a model without loss.
    pub fn never() -> Self {
        Loss { model: Model::Never, random: Random::new(0) }
    }

    /// Returns a model that loses `mean_ppb` billionths of all packets: independently, or in bursts. Bursts
    /// of packets that last longer than `long_ns` are counted.
    ///
    /// # Errors
    /// The errors of [`Loss::gilbert_elliott`].
    pub fn new(
        mean_ppb: u64,
        burst: Option<Burst>,
        long_ns: Nanos,
        random: Random,
    ) -> Result<Self, ImpossibleLoss> {
        match burst {
            None => Ok(Loss::independent(mean_ppb, random)),
            Some(burst) => Loss::gilbert_elliott(mean_ppb, burst, long_ns, random),
        }
    }

    /// Returns a model that loses each packet with a probability of `ppb` billionths, independently of other
    /// packets.
    pub fn independent(ppb: u64, random: Random) -> Self {
        let model = if ppb == 0 { Model::Never } else { Model::Independent { ppb } };
        Loss { model, random }
    }

    /// Returns a model that loses each packet independently of other packets: with a probability of `ppb`
    /// billionths, and from the times of `steps` on, which grow, with those of the steps.
    pub fn in_steps(ppb: u64, steps: Arc<[(Nanos, u64)]>, random: Random) -> Self {
        if steps.is_empty() {
            return Loss::independent(ppb, random);
        }
        Loss { model: Model::InSteps(Box::new(InSteps::new(ppb, steps))), random }
    }

    /// Returns a model that loses `mean_ppb` billionths of all packets, more of them within bursts than
    /// between.
    ///
    /// # Errors
    /// [`ImpossibleLoss`], when no chain has these values.
    pub fn gilbert_elliott(
        mean_ppb: u64,
        burst: Burst,
        long_ns: Nanos,
        mut random: Random,
    ) -> Result<Self, ImpossibleLoss> {
        if mean_ppb == 0 {
            return Ok(Loss::never());
        }
        let positive = |n: u64, less: u64| n.checked_sub(less).filter(|n| *n > 0);
        let Burst { length, inside_ppb, outside_ppb } = burst;
        let below = positive(inside_ppb.min(WHOLE_PPB), mean_ppb).ok_or(ImpossibleLoss::MoreThanInBursts)?;
        let above = positive(mean_ppb, outside_ppb).ok_or(ImpossibleLoss::LessThanOutside)?;
        // The mean is between the losses of both states. Its distance from each gives the ratio of the times
        // in them, and so the ratio of both probabilities, or rates.
        let shares = Shares { in_bad_ppb: inside_ppb, in_good_ppb: outside_ppb };
        let is_bad = random.below(above + below) < above;
        let model = match length {
            BurstLength::Pkts(pkts) => {
                let burst_pkts = u128::from(pkts.max(1));
                let worse = (u128::from(above) << 64) / (u128::from(below) * burst_pkts);
                let worse = u64::try_from(worse).map_err(|_| ImpossibleLoss::TooDense)?;
                let better = u64::try_from((1u128 << 64) / burst_pkts).unwrap_or(u64::MAX);
                let (bad_since, longest_ns, long) = (None, 0, 0);
                Model::InPackets(Box::new(InPackets {
                    shares,
                    worse,
                    better,
                    is_bad,
                    bad_since,
                    longest_ns,
                    long,
                    long_ns,
                }))
            }
            BurstLength::Time(mean) => {
                let bad_share = above as f64 / (above + below) as f64;
                // 1/G is (1/B) b / (1 - b)
                let rate_per_ns = 1.0 / (ns(mean).max(1) as f64 * (1.0 - bad_share));
                Model::InTime(Box::new(InTime { shares, bad_share, rate_per_ns, drawn: 0, is_bad }))
            }
        };
        Ok(Loss { model, random })
    }

    /// Least length of a long burst of packets, ns: timeouts decide its length instead of the path, since a
    /// sender that has backed off sends few packets. At full rate a burst is over within some round trips; 10
    /// of them leave room for a recovery, and 1 s is the first timeout of RFC 6298, section 2.
    pub fn long_burst_ns(rtt_ns: Nanos) -> Nanos {
        (10 * rtt_ns).max(SECOND)
    }

    /// Draws from another random stream from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Returns whether the model can lose any packet.
    #[inline]
    pub fn is_possible(&self) -> bool {
        !matches!(self.model, Model::Never)
    }

    /// Returns whether the next packet, which passes at `now`, is lost. Times must not go back.
    #[inline]
    pub fn loses(&mut self, now: Nanos) -> bool {
        match self.model {
            Model::Never => false,
            _ => self.draw(now),
        }
    }

    #[cold]
    fn draw(&mut self, now: Nanos) -> bool {
        match &mut self.model {
            Model::Never => false,
            Model::Independent { ppb } => self.random.chance(*ppb),
            Model::InPackets(chain) => chain.loses(now, &mut self.random),
            Model::InTime(process) => process.loses(now, &mut self.random),
            Model::InSteps(steps) => steps.loses(now, &mut self.random),
        }
    }

    /// Ends the run at `now`, and with it a bad period.
    pub fn finish(&mut self, now: Nanos) {
        if let Model::InPackets(chain) = &mut self.model {
            chain.ends(now);
        }
    }

    /// Lengths of the bursts of packets; `None`: the model has no such bursts.
    pub fn bursts(&self) -> Option<LossBursts> {
        let Model::InPackets(chain) = &self.model else { return None };
        Some(LossBursts { longest_s: chain.longest_ns as f64 / SECOND as f64, long: chain.long })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// One percent in billionths.
    const PERCENT: u64 = WHOLE_PPB / 100;

    fn bursts(mean_ppb: u64, pkts: u64, inside_ppb: u64, random: Random) -> Result<Loss, ImpossibleLoss> {
        let length = BurstLength::Pkts(pkts);
        Loss::gilbert_elliott(mean_ppb, Burst { length, inside_ppb, outside_ppb: 0 }, SECOND, random)
    }

    fn fates(mut loss: Loss, n: usize) -> Vec<bool> {
        (0..n).map(|_| loss.loses(0)).collect()
    }

    fn share(fates: &[bool]) -> f64 {
        fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
    }

    /// Returns the lengths of runs of lost packets.
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
    fn a_share_holds_from_its_time_until_that_of_the_next() {
        let steps = [(100, WHOLE_PPB), (200, 0), (300, 30 * PERCENT), (400, WHOLE_PPB)];
        let mut loss = Loss::in_steps(0, steps.into(), Random::new(7));
        assert!(loss.is_possible());
        let fates = [0, 99, 100, 199, 200, 299].map(|now| loss.loses(now));
        assert_eq!(fates, [false, false, true, true, false, false]);
        let lost = (0..100_000).filter(|_| loss.loses(300)).count() as f64 / 1e5;
        // the standard deviation is 0.00145
        assert!((lost - 0.3).abs() < 4.0 * 0.00145, "{lost}");
        assert!(loss.loses(1_000), "the last share stays");
        // a pause that skips steps ends at the last of them
        assert!(Loss::in_steps(0, steps.into(), Random::new(7)).loses(500));
        assert!(!Loss::in_steps(0, [].into(), Random::new(7)).is_possible());
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
        let burst =
            Burst { length: BurstLength::Pkts(100), inside_ppb: 50 * PERCENT, outside_ppb: PERCENT / 2 };
        let seen = fates(Loss::gilbert_elliott(2 * PERCENT, burst, SECOND, Random::new(9)).unwrap(), n);
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

    /// Mean length of a burst of a time: 1 ms.
    const MEAN_NS: Nanos = 1_000_000;

    fn in_time(mean_ppb: u64, inside_ppb: u64, outside_ppb: u64, seed: u64) -> Loss {
        let length = BurstLength::Time(Duration::from_nanos(MEAN_NS));
        let burst = Burst { length, inside_ppb, outside_ppb };
        Loss::gilbert_elliott(mean_ppb, burst, SECOND, Random::new(seed)).unwrap()
    }

    /// Returns the fates of `n` packets at these distances, in turn.
    fn at_distances(mut loss: Loss, gaps: &[Nanos], n: usize) -> Vec<bool> {
        let mut now = 0;
        let mut next = |gap: &Nanos| {
            now += gap;
            loss.loses(now)
        };
        gaps.iter().cycle().take(n).map(&mut next).collect()
    }

    proptest! {
        // some 200,000 draws each
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever the distances of packets, the share of lost packets is the mean, and the loss of two
        /// packets is correlated as the states of the line at their times are.
        #[test]
        fn bursts_of_a_time_have_the_mean_loss_and_the_memory_of_their_rates(
            mean_ppb in PERCENT..20 * PERCENT,
            inside in 25u64..=100,
            outside in 0u64..10,
            gap_ns in MEAN_NS / 20..3 * MEAN_NS,
            seed in any::<u64>(),
        ) {
            let (inside_ppb, outside_ppb) = (inside * PERCENT, mean_ppb * outside / 10);
            let n = 200_000;
            let seen = at_distances(in_time(mean_ppb, inside_ppb, outside_ppb, seed), &[gap_ns], n);
            let [p, inside, outside] = [mean_ppb, inside_ppb, outside_ppb].map(|ppb| ppb as f64 / 1e9);
            let bad = (p - outside) / (inside - outside);
            // 1/B + 1/G, per mean length of a bad period
            let rate = 1.0 / (1.0 - bad);
            let memory = (-rate * gap_ns as f64 / MEAN_NS as f64).exp();
            let spread = (inside - outside).powi(2) * bad * (1.0 - bad);
            let correlated = spread * 2.0 * memory / (1.0 - memory);
            let deviation = ((p * (1.0 - p) + correlated) / n as f64).sqrt();
            // P(beyond five standard deviations) is 6e-7
            prop_assert!((share(&seen) - p).abs() < 5.0 * deviation, "{} of {p}", share(&seen));
            // A packet lost in a state of loss r is followed by a lost one with q = memory x r + (1 - memory)
            // p. The variance of the share of pairs, which are correlated: of a pair with itself, with the
            // one that begins at its second packet, and with later ones over the memory.
            let states = [(bad, inside), (1.0 - bad, outside)].map(|(share, r)| {
                (share, r, memory * r + (1.0 - memory) * p)
            });
            let expected: f64 = states.iter().map(|(share, r, q)| share * r * q).sum();
            let three: f64 = states.iter().map(|(share, r, q)| share * r * q * q).sum();
            let apart = (states[0].1 * states[0].2 - states[1].1 * states[1].2).powi(2) * bad * (1.0 - bad);
            let variance = expected * (1.0 - expected)
                + 2.0 * (three - expected * expected)
                + 2.0 * apart * memory / (1.0 - memory);
            let deviation = (variance / n as f64).sqrt();
            let both = seen.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / (n - 1) as f64;
            prop_assert!((both - expected).abs() < 5.0 * deviation, "{both} of {expected} +- {deviation}");
        }

        /// The mean length of a bad period is the configured one, whatever share of the time is bad. Seen by
        /// packets at distances of g, a run of bad states has 1 / (1 - P) packets on average, where P is the
        /// probability that a bad line is bad g later; so B follows from the mean of the runs.
        #[test]
        fn a_bad_period_lasts_the_configured_time(
            mean_ppb in PERCENT..50 * PERCENT,
            gap_ns in MEAN_NS / 50..MEAN_NS / 2,
            seed in any::<u64>(),
        ) {
            // all is lost when it is bad and nothing when it is good: the fates are the states
            let seen = at_distances(in_time(mean_ppb, WHOLE_PPB, 0, seed), &[gap_ns], 400_000);
            let bad = mean_ppb as f64 / 1e9;
            let memory = (-(gap_ns as f64) / (MEAN_NS as f64 * (1.0 - bad))).exp();
            let expected = 1.0 / ((1.0 - bad) * (1.0 - memory));
            let lengths = runs(&seen);
            // geometric lengths: their variance is m (m - 1)
            let deviation = (expected * (expected - 1.0) / lengths.len() as f64).sqrt();
            let seen = mean(&lengths);
            prop_assert!((seen - expected).abs() < 5.0 * deviation, "{seen}, {expected}");
            // in units of time, as the limit of dense packets: within a packet at either end of a period
            if gap_ns <= MEAN_NS / 40 {
                let lasted_ns = mean(&lengths) * gap_ns as f64;
                let bound = 0.03 + 5.0 / (lengths.len() as f64).sqrt();
                prop_assert!((lasted_ns / MEAN_NS as f64 - 1.0).abs() < bound, "{lasted_ns} ns");
            }
        }
    }

    #[test]
    fn a_pause_ends_a_burst_of_a_time_and_no_burst_of_packets() {
        // a sender that waits 100 bad periods after each loss finds the line as good as any other
        let after_a_loss = |mut loss: Loss| {
            let (mut now, mut again, mut lost) = (0, 0u32, 0u32);
            for _ in 0..200_000 {
                now += MEAN_NS / 10;
                if loss.loses(now) {
                    now += 100 * MEAN_NS;
                    lost += 1;
                    again += u32::from(loss.loses(now));
                }
            }
            f64::from(again) / f64::from(lost)
        };
        let in_packets = bursts(5 * PERCENT, 10, WHOLE_PPB, Random::new(3)).unwrap();
        let (time, packets) = (after_a_loss(in_time(5 * PERCENT, WHOLE_PPB, 0, 3)), after_a_loss(in_packets));
        // binomials of some 9,000 trials with standard deviations of 0.0023 and 0.0032
        assert!((time - 0.05).abs() < 0.01 && (packets - 0.9).abs() < 0.013, "{time} {packets}");
    }

    #[test]
    fn packets_at_one_time_meet_one_state() {
        let mut loss = in_time(30 * PERCENT, WHOLE_PPB, 0, 4);
        for at in (0..10_000).map(|n| n * MEAN_NS) {
            let first = loss.loses(at);
            assert!((0..5).all(|_| loss.loses(at) == first));
        }
        // times that go back, or never come, are no error
        loss.loses(Nanos::MAX);
        loss.loses(5);
    }

    #[test]
    fn long_bursts_of_packets_are_counted_and_the_longest_is_known() {
        let length = BurstLength::Pkts(4);
        let burst = Burst { length, inside_ppb: WHOLE_PPB, outside_ppb: 0 };
        let mut loss = Loss::gilbert_elliott(10 * PERCENT, burst, 25, Random::new(5)).unwrap();
        let (mut now, mut began, mut longest, mut long) = (0, None, 0, 0);
        for _ in 0..1_000 {
            now += 10;
            match (loss.loses(now), began) {
                (true, None) => began = Some((now, now)),
                (true, Some((first, _))) => began = Some((first, now)),
                (false, None) => {}
                (false, Some((first, last))) => {
                    (longest, long) = (longest.max(last - first), long + u64::from(last - first > 25));
                    began = None;
                }
            }
        }
        let seen = loss.bursts().unwrap();
        assert!(long > 5 && began.is_none(), "{long}");
        assert_eq!(seen, LossBursts { longest_s: longest as f64 / 1e9, long });
        // a burst that the run ends lasts until then
        while !loss.loses(now) {
            now += 10;
        }
        loss.finish(now + SECOND);
        let end = loss.bursts().unwrap();
        assert!(end.longest_s > 0.99 || end == seen, "its last packet may have been the only one: {end:?}");
        assert_eq!(Loss::long_burst_ns(600 * 1_000_000), 6 * SECOND);
        assert_eq!(Loss::long_burst_ns(10 * 1_000_000), SECOND);
        assert_eq!(in_time(PERCENT, WHOLE_PPB, 0, 1).bursts(), None);
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
        let burst = Burst { length: BurstLength::Pkts(5), inside_ppb: WHOLE_PPB, outside_ppb: PERCENT };
        assert_eq!(
            Loss::gilbert_elliott(PERCENT, burst, SECOND, Random::new(1)).err(),
            Some(ImpossibleLoss::LessThanOutside)
        );
    }
}
