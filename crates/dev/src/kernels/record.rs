//! The report of a guest: one JSON object per line on its second serial port.

use fairpace_robustness::hostile::HeaderRecord;
use fairpace_robustness::soak::reordering::Reordered;
use serde::{Deserialize, Serialize};

/// A line of the report: a step of the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    /// The kernel of the guest; the first line.
    Kernel {
        /// Release of the kernel, `uname -r`.
        release: String,
        /// The active level of lockdown.
        lockdown: String,
    },
    /// The check of an algorithm: loaded, used on both paths, unloaded.
    Algorithm {
        name: String,
        /// Instructions that the verifier processed for all programs of the algorithm; `None`: it could not
        /// be loaded.
        instructions: Option<u32>,
        /// Checked bytes that arrived over loopback and over veth.
        bytes: u64,
        failures: Vec<String>,
    },
    /// The check of an administrator's command.
    Command {
        line: String,
        /// Exit code of the command; `None`: a signal ended it.
        code: Option<i32>,
        output: String,
        /// Conditions that did not hold after the command.
        failures: Vec<String>,
    },
    /// The check of an algorithm over a path that reorders.
    Reordered(Reordered),
    /// The check of a hostile header.
    Hostile(HeaderRecord),
    /// The last line: warnings and errors in the kernel's log.
    End { alarms: Vec<String> },
}

impl Step {
    pub(crate) fn failures(&self) -> &[String] {
        match self {
            Step::Kernel { .. } => &[],
            Step::Algorithm { failures, .. } | Step::Command { failures, .. } => failures,
            Step::Reordered(result) => &result.failures,
            Step::Hostile(header) => &header.failures,
            Step::End { alarms } => alarms,
        }
    }
}
