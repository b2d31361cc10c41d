//! The handshake at the sender: SYNs, giving up, and the state in which data begins (RFC 6298, RFC 5681,
//! section 3.1; Linux: tcp_connect, tcp_retransmit_timer, tcp_write_timeout, tcp_init_transfer).

use super::Sender;
use super::state::Timer;
use crate::config::Ecn;
use crate::control::Control;
use crate::rtt::{RTO_INITIAL_US, RTO_MAX_US, since_echo_us};
use crate::time::{Nanos, US};
use crate::wire::{Ack, Segment, Wire, timestamp_ms};

/// Least number of retransmissions of a SYN after which data begins with a cwnd of one packet: RFC 5681,
/// section 3.1, has 1, and Linux 2, since its first RTO is only 1 s (tcp_init_transfer).
const RETRANSMITS_THAT_REDUCE: u32 = 2;
/// The cwnd after retransmissions of a SYN, packets (RFC 5681, section 3.1).
const REDUCED_CWND_PKTS: u32 = 1;

/// The SYNs of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Handshake {
    /// Time when the first SYN left.
    first_sent: Nanos,
    /// Number of retransmissions of the SYN.
    retransmits: u32,
    /// True if no SYN was answered, or the receiver no longer knows the connection.
    failed: bool,
}

impl Handshake {
    /// Returns whether this SYN may request ECN. A retransmitted SYN does not, since the request may be the
    /// reason for the loss (RFC 3168, section 6.1.1.1).
    pub(super) fn may_request_ecn(&self) -> bool {
        self.retransmits == 0
    }
}

/// Returns the time in which `retries` retransmissions time out whose RTO doubles from its initial value on,
/// us (Linux: tcp_model_timeout).
fn model_timeout_us(retries: u32) -> u64 {
    let doublings = (RTO_MAX_US / RTO_INITIAL_US).ilog2();
    let doubled_us = ((2 << retries.min(doublings)) - 1) * RTO_INITIAL_US;
    doubled_us + u64::from(retries.saturating_sub(doublings)) * RTO_MAX_US
}

impl<C: Control> Sender<C> {
    /// Opens the connection: sends a SYN.
    pub fn connect(&mut self, now: Nanos, wire: &mut impl Wire) {
        self.handshake.first_sent = now;
        self.send_syn(now, wire);
    }

    /// True if no SYN was answered, or the receiver no longer knew the connection. The sender sends nothing
    /// more then.
    pub fn has_failed(&self) -> bool {
        self.handshake.failed
    }

    fn send_syn(&mut self, now: Nanos, wire: &mut impl Wire) {
        self.timer = Timer::Retransmit(now + self.rtt.rto_ns());
        let requests_ecn = self.config.ecn != Ecn::Off && self.handshake.may_request_ecn();
        wire.send(Segment { seq: Segment::SYN, sent: now, cwr: requests_ecn, ..Segment::default() });
    }

    /// Processes the timeout of a SYN. The first timeouts are as long as the initial RTO, then the RTO
    /// doubles.
    pub(super) fn on_syn_timeout(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.gives_up(now) {
            self.fail(wire);
            return;
        }
        self.handshake.retransmits += 1;
        if self.handshake.retransmits > self.config.syn_linear_timeouts {
            self.rtt.back_off();
        }
        self.send_syn(now, wire);
    }

    /// True if enough SYNs were sent, or enough time has passed for `syn_retries` SYNs without linear
    /// timeouts (Linux: tcp_write_timeout, retransmits_timed_out).
    fn gives_up(&self, now: Nanos) -> bool {
        let sent = self.handshake.retransmits;
        let all = self.config.syn_retries.saturating_add(self.config.syn_linear_timeouts);
        let elapsed_us = (now - self.handshake.first_sent) / US;
        sent >= all || (sent > 0 && elapsed_us >= model_timeout_us(self.config.syn_retries))
    }

    /// Ends the connection: without its algorithm, the sender takes no ACK and sends nothing. Data that has
    /// not been sent is withdrawn.
    #[cold]
    pub(super) fn fail(&mut self, wire: &mut impl Wire) {
        self.handshake.failed = true;
        self.control = None;
        self.timer = Timer::Off;
        self.pacing_timer = Nanos::MAX;
        self.written = self.board.una();
        wire.fail();
    }

    /// Processes a SYN-ACK, after which data may be sent.
    #[cold]
    pub(super) fn on_syn_ack(&mut self, now: Nanos, ack: &Ack, wire: &mut impl Wire) {
        if self.handshake.failed {
            return;
        }
        self.echo_ms = ack.sent_ms;
        if self.control.is_some() {
            self.acknowledge_syn_ack(now, wire); // it was sent again, so the ACK was lost
            return;
        }
        self.rwnd_end = u64::from(ack.rwnd_pkts);
        self.window = ack.window;
        self.start_ecn(ack);
        self.sample_handshake(now, ack);
        self.rate.delivered_pkts = 1; // the SYN
        self.rate.delivered_us = now / US;
        self.timer = Timer::Off;
        if self.handshake.retransmits >= RETRANSMITS_THAT_REDUCE && !self.first_syn_arrived(ack) {
            self.cwnd = REDUCED_CWND_PKTS;
        }
        self.start_congestion_control(now);
        self.transmit_new(now, wire);
        if self.board.packets_out() == 0 {
            self.acknowledge_syn_ack(now, wire);
        }
    }

    /// Samples the RTT from the time of sending, or by timestamp if it is unknown which SYN the receiver
    /// answers (Karn's algorithm).
    fn sample_handshake(&mut self, now: Nanos, ack: &Ack) {
        let rtt_us = match self.handshake.retransmits {
            0 => Some((now - self.handshake.first_sent) / US),
            _ => since_echo_us(now, ack.echo_ms),
        };
        if let Some(rtt_us) = rtt_us {
            self.rtt.sample(rtt_us, 0, 0);
            self.rtt.sample_min(now, rtt_us);
        }
    }

    /// True if the SYN-ACK echoes the timestamp of the first SYN: then the first SYN was not lost (Linux:
    /// tcp_try_undo_spurious_syn).
    fn first_syn_arrived(&self, ack: &Ack) -> bool {
        ack.echo_ms == timestamp_ms(self.handshake.first_sent)
    }

    fn acknowledge_syn_ack(&self, now: Nanos, wire: &mut impl Wire) {
        wire.send(Segment { seq: Segment::ACK, sent: now, echo_ms: self.echo_ms, ..Segment::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_all_retries_doubles_up_to_the_longest_rto() {
        let seconds: Vec<u64> = [0, 1, 2, 6, 7, 127].map(|n| model_timeout_us(n) / 1_000_000).to_vec();
        assert_eq!(seconds, [1, 3, 7, 127, 247, 127 + 121 * 120]);
    }
}
