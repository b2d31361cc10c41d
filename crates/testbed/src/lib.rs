//! Internal: only Fairpace's own crates use it. The testbed: a scenario with real TCP flows of the running
//! kernel through an emulated bottleneck.
//!
//! [`run`] puts the senders into one network namespace and the receivers into another, connects each to a TUN
//! device, and carries packets between the devices through the elements of `fairpace-netem`. The simulator
//! drives the same elements by a virtual clock, the testbed by the real one. It needs no netem, no qdisc and
//! no name in the file system. After `kill -9` the kernel removes namespaces, devices and sockets
//! (`namespace.rs` says how), and from 6.4 on also the algorithm. Before 6.4, `fairpace unload` removes it.
//!
//! Time on a real machine is not exact. The lateness of every packet is recorded. A run with more disturbance
//! than its scenario tolerates is repeated or refused, never reported as valid.
//!
//! Run a scenario and read the result:
//!
//! ```no_run
//! use fairpace_results::Silent;
//! use fairpace_scenario::{Target, parse};
//! use fairpace_testbed::{ATTEMPTS, Options, run_with_retries};
//!
//! let text = r#"
//! title = "two RTTs on 10 Mbit/s"
//! duration = "10s"
//! [window]
//! from = "5s"
//! [[link]]
//! rate = "10mbit"
//! buffer = "100kB"
//! [[flow]]
//! cc = "bbr3"
//! rtt = "10ms"
//! [[flow]]
//! cc = "kernel:cubic"
//! rtt = "50ms"
//! "#;
//! let scenario = parse("two-rtts.toml", text, &[], Target::Testbed)?;
//! let run = run_with_retries(&scenario, &mut Silent, &Options::default(), ATTEMPTS)?;
//! for flow in &run.summary.flows {
//!     println!("{} {:.2} Mbit/s", flow.name, flow.goodput_mbps);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate has no congestion control: `fairpace-kernel` loads the algorithms. Nor does it define metrics:
//! `fairpace-netem` and `fairpace-results` do.

mod application;
mod bursts;
mod clock;
mod control;
mod coordinator;
mod cwnd;
mod emulator;
mod error;
mod flows;
mod lateness;
mod namespace;
mod observed;
mod packet;
mod poller;
mod pool;
mod preflight;
mod requests;
mod run;
mod sequence;
mod sockopt;
mod telemetry;

pub use error::Error;
pub use lateness::{Disturbance, Lateness, Tolerance};
pub use run::{Outcome, measure, observe};

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;
use std::path::PathBuf;

/// The fastest link that the emulator carries without gaps on one core of 2.5 GHz, bits per second: 290,000
/// packets per second each way.
pub const MAX_RATE_BPS: u64 = 2_500_000_000;

/// Most attempts of [`run_with_retries`]: a machine that disturbs three runs in a row will disturb the next
/// one.
pub const ATTEMPTS: u32 = 3;

/// Settings of a run beside the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The commit that built the program, for the summary.
    pub commit: String,
    /// The TUN driver's device node.
    pub tun: PathBuf,
    /// True if the emulator wakes shortly before a packet departs and polls until then, on links below 400
    /// Mbit/s. If true, half of the packets leave within 1 us of their time, and the emulator takes 85 % of a
    /// core. If false, half of the packets are some 20 us late and one in a thousand 0.6 ms, and the whole
    /// run takes about 60 % of a core: for several runs at a time.
    pub wake_early: bool,
    /// True if the machine's time is virtual, and it runs nothing else: no other process can take the memory
    /// of TCP. What socket buffers hold back is then a result, as on a path, and not a disturbance.
    pub virtual_time: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            commit: "unknown".to_owned(),
            tun: PathBuf::from("/dev/net/tun"),
            wake_early: true,
            virtual_time: false,
        }
    }
}

/// Checks that this machine and user can run scenarios; creates nothing.
///
/// # Errors
/// [`Error::NoTun`], [`Error::NotPermitted`], [`Error::Setup`].
pub fn check_machine(options: &Options) -> Result<(), Error> {
    preflight::machine(&options.tun)
}

