//! ECN at the sender, by scripted ACKs. The RTT is 100 ms.

use crate::support::{Fixed, FixedParams, MS, Script, range};
use fairpace_cc::CaState::{Cwr, Open, Recovery};
use fairpace_cc::{Event, Kind, NO_RATE};
use fairpace_tcp::{Ack, Ecn, EcnField, Segment, Sender, Sending};

fn classic() -> Sending {
    Sending { ecn: Ecn::Classic, ..Sending::default() }
}

fn marked(kind: Kind, cwnd: u32, supply: u64) -> Script {
    Script::switched(kind, cwnd, supply, classic())
}

fn params() -> FixedParams {
    FixedParams {
        kind: Kind::OwnsCwnd,
        cwnd: 10,
        rate_Bps: NO_RATE,
        tracks_sends: false,
        log: Default::default(),
    }
}

#[test]
fn new_data_is_ecn_capable_if_the_syn_requested_it_and_the_receiver_agreed() {
    for (requests, agrees) in [(true, true), (true, false), (false, true), (false, false)] {
        let ecn = if requests { Ecn::Classic } else { Ecn::Off };
        let mut sender = Sender::<Fixed>::new(Sending { ecn, ..classic() }, 0, params());
        let mut sent: Vec<Segment> = Vec::new();
        sender.connect(0, &mut sent);
        sender.write(0, 3, &mut sent);
        assert!(
            sent[0].cwr == requests && sent[0].ecn == EcnField::NotEct,
            "a SYN requests ECN and is not ECN-capable"
        );
        sent.clear();
        sender.on_ack(100 * MS, &Ack { syn: true, ece: agrees, ..Ack::default() }, &mut sent);
        assert_eq!(sent.len(), 3);
        let capable = |s: &Segment| s.ecn != EcnField::NotEct;
        assert!(sent.iter().all(|s| capable(s) == (requests && agrees) && !s.cwr), "{requests} {agrees}");
    }
}

#[test]
fn a_retransmitted_syn_does_not_request_ecn() {
    let mut sender = Sender::<Fixed>::new(classic(), 0, params());
    let mut sent: Vec<Segment> = Vec::new();
    sender.connect(0, &mut sent);
    sender.write(0, 1, &mut sent);
    sender.on_timer(1000 * MS, &mut sent);
    assert_eq!(sent.iter().map(|s| s.cwr).collect::<Vec<_>>(), [true, false]);
    // not even when the first one is answered after all
    sender.on_ack(1100 * MS, &Ack { syn: true, ece: true, ..Ack::default() }, &mut sent);
    assert_eq!(sent[2].ecn, EcnField::NotEct);
}

#[test]
fn an_echo_reduces_cwnd_once_per_round_and_one_packet_carries_cwr() {
    let mut s = marked(Kind::GrowsCwnd, 20, 1000);
    assert!(s.segments().iter().all(|p| p.ecn == EcnField::Ect0 && !p.cwr));
    let mut answers = Vec::new();
    for next in (2..=20).step_by(2) {
        answers.extend(s.ack_marked(200 + next, next, &[]));
        assert_eq!(s.sender.ca_state(), Cwr);
    }
    // RFC 3168, section 6.1.2: halved once per round, however many ACKs have ECE
    assert_eq!(s.sender.ssthresh_pkts(), 10);
    assert_eq!(s.events().iter().filter(|e| **e == Event::Reduce).count(), 1);
    assert_eq!(s.sender.stats().mark_reductions, 1);
    // PRR: about one packet for every two that arrive
    assert!((9..=11).contains(&answers.len()), "{}", answers.len());
    assert!(answers[0].cwr && answers.iter().skip(1).all(|p| !p.cwr && p.ecn == EcnField::Ect0));
    // data sent after the reduction is acknowledged: the next mark counts again
    let next = answers.last().unwrap().seq;
    s.ack(320, next, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.cwnd_pkts()), (Open, 10));
    let answers = s.ack_marked(330, next + 1, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.ssthresh_pkts()), (Cwr, 5));
    assert!(answers.first().is_none_or(|p| p.cwr));
    assert_eq!(s.sender.stats().recoveries, 0);
}

#[test]
fn without_prr_cwnd_falls_at_once() {
    let config = Sending { prr: false, ..classic() };
    let mut s = Script::switched(Kind::GrowsCwnd, 20, 1000, config);
    s.segments();
    assert!(s.ack_marked(200, 2, &[]).is_empty());
    assert_eq!(s.sender.cwnd_pkts(), 10);
}

