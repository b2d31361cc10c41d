//! The scenarios, as the simulator and the kernel run them.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairpace_cli_core::batch::{Batch, Job};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_results::observer::Observer;
use fairpace_results::{Monitor, Run, Series, Summary};
use fairpace_scenario::{Cc, CcError, Flow, Scenario, Target, Window};

use super::draw::{Draw, Drawn};

/// Random delay of a simulated host's sending, which real hosts have. Without it CUBIC and Reno would have
/// the same result with every seed. Values from 1 us to 1 ms give the same results (FIDELITY.md).
const HOST_JITTER: Duration = Duration::from_micros(20);

/// What the receive window of the testbed's hosts grows to, bytes: five eighths of their receive buffer of 64
/// MiB, since a packet with 1448 bytes of payload occupies 2304. It begins with less, which matters to short
/// flows.
const RECEIVE_WINDOW_BYTES: u64 = (64 << 20) * 5 / 8;

/// One scenario.
pub(super) struct Case {
    pub(super) name: String,
    /// What kind of drawn flow it is; `None`: a scenario of a file, whose flows have no end.
    pub(super) kind: Option<String>,
    /// As in the file.
    pub(super) kernel: Scenario,
    sim: Scenario,
}

/// The runs of one case on the kernel.
#[derive(Default)]
pub(super) struct Measured {
    /// Undisturbed runs.
    pub(super) runs: Vec<Summary>,
    /// The number of disturbed ones.
    pub(super) disturbed: u32,
}

/// The scenarios of these files and of the files in these folders, in the order of their names. A file may
/// have a draw of many.
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
    let cases: Vec<Vec<Case>> = found.iter().map(|path| cases_of(path)).collect::<Result<_, _>>()?;
    Ok(cases.into_iter().flatten().collect())
}

/// The scenario of a file, or those that it draws.
fn cases_of(path: &Path) -> Result<Vec<Case>, Failure> {
    let text = fairpace_scenario::read(path)?;
    match Draw::parse(&text) {
        None => {
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            let scenario = fairpace_scenario::load(path, &[], Target::Testbed)?;
            Ok(vec![Case::new(stem, None, scenario, |flow| flow.host_jitter = HOST_JITTER)?])
        }
        Some(Ok(draw)) => draw.flows().map(Case::of_draw).collect(),
        Some(Err(error)) => {
            let message = format!("{} is no draw of flows: {error}", path.display());
            Err(Failure::new(Exit::Usage, message, "experiments/validation/short/draw.toml is one"))
        }
    }
}

