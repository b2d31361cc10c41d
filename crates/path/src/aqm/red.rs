//! Random early detection: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions on
//! Networking, 1993; and as Linux has it (net/sched/sch_red.c, include/net/red.h, with what iproute2's tc computes for it).
//!
//! A moving average of the backlog in bytes, taken as packets arrive, is held between two thresholds: from the lower one on packets
//! are dropped with a probability that grows with the average, above the upper one all are. A drop is never far from the last
//! one: the gaps between drops are uniform, not geometric, so the share that is dropped is about twice the probability that the
//! settings speak of.

use super::{DropReason, MTU_BYTES, Ring, Sink, Waiting, mark};
use crate::{Limit, Nanos, Packet, Random, SECOND};

/// Settings of RED. Thresholds are bytes of average backlog, up to 4 GB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    /// Whose rules.
    pub rules: RedRules,
    /// Below this average nothing is dropped.
    pub min_bytes: u64,
    /// From this average on everything is.
    pub max_bytes: u64,
    /// The probability just below `max_bytes`, billionths.
    pub max_ppb: u64,
    /// What the average forgives, full packets at once. It sets the average's weight, which is 2^-1 for bursts that cannot reach
    /// `min_bytes` (tc refuses those).
    pub burst_pkts: u64,
    /// The link's rate, bits per second: how fast the average ages while it is idle.
    pub rate_bps: u64,
    /// Marks ECN-capable packets where it would drop them early.
    pub ecn: bool,
}

/// Whose RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedRules {
    /// Linux: the average is a scaled integer, idle time ages it by a table, and from `max_bytes` on ECN-capable packets are still
    /// marked (without tc's `harddrop`).
    Linux,
    /// The paper's. From `max_bytes` on, packets are dropped even if they could be marked, as in Floyd's own simulator (ns-2).
    Floyd {
        /// From `max_bytes` to twice of it the probability grows to one, instead of leaping.
        gentle: bool,
    },
}

/// A queue under RED.
#[derive(Debug, Clone)]
pub(super) struct RedQueue<T> {
    ring: Ring<T>,
    average: Average,
    ecn: bool,
    /// Since when the link has asked in vain.
    idle_since: Option<Nanos>,
    random: Random,
}

#[derive(Debug, Clone)]
enum Average {
    Linux(Linux),
    Floyd(Floyd),
}

/// What the average says of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// It is the one to drop or mark.
    Early,
    /// There is too much: all are.
    Forced,
}

impl<T> RedQueue<T> {
    pub(super) fn new(settings: Red, limit: Limit, random: Random) -> Self {
        let average = match settings.rules {
            RedRules::Linux => Average::Linux(Linux::new(&settings)),
            RedRules::Floyd { gentle } => Average::Floyd(Floyd::new(&settings, gentle)),
        };
        RedQueue { ring: Ring::new(limit), average, ecn: settings.ecn, idle_since: Some(0), random }
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        let idle = self.idle_since.take().map(|since| now - since);
        let (verdict, may_mark) = match &mut self.average {
            Average::Linux(linux) => {
                linux.update(self.ring.bytes, idle);
                (linux.judge(&mut self.random), true)
            }
            Average::Floyd(floyd) => {
                floyd.update(self.ring.bytes, idle);
                let verdict = floyd.judge(&mut self.random);
                (verdict, verdict == Verdict::Early)
            }
        };
        let may_mark = may_mark && self.ecn && packet.ecn != crate::Ecn::NotCapable;
        if verdict != Verdict::Pass && !may_mark {
            return Err((packet, DropReason::Early));
        }
        if !self.ring.has_room(packet.bytes) {
            return Err((packet, DropReason::Full));
        }
        if verdict != Verdict::Pass {
            mark(&mut packet, sink);
        }
        self.ring.push(now, packet);
        Ok(())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, _: &mut impl Sink<T>) -> Option<Waiting<T>> {
        let next = self.ring.pop();
        if next.is_none() {
            self.idle_since.get_or_insert(now);
        }
        next
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.ring.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }
}

