//! The parts of a receiver's state: ACKs that are delayed or compressed, and the packet that GRO assembles.

use crate::rtt::{RTO_INITIAL_US, RTO_MIN_US, Rtt};
use crate::time::{JIFFY_US, Nanos, US, expiry, jiffies};
use crate::wire::{EcnField, Segment};

/// The shortest delay of an ACK, ns: 40 ms (Linux: TCP_ATO_MIN, TCP_DELACK_MIN).
const ATO_MIN: Nanos = 40_000_000;
/// The longest delay of an ACK, ns: a jiffy of 4 ms less than the shortest RTO of 200 ms (Linux:
/// tcp_delack_max). An RTT of more than [`ATO_MIN`] is less.
const ATO_MAX: Nanos = 196_000_000;
/// Number of ACKs that are not delayed at the start, after a long gap and after duplicates (Linux:
/// TCP_MAX_QUICKACKS).
pub(super) const QUICK_ACKS: u32 = 16;
/// Time after a segment until the application has read it, ns: 60 us, seen once with Linux 6.18 on two cores.
const READ_NS: Nanos = 60_000;
/// Number of ACKs that are not delayed after a mark, since the sender's cwnd may be small (Linux:
/// __tcp_ecn_check_ce).
pub(super) const QUICK_ACKS_ON_MARK: u32 = 2;
/// Number of ACKs that are not delayed if rwnd holds less than two packets (Linux: tcp_incr_quickack).
const QUICK_ACKS_LEAST: u32 = 2;
/// Accurate ECN: number of packets with CE that are acknowledged at once. RFC 9768, section 3.2.2.5.1, has 2
/// while data is unacknowledged, and a data packet with CE always is.
const CE_PKTS_PER_ACK: u16 = 2;

/// ACKs that are delayed or compressed.
#[derive(Debug, Clone, Default)]
pub(super) struct Acks {
    /// True if both ends agreed to ECN.
    pub(super) ecn: bool,
    /// True if the next ACK carries ECE.
    pub(super) ece: bool,
    /// Accurate ECN: true if the last packet arrived with CE.
    pub(super) last_was_ce: bool,
    /// Accurate ECN: number of packets that have arrived with CE, which wraps, and the number since the last
    /// ACK.
    pub(super) ce_pkts: u16,
    pub(super) unreported_ce_pkts: u16,
    /// True if ECN-capable packets have arrived: a packet that is not ECN-capable is then probably a
    /// retransmission.
    pub(super) ect_seen: bool,
    /// The field `next` of the last ACK sent.
    pub(super) acked: u64,
    /// The timestamp to echo: the timestamp of the segment that advanced the last ACK, or would have (RFC
    /// 7323, section 4.3).
    pub(super) echo_ms: u32,
    /// Number of ACKs that are not delayed (Linux: icsk_ack.quick).
    pub(super) quickacks: u32,
    /// Time after a segment when the timer of its ACK fires: `ato`, at most `delay_max`, and its lateness.
    delay: Nanos,
    /// Time when a segment last arrived in order, or the connection was established (Linux:
    /// icsk_ack.lrcvtime).
    last_data: Nanos,
    /// Time after a segment within which a further segment changes no delay; 0: any segment may change it.
    quiet: Nanos,
    /// The delay of an ACK, before it is bounded; 0: no segment has arrived in order, and no quick ACK has
    /// left (Linux: icsk_ack.ato).
    ato: Nanos,
    /// The longest delay of an ACK: an RTT, within [`ATO_MIN`] and [`ATO_MAX`].
    delay_max: Nanos,
    /// The receiver's own RTO: a longer gap ends with quick ACKs, since the sender starts slowly again.
    rto: Nanos,
    /// Deadlines of a delayed ACK, or of the next SYN-ACK during the handshake, and of compressed SACKs;
    /// `Nanos::MAX`: no deadline.
    pub(super) delayed_until: Nanos,
    /// True if the delayed ACK leaves when the application has read, since a segment had PSH.
    is_read: bool,
    pub(super) compressed_until: Nanos,
    pub(super) compressed: u32,
    pub(super) dup_acks: u32,
    pub(super) dup_acks_next: u64,
    /// Time when the last ACK left, and the number of steps of `ack_delay_at` that have passed.
    pub(super) last_departure: Nanos,
    pub(super) delay_steps: usize,
}

