//! What duels measure, as `fairpace-dev run --json` prints it.

use serde::Serialize;

/// Version of the record that `--json` prints.
pub const SCHEMA: &str = "fairpace.duels/1";

/// Everything that was measured, and what reproduces it.
#[derive(Debug, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Commit of the program.
    pub commit: &'static str,
    /// The command, or the call in Python, that measures the same again.
    pub command: String,
    /// Seed of the first repetition; each later one has the next number.
    pub seed: u64,
    /// Repetitions of each duel in each order.
    pub seeds: u32,
    /// SHA-256 over the hashes of all scenarios.
    pub scenarios_hash: String,
    /// Rate of the link, Mbit/s.
    pub rate_mbps: f64,
    /// Base RTT of both flows, ms.
    pub rtt_ms: f64,
    /// The measurement window: from, to; s.
    pub window_s: [f64; 2],
    /// Buffers of the link.
    pub buffers: Vec<Buffer>,
    /// All algorithms, in order.
    pub algorithms: Vec<AlgorithmSettings>,
    /// All duels: buffers, then rows, then columns.
    pub duels: Vec<Duel>,
}

/// A buffer of the link.
#[derive(Debug, Serialize)]
pub struct Buffer {
    /// As in the arguments.
    pub name: String,
    /// Bytes of packets that it holds.
    pub bytes: u64,
}

/// An algorithm and its parameters that are not the defaults.
#[derive(Debug, Serialize)]
pub struct AlgorithmSettings {
    /// Its name.
    pub name: String,
    /// Parameters and their values.
    pub set: Vec<(String, String)>,
}

/// Two algorithms at one buffer: means over all runs.
#[derive(Debug, Default, Serialize)]
pub struct Duel {
    /// Name of the buffer.
    pub buffer: String,
    /// One algorithm.
    pub row: String,
    /// The other one, or the same.
    pub column: String,
    /// Of `row`, in the sum of both goodputs. If both are the same algorithm: of the flow that started first.
    pub share: Option<f64>,
    /// Lowest and highest share of all runs.
    pub share_range: Option<[f64; 2]>,
    /// Packets that the link dropped, over all: 0 to 1.
    pub loss_rate: Option<f64>,
    /// Mean queueing delay, ms.
    pub queue_delay_mean_ms: Option<f64>,
    /// Goodput and headers over the rate of the link: 0 to 1.
    pub utilization: f64,
    /// Number of simulations.
    pub runs: usize,
}
