//! `fairpace sim --trace` and `--pcap`: a simulation with an observer that writes files.

use std::path::Path;

use fairpace_cc::Phase;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::signals::Signals;
use fairpace_results::Run;
use fairpace_scenario::{Ecn, Scenario};
use fairpace_trace::{Error, FlowInfo, RunInfo, TraceConfig, Traces};

use crate::args::{SimArgs, TraceKind};

/// The traces that the arguments select in this scenario.
pub(crate) fn config(args: &SimArgs, scenario: &Scenario) -> Result<TraceConfig, Failure> {
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    let mut captures = Vec::new();
    for name in &args.pcap {
        let Some(index) = names.iter().position(|link| link == name) else {
            return Err(Failure::new(
                Exit::Usage,
                format!("--pcap names the link `{name}`, which the scenario does not have"),
                format!("it has {}", names.join(", ")),
            ));
        };
        let index = index as u32;
        if !captures.contains(&index) {
            captures.push(index);
        }
    }
    let asked = |kind| args.trace.contains(&kind);
    Ok(TraceConfig {
        series: asked(TraceKind::Series),
        events: asked(TraceKind::Events),
        qlog: asked(TraceKind::Qlog),
        captures,
    })
}

/// Runs the scenario; the traces are in `dir` when it is over.
pub(crate) fn run(
    scenario: &Scenario,
    config: &TraceConfig,
    dir: &Path,
    signals: &Signals,
    quiet: bool,
) -> Result<Run, Failure> {
    let mut traces = Traces::create(dir, config, run_info(scenario)).map_err(failure)?;
    let mut run = host::perform(&scenario.title, signals, quiet, |progress| {
        Ok(fairpace_sim::run_with(scenario, progress, &mut traces)?)
    })?;
    run.summary.commit = COMMIT.to_owned();
    traces.finish(&run).map_err(failure)?;
    Ok(run)
}

fn run_info(scenario: &Scenario) -> RunInfo {
    let flow = |(flow, route): (&fairpace_scenario::Flow, fairpace_scenario::Route)| FlowInfo {
        name: flow.name.clone(),
        cc: flow.cc.to_string(),
        route: route.forward,
        back: route.back,
        ecn: flow.sending.ecn != Ecn::Off,
        is_workload: flow.arrivals.is_some(),
    };
    RunInfo {
        title: scenario.title.clone(),
        hash: scenario.hash.clone(),
        seed: scenario.seed,
        commit: COMMIT.to_owned(),
        flows: scenario.flows.iter().zip(scenario.routes()).map(flow).collect(),
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        mss_bytes: fairpace_tcp::MSS_BYTES,
        phases: Phase::ALL.iter().map(|phase| phase.name()).collect(),
    }
}

fn failure(error: Error) -> Failure {
    let help = match &error {
        Error::Write { .. } => "make room there, or name a directory elsewhere; nothing was left",
        Error::TooManyFlows { .. } => "leave `qlog` out; events and series have all flows in one file",
    };
    let exit = match &error {
        Error::Write { .. } => Exit::Output,
        Error::TooManyFlows { .. } => Exit::Usage,
    };
    Failure::new(exit, error.to_string(), help)
}
