//! The parts of a sender's state, and the changes by an ACK. The other files of this module implement the
//! sender on this state.

use crate::rate::{Reference, Snapshot};
use crate::time::Nanos;
use crate::wire::{Block, EcnField, timestamp_ms};

/// Number of duplicate ACKs, or of SACKed packets above, from which a packet is lost without RACK: RFC 5681
/// and RFC 6675, packets.
pub(super) const DUP_THRESH: u64 = 3;
/// The duplicate-ACK threshold before any reordering was observed (Linux: tcp_reordering), packets.
pub(super) const REORDERING_PKTS: u64 = 3;
/// The largest degree of reordering that is recorded (Linux: tcp_max_reordering), packets.
pub(super) const REORDERING_MAX_PKTS: u64 = 300;
/// The shortest timeout (Linux: TCP_TIMEOUT_MIN_US), us.
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;

/// The retransmission timer. As in Linux the sender has one such timer, which has one purpose at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The timer is not armed.
    Off,
    /// The retransmission timeout, RFC 6298.
    Retransmit(Nanos),
    /// The timer of a tail loss probe, RFC 8985, section 7.
    Probe(Nanos),
    /// RACK's reordering timer, RFC 8985, section 6.2, step 5.
    Reordering(Nanos),
}

impl Timer {
    /// The time when the timer expires; `Nanos::MAX` if it is off.
    #[inline]
    pub(super) fn at(self) -> Nanos {
        match self {
            Timer::Off => Nanos::MAX,
            Timer::Retransmit(at) | Timer::Probe(at) | Timer::Reordering(at) => at,
        }
    }
}

/// The state of ECN on this connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EcnState {
    /// The ECN field of new packets; Not-ECT: the ends did not agree to ECN.
    pub(super) field: EcnField,
    /// True if the next new packet carries CWR.
    pub(super) cwr_due: bool,
}

impl EcnState {
    /// Returns whether both ends have agreed to ECN.
    #[inline]
    pub(super) fn is_on(self) -> bool {
        self.field != EcnField::NotEct
    }
}

/// The part of cwnd that the sender uses (Linux: tcp_cwnd_validate).
#[derive(Debug, Clone, Default)]
pub(super) struct CwndUse {
    /// True if cwnd stopped the sender during the last window of data.
    pub(super) is_cwnd_limited: bool,
    /// Most packets outstanding during the last window of data.
    pub(super) max_packets_out: u32,
    /// End of the last window of data: the packet after it (Linux: cwnd_usage_seq).
    pub(super) until: u64,
    /// Most packets outstanding since `validated` (Linux: snd_cwnd_used).
    pub(super) used_pkts: u32,
    /// Time when cwnd was last full, changed, or adjusted on an ACK (Linux: snd_cwnd_stamp).
    pub(super) validated: Nanos,
}

/// A tail loss probe in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// One past the highest packet sent when the probe left (Linux: tlp_high_seq).
    pub(super) high_seq: u64,
    /// True if the probe was a retransmission, not new data.
    pub(super) retransmitted: bool,
    /// True if the original transmission of the retransmitted packet was application-limited.
    pub(super) app_limited: bool,
}

/// The state of loss recovery.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    /// The recovery point: the next packet to send when the current state began.
    pub(super) high_seq: u64,
    /// The cwnd before the last reduction.
    pub(super) prior_cwnd: u32,
    /// The ssthresh that undo restores; `None`: undo is impossible.
    pub(super) prior_ssthresh: Option<u32>,
    /// The oldest unacknowledged packet when the reduction began, if the reduction can be undone.
    pub(super) undo_marker: Option<u64>,
    /// Number of retransmissions since the reduction began that no D-SACK has reported; `None`: there were no
    /// retransmissions.
    pub(super) undo_retrans: Option<u64>,
    /// Timestamp of the first retransmission of the episode.
    pub(super) retrans_ms: Option<u32>,
    /// True if F-RTO is running: the timeout may be spurious.
    pub(super) frto: bool,
    /// Numbers of packets delivered and sent in the current reduction, RFC 9937.
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) probe: Option<Probe>,
    /// Number of timeouts since the last ACK of new data.
    pub(super) timeouts_in_a_row: u32,
    /// The SACK blocks of the last ACK, which are processed already (Linux: recv_sack_cache).
    pub(super) last_sacks: [Block; 3],
    /// Number of packets that D-SACKs have reported.
    pub(super) dsack_pkts: u64,
    /// The largest degree of reordering observed (Linux: tp->reordering), packets.
    pub(super) reordering_pkts: u64,
}

/// The transmission after an ACK in recovery (Linux: REXMIT_*).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoveryAction {
    /// New data only, as outside of recovery.
    None,
    /// Lost packets first.
    RetransmitLost,
    /// New data, to find out whether the timeout was spurious (F-RTO).
    SendNew,
}

