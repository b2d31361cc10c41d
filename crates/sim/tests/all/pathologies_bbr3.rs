//! What is known to be wrong with BBRv2 and BBRv3, as simulations that show it. Each test names who described
//! it; a test that fails says that the simulated algorithm is better, or worse, than the real one.

use std::time::Duration;

use crate::support::{EFFICIENCY, bdp_bytes, flow, link, ms, run, scenario};
use fairpace_cc::Phase;
use fairpace_results::Run;
use fairpace_scenario::{Loss, WHOLE_PPB};

fn share(r: &Run, f: usize) -> f64 {
    r.summary.flows[f].share.expect("something was delivered")
}

fn queue_ms(r: &Run) -> f64 {
    r.summary.links[0].queue_delay_mean_ms.expect("packets left")
}

/// Two flows on 20 Mbit/s with a buffer of some BDPs of 40 ms, measured over the last two thirds.
fn pair(ccs: [&str; 2], rtts_ms: [u64; 2], start_ms: u64, bdps: f64, seconds: u64) -> Run {
    let buffer = (bdps * bdp_bytes(20, 40) as f64) as u64;
    let flows = vec![flow(ccs[0], rtts_ms[0], 0), flow(ccs[1], rtts_ms[1], start_ms)];
    run(&scenario(vec![link(20, buffer)], flows, seconds / 3, seconds))
}

/// Goodput of a single flow over what the link could carry, with random loss.
fn part_under_loss(cc: &str, rate_mbps: u64, per_mille: u64) -> f64 {
    let loss = Loss { ppb: WHOLE_PPB / 1000 * per_mille, ..Loss::default() };
    let link = fairpace_scenario::Link { loss, ..link(rate_mbps, bdp_bytes(rate_mbps, 40)) };
    let r = run(&scenario(vec![link], vec![flow(cc, 40, 0)], 5, 25));
    r.summary.flows[0].goodput_mbps / (rate_mbps as f64 * EFFICIENCY)
}

/// Song et al., IEEE Access 2021, and Kfoury et al., 2020, for BBRv2; Piotrowska, Appl. Sci. 14(12), and
/// Gomez et al., 2024, for BBRv3.
#[test]
fn a_long_rtt_still_wins() {
    for cc in ["bbr2", "bbr3"] {
        let short = share(&pair([cc, cc], [10, 50], 2000, 6.0, 60), 0);
        assert!(short < 0.3, "{cc}, 10 and 50 ms: {short}");
    }
    for rtts_ms in [[35, 56], [35, 145]] {
        let short = share(&pair(["bbr3", "bbr3"], rtts_ms, 1000, 2.0, 90), 0);
        assert!(short < 0.35, "{rtts_ms:?}: {short}");
    }
}

/// Yang et al., "BBRv2+", 2022: a probe every 2 to 3 s, or 62 rounds, finds free bandwidth late.
#[test]
fn bandwidth_that_becomes_free_is_taken_seconds_later() {
    let taken_after_s = |cc| {
        let mut s =
            scenario(vec![link(50, bdp_bytes(50, 40))], vec![flow(cc, 40, 0), flow(cc, 40, 0)], 20, 60);
        s.flows[1].stop = Some(Duration::from_secs(30));
        let goodput = &run(&s).series.flows[0].goodput_mbps;
        let most = (0.9 * 50.0 * EFFICIENCY) as f32;
        assert!(goodput[290] < most, "{cc} has it already");
        goodput[300..].iter().position(|g| *g > most).expect("in 30 s") as f64 / 10.0
    };
    let (bbr1, bbr2, bbr3) = (taken_after_s("bbr1"), taken_after_s("bbr2"), taken_after_s("bbr3"));
    assert!(bbr2 > 2.0 * bbr1 && bbr3 > 2.0 * bbr1, "bbr1 {bbr1} s, bbr2 {bbr2} s, bbr3 {bbr3} s");
}

/// The same authors, and distributions that went back to BBRv1 over it. (CUBIC does worse still.)
#[test]
fn random_loss_above_two_per_cent_takes_most_of_the_rate() {
    for rate_mbps in [10, 100] {
        assert!(part_under_loss("bbr1", rate_mbps, 50) > 0.8, "bbr1 hardly notices");
        for cc in ["bbr2", "bbr3"] {
            // with 51 packets in flight or fewer, one lost is above 2 % of them: 10 Mbit/s have a BDP of 34
            let (little, much) = (part_under_loss(cc, rate_mbps, 10), part_under_loss(cc, rate_mbps, 50));
            assert!((0.5..0.95).contains(&little), "{cc} at {rate_mbps} Mbit/s and 1 %: {little}");
            assert!(much < 0.4, "{cc} at {rate_mbps} Mbit/s and 5 %: {much}");
        }
    }
}

/// Scherrer et al., "Model-Based Insights on the Performance, Fairness, and Stability of BBR", IMC 2022:
/// without loss there is no inflight_hi, and cwnd holds the queue as in BBRv1.
#[test]
fn a_deep_buffer_is_filled_to_a_bdp() {
    let bbr1 = queue_ms(&pair(["bbr1"; 2], [40, 40], 2000, 10.0, 60));
    for cc in ["bbr2", "bbr3"] {
        let r = pair([cc; 2], [40, 40], 2000, 10.0, 60);
        assert_eq!(r.summary.links[0].drops, 0);
        assert!(queue_ms(&r) > 0.6 * bbr1, "{cc}: {} ms, bbr1 {bbr1} ms", queue_ms(&r));
    }
}