impl Acks {
    /// Returns the state of a connection without segments.
    pub(super) fn new() -> Self {
        Acks {
            delay: expiry(0, 0),
            delay_max: ATO_MAX,
            rto: RTO_INITIAL_US * US,
            delayed_until: Nanos::MAX,
            compressed_until: Nanos::MAX,
            ..Acks::default()
        }
    }

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
            if !self.is_read {
                self.set_ato(self.ato * 2); // no second segment arrived in time
            }
            return true;
        }
        false
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

    /// Starts when the connection is established. `rtt_us` is the RTT, if the handshake gives it.
    pub(super) fn start(&mut self, now: Nanos, rtt_us: Option<u64>) {
        self.last_data = now;
        let Some(rtt_us) = rtt_us else { return };
        let mut estimate = Rtt::new(RTO_MIN_US);
        estimate.sample(rtt_us, 0, 0);
        self.rto = estimate.rto_ns();
        self.delay_max = (rtt_us * US).clamp(ATO_MIN, ATO_MAX);
        self.set_ato(self.ato);
    }

    fn set_ato(&mut self, ato: Nanos) {
        self.ato = ato.min(self.rto);
        self.delay = expiry(0, jiffies(self.ato.min(self.delay_max) / US));
        self.quiet = if self.ato == ATO_MIN { ATO_MIN / 2 } else { 0 };
    }

    /// Records a segment in order: the delay of ACKs follows the time between such segments (Linux:
    /// tcp_event_data_recv).
    #[inline]
    pub(super) fn note_data(&mut self, now: Nanos, rwnd_pkts: u32) {
        if now - self.last_data >= self.quiet {
            self.note_gap(now, rwnd_pkts);
        }
        self.last_data = now;
    }

    #[cold]
    fn note_gap(&mut self, now: Nanos, rwnd_pkts: u32) {
        let gap = now - self.last_data;
        if self.ato == 0 {
            self.enter_quickack(QUICK_ACKS, rwnd_pkts);
        } else if gap <= ATO_MIN / 2 {
            self.set_ato(self.ato / 2 + ATO_MIN / 2);
        } else if gap < self.ato {
            self.set_ato(self.ato / 2 + gap);
        } else if gap > self.rto + JIFFY_US * US / 2 {
            // half a jiffy, since Linux counts how many begin within the gap
            self.raise_quickacks(QUICK_ACKS, rwnd_pkts);
        }
    }

    /// Makes the next ACKs leave without delay: half as many as rwnd has packets, at most `most` (Linux:
    /// tcp_incr_quickack).
    fn raise_quickacks(&mut self, most: u32, rwnd_pkts: u32) {
        let half_of_rwnd = match rwnd_pkts / 2 {
            0 => QUICK_ACKS_LEAST,
            pkts => pkts,
        };
        self.quickacks = self.quickacks.max(most.min(half_of_rwnd));
    }

    /// Makes one more ACK leave without delay, since rwnd has opened further (Linux: tcp_grow_window sets the
    /// lowest bit).
    pub(super) fn rwnd_opened(&mut self) {
        self.quickacks |= 1;
    }

    /// Delays no ACKs for a while: at most `most` ACKs (Linux: tcp_enter_quickack_mode).
    pub(super) fn enter_quickack(&mut self, most: u32, rwnd_pkts: u32) {
        self.raise_quickacks(most, rwnd_pkts);
        self.set_ato(ATO_MIN);
    }

    /// Counts an ACK that leaves: one ACK fewer is sent without delay (Linux: tcp_dec_quickack_mode).
    #[inline]
    pub(super) fn lower_quickacks(&mut self) {
        if self.quickacks > 0 {
            self.quickacks -= 1;
            if self.quickacks == 0 {
                self.set_ato(ATO_MIN);
            }
        }
    }

    /// Delays the ACK that is due (Linux: tcp_send_delayed_ack). After a `push` the ACK leaves when the
    /// application has read everything (Linux: tcp_measure_rcv_mss, ICSK_ACK_PUSHED, __tcp_cleanup_rbuf).
    #[inline]
    pub(super) fn delay(&mut self, now: Nanos, push: bool) {
        if push {
            self.delayed_until = self.delayed_until.min(now + READ_NS);
            self.is_read = true;
        } else if self.delayed_until == Nanos::MAX {
            self.delayed_until = now + self.delay;
            self.is_read = false;
        }
    }

    /// Accurate ECN: counts packets that arrived with CE. Returns true if an ACK must be sent at once: for
    /// the first packet with CE after a packet without, and for every [`CE_PKTS_PER_ACK`] packets with CE
    /// (RFC 9768, section 3.2.2.5.1: change-triggered and increment-triggered ACKs).
    pub(super) fn count_marks(&mut self, is_ce: bool, pkts: u64) -> bool {
        let changes = !std::mem::replace(&mut self.last_was_ce, is_ce);
        if !is_ce {
            return false;
        }
        self.ce_pkts = self.ce_pkts.wrapping_add(pkts as u16);
        self.unreported_ce_pkts = self.unreported_ce_pkts.saturating_add(pkts as u16);
        changes || self.unreported_ce_pkts >= CE_PKTS_PER_ACK
    }
}

/// A packet that GRO assembles from consecutive packets.
#[derive(Debug, Clone)]
pub(super) struct GroPacket {
    pub(super) first: Segment,
    /// Number of packets; 0: GRO assembles no packet now.
    pub(super) pkts: u64,
    /// Latest time when the packet is received; `Nanos::MAX`: GRO assembles no packet now.
    pub(super) until: Nanos,
}

impl GroPacket {
    pub(super) const NONE: GroPacket = GroPacket {
        first: Segment { seq: 0, sent: 0, echo_ms: 0, ecn: EcnField::NotEct, cwr: false, push: false },
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
