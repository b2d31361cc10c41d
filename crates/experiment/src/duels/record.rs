//! The record of duels, as `fairpace-dev run --json` prints it.

use serde::Serialize;

/// Version of the record that `--json` prints.
pub const SCHEMA: &str = "fairpace.duels/1";

/// The results of all duels, and what is needed to reproduce them.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Name and version of the format, [`SCHEMA`].
    pub schema: &'static str,
    /// Commit from which the program was built.
    pub commit: &'static str,
    /// The command, or the Python call, that repeats the measurement.
    pub command: String,
    /// Seed of the first repetition; each later repetition has the next number.
    pub seed: u64,
    /// Number of repetitions of each duel in each order.
    pub seeds: u32,
    /// SHA-256 over the hashes of all scenarios.
    pub scenarios_hash: String,
    /// Rate of the link, Mbit/s.
    pub rate_mbps: f64,
    /// Base RTT of both flows, ms.
    pub rtt_ms: f64,
    /// Begin and end of the measurement window, s.
    pub window_s: [f64; 2],
    /// The buffers of the link at which all duels are run.
    pub buffers: Vec<Buffer>,
    /// All algorithms, in the order of rows and columns.
    pub algorithms: Vec<AlgorithmSettings>,
    /// All duels: sorted by buffer, then by row, then by column.
    pub duels: Vec<Duel>,
}

/// A buffer of the link.
#[derive(Debug, Serialize)]
pub struct Buffer {
    /// Size of the buffer as the arguments give it, such as "1bdp".
    pub name: String,
    /// Size of the buffer in bytes of packets.
    pub bytes: u64,
}

/// An algorithm and those of its parameters that differ from their defaults.
#[derive(Debug, Serialize)]
pub struct AlgorithmSettings {
    /// Name of the algorithm.
    pub name: String,
    /// Changed parameters and their values.
    pub set: Vec<(String, String)>,
}

/// A duel of two algorithms at one buffer: means over all runs.
#[derive(Debug, Default, Serialize)]
pub struct Duel {
    /// Size of the buffer, as in [`Buffer::name`].
    pub buffer: String,
    /// The algorithm of the row.
    pub row: String,
    /// The algorithm of the column; it may equal that of the row.
    pub column: String,
    /// Goodput of `row` over the sum of the goodputs of both flows, 0 to 1. If both run the same algorithm:
    /// the goodput of the flow that started first over that sum.
    pub share: Option<f64>,
    /// Lowest and highest share in a run.
    pub share_range: Option<[f64; 2]>,
    /// Packets that the link dropped, over all packets that arrived at it: 0 to 1.
    pub loss_rate: Option<f64>,
    /// Mean queueing delay, ms.
    pub queue_delay_mean_ms: Option<f64>,
    /// Goodput with headers over the rate of the link: 0 to 1.
    pub utilization: f64,
    /// Number of simulations of this duel.
    pub runs: usize,
}
