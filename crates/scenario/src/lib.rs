//! A scenario: one TOML file that says what is simulated or put on the testbed.
//!
//! This crate parses and checks the file and hands out a [`Scenario`] in which every quantity is typed,
//! positive and plausible. It is the same for the simulator and for the testbed. It does not know which
//! algorithms exist: the caller passes their names and parameters to the check, so that an unknown name
//! can be reported at its place in the file with the nearest known one.

pub mod keys;
pub mod quantity;

mod built_in;
mod cc;
mod check;
mod conditions;
mod files;
mod hosts;
mod links;
mod print;
mod problem;
mod read;
mod routes;
mod sets;

use std::path::Path;
use std::time::Duration;

pub use cc::{Cc, CcError, Ours};
pub use conditions::{Burst, Loss, Policer, Reorder, Steps, Traffic, View, WHOLE_PPB, Writes};
pub use files::OPPORTUNITY_BYTES;
pub use hosts::{Arrivals, Ecn, Receiving, Sending, Sizes, Window};
pub use links::{Codel, Delays, FqCodel, Limit, Line, Pie, Queue, Red, RedRules, Trace};
pub use print::{Bundle, hash_of_all};
pub use problem::{Invalid, Problem};
pub use read::parse;
pub use routes::Route;
pub use sets::{NotASet, Set};

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
    /// [`Scenario::canonical_hash`]: SHA-256 of what decides the outcome, seed left out, in hex.
    pub hash: String,
}

/// A link with a queue in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// The nodes that it leads from and to, if the scenario has nodes.
    pub ends: Option<(String, String)>,
    /// Bits per second on the wire; with a trace, its mean.
    pub rate_bps: u64,
    /// Opportunities in place of the rate.
    pub trace: Option<Trace>,
    /// The rate is that of a token bucket which holds so many bytes, behind the queue; `None`: of a wire.
    pub burst_bytes: Option<u64>,
    /// What may wait.
    pub buffer: Limit,
    /// How it waits.
    pub queue: Queue,
    /// What lies behind.
    pub line: Line,
    /// Later rates, bits per second; 0: nothing passes.
    pub rate_at: Steps<u64>,
    /// What stands before the queue.
    pub policer: Option<Policer>,
    /// Packets lost behind the queue.
    pub loss: Loss,
}

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// The congestion control, with the parameters that `set` gives it.
    pub cc: Cc,
    /// Round-trip time of the path without queueing and transmission.
    pub rtt: Duration,
    /// The links that its data takes, by name and in order; `None`: from node to node if it has `ends`, else all links that no
    /// flow's `reverse` names, in the order of the file. [`Scenario::routes`] resolves it.
    pub route: Option<Vec<String>>,
    /// The links that its ACKs take, by name and in order; none: they meet no queue.
    pub reverse: Vec<String>,
    /// The nodes that its data goes from and to, over the links with the least delay in all.
    pub ends: Option<(String, String)>,
    /// Propagation from the sender to the first link: part of `rtt`, as are the delays of the links' lines. Half of what is left lies behind
    /// the last link, half on the way back.
    pub access_delay: Duration,
    /// What the sending host does beside the algorithm.
    pub sending: Sending,
    /// How the receiving host acknowledges.
    pub receiving: Receiving,
    /// It is a workload of many flows.
    pub arrivals: Option<Arrivals>,
    /// When it starts.
    pub start: Duration,
    /// When it stops, if before the end of the run.
    pub stop: Option<Duration>,
    /// Later round-trip times, as by changes of the route.
    pub rtt_at: Steps<Duration>,
    /// Share of its ACKs that are lost at random, billionths.
    pub ack_loss_ppb: u64,
    /// Each ACK takes up to so much longer, at random and in order.
    pub ack_jitter: Duration,
    /// ACKs come together, so far apart; 0: they do not.
    pub ack_aggregation: Duration,
    /// Data packets that others overtake.
    pub reorder: Option<Reorder>,
    /// The sending host gets round to an ACK up to so much later, at random and in order.
    pub host_jitter: Duration,
    /// What its application writes, and when.
    pub traffic: Traffic,
    /// What the simulator shows its algorithm.
    pub view: View,
}

