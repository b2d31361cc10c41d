//! The drain-to-target patch as the prose of Zhang et al. 2018 has it: BBRv1's eight phases (section II.B),
//! of which only the second is longer (section IV.A). `nyu_latency8` and `nyu8` are built on it (sections
//! IV.B and IV.C).

use crate::bbr1_drain::skip_to_next_cycle;
use crate::support::bbr::*;
use crate::support::{Flow, ms};
use fairpace_cc::Phase;

const ALL: [&str; 3] = ["bbr1_drain8", "nyu_latency8", "nyu8"];

/// 1.25 BDP and more is in flight after more than one min_rtt: the end of UP in all three, for any alpha.
fn end_up(f: &mut Flow) {
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f.on(part(1).after(RTT + 1).rtt(ms(50)).prior_inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
}

/// At the start of UP; min_rtt is 40 ms, and the RTT 50 ms, so that alpha of nyu8 is 0.25.
fn up(algorithm: &str) -> Flow {
    let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
    f.on(part(1).after(6 * RTT + 1).rtt(ms(50)).prior_inflight(BDP));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwUp, UP), "{algorithm}");
    f
}

/// The ACK that ends DOWN: one BDP is in flight.
fn drained_at(f: &mut Flow) {
    f.on(part(1).after(1).rtt(ms(50)).prior_inflight(quantised(BDP, DOWN)));
}

#[test]
fn down_ends_at_one_bdp_and_at_nothing_else() {
    for algorithm in ALL {
        let mut f = up(algorithm);
        end_up(&mut f);
        let target = quantised(BDP, DOWN);
        for _ in 0..100 {
            f.on(part(1).after(RTT).rtt(ms(50)).prior_inflight(target + 1).losses(1));
            assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwDown, DOWN), "{algorithm}");
        }
        drained_at(&mut f);
        assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE), "{algorithm}");
    }
}

#[test]
fn down_ends_early_when_the_queue_is_gone_as_in_bbr1() {
    for algorithm in ALL {
        let mut f = up(algorithm);
        end_up(&mut f);
        drained_at(&mut f); // a microsecond later
        assert_eq!(f.phase(), Phase::ProbeBwCruise, "{algorithm}");
    }
}

#[test]
fn six_min_rtt_of_cruising_follow_however_long_down_was() {
    for algorithm in ALL {
        for down_rtts in [1, 3, 20] {
            let mut f = up(algorithm);
            end_up(&mut f);
            f.on(part(1).after(down_rtts * RTT).rtt(ms(50)).prior_inflight(2 * BDP));
            drained_at(&mut f);
            f.on(part(1).after(6 * RTT).rtt(ms(50)));
            assert_eq!(f.phase(), Phase::ProbeBwCruise, "{algorithm}: 6 min_rtt, to the microsecond");
            f.on(part(1).after(1).rtt(ms(50)));
            assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwUp, UP), "{algorithm}");
        }
    }
}

#[test]
fn up_lasts_until_a_quarter_more_is_in_flight_however_long_that_takes() {
    for algorithm in ALL {
        let mut f = up(algorithm);
        for _ in 0..100 {
            f.on(part(1).after(RTT).rtt(ms(50)).prior_inflight(BDP));
            assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwUp, UP), "{algorithm}");
        }
        end_up(&mut f);
    }
}

/// Section II.B: BBR's pattern, which starts in any phase but the second.
#[test]
fn probe_bw_starts_with_none_to_six_min_rtt_of_cruising_each_as_likely() {
    let mut seen = [0u32; 7];
    let mut f = up("bbr1_drain8");
    for _ in 0..2800 {
        skip_to_next_cycle(&mut f);
        let cruised = (0..7).find(|_| {
            let over = f.clone().on(part(1).after(1)).phase() == Phase::ProbeBwUp;
            f.on(part(1).after(RTT));
            over
        });
        seen[cruised.expect("at most six")] += 1;
    }
    for count in &seen {
        crate::support::assert_near(*count, 400.0, 75.0); // four standard deviations
    }
}

