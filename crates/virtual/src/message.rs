//! What host and guest write to each other: a job to the guest, lines of JSON from it.

use fairpace_results::Run;
use fairpace_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// Name of the file in which the host puts a job.
pub(crate) const JOB: &str = "opt/fairpace/job";
/// Memory of the guest, bytes. The host gives it what it uses, about 300 MB. The kernel derives from it how
/// many buffers TCP may have.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;

/// A run that the guest is to perform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The scenario file.
    pub toml: String,
    /// Name and text of each file that the scenario names.
    pub files: Vec<(String, String)>,
    /// Algorithms of the user that the scenario names, whose sources are among the files.
    pub headers: Vec<Header>,
    /// The seed, of the scenario and of the guest's random numbers.
    pub seed: u64,
}

impl Job {
    /// The job to run a scenario with these headers.
    #[must_use]
    pub fn of(scenario: &Scenario, headers: Vec<Header>) -> Self {
        let bundle = scenario.bundle();
        Self { toml: bundle.toml, files: bundle.files, headers, seed: scenario.seed }
    }
}

/// An algorithm of the user, compiled by the host: the guest has no compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Path of the header from the folder of the scenario.
    pub file: String,
    /// SHA-256 of everything that it is compiled from.
    pub digest: String,
    /// Name and text of the header, and of each file that it includes.
    pub files: Vec<(String, String)>,
    /// The shared library of it, for the machine of the host.
    pub library: Vec<u8>,
    /// The eBPF object.
    pub object: Vec<u8>,
}

/// The reason why the guest has no result, for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The exit code of the program.
    pub code: i32,
    /// The reason.
    pub message: String,
    /// What the user can do.
    pub help: String,
}

/// A line from the guest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The guest pauses next, and waits for a job.
    Ready,
    /// Progress of the run: done and total, in seconds.
    Progress(f64, f64),
    /// The run. The guest is idle from now on.
    Done(Box<Run>),
    /// There is no result. The guest is idle from now on.
    Refused(Refusal),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_read_as_it_was_written() {
        let refusal = Refusal { code: 2, message: "a\nb".into(), help: String::new() };
        for line in [Line::Ready, Line::Progress(0.1, 2.0), Line::Refused(refusal)] {
            let text = serde_json::to_string(&line).expect("it has no other keys than strings");
            assert!(!text.contains('\n'), "{text}");
            let read: Line = serde_json::from_str(&text).expect("it was written here");
            assert_eq!(format!("{read:?}"), format!("{line:?}"));
        }
    }
}
