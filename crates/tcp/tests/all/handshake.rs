//! The handshake of either end: when SYNs and SYN-ACKs are sent again, when each gives up, and in which state
//! data begins. Times are those of Linux 6.18 in a namespace without a peer, less the lateness of its
//! timers.

#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

use crate::support::{Fixed, FixedParams, MS, Nanos};
use fairpace_cc::{Kind, NO_RATE};
use fairpace_tcp::{Ack, Receiver, ReceiverConfig, Segment, Sender, Sending};

/// A second.
const S: Nanos = 1000 * MS;

/// A sender that has just sent its SYN, with three packets to send.
fn connecting(config: Sending) -> (Sender<Fixed>, Vec<Segment>) {
    let (kind, rate_Bps) = (Kind::OwnsCwnd, NO_RATE);
    let params = FixedParams { kind, cwnd: 10, rate_Bps, tracks_sends: false, log: Default::default() };
    let (mut sender, mut sent) = (Sender::new(config, 0, params), Vec::new());
    sender.connect(0, &mut sent);
    sender.write(0, 3, &mut sent);
    assert_eq!(numbers(&mut sent), [Segment::SYN]);
    (sender, sent)
}

fn numbers(sent: &mut Vec<Segment>) -> Vec<u64> {
    sent.drain(..).map(|segment| segment.seq).collect()
}

/// Seconds at which a sender without an answer sends its SYN again, and at which it fails.
fn unanswered(syn_retries: u32, syn_linear_timeouts: u32) -> (Vec<u64>, u64) {
    let (mut sender, mut sent) =
        connecting(Sending { syn_retries, syn_linear_timeouts, ..Sending::default() });
    let mut times = Vec::new();
    loop {
        let now = sender.next_timer().expect("it waits for an answer");
        sender.on_timer(now, &mut sent);
        if sender.has_failed() {
            assert!(sent.is_empty() && sender.next_timer().is_none());
            return (times, now / S);
        }
        assert_eq!(numbers(&mut sent), [Segment::SYN]);
        times.push(now / S);
    }
}

