//! Congestion marks: what the receiver echoes counts as delivered with a mark (see [`crate::rate::Rate::count`]), and is
//! answered once per window of data (RFC 3168 section 6.1.2; Linux: tcp_enter_cwr, tcp_ecn_send).

use fairpace_cc::CaState;

use super::Sender;
use crate::control::Control;
use crate::{Nanos, Segment};

impl<C: Control> Sender<C> {
    /// An ACK echoed a mark: reduces, unless a reduction is under way. An algorithm that owns cwnd is told of the
    /// state, and its window is left alone.
    pub(super) fn answer_mark(&mut self, now: Nanos) {
        self.recovery.forbid_undo();
        if self.ca_state < CaState::Cwr {
            self.stats.mark_reductions += 1;
            self.recovery.undo_marker = None;
            self.begin_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
        }
    }

    /// The receiver shall know that the sender has reduced, so that it ends its echo.
    pub(super) fn owe_cwr(&mut self) {
        self.ecn.cwr_due = self.ecn.on;
    }

    /// A new packet that leaves; the first one after a reduction says so.
    #[inline]
    pub(super) fn new_segment(&mut self, seq: u64, sent: Nanos) -> Segment {
        let cwr = std::mem::take(&mut self.ecn.cwr_due);
        Segment { seq, sent, echo_ms: self.echo_ms, ect: self.ecn.on, cwr, ce: false }
    }

    /// A packet that leaves again: not ECN-capable, so that nobody can hide a reduction from the sender by marking
    /// what is no news (RFC 3168 section 6.1.5).
    pub(super) fn old_segment(&self, seq: u64, sent: Nanos) -> Segment {
        Segment { seq, sent, echo_ms: self.echo_ms, ..Segment::default() }
    }
}
