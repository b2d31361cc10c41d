//! Compares what the kernel host reports to BBRv3 of each packet's sending and loss with the true numbers.
//! The flow runs on this kernel, over the testbed's emulated path; `truth.h` records both sides.

mod compare;
mod record;

use std::time::Duration;

use fairpace_cli_core::failure::Failure;
use fairpace_results::Monitor;
use fairpace_scenario::{Cc, Flow, Link, Reorder, Scenario};
use fairpace_testbed::{Options, measure};

pub use compare::{Comparison, Differences};
pub use record::{Packets, Record, Recorder};

/// The hook that says which ACK it is, and helpers that came with it: Linux 6.10.
const FIRST_KERNEL: (u32, u32) = (6, 10);

/// Whether a kernel of this release, such as "6.18.0-rc1", shows what happened to each packet.
#[must_use]
pub fn is_shown_by(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= FIRST_KERNEL
}

/// A path for one flow.
#[derive(Debug, Clone)]
pub struct Case {
    /// For people.
    pub name: &'static str,
    rtt: Duration,
    link: Link,
    duration: Duration,
    reorder: Option<Reorder>,
}

impl Case {
    /// A path without loss and reordering.
    #[must_use]
    pub fn new(name: &'static str, rate_mbps: u64, rtt_ms: u64, buffer_bytes: u64, seconds: u64) -> Case {
        Case {
            name,
            rtt: Duration::from_millis(rtt_ms),
            link: Link::new("link", rate_mbps * 1_000_000, buffer_bytes),
            duration: Duration::from_secs(seconds),
            reorder: None,
        }
    }

    /// Random loss, billionths.
    #[must_use]
    pub fn with_loss(mut self, ppb: u64) -> Case {
        self.link.loss.ppb = ppb;
        self
    }

    /// `ppb` billionths of the packets are delayed by `delay_ms`, so that later packets overtake them.
    #[must_use]
    pub fn with_reordering(mut self, ppb: u64, delay_ms: u64) -> Case {
        self.reorder = Some(Reorder { ppb, delay: Duration::from_millis(delay_ms) });
        self
    }

    fn scenario(&self, congestion_control: &str) -> Scenario {
        Scenario {
            title: self.name.into(),
            why: String::new(),
            seed: 1,
            duration: self.duration,
            window: (Duration::ZERO, self.duration),
            interval: Duration::from_millis(100),
            links: vec![self.link.clone()],
            flows: vec![Flow {
                reorder: self.reorder,
                ..Flow::new("flow", Cc::Kernel(congestion_control.to_owned()), self.rtt)
            }],
            hash: String::new(),
        }
    }
}

/// Runs one flow of BBRv3 over the path, watches it, and compares. `suffix` makes its name in the kernel
/// unique.
///
/// # Errors
/// The kernel refuses the watched algorithm, the testbed cannot run, or the monitor stops it.
pub fn run(case: &Case, suffix: &str, monitor: &mut dyn Monitor) -> Result<Comparison, Failure> {
    let recorder = Recorder::start(suffix)?;
    let outcome = measure(&case.scenario(recorder.kernel_name()), monitor, &Options::default())?;
    let records = recorder.finish()?;
    let compared = Comparison::of(&records, outcome.run.summary.flows[0].goodput_mbps);
    Ok(Comparison { disturbed: outcome.disturbed.map(|why| why.to_string()), ..compared })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kernels_compare_as_numbers() {
        assert!(["6.10.0", "6.18.0-rc1", "7.0-rc1"].into_iter().all(is_shown_by));
        assert!(!["6.9.12-amd64", "6.1", "unknown"].into_iter().any(is_shown_by));
    }
}
