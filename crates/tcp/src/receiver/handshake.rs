//! The handshake at the receiver: answers to SYNs, retransmissions and giving up (RFC 6298, RFC 9293, section
//! 3.5; Linux: tcp_check_req, reqsk_timer_handler).

use super::Receiver;
use crate::config::Ecn;
use crate::rtt::{RTO_INITIAL_US, RTO_MAX_US, since_echo_us};
use crate::time::{Nanos, US};
use crate::wire::{Ack, AckWire, Segment, timestamp_ms};

/// Least time between answers to repeated SYNs, ns: 500 ms (Linux: tcp_invalid_ratelimit).
const ANSWERS_APART: Nanos = 500_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No SYN has arrived.
    Listening,
    /// The SYN-ACK is not acknowledged.
    SynReceived,
    Established,
    /// No SYN-ACK was acknowledged, and the receiver no longer knows the connection.
    GivenUp,
}

#[derive(Debug, Clone)]
pub(super) struct Handshake {
    /// True if the receiver neither waits for the ACK of a SYN-ACK nor has given up.
    is_over: bool,
    stage: Stage,
    /// Number of retransmissions of the SYN-ACK because of its timer.
    timeouts: u32,
    /// Time when the first SYN-ACK left.
    sent: Nanos,
    /// Number of SYN-ACKs that have left.
    syn_acks: u32,
    /// Time when a repeated SYN was answered last; `None`: no repeated SYN was answered.
    answered: Option<Nanos>,
}

impl Handshake {
    pub(super) const NONE: Handshake = Handshake {
        is_over: true,
        stage: Stage::Listening,
        timeouts: 0,
        sent: 0,
        syn_acks: 0,
        answered: None,
    };

    /// True unless the receiver waits for the ACK of a SYN-ACK, or has given up.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Counts a SYN-ACK that leaves. Returns the time when it is retransmitted, or when the receiver gives
    /// up.
    fn send(&mut self, now: Nanos) -> Nanos {
        if self.syn_acks == 0 {
            self.sent = now;
        }
        self.syn_acks += 1;
        // more would overflow, and are above the maximum
        let doublings = self.timeouts.min(RTO_MAX_US.ilog2());
        let timeout_us = (RTO_INITIAL_US << doublings).min(RTO_MAX_US);
        now + timeout_us * US
    }
}

impl Receiver {
    /// Processes a segment that is no data, or that comes before the handshake is over. Returns true if the
    /// segment is data to receive.
    #[cold]
    pub(super) fn shake_hands(&mut self, now: Nanos, segment: &Segment, wire: &mut impl AckWire) -> bool {
        if segment.seq == Segment::SYN {
            self.on_syn(now, segment, wire);
            return false;
        }
        (self.handshake.is_over || self.end_handshake(now, segment, wire)) && segment.is_data()
    }

    /// Answers a SYN.
    fn on_syn(&mut self, now: Nanos, segment: &Segment, wire: &mut impl AckWire) {
        match self.handshake.stage {
            // a challenge ACK: RFC 9293, section 3.10.7.4
            Stage::Established => return self.send_ack(now, wire),
            Stage::Listening | Stage::GivenUp => {
                self.handshake = Handshake { is_over: false, stage: Stage::SynReceived, ..Handshake::NONE };
                self.acks.ecn = segment.cwr && self.config.ecn != Ecn::Off;
                // later SYNs do not change the timestamp (Linux: req->ts_recent)
                self.acks.echo_ms = segment.timestamp_ms();
            }
            Stage::SynReceived => {
                if self.handshake.answered.is_some_and(|last| now - last < ANSWERS_APART) {
                    return;
                }
                self.handshake.answered = Some(now);
            }
        }
        self.send_syn_ack(now, wire);
    }

    /// Processes the timer of the SYN-ACK: retransmits the SYN-ACK, or gives up.
    #[cold]
    pub(super) fn on_syn_ack_timeout(&mut self, now: Nanos, wire: &mut impl AckWire) {
        self.acks.delayed_until = Nanos::MAX;
        if self.handshake.timeouts >= self.config.syn_ack_retries {
            self.handshake = Handshake { is_over: false, stage: Stage::GivenUp, ..Handshake::NONE };
            return;
        }
        self.handshake.timeouts += 1;
        self.send_syn_ack(now, wire);
    }

    fn send_syn_ack(&mut self, now: Nanos, wire: &mut impl AckWire) {
        self.acks.delayed_until = self.handshake.send(now);
        let (rwnd_pkts, window) = self.advertise(true);
        let ack = Ack {
            echo_ms: self.acks.echo_ms,
            sent_ms: timestamp_ms(now),
            rwnd_pkts,
            window,
            syn: true,
            ece: self.acks.ecn,
            ..Ack::default()
        };
        let leaves = self.departure(now);
        wire.send(leaves, ack);
    }

    /// Ends the handshake with a segment that is no SYN, which gives the RTT. Returns false if the receiver
    /// no longer knows the connection: then the answer is a RST (RFC 9293, section 3.10.7.1).
    fn end_handshake(&mut self, now: Nanos, segment: &Segment, wire: &mut impl AckWire) -> bool {
        if self.handshake.stage == Stage::GivenUp {
            let leaves = self.departure(now);
            wire.send(leaves, Ack { next: Ack::RST, ..Ack::default() });
            return false;
        }
        let rtt_us = match self.handshake.syn_acks {
            1 => Some((now - self.handshake.sent) / US),
            _ => since_echo_us(now, segment.echo_ms), // Karn's algorithm; Linux: tcp_synack_rtt_meas
        };
        self.acks.start(now, rtt_us);
        self.window.start(now);
        self.handshake = Handshake { stage: Stage::Established, ..Handshake::NONE };
        self.acks.delayed_until = Nanos::MAX;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_syn_acks_doubles_up_to_the_longest_rto_and_never_wraps() {
        let after_us = |timeouts| Handshake { timeouts, ..Handshake::NONE }.send(0) / US;
        assert_eq!([0, 1, 6].map(after_us), [1_000_000, 2_000_000, 64_000_000]);
        assert_eq!([7, 45, 63, 64, 255].map(after_us), [RTO_MAX_US; 5]);
    }
}
