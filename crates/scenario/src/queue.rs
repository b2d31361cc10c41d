//! Queues and their disciplines: which packets wait, are dropped or marked, and in what order they leave.

use crate::fault::Complaint;
use crate::field::Field;
use crate::key::{Kind, MS, Relation, S, SHARE, SIZE, TIME};
use crate::quantity::{Dimension, Limit, PACKET_BYTES, WHOLE_PPB, show, show_limit};
use crate::row::{Access, Row};

/// A queue discipline: it decides which packets wait, are dropped or marked, and in what order they leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queue {
    /// First in, first out; packets that do not fit are dropped.
    #[default]
    Fifo,
    /// A FIFO that marks ECN-capable packets if more than this limit waits when they arrive (a step, as data
    /// centres use it).
    Step(Limit),
    /// Random early detection.
    Red(Red),
    /// Controlled delay, RFC 8289.
    Codel(Codel),
    /// A queue with CoDel for each of many buckets of flows, served in turn, RFC 8290.
    FqCodel(FqCodel),
    /// Proportional integral controller enhanced, RFC 8033.
    Pie(Pie),
    /// Two coupled queues for L4S and all others, RFC 9332.
    DualPi2(DualPi2),
}

/// Variants of RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedRules {
    /// Linux's `sch_red`: the average is a scaled integer, idle time ages it by a table, and from `max_bytes`
    /// on ECN-capable packets are still marked (without tc's `harddrop`).
    Linux,
    /// RED of Floyd and Jacobson 1993. From `max_bytes` on, packets are dropped even if they could be marked:
    /// RFC 3168, section 7, and Floyd's own simulator (ns-2).
    Floyd {
        /// True if the probability grows to one from `max_bytes` to twice of it, instead of jumping: Floyd,
        /// "Recommendation on using the gentle_ variant of RED", 2000.
        gentle: bool,
    },
}

/// Settings of RED. Thresholds are bytes of average backlog, up to 4 GB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    /// The variant of RED.
    pub rules: RedRules,
    /// Least average at which packets are dropped.
    pub min_bytes: u64,
    /// Average from which on all packets are dropped.
    pub max_bytes: u64,
    /// The drop probability just below `max_bytes`, billionths.
    pub max_ppb: u64,
    /// Number of full packets that may arrive at once at an empty queue without early drops. The number sets
    /// the average's weight, as tc's `burst` does; the weight is 2^-1 for bursts that cannot reach
    /// `min_bytes`, which tc refuses.
    pub burst_pkts: u64,
    /// True if ECN-capable packets are marked where they would be dropped early.
    pub ecn: bool,
}

/// Settings of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable queueing delay of a standing queue, ns.
    pub target_ns: u64,
    /// Time for which the queueing delay may exceed the target, ns; about the largest RTT.
    pub interval_ns: u64,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Queueing delay above which ECN-capable packets are marked, independently of the target, ns.
    pub ce_threshold_ns: Option<u64>,
    /// True if `ce_threshold_ns` is for ECT(1) only: L4S (Linux: `ce_threshold_selector 0x1/0x3`).
    pub ce_threshold_l4s: bool,
}

/// Settings of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel {
    /// CoDel in each bucket.
    pub codel: Codel,
    /// Number of buckets that connections are hashed to; 0 is taken as 1.
    pub buckets: u32,
    /// Bytes that a bucket may send in its turn; less than 256 is taken as 256, as by Linux.
    pub quantum_bytes: u32,
}

/// Settings of PIE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pie {
    /// The target queueing delay, ns.
    pub target_ns: u64,
    /// Time from one computation of the probability to the next, ns; less than 1 ms is taken as 1 ms, about
    /// the least value of Linux.
    pub update_ns: u64,
    /// True if ECN-capable packets are marked instead of dropped while the probability is at most 10 %.
    pub ecn: bool,
}

