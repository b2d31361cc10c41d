//! The statistics of a monitor interval: `lib/monitor.h`.

/// The statistics of a monitor interval, from its ACKs: `struct cc_interval`. If the interval has no ACK, its
/// counts are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Interval {
    /// Sum of the RTT samples.
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u32,
    /// The least RTT sample; [`NO_RTT`](crate::NO_RTT): none.
    pub rtt_least_us: u32,
    /// The host's minimum RTT, by the last ACK; [`NO_RTT`](crate::NO_RTT): none.
    pub min_rtt_us: u32,
    /// Length of this interval and of the intervals without an ACK before it; at least 1.
    pub duration_us: u32,
    /// Number of ACKs that arrived.
    pub acks: u32,
    /// Packets acknowledged or SACKed.
    pub delivered_pkts: u32,
    /// Packets marked lost.
    pub lost_pkts: u32,
    /// Packets delivered with a congestion mark.
    pub ce_pkts: u32,
    /// Packets sent between the last ACK before the interval and the last ACK in it, retransmissions
    /// included.
    pub sent_pkts: u32,
    /// Packets in flight after the last ACK, before the transmissions that it allowed.
    pub inflight_pkts: u32,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Keeps the layout free of holes.
    pub reserved: u32,
}
