//! The parts of a receiver's state: ACKs that are delayed or compressed, and the packet that GRO assembles.

use crate::time::{JIFFY_US, Nanos, US, expiry, jiffies};
use crate::wire::{EcnField, Segment};

/// The shortest delay of an ACK, ns: 40 ms (Linux: TCP_ATO_MIN, TCP_DELACK_MIN).
const ATO_MIN: Nanos = 40_000_000;
/// The longest delay of an ACK, ns: a jiffy of 4 ms less than the shortest RTO of 200 ms (Linux:
/// tcp_delack_max).
const ATO_MAX: Nanos = 196_000_000;
/// The least that the RTO of the receiver exceeds its RTT, ns: 200 ms (Linux: TCP_RTO_MIN).
const RTO_MIN: Nanos = 200_000_000;
/// ACKs that are not delayed at the start and after duplicates (Linux: TCP_MAX_QUICKACKS).
const QUICK_ACKS: u32 = 16;
/// ACKs that are not delayed after a mark, since the sender's cwnd may be small (Linux: __tcp_ecn_check_ce).
const QUICK_ACKS_ON_MARK: u32 = 2;
/// Accurate ECN: this number of packets with CE is acknowledged at once. RFC 9768, section 3.2.2.5.1, has 2
/// while data is unacknowledged, and a packet of data with CE always is.
const CE_PKTS_PER_ACK: u16 = 2;

/// ACKs that are delayed or compressed.
#[derive(Debug, Clone)]
pub(super) struct Acks {
    /// Both ends agreed to ECN.
    pub(super) ecn: bool,
    /// The next ACK carries ECE.
    pub(super) ece: bool,
    /// Accurate ECN: the last packet arrived with CE.
    pub(super) last_was_ce: bool,
    /// Accurate ECN: packets that have arrived with CE, which wraps, and of these since the last ACK.
    pub(super) ce_pkts: u16,
    pub(super) unreported_ce_pkts: u16,
    /// ECN-capable packets have arrived, so one that is not is probably a retransmission.
    pub(super) ect_seen: bool,
    pub(super) syn_seen: bool,
    pub(super) answer_syn: bool,
    /// `next` in the last ACK sent.
    pub(super) acked: u64,
    /// The timestamp to echo: of the segment that advanced the last ACK, or would have (RFC 7323, section
    /// 4.3).
    pub(super) echo_ms: u32,
    /// ACKs that are not delayed, and by how much others are; 0: not set yet (Linux: icsk_ack.quick, ato).
    pub(super) quickacks: u32,
    ato: Nanos,
    /// When the last packet in order arrived, or the connection was established (Linux: lrcvtime).
    pub(super) last_data: Nanos,
    /// When the last SYN-ACK left, and how long after it the connection was established: the receiver's own
    /// RTT. `None`: it is not established.
    pub(super) syn_ack_sent: Nanos,
    pub(super) rtt: Option<Nanos>,
    /// Deadlines of a delayed ACK and of compressed SACKs; `Nanos::MAX`: there are none.
    pub(super) delayed_until: Nanos,
    pub(super) compressed_until: Nanos,
    pub(super) compressed: u32,
    pub(super) dup_acks: u32,
    pub(super) dup_acks_next: u64,
    /// When the last ACK left, and the number of steps of `ack_delay_at` that have passed.
    pub(super) last_departure: Nanos,
    pub(super) delay_steps: usize,
}

impl Default for Acks {
    fn default() -> Self {
        Acks {
            ecn: false,
            ece: false,
            last_was_ce: false,
            ce_pkts: 0,
            unreported_ce_pkts: 0,
            ect_seen: false,
            syn_seen: false,
            answer_syn: false,
            acked: 0,
            echo_ms: 0,
            quickacks: 0,
            ato: 0,
            last_data: 0,
            syn_ack_sent: 0,
            rtt: None,
            delayed_until: Nanos::MAX,
            compressed_until: Nanos::MAX,
            compressed: 0,
            dup_acks: 0,
            dup_acks_next: 0,
            last_departure: 0,
            delay_steps: 0,
        }
    }
}

impl Acks {
    #[inline]
    pub(super) fn next_timer(&self) -> Nanos {
        self.delayed_until.min(self.compressed_until)
    }

    /// True if an ACK must be sent now.
    pub(super) fn on_timer(&mut self, now: Nanos) -> bool {
        if self.compressed_until <= now {
            return true;
        }
        if self.delayed_until <= now {
            self.ato = (self.ato * 2).min(self.rto()); // no second segment arrived in time
            return true;
        }
        false
    }