/// Settings of DualPI2, RFC 9332, appendix A.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualPi2 {
    /// The target delay of Classic packets, ns.
    pub target_ns: u64,
    /// Time from one computation of the probability to the next, ns (Tupdate); less than 1 ms is taken as 1
    /// ms. `None`: see [`DualPi2::update_ns`].
    pub update_ns: Option<u64>,
    /// The worst RTT that is expected, ns (RTT_max). The gains of the controller follow from it; less than 1
    /// ms is taken as 1 ms.
    pub rtt_max_ns: u64,
    /// Coupling factor: the probability of L4S over the root of the probability of Classic traffic (k); 0 is
    /// taken as 1.
    pub coupling: u32,
    /// The delay of L4S packets at which marks begin, ns (minTh); at least the time of a full packet.
    pub ramp_from_ns: u64,
    /// Length of the ramp, ns (range): at `ramp_from_ns` plus this delay all L4S packets are marked.
    pub ramp_range_ns: u64,
    /// The least share of the link that Classic packets get while L4S packets wait, billionths.
    pub classic_share_ppb: u64,
}

impl DualPi2 {
    /// Time from one computation of the probability to the next, ns: if it is not given, the target or a
    /// third of the worst RTT, whichever is less (RFC 9332, appendix A.1).
    #[must_use]
    pub fn update_ns(&self) -> u64 {
        self.update_ns.unwrap_or(self.target_ns.min(self.rtt_max_ns / 3))
    }
}

/// A function that returns a queue with the defaults that it has in front of a buffer.
type New = fn(Limit) -> Queue;

/// The name of every queue, and the function that makes it.
const ALL: &[(&str, New)] = &[
    ("fifo", |_| Queue::Fifo),
    // `mark_above` must be given
    ("step", Queue::Step),
    ("red", |buffer| Queue::Red(Red::before(RedRules::Linux, buffer.bytes()))),
    ("red_floyd", |buffer| Queue::Red(Red::before(RedRules::Floyd { gentle: false }, buffer.bytes()))),
    ("codel", |_| Queue::Codel(Codel::default())),
    ("fq_codel", |_| Queue::FqCodel(FqCodel::default())),
    ("pie", |_| Queue::Pie(Pie::default())),
    ("dualpi2", |_| Queue::DualPi2(DualPi2::default())),
];

impl Queue {
    /// The names of all queues.
    pub(crate) const NAMES: &[&str] = &{
        let (mut names, mut index) = ([""; ALL.len()], 0);
        while index < ALL.len() {
            names[index] = ALL[index].0;
            index += 1;
        }
        names
    };

    /// Returns the queue called `name` with the defaults that it has in front of a buffer.
    pub(crate) fn named(name: &str, buffer: Limit) -> Option<Self> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, new)| new(buffer))
    }

    /// The queue's name in a scenario.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Queue::Fifo => "fifo",
            Queue::Step(_) => "step",
            Queue::Red(Red { rules: RedRules::Linux, .. }) => "red",
            Queue::Red(Red { rules: RedRules::Floyd { .. }, .. }) => "red_floyd",
            Queue::Codel(_) => "codel",
            Queue::FqCodel(_) => "fq_codel",
            Queue::Pie(_) => "pie",
            Queue::DualPi2(_) => "dualpi2",
        }
    }

    /// The queue's title in results: its name, and the implementation that it follows where implementations
    /// differ.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Queue::Red(Red { rules: RedRules::Linux, .. }) => "red (Linux)",
            Queue::Red(Red { rules: RedRules::Floyd { gentle: true }, .. }) => "red (Floyd, gentle)",
            Queue::Red(_) => "red (Floyd)",
            other => other.name(),
        }
    }
}

impl Queue {
    /// Returns the complaints about the queue's settings in front of this buffer, each with its key.
    pub(crate) fn check(&self, buffer: Limit) -> Vec<(&'static str, Complaint)> {
        let (key, message, help) = match self {
            Queue::Red(red) => return red.thresholds(buffer).into_iter().chain(red.burst()).collect(),
            Queue::Step(above) if above.bytes() >= buffer.bytes() => {
                let (above, buffer) = (show_limit(*above), show_limit(buffer));
                let message = format!("the queue marks above {above}, but holds only {buffer}");
                ("mark_above", message, "write less than `buffer`")
            }
            Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. })
                if codel.target_ns >= codel.interval_ns =>
            {
                let time = |ns| show(ns, Dimension::Time);
                let (target, interval) = (time(codel.target_ns), time(codel.interval_ns));
                let message = format!("a target of {target} cannot be judged over an interval of {interval}");
                let help = "write a `target` of 5 to 10 % of `codel_interval` (RFC 8289, section 3.2)";
                ("target", message, help)
            }
            _ => return Vec::new(),
        };
        vec![(key, Complaint::impossible(message, help))]
    }
}

