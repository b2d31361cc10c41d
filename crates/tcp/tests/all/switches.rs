//! What each switch of a sender changes, by scripted ACKs; `recovery.rs` and `sending.rs` have the defaults.
//! The RTT is 100 ms.

#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

use crate::support::{FixedParams, MS, Script, range};
use fairpace_cc::CaState::{Disorder, Loss, Open, Recovery};
use fairpace_cc::{Event, Kind, NO_RATE};
use fairpace_tcp::{Ack, Segment, Sending};

fn linux() -> Sending {
    Sending::default()
}

fn params(kind: Kind, cwnd: u32, rate_Bps: u64) -> FixedParams {
    FixedParams { kind, cwnd, rate_Bps, tracks_sends: false, log: Default::default() }
}

fn fixed_window(cwnd: u32, supply: u64, config: Sending) -> Script {
    let mut s = Script::switched(Kind::OwnsCwnd, cwnd, supply, config);
    assert_eq!(s.sent(), range(0, u64::from(cwnd).min(supply)));
    s
}

/// Only duplicate ACKs report packets that arrive out of order, RFC 6582.
#[test]
fn without_sack_the_third_duplicate_ack_and_each_partial_ack_retransmit_the_oldest_packet() {
    let mut s = fixed_window(10, 100, Sending { sack: false, ..linux() });
    // 0 and 4 are lost; SACK blocks are ignored
    assert_eq!(s.ack(200, 0, &[(5, 9)]), [10]);
    assert_eq!((s.sender.ca_state(), s.last_ack().acked_pkts), (Disorder, 1));
    assert_eq!(s.ack(202, 0, &[]), [11]);
    assert_eq!(s.ack(204, 0, &[]), [0, 12]);
    assert_eq!((s.sender.ca_state(), s.last_ack().losses_pkts), (Recovery, 1));
    assert_eq!(s.sender.inflight_pkts(), 10);
    // every further duplicate allows one packet
    assert_eq!(s.ack(206, 0, &[]), [13]);
    // partial: the next hole follows at once, without three duplicates of its own
    assert_eq!(s.ack(305, 4, &[])[0], 4);
    assert_eq!(s.last_ack().losses_pkts, 1);
    // the recovery point itself ends nothing (section 4.1), an ACK beyond it does
    s.ack(405, 12, &[]);
    assert_eq!(s.sender.ca_state(), Recovery);
    s.ack(406, 13, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.stats().timeouts), (Open, 0));
    assert_eq!(s.sender.stats().retransmitted_pkts, 2);
}

#[test]
fn without_sack_there_is_no_tail_loss_probe() {
    let mut s = fixed_window(10, 5, Sending { sack: false, ..linux() });
    assert_eq!(s.timer(), (416_000, vec![0]));
    assert_eq!((s.sender.ca_state(), s.sender.stats().probes), (Loss, 0));
}

#[test]
fn without_sack_an_ack_that_only_opens_rwnd_is_no_duplicate() {
    let config = Sending { sack: false, ..linux() };
    let mut s = Script::configured(params(Kind::OwnsCwnd, 100, NO_RATE), 1000, config, 10);
    assert_eq!(s.sent(), range(0, 10));
    let ack = |rwnd_pkts| Ack { echo_ms: 100, rwnd_pkts, ..Ack::default() };
    // the window field alone says so of a window without limit; it wraps
    let field = |window| Ack { window, ..ack(16) };
    let acks = [(ack(12), 0), (ack(14), 0), (ack(16), 0), (field(100), 0), (field(200), 0), (field(9), 0)];
    for (ack, acked) in acks.into_iter().chain([(field(9), 1)]) {
        s.give(200, ack, &[]);
        s.sent();
        assert_eq!(s.last_ack().acked_pkts, acked);
    }
    assert_eq!(s.sender.stats().retransmitted_pkts, 0);
}

