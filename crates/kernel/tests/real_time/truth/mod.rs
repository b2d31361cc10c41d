//! Compares what the kernel host reports to BBRv3 of each packet's sending and loss with the true numbers.
//! The flow runs on this kernel, over the testbed's emulated path; `truth.h` records both sides.

#![allow(dead_code, unused_imports)] // crates/dev and the test each use their part

mod compare;
mod record;

use std::time::Duration;

use fairpace_results::Silent;
use fairpace_scenario::{Cc, Flow, Link, Reorder, Scenario};
use fairpace_testbed::{Options, measure};

pub(crate) use compare::Comparison;
pub(crate) use record::{Record, Recorder};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A path for one flow.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) rtt: Duration,
    pub(crate) link: Link,
    pub(crate) duration: Duration,
    pub(crate) reorder: Option<Reorder>,
}

impl Case {
    pub(crate) fn new(
        name: &'static str,
        rate_mbps: u64,
        rtt_ms: u64,
        buffer_bytes: u64,
        seconds: u64,
    ) -> Case {
        Case {
            name,
            rtt: Duration::from_millis(rtt_ms),
            link: Link::new("link", rate_mbps * 1_000_000, buffer_bytes),
            duration: Duration::from_secs(seconds),
            reorder: None,
        }
    }

    /// Random loss, billionths.
    pub(crate) fn with_loss(mut self, ppb: u64) -> Case {
        self.link.loss.ppb = ppb;
        self
    }

    /// `ppb` billionths of the packets are delayed by `delay_ms`, so that later packets overtake them.
    pub(crate) fn with_reordering(mut self, ppb: u64, delay_ms: u64) -> Case {
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
/// The kernel refuses the watched algorithm, or the testbed cannot run.
pub(crate) fn run(case: &Case, suffix: &str) -> Result<Comparison> {
    let recorder = Recorder::start(suffix)?;
    // lateness changes the path, not what is compared
    let outcome = measure(&case.scenario(recorder.kernel_name()), &mut Silent, &Options::default())?;
    let records = recorder.finish()?;
    Ok(Comparison::of(&records, outcome.run.summary.flows[0].goodput_mbps))
}
