//! Without SACK, all that is known of what arrives out of order is how many duplicate ACKs it causes: NewReno, RFC 6582
//! (Linux: tcp_add_reno_sack, tcp_newreno_mark_lost). Each counts as a packet that has arrived, so cwnd need not be
//! inflated.

use fairpace_cc::CaState;

use super::Sender;
use super::ack::News;
use super::recovery::DUP_THRESH;
use crate::Ack;
use crate::control::Control;
use crate::scoreboard::mark;

impl<C: Control> Sender<C> {
    /// True when the ACK says nothing but that something arrived out of order (RFC 5681 section 2; the caller sees
    /// to the window).
    pub(super) fn is_dup_ack(&self, ack: &Ack, news: &News) -> bool {
        !self.config.sack && ack.next == news.prior_una
    }

    pub(super) fn take_dup_ack(&mut self, news: &News) {
        if news.dup_ack {
            let pkts = self.board.add_dup_ack();
            self.rate.count(pkts, news.ece);
        }
    }

    /// The third duplicate ACK, or a partial ACK in recovery, tells that the oldest packet is lost.
    pub(super) fn detect_loss_by_dup_acks(&mut self, news: &News) {
        let third = self.ca_state < CaState::Recovery && u64::from(self.board.sacked_out()) >= DUP_THRESH;
        let partial = self.ca_state == CaState::Recovery && news.una_advanced();
        let una = self.board.una();
        if (third || partial) && self.board.marks(una) & mark::LOST == 0 {
            self.board.mark_lost(una);
        }
    }
}