/// Linux's thresholds are 32 bits wide; the scaled average then fits into 64.
const MOST_BYTES: u64 = u32::MAX as u64;
/// The smallest weight is 2^-31.
const MOST_WEIGHT_LOG: u32 = 31;
/// Cells of the table by which idle time ages the average, and the most that one of them can halve.
const CELLS: usize = 256;
const MOST_HALVINGS: f64 = 31.0;
/// Linux's packet schedulers count time in ticks of so many nanoseconds.
const TICK_NS: u64 = 64;

/// The average as Linux keeps it: times 2^weight_log.
#[derive(Debug, Clone)]
struct Linux {
    weight_log: u32,
    scaled: u64,
    scaled_min: u64,
    scaled_max: u64,
    /// Idle ticks shifted by this are the cell of `halvings`.
    cell_log: u32,
    halvings: Box<[u8; CELLS]>,
    /// A drop is due when bytes above the minimum, summed over arrivals since the last drop, reach `drawn`, which is below this.
    most_drawn: u64,
    drawn: u64,
    /// Arrivals since the last drop; `None`: the average is not between the thresholds.
    count: Option<u64>,
}

impl Linux {
    fn new(settings: &Red) -> Self {
        let (min, max) = (settings.min_bytes.min(MOST_BYTES), settings.max_bytes.min(MOST_BYTES));
        let weight_log = weight_log(min, settings.burst_pkts);
        let between = u128::from(max.saturating_sub(min).max(1));
        let most_drawn = between * 1_000_000_000 / u128::from(settings.max_ppb.max(1));
        let (cell_log, halvings) = idle_table(weight_log, settings.rate_bps);
        Linux {
            weight_log,
            scaled: 0,
            scaled_min: min << weight_log,
            scaled_max: max << weight_log,
            cell_log,
            halvings,
            most_drawn: u64::try_from(most_drawn).unwrap_or(u64::MAX),
            drawn: 0,
            count: None,
        }
    }

    #[inline]
    fn update(&mut self, backlog_bytes: u64, idle: Option<Nanos>) {
        match idle {
            None => {
                self.scaled -= self.scaled >> self.weight_log;
                self.scaled += backlog_bytes.min(MOST_BYTES);
            }
            Some(idle) => self.age(idle),
        }
    }

    /// Linux's table halves as often as the paper's formula would divide by e. Before its first halving the average falls by
    /// idle time over one cell, at most to a half.
    fn age(&mut self, idle: Nanos) {
        let ticks = (idle / TICK_NS).min((CELLS as u64 - 1) << self.cell_log);
        let halvings = self.halvings[(ticks >> self.cell_log) as usize];
        let less = (u128::from(self.scaled) * u128::from(ticks)) >> self.cell_log;
        let half = self.scaled >> 1;
        self.scaled = match halvings {
            0 if less < u128::from(half) => self.scaled - less as u64,
            0 => half,
            n => self.scaled >> n,
        };
    }

    #[inline]
    fn judge(&mut self, random: &mut Random) -> Verdict {
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
            self.drawn = random.below(self.most_drawn);
            return Verdict::Pass;
        };
        let above = (self.scaled - self.scaled_min) >> self.weight_log;
        if above.saturating_mul(count + 1) < self.drawn {
            self.count = Some(count + 1);
            return Verdict::Pass;
        }
        self.count = Some(0);
        self.drawn = random.below(self.most_drawn);
        Verdict::Early
    }
}

/// The average of the paper, section IV.
#[derive(Debug, Clone)]
struct Floyd {
    weight: f64,
    average: f64,
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    /// Transmission time of a full packet: one step of the average while the link is idle.
    step_ns: Nanos,
    /// Arrivals since the last drop; `None`: the average is not above the minimum.
    count: Option<u64>,
}

impl Floyd {
    fn new(settings: &Red, gentle: bool) -> Self {
        let (min, max) = (settings.min_bytes.min(MOST_BYTES), settings.max_bytes.min(MOST_BYTES));
        Floyd {
            weight: weight(weight_log(min, settings.burst_pkts)),
            average: 0.0,
            min: min as f64,
            max: max as f64,
            max_probability: settings.max_ppb.min(1_000_000_000) as f64 / 1e9,
            gentle,
            step_ns: (MTU_BYTES * 8 * SECOND / settings.rate_bps.max(1)).max(1),
            count: None,
        }
    }

    #[inline]
    fn update(&mut self, backlog_bytes: u64, idle: Option<Nanos>) {
        match idle {
            None => self.average += self.weight * (backlog_bytes as f64 - self.average),
            Some(idle) => self.average *= power(1.0 - self.weight, idle / self.step_ns),
        }
    }

