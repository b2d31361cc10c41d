//! The cases of the validation: scenarios, as the simulator and the kernel run them.

use std::path::PathBuf;
use std::time::Duration;

use fairpace_cli_core::batch::{self, Batch};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_experiment::Source;
use fairpace_results::{Run, Summary};
use fairpace_scenario::{Cc, CcError, Scenario, Target, Window};

use super::Validation;
use super::draw::{self, Drawn};
use super::kernels::Kernel;
use crate::run::{Call, files, store};

/// Random delay of a simulated host's sending, as real hosts have it. Without it CUBIC and Reno would have
/// equal results with every seed. Values from 1 us to 1 ms give equal results (FIDELITY.md). A kernel in
/// virtual time has hosts without noise, too: there the emulated path delays the ACKs by the same.
const HOST_JITTER: Duration = Duration::from_micros(20);

/// Size to which the receive window of the testbed's hosts grows, bytes: five eighths of their receive buffer
/// of 64 MiB, since a packet with 1448 bytes of payload occupies 2304. It begins smaller, which matters to
/// short flows.
const RECEIVE_WINDOW_BYTES: u64 = (64 << 20) * 5 / 8;

/// A case: a scenario for both hosts.
pub(super) struct Case {
    pub(super) name: String,
    /// Kind of a drawn flow; `None`: a scenario of a file, whose flows have no end.
    pub(super) kind: Option<String>,
    /// The scenario as in the file, for the running kernel.
    pub(super) kernel: Scenario,
    in_virtual_time: Scenario,
    pub(super) sim: Scenario,
}

/// Loads the scenarios of these files and of the files in these folders, in the order of their names. A file
/// may draw many scenarios.
pub(super) fn load(named: &[PathBuf]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for path in files(named, "scenario")? {
        let text = fairpace_scenario::read(&path)?;
        if toml::from_str::<toml::Table>(&text).is_ok_and(|table| table.contains_key("draw")) {
            let source = Source { about: "draw", name: path.display().to_string(), text };
            for Drawn { name, kind, toml } in source.parse::<draw::File>()?.draw.flows() {
                let kernel = fairpace_scenario::parse(&name, &toml, &[], Target::Testbed)?;
                cases.push(Case::new(name, Some(kind), kernel)?);
            }
        } else {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.push(Case::new(name, None, fairpace_scenario::load(&path, &[], Target::Testbed)?)?);
        }
    }
    Ok(cases)
}

impl Case {
    fn new(name: String, kind: Option<String>, kernel: Scenario) -> Result<Self, Failure> {
        let mut in_virtual_time = kernel.clone();
        // of a drawn flow the time is compared with that of one simulation, so there is no noise of hosts
        for flow in
            in_virtual_time.flows.iter_mut().filter(|flow| kind.is_none() && flow.ack_jitter.is_zero())
        {
            flow.ack_jitter = HOST_JITTER;
        }
        let in_virtual_time = in_virtual_time.sealed(Target::Testbed)?;
        let mut sim = kernel.clone();
        for flow in &mut sim.flows {
            if let Some(ours) = simulated(&flow.cc) {
                flow.cc = ours.parse().map_err(|error: CcError| {
                    let help = "name a kernel algorithm that the simulator has: bbr, cubic or reno";
                    Failure::new(Exit::Usage, error.to_string(), help)
                })?;
            }
            match kind {
                None => flow.host_jitter = HOST_JITTER,
                Some(_) => flow.receiving.window = Window::Autotuned(RECEIVE_WINDOW_BYTES),
            }
        }
        Ok(Self { name, kind, kernel, in_virtual_time, sim: sim.sealed(Target::Simulator)? })
    }

    /// The scenario for a kernel.
    pub(super) fn on_kernel(&self, in_virtual_time: bool) -> &Scenario {
        if in_virtual_time { &self.in_virtual_time } else { &self.kernel }
    }
}

/// Iterates over copies of a scenario, one for each seed.
fn with_seeds(of: &Scenario, seeds: u32) -> impl Iterator<Item = Scenario> {
    (1..=u64::from(seeds)).map(|seed| Scenario { seed, ..of.clone() })
}

/// Simulates all scenarios with all seeds. This precedes the kernel's runs, which need a quiet machine.
pub(super) fn simulate(cases: &[Case], seeds: u32, call: Call<'_>) -> Result<Vec<Summary>, Failure> {
    let scenarios: Vec<_> = cases.iter().flat_map(|case| with_seeds(&case.sim, seeds)).collect();
    batch::simulate_all(&scenarios, None, call.signals, call.global.quiet, |_, run| run.summary)
}

/// The runs of all scenarios on the kernel, made unless the store has them; `None` where the machine
/// disturbed all attempts. Each run has its own seed, which determines random losses of links. Runs on
/// another release of the kernel are not used.
pub(super) fn measure(
    cases: &[Case],
    of: &Validation,
    Kernel { host, runs, .. }: &Kernel,
    call: Call<'_>,
) -> Result<Vec<Option<Run>>, Failure> {
    let at_a_time = of.at_a_time.get();
    let in_virtual_time = matches!(host, KernelHost::Virtual(_));
    let cache = |of: &Scenario| store(call.folder(), of);
    let keeping = call.keeping(call.folder(), &cache);
    let all = cases.iter().map(|case| case.on_kernel(in_virtual_time));
    let all: Vec<_> = all.flat_map(|scenario| with_seeds(scenario, runs.get())).collect();
    let all: Vec<&Scenario> = all.iter().collect();
    let progress = host.progress(&all, call.global.quiet);
    let jobs = host.at_a_time(of.at_a_time, call.args.jobs.at_a_time);
    let release = host.description();
    let batch = Batch { jobs, signals: call.signals, progress: &progress };
    batch.map(&all, |scenario, job| {
        // Making the hosts disturbs other runs at their start. Runs of one length would all begin at once,
        // again and again.
        if !in_virtual_time && job.index() < at_a_time {
            std::thread::sleep(scenario.duration * job.index() as u32 / at_a_time as u32);
        }
        keeping.on_kernel(scenario, &release, || host.run(scenario, job, at_a_time == 1))
    })
}

/// Number of disturbed attempts before this run.
pub(super) fn disturbed(run: &Option<Run>) -> u32 {
    let Some(run) = run else { return fairpace_testbed::ATTEMPTS };
    run.notes.iter().filter(|note| note.starts_with("attempt ")).count() as u32
}

/// Name of our algorithm that stands for an algorithm of the kernel itself.
fn simulated(cc: &Cc) -> Option<&str> {
    match cc {
        Cc::Kernel(name) if name == "bbr" => Some("bbr1"),
        Cc::Kernel(name) => Some(name),
        Cc::Ours(_) | Cc::Uncontrolled => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
