//! PROBE_RTT of BBRv2 and BBRv3 stops the ageing of max_bw, and min_rtt follows the queue: see
//! docs/notes/probe-rtt-and-max-bw.md, which has the formulas. The picture of that note is made here.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::{EFFICIENCY, flow, link, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_report::chart::{ANY, Axis, Change, Chart, Colour, Curve, Hue, Layer, Look};
use fairpace_results::Run;
use fairpace_scenario::{Flow, Link};

/// A buffer that never overflows.
const DEEP_BYTES: u64 = 1_000_000_000;
/// Time of the step, seconds.
const STEP_S: u64 = 10;

/// A flow alone on a link whose rate falls to `to_kbps` after ten seconds.
fn after_a_fall(flow: Flow, from_kbps: u64, to_kbps: u64) -> Run {
    let rate_at = vec![(Duration::from_secs(STEP_S), to_kbps * 1_000)];
    let link = Link { rate_bps: from_kbps * 1_000, rate_at, ..link(1, DEEP_BYTES) };
    run(&scenario(vec![link], vec![flow], 60, 90))
}

fn queue_ms(r: &Run) -> f64 {
    assert_eq!(r.summary.links[0].drops, 0, "the path loses nothing");
    r.summary.links[0].queue_delay_mean_ms.expect("packets left")
}

fn last(series: &[f32]) -> f64 {
    f64::from(*series.last().expect("there are points"))
}

#[test]
fn after_a_fall_of_the_rate_max_bw_never_ages_and_min_rtt_follows_the_queue() {
    for cc in ["bbr3", "bbr3_draft"] {
        let r = after_a_fall(flow(cc, 40, 0), 16_000, 4_000);
        assert!(queue_ms(&r) > 5_000.0, "{cc}: {} ms", queue_ms(&r));
        let series = &r.series.flows[0];
        assert!(last(&series.bw_mbps) > 15.0, "{cc}: max_bw is {} Mbit/s", last(&series.bw_mbps));
        assert!(last(&series.min_rtt_ms) > 1_000.0, "{cc}: min_rtt is {} ms", last(&series.min_rtt_ms));
    }
    // BBRv2 ends UP after a min_rtt, so it needs a deeper fall
    assert!(queue_ms(&after_a_fall(flow("bbr2", 40, 0), 16_000, 4_000)) < 10.0);
    assert!(queue_ms(&after_a_fall(flow("bbr2", 40, 0), 40_000, 4_000)) > 5_000.0);
    // BBRv1 counts rounds, whatever state it is in
    assert!(queue_ms(&after_a_fall(flow("bbr1", 40, 0), 40_000, 4_000)) < 40.0);
}

/// Without one of the rules the queue is short after a fall to a quarter. After a fall to a tenth max_bw
/// still does not age, and cwnd holds the queue that two BDP of the old rate are: (2 k - 1) RTT.
#[test]
fn each_of_the_rules_is_needed() {
    let rules =
        [("min_rtt_window", "600s"), ("probe_rtt_cwnd_gain", "0.0625"), ("probe_rtt_interval", "30s")];
    for (name, value) in rules {
        let of =
            |from_kbps| queue_ms(&after_a_fall(with(flow("bbr3", 40, 0), name, value), from_kbps, 4_000));
        assert!(of(16_000) < 20.0, "{name}={value}: {} ms", of(16_000));
        match name {
            "probe_rtt_interval" => assert!(of(40_000) < 20.0, "{name}={value}: {} ms", of(40_000)),
            _ => assert!((of(40_000) / 760.0 - 1.0).abs() < 0.05, "{name}={value}: {} ms", of(40_000)),
        }
    }
}

/// Two cycles must end between two PROBE_RTTs: the one before min_rtt follows the queue and the one after.
/// The latter takes the wait of 2 to 3 s, and 5 rounds of k^2 RTT, three of them with a ninth more in flight.
#[test]
fn the_least_fall_follows_from_the_rtt() {
    for rtt_ms in [10, 20, 40] {
        let least = |wait_s: f64| ((5.0 - wait_s) / (5.375 * rtt_ms as f64 / 1e3)).sqrt();
        let of =
            |fall: f64| queue_ms(&after_a_fall(flow("bbr3", rtt_ms, 0), (20_000.0 * fall) as u64, 20_000));
        let (harmless, harmful) = (0.9 * least(3.0), 1.1 * least(2.0));
        assert!(of(harmless) < 20.0, "{rtt_ms} ms, fall by {harmless}: {} ms", of(harmless));
        assert!(of(harmful) > 1_000.0, "{rtt_ms} ms, fall by {harmful}: {} ms", of(harmful));
    }
}

