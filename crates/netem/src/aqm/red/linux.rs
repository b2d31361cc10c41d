//! Linux's RED: net/sched/sch_red.c and include/net/red.h, with the settings that iproute2's tc computes for
//! them (tc/q_red.c, tc/tc_red.c). This file was compared with the sources of 2024.
//!
//! - The average is scaled by 2^weight_log. An arrival adds backlog - average; the backlog does not include
//!   the arriving packet.
//! - Below the minimum an arrival only ends the series. Between the thresholds the first packet draws a
//!   number and passes. A later one is dropped if its place in the series times the bytes above the minimum
//!   is at least that number; then the next number is drawn.
//! - From the maximum on all packets are dropped, and the series ends. A series begins when the average comes
//!   between the thresholds, and again after each drop.
//! - Marks take the place of both kinds of drops. There is no gentle ramp.
//! - The queue is idle from when the device finds it empty, and before its first packet. (Below a sch_tbf
//!   only before: tbf looks at the queue's head, and dequeues only when there is one.)

use fairpace_scenario::{Random, WHOLE_PPB};

use super::settings::{MOST_BYTES, Verdict, weight, weight_log};
use crate::aqm::ring::MTU_BYTES;
use crate::time::{Nanos, SECOND};
use fairpace_scenario::Red;

// Cells of the table by which idle time ages the average, and the largest shift in one of them.
const CELLS: usize = 256;
const MOST_HALVINGS: f64 = 31.0;
/// Length of a clock tick, ns, for which tc computes the table (/proc/net/psched: 1000 ticks are 64 us;
/// tc/tc_core.c).
const TICK_NS: u64 = 64;
/// Unit of the index of the table, ns. The kernel, which once had the clock of tc, indexes the table by
/// microseconds (`red_calc_qavg_from_idle_time`).
const IDLE_UNIT_NS: u64 = 1_000;

/// Linux's RED, whose average is scaled by 2^weight_log.
#[derive(Debug, Clone)]
pub(super) struct Linux {
    weight_log: u32,
    scaled: u64,
    scaled_min: u64,
    scaled_max: u64,
    /// Number of bits by which idle microseconds are shifted right to give the index in `halvings`.
    cell_log: u32,
    halvings: Box<[u8; CELLS]>,
    /// The probability per byte times 2^32. A drop is due when the bytes above the minimum, times arrivals
    /// since the last drop, reach `drawn`: 32 random bits over `step`.
    step: u32,
    drawn: u64,
    /// Number of arrivals since the last drop; `None`: the average is not between the thresholds.
    count: Option<u64>,
}

impl Linux {
    pub(super) fn new(settings: &Red, rate_bps: u64) -> Self {
        let (min, max) = (settings.min_bytes.min(MOST_BYTES), settings.max_bytes.min(MOST_BYTES));
        let weight_log = weight_log(min, settings.burst_pkts);
        let between = max.saturating_sub(min).max(1);
        let (cell_log, halvings) = idle_table(weight_log, rate_bps);
        Linux {
            weight_log,
            scaled: 0,
            scaled_min: min << weight_log,
            scaled_max: max << weight_log,
            cell_log,
            halvings,
            step: step(settings.max_ppb, between),
            drawn: 0,
            count: None,
        }
    }

    /// Updates the average by the backlog, or after idle time by the idle time alone.
    #[inline]
    pub(super) fn update(&mut self, backlog_bytes: u64, idle: Option<Nanos>) {
        match idle {
            None => {
                self.scaled -= self.scaled >> self.weight_log;
                self.scaled += backlog_bytes.min(MOST_BYTES);
            }
            Some(idle) => self.age(idle),
        }
    }

    /// Ages the average by idle time. The table halves as often as the paper's formula would divide by e, per
    /// tick. But the kernel counts in microseconds, so the average falls 15.6 times more slowly than tc
    /// intends. Before the first halving the average falls in proportion to the idle time over one cell, at
    /// most to a half.
    fn age(&mut self, idle: Nanos) {
        let units = (idle / IDLE_UNIT_NS).min((CELLS as u64 - 1) << self.cell_log);
        let halvings = self.halvings[(units >> self.cell_log) as usize];
        let less = (u128::from(self.scaled) * u128::from(units)) >> self.cell_log;
        let half = self.scaled >> 1;
        self.scaled = match halvings {
            0 if less < u128::from(half) => self.scaled - less as u64,
            0 => half,
            n => self.scaled >> n,
        };
    }

