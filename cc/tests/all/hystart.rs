//! HyStart++ (RFC 9406) under CUBIC and Reno, and what it is for: HyStart (cubic.rs) takes jitter for a
//! queue.

use crate::support::{Flow, ack, ms};
use fairpace_cc::{CaState, INFINITE, Phase};

const ALGORITHMS: [&str; 2] = ["cubic", "reno"];
const CSS: Phase = Phase::ConservativeSlowStart;

/// A paced flow in slow start that fills its window.
fn flow(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let settings = [&[("hystart", "2")], settings].concat();
    Flow::start_with(algorithm, &settings, |v| (v.cwnd_limited, v.paced) = (true, true))
}

/// A round of `acks` ACKs for a packet each. The first of them acknowledges the last round's end.
fn round(f: &mut Flow, acks: u32, rtt_us: u64) -> &mut Flow {
    f.times(acks, ack(1).rtt(rtt_us).inflight(acks - 1))
}

/// A part of a round that goes on after it.
fn part(f: &mut Flow, acks: u32, rtt_us: u64) -> &mut Flow {
    f.times(acks, ack(1).rtt(rtt_us).inflight(1000))
}

/// In CSS: a round of 100 ms, then 8 ACKs of 120 ms.
fn css(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = flow(algorithm, settings);
    round(&mut f, 10, ms(100));
    round(&mut f, 8, ms(120));
    assert_eq!((f.phase(), f.ssthresh()), (CSS, INFINITE), "{algorithm}");
    f
}

// ---- section 4.2: into CSS ----

#[test]
fn the_eighth_sample_of_a_round_an_eighth_above_the_last_round_enters_css() {
    for algorithm in ALGORITHMS {
        let mut f = flow(algorithm, &[]);
        round(&mut f, 10, ms(100));
        part(&mut f, 7, 112_500);
        assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, 10 + 17), "{algorithm}");
        part(&mut f, 1, 112_500);
        // the RTT is looked at before the window grows: a quarter of a packet
        assert_eq!((f.phase(), f.cwnd(), f.ssthresh()), (CSS, 27, INFINITE), "{algorithm}");
    }
}

#[test]
fn the_rise_that_counts_is_an_eighth_but_4_to_16_ms() {
    for (last_us, rise_us) in [(ms(10), 4000), (ms(32), 4000), (ms(100), 12_500), (ms(400), 16_000)] {
        for (rtt_us, phase) in [(last_us + rise_us - 1, Phase::SlowStart), (last_us + rise_us, CSS)] {
            let mut f = flow("reno", &[]);
            round(&mut f, 10, last_us);
            round(&mut f, 10, rtt_us);
            assert_eq!(f.phase(), phase, "{last_us} us, then {rtt_us} us");
        }
    }
}

#[test]
fn one_low_rtt_in_a_round_is_enough_to_stay() {
    let mut f = flow("reno", &[]);
    round(&mut f, 10, ms(100));
    part(&mut f, 3, ms(150));
    part(&mut f, 1, ms(105));
    part(&mut f, 20, ms(150));
    assert_eq!(f.phase(), Phase::SlowStart);
}

#[test]
fn rounds_are_compared_with_the_round_before_not_with_the_minimum() {
    let climb = |hystart: &str| {
        let mut f = flow("cubic", &[("hystart", hystart)]);
        for round_no in 0..10 {
            round(&mut f, 20, ms(20 + 3 * round_no)); // less than 4 ms a round
        }
        f.phase()
    };
    assert_eq!(climb("2"), Phase::SlowStart);
    assert_eq!(climb("1"), Phase::Avoidance, "HyStart compares with the minimum");
}

#[test]
fn the_first_round_has_nothing_to_be_compared_with() {
    let mut f = flow("reno", &[]);
    part(&mut f, 50, ms(500));
    assert_eq!(f.phase(), Phase::SlowStart);
}

// ---- section 4.2: in CSS and out of it ----

#[test]
fn css_grows_by_a_packet_per_four_acknowledged() {
    for algorithm in ALGORITHMS {
        let mut f = css(algorithm, &[]);
        let before = f.cwnd();
        part(&mut f, 2, ms(120)); // one was counted on entry
        assert_eq!(f.cwnd(), before, "{algorithm}");
        part(&mut f, 1, ms(120));
        assert_eq!(f.cwnd(), before + 1, "{algorithm}");
        f.on(ack(40).rtt(ms(120)).inflight(1000));
        assert_eq!(f.cwnd(), before + 11, "{algorithm}");
    }
    let mut f = css("reno", &[("css_growth_divisor", "2")]);
    let before = f.cwnd();
    assert_eq!(f.on(ack(40).rtt(ms(120)).inflight(1000)).cwnd(), before + 20);
}

#[test]
fn a_round_with_a_lower_rtt_goes_back_to_slow_start() {
    for algorithm in ALGORITHMS {
        let mut f = css(algorithm, &[]);
        round(&mut f, 10, ms(120));
        assert_eq!(f.phase(), CSS, "{algorithm}: not lower");
        part(&mut f, 7, ms(120) - 1);
        assert_eq!(f.phase(), CSS, "{algorithm}: seven samples");
        let before = f.cwnd();
        part(&mut f, 1, ms(120) - 1);
        assert_eq!((f.phase(), f.ssthresh()), (Phase::SlowStart, INFINITE), "{algorithm}");
        assert_eq!(f.cwnd(), before + 1, "{algorithm}: and grows as slow start does");
    }
}