#[test]
fn syns_are_sent_and_given_up_as_by_linux() {
    assert_eq!(unanswered(6, 4), (vec![1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131), "the defaults");
    assert_eq!(unanswered(6, 0), (vec![1, 3, 7, 15, 31, 63], 127));
    assert_eq!(unanswered(3, 0), (vec![1, 3, 7], 15));
    assert_eq!(unanswered(4, 4), (vec![1, 2, 3, 4, 5, 7, 11, 19], 35));
    assert_eq!(unanswered(3, 4), (vec![1, 2, 3, 4, 5, 7, 11], 19));
    // the time of the retries without the linear ones has passed: retransmits_timed_out
    assert_eq!(unanswered(2, 4), (vec![1, 2, 3, 4, 5], 7));
    assert_eq!(unanswered(2, 10), (vec![1, 2, 3, 4, 5, 6], 7));
    assert_eq!(unanswered(1, 4), (vec![1, 2], 3));
    assert_eq!(unanswered(1, 0), (vec![1], 3));
    // the doubled RTO is 120 s at most
    let (times, failed) = unanswered(9, 0);
    assert_eq!((times[6..].to_vec(), failed), (vec![127, 247, 367], 487));
}

#[test]
fn a_sender_that_has_failed_is_silent() {
    let (mut sender, mut sent) = connecting(Sending { syn_retries: 1, ..Sending::default() });
    while let Some(at) = sender.next_timer() {
        sender.on_timer(at, &mut sent);
    }
    sent.clear();
    for ack in [Ack { syn: true, ..Ack::default() }, Ack { next: 3, ..Ack::default() }] {
        sender.on_ack(9 * S, &ack, &mut sent);
    }
    sender.write(9 * S, 5, &mut sent);
    assert!(sent.is_empty() && sender.next_timer().is_none() && sender.has_failed());
}

/// RFC 5681, section 3.1, and Linux, tcp_init_transfer: two retransmissions of the SYN reduce the initial
/// window to one packet, unless the SYN-ACK answers the first SYN.
#[test]
fn data_begins_with_one_packet_after_two_lost_syns() {
    for (timeouts, echo_ms, pkts) in [(1, 1000, 3), (2, 2000, 1), (2, 0, 3), (5, 5000, 1)] {
        let (mut sender, mut sent) = connecting(Sending::default());
        for _ in 0..timeouts {
            let at = sender.next_timer().expect("it waits for an answer");
            sender.on_timer(at, &mut sent);
        }
        sent.clear();
        let now = timeouts * S + 100 * MS;
        sender.on_ack(now, &Ack { syn: true, echo_ms, ..Ack::default() }, &mut sent);
        // the algorithm of these tests sets its own cwnd, so what it was given is in the first view
        let given = sender.control().expect("it is established").first_cwnd;
        assert_eq!(given, if pkts == 1 { 1 } else { 10 }, "{timeouts} timeouts, echo {echo_ms}");
        // by timestamp: which SYN was answered is unknown otherwise (Karn's algorithm)
        assert_eq!(sender.srtt_us(), (now / MS - u64::from(echo_ms)) * 1000);
        assert_eq!(numbers(&mut sent), [0, 1, 2]);
    }
}

#[test]
fn a_sender_without_data_acknowledges_the_syn_ack_each_time_that_it_comes() {
    let (mut sender, mut sent) = connecting(Sending::default());
    sender.stop();
    let syn_ack = Ack { syn: true, ..Ack::default() };
    for at in [100 * MS, 1100 * MS] {
        sender.on_ack(at, &syn_ack, &mut sent);
        assert_eq!(numbers(&mut sent), [Segment::ACK]);
    }
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut acks = Vec::new();
    receiver.on_segment(0, syn(0), &mut acks);
    receiver.on_segment(100 * MS, Segment { seq: Segment::ACK, ..Segment::default() }, &mut acks);
    assert_eq!((acks.len(), receiver.next_timer()), (1, None), "no ACK of an ACK");
}

#[test]
fn a_rst_ends_the_connection() {
    let (mut sender, mut sent) = connecting(Sending::default());
    sender.on_ack(100 * MS, &Ack { syn: true, ..Ack::default() }, &mut sent);
    sender.on_ack(200 * MS, &Ack { next: Ack::RST, ..Ack::default() }, &mut sent);
    assert!(sender.has_failed() && sender.next_timer().is_none());
}

fn syn(sent: Nanos) -> Segment {
    Segment { seq: Segment::SYN, sent, ..Segment::default() }
}

/// Milliseconds at which a receiver sends SYN-ACKs that are not acknowledged, if SYNs come at these times,
/// and the receiver in the end.
fn unacknowledged(syn_ack_retries: u32, syns: &[u64]) -> (Vec<u64>, Receiver) {
    let mut receiver = Receiver::new(ReceiverConfig { syn_ack_retries, ..ReceiverConfig::default() });
    let mut acks = Vec::new();
    let mut syns = syns.iter().map(|at| at * MS).peekable();
    loop {
        let timer = receiver.next_timer().unwrap_or(Nanos::MAX);
        match syns.next_if(|at| *at <= timer) {
            Some(at) => assert_eq!(receiver.on_segment(at, syn(at), &mut acks), 0),
            None if timer == Nanos::MAX => break,
            None => assert_eq!(receiver.on_timer(timer, &mut acks), 0),
        }
    }
    assert!(acks.iter().all(|(_, ack)| ack.syn && ack.echo_ms == 0), "they echo the first SYN");
    (acks.iter().map(|(at, _)| at / MS).collect(), receiver)
}

#[test]
fn syn_acks_are_sent_and_given_up_as_by_linux() {
    assert_eq!(unacknowledged(5, &[0]).0, [0, 1_000, 3_000, 7_000, 15_000, 31_000]);
    assert_eq!(unacknowledged(1, &[0]).0, [0, 1_000]);
    assert_eq!(unacknowledged(0, &[0]).0, [0]);
    // a repeated SYN is answered and restarts the timer, but not within 500 ms of another
    let with_repeated = unacknowledged(5, &[0, 300, 700, 900, 2_500]).0;
    assert_eq!(with_repeated, [0, 300, 900, 1_900, 2_500, 4_500, 8_500, 16_500, 32_500]);
}

#[test]
fn a_receiver_that_has_given_up_knows_no_connection() {
    let (_, mut receiver) = unacknowledged(0, &[0]);
    let mut acks = Vec::new();
    assert_eq!(receiver.on_segment(2 * S, Segment { seq: 0, ..Segment::default() }, &mut acks), 0);
    assert!(matches!(acks[..], [(_, Ack { next: Ack::RST, syn: false, .. })]), "{acks:?}");
    // a new SYN begins anew
    receiver.on_segment(3 * S, syn(3 * S), &mut acks);
    assert!(matches!(acks[1..], [(_, Ack { next: 0, syn: true, echo_ms: 3_000, .. })]), "{acks:?}");
    assert_eq!(receiver.on_segment(4 * S, Segment { seq: 0, ..Segment::default() }, &mut acks), 1);
}
