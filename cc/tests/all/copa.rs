//! Copa: its target, its velocity, its modes (cc/copa.h). Sections are those of Arun and Balakrishnan,
//! "Copa", NSDI 2018.

use crate::support::{Ack, Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::{CaState, Phase};

/// The RTT without a queue, us.
const T: u64 = 100_000;

/// A new connection that uses its cwnd of 10.
fn new(settings: &[(&str, &str)]) -> Flow {
    Flow::start_with("copa", settings, |v| (v.cwnd_pkts, v.cwnd_limited) = (10, true))
}

/// The single ACK of a round trip in which all of cwnd was delivered, with this queueing delay at its end.
fn whole(f: &Flow, q_us: u64) -> Ack {
    round(f.cwnd(), T + q_us)
}

/// A round; what cwnd became less what it was.
fn change(f: &mut Flow, q_us: u64) -> i64 {
    let before = i64::from(f.cwnd());
    f.on(whole(f, q_us));
    i64::from(f.cwnd()) - before
}

/// In DEFAULT with a cwnd of 38, after slow start and one step down.
fn default_mode(settings: &[(&str, &str)]) -> Flow {
    let mut f = new(settings);
    f.on(round(10, T)).on(round(20, T)).on(round(40, T + ms(6)));
    assert_eq!((f.phase(), f.cwnd()), (Phase::Avoidance, 38));
    f
}

/// A round trip of ACKs for single packets with this queueing delay, 10 ms apart.
fn trickle(f: &mut Flow, q_us: u64) {
    f.times(10, ack(1).after(ms(10)).rtt(T + q_us));
}

/// In COMPETITIVE with a cwnd of about 38, after five RTTs at this queueing delay, which is no target of
/// either direction for long.
fn competitive(settings: &[(&str, &str)]) -> Flow {
    let mut f = default_mode(settings);
    while f.phase() == Phase::Avoidance {
        trickle(&mut f, ms(20));
    }
    assert_eq!(f.phase(), Phase::Competitive);
    f
}

// ---- slow start ----

#[test]
fn slow_start_doubles_cwnd_in_a_round_trip() {
    let mut f = new(&[]);
    for cwnd in [20, 40, 80] {
        f.on(whole(&f, 0));
        assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, cwnd), "section 2.1");
    }
    f.times(80, ack(1));
    assert_eq!(f.cwnd(), 160, "with each packet, not only at the end of a round");
}

#[test]
fn slow_start_ends_when_the_rate_exceeds_the_target() {
    // lambda > 1 / (delta dq): 40 / RTT > 2 / dq, 20 dq > 100 ms + dq
    for (q_us, phase, cwnd) in [(5263, Phase::SlowStart, 80), (5264, Phase::Avoidance, 38)] {
        let mut f = new(&[]);
        f.on(round(10, T)).on(round(20, T)).on(round(40, T + q_us));
        assert_eq!((f.phase(), f.cwnd()), (phase, cwnd), "{q_us} us, section 2.1");
    }
}

#[test]
fn packets_are_paced_at_twice_cwnd_per_standing_rtt() {
    let mut f = new(&[]);
    assert_eq!(f.pacing(), 2 * 10 * MSS * 1000, "before the first RTT as if it were a millisecond");
    f.on(whole(&f, 0));
    assert_near(f.pacing() as f64, (2 * 20 * MSS * 10) as f64, 1.0);
    f.on(round(20, T + ms(2)));
    assert_near(f.pacing() as f64, (2 * 40 * MSS) as f64 / 0.102, 10.0);
}

// ---- target and steps ----

