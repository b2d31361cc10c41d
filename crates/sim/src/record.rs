//! Time series of what only the driver can see of a flow, and the run's summary.

use fairpace_cc::NO_RATE;
use fairpace_netem::build::nanos;
use fairpace_netem::{LinkMeter, Nanos, SECOND, derive_fairness};
use fairpace_results::{FlowSeries, LinkSummary, Run, SCHEMA, ScenarioId, Series, Summary};
use fairpace_scenario::{self as scenario, Scenario, Writes};

use crate::cost::Stopwatch;
use crate::engine::Engine;
use crate::flow::Flow;

/// Bytes per second to Mbit/s.
const MBPS: f64 = 8e-6;
/// Gains are in 1/256.
const GAIN_UNIT: f32 = 256.0;

/// Adds a point to a flow's series; NaN and -1 where there is nothing to say.
pub(crate) fn sample(series: &mut FlowSeries, flow: Option<&Flow>) {
    let Some(flow) = flow else {
        nothing(series); // a workload has no one window
        return;
    };
    let observed = flow.sender.observe();
    let alive = |x: f64| if observed.is_some() { x as f32 } else { f32::NAN };
    let known = |x: Option<f64>| x.map_or(f32::NAN, |x| x as f32);
    let rate = flow.sender.pacing_rate_Bps();
    let paced = flow.sender.is_paced() && rate != NO_RATE;
    series.cwnd_pkts.push(alive(f64::from(flow.sender.cwnd_pkts())));
    series.inflight_pkts.push(alive(f64::from(flow.sender.inflight_pkts())));
    series.pacing_mbps.push(if paced { alive(rate as f64 * MBPS) } else { f32::NAN });
    let bw = observed.map(|o| o.bw_Bps).filter(|bw| *bw > 0);
    series.bw_mbps.push(known(bw.map(|bw| bw as f64 * MBPS)));
    series.min_rtt_ms.push(known(observed.and_then(|o| o.min_rtt_us).map(|us| f64::from(us) / 1e3)));
    let gain = observed.map(|o| o.pacing_gain_256).filter(|g| *g > 0);
    series.pacing_gain.push(gain.map_or(f32::NAN, |g| g as f32 / GAIN_UNIT));
    series.phase.push(observed.map_or(-1, |o| o.phase as i8));
}

fn nothing(series: &mut FlowSeries) {
    for column in [
        &mut series.cwnd_pkts,
        &mut series.inflight_pkts,
        &mut series.pacing_mbps,
        &mut series.bw_mbps,
        &mut series.min_rtt_ms,
        &mut series.pacing_gain,
    ] {
        column.push(f32::NAN);
    }
    series.phase.push(-1);
}

/// Everything that the run measured.
pub(crate) fn conclude<T>(engine: Engine<'_, T>, scenario: &Scenario, stopwatch: &Stopwatch) -> Run {
    let Engine { links, mut entries, mut series, points, .. } = engine;
    let seconds = |t: Nanos| t as f64 / SECOND as f64;
    let mut summaries = Vec::new();
    for ((entry, series), asked) in entries.iter_mut().zip(&mut series).zip(&scenario.flows) {
        entry.meter.fill(series);
        series.completion_ms = entry.transfers.percentiles_ms();
        let mut summary =
            entry.meter.summary(&asked.name, &asked.cc.to_string(), nanos(asked.rtt), nanos(asked.start));
        if has_transfers(asked) {
            let only_ns = asked.traffic.size_bytes.and(entry.transfers.first_ns());
            summary.completion_s = only_ns.map(seconds);
            summary.completions = Some(entry.transfers.summary());
        }
        let on_route = || entry.forward.iter().map(|link| links[*link as usize].meter());
        let gone = |link: &LinkMeter| link.drops(entry.index) + link.losses(entry.index);
        summary.derive_loss(on_route().map(gone).sum());
        summary.marked_pkts = on_route().map(|link| link.marks(entry.index)).sum();
        summaries.push(summary);
    }
    let link_summaries = links.iter().zip(&scenario.links).map(|(link, asked)| LinkSummary {
        queue: asked.queue.title().to_owned(),
        ..link.summary(&asked.name)
    });
    let mut summary = Summary {
        schema: SCHEMA.to_owned(),
        on: "sim".to_owned(),
        commit: "unknown".to_owned(),
        seed: scenario.seed,
        scenario: ScenarioId { title: scenario.title.clone(), hash: scenario.hash.clone() },
        window_s: [scenario.window.0.as_secs_f64(), scenario.window.1.as_secs_f64()],
        flows: summaries,
        links: link_summaries.collect(),
        jain: None,
        convergence_s: None,
        max_min_distance: None,
        cost: stopwatch.cost(entries.iter().map(|e| e.counts.data_pkts).sum()),
    };
    let series = Series {
        t_s: points.into_iter().map(seconds).collect(),
        flows: series,
        links: links.iter().map(|link| link.meter().series().clone()).collect(),
    };
    derive_fairness(&mut summary, &series, scenario);
    Run { summary, series, notes: Vec::new() }
}

/// Does a flow consist of transfers that end?
fn has_transfers(flow: &scenario::Flow) -> bool {
    let answers = matches!(flow.traffic.writes, Writes::Responses { .. });
    flow.traffic.size_bytes.is_some() || flow.arrivals.is_some() || answers
}
