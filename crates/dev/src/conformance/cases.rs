//! The scenario files, as the simulator and the kernel run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::signals::Signals;
use fairpace_results::Summary;
use fairpace_scenario::{Cc, CcError, Scenario, Target};

use super::keep::Keep;

/// Random delay of a simulated host's sending, which real hosts have. Without it CUBIC and Reno would have
/// the same result with every seed. Values from 1 us to 1 ms give the same results (FIDELITY.md).
const HOST_JITTER: Duration = Duration::from_micros(20);

/// One scenario.
pub(super) struct Case {
    pub(super) name: String,
    /// As in the file.
    pub(super) kernel: Scenario,
    sim: Scenario,
}

/// The scenarios of these files and of the files in these folders, in the order of their names.
pub(super) fn load(files: &[PathBuf]) -> Result<Vec<Case>, Failure> {
    let mut found = Vec::new();
    for path in files {
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
            let mut inside: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
            inside.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
            inside.sort();
            found.extend(inside);
        } else {
            found.push(path.clone());
        }
    }
    if found.is_empty() {
        let named: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(no_cases(&named.join(", ")));
    }
    found.iter().map(|path| Case::load(path)).collect()
}

fn no_cases(named: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("there is no scenario in {named}"),
        "name scenario files, or a folder of them; `conformance` is the repository's",
    )
}

fn unreadable(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("cannot read the folder {}: {error}", folder.display()),
        "name scenario files, or a folder of them",
    )
}

impl Case {
    fn load(path: &Path) -> Result<Self, Failure> {
        let kernel = fairpace_scenario::load(path, &[], Target::Testbed)?;
        let mut sim = kernel.clone();
        for flow in &mut sim.flows {
            if let Some(ours) = simulated(&flow.cc) {
                flow.cc = ours.parse().map_err(|error: CcError| {
                    let help = "name a kernel algorithm that the simulator has: bbr, cubic or reno";
                    Failure::new(Exit::Usage, error.to_string(), help)
                })?;
            }
            flow.host_jitter = HOST_JITTER;
        }
        let sim = sim.sealed(Target::Simulator)?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, kernel, sim })
    }

    /// The scenario with each seed.
    pub(super) fn simulations(&self, seeds: u32) -> impl Iterator<Item = Scenario> {
        (1..=u64::from(seeds)).map(|seed| Scenario { seed, ..self.sim.clone() })
    }

    /// Up to `runs` undisturbed runs on the kernel, and the number of disturbed ones.
    ///
    /// Each run has its own seed, which determines random losses of links. Runs that `keep` has are not
    /// repeated.
    pub(super) fn measure(
        &self,
        runs: u32,
        keep: &Keep,
        signals: &Signals,
        quiet: bool,
    ) -> Result<(Vec<Summary>, u32), Failure> {
        let (mut measured, mut disturbed) = (Vec::new(), 0);
        for seed in 1..=u64::from(runs) {
            let scenario = Scenario { seed, ..self.kernel.clone() };
            if let Some((summary, times)) = keep.find(&self.name, &scenario) {
                disturbed += times;
                measured.push(summary);
                continue;
            }
            match host::run(&scenario, Target::Testbed, &self.name, signals, quiet) {
                Ok(run) => {
                    let times = run.notes.iter().filter(|note| note.starts_with("attempt ")).count() as u32;
                    keep.put(&self.name, &run.summary, times)?;
                    disturbed += times;
                    measured.push(run.summary);
                }
                Err(failure) if failure.is_disturbance() => {
                    disturbed += fairpace_testbed::ATTEMPTS;
                }
                Err(other) => return Err(other),
            }
        }
        Ok((measured, disturbed))
    }
}

/// The name of our algorithm that stands for one of the kernel's own.
fn simulated(cc: &Cc) -> Option<&str> {
    match cc {
        Cc::Kernel(name) if name == "bbr" => Some("bbr1"),
        Cc::Kernel(name) => Some(name),
        Cc::Ours(_) | Cc::Uncontrolled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_algorithms_are_simulated_by_ours() {
        for (name, ours) in
            [("kernel:bbr", Some("bbr1")), ("kernel:cubic", Some("cubic")), ("bbr1", None), ("cubic", None)]
        {
            assert_eq!(simulated(&name.parse().expect("a name")), ours, "{name}");
        }
    }

    #[test]
    fn the_repositorys_scenarios_are_for_both_hosts() {
        let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for (folder, least, minutes) in [("conformance", 16, 25), ("conformance/level", 12, 18)] {
            let cases = load(&[repository.join(folder)]);
            let cases = cases.unwrap_or_else(|_| panic!("a file of {folder} is wrong"));
            assert!(cases.len() >= least, "{folder}: {}", cases.len());
            let total: Duration = cases.iter().map(|case| case.kernel.duration).sum();
            let promised = Duration::from_secs(60 * minutes);
            assert!(3 * total < promised, "{folder}: three runs take {:?}", 3 * total);
            for case in &cases {
                assert!(case.sim.flows.iter().all(|flow| flow.host_jitter == HOST_JITTER));
            }
        }
    }

    #[test]
    fn a_folder_without_scenarios_is_refused() {
        let empty = tempfile::tempdir().expect("a folder");
        assert!(load(&[empty.path().to_owned()]).is_err());
        assert!(load(&[empty.path().join("missing.toml")]).is_err());
    }
}