/// The same authors, for BBRv2. BBRv3, of which Mahmud et al., 2025, and Zeynali et al., PAM 2024, say the
/// same, does not show it in a pair of flows of equal RTT.
#[test]
fn a_head_start_of_bbr2_lasts_for_minutes() {
    for bdps in [1.0, 4.0] {
        for start_ms in [100, 5000] {
            let r = pair(["bbr2"; 2], [40, 40], start_ms, bdps, 150);
            assert!(share(&r, 0) > 0.6, "{bdps} BDP, {start_ms} ms: {}", share(&r, 0));
            let r = pair(["bbr3"; 2], [40, 40], start_ms, bdps, 150);
            assert!((0.4..0.6).contains(&share(&r, 0)), "bbr3, {bdps} BDP, {start_ms} ms: {}", share(&r, 0));
        }
    }
}

/// Met in the grid of Mahmud et al., 2025, where it is one flow of 500; Linux 6.18's `bbr` does it too
/// (docs/pathologies.md). Those who cruise keep their inflight while the newcomer's STARTUP raises its own,
/// and with that its part of the queue and its rate.
#[test]
fn one_more_flow_takes_many_times_what_those_who_cruise_have() {
    let times = |cc, start_ms| {
        let flows = (0..24).map(|i| flow(cc, 40, i)).chain([flow(cc, 40, start_ms)]).collect();
        let r = run(&scenario(vec![link(200, 4 * bdp_bytes(200, 40))], flows, 10, 30));
        share(&r, 24) / ((1.0 - share(&r, 24)) / 24.0)
    };
    for start_ms in [300, 1000] {
        for cc in ["bbr1", "bbr2", "bbr3"] {
            assert!(times(cc, start_ms) > 3.0, "{cc} from {start_ms} ms: {}", times(cc, start_ms));
        }
        assert!(times("cubic", start_ms) < 2.0, "cubic from {start_ms} ms: {}", times("cubic", start_ms));
    }
}

/// draft-ietf-ccwg-bbr, issue 109: half a BDP in PROBE_RTT does not empty a queue that others fill, and one
/// visit renews both filters.
#[test]
fn a_cubic_rivals_queue_is_taken_for_propagation_delay() {
    for cc in ["bbr2", "bbr3"] {
        let r = pair([cc, "cubic"], [40, 40], 1000, 4.0, 80);
        let min_rtt = &r.series.flows[0].min_rtt_ms[250..];
        let mean = min_rtt.iter().sum::<f32>() / min_rtt.len() as f32;
        assert!(mean > 1.5 * 40.0, "{cc}: min_rtt is {mean} ms on average");
    }
}

/// s2n-quic issue 1543 and quinn pull request 2481: the loss that ends STARTUP has gone on for rounds by
/// then. Without that exit (Mahmud et al., e2 and e3) there is more of it.
#[test]
fn startup_overshoots_a_small_buffer_for_two_rounds() {
    let startup = |cc| {
        let mut s = scenario(vec![link(50, bdp_bytes(50, 40) / 2)], vec![flow(cc, 40, 0)], 0, 2);
        s.interval = ms(20);
        let r = run(&s);
        let drops = &r.series.links[0].drops;
        let first = drops.iter().position(|d| *d > 0).expect("it overshoots");
        let phase = &r.series.flows[0].phase;
        let end = phase.iter().rposition(|p| *p == Phase::Startup as i8).expect("it begins there");
        (drops[first..].iter().sum::<u32>(), (end - first) as f64 * 20.0)
    };
    let (bbr3, from_first_to_end_ms) = startup("bbr3");
    // an RTT is 40 to 60 ms
    assert!((60.0..160.0).contains(&from_first_to_end_ms), "{from_first_to_end_ms} ms");
    assert!(bbr3 > bdp_bytes(50, 40) as u32 / 1514 / 2, "{bbr3} packets");
    for cc in ["bbr3e2", "bbr3e3"] {
        let (drops, _) = startup(cc);
        assert!(drops > bbr3 * 5 / 4, "{cc}: {drops} packets, bbr3 {bbr3}");
    }
    assert!(startup("bbr1").0 > 2 * bbr3, "bbr1 {}, bbr3 {bbr3}", startup("bbr1").0);
}

/// Sarpkaya et al., arXiv 2505.07741: what models of BBRv1 say (Ware et al., IMC 2019: a share whatever the
/// number of rivals) does not hold for BBRv3.
#[test]
fn the_share_against_cubic_falls_with_their_number() {
    let share_of = |cc, n: u64| {
        let cubics = (0..n).map(|i| flow("cubic", 40, i * 170));
        let flows = cubics.chain([flow(cc, 40, 1000)]).collect();
        let r = run(&scenario(vec![link(50, bdp_bytes(50, 40))], flows, 20, 80));
        share(&r, n as usize)
    };
    let (one, eight) = (share_of("bbr3", 1), share_of("bbr3", 8));
    assert!(eight < 0.5 * one, "against one {one}, against eight {eight}");
}