    #[inline]
    fn judge(&mut self, random: &mut Random) -> Verdict {
        if self.average < self.min {
            self.count = None;
            return Verdict::Pass;
        }
        let Some(base) = self.probability() else {
            self.count = Some(0);
            return Verdict::Forced;
        };
        let count = self.count.map_or(0, |n| n + 1);
        let left = 1.0 - count as f64 * base;
        if left > base && random.unit() * left >= base {
            self.count = Some(count);
            return Verdict::Pass;
        }
        self.count = Some(0);
        Verdict::Early
    }

    /// The paper's p_b, from the minimum on; `None`: all are dropped.
    fn probability(&self) -> Option<f64> {
        if self.average < self.max {
            return Some(self.max_probability * (self.average - self.min) / (self.max - self.min));
        }
        let gently = (self.average - self.max) / self.max;
        (self.gentle && gently < 1.0).then_some(self.max_probability + (1.0 - self.max_probability) * gently)
    }
}

fn weight(log: u32) -> f64 {
    1.0 / (1u64 << log) as f64
}

/// `base` to the `n`-th, by multiplications alone: the same on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 && product > 0.0 {
        if n % 2 == 1 {
            product *= base;
        }
        base *= base;
        n /= 2;
    }
    product
}

/// The weight 2^-log with which a burst of so many full packets into an empty queue just stays below the minimum: tc's
/// `tc_red_eval_ewma`, from the paper's section VI.
fn weight_log(min_bytes: u64, burst_pkts: u64) -> u32 {
    let needed = burst_pkts as f64 + 1.0 - min_bytes as f64 / MTU_BYTES as f64;
    let is_enough = |log: &u32| {
        let w = weight(*log);
        needed <= (1.0 - power(1.0 - w, burst_pkts)) / w
    };
    (1..MOST_WEIGHT_LOG).find(is_enough).unwrap_or(MOST_WEIGHT_LOG)
}

/// The table by which idle time ages the average, and the width of a cell as a power of two of ticks: tc's
/// `tc_red_eval_idle_damping`.
fn idle_table(weight_log: u32, rate_bps: u64) -> (u32, Box<[u8; CELLS]>) {
    let step_ticks = (MTU_BYTES * 8 * SECOND).div_ceil(rate_bps.max(1).saturating_mul(TICK_NS)).max(1);
    let per_tick = minus_ln_one_minus(weight(weight_log)) / step_ticks as f64;
    let whole = MOST_HALVINGS / per_tick;
    // the last cell must not be needed before everything is forgotten
    let cell_log = (0..31).find(|log| whole / ((1u64 << log) as f64) < 512.0).unwrap_or(31);
    let mut halvings = Box::new([0; CELLS]);
    for (i, n) in halvings.iter_mut().enumerate().skip(1) {
        *n = (((i as u64) << cell_log) as f64 * per_tick).min(MOST_HALVINGS) as u8;
    }
    halvings[CELLS - 1] = MOST_HALVINGS as u8;
    (cell_log, halvings)
}

