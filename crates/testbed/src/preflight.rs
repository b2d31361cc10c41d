//! Checks before a run: everything that is known to fail before anything is created.

use crate::flows::MAX_FLOWS;
use crate::{Error, MAX_RATE_BPS, emulator, namespace};
use fairpace_scenario::{Flow, Scenario, keys};
use std::fs::File;
use std::path::Path;

/// Checks the scenario against the testbed's limits, then the machine: permission, the TUN driver at `tun`.
///
/// # Errors
/// [`Error::TooFast`], [`Error::TooLarge`], [`Error::Unsupported`], [`Error::NotPermitted`],
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
    scenario.flows.iter().try_for_each(supported)?;
    emulator::pool_packets(scenario)?;
    machine(tun)
}

/// Refuses keys that only the simulator supports: none is ignored silently.
fn supported(flow: &Flow) -> Result<(), Error> {
    match keys::simulator_only(flow) {
        Some(key) => Err(Error::Unsupported { flow: flow.name.clone(), key }),
        None => Ok(()),
    }
}

/// Checks the machine: permission, the TUN driver at `tun`. Permission comes first: where only root may open
/// the device, an ordinary user lacks the permission, not the driver.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::Setup`], [`Error::NoTun`].
pub(crate) fn machine(tun: &Path) -> Result<(), Error> {
    namespace::probe()?;
    let device = File::options().read(true).write(true).open(tun);
    device.map_err(|cause| Error::NoTun { path: tun.to_owned(), cause })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_scenario::{Arrivals, Cc, Ecn, Sizes, Window, Writes};
    use std::time::Duration;

    fn refused(change: impl Fn(&mut Flow)) -> Option<String> {
        let mut flow = Flow::new("a", "bbr1".parse::<Cc>().unwrap(), Duration::from_millis(10));
        change(&mut flow);
        match supported(&flow) {
            Ok(()) => None,
            Err(Error::Unsupported { flow, key }) if flow == "a" => Some(key),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn keys_of_the_simulator_alone_are_refused() {
        let ms = Duration::from_millis(1);
        let sizes = Sizes { name: "web".into(), cdf: [(1, fairpace_scenario::WHOLE_PPB)].into() };
        let arrivals = Arrivals { per_s_milli: 1, sizes };
        assert_eq!(refused(|f| f.arrivals = Some(arrivals.clone())), Some("arrivals".to_owned()));
        assert_eq!(refused(|f| f.host_jitter = ms), Some("host_jitter".to_owned()));
        assert_eq!(
            refused(|f| f.traffic.writes = Writes::Responses { bytes: 1, think: ms }),
            Some("response".to_owned())
        );
        assert_eq!(refused(|f| f.sending.ecn = Ecn::Dctcp), Some("ecn = \"dctcp\"".to_owned()));
        assert_eq!(refused(|f| f.sending.sack = false), Some("sack".to_owned()));
        assert_eq!(refused(|f| f.sending.rack = false), Some("rack".to_owned()));
        assert_eq!(refused(|f| f.sending.tlp = false), Some("tlp".to_owned()));
        assert_eq!(refused(|f| f.sending.frto = false), Some("frto".to_owned()));
        assert_eq!(refused(|f| f.sending.undo = false), Some("undo".to_owned()));
        assert_eq!(refused(|f| f.sending.prr = false), Some("prr".to_owned()));
        assert_eq!(refused(|f| f.sending.idle_restart = false), Some("idle_restart".to_owned()));
        assert_eq!(refused(|f| f.sending.tso = false), Some("tso".to_owned()));
        assert_eq!(refused(|f| f.sending.pacing = Some(false)), Some("pacing".to_owned()));
        assert_eq!(refused(|f| f.sending.initial_cwnd_pkts = 4), Some("initial_cwnd".to_owned()));
        assert_eq!(
            refused(|f| f.receiving.window = Window::Fixed(10_000)),
            Some("receive_buffer".to_owned())
        );
        assert_eq!(
            refused(|f| f.receiving.window = Window::Autotuned(10_000)),
            Some("receive_buffer_max".to_owned())
        );
        assert_eq!(refused(|f| f.receiving.ack_every = 1), Some("ack_every".to_owned()));
        assert_eq!(refused(|f| f.receiving.delayed_ack = false), Some("delayed_ack".to_owned()));
        assert_eq!(refused(|f| f.receiving.sack_compression = false), Some("sack_compression".to_owned()));
        assert_eq!(refused(|f| f.receiving.gro = ms), Some("gro".to_owned()));
    }

    #[test]
    fn keys_of_the_testbed_are_accepted() {
        let ms = Duration::from_millis(1);
        assert_eq!(refused(|_| {}), None);
        assert_eq!(refused(|f| f.sending.ecn = Ecn::Classic), None);
        assert_eq!(
            refused(|f| (f.receiving.ack_delay, f.receiving.ack_delay_at) = (ms, vec![(ms, ms)])),
            None
        );
        assert_eq!(refused(|f| (f.ack_jitter, f.ack_aggregation, f.ack_loss_ppb) = (ms, ms, 1)), None);
        assert_eq!(refused(|f| (f.rtt_at, f.access_delay) = (vec![(ms, ms)], ms)), None);
        assert_eq!(refused(|f| f.traffic.size_bytes = Some(1)), None);
        assert_eq!(refused(|f| f.traffic.writes = Writes::OnOff { on: ms, off: ms }), None);
        assert_eq!(refused(|f| f.traffic.writes = Writes::Paced { rate_bps: 1, every: ms }), None);
    }
}
