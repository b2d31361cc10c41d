//! What a guest reports: one JSON object per line on its second serial port.

use fairpace_robustness::hostile::HeaderRecord;
use fairpace_robustness::soak::reordering::Reordered;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    /// The first line.
    Kernel {
        /// `uname -r`.
        release: String,
        /// The active level of lockdown.
        lockdown: String,
    },
    /// One algorithm: loaded, used on both paths, unloaded.
    Algorithm {
        name: String,
        /// Instructions that the verifier went through for all its programs; `None`: it did not load.
        instructions: Option<u32>,
        /// Checked bytes that arrived over loopback and over veth.
        bytes: u64,
        failures: Vec<String>,
    },
    /// A command of an administrator.
    Command {
        line: String,
        /// Exit code; `None`: a signal ended it.
        code: Option<i32>,
        output: String,
        /// What was not as it must be after it.
        failures: Vec<String>,
    },
    /// One algorithm over a path that reorders.
    Reordered(Reordered),
    /// One hostile header.
    Hostile(HeaderRecord),
    /// The last line: warnings and worse in the kernel's log.
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
