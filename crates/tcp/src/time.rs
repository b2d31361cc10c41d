//! Units of time, and the timers of Linux.

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// Nanoseconds in a microsecond, the resolution of TCP's clock (Linux: tcp_mstamp).
pub(crate) const US: Nanos = 1_000;
/// A jiffy, us: 4 ms, with CONFIG_HZ=250 as in Debian's kernels (others have 1 to 10 ms).
pub(crate) const JIFFY_US: u64 = 4_000;
/// Most jiffies for which a timer fires within one jiffy of its time (Linux: LVL_START of
/// kernel/time/timer.c).
const EXACT_JIFFIES: u64 = 63;
/// Factor by which times and granularity grow from one level of the timer wheel to the next (Linux:
/// LVL_CLK_DIV).
const LEVEL_FACTOR: u64 = 8;

/// Returns `us` in jiffies, rounded up (Linux: usecs_to_jiffies).
#[inline]
#[expect(clippy::manual_div_ceil, reason = "that takes twice as many instructions, for each ACK")]
pub(crate) fn jiffies(us: u64) -> u64 {
    (us + JIFFY_US - 1) / JIFFY_US
}

/// Returns the time when a timer fires that is set to `jiffies` from `now`. Linux's timer wheel is never
/// early. It is late by up to a jiffy, and by up to an eighth of the time from 252 ms on. Here every timer is
/// late by half of this, the mean over all moments within a jiffy.
#[inline]
pub(crate) fn expiry(now: Nanos, jiffies: u64) -> Nanos {
    /// Half a jiffy, ns.
    const HALF_A_JIFFY: Nanos = JIFFY_US / 2 * US;
    let granule = if jiffies < EXACT_JIFFIES { 1 } else { granule(jiffies) };
    now + (2 * jiffies + granule) * HALF_A_JIFFY
}

/// Returns the granularity of the level of a timer of N jiffies, jiffies.
#[cold]
fn granule(jiffies: u64) -> u64 {
    let (mut granule, mut end) = (1, EXACT_JIFFIES);
    while jiffies >= end {
        (granule, end) = (granule * LEVEL_FACTOR, end * LEVEL_FACTOR);
    }
    granule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_late_by_half_a_granule_of_the_wheel() {
        let late_ms = |ms: u64| (expiry(0, jiffies(1000 * ms)) / US) as f64 / 1e3 - ms as f64;
        assert_eq!([40, 200, 248].map(late_ms), [2.0; 3]);
        assert_eq!([252, 1000, 2012].map(late_ms), [16.0; 3]);
        assert_eq!([2016, 16_000].map(late_ms), [128.0; 2]);
        // what is no whole jiffy is rounded up first
        assert_eq!([1, 201].map(late_ms), [5.0; 2]);
    }
}
