//! The kernels of a validation: those that its file lists, or the one that the options name.

use std::num::NonZeroU32;

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_cli_core::place::{Place, kernel_label};
use fairpace_scenario::Scenario;
use serde::{Deserialize, Deserializer, de};

use crate::run::Call;

/// A kernel as a file lists it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    /// Where it runs, as `--on` takes it.
    #[serde(deserialize_with = "place")]
    on: Place,
    /// In virtual time: its series, such as 6.12. The newest one that was fetched by default.
    kernel: Option<String>,
    /// Number of runs of each scenario.
    #[serde(default = "super::three")]
    runs: NonZeroU32,
}

/// Reads a place with a kernel.
fn place<'de, D: Deserializer<'de>>(from: D) -> Result<Place, D::Error> {
    let name = String::deserialize(from)?;
    let place = Place::by_name(&name).filter(|place| *place != Place::Simulator);
    place.ok_or_else(|| de::Error::custom(format!("`{name}` is no place of a kernel, such as virtual:uml")))
}

/// A kernel that is ready.
pub(super) struct Kernel {
    pub(super) host: KernelHost,
    pub(super) runs: NonZeroU32,
    /// Its name in the heads of tables.
    pub(super) label: String,
}

/// The kernels that are to run: the listed ones, or of them the one that the options name. `runs` are those
/// of a kernel that is not listed.
pub(super) fn chosen(listed: &[Listed], runs: NonZeroU32, call: Call<'_>) -> Result<Vec<Listed>, Failure> {
    let (on, series) = (call.args.on, &call.args.kernel);
    if on == Some(Place::Simulator) {
        let message = "a validation compares the simulator with a kernel";
        return Err(Failure::new(Exit::Usage, message, "write --on kernel or --on virtual"));
    }
    if call.args.write && on.is_some() && listed.len() > 1 {
        let message = format!("the page has {} kernels, and --on names one", listed.len());
        return Err(Failure::new(Exit::Usage, message, "leave --on or --write out"));
    }
    if on.is_none() && series.is_none() && !listed.is_empty() {
        return Ok(listed.to_vec());
    }
    let on = on.unwrap_or(Place::Kernel);
    if series.is_some() && !matches!(on, Place::Virtual(_)) {
        let message = "--kernel names the series of a kernel in virtual time";
        return Err(Failure::new(Exit::Usage, message, "add --on virtual"));
    }
    // without an emulator, that of the first kernel in virtual time
    let is_place = |of: &Listed| of.on == on || (on == Place::Virtual(None) && of.is_virtual());
    let is_it = |of: &&Listed| is_place(of) && (series.is_none() || of.kernel == *series);
    let found = listed.iter().find(is_it).cloned();
    Ok(vec![found.unwrap_or_else(|| Listed { on, kernel: series.clone(), runs })])
}

impl Listed {
    /// Prepares the kernel for these scenarios.
    pub(super) fn open(&self, scenarios: &[Scenario], call: Call<'_>) -> Result<Kernel, Failure> {
        let series = self.kernel.as_deref();
        let host = KernelHost::open(self.on, series, scenarios, call.signals, call.global.quiet)?;
        let label = kernel_label(&host.description());
        Ok(Kernel { host, runs: self.runs, label })
    }

    pub(super) fn is_virtual(&self) -> bool {
        matches!(self.on, Place::Virtual(_))
    }

    /// Checks that this machine has what these scenarios need there; creates nothing.
    pub(super) fn check(&self, scenarios: &[Scenario]) -> Result<(), Failure> {
        KernelHost::check(self.on, self.kernel.as_deref(), scenarios)
    }
}
