//! The kernel of real flows: the running one, or one in virtual time.

use std::num::NonZeroUsize;

use fairpace_kernel::Features;
use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

use crate::failure::Failure;
use crate::host;
use crate::place::Place;
use crate::progress::{Progress, expected_packets};
use crate::signals::Signals;
use crate::virtual_time::{VirtualKernel, Wanted};

/// A kernel that runs real flows.
pub enum KernelHost {
    /// The running kernel, in real time.
    Running,
    /// A kernel in virtual time.
    Virtual(VirtualKernel),
}

impl KernelHost {
    /// Checks that this machine has what these scenarios need at a place, in virtual time a kernel of
    /// `series` or any; creates nothing.
    ///
    /// # Errors
    /// Returns an error that says what is missing.
    pub fn check(place: Place, series: Option<&str>, scenarios: &[Scenario]) -> Result<(), Failure> {
        match place {
            Place::Virtual(emulator) => Wanted { emulator, series }.check(scenarios),
            _ => Ok(fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?),
        }
    }

    /// Prepares the kernel of a place for these scenarios. In virtual time it boots: the newest kernel of
    /// `series` that was fetched, or the newest of all.
    ///
    /// # Errors
    /// Returns an error if something is missing, if a scenario cannot run there, or if a signal arrived.
    pub fn open(
        place: Place,
        series: Option<&str>,
        scenarios: &[Scenario],
        signals: &Signals,
        quiet: bool,
    ) -> Result<Self, Failure> {
        Self::check(place, series, scenarios)?;
        match place {
            Place::Virtual(emulator) => {
                let wanted = Wanted { emulator, series };
                VirtualKernel::boot(wanted, scenarios, signals, quiet).map(Self::Virtual)
            }
            _ => Ok(Self::Running),
        }
    }

    /// The release of the running kernel, or all that a result in virtual time depends on.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Self::Running => Features::probe().release,
            Self::Virtual(kernel) => kernel.description().to_owned(),
        }
    }

    /// The progress of runs of these scenarios. Nothing is shown when `quiet`.
    #[must_use]
    pub fn progress(&self, scenarios: &[&Scenario], quiet: bool) -> Progress {
        match self {
            Self::Running => Progress::of_real_runs(scenarios, quiet),
            Self::Virtual(_) => {
                Progress::of_virtual_runs(scenarios.iter().copied().map(expected_packets).collect(), quiet)
            }
        }
    }

    /// Most runs at a time, where `real` disturb each other little enough in real time. `None`: one for each
    /// core.
    #[must_use]
    pub fn at_a_time(&self, real: NonZeroUsize, asked: Option<NonZeroUsize>) -> Option<NonZeroUsize> {
        match self {
            Self::Running => Some(real),
            Self::Virtual(_) => asked,
        }
    }

    /// Runs a scenario. `alone`: in real time no other run uses this machine.
    ///
    /// # Errors
    /// Returns an error if the testbed refuses the scenario, if the machine disturbed the run, or if the
    /// monitor stopped it.
    pub fn run(&self, scenario: &Scenario, monitor: &mut dyn Monitor, alone: bool) -> Result<Run, Failure> {
        match self {
            Self::Running => host::on_kernel(scenario, monitor, alone),
            Self::Virtual(kernel) => kernel.run(scenario, monitor),
        }
    }
}
