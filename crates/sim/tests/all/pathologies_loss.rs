//! BBRv1 and CUBIC under random loss, and BBRv1 under applications that hold it back: what is known to go
//! wrong.

use std::time::Duration;

use crate::support::{EFFICIENCY, bdp_bytes, flow, link, ms, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_results::Run;
use fairpace_scenario::{Flow, Link, Loss, Traffic, WHOLE_PPB, Writes};

/// One flow with random loss, from 5 s on.
fn under_loss(flow: Flow, rate_mbps: u64, per_mille: f64) -> Run {
    let loss = Loss { ppb: (WHOLE_PPB as f64 / 1000.0 * per_mille) as u64, burst: None };
    let rtt_ms = flow.rtt.as_millis() as u64;
    let link = Link { loss, ..link(rate_mbps, bdp_bytes(rate_mbps, rtt_ms)) };
    run(&scenario(vec![link], vec![flow], 5, 45))
}

/// Goodput over what the link carries without loss.
fn part(r: &Run) -> f64 {
    r.summary.flows[0].goodput_mbps / (r.summary.links[0].rate_mbps * EFFICIENCY)
}

/// Cardwell et al., ACM Queue 14(5), figure 8, and Cao et al., IMC 2019: nearly all of the rate up to 5 %,
/// about 1 - p up to 15 %, and a cliff where the loss is more than probing with 1.25 hides, 1 - 1/1.25 = 20
/// %.
#[test]
fn bbr1_bears_random_loss_up_to_what_its_probing_hides() {
    let at = |per_mille| part(&under_loss(with(flow("bbr1", 40, 0), "lt_bw", "0"), 20, per_mille));
    for per_mille in [1.0, 10.0, 50.0, 100.0] {
        let most = 1.0 - per_mille / 1000.0;
        let part = at(per_mille);
        assert!((most - 0.1..=most).contains(&part), "{per_mille} per mille: {part}");
    }
    assert!(at(150.0) > 0.6, "{}", at(150.0));
    assert!(at(250.0) < 0.4, "{}", at(250.0));
    assert!(at(300.0) < 0.15, "{}", at(300.0));
}

/// The rules of Linux's tcp_bbr for policers: two stretches of 19.5 % loss at one rate are taken for one. The
/// rate is frozen, and while it is, nothing is probed for.
#[test]
fn random_loss_of_a_fifth_is_taken_for_a_policer() {
    let with = |lt_bw: &str| under_loss(with(flow("bbr1", 40, 0), "lt_bw", lt_bw), 20, 200.0);
    let not_probing = |r: &Run| {
        let gains = &r.series.flows[0].pacing_gain[50..];
        gains.iter().filter(|g| **g == 1.0).count() as f64 / gains.len() as f64
    };
    let (on, off) = (with("1"), with("0"));
    assert!(part(&on) < 0.5 * part(&off), "{} and without the rules {}", part(&on), part(&off));
    assert!(not_probing(&on) > 0.93 && not_probing(&off) < 0.9, "{} {}", not_probing(&on), not_probing(&off));
}

/// ACM Queue, figure 8, and Mathis et al., CCR 27(3): the rate falls with the root of the loss rate, or
/// faster.
#[test]
fn random_loss_of_a_thousandth_takes_most_of_cubics_rate_on_a_long_path() {
    let at = |per_mille| part(&under_loss(flow("cubic", 100, 0), 100, per_mille));
    let (tenth, one, ten) = (at(0.1), at(1.0), at(10.0));
    assert!(one < 0.12, "0.1 %: {one}");
    assert!(tenth > 2.5 * one && one > 2.5 * ten, "0.01 % {tenth}, 0.1 % {one}, 1 % {ten}");
}

/// bbr-dev, 2022, "stuck at 100 kbit/s", and lsquic issue 554: where every sample is application-limited,
/// STARTUP never ends and bw is what the application wrote.
#[test]
fn an_application_that_writes_little_never_leaves_startup() {
    let writes = Writes::Paced { rate_bps: 1_000_000, every: ms(100) };
    let stream = Flow { traffic: Traffic { size_bytes: None, writes }, ..flow("bbr1", 40, 0) };
    let r = run(&scenario(vec![link(50, bdp_bytes(50, 40))], vec![stream], 5, 30));
    let f = &r.series.flows[0];
    assert!(f.phase.iter().skip(10).all(|p| *p == Phase::Startup as i8 || *p == Phase::ProbeRtt as i8));
    let bw = f.bw_mbps[290];
    assert!(bw < 5.0, "{bw} Mbit/s of 50");
}

/// A FreeBSD port was left with a gain of 0.75 when it idled in the wrong phase. Here no pause leaves a
/// trace: whatever phase it falls into, each stretch of sending soon has the whole rate.
#[test]
fn a_pause_in_any_phase_leaves_no_gain_behind() {
    for cc in ["bbr1", "bbr2", "bbr3"] {
        // neither divides the gain cycle nor the 10 s of min_rtt: pauses fall everywhere
        let writes = Writes::OnOff { on: Duration::from_millis(1130), off: Duration::from_millis(470) };
        let stop_and_go = Flow { traffic: Traffic { size_bytes: None, writes }, ..flow(cc, 40, 0) };
        let mut s = scenario(vec![link(20, bdp_bytes(20, 40))], vec![stop_and_go], 0, 80);
        s.interval = ms(10);
        let r = run(&s);
        let f = &r.series.flows[0];
        for start in (1..49).map(|n| n * 160) {
            // the best tenth of a second, half a second after sending resumed; PROBE_RTT may take 200 ms of
            // it
            let best =
                (start + 50..start + 100).map(|at| f.goodput_mbps[at..at + 10].iter().sum::<f32>() / 10.0);
            let best = best.fold(0.0, f32::max) as f64;
            assert!(best > 0.9 * 20.0 * EFFICIENCY, "{cc}: {best} Mbit/s after {} s", start as f64 / 100.0);
        }
    }
}