/// RFC 6675: IsLost() by three SACKed packets above.
#[test]
fn without_rack_three_sacked_packets_mark_a_loss_and_no_timer_does() {
    let config = Sending { rack: false, ..linux() };
    let mut s = fixed_window(10, 10, Sending { tlp: false, ..config });
    // two above: with RACK a timer would mark 0 to 7 at 230 ms
    assert_eq!(s.ack(200, 0, &[(8, 10)]), []);
    assert_eq!(s.sender.ca_state(), Disorder);
    assert_eq!((s.timer(), s.sender.ca_state()), ((416_000, vec![0]), Loss));

    let mut s = fixed_window(10, 100, config);
    assert_eq!(s.ack(200, 0, &[(2, 3)]), [10]);
    assert_eq!(s.ack(202, 0, &[(2, 4)]), [11]);
    // 0 and 1 lie below three
    assert_eq!(s.ack(204, 0, &[(2, 5)]), [0, 1, 12]);
    assert_eq!((s.sender.ca_state(), s.last_ack().losses_pkts), (Recovery, 2));
    // a retransmission that is lost too is found by timeout only
    assert_eq!(s.ack(305, 0, &[(2, 13)]).first(), Some(&13));
    assert_eq!(s.last_ack().losses_pkts, 0);
    let (_, sent) = s.timer();
    assert_eq!((sent, s.sender.ca_state()), (vec![0], Loss));
}

#[test]
fn without_tlp_a_tail_loss_waits_for_the_timeout() {
    let mut s = fixed_window(10, 5, Sending { tlp: false, ..linux() });
    assert_eq!(s.timer(), (416_000, vec![0]));
    assert_eq!((s.sender.ca_state(), s.sender.stats().probes), (Loss, 0));
}

/// A probe and a timeout, then an ACK of new data whose timestamp is ambiguous.
fn after_timeout(config: Sending) -> (Script, Vec<u64>) {
    let mut s = Script::switched(Kind::GrowsCwnd, 10, 100, config);
    s.sent();
    s.timer();
    assert_eq!(s.timer().1, [0]);
    let at = s.now / MS + 100;
    let sent = s.ack(at, 1, &[]);
    (s, sent)
}

#[test]
fn without_frto_every_timeout_counts_as_real() {
    let (s, sent) = after_timeout(linux());
    assert!(sent.iter().all(|seq| *seq >= 11), "new data first: {sent:?}");
    assert_eq!(s.sender.ca_state(), Loss);
    let (mut s, sent) = after_timeout(Sending { frto: false, ..linux() });
    assert_eq!(sent[0], 1, "the next lost packet: {sent:?}");
    let at = s.now / MS + 1;
    s.ack(at, 3, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.stats().undos), (Loss, 0));
}

#[test]
fn without_undo_a_spurious_timeout_reduces_cwnd_but_causes_no_more_retransmissions() {
    let (mut s, _) = after_timeout(Sending { undo: false, ..linux() });
    let at = s.now / MS + 1;
    let sent = s.ack(at, 3, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.stats().undos), (Open, 0));
    assert!(sent.iter().all(|seq| *seq >= 11), "{sent:?}");
    assert!(s.sender.cwnd_pkts() < 10 && !s.events().contains(&Event::Undo));
}

#[test]
fn without_undo_a_spurious_recovery_reduces_cwnd() {
    for undo in [true, false] {
        let mut s = Script::switched(Kind::GrowsCwnd, 20, 20, Sending { undo, ..linux() });
        s.sent();
        s.ack(200, 4, &[]);
        assert_eq!(s.ack(201, 4, &[(5, 9)]), [4]);
        s.ack_echo(202, 10, &[], 250);
        s.ack_echo(302, 10, &[(4, 5)], 250);
        assert_eq!(s.sender.stats().undos, u64::from(undo));
        assert_eq!(s.sender.cwnd_pkts() >= 20, undo);
    }
}

#[test]
fn without_prr_cwnd_falls_to_ssthresh_at_once_and_the_fast_retransmit_is_still_sent() {
    let mut s = Script::switched(Kind::GrowsCwnd, 20, 1000, Sending { prr: false, ..linux() });
    assert_eq!(s.sent(), range(0, 20));
    let sent: Vec<Vec<u64>> = (1..20).map(|i| s.ack(200 + i, 0, &[(1, 1 + i)])).collect();
    // RFC 5681 section 3.2: half a window of silence after the retransmission ...
    assert_eq!(sent[2], [0]);
    assert_eq!(s.sender.ssthresh_pkts(), 10);
    let first_new = 3 + sent[3..].iter().position(|s| !s.is_empty()).expect("new data in recovery");
    // ... as 18 are in flight then, and fewer than 10 when 9 more have arrived ...
    assert_eq!(first_new, 2 + 9, "{sent:?}");
    // ... and then one packet for each that arrives
    assert!(sent[first_new..].iter().all(|s| s.len() == 1), "{sent:?}");
    assert_eq!(s.sender.inflight_pkts(), 10);
}

