//! What `fairpace-dev duels` measures, as `--json` prints it.

use serde::Serialize;

/// Version of the record that `--json` prints.
pub(super) const SCHEMA: &str = "fairpace.duels/1";

/// Everything that was measured, and what reproduces it.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) schema: &'static str,
    pub(super) commit: &'static str,
    /// The command that measures the same again.
    pub(super) command: String,
    /// Seed of the first repetition; each later one has the next number.
    pub(super) seed: u64,
    /// Repetitions of each duel in each order.
    pub(super) seeds: u32,
    /// SHA-256 over the hashes of all scenarios.
    pub(super) scenarios_hash: String,
    pub(super) rate_mbps: f64,
    pub(super) rtt_ms: f64,
    pub(super) window_s: [f64; 2],
    pub(super) buffers: Vec<Buffer>,
    pub(super) algorithms: Vec<AlgorithmSettings>,
    pub(super) duels: Vec<Duel>,
}

#[derive(Debug, Serialize)]
pub(super) struct Buffer {
    /// As in the arguments.
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// An algorithm and its parameters that are not the defaults.
#[derive(Debug, Serialize)]
pub(super) struct AlgorithmSettings {
    pub(super) name: String,
    pub(super) set: Vec<(String, String)>,
}

/// Two algorithms at one buffer: means over all runs.
#[derive(Debug, Serialize)]
pub(super) struct Duel {
    pub(super) buffer: String,
    pub(super) row: String,
    pub(super) column: String,
    /// Of `row`, in the sum of both goodputs. If both are the same algorithm: of the flow that started first.
    pub(super) share: Option<f64>,
    /// Lowest and highest share of all runs.
    pub(super) share_range: Option<[f64; 2]>,
    pub(super) loss_rate: Option<f64>,
    pub(super) queue_delay_mean_ms: Option<f64>,
    pub(super) utilization: f64,
    pub(super) runs: usize,
}
