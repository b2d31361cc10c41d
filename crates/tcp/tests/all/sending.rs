//! What a sender sends when nothing is lost, and what its algorithm is reported. The RTT is 100 ms.

use crate::support::{FixedParams, MS, Script, range};
use fairpace_cc::{Event, Kind};
use fairpace_tcp::{Ack, Segment, Sender, Sending};

#[test]
fn the_algorithm_sees_the_handshake_in_its_first_view() {
    let s = Script::new(Kind::OwnsCwnd, 10, 100);
    let log = s.log.borrow();
    let (event, view) = log.events[0];
    assert_eq!(event, Event::Restart);
    assert_eq!((view.srtt_us, view.min_rtt_us, view.delivered_pkts), (100_000, 100_000, 1));
    assert_eq!((view.now_us, view.inflight_pkts, view.snd_una, view.snd_nxt), (100_000, 0, 1, 1));
}

#[test]
fn an_ack_in_order_gives_rtt_rate_sample_and_counts() {
    let mut s = Script::new(Kind::OwnsCwnd, 10, 100);
    assert_eq!(s.sent(), range(0, 10));
    s.ack(200, 2, &[]);
    let v = s.last_ack();
    assert_eq!((v.rtt_us, v.srtt_us, v.min_rtt_us), (100_000, 100_000, 100_000));
    assert_eq!((v.acked_pkts, v.losses_pkts, v.prior_inflight_pkts, v.inflight_pkts), (2, 0, 10, 8));
    assert_eq!(
        (v.sample_delivered_pkts, v.sample_interval_us, v.sample_prior_delivered_pkts),
        (2, 100_000, 1)
    );
    assert_eq!((v.delivered_pkts, v.delivered_us, v.now_us), (3, 200_000, 200_000));
    assert_eq!((v.snd_una, v.snd_nxt), (1 + 2 * 1448, 1 + 10 * 1448));
    assert!(v.cwnd_limited && !v.app_limited && !v.is_app_limited && !v.is_ack_delayed);
    assert_eq!(v.max_inflight_pkts, 10);
}

#[test]
fn a_sack_counts_as_delivered_once() {
    let mut s = Script::new(Kind::OwnsCwnd, 10, 10);
    s.sent();
    s.ack(200, 0, &[(1, 2)]);
    assert_eq!((s.last_ack().acked_pkts, s.last_ack().delivered_pkts), (1, 2));
    s.ack(210, 0, &[(1, 3)]);
    assert_eq!((s.last_ack().acked_pkts, s.last_ack().delivered_pkts), (1, 3));
    s.ack(215, 3, &[]);
    assert_eq!((s.last_ack().acked_pkts, s.last_ack().delivered_pkts), (1, 4));
}

#[test]
fn an_rtt_is_never_taken_from_a_packet_sent_twice() {
    let mut s = Script::new(Kind::OwnsCwnd, 10, 10);
    s.sent();
    assert_eq!(s.ack(200, 0, &[(1, 10)]), [0]);
    s.ack_echo(320, 10, &[], 201);
    // Karn: the RTT comes from the timestamp option, in milliseconds
    assert_eq!(s.last_ack().rtt_us, 119_000);
}

#[test]
fn paced_bursts_leave_at_the_rate_after_an_unpaced_initial_window() {
    // 1 packet per ms: bursts of the least size, 2
    let mut s = Script::paced(Kind::OwnsCwnd, 100, 1000, 1448 * 1000);
    assert_eq!(s.sent().len(), 10, "the initial window and no more");
    let mut times = Vec::new();
    for _ in 0..10 {
        let (at_us, sent) = s.timer();
        assert_eq!(sent.len(), 2);
        times.push(at_us);
    }
    assert!(times.windows(2).all(|w| w[1] - w[0] == 2_000), "{times:?}");
}

#[test]
fn the_view_has_the_lead_of_the_pacer() {
    let mut s = Script::paced(Kind::OwnsCwnd, 1000, 1000, 1448 * 1000);
    s.sent();
    while s.sender.next_timer().is_some_and(|t| t < 200 * MS) {
        s.timer();
    }
    let next_us = s.sender.next_timer().unwrap() / 1000;
    s.ack(200, 2, &[]);
    assert_eq!(u64::from(s.last_ack().departure_lead_us), next_us - 200_000);
    assert!(s.last_ack().paced);
}

#[test]
fn a_small_window_is_used_in_two_bursts_and_partial_bursts_wait_for_the_next_ack() {
    let mut s = Script::new(Kind::OwnsCwnd, 30, 1000);
    assert_eq!(s.sent(), range(0, 30));
    // right after a burst, two packets of room are held back ...
    assert_eq!(s.ack(200, 15, &[]).len(), 15);
    assert_eq!(s.ack(201, 17, &[]).len(), 0);
    // ... until a third of the window is free
    assert_eq!(s.ack(201, 25, &[]).len(), 10);
}

