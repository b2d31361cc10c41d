//! Loss detection without SACK: NewReno, RFC 6582 (Linux: tcp_add_reno_sack, tcp_newreno_mark_lost). Only
//! duplicate ACKs report packets that arrive out of order. Each counts as one packet that has arrived, so
//! cwnd is not inflated.

use fairpace_cc::CaState;

use super::Sender;
use super::state::{AckInfo, DUP_THRESH};
use crate::control::Control;
use crate::scoreboard::mark;

impl<C: Control> Sender<C> {
    /// Counts a duplicate ACK as one packet delivered, without SACK.
    pub(super) fn process_dup_ack(&mut self, info: &AckInfo) {
        if info.is_dup_ack() && !self.config.sack {
            let pkts = self.board.add_dup_ack();
            self.rate.count(pkts, info.ece && !self.config.ecn.is_accurate());
        }
    }

    /// Marks the oldest packet lost on the third duplicate ACK, and on a partial ACK in recovery.
    pub(super) fn detect_loss_by_dup_acks(&mut self, info: &AckInfo) {
        let third = self.ca_state < CaState::Recovery && u64::from(self.board.sacked_out()) >= DUP_THRESH;
        let partial = self.ca_state == CaState::Recovery && info.una_advanced();
        let una = self.board.una();
        if (third || partial) && self.board.marks(una) & mark::LOST == 0 {
            self.board.mark_lost(una);
        }
    }
}
