//! `fairpace sim --trace` and `--pcap`: a simulation with an observer that writes files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT, run_info};
use fairpace_cli_core::progress::RunProgress;
use fairpace_cli_core::signals::Signals;
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
