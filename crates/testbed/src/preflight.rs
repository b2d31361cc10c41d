//! What can be known to fail before anything is created.

use crate::flows::MAX_FLOWS;
use crate::{Error, MAX_RATE_BPS, emulator, namespace};
use fairpace_scenario::{Flow, Receiving, Scenario, Traffic, Writes};
use std::fs::File;
use std::path::Path;

/// Checks the scenario against the testbed's limits, then the machine: the TUN driver at `tun`, permission.
///
/// # Errors
/// [`Error::TooFast`], [`Error::TooLarge`], [`Error::Unsupported`], [`Error::NoTun`], [`Error::NotPermitted`], [`Error::Setup`].
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
    scenario.flows.iter().try_for_each(supported)?;
    emulator::pool_packets(scenario)?;
    machine(tun)
}

/// Refuses what only the simulator has: nothing that was asked for is left out in silence.
fn supported(flow: &Flow) -> Result<(), Error> {
    let Traffic { size_bytes, writes } = flow.traffic;
    let asked = [
        ("size", size_bytes.is_some()),
        ("on", matches!(writes, Writes::OnOff { .. })),
        ("write_rate", matches!(writes, Writes::Paced { .. })),
        ("receive_buffer", flow.receiving != Receiving::default()),
        ("rtt_at", !flow.rtt_at.is_empty()),
        ("ack_jitter", !flow.ack_jitter.is_zero()),
        ("ack_aggregation", !flow.ack_aggregation.is_zero()),
        ("ack_loss", flow.ack_loss_ppb > 0),
        ("host_jitter", !flow.host_jitter.is_zero()),
    ];
    match asked.into_iter().find(|(_, asked)| *asked) {
        Some((key, _)) => Err(Error::Unsupported { flow: flow.name.clone(), key }),
        None => Ok(()),
    }
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