impl Red {
    /// Returns the complaint about the thresholds.
    fn thresholds(&self, buffer: Limit) -> Option<(&'static str, Complaint)> {
        let size = |bytes| show(bytes, Dimension::Size);
        let (min, max) = (size(self.min_bytes), size(self.max_bytes));
        let (key, message, help) = if self.min_bytes >= self.max_bytes {
            let message = format!("the queue drops none below {min} and all above {max}");
            ("red_min", message, "write a `red_min` below `red_max`, such as a third of it")
        } else if self.max_bytes > buffer.bytes() {
            let buffer = show_limit(buffer);
            let message = format!("the average backlog never gets to {max}: the queue holds only {buffer}");
            let help = "write a larger `buffer` or a smaller `red_max`, such as a quarter of the buffer";
            ("red_max", message, help)
        } else {
            return None;
        };
        Some((key, Complaint::impossible(message, help)))
    }

    /// Returns the complaint about the burst.
    fn burst(&self) -> Option<(&'static str, Complaint)> {
        let Red { min_bytes, burst_pkts, .. } = *self;
        if burst_pkts.saturating_mul(PACKET_BYTES) >= min_bytes {
            return None;
        }
        let min = show(min_bytes, Dimension::Size);
        let message =
            format!("a burst of {burst_pkts} packets does not fill {min}: the average has no weight for it");
        let help = format!("write at least {}, or a smaller `red_min`", min_bytes.div_ceil(PACKET_BYTES));
        Some(("red_burst", Complaint::impossible(message, help)))
    }

    /// Returns the settings of tc for a queue of `limit_bytes` without further options (iproute2,
    /// tc/q_red.c): `max` is a quarter of the queue, `min` a third of `max`.
    #[must_use]
    pub fn before(rules: RedRules, limit_bytes: u64) -> Self {
        let max_bytes = (limit_bytes / 4).max(2);
        Self::between(rules, (max_bytes / 3).max(1), max_bytes)
    }

    /// Returns settings with these thresholds, and the rest as tc has it: a probability of 2 %, and a burst
    /// of (2 min + max) / 3 in full packets, the guideline of tc-red(8); no less than min, which tc refuses.
    #[must_use]
    pub fn between(rules: RedRules, min_bytes: u64, max_bytes: u64) -> Self {
        let guideline = min_bytes.saturating_mul(2).saturating_add(max_bytes) / (3 * PACKET_BYTES);
        let burst_pkts = guideline.max(min_bytes.div_ceil(PACKET_BYTES));
        Red { rules, min_bytes, max_bytes, max_ppb: 20_000_000, burst_pkts, ecn: false }
    }
}

impl Default for Codel {
    /// Returns the defaults of the RFC.
    fn default() -> Self {
        Codel {
            target_ns: 5 * MS,
            interval_ns: 100 * MS,
            ecn: false,
            ce_threshold_ns: None,
            ce_threshold_l4s: false,
        }
    }
}

impl Default for FqCodel {
    /// Returns the defaults of the RFC and of Linux.
    fn default() -> Self {
        FqCodel { codel: Codel { ecn: true, ..Codel::default() }, buckets: 1024, quantum_bytes: 1514 }
    }
}

impl Default for Pie {
    /// Returns the defaults of the RFC and of Linux.
    fn default() -> Self {
        Pie { target_ns: 15 * MS, update_ns: 15 * MS, ecn: false }
    }
}

impl Default for DualPi2 {
    /// Returns the defaults of the RFC; the share is Linux's.
    fn default() -> Self {
        DualPi2 {
            target_ns: 15 * MS,
            update_ns: None,
            rtt_max_ns: 100 * MS,
            coupling: 2,
            ramp_from_ns: 800_000,
            ramp_range_ns: 400_000,
            classic_share_ppb: WHOLE_PPB / 10,
        }
    }
}

