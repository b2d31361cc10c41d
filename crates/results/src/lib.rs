//! What a run leaves behind, the same for the simulator and for the testbed.
//!
//! [`Summary`] is the stable, versioned record that `--json` prints and `summary.json` holds. [`Series`] is
//! what the report draws, [`Repeat`] what several seeds say together. Metrics that need a definition (share, Jain's index) are computed here, once.
//! Files: [`Summary::stable_json`] is `summary.json`, [`Run::series_csv`] is `series.csv`.
//! [`observer`] has the types for live observation of a simulation.
//! This crate draws nothing, measures nothing and touches no disk.

#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

mod fairness;
mod json;
mod metrics;
pub mod observer;
mod repeat;
mod series;
mod summary;
mod table;

pub use fairness::{FAIR_JAIN, convergence_s, max_min, max_min_distance};
pub use json::{DIGITS, round, to_json};
pub use metrics::{jain, shares};
pub use repeat::{Estimate, Metric, REPEAT_SCHEMA, Repeat};
pub use series::{FlowSeries, LinkSeries, Series};
#[cfg(test)]
use summary::sample_summary;
pub use summary::{Completions, Cost, FlowSummary, LinkSummary, ScenarioId, Summary};

use serde::{Deserialize, Serialize};

/// Version of the [`Summary`] format; grows when a field changes its meaning or goes away.
pub const SCHEMA: &str = "fairpace.summary/1";

/// One run: the summary and the time series behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The stable record.
    pub summary: Summary,
    /// The time series, for the report.
    pub series: Series,
    /// What a reader must know to judge the run: lateness, repeats, anything that was not as asked.
    pub notes: Vec<String>,
}

/// How a long run tells its caller how far it is and learns that it must stop.
pub trait Monitor {
    /// Called a few times per second of wall-clock time at least.
    fn progress(&mut self, done_s: f64, total_s: f64);
    /// True once the run should end early and clean up (Ctrl-C).
    fn stop(&self) -> bool;
}

/// A monitor that shows nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {}
    fn stop(&self) -> bool {
        false
    }
}