#[test]
fn below_the_target_cwnd_grows_by_an_inverse_of_delta_in_a_round_trip_and_above_it_shrinks() {
    for (delta, per_round) in [("0.5", 2), ("0.25", 4), ("1", 1)] {
        let mut f = new(&[("delta", delta)]);
        f.on(round(10, T)).on(round(20, T));
        let cwnd = f.cwnd();
        f.on(round(40, T + ms(40)));
        assert_eq!(
            (f.phase(), f.cwnd()),
            (Phase::Avoidance, cwnd - per_round),
            "{delta}, section 2.1, step 3"
        );
        assert_eq!(change(&mut f, 0), i64::from(per_round), "{delta}");
        f.times(f.cwnd(), ack(1).rtt(T));
        assert_eq!(f.cwnd(), cwnd + per_round - 1, "{delta}: packet by packet, a little less as cwnd grows");
    }
}

#[test]
fn the_target_is_the_inverse_of_delta_times_the_queueing_delay() {
    // with a cwnd of 38: 19 dq > 100 ms + dq
    for (q_us, step) in [(5555, 2), (5556, -2)] {
        assert_eq!(change(&mut default_mode(&[]), q_us), step, "{q_us} us, equation 1");
    }
}

#[test]
fn the_queueing_delay_is_that_of_the_least_rtt_in_half_an_srtt() {
    let mut f = default_mode(&[]);
    f.on(ack(0).after(T).rtt(T));
    let pacing = f.pacing();
    f.on(ack(0).after(ms(40)).rtt(T + ms(50)));
    assert_eq!(f.pacing(), pacing, "section 2.1: tau is srtt / 2, here 53 ms");
    f.on(ack(0).after(ms(20)).rtt(T + ms(50)));
    assert_near(f.pacing() as f64, pacing as f64 / 1.5, pacing as f64 / 1e5);
}

#[test]
fn the_base_is_the_least_rtt_of_ten_seconds() {
    let mut f = default_mode(&[]);
    let min_rtt = |f: &Flow| f.cc.observe().min_rtt_us.map(u64::from);
    for _ in 0..95 {
        f.on(ack(1).after(ms(100)).rtt(T + ms(30)));
    }
    assert_eq!(min_rtt(&f), Some(T), "section 2.1");
    f.times(10, ack(1).after(ms(100)).rtt(T + ms(30)));
    assert_eq!(min_rtt(&f), Some(T + ms(30)));
}

#[test]
fn a_cwnd_that_is_not_used_does_not_grow_but_shrinks() {
    let mut f = default_mode(&[]);
    f.view.cwnd_limited = false;
    assert_eq!((change(&mut f, 0), change(&mut f, ms(10))), (0, -2), "RFC 9002, section 7.8");
}

#[test]
fn cwnd_is_two_packets_at_least() {
    let mut f = new(&[("delta", "2"), ("competitive", "off")]);
    f.on(whole(&f, 0));
    for _ in 0..40 {
        f.on(round(f.view.cwnd_pkts, 8 * T).after(T));
    }
    assert_eq!((f.phase(), f.cwnd()), (Phase::Avoidance, 2));
    f.times(2, ack(2).after(T).rtt(T));
    assert_eq!(f.cwnd(), 3, "half a packet in a round trip: v has not grown meanwhile");
}

/// It needs a queueing delay of an RTT at least to be above the target.
#[test]
fn a_cwnd_of_no_more_than_an_inverse_of_delta_never_shrinks() {
    let mut f = default_mode(&[("competitive", "off")]);
    for _ in 0..60 {
        f.on(round(f.view.cwnd_pkts, 50 * T).after(T));
    }
    assert!((2..=3).contains(&f.cwnd()), "{}: cwnd * dq / 2 > dq + RTT", f.cwnd());
}

// ---- velocity ----

#[test]
fn velocity_doubles_after_three_round_trips_in_the_same_direction() {
    let mut f = default_mode(&[]);
    let changes: Vec<_> = (0..8).map(|_| change(&mut f, 0)).collect();
    // the first ends the direction of the step down
    assert_eq!(changes, [2, 2, 2, 2, 4, 8, 16, 32], "section 2.1, step 4");
    assert_eq!(change(&mut f, 0), 64);
}

