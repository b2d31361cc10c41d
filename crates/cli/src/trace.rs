//! `fairpace sim --trace` and `--pcap`: a simulation with an observer that writes files.

use std::fs::DirEntry;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT, run_info};
use fairpace_cli_core::progress::{RunProgress, expected_packets};
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::table::size;
use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;
use fairpace_trace::{Error, TraceConfig, Traces};

use crate::args::{SimArgs, TraceKind};

/// The traces that the arguments select in this scenario.
pub(crate) fn config(args: &SimArgs, scenario: &Scenario) -> Result<TraceConfig, Failure> {
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    let mut captures = Vec::new();
    for name in &args.pcap {
        let Some(index) = names.iter().position(|link| link == name) else {
            let message = format!("--pcap names the link `{name}`, which the scenario does not have");
            return Err(Failure::new(Exit::Usage, message, format!("it has {}", names.join(", "))));
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

// Bytes of a data packet, measured on five scenarios of 8,000 to 1,600,000 packets.

/// In a capture: the packet and its ACK took 152 to 169.
const CAPTURE_BYTES: f64 = 155.0;
/// In the qlog files: 16 to 119, by how often the algorithm changes something.
const QLOG_BYTES: f64 = 100.0;
/// In the table of events: 7 with a mark on most packets, hardly any without drops and marks.
const EVENT_BYTES: f64 = 7.0;
/// Bytes of a point of a flow, of a link or of both in the tables of the time series: 30 to 70.
const POINT_BYTES: f64 = 60.0;

/// The files that the traces will fill and their sizes in bytes, if the fastest link is always in use.
fn expected(config: &TraceConfig, scenario: &Scenario) -> Vec<(String, f64)> {
    let (packets, links) = (expected_packets(scenario), &scenario.links);
    let mut files = Vec::new();
    if config.series {
        let of_point = scenario.flows.len() + links.len() + scenario.flows.len() * links.len();
        let points = scenario.duration.as_secs_f64() / scenario.interval.as_secs_f64();
        files.push(("flows, links and backlog.parquet".to_owned(), points * of_point as f64 * POINT_BYTES));
    }
    if config.events {
        files.push(("events.parquet".to_owned(), packets * EVENT_BYTES));
    }
    if config.qlog {
        files.push((format!("qlog of {} flows", scenario.flows.len()), packets * QLOG_BYTES));
    }
    let fastest = links.iter().map(|link| link.rate_bps).max().unwrap_or(1) as f64;
    for link in config.captures.iter().filter_map(|index| links.get(*index as usize)) {
        let through = packets * link.rate_bps as f64 / fastest;
        files.push((format!("{}.pcapng", link.name), through * CAPTURE_BYTES));
    }
    files
}

/// Text of what will be written, before a run: "this writes up to about 197 MB: ...".
pub(crate) fn announcement(config: &TraceConfig, scenario: &Scenario) -> String {
    let files = expected(config, scenario);
    let all = size(files.iter().map(|(_, bytes)| bytes).sum::<f64>() as u64);
    let each: Vec<_> = files.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes as u64))).collect();
    format!("the traces take up to about {all}: {}", each.join(", "))
}

/// Text of the sizes of the traces in a folder.
pub(crate) fn sizes(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let file = |entry: DirEntry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?.len()));
    let mut files: Vec<(String, u64)> = entries.filter_map(file).collect();
    files.sort();
    let all = size(files.iter().map(|(_, bytes)| bytes).sum());
    let each: Vec<_> = files.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
    format!("the traces have {all}: {}", each.join(", "))
}

/// Runs the scenario; when the run is over, the traces are in `dir`. A trace that cannot be written ends the
/// run.
pub(crate) fn run(
    scenario: &Scenario,
    config: &TraceConfig,
    dir: &Path,
    signals: &Signals,
    quiet: bool,
) -> Result<Run, Failure> {
    let mut traces = Traces::create(dir, config, run_info(scenario)).map_err(|error| failure(&error))?;
    let failed = traces.failure_flag();
    let ran = host::perform(&scenario.title, signals, quiet, |progress| {
        let mut monitor = UntilFailure { progress, failed: &failed };
        Ok(fairpace_sim::run_with(scenario, &mut monitor, &mut traces)?)
    });
    // the stopped run says only that it was stopped
    if let (None, Some(error)) = (signals.received(), traces.failure()) {
        return Err(failure(error));
    }
    let mut run = ran?;
    run.summary.commit = COMMIT.to_owned();
    traces.finish(&run).map_err(|error| failure(&error))?;
    Ok(run)
}

/// A monitor that also ends the run when a trace cannot be written.
struct UntilFailure<'a, 'p> {
    progress: &'a mut RunProgress<'p>,
    failed: &'a AtomicBool,
}

impl Monitor for UntilFailure<'_, '_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        self.progress.progress(done_s, total_s);
    }

    fn stop(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.progress.stop()
    }
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::Write { path, reason } => {
            // where the file was until now is not where the user looks for it
            let name = Path::new(path.file_name().unwrap_or_default()).display();
            let message = format!("the trace {name} cannot be written: {reason}");
            let help = "make room there, or name a directory elsewhere with --out";
            Failure::new(Exit::Output, message, format!("{help}; the run was ended, nothing was left"))
        }
        Error::TooManyFlows { .. } => {
            let help = "leave `qlog` out; events and series have all flows in one file";
            Failure::new(Exit::Usage, error.to_string(), help)
        }
        Error::Table { .. } => Failure::new(Exit::Internal, error.to_string(), "please report this"),
    }
}
