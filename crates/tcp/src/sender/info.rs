//! What an observer of a connection may ask for beside cwnd and state: the fields of Linux's `struct
//! tcp_info` that the sender has (Linux: tcp_get_info).

use super::Sender;
use crate::control::Control;

/// A snapshot of a sender's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderInfo {
    /// One past the highest packet sent.
    pub snd_nxt: u64,
    /// One past the last packet that the application has written.
    pub written: u64,
    /// Number of packets sent and not acknowledged cumulatively (tcpi_unacked).
    pub packets_out: u32,
    /// Number of these that are SACKed (tcpi_sacked).
    pub sacked_out: u32,
    /// Number of these that are marked lost (tcpi_lost).
    pub lost_out: u32,
    /// Number of retransmissions in flight (tcpi_retrans).
    pub retrans_out: u32,
    /// The degree of reordering, packets (tcpi_reordering).
    pub reordering_pkts: u64,
    /// Number of timeouts since the last ACK of new data (tcpi_retransmits).
    pub timeouts_in_a_row: u32,
    /// The retransmission timeout (tcpi_rto).
    pub rto_us: u64,
    /// The mean deviation of the RTT (tcpi_rttvar).
    pub rtt_deviation_us: u64,
    /// The minimum RTT; `None`: no sample yet (tcpi_min_rtt).
    pub min_rtt_us: Option<u64>,
    /// Number of packets delivered, with the SYN (tcpi_delivered).
    pub delivered_pkts: u32,
    /// Number of packets delivered with CE (tcpi_delivered_ce).
    pub delivered_ce_pkts: u32,
    /// Number of packets that D-SACKs have reported (tcpi_dsack_dups).
    pub dsack_pkts: u64,
}

impl<C: Control> Sender<C> {
    /// Returns a snapshot of the sender's counts.
    pub fn info(&self) -> SenderInfo {
        SenderInfo {
            snd_nxt: self.board.nxt(),
            written: self.written,
            packets_out: self.board.packets_out(),
            sacked_out: self.board.sacked_out(),
            lost_out: self.board.lost_out(),
            retrans_out: self.board.retrans_out(),
            reordering_pkts: self.recovery.reordering_pkts,
            timeouts_in_a_row: self.recovery.timeouts_in_a_row,
            rto_us: self.rtt.rto_us(),
            rtt_deviation_us: self.rtt.deviation_us(),
            min_rtt_us: Some(self.rtt.min_us()).filter(|us| *us != u64::from(u32::MAX)),
            delivered_pkts: self.rate.delivered_pkts,
            delivered_ce_pkts: self.rate.delivered_ce_pkts,
            dsack_pkts: self.recovery.dsack_pkts,
        }
    }
}