#[test]
fn velocity_is_one_again_after_a_turn() {
    for (at_once, turned) in [("on", [-2, -2, -2, -2, -4]), ("off", [-32, -2, -2, -2, -4])] {
        let mut f = default_mode(&[("turn_at_once", at_once), ("competitive", "off")]);
        while change(&mut f, 0) < 16 {}
        let changes: Vec<_> = (0..5).map(|_| change(&mut f, ms(20))).collect();
        assert_eq!(changes, turned, "{at_once}: the paper's v turns with cwnd, and has doubled once more");
    }
}

#[test]
fn a_turn_within_a_round_ends_the_velocity_within_the_round() {
    let mut f = default_mode(&[]);
    while change(&mut f, 0) < 16 {}
    let cwnd = f.cwnd();
    // half of a window, then the other half above the target
    f.on(ack(cwnd / 2).after(T / 2).rtt(T));
    assert_near(f.cwnd(), cwnd + 8, 1);
    f.on(ack(cwnd / 2).after(ms(60)).rtt(T + ms(20)));
    assert_near(f.cwnd(), cwnd + 7, 1);
}

#[test]
fn no_velocity_more_than_doubles_cwnd_in_a_round_trip() {
    let mut f = default_mode(&[]);
    for _ in 0..30 {
        let before = f.cwnd();
        f.on(whole(&f, 0));
        assert!(f.cwnd() <= 2 * before, "{before} to {}", f.cwnd());
    }
    assert_eq!(f.cwnd(), 1 << 24, "the most");
}

// ---- modes ----

#[test]
fn without_a_nearly_empty_queue_for_five_rtts_it_becomes_competitive() {
    let mut f = default_mode(&[]);
    trickle(&mut f, 0); // the last sample is T
    let mut since_us = 0;
    while f.phase() == Phase::Avoidance {
        f.on(ack(1).after(ms(10)).rtt(T + ms(20)));
        since_us += ms(10);
    }
    assert_eq!(f.phase(), Phase::Competitive);
    // srtt goes from T to T + 20 ms; for srtt / 2 the last sample of T still stands
    let srtt_us = u64::from(f.view.srtt_us);
    assert!((5 * srtt_us..5 * srtt_us + T / 2 + ms(20)).contains(&since_us), "{since_us} us, section 2.2");
}

#[test]
fn a_nearly_empty_queue_is_a_tenth_of_the_swing_of_the_last_four_rtts() {
    // RTTmax - RTTmin is 20 ms
    for (least_us, phase) in [(2000, Phase::Avoidance), (2001, Phase::Competitive)] {
        let mut f = default_mode(&[]);
        for _ in 0..10 {
            trickle(&mut f, ms(20));
            if f.phase() == Phase::Competitive {
                break;
            }
            f.on(ack(1).after(ms(10)).rtt(T + least_us));
        }
        assert_eq!(f.phase(), phase, "{least_us} us, section 2.2");
    }
}

#[test]
fn competitive_can_be_turned_off_and_made_slower() {
    for (setting, last) in
        [(("competitive", "off"), Phase::Avoidance), (("empty_rtts", "20"), Phase::Avoidance)]
    {
        let mut f = default_mode(&[setting]);
        for _ in 0..15 {
            trickle(&mut f, ms(20));
        }
        assert_eq!(f.phase(), last, "{setting:?}");
    }
}

/// In 1/delta, which is what cwnd changes by in a round trip while v is 1. `q_us` must not be nearly empty.
fn inverse_delta(f: &Flow, q_us: u64) -> i64 {
    let mut f = f.clone();
    let cwnd = f.cwnd();
    f.on(ack(cwnd).after(1).rtt(T + q_us));
    (i64::from(f.cwnd()) - i64::from(cwnd)).abs()
}