#[test]
fn without_idle_restart_cwnd_survives_an_idle_time() {
    let mut s = Script::switched(Kind::GrowsCwnd, 40, 40, Sending { idle_restart: false, ..linux() });
    s.sent();
    s.ack(200, 40, &[]);
    s.sender.write(1200 * MS, 100, &mut Vec::new());
    assert_eq!(s.sender.cwnd_pkts(), 40);
}

#[test]
fn without_tso_packets_are_paced_one_by_one_and_never_deferred() {
    let config = Sending { tso: false, ..linux() };
    let mut s = Script::configured(params(Kind::OwnsCwnd, 100, 1448 * 1000), 1000, config, u32::MAX);
    assert_eq!(s.sent().len(), 10);
    let mut at = Vec::new();
    for _ in 0..5 {
        let (at_us, sent) = s.timer();
        assert_eq!(sent.len(), 1);
        at.push(at_us);
    }
    assert!(at.windows(2).all(|w| w[1] - w[0] == 1_000), "{at:?}");
    // with TSO this ACK's room is held back, see sending.rs
    let mut s = Script::configured(params(Kind::OwnsCwnd, 30, NO_RATE), 1000, config, u32::MAX);
    s.sent();
    assert_eq!(s.ack(200, 15, &[]).len(), 15);
    assert_eq!(s.ack(201, 17, &[]).len(), 2);
}

#[test]
fn pacing_can_be_forced_and_forbidden() {
    for (kind, pacing, paced) in [
        (Kind::OwnsCwnd, None, true),
        (Kind::OwnsCwnd, Some(false), false),
        (Kind::GrowsCwnd, None, false),
        (Kind::GrowsCwnd, Some(true), true),
    ] {
        let config = Sending { pacing, ..linux() };
        let mut s = Script::configured(params(kind, 100, 1448 * 1000), 1000, config, u32::MAX);
        assert_eq!(s.sender.is_paced(), paced);
        assert_eq!(s.sent().len(), if paced { 10 } else { 100 }, "{kind:?} {pacing:?}");
    }
}

#[test]
fn the_initial_window_is_configurable() {
    use fairpace_cc::{Algorithm, Controller, Params};
    for pkts in [1, 4, 10, 32] {
        let config = Sending { initial_cwnd_pkts: pkts, ..linux() };
        let reno = Params::defaults(Algorithm::by_name("reno").unwrap());
        let mut sender = fairpace_tcp::Sender::<Controller>::new(config, 0, reno);
        let mut sent: Vec<Segment> = Vec::new();
        sender.connect(0, &mut sent);
        sender.write(0, 100, &mut sent);
        sent.clear();
        sender.on_ack(100 * MS, &Ack { syn: true, ..Ack::default() }, &mut sent);
        assert_eq!(sent.iter().filter(|segment| segment.is_data()).count(), pkts as usize);
    }
}

#[test]
fn a_sender_never_exceeds_rwnd_and_its_edge_never_moves_back() {
    let mut s = Script::configured(params(Kind::OwnsCwnd, 100, NO_RATE), 1000, linux(), 20);
    assert_eq!(s.sent(), range(0, 20));
    let mut sent = |ms, next, rwnd_pkts| {
        s.give(ms, Ack { next, rwnd_pkts, echo_ms: ms as u32 - 100, ..Ack::default() }, &[]);
        s.sent()
    };
    assert_eq!(sent(205, 8, 20), range(20, 28));
    assert_eq!(sent(210, 12, 10), [], "the edge stays at 28");
    assert_eq!(sent(215, 20, 15), range(28, 35));
    assert_eq!(sent(216, 20, 15), []);
    // here cwnd is what limits, and the window is withdrawn below what it lets out
    let mut s = Script::configured(params(Kind::OwnsCwnd, 20, NO_RATE), 1000, linux(), 50);
    assert_eq!(s.sent(), range(0, 20));
    s.give(205, Ack { next: 10, rwnd_pkts: 5, echo_ms: 105, ..Ack::default() }, &[]);
    assert_eq!(s.sent(), range(20, 30));
}