    #[inline]
    pub(super) fn decide(&mut self, random: &mut Random) -> Verdict {
        if self.scaled < self.scaled_min {
            self.count = None;
            return Verdict::Pass;
        }
        if self.scaled >= self.scaled_max {
            self.count = None;
            return Verdict::Forced;
        }
        let Some(count) = self.count else {
            self.count = Some(0);
            self.draw(random);
            return Verdict::Pass;
        };
        let above = (self.scaled - self.scaled_min) >> self.weight_log;
        if above.saturating_mul(count + 1) < self.drawn {
            self.count = Some(count + 1);
            return Verdict::Pass;
        }
        self.count = Some(0);
        self.draw(random);
        Verdict::Early
    }

    fn draw(&mut self, random: &mut Random) {
        self.drawn = u64::from(random.next_u32() / self.step);
    }
}

/// Returns the probability per byte, times 2^32, in integer arithmetic: rounded down, but not to zero. With
/// thresholds far apart the rounding is coarse.
fn step(max_ppb: u64, between_bytes: u64) -> u32 {
    let max_p = (u128::from(max_ppb) << 32) / u128::from(WHOLE_PPB);
    let max_p = max_p.min(u128::from(u32::MAX)) as u64;
    ((max_p / between_bytes) as u32).max(1)
}

/// Returns the table by which idle time ages the average, and the width of a cell as a power of two. The
/// halvings after time t are -ln(1 - w) times the full packets that could have left in t (iproute2,
/// tc/tc_red.c, `tc_red_eval_idle_damping`). A transmission time is rounded up to ticks.
fn idle_table(weight_log: u32, rate_bps: u64) -> (u32, Box<[u8; CELLS]>) {
    let step_ticks = (MTU_BYTES * 8 * SECOND).div_ceil(rate_bps.max(1).saturating_mul(TICK_NS)).max(1);
    let per_tick = minus_ln_one_minus(weight(weight_log)) / step_ticks as f64;
    let whole = MOST_HALVINGS / per_tick;
    // the last cell must not be reached before the average is near zero
    let cell_log = (0..31).find(|log| whole / ((1u64 << log) as f64) < 512.0).unwrap_or(31);
    let mut halvings = Box::new([0; CELLS]);
    for (i, n) in halvings.iter_mut().enumerate().skip(1) {
        *n = (((i as u64) << cell_log) as f64 * per_tick).min(MOST_HALVINGS) as u8;
    }
    halvings[CELLS - 1] = MOST_HALVINGS as u8;
    (cell_log, halvings)
}