/// Linux: __tcp_transmit_skb and tcp_push.
#[test]
fn the_last_packet_of_a_burst_of_several_and_of_all_data_is_pushed() {
    let pushed = |cwnd, written_pkts| -> Vec<u64> {
        let segments = Script::new(Kind::OwnsCwnd, cwnd, written_pkts).segments();
        segments.iter().filter(|segment| segment.push).map(|segment| segment.seq).collect()
    };
    assert_eq!(pushed(30, 100), [14, 29], "two bursts, of half of cwnd each");
    assert_eq!(pushed(1, 100), [0; 0], "a burst of one");
    assert_eq!(pushed(30, 20), [14, 19]);
    assert_eq!(pushed(1, 1), [0]);
    // not where rwnd ends, nor before a part of a packet, which has the PSH itself
    let params = FixedParams {
        kind: Kind::OwnsCwnd,
        cwnd: 30,
        rate_Bps: fairpace_cc::NO_RATE,
        tracks_sends: false,
        log: Default::default(),
    };
    let mut s = Script::configured(params, 100, Sending::default(), 1);
    assert!(s.segments().iter().all(|segment| !segment.push));
    let mut s = Script::new(Kind::OwnsCwnd, 30, 0);
    let mut write = |pkts, with_part| {
        let mut sent = Vec::new();
        match with_part {
            true => s.sender.write_with_part(s.now, pkts, &mut sent),
            false => s.sender.write(s.now, pkts, &mut sent),
        }
        sent.iter().map(|segment| segment.push).collect::<Vec<_>>()
    };
    assert_eq!([write(1, true), write(2, true), write(1, false)].concat(), [false, false, true, true]);
}

#[test]
fn below_1_2_mbit_bbr1_sends_one_packet_at_a_time() {
    use fairpace_cc::{Algorithm, Controller, Params};
    // Linux: bbr_min_tso_segs. STARTUP paces 10 packets at 2.89 per RTT: 1.1 Mbit/s, and 3.3 Mbit/s.
    for (rtt, burst) in [(300 * MS, 1), (100 * MS, 2)] {
        let params = Params::defaults(Algorithm::by_name("bbr1").expect("bbr1 is listed"));
        let mut sender = Sender::<Controller>::new(Sending::default(), 0, params);
        let mut sent: Vec<Segment> = Vec::new();
        sender.connect(0, &mut sent);
        sender.write(0, 1000, &mut sent);
        sender.on_ack(rtt, &Ack { syn: true, ..Ack::default() }, &mut sent);
        assert_eq!(sent.len(), 11, "a SYN and the initial window");
        sender.on_ack(2 * rtt, &Ack { next: 10, echo_ms: (rtt / MS) as u32, ..Ack::default() }, &mut sent);
        for _ in 0..5 {
            sent.clear();
            sender.on_timer(sender.next_timer().expect("the pacer waits"), &mut sent);
            assert_eq!(sent.len(), burst, "RTT of {} ms", rtt / MS);
        }
    }
}

#[test]
fn a_sender_out_of_data_is_app_limited_until_what_was_sent_then_is_acknowledged() {
    let mut s = Script::new(Kind::OwnsCwnd, 10, 4);
    assert_eq!(s.sent(), range(0, 4));
    s.ack(200, 2, &[]);
    assert!(s.last_ack().app_limited && !s.last_ack().is_app_limited);
    s.sender.write(s.now, 2, &mut Vec::new());
    s.ack(300, 4, &[]);
    s.ack(301, 5, &[]);
    assert!(s.last_ack().is_app_limited, "4 was sent while the sender had run dry");
}

#[test]
fn cwnd_decays_over_an_idle_time() {
    let mut s = Script::new(Kind::GrowsCwnd, 40, 40);
    s.sent();
    s.ack(200, 40, &[]);
    // idle for three RTOs (300 ms each): 40 -> 20 -> 10, the initial window
    s.sender.write(1200 * MS, 100, &mut Vec::new());
    assert_eq!(s.sender.cwnd_pkts(), 10);
    assert_eq!(s.events().iter().filter(|e| **e == Event::Restart).count(), 2);
    // an algorithm that owns cwnd gets the event and keeps its cwnd
    let mut s = Script::new(Kind::OwnsCwnd, 40, 40);
    s.sent();
    s.ack(200, 40, &[]);
    s.sender.write(1200 * MS, 100, &mut Vec::new());
    assert_eq!((s.sender.cwnd_pkts(), s.events()), (40, vec![Event::Restart, Event::Restart]));
}