#[test]
fn a_cycle_that_probe_rtt_ends_mends_it() {
    let ends_cycle = |cc| with(flow(cc, 40, 0), "probe_rtt_ends_cycle", "on");
    for (cc, fall) in [("bbr3", 4), ("bbr3", 10), ("bbr3_draft", 4), ("bbr3_draft", 10), ("bbr2", 10)] {
        let r = after_a_fall(ends_cycle(cc), fall * 4_000, 4_000);
        // after a fall to a tenth the queue still drains in the first minute
        let most_ms = if fall == 4 { 20.0 } else { 500.0 };
        assert!(queue_ms(&r) < most_ms, "{cc}, fall by {fall}: {} ms", queue_ms(&r));
        assert!(last(&r.series.flows[0].bw_mbps) < 4.0, "{cc}, fall by {fall}");
        let part = r.summary.flows[0].goodput_mbps / (4.0 * EFFICIENCY);
        assert!(part > 0.95, "{cc}, fall by {fall}: {part}");
    }
}

/// The first and last second that the pictures show.
const SHOWN_S: [f64; 2] = [5.0, 60.0];

fn curve(label: &str, colour: Colour, look: Look, r: &Run, y: &[f32]) -> Curve {
    let shown = |t: &f64| (SHOWN_S[0]..=SHOWN_S[1]).contains(t);
    let points = r.series.t_s.iter().zip(y).filter(|(t, _)| shown(t));
    // two curves of a logarithmic axis begin at zero
    let (x, y) = points.map(|(t, y)| (*t, f64::from(y.max(0.1)))).unzip();
    let layer = Layer { look, x, y, half: Vec::new() };
    Curve { label: label.to_owned(), colour: Some(colour), layers: vec![layer] }
}

/// The probes and PROBE_RTTs of BBRv3 around the fall. Labels of other states would overlap, and later ones
/// would hide the curves.
fn states(r: &Run) -> Vec<Change> {
    let names = [(Phase::ProbeBwUp, "UP"), (Phase::ProbeRtt, "PROBE_RTT")];
    let phases = &r.series.flows[0].phase;
    let begins = (1..phases.len()).filter(|i| phases[*i] != phases[*i - 1]);
    let shown = begins.filter(|i| (10.0..24.0).contains(&r.series.t_s[*i]));
    let change = |i: usize| {
        let (_, name) = names.iter().find(|(phase, _)| phases[i] == *phase as i8)?;
        Some(Change { x: r.series.t_s[i], to: (*name).to_owned() })
    };
    shown.filter_map(change).collect()
}

fn chart(title: &str, y_title: &str, y: Axis, curves: Vec<Curve>, changes: Vec<Change>) -> Chart {
    Chart {
        title: title.to_owned(),
        note: "16 to 4 Mbit/s at 10 s, RTT 40 ms".to_owned(),
        x_title: "time, s".to_owned(),
        y_title: y_title.to_owned(),
        x: Axis::between(SHOWN_S[0], SHOWN_S[1], 10),
        y,
        curves,
        changes,
        square: false,
        possible: ANY,
    }
}

/// The pictures of docs/notes/probe-rtt-and-max-bw.md. FAIRPACE_WRITE_PICTURES=1 writes them.
#[test]
fn the_pictures_of_the_note_are_what_these_runs_show() {
    let one = after_a_fall(flow("bbr1", 40, 0), 16_000, 4_000);
    let three = after_a_fall(flow("bbr3", 40, 0), 16_000, 4_000);
    let mended = after_a_fall(with(flow("bbr3", 40, 0), "probe_rtt_ends_cycle", "on"), 16_000, 4_000);
    let [bbr1, bbr3] = ["bbr1", "bbr3"].map(|name| Colour::plain(Hue::of(name)));
    let other = Colour::Series(2);
    let queue = |r: &Run| r.series.links[0].queue_delay_ms.clone();
    let delays = [
        curve("bbr3: queue", bbr3, Look::Line, &three, &queue(&three)),
        curve("bbr3: min_rtt", bbr3, Look::Dashed, &three, &three.series.flows[0].min_rtt_ms),
        curve("bbr3, mended: queue", other, Look::Line, &mended, &queue(&mended)),
        curve("bbr1: queue", bbr1, Look::Line, &one, &queue(&one)),
    ];
    let rate = |r: &Run| r.series.flows[0].bw_mbps.clone();
    let rates = [
        curve("bbr3", bbr3, Look::Line, &three, &rate(&three)),
        curve("bbr3, mended", other, Look::Line, &mended, &rate(&mended)),
        curve("bbr1", bbr1, Look::Line, &one, &rate(&one)),
    ];
    let log = Axis::log([0.1, 50_000.0]).expect("there are positive values");
    let pictures = [
        ("queue", chart("Queueing delay and min_rtt", "ms", log, delays.into(), states(&three))),
        ("bw", chart("max_bw", "Mbit/s", Axis::holding(20.0, 4), rates.into(), Vec::new())),
    ];
    for (name, chart) in pictures {
        let file = format!("{}/../../docs/img/probe-rtt-{name}.svg", env!("CARGO_MANIFEST_DIR"));
        let (file, picture) = (Path::new(&file), chart.picture());
        if std::env::var_os("FAIRPACE_WRITE_PICTURES").is_some() {
            fs::write(file, &picture).expect("the folder is there");
        }
        let written = fs::read_to_string(file).expect("the picture is there");
        assert!(written == picture, "{name}: write it with FAIRPACE_WRITE_PICTURES=1");
    }
}