/// The same rule as the first attempt of Ma et al. 2017, section V.A: phase by phase, from probing on.
/// There, each of six phases lasts until the first ACK after a min_rtt; here, their sum does.
#[test]
fn its_phases_are_those_of_bbq_firstcut() {
    let mut ours = up("bbr1_drain8");
    let mut theirs = probe_bw_at_of("bbq_firstcut", UP, &[]);
    let ends = [
        (RTT + 1, BDP),            // not filled
        (1, 2 * BDP),              // UP to DOWN
        (5 * RTT, 2 * BDP),        // not drained
        (1, quantised(BDP, DOWN)), // DOWN to CRUISE
        (RTT + 1, BDP),
        (RTT + 1, 2 * BDP),
        (RTT + 1, BDP),
        (RTT + 1, 2 * BDP),
        (RTT + 1, BDP),
        (RTT + 1, BDP), // CRUISE to UP
    ];
    for (after, prior) in ends {
        let ack = part(1).after(after).prior_inflight(prior);
        assert_eq!(ours.on(ack).gain(), theirs.on(ack).gain(), "{prior} packets after {after} us");
    }
    assert_eq!(ours.gain(), UP);
}

/// The reading between the two: the cycle is the patch's, but it does not end while DOWN lasts.
#[test]
fn drained_in_full_a_cycle_ends_in_cruise_only_and_by_the_clock_of_the_patch() {
    for algorithm in ["bbr1_drain", "nyu_latency", "nyu"] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[("cycle_least", "8"), ("drain_in_full", "on")]);
        f.on(part(1).after(8 * RTT + 1).rtt(ms(50)).prior_inflight(BDP));
        end_up(&mut f);
        f.on(part(1).after(4 * RTT).rtt(ms(50)).prior_inflight(2 * BDP));
        let mut late = f.clone();
        drained_at(&mut f); // 5 min_rtt and 2 us after the start
        f.on(part(1).after(3 * RTT - 2).rtt(ms(50)));
        assert_eq!(f.phase(), Phase::ProbeBwCruise, "{algorithm}: 8 min_rtt, to the microsecond");
        f.on(part(1).after(1).rtt(ms(50)));
        assert_eq!(f.phase(), Phase::ProbeBwUp, "{algorithm}");
        late.on(part(1).after(20 * RTT).rtt(ms(50)).prior_inflight(2 * BDP));
        assert_eq!(late.phase(), Phase::ProbeBwDown, "{algorithm}");
        drained_at(&mut late);
        assert_eq!(late.phase(), Phase::ProbeBwCruise, "{algorithm}");
        drained_at(&mut late);
        assert_eq!(late.phase(), Phase::ProbeBwUp, "{algorithm}: its time was over long ago");
    }
}

/// Section IV.B: "exit this phase quicker if the number of packets in flight already meets the target".
#[test]
fn with_improved_latency_up_ends_as_soon_as_its_target_is_in_flight() {
    let enough = part(1).after(1).rtt(ms(50)).prior_inflight(2 * BDP);
    for (algorithm, phase) in ALL.iter().zip([Phase::ProbeBwUp, Phase::ProbeBwDown, Phase::ProbeBwDown]) {
        assert_eq!(up(algorithm).on(enough).phase(), phase, "{algorithm}");
    }
}

/// Section IV.C: "The queuing delay D(t) is measured as the RTT - RTT_min", at the update.
#[test]
fn alpha_is_the_latest_rtt_less_min_rtt_at_the_start_of_the_pattern() {
    let mut f = up("nyu8");
    end_up(&mut f);
    drained_at(&mut f);
    f.on(part(1).after(3 * RTT).rtt(ms(79)));
    f.on(part(1).after(3 * RTT + 1).rtt(ms(60)));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwUp, 256 + 128), "60 ms, not 79");
    f.on(part(1).after(RTT).rtt(ms(79)).prior_inflight(BDP));
    assert_eq!(f.gain(), 256 + 128, "until the next pattern");
    f.on(part(1).after(1).rtt(ms(79)).prior_inflight(2 * BDP));
    assert_eq!(f.gain(), 256 - 128);
}

/// ns-3 has no TSO: without room for bursts the target is one BDP, to the packet (and even).
#[test]
fn without_room_for_bursts_one_bdp_is_one_bdp() {
    let mut f = probe_bw_at_of("bbr1_drain8", UP, &[("burst_room", "0"), ("extra_acked_gain", "0")]);
    end_up(&mut f);
    f.on(part(1).after(1).prior_inflight(BDP + 1));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.on(part(1).after(1).prior_inflight(BDP));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f.on(part(BDP));
    assert_eq!(f.cwnd(), 2 * BDP);
}