    /// The receiver's RTO: after one sample, three RTTs, or 200 ms more than one (RFC 6298 with Linux's
    /// floor).
    fn rto(&self) -> Nanos {
        let rtt = self.rtt.unwrap_or(0);
        jiffies((rtt + (2 * rtt).max(RTO_MIN)) / US) * JIFFY_US * US
    }

    /// Data arrives in order: adapts the delay of ACKs to the time between packets (Linux:
    /// tcp_event_data_recv).
    #[inline]
    pub(super) fn on_data(&mut self, now: Nanos) {
        let gap = now - std::mem::replace(&mut self.last_data, now);
        if gap <= ATO_MIN / 2 && self.ato > 0 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else {
            self.on_late_data(gap);
        }
    }

    #[cold]
    fn on_late_data(&mut self, gap: Nanos) {
        let rto = self.rto();
        if self.ato == 0 {
            self.enter_quickack(); // it is the first, and no ACK has left
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto + JIFFY_US * US / 2 {
            self.quickacks = self.quickacks.max(QUICK_ACKS); // as after a pause
        }
    }

    /// Delays an ACK (Linux: tcp_send_delayed_ack).
    #[inline]
    pub(super) fn delay_ack(&mut self, now: Nanos) {
        let delay = if self.ato <= ATO_MIN {
            self.ato
        } else {
            self.ato.min(self.rtt.map_or(ATO_MAX, |rtt| rtt.max(ATO_MIN))).min(ATO_MAX)
        };
        self.delayed_until = expiry(now, jiffies(delay / US));
    }

    /// An ACK leaves (Linux: tcp_dec_quickack_mode).
    #[inline]
    pub(super) fn count_quick(&mut self) {
        if self.quickacks <= 1 {
            self.ato = if self.quickacks == 1 { ATO_MIN } else { self.ato };
            self.quickacks = 0;
        } else {
            self.quickacks -= 1;
        }
    }

    /// rwnd has opened further, so one ACK more is not delayed (Linux: tcp_grow_window sets the lowest bit).
    pub(super) fn rwnd_opened(&mut self) {
        self.quickacks |= 1;
    }

    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment) {
        if segment.seq <= self.acked {
            self.echo_ms = segment.timestamp_ms();
        }
    }

    pub(super) fn any_compressed(&self) -> bool {
        self.compressed > 0
    }

    /// Delays no ACKs for a while (Linux: tcp_enter_quickack_mode).
    pub(super) fn enter_quickack(&mut self) {
        self.quickacks = self.quickacks.max(QUICK_ACKS);
        self.ato = ATO_MIN;
    }

    /// Accurate ECN: counts packets that arrived with CE. Returns true if an ACK must be sent at once: for
    /// the first packet with CE after one without, and for every [`CE_PKTS_PER_ACK`] of them (RFC 9768,
    /// section 3.2.2.5.1: change-triggered and increment-triggered ACKs).
    pub(super) fn count_marks(&mut self, is_ce: bool, pkts: u64) -> bool {
        let changes = !std::mem::replace(&mut self.last_was_ce, is_ce);
        if !is_ce {
            return false;
        }
        self.ce_pkts = self.ce_pkts.wrapping_add(pkts as u16);
        self.unreported_ce_pkts = self.unreported_ce_pkts.saturating_add(pkts as u16);
        changes || self.unreported_ce_pkts >= CE_PKTS_PER_ACK
    }

    pub(super) fn enter_quickack_on_mark(&mut self) {
        self.quickacks = self.quickacks.max(QUICK_ACKS_ON_MARK);
        self.ato = ATO_MIN;
    }
}

/// Consecutive packets that are received as one.
#[derive(Debug, Clone)]
pub(super) struct GroPacket {
    pub(super) first: Segment,
    /// 0: there is none.
    pub(super) pkts: u64,
    /// When it is received at the latest; `Nanos::MAX`: there is none.
    pub(super) until: Nanos,
}

impl GroPacket {
    pub(super) const NONE: GroPacket = GroPacket {
        first: Segment { seq: 0, sent: 0, echo_ms: 0, ecn: EcnField::NotEct, cwr: false },
        pkts: 0,
        until: Nanos::MAX,
    };

    /// True if `segment` continues this packet: the headers are equal, timestamps and ECN field included, but
    /// for the sequence number.
    pub(super) fn takes(&self, segment: &Segment) -> bool {
        self.pkts > 0
            && segment.seq == self.first.seq + self.pkts
            && segment.timestamp_ms() == self.first.timestamp_ms()
            && segment.echo_ms == self.first.echo_ms
            && segment.ecn == self.first.ecn
            && !segment.cwr
    }
}