/// Access to a field of some queues: `variant!(Queue::Red(red) => red.ecn)`.
macro_rules! variant {
    ($($pattern:pat => $place:expr),+ $(,)?) => {
        Access {
            get: |queue: &Queue| match queue {
                $($pattern => Field::value(&$place),)+
                _ => None,
            },
            set: |queue: &mut Queue, value, _| match queue {
                $($pattern => Field::set(&mut $place, value),)+
                _ => {}
            },
        }
    };
}

const EARLY: &[&str] = &["red", "red_floyd"];
const CODEL: &[&str] = &["codel", "fq_codel"];
const DUALPI2: &[&str] = &["dualpi2"];

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Queue>] = &[
    Row::link("ecn", Kind::Bool, ECN, "Marks ECN-capable packets instead of dropping them.")
        .or("true for fq_codel, else false").of_queues(&["red", "red_floyd", "codel", "fq_codel", "pie"]),
    Row::link("mark_above", Kind::Limit, variant!(Queue::Step(above) => *above),
        "An ECN-capable packet that finds more than this waiting is marked (K in RFC 8257).")
        .range(1, 16_000_000_000).or("must be given with `step`").example("\"100kB\"").of_queues(&["step"])
        .needed_by_queue("step"),
    Row::link("red_min", SIZE, RED_MIN, "Below this average backlog nothing is dropped early.")
        .range(1, 4_000_000_000).or("a third of `red_max`, as tc").of_queues(EARLY),
    Row::link("red_max", SIZE, RED_MAX, "Above this average backlog everything is dropped.")
        .range(1, 4_000_000_000).or("a quarter of `buffer`, or three times `red_min`, as tc")
        .of_queues(EARLY),
    Row::link("red_probability", SHARE, variant!(Queue::Red(red) => red.max_ppb),
        "The drop probability at an average just below `red_max`.")
        .range(1, WHOLE_PPB).optional().of_queues(EARLY),
    Row::link("red_burst", Kind::Integer, variant!(Queue::Red(red) => red.burst_pkts),
        "Full packets that may arrive at once at an empty queue without early drops; it sets the weight of \
         the average (tc's `burst`, with 1514 bytes for `avpkt`).")
        .range(1, 4_000_000).or("(2 `red_min` + `red_max`) / 3 in full packets, as tc").of_queues(EARLY),
    Row::link("red_gentle", Kind::Bool, RED_GENTLE,
        "From `red_max` to twice of it the probability grows to one.")
        .optional().of_queues(&["red_floyd"]),
    Row::link("target", TIME, TARGET, "The acceptable queueing delay of a standing queue.")
        .range(1_000, 10 * S).or("5ms; 15ms for pie and dualpi2")
        .of_queues(&["codel", "fq_codel", "pie", "dualpi2"]),
    Row::link("codel_interval", TIME, CODEL_INTERVAL,
        "For how long `target` may be exceeded; about the longest RTT.")
        .range(1_000, 10 * S).optional().of_queues(CODEL),
    Row::link("ce_threshold", TIME, CE_THRESHOLD,
        "An ECN-capable packet that waited for longer is marked, independently of `target`.")
        .range(0, 10 * S).or("none").of_queues(CODEL),
    Row::link("ce_threshold_l4s", Kind::Bool, CE_THRESHOLD_L4S,
        "`ce_threshold` is for ECT(1) packets only: L4S (Linux: `ce_threshold_selector 0x1/0x3`).")
        .optional().of_queues(CODEL).related(&[Relation::Needs("ce_threshold")]),
    Row::link("fq_buckets", Kind::Integer, variant!(Queue::FqCodel(fq) => fq.buckets),
        "Queues that connections are hashed to, also those of one workload.")
        .range(1, 65_536).optional().of_queues(&["fq_codel"]),
    Row::link("fq_quantum", SIZE, variant!(Queue::FqCodel(fq) => fq.quantum_bytes),
        "What a queue may send in its turn.")
        .range(256, 1 << 20).optional().of_queues(&["fq_codel"]),
    Row::link("pie_update", TIME, variant!(Queue::Pie(pie) => pie.update_ns),
        "From one computation of the drop probability to the next.")
        .range(100_000, 10 * S).optional().of_queues(&["pie"]),
    Row::link("dualpi2_update", TIME, variant!(Queue::DualPi2(dual) => dual.update_ns),
        "From one computation of the probability to the next (Tupdate of RFC 9332).")
        .range(MS, 10 * S).or("`target`, or a third of `dualpi2_rtt_max` if that is less")
        .of_queues(DUALPI2),
    Row::link("dualpi2_rtt_max", TIME, variant!(Queue::DualPi2(dual) => dual.rtt_max_ns),
        "The worst RTT, from which the gains of the controller follow (RTT_max of RFC 9332).")
        .range(MS, 10 * S).optional().of_queues(DUALPI2),
    Row::link("dualpi2_coupling", Kind::Integer, variant!(Queue::DualPi2(dual) => dual.coupling),
        "How much more the queue of L4S marks than the root of the drop probability of Classic packets \
         (k of RFC 9332).")
        .range(1, 100).optional().of_queues(DUALPI2),
    Row::link("dualpi2_ramp_from", TIME, variant!(Queue::DualPi2(dual) => dual.ramp_from_ns),
        "The delay of L4S packets above which they are marked (minTh of RFC 9332); at least the time of a \
         full packet on the link.")
        .range(0, 10 * S).optional().of_queues(DUALPI2),
    Row::link("dualpi2_ramp_range", TIME, variant!(Queue::DualPi2(dual) => dual.ramp_range_ns),
        "From there to the delay at which all are marked (range of RFC 9332); 0 is a step.")
        .range(0, 10 * S).optional().of_queues(DUALPI2),
    Row::link("dualpi2_classic_share", SHARE, variant!(Queue::DualPi2(dual) => dual.classic_share_ppb),
        "What Classic packets get of the link at least while L4S packets wait (Linux: `classic_protection`).")
        .range(0, WHOLE_PPB).optional().of_queues(DUALPI2),
];

