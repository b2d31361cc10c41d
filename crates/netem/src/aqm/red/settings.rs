//! The settings of RED, and what both kinds of rules derive from them.

use crate::aqm::queue::MTU_BYTES;

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
    /// What the average forgives, full packets at once. It sets the average's weight, which is 2^-1 for
    /// bursts that cannot reach `min_bytes` (tc refuses those).
    pub burst_pkts: u64,
    /// The link's rate, bits per second: how fast the average ages while it is idle.
    pub rate_bps: u64,
    /// Marks ECN-capable packets where it would drop them early.
    pub ecn: bool,
}

/// Whose RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedRules {
    /// Linux: the average is a scaled integer, idle time ages it by a table, and from `max_bytes` on
    /// ECN-capable packets are still marked (without tc's `harddrop`).
    Linux,
    /// The paper's. From `max_bytes` on, packets are dropped even if they could be marked: RFC 3168 section
    /// 7, and Floyd's own simulator (ns-2).
    Floyd {
        /// From `max_bytes` to twice of it the probability grows to one, instead of leaping: Floyd,
        /// "Recommendation on using the gentle_ variant of RED", 2000.
        gentle: bool,
    },
}

/// What the average means for an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// The packet is to be dropped or marked.
    Early,
    /// All packets are to be dropped or marked.
    Forced,
}

/// Thresholds are 32 bits wide on Linux, so that the scaled average fits into 64. (Linux has 32 bits for a
/// scaled threshold and refuses larger ones: min and max must be below 2^(31 - weight_log).)
pub(super) const MOST_BYTES: u64 = u32::MAX as u64;
/// The smallest weight is 2^-31.
pub(super) const MOST_WEIGHT_LOG: u32 = 31;

pub(super) fn weight(log: u32) -> f64 {
    1.0 / (1u64 << log) as f64
}

/// `base` to the power of `n`, by multiplications alone: the same on every machine.
pub(super) fn power(mut base: f64, mut n: u64) -> f64 {
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

/// The weight 2^-log with which a burst of `burst` full packets into an empty queue stays just below the
/// minimum. It is the largest with burst + 1 - min / packet <= (1 - (1 - w)^burst) / w: iproute2,
/// tc/tc_red.c, `tc_red_eval_ewma`, and the table at the top of Linux's include/net/red.h. The paper's bound
/// (section VI) has burst + 1 in the exponent: tc sums one packet less.
pub(super) fn weight_log(min_bytes: u64, burst_pkts: u64) -> u32 {
    let needed = burst_pkts as f64 + 1.0 - min_bytes as f64 / MTU_BYTES as f64;
    let is_enough = |log: &u32| {
        let w = weight(*log);
        needed <= (1.0 - power(1.0 - w, burst_pkts)) / w
    };
    (1..MOST_WEIGHT_LOG).find(is_enough).unwrap_or(MOST_WEIGHT_LOG)
}