#[test]
fn an_algorithm_that_owns_cwnd_gets_marks_and_keeps_its_cwnd() {
    let mut s = marked(Kind::OwnsCwnd, 10, 1000);
    assert!(s.log.borrow().events[0].1.ecn);
    s.segments();
    s.ack(200, 2, &[]);
    let v = s.last_ack();
    assert_eq!((v.ecn, v.is_ece, v.delivered_ce_pkts, v.sample_delivered_ce_pkts), (true, false, 0, 0));
    // every packet that an ACK with ECE newly delivers counts, SACKed ones too (Linux: tcp_count_delivered)
    s.ack_marked(201, 5, &[]);
    let v = s.last_ack();
    assert_eq!((v.is_ece, v.acked_pkts, v.delivered_ce_pkts, v.sample_delivered_ce_pkts), (true, 3, 3, 3));
    s.ack_marked(202, 5, &[(6, 8)]);
    assert_eq!((s.last_ack().delivered_ce_pkts, s.last_ack().acked_pkts), (5, 2));
    assert_eq!((s.sender.ca_state(), s.sender.cwnd_pkts()), (Cwr, 10));
    s.ack(203, 10, &[]);
    // a sample counts the marks since its packet was sent: 10 and 11 left at 200 ms, before any
    s.ack(302, 12, &[]);
    assert_eq!((s.last_ack().delivered_ce_pkts, s.last_ack().sample_delivered_ce_pkts), (5, 5));
    // and 12 to 14 at 201 ms, after three
    s.ack(303, 15, &[]);
    assert_eq!(s.last_ack().sample_delivered_ce_pkts, 2);
}

#[test]
fn retransmissions_are_not_ecn_capable_outside_of_l4s() {
    let mut s = marked(Kind::OwnsCwnd, 10, 100);
    s.segments();
    s.give(200, Ack { echo_ms: 100, ..Ack::default() }, &[(1, 5)]);
    let sent = s.segments();
    assert_eq!((sent[0].seq, sent[0].ecn), (0, EcnField::NotEct));
    assert!(sent[1..].iter().all(|p| p.seq >= 10 && p.ecn == EcnField::Ect0) && sent.len() > 1);
}

/// An ACK of accurate ECN: the packets that have arrived with CE.
fn counted(s: &mut Script, ms: u64, next: u64, ce_pkts: u16, sacks: &[(u64, u64)]) -> fairpace_cc::View {
    s.give(ms, Ack { next, echo_ms: (ms - 100) as u32, ce_pkts, ..Ack::default() }, sacks);
    s.segments();
    s.last_ack()
}

#[test]
fn with_accurate_ecn_the_sender_knows_how_many_packets_were_marked_though_acks_are_lost() {
    let mut s = marked_by(Ecn::Accurate, true);
    // one of two: with an echo, both would count
    let v = counted(&mut s, 200, 2, 1, &[]);
    assert_eq!((v.is_ece, v.acked_pkts, v.delivered_ce_pkts, v.sample_delivered_ce_pkts), (true, 2, 1, 1));
    let v = counted(&mut s, 201, 4, 1, &[]);
    assert_eq!((v.is_ece, v.delivered_ce_pkts), (false, 1), "no news");
    // the ACKs of 4 to 29 were lost, but not the counts of the option
    let v = counted(&mut s, 202, 30, 14, &[]);
    assert_eq!((v.is_ece, v.acked_pkts, v.delivered_ce_pkts), (true, 26, 14));
    // a pure duplicate of an ACK, then one beside SACKs
    assert_eq!(counted(&mut s, 203, 30, 14, &[]).delivered_ce_pkts, 14);
    assert_eq!(counted(&mut s, 204, 30, 16, &[(31, 33)]).delivered_ce_pkts, 16);
}

#[test]
fn without_the_option_three_bits_are_taken_for_the_safest_likely_count() {
    // RFC 9768, section 3.2.2.5.2 and appendix A.2.1
    let mut s = marked_by(Ecn::Accurate, false);
    assert_eq!(counted(&mut s, 200, 7, 5, &[]).delivered_ce_pkts, 5, "7 packets cannot wrap 3 bits");
    // 13 marks of 26 packets: 5 more modulo 8 are 5, 13 or 21
    assert_eq!(counted(&mut s, 201, 33, 18, &[]).delivered_ce_pkts, 5 + 21);
    // the field goes on from there
    let v = counted(&mut s, 202, 35, 19, &[]);
    assert_eq!((v.is_ece, v.delivered_ce_pkts), (true, 27));
}