const ECN: Access<Queue> = variant!(
    Queue::Red(red) => red.ecn,
    Queue::Pie(pie) => pie.ecn,
    Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.ecn,
);
const RED_GENTLE: Access<Queue> = variant!(
    Queue::Red(Red { rules: RedRules::Floyd { gentle }, .. }) => *gentle,
);
const TARGET: Access<Queue> = variant!(
    Queue::Pie(pie) => pie.target_ns,
    Queue::DualPi2(dual) => dual.target_ns,
    Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.target_ns,
);
const CODEL_INTERVAL: Access<Queue> = variant!(
    Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.interval_ns,
);
const CE_THRESHOLD: Access<Queue> = variant!(
    Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.ce_threshold_ns,
);
const CE_THRESHOLD_L4S: Access<Queue> = variant!(
    Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.ce_threshold_l4s,
);
const RED_MIN: Access<Queue> = Access {
    get: |queue| red(queue)?.min_bytes.value(),
    set: |queue, value, given| {
        let min = value.number();
        set_thresholds(queue, min, given.number("red_max").unwrap_or(min.saturating_mul(3)));
    },
};
const RED_MAX: Access<Queue> = Access {
    get: |queue| red(queue)?.max_bytes.value(),
    set: |queue, value, given| {
        let max = value.number();
        set_thresholds(queue, given.number("red_min").unwrap_or((max / 3).max(1)), max);
    },
};

fn red(queue: &Queue) -> Option<&Red> {
    if let Queue::Red(red) = queue { Some(red) } else { None }
}

/// Sets RED's thresholds, and the burst that tc's guideline derives from them.
fn set_thresholds(queue: &mut Queue, min_bytes: u64, max_bytes: u64) {
    if let Queue::Red(red) = queue {
        *red = Red { ecn: red.ecn, ..Red::between(red.rules, min_bytes, max_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_queue() {
        for (name, new) in ALL {
            assert_eq!(new(Limit::Bytes(1)).name(), *name);
        }
        assert_eq!(Queue::NAMES.len(), ALL.len());
    }
}
