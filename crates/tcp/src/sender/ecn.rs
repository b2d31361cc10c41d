//! ECN: the count of marked packets, and the reduction once per window of data (RFC 3168, section 6.1.2;
//! Linux: tcp_enter_cwr, tcp_ecn_send).
//!
//! With an echo of marks, all packets that an ACK with ECE delivers count (see [`crate::rate::Rate::count`]).
//! With accurate ECN (RFC 9768) every ACK has the count of packets that have arrived with CE. The AccECN
//! option makes the difference to the last ACK exact, however many ACKs were lost between the two ACKs.
//! Without the option the sender has the three bits of the ACE field.

use fairpace_cc::CaState;

use super::Sender;
use crate::config::Ecn;
use crate::control::Control;
use crate::time::Nanos;
use crate::wire::{Ack, EcnField, Segment};

/// Number of values of the ACE field (RFC 9768, section 3.2.2).
const ACE_VALUES: u32 = 8;

impl<C: Control> Sender<C> {
    /// Starts ECN if the SYN-ACK says that the receiver agrees.
    pub(super) fn start_ecn(&mut self, syn_ack: &Ack) {
        if syn_ack.ece && self.handshake.may_request_ecn() {
            self.ecn.field = match self.config.ecn {
                Ecn::Off => EcnField::NotEct,
                Ecn::Classic | Ecn::Dctcp | Ecn::Accurate => EcnField::Ect0,
                Ecn::L4s => EcnField::Ect1,
            };
        }
    }

    /// Accurate ECN: does the ACK report packets with CE that have not been counted?
    #[inline]
    pub(super) fn has_new_marks(&self, ack: &Ack) -> bool {
        // always 0 without accurate ECN
        ack.ce_pkts != 0 && ack.ce_pkts != self.rate.delivered_ce_pkts as u16
    }

    /// Accurate ECN: counts the packets with CE that an ACK reports; the ACK delivers `delivered_pkts`
    /// packets. Returns true if there are packets with CE.
    pub(super) fn count_marks(&mut self, ack: &Ack, delivered_pkts: u32) -> bool {
        if !self.config.ecn.is_accurate() || !self.ecn.is_on() {
            return false;
        }
        let difference = ack.ce_pkts.wrapping_sub(self.rate.delivered_ce_pkts as u16);
        let marks = if self.config.accecn_option && ack.has_accecn_option() {
            // negative if the ACE field alone led to too high a count before: the difference is not counted
            // again
            u32::from(if difference > u16::MAX / 2 { 0 } else { difference })
        } else {
            marks_by_ace(u32::from(difference) % ACE_VALUES, delivered_pkts)
        };
        self.rate.delivered_ce_pkts = self.rate.delivered_ce_pkts.wrapping_add(marks);
        marks > 0
    }

    /// Reduces cwnd after an ACK that echoed a mark, unless a reduction is under way. An algorithm that owns
    /// cwnd gets the events, and its cwnd is not changed.
    pub(super) fn reduce_on_mark(&mut self, now: Nanos) {
        self.recovery.forbid_undo();
        if self.ca_state < CaState::Cwr {
            self.stats.mark_reductions += 1;
            self.recovery.undo_marker = None;
            self.begin_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
        }
    }

    /// Makes the next new packet carry CWR, so that the receiver ends its echo. With accurate ECN the flag is
    /// a part of the ACE field.
    pub(super) fn set_cwr_due(&mut self) {
        self.ecn.cwr_due = self.ecn.is_on() && !self.config.ecn.is_accurate();
    }

    /// Returns a new packet; the first new packet after a reduction carries CWR.
    #[inline]
    pub(super) fn new_segment(&mut self, seq: u64, sent: Nanos) -> Segment {
        let cwr = std::mem::take(&mut self.ecn.cwr_due);
        Segment { seq, sent, echo_ms: self.echo_ms, ecn: self.ecn.field, cwr, push: false }
    }

    /// Returns a retransmission. It is not ECN-capable (RFC 3168, section 6.1.5), except in L4S: it must not
    /// wait in the queue of Classic traffic, behind the packets that it repairs (RFC 9331, appendix A.2.1;
    /// draft-ietf-tcpm-generalized-ecn, section 3.2.7).
    pub(super) fn retransmitted_segment(&self, seq: u64, sent: Nanos) -> Segment {
        let is_l4s = self.ecn.field == EcnField::Ect1;
        let ecn = if is_l4s { EcnField::Ect1 } else { EcnField::NotEct };
        Segment { seq, sent, echo_ms: self.echo_ms, ecn, ..Segment::default() }
    }
}

/// Returns the number of packets with CE for a change of the ACE field by `change`. If the ACK delivers at
/// least 8 packets, the field may have wrapped, since ACKs were lost. It is then taken to have wrapped as
/// often as it can have: the safest likely case (RFC 9768, section 3.2.2.5.2 and appendix A.2.1).
fn marks_by_ace(change: u32, delivered_pkts: u32) -> u32 {
    if delivered_pkts < ACE_VALUES || delivered_pkts < change {
        return change;
    }
    delivered_pkts - (delivered_pkts - change) % ACE_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ace_field_is_taken_to_have_wrapped_if_it_can_have() {
        // up to 7 packets it cannot wrap: RFC 9768, appendix A.2.1
        for (change, delivered, marks) in [(0, 0, 0), (3, 2, 3), (0, 7, 0), (7, 7, 7)] {
            assert_eq!(marks_by_ace(change, delivered), marks, "{change} {delivered}");
        }
        // the largest number of marks that is congruent to the change and not above what was delivered
        for (change, delivered, marks) in [(0, 8, 8), (3, 8, 3), (3, 11, 11), (3, 18, 11), (3, 19, 19)] {
            assert_eq!(marks_by_ace(change, delivered), marks, "{change} {delivered}");
        }
    }
}
