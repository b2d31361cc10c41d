//! Values that both variants of RED derive from the settings of RED.

use crate::aqm::ring::MTU_BYTES;

/// The decision that follows from the average for an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// The packet is to be dropped or marked.
    Early,
    /// All packets are to be dropped or marked.
    Forced,
}

/// Largest threshold. Thresholds are 32 bits wide on Linux, so that the scaled average fits into 64. (Linux
/// has 32 bits for a scaled threshold and refuses larger ones: min and max must be below 2^(31 -
/// weight_log).)
pub(super) const MOST_BYTES: u64 = u32::MAX as u64;
/// Logarithm of the smallest weight, which is 2^-31.
pub(super) const MOST_WEIGHT_LOG: u32 = 31;

pub(super) fn weight(log: u32) -> f64 {
    1.0 / (1u64 << log) as f64
}

/// Returns `factor` to the power of `n`, by multiplications alone: the result is equal on every machine.
pub(super) fn power(mut factor: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 && product > 0.0 {
        if n % 2 == 1 {
            product *= factor;
        }
        factor *= factor;
        n /= 2;
    }
    product
}

/// Returns the logarithm of the weight 2^-log with which a burst of `burst` full packets into an empty queue
/// stays just below the minimum. The weight is the largest with burst + 1 - min / packet <= (1 - (1 -
/// w)^burst) / w: iproute2, tc/tc_red.c, `tc_red_eval_ewma`, and the table at the top of Linux's
/// include/net/red.h. The paper's bound (section VI) has burst + 1 in the exponent: tc sums one packet less.
pub(super) fn weight_log(min_bytes: u64, burst_pkts: u64) -> u32 {
    let needed = burst_pkts as f64 + 1.0 - min_bytes as f64 / MTU_BYTES as f64;
    let is_enough = |log: &u32| {
        let w = weight(*log);
        needed <= (1.0 - power(1.0 - w, burst_pkts)) / w
    };
    (1..MOST_WEIGHT_LOG).find(is_enough).unwrap_or(MOST_WEIGHT_LOG)
}
