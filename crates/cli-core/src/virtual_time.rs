//! Runs in virtual time: the host boots a kernel whose first process is this program, or another one with
//! [`crate::guest`], and that process runs the testbed.

use std::path::Path;

use fairpace_results::{Monitor, Run};
use fairpace_scenario::{Ecn, Scenario};
use fairpace_virtual::{Booted, Job, Machine, Refusal};

use crate::failure::{Exit, Failure};
use crate::headers;
use crate::output::note;
use crate::place::Emulator;
use crate::signals::Signals;

/// The program that runs now, also if its file has been replaced.
const THIS: &str = "/proc/self/exe";

/// The kernel in virtual time that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What runs it; `None`: QEMU for a series, else User-mode Linux if it is there, else QEMU.
    pub emulator: Option<Emulator>,
    /// Its series, such as 6.12; `None`: the newest one that was fetched.
    pub series: Option<&'a str>,
}

impl Wanted<'_> {
    /// The kernel that can run these scenarios: User-mode Linux has no eBPF.
    fn for_scenarios(self, scenarios: &[Scenario]) -> Result<Self, Failure> {
        let echoes = |scenario: &Scenario| scenario.flows.iter().any(|flow| flow.sending.ecn == Ecn::Dctcp);
        let header = scenarios.iter().flat_map(Scenario::headers).next().map(|(file, _)| file);
        let echo = scenarios.iter().any(echoes).then(|| "`ecn = \"dctcp\"`".to_owned());
        match (header.or(echo), self.emulator) {
            (None, _) => Ok(self),
            (Some(what), Some(Emulator::Uml)) => {
                let message = format!("{what} is eBPF, which User-mode Linux does not have");
                Err(Failure::new(Exit::Unsupported, message, "write --on virtual:qemu"))
            }
            (Some(_), _) => Ok(Self { emulator: Some(Emulator::Qemu), ..self }),
        }
    }

    /// Checks that this machine has what these scenarios need; creates nothing.
    ///
    /// # Errors
    /// Returns an error that says what is missing.
    pub fn check(self, scenarios: &[Scenario]) -> Result<(), Failure> {
        Ok(fairpace_virtual::check(self.for_scenarios(scenarios)?.into())?)
    }
}

impl<'a> From<Wanted<'a>> for fairpace_virtual::Wanted<'a> {
    fn from(wanted: Wanted<'a>) -> Self {
        Self { emulator: wanted.emulator.map(Into::into), series: wanted.series }
    }
}

impl From<Emulator> for fairpace_virtual::Emulator {
    fn from(emulator: Emulator) -> Self {
        match emulator {
            Emulator::Qemu => Self::Qemu,
            Emulator::Uml => Self::Uml,
        }
    }
}

/// A kernel in virtual time that has booted.
pub struct VirtualKernel(Booted);

impl VirtualKernel {
    /// Boots the kernel that is wanted, for these scenarios, with this program as its first process.
    ///
    /// # Errors
    /// Returns an error if a part is missing, if a scenario cannot run there, or if a signal arrived.
    pub fn boot(
        wanted: Wanted<'_>,
        scenarios: &[Scenario],
        signals: &Signals,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let machine = Self::find(Path::new(THIS), wanted, scenarios)?;
        if !quiet {
            note(&format!("booting: {}", machine.description()));
        }
        Self::of(machine, signals)
    }

    /// As [`VirtualKernel::boot`] does, with another program, and without a note.
    ///
    /// # Errors
    /// Returns the same errors.
    pub fn boot_with(
        program: &Path,
        wanted: Wanted<'_>,
        scenarios: &[Scenario],
        signals: &Signals,
    ) -> Result<Self, Failure> {
        Self::of(Self::find(program, wanted, scenarios)?, signals)
    }

    fn find(program: &Path, wanted: Wanted<'_>, scenarios: &[Scenario]) -> Result<Machine, Failure> {
        Ok(Machine::find(program, wanted.for_scenarios(scenarios)?.into())?)
    }

    fn of(machine: Machine, signals: &Signals) -> Result<Self, Failure> {
        let booted = machine.boot(&|| signals.received().is_some());
        // an interrupted boot returns its own error
        signals.received().map_or_else(|| Ok(Self(booted?)), |signal| Err(Failure::signal(signal)))
    }

    /// The versions of QEMU and of the kernel, and hashes of kernel and initramfs.
    #[must_use]
    pub fn description(&self) -> &str {
        self.0.description()
    }

    /// Runs a scenario. Several may run at a time, and none depends on another one.
    ///
    /// # Errors
    /// Returns an error if the testbed refuses the scenario, or if the monitor stops the run.
    pub fn run(&self, scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Failure> {
        let headers = scenario.headers().map(|(file, algorithm)| headers::for_guest(file, algorithm));
        let job = Job::of(scenario, headers.collect::<Result<_, _>>()?);
        Ok(self.0.run(&job, monitor)?)
    }
}

/// What `--on virtual` needs: a line that says what there is.
///
/// # Errors
/// Returns an error that says what is missing, and how to install it.
pub fn available(emulator: Emulator) -> Result<String, fairpace_virtual::Error> {
    fairpace_virtual::available(emulator.into())
}

impl From<fairpace_virtual::Error> for Failure {
    fn from(error: fairpace_virtual::Error) -> Self {
        use fairpace_virtual::Error as E;
        let exit = match &error {
            E::Guest(refusal) => return of_guest(refusal),
            E::NoQemu { .. } | E::NoKernel { .. } | E::NoUml { .. } | E::Processor => Exit::Unsupported,
            E::Series { .. } | E::OwnKernel => Exit::Usage,
            E::Interrupted => Exit::Interrupted,
            _ => Exit::Internal,
        };
        Self::of(exit, error)
    }
}

/// The failure of a run in the guest. No load of the host can disturb it: where the guest was too late, its
/// processor is too slow for the scenario.
fn of_guest(refusal: &Refusal) -> Failure {
    let Refusal { code, message, help } = refusal;
    let (exit, help) = match Exit::of_code(*code) {
        Some(Exit::Disturbed) => (
            Exit::Unsupported,
            "the emulated processor is too slow for it: lower the rate, or run it in the simulator",
        ),
        exit => (exit.unwrap_or(Exit::Internal), help.as_str()),
    };
    Failure::new(exit, message, help).of_part("in virtual time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_guest_keeps_its_exit_code_reason_and_help() {
        let refusal = |code| Refusal { code, message: "flow `a`: no".into(), help: "try b".into() };
        let failure = of_guest(&refusal(2));
        assert_eq!((failure.code(), failure.to_string()), (2, "in virtual time: flow `a`: no".to_owned()));
        assert_eq!(failure.help(), Some("try b"));
        let late = of_guest(&refusal(4));
        assert!(!late.is_disturbance() && late.code() == 3, "{late}");
    }
}
