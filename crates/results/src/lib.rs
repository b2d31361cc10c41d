//! The record of a run, which simulator and testbed share, and the metrics that are computed from it.
//!
//! - [`Summary`] is the stable, versioned record; [`Summary::stable_json`] is the content of `summary.json`.
//! - [`Series`] has the time series; [`Run::write_series_csv`] writes the content of its CSV files.
//! - [`Repeat`] has means and confidence intervals over several seeds.
//! - [`Record`] is a measurement of another program, which is shown beside runs.
//! - [`jain`], [`shares`], [`convergence_s`] and [`max_min`] are the definitions of fairness.
//! - [`observer`] has the types for live observation of a simulation.
//!
//! The crate does not run anything, draws no charts and opens no files.
//!
//! ```
//! use fairpace_results::{FlowSummary, Summary};
//!
//! let flow = |goodput_mbps| FlowSummary { goodput_mbps, ..FlowSummary::default() };
//! let mut summary = Summary { flows: vec![flow(75.0), flow(25.0)], ..Summary::default() };
//! summary.derive_fairness();
//! assert_eq!(summary.flows[0].share, Some(0.75));
//! // Jain's index: (75 + 25)^2 / (2 * (75^2 + 25^2))
//! assert!((summary.jain.unwrap() - 0.8).abs() < 1e-9);
//! ```

#![forbid(unsafe_code)]
#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

mod columns;
mod csv_cell;
mod fairness;
mod json;
mod metrics;
pub mod observer;
mod record;
mod repeat;
mod series;
mod summary;
mod table;

pub use columns::{Column, Read};
pub use csv_cell::csv_text;
pub use fairness::{FAIR_JAIN, convergence_s, max_min, max_min_distance};
pub use json::{DIGITS, round, to_json};
pub use metrics::{jain, shares};
pub use record::{RECORD_SCHEMA, Record, RecordFlow, RecordSeries};
pub use repeat::{Estimate, Metric, REPEAT_SCHEMA, Repeat};
pub use series::{FlowSeries, LinkSeries, Series};
#[cfg(test)]
use summary::sample_summary;
pub use summary::{
    ClampSummary, Completions, Cost, DropSummary, FlowSummary, LinkSummary, LossBursts, MediaSummary,
    ScenarioId, Summary,
};
pub use table::SeriesTable;

use serde::{Deserialize, Serialize};

/// Version of the [`Summary`] format. The number grows when a field is removed or changes its meaning.
pub const SCHEMA: &str = "fairpace.summary/3";

/// A run: its summary and its time series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The summary: the stable record.
    pub summary: Summary,
    /// The time series, for the report.
    pub series: Series,
    /// Remarks on the run: lateness, repetitions, deviations from the scenario.
    pub notes: Vec<String>,
}

/// Progress and cancellation of a long run.
pub trait Monitor {
    /// Reports progress, several times per second of wall-clock time.
    fn progress(&mut self, done_s: f64, total_s: f64);
    /// Returns true as soon as the run should end early, for example after Ctrl-C.
    fn stop(&self) -> bool;
}

/// A monitor that does nothing and never stops the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {}
    fn stop(&self) -> bool {
        false
    }
}
