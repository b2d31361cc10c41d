//! What can be known to fail before anything is created.

use crate::flows::MAX_FLOWS;
use crate::{Error, MAX_RATE_BPS, emulator, namespace};
use fairpace_scenario::Scenario;
use std::fs::File;
use std::path::Path;

/// Checks the scenario against the testbed's limits, then the machine: the TUN driver at `tun`, permission.
///
/// # Errors
/// [`Error::TooFast`], [`Error::TooLarge`], [`Error::NoTun`], [`Error::NotPermitted`], [`Error::Setup`].
pub(crate) fn check(scenario: &Scenario, tun: &Path) -> Result<(), Error> {
    if let Some(link) = scenario.links.iter().find(|l| l.rate_bps > MAX_RATE_BPS) {
        return Err(Error::TooFast {
            link: link.name.clone(),
            rate_bps: link.rate_bps,
            ceiling_bps: MAX_RATE_BPS,
        });
    }
    if scenario.flows.len() > MAX_FLOWS {
        return Err(Error::TooLarge { what: format!("{} flows, at most {MAX_FLOWS}", scenario.flows.len()) });
    }
    emulator::pool_packets(scenario)?;
    machine(tun)
}

/// Checks the machine: the TUN driver at `tun`, permission.
///
/// # Errors
/// [`Error::NoTun`], [`Error::NotPermitted`], [`Error::Setup`].
pub(crate) fn machine(tun: &Path) -> Result<(), Error> {
    File::options()
        .read(true)
        .write(true)
        .open(tun)
        .map_err(|cause| Error::NoTun { path: tun.to_owned(), cause })?;
    namespace::probe()
}
