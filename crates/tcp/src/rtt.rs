//! RTT estimates: smoothed RTT and RTO (RFC 6298 with Linux's floors), and the minimum RTT.

use crate::time::{JIFFY_US, Nanos, US, jiffies};
use crate::wire::timestamp_ms;

/// The smallest variance term of a host with Linux's defaults, us: the RTO exceeds the RTT by at least 200 ms
/// (Linux: TCP_RTO_MIN). RFC 6298 has a minimum RTO of 1 s instead.
pub(crate) const RTO_MIN_US: u64 = 200_000;
/// The longest RTO, us: 120 s (Linux: TCP_RTO_MAX).
pub(crate) const RTO_MAX_US: u64 = 120_000_000;
/// RTO before the first sample, us: 1 s (RFC 6298, section 2.1).
pub(crate) const RTO_INITIAL_US: u64 = 1_000_000;
/// Length of the filter of the minimum RTT, ns: 300 s (Linux: tcp_min_rtt_wlen).
const MIN_RTT_FILTER: Nanos = 300 * 1_000_000_000;

/// RTT estimator of RFC 6298, in the fixed-point form of Linux's tcp_rtt_estimator: srtt times 8, deviations
/// times 4.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rtt {
    srtt_8us: u64,
    mdev_4us: u64,
    mdev_max_4us: u64,
    rttvar_4us: u64,
    /// The packet whose acknowledgment ends the round: the variance may fall once per round.
    round_end: u64,
    rto_us: u64,
    /// The smallest variance term.
    rto_min_us: u64,
    min: MinRtt,
}

impl Rtt {
    /// Returns an estimator without samples. The RTO is to exceed the RTT by at least `rto_min_us`.
    pub(crate) fn new(rto_min_us: u64) -> Self {
        Rtt { rto_min_us, rto_us: RTO_INITIAL_US, ..Rtt::default() }
    }

    /// Adds a sample and ends back-off (RFC 6298, section 5). `una` and `nxt` delimit rounds.
    #[inline]
    pub(crate) fn sample(&mut self, rtt_us: u64, una: u64, nxt: u64) {
        if self.srtt_8us == 0 {
            self.srtt_8us = rtt_us << 3;
            self.mdev_4us = rtt_us << 1;
            self.rttvar_4us = self.mdev_4us.max(self.rto_min_us);
            self.mdev_max_4us = self.rttvar_4us;
            self.round_end = nxt;
        } else {
            self.smooth(rtt_us, una, nxt);
        }
        self.srtt_8us = self.srtt_8us.max(1);
        let rto_us = ((self.srtt_8us >> 3) + self.rttvar_4us).min(RTO_MAX_US);
        // a division per ACK is saved while the jiffy stays
        if self.rto_us.wrapping_sub(rto_us) >= JIFFY_US {
            self.rto_us = jiffies(rto_us) * JIFFY_US;
        }
    }

    fn smooth(&mut self, rtt_us: u64, una: u64, nxt: u64) {
        let error = rtt_us as i64 - (self.srtt_8us >> 3) as i64;
        self.srtt_8us = self.srtt_8us.saturating_add_signed(error);
        let mut change = error.abs() - (self.mdev_4us >> 2) as i64;
        if error < 0 && change > 0 {
            change >>= 3; // a falling RTT raises the RTO only slightly (Ludwig and Sklower, 2000)
        }
        self.mdev_4us = self.mdev_4us.saturating_add_signed(change);
        if self.mdev_4us > self.mdev_max_4us {
            self.mdev_max_4us = self.mdev_4us;
            self.rttvar_4us = self.rttvar_4us.max(self.mdev_max_4us);
        }
        if una > self.round_end {
            if self.mdev_max_4us < self.rttvar_4us {
                self.rttvar_4us -= (self.rttvar_4us - self.mdev_max_4us) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max_4us = self.rto_min_us;
        }
    }

    /// The smallest variance term.
    pub(crate) fn rto_min_us(&self) -> u64 {
        self.rto_min_us
    }

    /// Doubles the RTO after it has expired.
    pub(crate) fn back_off(&mut self) {
        self.rto_us = (self.rto_us * 2).min(RTO_MAX_US);
    }

    /// Adds a sample to the minimum filter.
    #[inline]
    pub(crate) fn sample_min(&mut self, now: Nanos, rtt_us: u64) {
        self.min.update(now, rtt_us.max(1));
    }

    /// The smoothed RTT; 0 before the first sample.
    pub(crate) fn srtt_us(&self) -> u64 {
        self.srtt_8us >> 3
    }

    /// The mean deviation of the RTT.
    pub(crate) fn deviation_us(&self) -> u64 {
        self.mdev_4us >> 2
    }

    pub(crate) fn rto_us(&self) -> u64 {
        self.rto_us
    }

    pub(crate) fn rto_ns(&self) -> Nanos {
        self.rto_us * US
    }

    /// The minimum RTT; `u32::MAX` before the first sample.
    pub(crate) fn min_us(&self) -> u64 {
        self.min.get_us()
    }
}

/// The age of an echoed timestamp in us, with the resolution of a millisecond; `None` if the timestamp lies
/// in the future. Packets that do not wait for the pacer carry the departure time that the pacer gave them
/// (Linux: tcp_rtt_tsopt_us).
pub(crate) fn since_echo_us(now: Nanos, echo_ms: u32) -> Option<u64> {
    /// A millisecond, us.
    const MS_US: u32 = 1000;
    let ms = timestamp_ms(now).wrapping_sub(echo_ms);
    (ms < i32::MAX as u32 / MS_US).then(|| u64::from(ms.max(1)) * u64::from(MS_US))
}

/// Windowed minimum filter of Kathleen Nichols (Linux: lib/win_minmax.c): the smallest sample and two later
/// ones, each newer than the sample before.
#[derive(Debug, Clone, Copy)]
struct MinRtt {
    best: [MinSample; 3],
    /// Time before which samples that are not smaller change nothing.
    quiet_until: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct MinSample {
    at: Nanos,
    rtt_us: u64,
}

impl Default for MinRtt {
    fn default() -> Self {
        MinRtt { best: [MinSample { at: 0, rtt_us: u64::from(u32::MAX) }; 3], quiet_until: 0 }
    }
}

impl MinRtt {
    fn get_us(&self) -> u64 {
        self.best[0].rtt_us
    }

