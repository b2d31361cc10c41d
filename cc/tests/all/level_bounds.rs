//! LEVEL: the exchange, the base RTT, flows without enough data, and the ends of its ranges (cc/level.h).

use crate::support::level::*;
use crate::support::{Ack, Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::Phase;

// ---- limited by the application ----

/// A round with much less in flight than W; 7/8 of 68 less 2 would be all of it.
fn unused(q_us: u64) -> Ack {
    queue(q_us).inflight(N / 2)
}

#[test]
fn a_flow_that_does_not_use_its_window_does_not_grow_but_shrinks() {
    let mut f = steady(&[("growth_rounds", "128")]);
    assert_near(change(&mut f, F, unused(0), 0), 0.0, 0.001);
    assert_near(change(&mut f, 0, unused(2 * F), 2 * F), -R_F / 4.0, 0.003);
    for (inflight, grows) in [(56, false), (57, true)] {
        let found = change(&mut steady(&[]), F, queue(0).inflight(inflight), 0);
        assert_eq!(found > 0.5, grows, "{inflight} in flight, of 68 * 7/8 = 59 less 2");
    }
}

#[test]
fn a_flow_that_does_not_use_its_window_has_nothing_to_drain() {
    let mut f = steady(&[]);
    for _ in 0..1000 {
        assert_eq!(f.on(unused(F)).phase(), Phase::Avoidance);
    }
    f.on(queue(F));
    assert_eq!(f.on(queue(F)).phase(), Phase::Drain, "when it uses it again, a drain is overdue");
}

// ---- the exchange ----

/// Others drain: the queue is seen empty in two blocks in a row.
fn others_drain(f: &mut Flow) {
    f.times(2, ack(1).after(ms(10)).rtt(T).inflight(N));
}

/// By which factor W changes at an empty queue, after `rounds` of rounds with this ACK.
fn exchanged(mut f: Flow, rounds: u32, ack: Ack, q_us: u64) -> f64 {
    f.times(rounds, ack);
    let before = window(&f, q_us);
    others_drain(&mut f);
    window(&f, q_us) / before
}

fn no_drains() -> Flow {
    steady(&[("drain_interval", "0s")])
}

#[test]
fn at_an_empty_queue_the_window_moves_to_the_rate_that_fits_the_mean_queue() {
    for (q_us, expected) in [(F * 5 / 8, 1.5), (F * 4 / 5, 1.25), (F, 1.0), (F * 8 / 7, 0.875), (3 * F, 0.75)]
    {
        // W as well as q stays when nothing is steered
        let f = steady(&[("drain_interval", "0s"), ("gain", "0.01")]);
        assert_near(exchanged(f, 20, queue(q_us), q_us), expected, 0.005);
    }
}

#[test]
fn a_drain_of_its_own_ends_with_an_exchange_too() {
    for (interval, steered, expected) in [("1048576us", 12, 0.75), ("524288us", 4, 1.0)] {
        let mut f = steady(&[("drain_interval", interval), ("gain", "0.01")]);
        for _ in 0..steered {
            assert_eq!(f.on(queue(2 * F)).phase(), Phase::Avoidance);
        }
        let before = window(&f, 2 * F);
        assert_eq!(f.on(queue(2 * F)).phase(), Phase::Drain);
        f.on(carried(N / 4, 2 * F)).on(ack(1).after(ms(40)).inflight(N / 4));
        assert_eq!(f.phase(), Phase::Avoidance);
        assert_near(window(&f, 2 * F) / before, expected, 0.005);
    }
}

#[test]
fn an_exchange_needs_eight_rounds_and_a_second_since_the_last() {
    let long = queue(2 * F).after(2 * T).acked(2 * N);
    assert_near(exchanged(no_drains(), 7, long, 2 * F), 1.0, 0.001);
    assert_near(exchanged(no_drains(), 8, long, 2 * F), 0.75, 0.005);
    // two rounds, then nine
    let mut f = no_drains();
    f.times(9, queue(2 * F));
    let before = window(&f, 2 * F);
    others_drain(&mut f);
    assert_near(window(&f, 2 * F), before, 0.001); // 0.74 s after it
}

#[test]
fn after_an_exchange_two_rounds_settle_and_the_mean_begins_anew() {
    let mut f = no_drains();
    f.times(20, queue(2 * F));
    others_drain(&mut f);
    let w = window(&f, 2 * F);
    for q_us in [0, 3 * F] {
        f.on(queue(q_us).after(s(1)));
        assert_near(window(&f, q_us), w, 0.003);
    }
    others_drain(&mut f);
    assert_near(window(&f, 3 * F), w, 0.003); // no eight rounds yet
}

#[test]
fn a_queue_that_is_empty_anyway_is_no_reason_for_an_exchange() {
    // on average half of the level or less: the path is not full
    assert_near(exchanged(no_drains(), 20, queue(F / 2), F / 2), 1.0, 0.001);
    // and with a quarter of the level it is not empty
    let mut f = no_drains();
    f.times(20, queue(2 * F));
    let before = window(&f, 2 * F);
    f.times(2, ack(1).after(ms(10)).rtt(T + F / 4).inflight(N));
    assert_near(window(&f, 2 * F), before, 0.001);
}

#[test]
fn a_flow_that_does_not_use_its_window_exchanges_downwards_only() {
    assert_near(exchanged(no_drains(), 20, unused(F * 3 / 4), F * 3 / 4), 1.0, 0.001);
    assert_near(exchanged(no_drains(), 20, unused(2 * F), 2 * F), 0.75, 0.005);
}

#[test]
fn a_flow_that_sees_loss_exchanges_downwards_only() {
    // 8 of 72 packets are far more than half of 4 %
    let lossy = |q_us| queue(q_us).losses(8);
    let settings = [("drain_interval", "0s"), ("gain", "0.01")];
    assert_near(exchanged(steady(&settings), 20, lossy(F * 3 / 4), F * 3 / 4), 1.0, 0.001);
    assert_near(exchanged(steady(&settings), 20, lossy(2 * F), 2 * F), 0.75, 0.005);
}

#[test]
fn the_exchange_can_be_turned_off() {
    let f = steady(&[("drain_interval", "0s"), ("exchange", "off")]);
    assert_near(exchanged(f, 20, queue(2 * F), 2 * F), 1.0, 0.001);
}

// ---- the base RTT ----

#[test]
fn the_base_rtt_expires_after_15_to_30_s() {
    for seen_s in [1, 5, 10, 14, 15, 20, 29] {
        let mut f = new(&[]);
        let round = round(N, ms(100)).inflight(N);
        f.times(seen_s * 10, round.rtt(T));
        let last = f.view.now_us;
        while base_us(&f) == T {
            f.on(round.rtt(T + ms(10)));
        }
        let after = f.view.now_us - last;
        assert!((s(15)..=s(30) + ms(200)).contains(&after), "seen until {seen_s} s, kept for {after} us");
    }
}

#[test]
fn a_base_rtt_is_seen_in_two_blocks_once_startup_is_over() {
    let mut f = steady(&[]);
    f.on(queue(0).rtt(T - 2000));
    assert_eq!(base_us(&f), T);
    f.on(queue(0).rtt(T - 2000));
    assert_eq!(base_us(&f), T - 2000);
    assert_eq!(base_us(startup_at(N, &[]).on(ack(1).rtt(T - 2000))), T - 2000, "in STARTUP in one ACK");
}

/// The queue in which it stands may be its predecessor's.
#[test]
fn adopted_in_mid_connection_it_takes_the_hosts_min_rtt() {
    let adopted = |delivered| {
        Flow::start_with("level", &PLAIN, |v| {
            (v.cwnd_pkts, v.delivered_pkts, v.min_rtt_us) = (N, delivered, T as u32);
        })
    };
    let mut f = adopted(1000);
    assert_eq!((base_us(&f), f.cwnd()), (T, N));
    f.times(2, queue(2 * F));
    assert_eq!((base_us(&f), f.phase()), (T, Phase::Drain), "it sees the queue at once");
    let mut f = adopted(4); // of the handshake
    assert_eq!(f.cc.observe().min_rtt_us, None);
    f.times(2, queue(2 * F));
    assert_eq!((base_us(&f), f.phase()), (T + 2 * F, Phase::Startup));
}

// ---- what the host gets ----

#[test]
fn an_idle_restart_begins_a_new_round() {
    let mut f = steady(&[]);
    f.idle(s(5)).on(queue(F));
    assert_near(rate(&f), f64::from(N), 0.01);
    assert_eq!(f.phase(), Phase::Avoidance, "and the time of the next drain");
    // a paced flow of few packets has nothing in flight between them: no pause
    let mut f = steady(&[]);
    f.restart(ms(500)).on(queue(F).inflight(N / 2));
    assert_near(rate(&f), f64::from(N) * (0.75 + 0.25 * T as f64 / (T + ms(500)) as f64), 0.01);
}

#[test]
fn below_a_packet_the_window_is_four_and_pacing_has_the_rest() {
    // a packet in 2 T: f is 2001 us * sqrt(4096 * 2 T), and W = r (T + f) 0.85 packets
    let f_us = 46_363;
    let slow = |q_us| ack(1).after(2 * T).rtt(T + q_us).delivered(1, 2 * T).new_round().inflight(4);
    let mut f = new(&[]);
    f.times(4, slow(0));
    assert_eq!((f.phase(), f.cwnd()), (Phase::Drain, 4));
    assert_near(f.pacing() as f64, 0.125 * MSS as f64 * 1e6 / T as f64, 25.0); // of 2800
    f.on(slow(0));
    for q_us in [0, ms(20)] {
        f.on(slow(q_us));
        assert_eq!((f.phase(), f.cwnd()), (Phase::Avoidance, 4));
        // W / (T + (q + f) / 2): of 14000
        let w = (T + f_us) as f64 / (2 * T) as f64;
        let rtt_us = T as f64 + (q_us + f_us) as f64 / 2.0;
        assert_near(f.pacing() as f64, w * MSS as f64 * 1e6 / rtt_us, 40.0);
    }
}

#[test]
fn the_window_does_not_fall_below_an_eighth_of_a_packet() {
    let mut f = steady(&[("drain_interval", "0s"), ("detection_drains", "0")]);
    f.times(200, carried(1, s(1)).inflight(N));
    // f is 8 times that of 64 times the rate, and half of q and f count for pacing
    let rtt_us = T + (s(1) + 8 * F) / 2;
    assert_eq!(f.cwnd(), 4);
    assert_near(f.pacing() as f64, MSS as f64 / 8.0 * 1e6 / rtt_us as f64, 2.0); // of 311
}

#[test]
fn the_window_covers_the_longest_gap_between_acks() {
    for (gap_us, more) in [(T, 64), (ms(100), 97), (ms(200), 97)] {
        // r * gap, up to 100 ms
        let mut f = steady(&[("fill_gaps", "on"), ("drain_interval", "0s")]);
        let held = |q_us| queue(q_us).after(gap_us).acked((u64::from(N) * gap_us / T) as u32);
        f.times(20, held(F));
        assert_near(f.cwnd(), 68 + more, 1);
        assert_near(window(&f, F), f64::from(N) + R_F, 0.3);
    }
    let mut f = draining_at(N, &[("fill_gaps", "on")]);
    assert_eq!(f.on(ack(1).after(ms(50))).cwnd(), N / 4, "not in a drain");
}

#[test]
fn pacing_has_a_gain_above_the_window() {
    let mut f = draining_at(N, &[("pacing_gain", "2"), ("drain_interval", "0s")]);
    end_drain(&mut f);
    f.times(2, queue(F));
    for _ in 0..200 {
        f.on(queue(F)); // less than the base RTT takes to expire
        assert_eq!(f.gain(), 512);
        assert_near(window(&f, F), (f64::from(N) + R_F) * 2.0, 0.01);
    }
}

/// r T / 4 rounds to nothing there. Linux would hold the flow for two minutes, and did.
#[test]
fn a_drain_on_a_path_of_microseconds_paces_no_byte_a_second() {
    let mut f = Flow::start("level", &[]);
    let mut slowest = u64::MAX;
    for _ in 0..3_000 {
        // 50 packets per second and an RTT of 20 us: a thousand flows on one host
        f.on(round(1, 20).after(ms(20)).delivered(1, ms(20)));
        slowest = slowest.min(f.pacing());
    }
    // 1/1024 packet in 20 us
    assert!(slowest > 50_000, "{slowest} bytes/s");
}

#[test]
fn the_applications_limit_of_the_rate_is_kept() {
    let f = Flow::start_with("level", &PLAIN, |v| v.max_pacing_rate_Bps = 12_345);
    assert_eq!(f.pacing(), 12_345);
}

#[test]
fn nothing_overflows_at_400_gbit_s_and_half_a_second() {
    // 2^24 packets: 33.3 a microsecond with 1500 bytes each
    let (pkts, rtt_us) = (16_666_666, ms(500));
    let mut f = Flow::start_with("level", &PLAIN, |v| {
        (v.cwnd_pkts, v.mss_bytes) = (pkts, 1500);
    });
    f.on(round(pkts, rtt_us).inflight(pkts));
    assert_eq!((f.phase(), f.cwnd()), (Phase::Startup, 1 << 24), "the most");
    assert_eq!(f.pacing(), 2 * (1 << 24) * 1500 * 2);
    f.times(3, round(pkts, rtt_us).inflight(pkts));
    assert_eq!(f.phase(), Phase::Drain);
    assert_near(f.cwnd(), pkts / 4, 2);
    assert_near(f.cc.observe().bw_Bps as f64, 49_999_998e3, 1e3);
    f.on(round(pkts / 4, rtt_us).inflight(pkts / 4)).on(ack(1).after(ms(40)).inflight(pkts / 4));
    // f is 22 us: 733 packets
    assert_eq!(f.phase(), Phase::Avoidance);
    assert_near(f.cwnd(), pkts + 740, 15);
    assert_near(f.pacing() as f64, f64::from(pkts + 740) * 1500.0 * 2.0, 1e5);
}

#[test]
fn nothing_overflows_with_the_greatest_window_segment_and_rate_there_are() {
    let f = Flow::start_with("level", &PLAIN, |v| {
        (v.cwnd_pkts, v.mss_bytes, v.srtt_us) = (1 << 30, 65_535, 1);
    });
    assert_eq!((f.cwnd(), f.pacing()), (1 << 24, 2 * (1 << 24) * 65_535 * 1_000_000));
}
