//! Undisturbed runs on the kernel, kept in a folder, so that a comparison can continue after an interruption.

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::new_file;
use fairpace_results::Summary;
use fairpace_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// The folder of kept runs, if there is one.
pub(super) struct Keep {
    dir: Option<PathBuf>,
    /// Release of the running kernel; runs on another release are not used.
    kernel: String,
}

/// Content of a file.
#[derive(Serialize, Deserialize)]
struct Kept {
    kernel: String,
    /// Disturbed attempts before this run.
    disturbed: u32,
    summary: Summary,
}

impl Keep {
    /// Creates the folder, if one is named.
    pub(super) fn open(dir: Option<&Path>, kernel: &str) -> Result<Self, Failure> {
        if let Some(dir) = dir {
            fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
        }
        Ok(Self { dir: dir.map(Path::to_owned), kernel: kernel.to_owned() })
    }

    fn path(&self, name: &str, seed: u64) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("{name}-{seed}.json")))
    }

    /// The run of this scenario and seed on this kernel, and the number of disturbed attempts before it. A
    /// file of another scenario, seed or kernel is ignored and later replaced.
    pub(super) fn find(&self, name: &str, scenario: &Scenario) -> Option<(Summary, u32)> {
        let text = fs::read(self.path(name, scenario.seed)?).ok()?;
        let Kept { kernel, disturbed, summary } = serde_json::from_slice(&text).ok()?;
        let is_it =
            kernel == self.kernel && summary.scenario.hash == scenario.hash && summary.seed == scenario.seed;
        is_it.then_some((summary, disturbed))
    }

    /// Keeps a run; its file appears in one step.
    pub(super) fn put(&self, name: &str, summary: &Summary, disturbed: u32) -> Result<(), Failure> {
        let Some(path) = self.path(name, summary.seed) else { return Ok(()) };
        let kept = Kept { kernel: self.kernel.clone(), disturbed, summary: summary.clone() };
        let text = serde_json::to_string(&kept).map_err(std::io::Error::other);
        text.and_then(|text| new_file::write(&path, &text)).map_err(|error| failed(&path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file("cannot keep runs in", path, error, "name another folder with --keep")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_results::Silent;
    use fairpace_scenario::{Cc, Flow, Link};
    use std::time::Duration;

    fn scenario(seed: u64, hash: &str) -> Scenario {
        Scenario {
            title: "test".into(),
            why: String::new(),
            seed,
            duration: Duration::from_secs(1),
            window: (Duration::ZERO, Duration::from_secs(1)),
            interval: Duration::from_millis(100),
            links: vec![Link::new("l", 1_000_000, 20_000)],
            flows: vec![Flow::new(
                "a",
                "reno".parse::<Cc>().expect("an algorithm"),
                Duration::from_millis(20),
            )],
            hash: hash.into(),
        }
    }

    #[test]
    fn a_run_is_found_again_for_the_same_scenario_seed_and_kernel_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let keep = |kernel: &str| Keep::open(Some(&dir.path().join("runs")), kernel).expect("a folder");
        let summary =
            fairpace_sim::run(&scenario(2, "h"), &mut Silent).expect("the scenario is valid").summary;
        assert!(keep("6.18").put("case", &summary, 1).is_ok());
        let found = keep("6.18").find("case", &scenario(2, "h")).expect("it was kept");
        assert_eq!((found.0.stable_json(), found.1), (summary.stable_json(), 1));
        assert!(keep("6.18").find("case", &scenario(2, "changed")).is_none());
        assert!(keep("6.18").find("case", &scenario(3, "h")).is_none());
        assert!(keep("6.19").find("case", &scenario(2, "h")).is_none());
        fs::write(dir.path().join("runs/case-2.json"), "{").expect("it can be written");
        assert!(keep("6.18").find("case", &scenario(2, "h")).is_none(), "half a file");
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let keep = Keep::open(None, "6.18").expect("nothing to do");
        let summary =
            fairpace_sim::run(&scenario(1, "h"), &mut Silent).expect("the scenario is valid").summary;
        assert!(keep.put("case", &summary, 0).is_ok() && keep.find("case", &scenario(1, "h")).is_none());
    }
}