/// Returns -ln(1 - w) for w up to a half, by its series: the result is equal on every machine.
fn minus_ln_one_minus(w: f64) -> f64 {
    let (mut sum, mut term) = (0.0, 1.0);
    for n in 1..64 {
        term *= w;
        sum += term / f64::from(n);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MANUAL, RATE_BPS, assert_uniform, gaps};
    use super::*;

    /// Thresholds and a probability that whole numbers hold exactly: 2^16 bytes apart, 1/64.
    const ROUND: Red = Red { min_bytes: 1 << 16, max_bytes: 1 << 17, max_ppb: 15_625_000, ..MANUAL };

    fn linux_at(settings: &Red, average_bytes: u64) -> Linux {
        let mut linux = Linux::new(settings, RATE_BPS);
        linux.scaled = average_bytes << linux.weight_log;
        linux
    }

    #[test]
    fn gaps_are_uniform_up_to_one_over_the_probability() {
        // halfway between the thresholds the probability is 1/128: gaps from 1 to 128, 64.5 on average
        let mut linux = linux_at(&ROUND, 3 << 15);
        let gaps = gaps(|random| linux.decide(random), 100_000);
        assert_uniform(&gaps, 128);
        let share = gaps.len() as f64 / gaps.iter().sum::<u64>() as f64;
        // a uniform gap's standard deviation is 36.9, 0.2 % of the mean over 100,000 of them
        assert!((share * 64.5 - 1.0).abs() < 0.008, "{share}");
    }

    #[test]
    fn the_probability_is_rounded_as_in_linux() {
        // 2 % of 2^32 over 90,840 bytes is 945.6; over 10 MB it is 8.6; over 100 MB it would be none
        for (between, expected) in [(60 * MTU_BYTES, 945), (10_000_000, 8), (100_000_000, 1)] {
            assert_eq!(step(20_000_000, between), expected);
        }
        assert_eq!((step(WHOLE_PPB, 1), step(u64::MAX, 1), step(0, 1)), (u32::MAX, u32::MAX, 1));
    }

    #[test]
    fn the_probability_grows_linearly_between_the_thresholds() {
        for tenth in 1..10 {
            let mut linux = linux_at(&MANUAL, (30 + 6 * tenth) * MTU_BYTES);
            let p = 0.02 * tenth as f64 / 10.0;
            let seen = gaps(|r| linux.decide(r), 20_000);
            let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
            // half of 1 / p, and half a packet; the standard deviation of the mean is 0.4 %
            assert!((mean / (0.5 / p) - 1.0).abs() < 0.016 + p, "{mean} at {p}");
        }
    }

    #[test]
    fn nothing_below_the_minimum_and_everything_from_the_maximum_on() {
        let mut random = Random::new(2);
        for (average, verdict) in [(30 * MTU_BYTES - 1, Verdict::Pass), (90 * MTU_BYTES, Verdict::Forced)] {
            let mut linux = linux_at(&MANUAL, average);
            assert!((0..1000).all(|_| linux.decide(&mut random) == verdict));
        }
    }

    #[test]
    fn a_series_restarts_when_the_average_enters_the_thresholds() {
        for outside in [0, 90 * MTU_BYTES] {
            let mut linux = Linux { count: Some(1000), drawn: 1, ..linux_at(&MANUAL, 60 * MTU_BYTES) };
            let mut random = Random::new(1);
            assert_eq!(linux.clone().decide(&mut random), Verdict::Early, "a drop is due");
            linux.scaled = outside << linux.weight_log;
            linux.decide(&mut random);
            linux.scaled = (60 * MTU_BYTES) << linux.weight_log;
            assert_eq!((linux.decide(&mut random), linux.count), (Verdict::Pass, Some(0)), "{outside}");
        }
    }

    #[test]
    fn the_average_follows_the_backlog_by_its_weight() {
        let mut linux = Linux::new(&MANUAL, RATE_BPS);
        for n in 1..=500 {
            linux.update(100_000, None);
            let exact = 100_000.0 * (1.0 - (31.0f64 / 32.0).powi(n));
            // a whole number of 1/32: up to one of them is lost per step, up to 32 in the long run
            assert!((linux.scaled as f64 / 32.0 - exact).abs() <= 1.0, "{n}: {} {exact}", linux.scaled);
        }
    }

    #[test]
    fn the_average_falls_with_a_backlog_below_it() {
        let mut linux = linux_at(&MANUAL, 64_000);
        linux.update(32_000, None);
        assert_eq!(linux.scaled, 63_000 * 32, "by a 32nd of the difference");
    }

    #[test]
    fn an_idle_link_ages_the_average_by_its_table() {
        let linux = linux_at(&MANUAL, 64_000);
        let aged = |idle| {
            let mut linux = linux.clone();
            linux.update(0, Some(idle));
            linux.scaled as f64 / 32.0
        };
        // tc intends one halving for each 1 / -ln(31/32) = 31.5 packet times; in microseconds it takes 1000 /
        // 64 as long
        let halving = 1_211_200.0 / -(31.0f64 / 32.0).ln() * 1000.0 / 64.0;
        for n in 1..10 {
            // in the middle between two halvings: a cell is less than an eighth of one
            assert_eq!(aged(((n as f64 + 0.5) * halving) as Nanos), 64_000.0 / f64::from(1 << n));
        }
        // before the first: linear over one cell, then half
        let cell = f64::from(1 << linux.cell_log) * IDLE_UNIT_NS as f64;
        assert!(cell < halving / 8.0 && cell > halving / 17.0);
        assert!((aged((cell * 0.25) as Nanos) / 48_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(aged((cell * 0.75) as Nanos), 32_000.0);
        assert_eq!(aged(Nanos::MAX), (64_000.0f64 * 32.0 / 2f64.powi(31)).floor());
    }
}
