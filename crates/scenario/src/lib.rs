//! A scenario: one TOML file that says what is simulated or put on the testbed.
//!
//! This crate parses and checks the file and hands out a [`Scenario`] in which every quantity is typed,
//! positive and plausible. It is the same for the simulator and for the testbed. It does not know which
//! algorithms exist: the caller passes their names and parameters to the check, so that an unknown name
//! can be reported at its place in the file with the nearest known one.

use std::time::Duration;

/// Everything a run needs, and nothing that depends on where it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What is compared, in a few words.
    pub title: String,
    /// Why somebody should run it; may be empty.
    pub why: String,
    /// Source of all randomness.
    pub seed: u64,
    /// From the first flow's earliest possible start to the end of the run.
    pub duration: Duration,
    /// Metrics are taken in this window: from, to.
    pub window: (Duration, Duration),
    /// Distance of two points in the time series.
    pub interval: Duration,
    /// The bottlenecks, in path order.
    pub links: Vec<Link>,
    /// The flows, in the order of the file, groups expanded.
    pub flows: Vec<Flow>,
    /// SHA-256 of the canonical form of the scenario (not of the file's white space), in hex.
    pub hash: String,
}

/// A link with a FIFO queue in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// Bits per second on the wire.
    pub rate_bps: u64,
    /// Bytes that may wait, headers included.
    pub buffer_bytes: u64,
}

/// One bulk flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// The algorithm's name. On the testbed a name that starts with `kernel:` is one of the kernel's own.
    pub cc: String,
    /// Parameters of the algorithm that differ from their defaults: name, value as written ("3ms", "1.25").
    pub set: Vec<(String, String)>,
    /// Round-trip time of the path without queueing and transmission.
    pub rtt: Duration,
    /// When it starts.
    pub start: Duration,
    /// When it stops, if before the end of the run.
    pub stop: Option<Duration>,
}
