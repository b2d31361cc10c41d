//! LEVEL beside flows that fill the queue: ACK scripts of a starved flow, and of its drains.

use crate::support::level::{F, N, T, new, queue, rate, steady};
use crate::support::{Ack, Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::Phase;

/// The queue that others hold, on average: more than 5 ms and 2.75 f.
const Q: u64 = 50 * F;

/// A round in which one packet was delivered, with this queueing delay.
fn starved(q_us: u64) -> Ack {
    round(1, T).rtt(T + q_us).inflight(8)
}

/// A queue that falls by a third for a second now and then, and is `drained_us` in a drain. Returns the
/// greatest cwnd outside of drains in the ten rounds after the `drains`-th one.
fn cwnd_after(settings: &[(&str, &str)], drains: u32, drained_us: u64) -> u32 {
    let mut f = steady(settings);
    let (mut seen, mut rounds, mut most) = (0, 0, 0);
    for step in 0..5_000_u64 {
        let before = f.phase();
        match before {
            Phase::Drain => f.on(ack(1).after(ms(20)).rtt(T + drained_us).inflight(8)),
            _ => f.on(starved(if step % 80 < 12 { Q * 4 / 5 } else { Q * 6 / 5 })),
        };
        seen += u32::from(before == Phase::Drain && f.phase() == Phase::Avoidance);
        if seen >= drains && f.phase() == Phase::Avoidance {
            most = most.max(f.cwnd());
            rounds += 1;
        }
        if rounds == 10 {
            return most;
        }
    }
    panic!("{seen} drains only");
}

fn steady_pacing(detection_drains: &str) -> u64 {
    let mut f: Flow = steady(&[("drain_interval", "0s"), ("detection_drains", detection_drains)]);
    f.times(400, starved(Q));
    f.pacing()
}

#[test]
fn a_starved_flow_keeps_a_rate_of_about_ten_packets_a_second() {
    // W is 160 / 2^24 packets/us * (T + q); below three packets pacing reacts to half of q,
    // and f of a packet per T is 8 F
    let w = 160.0 / f64::from(1 << 24) * (T + Q) as f64;
    let expected = w * MSS as f64 * 1e6 / (T + (Q + 8 * F) / 2) as f64;
    assert_near(steady_pacing("5") as f64, expected, expected * 0.01);
    assert!((steady_pacing("0") as f64) < expected / 2.0);
}

#[test]
fn drains_that_no_others_join_make_it_compete() {
    // half of its best rate, N per T, with the least of the queues that it found
    let half = ((T + Q * 4 / 5) * u64::from(N / 2) / T) as u32;
    assert!(cwnd_after(&[("detection_drains", "6")], 5, Q) < half / 4);
    assert!(cwnd_after(&[("detection_drains", "3")], 5, Q) >= half);
}

#[test]
fn drains_that_others_join_do_not() {
    assert!(cwnd_after(&[("detection_drains", "3")], 12, Q / 8) < N);
}

#[test]
fn with_detection_drains_0_it_never_competes() {
    assert!(cwnd_after(&[("detection_drains", "0"), ("drain_interval", "3s")], 12, Q) < N);
}

// ---- verification ----

/// The mean queue before each of the lone drains of [`infer_competitors`].
const BEFORE: u64 = Q * 6 / 5;
/// The pacing gain of a flow that competes.
const COMPETES: u32 = 320;
/// The window at half of the best rate, N packets per T, with that queue: 152 packets.
const HALF: u32 = ((T + BEFORE) * N as u64 / 2 / T) as u32;
/// A third of what q rises by if others do not yield: 149 packets, by which W grows, at the best rate.
const THIRD: u64 = (149 * T / N as u64) / 3;

/// Packets that a starved flow delivers in a round, with all in flight that it may send.
fn held(q_us: u64) -> Ack {
    starved(q_us).inflight(2 * HALF)
}

/// Until a drain ends after which it competes. The queue is lower for a while after each drain, and `BEFORE`
/// before the next. Some packets were lost long ago.
fn infer_competitors(f: &mut Flow) {
    f.on(held(BEFORE).losses(1));
    for _ in 0..20 {
        f.times(12, held(Q * 4 / 5));
        while f.phase() != Phase::Drain {
            f.on(held(BEFORE));
        }
        while f.phase() == Phase::Drain {
            f.on(ack(1).after(ms(20)).rtt(T + BEFORE).inflight(8));
        }
        if f.gain() == COMPETES {
            return;
        }
    }
    panic!("it does not compete");
}

/// A flow that begins to compete; its best rate was that of the path.
fn verifying() -> Flow {
    let mut f = steady(&[]);
    f.times(2, queue(F));
    infer_competitors(&mut f);
    f
}

/// The rounds that settle, and those in which q rises. What it is then does not count.
fn rise(f: &mut Flow) {
    f.times(6, held(BEFORE + s(1)));
    assert_eq!((f.gain(), f.cwnd()), (COMPETES, HALF));
}

/// The rest of the two seconds. Returns whether it then competes.
fn verified(f: &mut Flow, q_us: u64) -> bool {
    let rest = (s(2) - 1) / T - 6;
    f.times(rest as u32, held(q_us));
    assert_eq!((f.gain(), f.cwnd()), (COMPETES, HALF));
    f.on(held(q_us)).gain() == COMPETES
}

#[test]
fn verification_takes_half_of_the_best_rate_for_two_seconds_and_ends_competing_if_others_yield() {
    let mut f = verifying();
    assert_eq!((f.gain(), f.cwnd()), (COMPETES, HALF));
    rise(&mut f);
    assert!(!verified(&mut f, BEFORE + THIRD * 19 / 20));
    assert_eq!(f.cwnd(), 4);
    // two rounds settle, and a window of 152 packets would lose a quarter at most in each of the next two
    f.times(4, held(BEFORE));
    // about 9.5 packets/s as before, see above, and not half of N per T
    let w = 160.0 / f64::from(1 << 24) * (T + BEFORE) as f64;
    let expected = w * MSS as f64 * 1e6 / (T + (BEFORE + 8 * F) / 2) as f64;
    assert_near(f.pacing() as f64, expected, expected * 0.01);
}

#[test]
fn each_false_detection_halves_the_best_rate() {
    let mut f = verifying();
    for part in [1, 2, 4] {
        assert_eq!(f.cwnd(), ((T + BEFORE) * u64::from(N / 2) / T / part) as u32, "part {part}");
        while f.gain() == COMPETES {
            f.on(held(BEFORE));
        }
        infer_competitors(&mut f);
    }
}

#[test]
fn if_q_stays_up_by_a_third_of_the_rise_it_follows_cubic() {
    let mut f = verifying();
    rise(&mut f);
    let q_us = BEFORE + THIRD * 21 / 20;
    assert!(verified(&mut f, q_us));
    assert_eq!(f.on(held(q_us)).cwnd(), HALF, "the round in flight");
    // Reno's slope of 0.53 packets a round is above CUBIC's 0.4 t^3
    f.times(12, held(q_us));
    assert_eq!(f.cwnd(), HALF + 6);
    assert_eq!(f.on(held(q_us).losses(1)).cwnd(), (f64::from(HALF + 6) * 0.7) as u32);
}

#[test]
fn loss_in_the_verification_shows_that_others_compete() {
    for settled in [1, 10] {
        let mut f = verifying();
        f.times(settled, held(BEFORE)).on(held(BEFORE).losses(1));
        assert_eq!(f.cwnd(), HALF, "that loss is no reason to reduce W");
        f.times(6, held(BEFORE));
        assert!(f.cwnd() > HALF, "CUBIC's curve, at once");
        f.times(20, held(BEFORE));
        assert_eq!(f.gain(), COMPETES, "although q is what it was");
    }
}

#[test]
fn on_long_rounds_the_verification_has_four_of_them_after_those_in_which_q_rises_and_no_drain() {
    let mut f = verifying();
    for _ in 0..9 {
        f.on(held(BEFORE + ms(1)).after(s(1)));
        assert_eq!((f.phase(), f.gain()), (Phase::Avoidance, COMPETES));
    }
    f.on(held(BEFORE + ms(1)).after(s(1)));
    assert_ne!(f.gain(), COMPETES);
    // 10 s after the lowest RTT a drain is overdue, but two rounds settle
    for phase in [Phase::Avoidance, Phase::Avoidance, Phase::Drain] {
        assert_eq!(f.on(held(BEFORE + ms(1))).phase(), phase);
    }
}

// ---- drains of a crowd ----

/// A path of 2 T, on which a drain of a quarter takes out more than is sent in 50 ms.
fn long(pkts: u32, q_us: u64) -> Ack {
    round(pkts, 2 * T).rtt(2 * T + q_us).inflight(2 * pkts)
}

/// An empty queue in a drain under way, then rounds with this ACK until the next begins. Returns what it
/// leaves, in us of what the flow sends.
fn left_us(f: &mut Flow, ack: Ack) -> f64 {
    f.times(2, long(N, 0));
    assert_eq!(f.phase(), Phase::Avoidance);
    for _ in 0..100 {
        if f.on(ack).phase() == Phase::Drain {
            break;
        }
    }
    assert_eq!(f.phase(), Phase::Drain);
    f64::from(f.cwnd()) * T as f64 / rate(f)
}

#[test]
fn a_drain_of_a_crowd_on_a_long_path_takes_50_ms_and_one_that_probes_for_competitors_all_but_a_quarter() {
    let quarter = (T / 2) as f64;
    let crowd = (2 * T - ms(50)) as f64;
    let start = || {
        let mut f = new(&[]);
        while f.phase() == Phase::Startup {
            f.on(long(2048, 0));
        }
        f
    };
    // a packet is 64 us, cwnd is rounded
    for (q_us, expected) in [(4990, quarter), (5010, crowd)] {
        let mut f = start();
        for _ in 0..4 {
            assert_near(left_us(&mut f, long(2048, q_us)), expected, 100.0);
        }
    }
    // starved, at less than a quarter: the first drain comes 2 s after the lowest RTT, the others 4 s
    let mut f = start();
    for expected in [crowd, quarter, quarter] {
        assert_near(left_us(&mut f, long(256, ms(50))), expected, 600.0);
    }
}
