//! ECN: packets that an ACK with ECE delivers count as marked (see [`crate::rate::Rate::count`]), and the
//! sender reduces once per window of data (RFC 3168, section 6.1.2; Linux: tcp_enter_cwr, tcp_ecn_send).

use fairpace_cc::CaState;

use super::Sender;
use crate::control::Control;
use crate::time::Nanos;
use crate::wire::Segment;

impl<C: Control> Sender<C> {
    /// An ACK echoed a mark: reduces cwnd, unless a reduction is under way. An algorithm that owns cwnd gets
    /// the events, and its cwnd is not changed.
    pub(super) fn reduce_on_mark(&mut self, now: Nanos) {
        self.recovery.forbid_undo();
        if self.ca_state < CaState::Cwr {
            self.stats.mark_reductions += 1;
            self.recovery.undo_marker = None;
            self.begin_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
        }
    }

    /// The next new packet carries CWR, so that the receiver ends its echo.
    pub(super) fn set_cwr_due(&mut self) {
        self.ecn.cwr_due = self.ecn.on;
    }

    /// A new packet; the first one after a reduction carries CWR.
    #[inline]
    pub(super) fn new_segment(&mut self, seq: u64, sent: Nanos) -> Segment {
        let cwr = std::mem::take(&mut self.ecn.cwr_due);
        Segment { seq, sent, echo_ms: self.echo_ms, ect: self.ecn.on, cwr, ce: false }
    }

    /// A retransmission. It is not ECN-capable (RFC 3168, section 6.1.5).
    pub(super) fn retransmitted_segment(&self, seq: u64, sent: Nanos) -> Segment {
        Segment { seq, sent, echo_ms: self.echo_ms, ..Segment::default() }
    }
}