/// -ln(1 - w) for w up to a half, by its series: the same on every machine.
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
    use super::super::testing::{MS, Told, packet};
    use super::*;
    use crate::Ecn;

    /// The example of tc's manual, in full packets: 30 and 90 of them, bursts of 55.
    const MANUAL: Red = Red {
        rules: RedRules::Linux,
        min_bytes: 30 * MTU_BYTES,
        max_bytes: 90 * MTU_BYTES,
        max_ppb: 20_000_000,
        burst_pkts: 55,
        rate_bps: 10_000_000,
        ecn: false,
    };
    const FLOYD: Red = Red { rules: RedRules::Floyd { gentle: false }, ..MANUAL };

    /// Gaps between drops while the average is held, from drop to drop.
    fn gaps(mut judge: impl FnMut(&mut Random) -> Verdict, n: usize) -> Vec<u64> {
        let (mut random, mut gaps, mut gap) = (Random::new(1), Vec::new(), 0);
        while gaps.len() < n {
            gap += 1;
            match judge(&mut random) {
                Verdict::Early => gaps.push(std::mem::take(&mut gap)),
                Verdict::Pass => {}
                Verdict::Forced => panic!("the average is below the maximum"),
            }
        }
        gaps.split_off(1) // the first one began at no drop
    }

    /// Are these gaps uniform from 1 to `most`?
    fn assert_uniform(gaps: &[u64], most: u64) {
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&most)));
        let n = gaps.len() as f64;
        let expected = n / most as f64;
        let chi: f64 = (1..=most)
            .map(|gap| gaps.iter().filter(|g| **g == gap).count() as f64 - expected)
            .map(|off| off * off / expected)
            .sum();
        // chi-squared with most - 1 degrees of freedom: its standard deviation is sqrt(2 x degrees)
        let degrees = (most - 1) as f64;
        assert!((chi - degrees).abs() < 4.0 * (2.0 * degrees).sqrt(), "{chi} with {degrees} degrees");
    }

    fn linux_at(settings: &Red, average_bytes: u64) -> Linux {
        let mut linux = Linux::new(settings);
        linux.scaled = average_bytes << linux.weight_log;
        linux
    }

    fn floyd_at(settings: &Red, gentle: bool, average: f64) -> Floyd {
        Floyd { average, ..Floyd::new(settings, gentle) }
    }

    #[test]
    fn linux_drops_in_uniform_gaps_up_to_one_over_the_probability() {
        // halfway between the thresholds the probability is 1 %: gaps from 1 to 100, 50.5 on average
        let mut linux = linux_at(&MANUAL, 60 * MTU_BYTES);
        let gaps = gaps(|random| linux.judge(random), 100_000);
        assert_uniform(&gaps, 100);
        let share = gaps.len() as f64 / gaps.iter().sum::<u64>() as f64;
        let p = 0.02 * (60.0 - 30.0) / (90.0 - 30.0);
        // a uniform gap's standard deviation is 28.9, 0.2 % of the mean over 100,000 of them
        assert!((share / (2.0 * p / (1.0 + p)) - 1.0).abs() < 0.008, "{share}");
    }

    #[test]
    fn floyds_gaps_are_uniform_too() {
        // The paper counts a packet before it draws for it, so the longest gap is one shorter: 1 / p - 1.
        let mut floyd = floyd_at(&FLOYD, false, 60.0 * MTU_BYTES as f64);
        let gaps = gaps(|random| floyd.judge(random), 100_000);
        assert_uniform(&gaps, 99);
    }

    #[test]
    fn the_probability_grows_linearly_between_the_thresholds() {
        for tenth in 1..10 {
            let average = (30 + 6 * tenth) * MTU_BYTES;
            let p = 0.02 * tenth as f64 / 10.0;
            let mut linux = linux_at(&MANUAL, average);
            let mut floyd = floyd_at(&FLOYD, false, average as f64);
            assert!((floyd.probability().unwrap() - p).abs() < 1e-12);
            for seen in [gaps(|r| linux.judge(r), 20_000), gaps(|r| floyd.judge(r), 20_000)] {
                let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
                // (1 / p + 1) / 2 or half a packet less; the standard deviation of the mean is 0.4 %
                assert!((mean / (0.5 / p) - 1.0).abs() < 0.016 + p, "{mean} at {p}");
            }
        }
    }

    #[test]
    fn nothing_below_the_minimum_and_everything_from_the_maximum_on() {
        let mut random = Random::new(2);
        for (average, verdict) in [(30 * MTU_BYTES - 1, Verdict::Pass), (90 * MTU_BYTES, Verdict::Forced)] {
            let mut linux = linux_at(&MANUAL, average);
            let mut floyd = floyd_at(&FLOYD, false, average as f64);
            assert!((0..1000).all(|_| linux.judge(&mut random) == verdict));
            assert!((0..1000).all(|_| floyd.judge(&mut random) == verdict));
        }
    }

    #[test]
    fn between_the_thresholds_linux_begins_anew_when_it_comes_from_outside() {
        for outside in [0, 90 * MTU_BYTES] {
            let mut linux = Linux { count: Some(1000), drawn: 1, ..linux_at(&MANUAL, 60 * MTU_BYTES) };
            let mut random = Random::new(1);
            assert_eq!(linux.clone().judge(&mut random), Verdict::Early, "a drop is due");
            linux.scaled = outside << linux.weight_log;
            linux.judge(&mut random);
            linux.scaled = (60 * MTU_BYTES) << linux.weight_log;
            assert_eq!((linux.judge(&mut random), linux.count), (Verdict::Pass, Some(0)), "{outside}");
        }
    }

    #[test]
    fn gentle_grows_on_to_twice_the_maximum() {
        let p = |average: f64| floyd_at(&FLOYD, true, average * MTU_BYTES as f64).probability();
        assert!((p(90.0).unwrap() - 0.02).abs() < 1e-12);
        assert!((p(135.0).unwrap() - 0.51).abs() < 1e-12);
        assert!(p(179.99).unwrap() > 0.999 && p(180.0).is_none());
        let steep = floyd_at(&FLOYD, false, 90.0 * MTU_BYTES as f64);
        assert_eq!(steep.probability(), None);
    }

    #[test]
    fn the_weight_is_the_one_that_tc_computes() {
        // the manual's example: 55 + 1 - 30 = 26 <= (1 - (31/32)^55) x 32 = 26.4, and 15.5 with 1/16
        assert_eq!(weight_log(30 * MTU_BYTES, 55), 5);
        // The paper, section VI: 50 packets into an average below 5 need a weight of at most 0.0042. 1/256 would do, but
        // tc sums one packet less and just misses it: 46 > 45.5.
        assert_eq!(weight_log(5 * MTU_BYTES, 50), 9);
        // no burst at all, and one that can never be forgiven
        assert_eq!((weight_log(30 * MTU_BYTES, 0), weight_log(0, u64::MAX)), (1, 31));
    }

    #[test]
    fn the_average_follows_the_backlog_by_its_weight() {
        let (mut linux, mut floyd) = (Linux::new(&MANUAL), Floyd::new(&FLOYD, false));
        for n in 1..=500u32 {
            linux.update(100_000, None);
            floyd.update(100_000, None);
            let exact = 100_000.0 * (1.0 - (31.0f64 / 32.0).powi(n as i32));
            assert!((floyd.average - exact).abs() < 1e-6, "{n}");
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
    fn an_idle_link_ages_floyds_average_as_packets_of_no_backlog_would() {
        // 1514 bytes at 10 Mbit/s take 1211.2 us
        let (mut idle, mut busy) = (floyd_at(&FLOYD, false, 1e5), floyd_at(&FLOYD, false, 1e5));
        idle.update(0, Some(20 * 1_211_200));
        (0..20).for_each(|_| busy.update(0, None));
        assert!((idle.average - busy.average).abs() < 1e-6, "{} {}", idle.average, busy.average);
        idle.update(0, Some(Nanos::MAX));
        assert_eq!(idle.average, 0.0);
    }

    #[test]
    fn an_idle_link_ages_linuxs_average_by_its_table() {
        let linux = linux_at(&MANUAL, 64_000);
        let aged = |idle| {
            let mut linux = linux.clone();
            linux.update(0, Some(idle));
            linux.scaled as f64 / 32.0
        };
        // one halving for each 1 / -ln(31/32) = 31.5 packet times
        let halving = 1_211_200.0 / -(31.0f64 / 32.0).ln();
        for n in 1..10 {
            // in the middle between two halvings: a cell is less than an eighth of one
            assert_eq!(aged(((n as f64 + 0.5) * halving) as Nanos), 64_000.0 / f64::from(1 << n));
        }
        // before the first: linear over one cell, then half
        let cell = f64::from(1 << linux.cell_log) * TICK_NS as f64;
        assert!(cell < halving / 8.0 && cell > halving / 17.0);
        assert!((aged((cell * 0.25) as Nanos) / 48_000.0 - 1.0).abs() < 1e-3);
        assert_eq!(aged((cell * 0.75) as Nanos), 32_000.0);
        assert_eq!(aged(Nanos::MAX), (64_000.0f64 * 32.0 / 2f64.powi(31)).floor());
    }

    #[test]
    fn idle_time_begins_when_the_link_asks_in_vain() {
        let settings = Red { min_bytes: 0, max_bytes: 1 << 20, burst_pkts: 10, ..FLOYD };
        let mut told = Told::default();
        let mut queue = RedQueue::new(settings, Limit::Packets(1000), Random::new(1));
        let average = |queue: &RedQueue<u32>| match &queue.average {
            Average::Floyd(floyd) => floyd.average,
            Average::Linux(_) => unreachable!(),
        };
        for i in 0..100 {
            let _ = queue.enqueue(MS, packet(1514, i), &mut told);
        }
        while queue.dequeue(2 * MS, &mut told).is_some() {}
        let before = average(&queue);
        assert!(before > 0.0);
        assert!(queue.dequeue(500 * MS, &mut told).is_none(), "asked again: it is still idle since 2 ms");
        let _ = queue.enqueue(2 * MS + 10 * 1_211_200, packet(1514, 0), &mut told);
        let Average::Floyd(floyd) = &queue.average else { unreachable!() };
        assert!((average(&queue) / (before * power(1.0 - floyd.weight, 10)) - 1.0).abs() < 1e-12);
    }

    /// Fates of a thousand packets that arrive while nothing leaves: dropped early, dropped for lack of room, marked.
    fn fates(settings: Red, ecn: Ecn, limit: Limit) -> (usize, usize, usize) {
        let (mut told, mut dropped) = (Told::default(), Vec::new());
        let mut queue = RedQueue::new(settings, limit, Random::new(7));
        for i in 0..1000 {
            let packet = crate::Packet { ecn, ..packet(1514, i) };
            dropped.extend(queue.enqueue(0, packet, &mut told).err());
        }
        let early = dropped.iter().filter(|d| d.1 == DropReason::Early).count();
        assert_eq!(queue.len() + dropped.len(), 1000);
        assert_eq!(queue.backlog_bytes(), 1514 * queue.len() as u64);
        (early, dropped.len() - early, told.marked.len())
    }

    #[test]
    fn what_may_be_marked_is_not_dropped_early() {
        let (linux, floyd) = (Red { ecn: true, ..MANUAL }, Red { ecn: true, ..FLOYD });
        let room = Limit::Bytes(u64::MAX);
        let (early, full, marked) = fates(linux, Ecn::Capable, room);
        assert!(early == 0 && full == 0 && marked > 800, "above the maximum Linux marks all");
        let (early, full, marked) = fates(floyd, Ecn::Capable, room);
        assert!(early > 800 && full == 0 && marked > 0, "above the maximum Floyd drops");
        for settings in [linux, floyd] {
            let (early, _, marked) = fates(settings, Ecn::NotCapable, room);
            assert!(early > 800 && marked == 0);
        }
        let (early, _, marked) = fates(MANUAL, Ecn::Capable, room);
        assert!(early > 800 && marked == 0, "marks were not asked for");
    }

    #[test]
    fn a_full_queue_drops_whatever_the_average_says() {
        let (early, full, marked) = fates(Red { ecn: true, ..MANUAL }, Ecn::Capable, Limit::Packets(100));
        assert_eq!((early, full), (0, 900));
        assert!(marked <= 100, "what is dropped is not counted as marked");
        let (early, full, _) = fates(MANUAL, Ecn::NotCapable, Limit::Bytes(20 * 1514));
        assert_eq!((early, full), (0, 980), "the average stays below the minimum");
    }

    #[test]
    fn extreme_settings_do_no_harm() {
        let extremes = [0, 1, 1514, 1 << 32, u64::MAX];
        for rules in [RedRules::Linux, RedRules::Floyd { gentle: true }, RedRules::Floyd { gentle: false }] {
            for min_bytes in extremes {
                for max_bytes in extremes {
                    for (max_ppb, burst_pkts, rate_bps) in
                        [(0, 0, 0), (u64::MAX, u64::MAX, u64::MAX), (1, 1, 1), (1_000_000_000, 55, 1 << 40)]
                    {
                        let settings =
                            Red { rules, min_bytes, max_bytes, max_ppb, burst_pkts, rate_bps, ecn: false };
                        let mut told = Told::default();
                        let mut queue = RedQueue::new(settings, Limit::Bytes(u64::MAX), Random::new(1));
                        for i in 0..50u32 {
                            let _ = queue.enqueue(u64::from(i), packet(i32::MAX as u32, i), &mut told);
                            let _ = queue.dequeue(u64::from(i), &mut told);
                        }
                        let _ = queue.enqueue(Nanos::MAX, packet(40, 0), &mut told);
                    }
                }
            }
        }
    }
}