/// Runs a scenario once. A run takes as long as the scenario lasts. It leaves nothing on the machine, not
/// even after a failure.
///
/// # Errors
/// Anything in [`Error`]; in particular [`Error::Interrupted`] when the monitor stops the run, and
/// [`Error::Disturbed`] when the machine was too busy for a valid result.
pub fn run(scenario: &Scenario, monitor: &mut dyn Monitor, options: &Options) -> Result<Run, Error> {
    run_with_retries(scenario, monitor, options, 1)
}

/// Runs a scenario until a run was not disturbed, `attempts` times at most (see [`ATTEMPTS`]). The run's
/// notes mention repeats.
///
/// # Errors
/// The errors of [`run`]; [`Error::Disturbed`] is that of the last attempt.
pub fn run_with_retries(
    scenario: &Scenario,
    monitor: &mut dyn Monitor,
    options: &Options,
    attempts: u32,
) -> Result<Run, Error> {
    retry(attempts, || measure(scenario, monitor, options))
}

fn retry(attempts: u32, mut measure: impl FnMut() -> Result<Outcome, Error>) -> Result<Run, Error> {
    let mut repeats = Vec::new();
    loop {
        let Outcome { mut run, lateness, disturbed } = measure()?;
        let attempt = repeats.len() as u32 + 1;
        let Some(why) = disturbed else {
            run.notes.extend(repeats);
            return Ok(run);
        };
        tracing::warn!(attempt, attempts, %why, %lateness, "disturbed run discarded");
        if attempt >= attempts {
            let lateness = Box::new(lateness);
            return Err(Error::Disturbed { why, lateness, attempts: attempt });
        }
        repeats.push(format!("attempt {attempt} was disturbed and discarded: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_results::{Cost, SCHEMA, ScenarioId, Series, Summary};
    use std::time::Duration;

    fn outcome(disturbed: Option<&str>) -> Outcome {
        let summary = Summary {
            schema: SCHEMA.into(),
            on: "kernel".into(),
            commit: "unknown".into(),
            seed: 1,
            scenario: ScenarioId { title: "t".into(), hash: "h".into() },
            window_s: [0.0, 1.0],
            flows: Vec::new(),
            links: Vec::new(),
            jain: None,
            convergence_s: None,
            max_min_distance: None,
            cost: Cost { wall_s: 1.0, cpu_s: 1.0, data_packets: 0 },
        };
        let zero = Duration::ZERO;
        let lateness = Lateness {
            packets: 1,
            p50: zero,
            p99: zero,
            p999: zero,
            max: zero,
            late_share: 0.0,
            lost_before_emulator: 0,
            command_max: Duration::from_millis(2),
            buffer_limited: 0.0,
        };
        let run = Run { summary, series: Series::default(), notes: vec!["measured".into()] };
        Outcome { run, lateness, disturbed: disturbed.map(|why| Disturbance::Late(why.to_owned())) }
    }

    #[test]
    fn a_disturbed_run_is_repeated_and_a_note_says_so() {
        let mut runs = vec![outcome(None), outcome(Some("a stall"))];
        let run = retry(3, || Ok(runs.pop().expect("two attempts"))).unwrap();
        assert_eq!(run.notes.len(), 2);
        assert!(run.notes[1].contains("attempt 1") && run.notes[1].contains("a stall"), "{:?}", run.notes);
    }

    #[test]
    fn a_machine_that_stays_disturbed_gives_no_result() {
        let mut tried = 0;
        let result = retry(3, || {
            tried += 1;
            Ok(outcome(Some("a stall")))
        });
        assert!(matches!(result, Err(Error::Disturbed { attempts: 3, .. })), "{result:?}");
        assert_eq!(tried, 3);
    }

    #[test]
    fn other_failures_are_not_repeated() {
        let mut tried = 0;
        let result = retry(3, || {
            tried += 1;
            Err(Error::Interrupted)
        });
        assert!(matches!(result, Err(Error::Interrupted)) && tried == 1);
    }
}