#[test]
fn what_the_option_cannot_say_beside_three_sack_blocks_is_made_up_later() {
    let mut s = marked_by(Ecn::L4s, true);
    // three blocks, 30 packets: the option does not fit, 2 marks modulo 8 are taken for 26
    let v = counted(&mut s, 200, 0, 2, &[(30, 39), (15, 29), (1, 8)]);
    assert_eq!((v.acked_pkts, v.delivered_ce_pkts), (30, 26));
    // with the option the true count is known; what was counted too much is not counted again
    assert_eq!(counted(&mut s, 301, 39, 4, &[]).delivered_ce_pkts, 26);
    assert_eq!(counted(&mut s, 302, 40, 27, &[]).delivered_ce_pkts, 27);
}

/// 40 packets in flight of a sender that owns its cwnd.
fn marked_by(ecn: Ecn, accecn_option: bool) -> Script {
    let mut s = Script::switched(Kind::OwnsCwnd, 40, 1000, Sending { ecn, accecn_option, ..classic() });
    let field = if ecn == Ecn::L4s { EcnField::Ect1 } else { EcnField::Ect0 };
    assert!(s.segments().iter().all(|p| p.ecn == field && !p.cwr));
    s
}

#[test]
fn accurate_ecn_reduces_for_an_algorithm_that_leaves_it_to_the_host_but_sends_no_cwr() {
    let mut s = Script::switched(Kind::GrowsCwnd, 20, 1000, Sending { ecn: Ecn::Accurate, ..classic() });
    s.segments();
    s.give(200, Ack { next: 2, echo_ms: 100, ce_pkts: 1, ..Ack::default() }, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.ssthresh_pkts()), (Cwr, 10));
    assert!(s.segments().iter().all(|p| !p.cwr), "RFC 9768: the flag is a part of ACE");
}

#[test]
fn an_l4s_retransmission_stays_in_the_queue_of_l4s() {
    let mut s = marked_by(Ecn::L4s, true);
    s.give(200, Ack { echo_ms: 100, ..Ack::default() }, &[(1, 5)]);
    let sent = s.segments();
    assert_eq!((sent[0].seq, sent[0].ecn), (0, EcnField::Ect1));
}

#[test]
fn a_reduction_with_a_mark_is_never_undone() {
    for mark in [false, true] {
        let mut s = marked(Kind::GrowsCwnd, 20, 20);
        s.segments();
        s.ack(200, 4, &[]);
        let sent = match mark {
            true => s.ack_marked(201, 4, &[(5, 9)]).iter().map(|p| p.seq).collect(),
            false => s.ack(201, 4, &[(5, 9)]),
        };
        assert_eq!((sent, s.sender.ca_state()), (vec![4], Recovery));
        // the retransmission was spurious
        s.ack_echo(202, 10, &[], 250);
        s.ack_echo(302, 10, &[(4, 5)], 250);
        assert_eq!(s.sender.cwnd_pkts() >= 20, !mark, "{}", s.sender.cwnd_pkts());
    }
}

#[test]
fn undo_withdraws_cwr_only_if_it_raises_ssthresh() {
    // Linux: tcp_undo_cwnd_reduction. An algorithm that owns cwnd leaves ssthresh alone, so nothing is
    // raised.
    for (kind, cwr) in [(Kind::GrowsCwnd, false), (Kind::OwnsCwnd, true)] {
        let mut s = marked(kind, 20, 20);
        s.segments();
        s.ack(200, 4, &[]);
        assert_eq!(s.ack(201, 4, &[(5, 9)]), [4]);
        s.ack_echo(202, 10, &[], 250);
        s.ack_echo(302, 10, &[(4, 5)], 250);
        assert_eq!((s.sender.stats().undos, s.sender.ca_state()), (1, Open), "{kind:?}");
        let mut sent: Vec<Segment> = Vec::new();
        s.sender.write(s.now, 2, &mut sent);
        assert_eq!(sent.first().map(|p| p.cwr), Some(cwr), "{kind:?}");
    }
}

#[test]
fn without_an_agreement_an_echo_means_nothing() {
    let mut s = Script::new(Kind::GrowsCwnd, 20, 1000);
    assert_eq!(s.sent(), range(0, 20));
    s.ack_marked(200, 4, &[]);
    assert_eq!((s.sender.ca_state(), s.last_ack().delivered_ce_pkts, s.last_ack().is_ece), (Open, 0, false));
}