#[test]
fn in_competitive_an_inverse_of_delta_grows_by_one_in_a_round_trip_and_halves_with_an_episode_of_loss() {
    let mut f = competitive(&[]);
    assert_eq!(inverse_delta(&f, ms(20)), 2, "section 2.2: delta of DEFAULT at first");
    for (rounds, inverse) in [(1, 3), (1, 4), (6, 10)] {
        f.times(rounds, ack(0).after(1).rtt(T + ms(20)).delivered(1, 1).new_round());
        assert_eq!(inverse_delta(&f, ms(20)), inverse);
    }
    f.recovery();
    assert_eq!(inverse_delta(&f, ms(20)), 5);
    f.times(3, ack(0).after(1).rtt(T + ms(20)).delivered(1, 1).new_round());
    assert_eq!(inverse_delta(&f, ms(20)), 5, "it does not grow before recovery ends");
    f.ca_state(CaState::Open);
    f.on(ack(0).after(1).rtt(T + ms(20)).delivered(1, 1).new_round());
    assert_eq!(inverse_delta(&f, ms(20)), 6);
    for _ in 0..4 {
        f.recovery().ca_state(CaState::Open);
    }
    assert_eq!(inverse_delta(&f, ms(20)), 2, "never below that of DEFAULT");
}

#[test]
fn an_undo_of_recovery_gives_back_the_inverse_of_delta() {
    let mut f = competitive(&[]);
    f.times(8, ack(0).after(1).rtt(T + ms(20)).delivered(1, 1).new_round());
    f.recovery().undo();
    assert_eq!(inverse_delta(&f, ms(20)), 10);
}

#[test]
fn a_nearly_empty_queue_ends_competitive_and_resets_delta() {
    let mut f = competitive(&[]);
    f.times(8, ack(0).after(1).rtt(T + ms(20)).delivered(1, 1).new_round());
    f.on(ack(0).after(ms(10)).rtt(T + ms(1)));
    assert_eq!((f.phase(), inverse_delta(&f, ms(20))), (Phase::Avoidance, 2), "section 2.2");
}

#[test]
fn silence_counts_as_an_empty_queue() {
    let mut f = default_mode(&[]);
    trickle(&mut f, ms(20));
    f.idle(s(100)).on(ack(1).rtt(T + ms(20)));
    assert_eq!(f.phase(), Phase::Avoidance);
}

// ---- loss ----

#[test]
fn default_does_not_react_to_some_loss_but_to_more_than_a_fifth() {
    // beside 38 delivered, 20 % are 9.5
    for (losses, step) in [(9, 2), (10, -2)] {
        let mut f = default_mode(&[]);
        f.on(whole(&f, 0).losses(losses)); // the round ends, and the next one begins
        assert_eq!(i64::from(f.cwnd()), 38 + step, "{losses} lost");
        f.recovery();
        assert_eq!(f.cwnd(), (38 + step) as u32, "{losses} lost");
        f.ca_state(CaState::Open);
        assert_eq!(change(&mut f, 0), 2, "a round without loss");
    }
}

#[test]
fn as_in_the_paper_no_loss_shrinks_cwnd_if_all_of_it_is_allowed() {
    let mut f = default_mode(&[("loss_most", "100%")]);
    f.on(whole(&f, 0).losses(1000));
    assert_eq!(change(&mut f, 0), 2);
}

#[test]
fn slow_start_ends_with_a_round_of_much_loss() {
    let mut f = new(&[]);
    f.on(whole(&f, 0).losses(3));
    f.on(whole(&f, 0));
    assert_eq!(f.phase(), Phase::Avoidance);
}

#[test]
fn a_timeout_starts_anew_and_an_undo_takes_that_back() {
    for before in [default_mode(&[]), competitive(&[])] {
        let mut f = before.clone();
        f.timeout().ca_state(CaState::Open).on(ack(1).rtt(T));
        assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, 3), "RFC 5681, section 3.1");
        let mut f = before.clone();
        f.timeout().undo();
        assert_eq!((f.phase(), f.cwnd()), (Phase::Avoidance, before.cwnd()));
    }
    let mut f = new(&[]);
    f.on(whole(&f, 0)).timeout().undo();
    assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, 20));
}