    #[inline]
    fn update(&mut self, now: Nanos, rtt_us: u64) {
        if rtt_us > self.best[2].rtt_us && now <= self.quiet_until {
            return; // the filter does not change
        }
        self.insert(now, rtt_us);
        let [first, second, third] = self.best.map(|sample| sample.at);
        self.quiet_until = first
            + match () {
                _ if second == first => MIN_RTT_FILTER / 4,
                _ if third == second => MIN_RTT_FILTER / 2,
                _ => MIN_RTT_FILTER,
            };
    }

    fn insert(&mut self, now: Nanos, rtt_us: u64) {
        let new = MinSample { at: now, rtt_us };
        let b = &mut self.best;
        if rtt_us <= b[0].rtt_us || now - b[2].at > MIN_RTT_FILTER {
            *b = [new; 3];
            return;
        }
        if rtt_us <= b[1].rtt_us {
            (b[1], b[2]) = (new, new);
        } else if rtt_us <= b[2].rtt_us {
            b[2] = new;
        }
        let age = now - b[0].at;
        if age > MIN_RTT_FILTER {
            *b = [b[1], b[2], new];
            if now - b[0].at > MIN_RTT_FILTER {
                *b = [b[1], b[2], new];
            }
        } else if b[1].at == b[0].at && age > MIN_RTT_FILTER / 4 {
            (b[1], b[2]) = (new, new);
        } else if b[2].at == b[1].at && age > MIN_RTT_FILTER / 2 {
            b[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second, ns.
    const S: Nanos = 1_000_000_000;

    #[test]
    fn first_sample_sets_srtt_and_an_rto_of_three_rtts_or_200_ms_more_in_jiffies() {
        let mut r = Rtt::new(RTO_MIN_US);
        assert_eq!(r.rto_us(), 1_000_000);
        r.sample(50_000, 0, 10);
        assert_eq!((r.srtt_us(), r.rto_us()), (50_000, 252_000));
        let mut r = Rtt::new(RTO_MIN_US);
        r.sample(500_000, 0, 10);
        assert_eq!((r.srtt_us(), r.rto_us()), (500_000, 1_500_000));
    }

    #[test]
    fn a_constant_rtt_brings_rto_to_srtt_plus_200_ms() {
        let mut r = Rtt::new(RTO_MIN_US);
        for i in 0..200 {
            r.sample(500_000, i * 2, i * 2 + 1);
        }
        // the variance term falls by quarters, in integers, and so not quite to 200 ms
        assert_eq!(r.srtt_us(), 500_000);
        assert_eq!(r.rto_us(), 704_000);
    }

    #[test]
    fn back_off_doubles_up_to_two_minutes_and_a_sample_ends_it() {
        let mut r = Rtt::new(RTO_MIN_US);
        r.sample(50_000, 0, 10);
        r.back_off();
        assert_eq!(r.rto_us(), 504_000);
        (0..20).for_each(|_| r.back_off());
        assert_eq!(r.rto_us(), 120_000_000);
        r.sample(50_000, 1, 10);
        assert!(r.rto_us() < 300_000);
    }

    #[test]
    fn minimum_holds_for_its_window_and_is_then_replaced() {
        let mut r = Rtt::new(RTO_MIN_US);
        r.sample_min(0, 10_000);
        for t in 1..=300 {
            r.sample_min(t * S, 20_000);
            assert_eq!(r.min_us(), 10_000, "at {t} s");
        }
        r.sample_min(301 * S, 20_000);
        assert_eq!(r.min_us(), 20_000);
        r.sample_min(302 * S, 15_000);
        assert_eq!(r.min_us(), 15_000);
    }

    #[test]
    fn the_age_of_an_echo_is_at_least_a_millisecond_and_unknown_if_it_lies_in_the_future() {
        let at = |ms: u64| ms * 1000 * US;
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(430))), Some(70_000));
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(500))), Some(1_000));
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(501))), None);
        let wrapped = at(1 << 32);
        assert_eq!(since_echo_us(wrapped + at(5), timestamp_ms(wrapped - at(5))), Some(10_000));
    }
}