impl Recovery {
    pub(super) fn new() -> Self {
        // Each field by name: `..Recovery::default()` copies all of them once more, which costs
        // 42 instructions per packet of short flows.
        Recovery {
            high_seq: 0,
            prior_cwnd: 0,
            prior_ssthresh: None,
            undo_marker: None,
            undo_retrans: None,
            retrans_ms: None,
            frto: false,
            prr_delivered: 0,
            prr_out: 0,
            probe: None,
            timeouts_in_a_row: 0,
            last_sacks: [Block::NONE; 3],
            dsack_pkts: 0,
            reordering_pkts: REORDERING_PKTS,
        }
    }

    /// Counts a retransmission for undo.
    pub(super) fn on_retransmit(&mut self, sent: Nanos, pkts: u64) {
        self.retrans_ms.get_or_insert(timestamp_ms(sent));
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + pkts);
    }

    /// Makes undo impossible: the reduction is justified whatever later ACKs report.
    pub(super) fn forbid_undo(&mut self) {
        self.prior_ssthresh = None;
    }

    pub(super) fn end_frto(&mut self) {
        self.frto = false;
    }
}

/// Times of sending of the first and the last packet of a range, us.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentTimes {
    pub(super) first_us: u64,
    pub(super) last_us: u64,
}

impl SentTimes {
    /// Adds a later packet to a range that may be empty.
    pub(super) fn extend(times: &mut Option<SentTimes>, sent_us: u64) {
        *times = Some(SentTimes { first_us: times.map_or(sent_us, |t| t.first_us), last_us: sent_us });
    }
}

/// Numbers of packets that an ACK newly delivered and newly marked lost, and the number in flight before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AckCounts {
    pub(super) acked_pkts: u32,
    pub(super) lost_pkts: u32,
    pub(super) prior_inflight_pkts: u32,
}

/// The report of an ACK; the flags of Linux's tcp_ack.
#[derive(Debug, Clone, Default)]
pub(super) struct AckInfo {
    /// The oldest unacknowledged packet before the ACK.
    pub(super) prior_una: u64,
    /// The packet that the delivery rate sample is taken from.
    pub(super) reference: Reference,
    /// RTT of the newest delivered packet that was never retransmitted, for the algorithm.
    pub(super) rtt_us: Option<u64>,
    /// Number of packets acknowledged cumulatively.
    pub(super) acked_pkts: u32,
    /// True if a packet was SACKed.
    pub(super) sacked_any: bool,
    /// True if rwnd grew.
    pub(super) rwnd_opened: bool,
    /// True if the ACK echoes a congestion mark.
    pub(super) ece: bool,
    /// True if the ACK has a D-SACK.
    pub(super) dsack: bool,
    /// True if the D-SACK is for the tail loss probe.
    pub(super) dsack_of_probe: bool,
    /// True if a packet below the recovery point was delivered in its first transmission.
    pub(super) original_delivered: bool,
    /// True if a retransmission was marked lost.
    pub(super) lost_retransmission: bool,
    /// True if the retransmission timer restarts.
    pub(super) restart_timer: bool,
    /// True if the ACK acknowledges up to a tail loss probe that was a retransmission, and no further.
    pub(super) probe_acked: bool,
    /// True if the ACK acknowledges a packet that was retransmitted.
    pub(super) retransmitted_acked: bool,
    /// Times of sending of the packets in their first transmission that the ACK acknowledges cumulatively.
    pub(super) acked_sent: Option<SentTimes>,
    /// Times of sending of the packets in their first transmission that the ACK SACKs.
    pub(super) sacked_sent: Option<SentTimes>,
    /// The lowest packet that arrived after a higher packet and was never retransmitted.
    pub(super) reordered_from: Option<u64>,
}

impl AckInfo {
    pub(super) fn una_advanced(&self) -> bool {
        self.acked_pkts > 0
    }

    /// True if the ACK neither acknowledges new data nor opens rwnd (Linux: the opposite of FLAG_NOT_DUP).
    pub(super) fn is_pure(&self) -> bool {
        self.acked_pkts == 0 && !self.rwnd_opened
    }

    /// True for a duplicate ACK (RFC 5681, section 2), unless it reports a packet that arrived twice.
    pub(super) fn is_dup_ack(&self) -> bool {
        self.is_pure() && !self.dsack
    }

    /// True if recovery processes the ACK even in state Open (Linux: tcp_ack_is_dubious).
    pub(super) fn is_dubious(&self) -> bool {
        self.is_pure() || self.sacked_any || self.dsack || self.ece
    }

    pub(super) fn note_reordering(&mut self, seq: u64) {
        self.reordered_from = Some(self.reordered_from.map_or(seq, |low| low.min(seq)));
    }
}

/// A packet that an ACK newly delivers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivered {
    pub(super) seq: u64,
    /// The state of the connection when the packet was last sent.
    pub(super) snapshot: Snapshot,
    /// True if the packet was retransmitted.
    pub(super) retransmitted: bool,
}
