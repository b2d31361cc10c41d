//! Compares what the kernel host reports to BBRv3 of each packet's sending and loss with the true numbers.
//! The flow runs on this kernel, over the testbed's emulated path; `truth.h` records both sides.

mod compare;
mod record;

use fairpace_cli_core::failure::Failure;
use fairpace_results::Monitor;
use fairpace_scenario::{Scenario, Target};
use fairpace_testbed::{Options, measure};

pub use compare::{Comparison, Differences};
pub use record::{Packets, Record, Recorder};

/// The first release of Linux with the hook that identifies the ACK, and with helpers that it needs: Linux
/// 6.10.
const FIRST_KERNEL: (u32, u32) = (6, 10);

/// Whether a kernel of this release, such as "6.18.0-rc1", shows what happened to each packet.
#[must_use]
pub fn is_shown_by(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= FIRST_KERNEL
}

/// A path for one flow.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Name of the path, for a table.
    pub name: &'static str,
    /// Keys of the link, as a scenario file has them.
    pub link: &'static str,
    /// Keys of the flow, without its algorithm.
    pub flow: &'static str,
    /// Time for which the flow sends, s.
    pub seconds: u64,
}

impl Case {
    fn scenario(&self, kernel_name: &str) -> Result<Scenario, Failure> {
        let Self { name, link, flow, seconds } = self;
        let text = format!(
            "title = \"{name}\"\nduration = \"{seconds}s\"\nwindow.from = \"0s\"\n[[link]]\n{link}\n\
             [[flow]]\ncc = \"kernel:{kernel_name}\"\n{flow}\n"
        );
        Ok(fairpace_scenario::parse(name, &text, &[], Target::Testbed)?)
    }
}

/// Runs one flow of BBRv3 over the path, records it, and compares the numbers. `suffix` makes the algorithm's
/// name in the kernel unique.
///
/// # Errors
/// Returns an error if the kernel refuses the watched algorithm, if the testbed cannot run, or if the monitor
/// stops the run.
pub fn run(case: &Case, suffix: &str, monitor: &mut dyn Monitor) -> Result<Comparison, Failure> {
    let recorder = Recorder::start(suffix)?;
    let outcome = measure(&case.scenario(recorder.kernel_name())?, monitor, &Options::default())?;
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
