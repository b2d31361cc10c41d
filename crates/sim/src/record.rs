//! The record of a run: points of the time series that only the simulator can take, and the flows' metrics.

use fairpace_cc::{Algorithm, Clamps, NO_RATE};
use fairpace_netem::{Measured, Nanos, SECOND};
use fairpace_results::{ClampSummary, FlowSeries, FlowSummary, Run};
use fairpace_scenario::{self as scenario, Cc, Scenario, Writes, ns};

use crate::connection::Connection;
use crate::cost::Stopwatch;
use crate::flow::Flow;
use crate::simulation::Simulation;

/// Factor from bytes per second to Mbit/s.
const MBPS: f64 = 8e-6;
/// Listed algorithms whose rate or cwnd is set by the user or an agent.
const DECIDED_OUTSIDE: [&str; 3] = ["fixed_cwnd", "fixed_rate", "agent"];
/// Unit of gains, which are in 1/256.
const GAIN_UNIT: f32 = 256.0;

/// Adds a point to a flow's series; NaN and -1 where a value is unknown.
pub(crate) fn sample(series: &mut FlowSeries, connection: Option<&Connection>) {
    let Some(connection) = connection else {
        push_unknown(series); // a workload has many connections
        return;
    };
    let observed = connection.sender.observe();
    let alive = |x: f64| if observed.is_some() { x as f32 } else { f32::NAN };
    let known = |x: Option<f64>| x.map_or(f32::NAN, |x| x as f32);
    let rate = connection.sender.pacing_rate_Bps();
    let paced = connection.sender.is_paced() && rate != NO_RATE;
    series.cwnd_pkts.push(alive(f64::from(connection.sender.cwnd_pkts())));
    series.inflight_pkts.push(alive(f64::from(connection.sender.inflight_pkts())));
    series.pacing_mbps.push(if paced { alive(rate as f64 * MBPS) } else { f32::NAN });
    let bw = observed.map(|o| o.bw_Bps).filter(|bw| *bw > 0);
    series.bw_mbps.push(known(bw.map(|bw| bw as f64 * MBPS)));
    series.min_rtt_ms.push(known(observed.and_then(|o| o.min_rtt_us).map(|us| f64::from(us) / 1e3)));
    let gain = observed.map(|o| o.pacing_gain_256).filter(|g| *g > 0);
    series.pacing_gain.push(gain.map_or(f32::NAN, |g| g as f32 / GAIN_UNIT));
    series.phase.push(observed.map_or(-1, |o| o.phase as i8));
}

fn push_unknown(series: &mut FlowSeries) {
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

/// Returns the record of a run that is over.
pub(crate) fn record<O>(
    simulation: Simulation<O>,
    series: Vec<FlowSeries>,
    points: Vec<Nanos>,
    scenario: &Scenario,
    stopwatch: &Stopwatch,
) -> Run {
    let clamps = clamps(&simulation);
    let Simulation { network, mut flows, .. } = simulation;
    let data_packets = flows.iter().map(|flow| flow.counts.data_pkts).sum();
    let notes = scenario.flows.iter().zip(&clamps).filter_map(|(flow, clamps)| note(flow, *clamps)).collect();
    let flows = flows.iter_mut().zip(series).zip(&scenario.flows).zip(clamps);
    let flows = flows.map(|(((flow, series), settings), clamps)| {
        let (mut summary, series) = flow_record(flow, series, settings);
        summary.clamped = clamp_summary(clamps);
        (summary, series)
    });
    let measured = Measured {
        on: "sim",
        commit: "unknown".to_owned(),
        points,
        flows: flows.collect(),
        cost: stopwatch.cost(data_packets),
        notes,
    };
    fairpace_netem::record(scenario, &network, measured)
}

/// Returns the decisions outside their bounds, of each flow.
fn clamps<O>(simulation: &Simulation<O>) -> Vec<Clamps> {
    let mut clamps = vec![Clamps::default(); simulation.flows.len()];
    for connection in &simulation.connections {
        clamps[connection.slot.id.flow as usize] += connection.clamps();
    }
    clamps
}

/// Returns the note on a flow's decisions outside their bounds.
fn note(flow: &scenario::Flow, clamps: Clamps) -> Option<String> {
    let sentence = clamps.sentence();
    if sentence.is_empty() {
        return None;
    }
    let (name, cc) = (&flow.name, &flow.cc);
    let note = format!(
        "flow {name}: decisions of {cc} that would stop or break a connection were changed: {sentence}"
    );
    debug_assert!(!decides_by_itself(cc), "{note}");
    Some(note)
}

/// Returns whether `cc` is a listed algorithm that decides by itself. Such an algorithm is within its bounds
/// in every scenario.
#[must_use]
pub fn decides_by_itself(cc: &Cc) -> bool {
    let Cc::Ours(ours) = cc else { return false };
    let algorithm = ours.params().algorithm();
    Algorithm::all().any(|listed| listed == algorithm) && !DECIDED_OUTSIDE.contains(&algorithm.name())
}

fn clamp_summary(clamps: Clamps) -> Option<ClampSummary> {
    let Clamps { cwnd, ssthresh, pacing_rate, min_burst, app_limited } = clamps;
    (clamps.total() > 0).then_some(ClampSummary { cwnd, ssthresh, pacing_rate, min_burst, app_limited })
}

fn flow_record(
    flow: &mut Flow,
    mut series: FlowSeries,
    settings: &scenario::Flow,
) -> (FlowSummary, FlowSeries) {
    flow.meter.fill(&mut series);
    series.completion_ms = flow.transfers.percentiles_ms();
    let (rtt, start) = (ns(settings.rtt), ns(settings.start));
    let mut summary = flow.meter.summary(&settings.name, &settings.cc.to_string(), rtt, start);
    summary.set = settings.cc.named_settings();
    summary.failed = flow.failed;
    summary.media = flow.media.as_mut().map(|media| media.finish());
    if has_transfers(settings) {
        let only_ns = settings.traffic.total_bytes().and(flow.transfers.first_ns());
        summary.completion_s = only_ns.map(|ns| ns as f64 / SECOND as f64);
        summary.completions = Some(flow.transfers.summary());
    }
    (summary, series)
}

/// Returns whether a flow has transfers that end.
fn has_transfers(flow: &scenario::Flow) -> bool {
    let answers = matches!(flow.traffic.writes, Writes::Responses { .. });
    flow.traffic.total_bytes().is_some() || flow.arrivals.is_some() || answers
}
