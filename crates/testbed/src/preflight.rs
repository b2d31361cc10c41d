//! Checks before a run: every condition that is known to make a run fail, before anything is created.

use crate::flows::MAX_FLOWS;
use crate::{Error, MAX_RATE_BPS, emulator, namespace};
use fairpace_scenario::{Scenario, Target};
use std::fs::File;
use std::path::Path;

/// Checks the scenario and the testbed's limits, then the machine: permission, the TUN driver at `tun`.
///
/// # Errors
/// [`Error::TooFast`], [`Error::TooLarge`], [`Error::Invalid`], [`Error::NotPermitted`],
/// [`Error::Setup`], [`Error::NoTun`].
pub(crate) fn check(scenario: &Scenario, tun: &Path) -> Result<(), Error> {
    if let Some(link) = scenario.links.iter().find(|l| l.fastest_bps() > MAX_RATE_BPS) {
        return Err(Error::TooFast {
            link: link.name.clone(),
            rate_bps: link.fastest_bps(),
            ceiling_bps: MAX_RATE_BPS,
        });
    }
    if scenario.flows.len() > MAX_FLOWS {
        return Err(Error::TooLarge { what: format!("{} flows, at most {MAX_FLOWS}", scenario.flows.len()) });
    }
    scenario.check(Target::Testbed)?;
    emulator::pool_packets(scenario)?;
    machine(tun)
}

/// Checks the machine: permission, the TUN driver at `tun`. Permission is checked first: where only root may
/// open the device, an ordinary user lacks the permission, not the driver.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::Setup`], [`Error::NoTun`].
pub(crate) fn machine(tun: &Path) -> Result<(), Error> {
    namespace::probe()?;
    let device = File::options().read(true).write(true).open(tun);
    device.map_err(|cause| Error::NoTun { path: tun.to_owned(), cause })?;
    Ok(())
}