fn no_cases(named: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("there is no scenario in {named}"),
        "name scenario files, or a folder of them; `experiments/validation` is the repository's",
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
    fn new(
        name: String,
        kind: Option<String>,
        kernel: Scenario,
        set_host: fn(&mut Flow),
    ) -> Result<Self, Failure> {
        let mut sim = kernel.clone();
        for flow in &mut sim.flows {
            if let Some(ours) = simulated(&flow.cc) {
                flow.cc = ours.parse().map_err(|error: CcError| {
                    let help = "name a kernel algorithm that the simulator has: bbr, cubic or reno";
                    Failure::new(Exit::Usage, error.to_string(), help)
                })?;
            }
            set_host(flow);
        }
        let sim = sim.sealed(Target::Simulator)?;
        Ok(Self { name, kind, kernel, sim })
    }

    /// A drawn flow. Its time is compared with that of one simulation, so there is no noise of hosts.
    fn of_draw(Drawn { name, kind, toml }: Drawn) -> Result<Self, Failure> {
        let kernel = fairpace_scenario::parse(&name, &toml, &[], Target::Testbed)?;
        let set_host = |flow: &mut Flow| flow.receiving.window = Window::Autotuned(RECEIVE_WINDOW_BYTES);
        Self::new(name, Some(kind), kernel, set_host)
    }

    /// The scenario with each seed.
    pub(super) fn simulations(&self, seeds: u32) -> impl Iterator<Item = Scenario> {
        (1..=u64::from(seeds)).map(|seed| Scenario { seed, ..self.sim.clone() })
    }

    /// Runs the first simulation with an observer.
    pub(super) fn observe_simulator(
        &self,
        monitor: &mut dyn Monitor,
        observer: &mut impl Observer,
    ) -> Result<Summary, Failure> {
        Ok(fairpace_sim::run_with(&self.sim, monitor, observer)?.summary)
    }

    /// Runs it once on the kernel with an observer. Returns also why the run must not be judged, if it was
    /// disturbed.
    pub(super) fn observe_kernel(
        &self,
        monitor: &mut dyn Monitor,
        observer: &mut (impl Observer + Send),
    ) -> Result<(Summary, Option<String>), Failure> {
        let options = fairpace_testbed::Options::default();
        let outcome = fairpace_testbed::observe(&self.kernel, monitor, &options, observer)?;
        Ok((outcome.run.summary, outcome.disturbed.map(|why| why.to_string())))
    }

    /// One run on the kernel, and the number of disturbed ones before it; `None` if all of them were.
    fn run(
        &self,
        scenario: &Scenario,
        host: &Host<'_>,
        job: &mut Job<'_>,
    ) -> Result<(Option<Summary>, u32), Failure> {
        let store = (host.store)(scenario);
        let kept = store.get(scenario, Target::Testbed).filter(|_| !host.fresh);
        let run = match kept.map_or_else(|| host::on_kernel(scenario, job, host.at_a_time.get() == 1), Ok) {
            Ok(run) => Run { series: Series::default(), ..run },
            Err(failure) if failure.is_disturbance() => return Ok((None, fairpace_testbed::ATTEMPTS)),
            Err(other) => return Err(other),
        };
        let disturbed = run.notes.iter().filter(|note| note.starts_with("attempt ")).count() as u32;
        store.put(scenario, Target::Testbed, &run).map_err(|error| {
            let message = format!("the run of {} cannot be kept: {error}", self.name);
            Failure::new(Exit::Output, message, "run a copy of the file in a folder that can be written to")
        })?;
        Ok((Some(run.summary), disturbed))
    }
}

/// How runs on the kernel are made.
pub(super) struct Host<'a> {
    /// Where a run of this scenario is kept; one that is there is not repeated.
    pub(super) store: &'a (dyn Fn(&Scenario) -> Store + Sync),
    /// Runs at a time.
    pub(super) at_a_time: NonZeroUsize,
    /// Repeat also what is kept.
    pub(super) fresh: bool,
}

/// Up to `runs` undisturbed runs of each case on the kernel.
///
/// Each run has its own seed, which determines random losses of links.
pub(super) fn measure(
    cases: &[Case],
    runs: u32,
    host: &Host<'_>,
    signals: &Signals,
    quiet: bool,
) -> Result<Vec<Measured>, Failure> {
    let each_seed = |case: &Case| {
        let scenario = case.kernel.clone();
        (1..=u64::from(runs)).map(move |seed| Scenario { seed, ..scenario.clone() })
    };
    let all: Vec<(&Case, Scenario)> =
        cases.iter().flat_map(|case| each_seed(case).map(move |scenario| (case, scenario))).collect();
    let scenarios: Vec<&Scenario> = all.iter().map(|(_, scenario)| scenario).collect();
    let progress = Progress::of_real_runs(&scenarios, quiet);
    let jobs = host.at_a_time;
    let batch = Batch { jobs: Some(jobs), signals, progress: &progress };
    let measured = batch.map(&all, |(case, scenario), job| {
        // Making the hosts disturbs other runs at their start. Runs of one length would all begin at once,
        // again and again.
        if let Some(share) = u32::try_from(job.index()).ok().filter(|index| *index < jobs.get() as u32) {
            std::thread::sleep(scenario.duration * share / jobs.get() as u32);
        }
        case.run(scenario, host, job)
    })?;
    let of_case = |runs: &[(Option<Summary>, u32)]| Measured {
        runs: runs.iter().filter_map(|(summary, _)| summary.clone()).collect(),
        disturbed: runs.iter().map(|(_, disturbed)| disturbed).sum(),
    };
    Ok(measured.chunks(runs as usize).map(of_case).collect())
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
        for (folder, least, minutes) in
            [("experiments/validation", 16, 25), ("research/level/validation", 12, 18)]
        {
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