#[test]
fn slow_start_that_was_resumed_may_enter_css_again() {
    let mut f = css("reno", &[]);
    round(&mut f, 10, ms(100));
    assert_eq!(f.phase(), Phase::SlowStart);
    round(&mut f, 10, ms(120));
    assert_eq!(f.phase(), CSS);
}

#[test]
fn css_ends_slow_start_after_five_rounds_of_which_the_one_it_began_in_is_the_first() {
    for algorithm in ALGORITHMS {
        let mut f = css(algorithm, &[]);
        for round_no in 2..=5 {
            round(&mut f, 10, ms(125));
            assert_eq!((f.phase(), f.ssthresh()), (CSS, INFINITE), "{algorithm}: round {round_no}");
        }
        let cwnd = f.cwnd();
        round(&mut f, 1, ms(125)); // the fifth is over
        assert_eq!((f.phase(), f.ssthresh(), f.cwnd()), (Phase::Avoidance, cwnd, cwnd), "{algorithm}");
    }
    let mut f = css("reno", &[("css_rounds", "1")]);
    round(&mut f, 1, ms(125));
    assert_eq!(f.phase(), Phase::Avoidance);
}

#[test]
fn a_loss_in_css_is_a_loss() {
    for (algorithm, kept) in [("cubic", 717), ("reno", 512)] {
        let mut f = css(algorithm, &[]);
        let before = f.cwnd();
        f.recovery();
        assert_eq!((f.phase(), f.ssthresh()), (Phase::Avoidance, before * kept / 1024), "{algorithm}");
        f.ca_state(CaState::Open);
        round(&mut f, 3, ms(100));
        assert_eq!(f.phase(), Phase::Avoidance, "{algorithm}: a lower RTT changes nothing any more");
    }
}

// ---- section 4.3 ----

#[test]
fn without_pacing_an_ack_counts_for_eight_packets_at_most() {
    for algorithm in ALGORITHMS {
        for (paced, hystart, growth) in [(false, "2", 8), (true, "2", 20), (false, "0", 20), (false, "1", 20)]
        {
            let mut f = flow(algorithm, &[("hystart", hystart)]);
            f.view.paced = paced;
            f.on(ack(20).rtt(ms(100)));
            assert_eq!(f.cwnd(), 10 + growth, "{algorithm}, paced: {paced}, hystart {hystart}");
        }
    }
}

#[test]
fn what_is_beyond_the_limit_is_not_left_over_for_later() {
    let mut f = flow("reno", &[]);
    f.view.paced = false;
    f.on(ack(100).rtt(ms(100)));
    assert_eq!(f.on(ack(1).rtt(ms(100))).cwnd(), 10 + 8 + 1);
}

#[test]
fn only_the_first_slow_start_is_watched() {
    for algorithm in ALGORITHMS {
        let mut f = flow(algorithm, &[]);
        f.times(1000, ack(1).rtt(ms(100)));
        f.timeout().ca_state(CaState::Open);
        f.view.paced = false;
        f.on(ack(20).rtt(ms(100)));
        assert_eq!(f.cwnd(), 21, "{algorithm}: no limit per ACK");
        round(&mut f, 20, ms(100));
        round(&mut f, 20, ms(200));
        assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, 61), "{algorithm}");
    }
}

// ---- selection ----

#[test]
fn without_hystart_no_rtt_ends_slow_start() {
    for algorithm in ALGORITHMS {
        let mut f = flow(algorithm, &[("hystart", "0")]);
        for rtt_ms in [100, 200, 400, 800] {
            round(&mut f, 50, ms(rtt_ms));
        }
        assert_eq!((f.phase(), f.cwnd()), (Phase::SlowStart, 210), "{algorithm}");
    }
}

#[test]
fn reno_has_linux_hystart_too() {
    let mut f = flow("reno", &[("hystart", "1")]);
    round(&mut f, 30, ms(100));
    part(&mut f, 8, ms(113));
    assert_eq!(f.phase(), Phase::SlowStart, "its ninth sample decides");
    let cwnd = f.cwnd();
    part(&mut f, 1, ms(113));
    assert_eq!((f.phase(), f.ssthresh()), (Phase::Avoidance, cwnd));
}

/// RFC 9406 section 3: a round of jitter ends slow start early and for good with HyStart, HyStart++ gets
/// over it.
#[test]
fn a_round_of_jitter_ends_slow_start_with_hystart_and_interrupts_it_with_hystart_plus_plus() {
    let climb = |algorithm, hystart| {
        let mut f = flow(algorithm, &[("hystart", hystart)]);
        round(&mut f, 30, ms(50));
        round(&mut f, 40, ms(60)); // jitter: 10 ms on each packet of the round
        for _ in 0..5 {
            let cwnd = f.cwnd();
            round(&mut f, cwnd, ms(50));
        }
        (f.phase(), f.cwnd())
    };
    for algorithm in ALGORITHMS {
        let (phase, without) = climb(algorithm, "0");
        assert_eq!((phase, without), (Phase::SlowStart, 80 << 5), "{algorithm}");
        let (phase, hystart) = climb(algorithm, "1");
        assert_eq!(phase, Phase::Avoidance, "{algorithm}");
        assert!(hystart < 80, "{algorithm}: {hystart}");
        let (phase, plus_plus) = climb(algorithm, "2");
        assert_eq!(phase, Phase::SlowStart, "{algorithm}");
        assert!(plus_plus > without / 2, "{algorithm}: {plus_plus} of {without}, a round is lost");
    }
}
