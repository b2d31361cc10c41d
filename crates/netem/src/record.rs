//! The record of a run, from the measurements of its elements and its driver: equal for every driver.

use std::time::Duration;

use fairpace_results::{
    Cost, DropSummary, FlowSeries, FlowSummary, LinkSummary, Run, SCHEMA, ScenarioId, Series, Summary,
};
use fairpace_scenario::quantity::{PACKET_BYTES, show_time};
use fairpace_scenario::{self as scenario, BurstLength, Scenario};

use crate::elements::link::Link;
use crate::elements::selective_drop::{Payload, SelectiveDrop};
use crate::fairness::derive_fairness;
use crate::meters::link_meter::LinkMeter;
use crate::network::Network;
use crate::time::{Nanos, SECOND};

/// Values that a driver adds to the measurements of the links.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Where the run took place: `sim` or `kernel`.
    pub on: &'static str,
    /// Commit that built the program.
    pub commit: String,
    /// Times of the points of the series.
    pub points: Vec<Nanos>,
    /// Every flow's metrics and series, in the scenario's order. Losses, marks and shares are derived.
    pub flows: Vec<(FlowSummary, FlowSeries)>,
    /// CPU time, wall-clock time and packets of the run.
    pub cost: Cost,
    /// Notes for a reader of the results.
    pub notes: Vec<String>,
}

/// Returns the note on bursts of loss of a number of packets that decide a run, and the time to write
/// instead.
fn burst_note<T: Copy>(link: &Link<T>, settings: &scenario::Link) -> Option<String> {
    let note = link.loss_bursts()?.note(&settings.name)?;
    let BurstLength::Pkts(pkts) = settings.loss.burst?.length else { return None };
    let ns =
        u128::from(pkts * PACKET_BYTES * 8) * u128::from(SECOND) / u128::from(settings.fastest_bps().max(1));
    let time = show_time(two_digits(ns as u64));
    Some(format!("{note}; loss_burst = \"{time}\" is the time of {pkts} packets at the link's rate"))
}

/// Rounds a time to two significant digits.
fn two_digits(ns: u64) -> Duration {
    let unit = 10u64.pow(ns.max(1).ilog10().saturating_sub(1));
    Duration::from_nanos((ns + unit / 2) / unit * unit)
}

/// Returns the record of a finished run of `scenario` over `network`.
pub fn record<T: Payload>(scenario: &Scenario, network: &Network<T>, measured: Measured) -> Run {
    let Measured { on, commit, points, flows, cost, mut notes } = measured;
    let meters: Vec<&LinkMeter> = network.links().map(|link| link.meter()).collect();
    let (mut flow_summaries, mut flow_series) = (Vec::new(), Vec::new());
    for (flow, (mut summary, series)) in (0..).zip(flows) {
        let on_route = || network.data_links(flow).map(|link| meters[link]);
        let drops = || network.selective_drops(flow);
        let on_links: u64 = on_route().map(|link| link.drops(flow) + link.losses(flow)).sum();
        summary.derive_loss(on_links + drops().map(SelectiveDrop::dropped_pkts).sum::<u64>());
        summary.marked_pkts = on_route().map(|link| link.marks(flow)).sum();
        if drops().next().is_some() {
            let mut dropped = DropSummary::default();
            drops().for_each(|drop| drop.report(&mut dropped));
            notes.extend(dropped.note(&summary.name));
            summary.drop = Some(dropped);
        }
        flow_summaries.push(summary);
        flow_series.push(series);
    }
    let link_summaries = network.links().zip(&scenario.links).map(|(link, settings)| LinkSummary {
        queue: settings.queue.title().to_owned(),
        ..link.summary(&settings.name)
    });
    notes.extend(
        network.links().zip(&scenario.links).filter_map(|(link, settings)| burst_note(link, settings)),
    );
    let mut summary = Summary {
        schema: SCHEMA.to_owned(),
        on: on.to_owned(),
        commit,
        seed: scenario.seed,
        scenario: ScenarioId { title: scenario.title.clone(), hash: scenario.hash.clone() },
        window_s: [scenario.window.0.as_secs_f64(), scenario.window.1.as_secs_f64()],
        flows: flow_summaries,
        links: link_summaries.collect(),
        jain: None,
        convergence_s: None,
        max_min_distance: None,
        cost,
    };
    let series = Series {
        t_s: points.into_iter().map(|at| at as f64 / SECOND as f64).collect(),
        flows: flow_series,
        links: meters.iter().map(|link| link.series().clone()).collect(),
    };
    derive_fairness(&mut summary, &series, scenario);
    Run { summary, series, notes }
}