#[test]
fn an_unused_cwnd_shrinks_when_no_ack_has_come_for_an_rto() {
    // Linux: tcp_cwnd_application_limited. The RTO is 300 ms: the ACK of 40 to 45 comes at 300 ms, that of 45
    // to 50 is late, and the next write at 605 ms finds cwnd unused for 305 ms. The initial window is the
    // least that counts.
    for (kind, idle_restart, cwnd) in
        [(Kind::GrowsCwnd, true, 25), (Kind::GrowsCwnd, false, 40), (Kind::OwnsCwnd, true, 40)]
    {
        let config = Sending { idle_restart, tlp: false, ..Sending::default() };
        let mut s = Script::switched(kind, 40, 40, config);
        s.sent();
        s.ack(200, 40, &[]);
        let mut sent: Vec<Segment> = Vec::new();
        s.sender.write(200 * MS, 5, &mut sent);
        s.ack(300, 45, &[]);
        s.sender.write(480 * MS, 5, &mut sent);
        assert_eq!(s.sender.cwnd_pkts(), 40);
        s.sender.write(605 * MS, 5, &mut sent);
        assert_eq!((s.sender.cwnd_pkts(), s.sender.inflight_pkts()), (cwnd, 10), "{kind:?}, {idle_restart}");
    }
}

#[test]
fn an_unused_cwnd_stays_while_acks_come() {
    // as Linux 6.18 on the testbed: CUBIC that writes 172 packets per 100 ms keeps a cwnd of 469
    let mut s = Script::new(Kind::GrowsCwnd, 500, 500);
    s.sent();
    s.ack(200, 500, &[]);
    for n in 0..50 {
        let (at, next) = (200 + 200 * n, 500 + 172 * n);
        s.sender.write(at * MS, 172, &mut Vec::new());
        s.ack(at + 100, next + 172, &[]);
    }
    assert_eq!(s.sender.cwnd_pkts(), 500);
}

#[test]
fn samples_reach_growing_algorithms_on_every_ack_and_growth_only_outside_recovery() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 100);
    s.sent();
    s.ack(200, 2, &[]);
    assert_eq!(s.events()[1..], [Event::Sample]);
    assert_eq!(s.last_ack().acked_pkts, 2);
    s.ack(204, 2, &[(3, 10)]);
    let growths = s.log.borrow().acks.len();
    s.ack(206, 2, &[(3, 11)]);
    assert_eq!(s.log.borrow().acks.len(), growths);
    assert_eq!(s.events().iter().filter(|e| **e == Event::Sample).count(), 3);
}

#[test]
fn acks_for_what_was_never_sent_are_ignored() {
    let mut s = Script::new(Kind::OwnsCwnd, 10, 100);
    s.sent();
    assert_eq!(s.ack(200, 11, &[]), []);
    assert_eq!(s.ack(201, 0, &[(50, 60)]), []);
    assert_eq!((s.sender.snd_una(), s.sender.inflight_pkts()), (0, 10));
}

#[test]
fn a_sender_that_was_reset_is_as_new() {
    use fairpace_cc::{Algorithm, Controller, Params};
    use fairpace_tcp::{Ack, Block, Ecn, Segment, Sender, Sending};
    let params = |cc| Params::defaults(Algorithm::by_name(cc).unwrap());
    // losses, reordering, duplicates, a timeout
    let run = |sender: &mut Sender<Controller>| {
        let mut sent: Vec<Segment> = Vec::new();
        sender.connect(0, &mut sent);
        sender.write(0, 5000, &mut sent);
        sender.on_ack(20 * MS, &Ack { syn: true, ece: true, ..Ack::default() }, &mut sent);
        for i in 1..500u64 {
            let now = (20 + i) * MS;
            while sender.next_timer().is_some_and(|at| at <= now) {
                sender.on_timer(sender.next_timer().unwrap(), &mut sent);
            }
            let highest = sent.iter().map(|s| s.seq.wrapping_add(1)).max().unwrap_or(0);
            let next = (i / 40 * 80).min(highest);
            let seen = Block { start: (next + 3).min(highest), end: (i * 2).min(highest) };
            let ack = Ack { next, echo_ms: now as u32 / 1_000_000, ece: i % 100 < 3, ..Ack::default() };
            let blocks = if seen.is_empty() { ack.blocks } else { [seen, Block::NONE, Block::NONE] };
            sender.on_ack(now, &Ack { blocks, ..ack }, &mut sent);
        }
        while sender.stats().timeouts < 3 {
            sender.on_timer(sender.next_timer().unwrap(), &mut sent);
        }
        (sent, *sender.stats(), sender.cwnd_pkts(), sender.srtt_us())
    };
    let config = Sending { ecn: Ecn::Classic, ..Sending::default() };
    let mut old = Sender::<Controller>::new(Sending::default(), 9, params("bbr3"));
    let first = run(&mut old);
    assert!(first.1.retransmitted_pkts > 10, "{:?}", first.1);
    for cc in ["bbr1", "cubic", "bbr3"] {
        old.reset(config, 5, params(cc));
        assert_eq!(run(&mut old), run(&mut Sender::new(config, 5, params(cc))), "{cc}");
    }
}