impl Link {
    /// A link with a FIFO of `buffer_bytes` and nothing else to it.
    #[must_use]
    pub fn new(name: impl Into<String>, rate_bps: u64, buffer_bytes: u64) -> Self {
        Self {
            name: name.into(),
            ends: None,
            rate_bps,
            trace: None,
            burst_bytes: None,
            buffer: Limit::Bytes(buffer_bytes),
            queue: Queue::Fifo,
            line: Line::default(),
            rate_at: Vec::new(),
            policer: None,
            loss: Loss::default(),
        }
    }
}

impl Link {
    /// The highest rate that it ever has, bits per second.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.rate_at.iter().map(|(_, rate)| *rate).fold(self.rate_bps, u64::max)
    }
}

impl Flow {
    /// A flow that has data from the start to the end of the run, over a path that does nothing but delay.
    #[must_use]
    pub fn new(name: impl Into<String>, cc: impl Into<Cc>, rtt: Duration) -> Self {
        Self {
            name: name.into(),
            cc: cc.into(),
            rtt,
            route: None,
            reverse: Vec::new(),
            ends: None,
            access_delay: Duration::ZERO,
            sending: Sending::default(),
            receiving: Receiving::default(),
            arrivals: None,
            start: Duration::ZERO,
            stop: None,
            rtt_at: Vec::new(),
            ack_loss_ppb: 0,
            ack_jitter: Duration::ZERO,
            ack_aggregation: Duration::ZERO,
            reorder: None,
            host_jitter: Duration::ZERO,
            traffic: Traffic::default(),
            view: View::default(),
        }
    }
}

/// What a scenario is checked for: where it will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The simulator. It does not have the kernel's own algorithms.
    Simulator,
    /// The testbed, on the running kernel.
    Testbed,
}

/// More than any sensible file; a larger one is not a scenario.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a scenario file, after making the changes in `sets`.
///
/// # Errors
/// When the file cannot be read, and everything that is wrong with it, each with its place.
pub fn load(path: &Path, sets: &[Set], target: Target) -> Result<Scenario, Invalid> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(|(message, help)| {
        let mut problem = Problem::new("file", String::new(), message, help.to_owned());
        problem.file.clone_from(&name);
        Invalid { problems: vec![problem] }
    })?;
    parse(&name, &text, sets, target)
}

fn read_text(path: &Path) -> Result<String, (String, &'static str)> {
    let why = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; the folder scenarios/ has examples",
            std::io::ErrorKind::IsADirectory => "name one file in it",
            _ => "check that it is a readable file",
        };
        (format!("cannot read the scenario: {error}"), help)
    };
    let file = std::fs::File::open(path).map_err(why)?;
    let mut bytes = Vec::new();
    // not the size of the metadata: a pipe has none
    std::io::Read::read_to_end(&mut std::io::Read::take(file, MOST_BYTES + 1), &mut bytes).map_err(why)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err((
            format!("the scenario is larger than {MOST_BYTES} bytes"),
            "a scenario is a short TOML file; is this the right one?",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        (format!("the scenario is not UTF-8 text, from byte {at} on"), "save it as UTF-8")
    })
}

impl Scenario {
    /// Checks a scenario that a program put together, as a file is checked, and fills in its hash.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn sealed(mut self, target: Target) -> Result<Self, Invalid> {
        let faults = check::values(&self, target).into_iter().chain(check::relations(&self));
        let problems: Vec<_> = faults
            .map(|fault| {
                let check::Fault { section, index, key, complaint, .. } = fault;
                let part = section.header().trim_matches(['[', ']']);
                let key = match section {
                    keys::Section::Top => key.to_owned(),
                    keys::Section::Window => format!("{part}.{key}"),
                    _ => format!("{part}.{}.{key}", index + 1),
                };
                Problem::new(complaint.kind, key, complaint.message, complaint.help)
            })
            .collect();
        if !problems.is_empty() {
            return Err(Invalid { problems });
        }
        self.hash = self.canonical_hash();
        Ok(self)
    }
}
