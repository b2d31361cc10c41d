//! Pacing by earliest departure time, and the size of bursts (Linux: tcp_update_skb_after_send,
//! tcp_tso_autosize).

use fairpace_cc::{MIN_BURST_PKTS, NO_RATE};

use crate::time::Nanos;

/// Number of packets at the start of a connection that are not paced (Linux: tcp_update_skb_after_send,
/// data_segs_out < 10).
const UNPACED_PKTS: u32 = 10;
/// The longest burst, bytes: 64 KiB less room for headers (Linux: GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER).
const BURST_MAX_BYTES: u64 = 65_536 - 321;
/// Logarithm of a time in us, for bursts on short paths: they are longer by 64 KiB, halved for each 2^9 us of
/// the minimum RTT (Linux: tcp_tso_rtt_log).
const BURST_RTT_SHIFT: u32 = 9;

/// The schedule of departures.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    /// True if the sender paces.
    pub(crate) enabled: bool,
    /// The pacing rate in force; [`NO_RATE`]: no pacing rate.
    pub(crate) rate_Bps: u64,
    /// The smallest full burst, which the algorithm may lower (Linux: the hook min_tso_segs).
    pub(crate) min_burst_pkts: u32,
    /// Payload of a full segment, bytes.
    pub(crate) mss_bytes: u32,
    /// Earliest departure of the next burst; once passed, departure of the last burst.
    departure: Nanos,
    /// Number of packets scheduled, up to [`UNPACED_PKTS`].
    sent_pkts: u32,
}

impl Pacer {
    pub(crate) fn new(enabled: bool, mss_bytes: u32) -> Self {
        Pacer {
            enabled,
            rate_Bps: NO_RATE,
            min_burst_pkts: MIN_BURST_PKTS,
            mss_bytes,
            departure: 0,
            sent_pkts: 0,
        }
    }

    /// True if no burst may leave now.
    pub(crate) fn blocks(&self, now: Nanos) -> bool {
        self.enabled && self.departure > now
    }

    pub(crate) fn departure(&self) -> Nanos {
        self.departure
    }

    /// Time until the next departure.
    pub(crate) fn lead_ns(&self, now: Nanos) -> Nanos {
        self.departure.saturating_sub(now)
    }

    /// Schedules the departure after a burst of `pkts` packets, and returns the time of sending that the
    /// burst carries.
    ///
    /// A late sender catches up: the lateness, but at most half of the burst's length, is subtracted from the
    /// time to the next burst (Linux: tcp_update_skb_after_send).
    pub(crate) fn schedule(&mut self, now: Nanos, pkts: u64) -> Nanos {
        let prior = self.departure;
        self.departure = prior.max(now);
        let sent = self.departure;
        self.sent_pkts = (u64::from(self.sent_pkts) + pkts).min(u64::from(UNPACED_PKTS)) as u32;
        if self.enabled && self.rate_Bps != NO_RATE && self.rate_Bps != 0 && self.sent_pkts >= UNPACED_PKTS {
            let length = pkts * u64::from(self.mss_bytes) * 1_000_000_000 / self.rate_Bps;
            self.departure += length - (length / 2).min(sent - prior);
        }
        sent
    }

    /// Returns the number of packets in a full burst: the pacing rate over 2^`shift` seconds, about 1 ms for
    /// 10, and more on very short paths (Linux: tcp_tso_autosize).
    pub(crate) fn burst_pkts(&self, shift: u8, min_rtt_us: u64) -> u32 {
        let halvings = min_rtt_us >> BURST_RTT_SHIFT;
        let near = if halvings < 32 { BURST_MAX_BYTES >> halvings } else { 0 };
        let bytes = ((self.rate_Bps >> shift) + near).min(BURST_MAX_BYTES);
        (bytes / u64::from(self.mss_bytes)).max(u64::from(self.min_burst_pkts)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MSS_BYTES;

    /// Returns a pacer with a rate of one packet per millisecond.
    fn pacer() -> Pacer {
        let mut p = Pacer::new(true, MSS_BYTES);
        p.rate_Bps = u64::from(MSS_BYTES) * 1000;
        p.schedule(0, u64::from(UNPACED_PKTS) - 1);
        p
    }

    #[test]
    fn the_first_ten_packets_are_not_paced() {
        let mut p = Pacer::new(true, MSS_BYTES);
        p.rate_Bps = 1000;
        p.schedule(5, 5);
        assert!(!p.blocks(5));
        p.schedule(5, 5);
        assert!(p.blocks(5));
    }

    #[test]
    fn bursts_are_spaced_by_their_length() {
        let mut p = pacer();
        assert_eq!(p.schedule(0, 4), 0);
        assert_eq!(p.departure(), 4_000_000);
        assert!(p.blocks(3_999_999) && !p.blocks(4_000_000));
        assert_eq!(p.schedule(4_000_000, 1), 4_000_000);
        assert_eq!(p.departure(), 5_000_000);
    }

    #[test]
    fn a_late_sender_gets_back_at_most_half_a_burst() {
        let mut p = pacer();
        p.schedule(0, 4);
        p.schedule(4_500_000, 4);
        assert_eq!(p.departure(), 8_000_000, "half a packet late, made up for");
        p.schedule(100_000_000, 4);
        assert_eq!(p.departure(), 102_000_000);
    }

    #[test]
    fn without_pacing_nothing_is_ever_blocked() {
        let mut p = pacer();
        p.enabled = false;
        p.schedule(7, 1000);
        assert!(!p.blocks(7));
    }

    #[test]
    fn bursts_last_a_millisecond_within_bounds() {
        let mut p = pacer();
        p.rate_Bps = 12_500_000; // 100 Mbit/s: 12207 bytes
        assert_eq!(p.burst_pkts(10, 50_000), 8);
        p.rate_Bps = 125_000;
        assert_eq!(p.burst_pkts(10, 50_000), 2);
        p.min_burst_pkts = 1;
        assert_eq!(p.burst_pkts(10, 50_000), 1);
        p.rate_Bps = 12_500_000_000;
        assert_eq!(p.burst_pkts(10, 50_000), 45);
        p.rate_Bps = 125_000;
        assert_eq!(p.burst_pkts(10, 1_100), 11, "64 KiB / 4 on a path of 1.1 ms");
    }

    /// Bursts are computed in bytes: Linux has GSO_LEGACY_MAX_SIZE and sk_pacing_rate in bytes.
    #[test]
    fn bursts_and_their_spacing_follow_the_length_of_packets() {
        for (mss, a_millisecond, most) in [(1228, 9, 53), (1448, 8, 45), (8948, 2, 7)] {
            let mut p = Pacer::new(true, mss);
            p.rate_Bps = 12_500_000;
            assert_eq!(p.burst_pkts(10, 50_000), a_millisecond, "of {mss} bytes");
            p.schedule(0, 10);
            assert_eq!(p.departure(), 10 * u64::from(mss) * 80);
            p.rate_Bps = 12_500_000_000;
            assert_eq!(p.burst_pkts(10, 50_000), most, "of {mss} bytes in 64 KiB");
        }
    }
}
