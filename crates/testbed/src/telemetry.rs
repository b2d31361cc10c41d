//! What the kernel says about a flow: `tcp_info`, and what its congestion control tells about itself.

use crate::sockopt::{self, BbrInfo};
use fairpace_cc::{Observation, Phase};
use fairpace_results::FlowSeries;
use std::io;
use std::os::fd::BorrowedFd;

/// What a congestion control tells. NaN where it tells nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Inside {
    pub(crate) bw_mbps: f32,
    pub(crate) min_rtt_ms: f32,
    pub(crate) pacing_gain: f32,
    pub(crate) phase: i8,
}

impl Inside {
    pub(crate) const UNKNOWN: Inside =
        Inside { bw_mbps: f32::NAN, min_rtt_ms: f32::NAN, pacing_gain: f32::NAN, phase: -1 };
}

/// One of our algorithms.
impl From<Observation> for Inside {
    fn from(seen: Observation) -> Self {
        let some = |value: f32, there: bool| if there { value } else { f32::NAN };
        Inside {
            bw_mbps: some(mbps(seen.bw_Bps), seen.bw_Bps > 0),
            min_rtt_ms: seen.min_rtt_us.map_or(f32::NAN, |us| us as f32 / 1e3),
            pacing_gain: some(seen.pacing_gain_256 as f32 / 256.0, seen.pacing_gain_256 > 0),
            phase: seen.phase as i8,
        }
    }
}

/// The kernel's own `bbr`.
impl From<BbrInfo> for Inside {
    fn from(info: BbrInfo) -> Self {
        Inside {
            bw_mbps: mbps(info.bandwidth_bytes_per_s()),
            min_rtt_ms: if info.min_rtt_us == u32::MAX { f32::NAN } else { info.min_rtt_us as f32 / 1e3 },
            pacing_gain: info.pacing_gain_256 as f32 / 256.0,
            phase: phase_of_bbr1(info.pacing_gain_256, info.cwnd_gain_256).map_or(-1, |phase| phase as i8),
        }
    }
}

/// BBRv1 tells its gains and not its phase, but each phase has its own pair of gains. `None`: not BBRv1's.
fn phase_of_bbr1(pacing_gain_256: u32, cwnd_gain_256: u32) -> Option<Phase> {
    /// 2/ln 2 = 2.885 in STARTUP for both, and its inverse for pacing in DRAIN; 2 for cwnd in PROBE_BW; 1 in
    /// PROBE_RTT.
    const HIGH: u32 = 739;
    const INVERSE: u32 = 88;
    match (pacing_gain_256, cwnd_gain_256) {
        (HIGH, HIGH) => Some(Phase::Startup),
        (INVERSE, HIGH) => Some(Phase::Drain),
        (320, 512) => Some(Phase::ProbeBwUp),
        (192, 512) => Some(Phase::ProbeBwDown),
        (256, 512) => Some(Phase::ProbeBwCruise),
        (256, 256) => Some(Phase::ProbeRtt),
        _ => None,
    }
}

/// One look at a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) cwnd_pkts: f32,
    pub(crate) inflight_pkts: f32,
    pub(crate) pacing_mbps: f32,
    pub(crate) inside: Inside,
    /// Segments sent again since the connection began.
    pub(crate) retransmits: u64,
}

impl Sample {
    /// A flow that has not started, or has ended, having sent `retransmits` segments again.
    pub(crate) fn absent(retransmits: u64) -> Self {
        let nan = f32::NAN;
        Sample { cwnd_pkts: nan, inflight_pkts: nan, pacing_mbps: nan, inside: Inside::UNKNOWN, retransmits }
    }

    /// Looks at a connection; `inside` comes from where its algorithm keeps it.
    pub(crate) fn take(fd: BorrowedFd<'_>, inside: Inside) -> io::Result<Self> {
        let info = sockopt::tcp_info(fd)?;
        // tcp_packets_in_flight(): what was sent and has neither left the network nor been sent again.
        let left = info.tcpi_sacked.saturating_add(info.tcpi_lost);
        let inflight = info.tcpi_unacked.saturating_sub(left).saturating_add(info.tcpi_retrans);
        Ok(Sample {
            cwnd_pkts: info.tcpi_snd_cwnd as f32,
            inflight_pkts: inflight as f32,
            // All ones: not paced.
            pacing_mbps: if info.tcpi_pacing_rate == u64::MAX {
                f32::NAN
            } else {
                mbps(info.tcpi_pacing_rate)
            },
            inside,
            retransmits: u64::from(info.tcpi_total_retrans),
        })
    }

    /// Appends the sample to a series.
    pub(crate) fn push(&self, series: &mut FlowSeries) {
        series.cwnd_pkts.push(self.cwnd_pkts);
        series.inflight_pkts.push(self.inflight_pkts);
        series.pacing_mbps.push(self.pacing_mbps);
        series.bw_mbps.push(self.inside.bw_mbps);
        series.min_rtt_ms.push(self.inside.min_rtt_ms);
        series.pacing_gain.push(self.inside.pacing_gain);
        series.phase.push(self.inside.phase);
    }
}

fn mbps(bytes_per_s: u64) -> f32 {
    (bytes_per_s as f64 * 8e-6) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bbr1_is_known_by_its_gains() {
        assert_eq!(phase_of_bbr1(739, 739), Some(Phase::Startup));
        assert_eq!(phase_of_bbr1(88, 739), Some(Phase::Drain));
        assert_eq!(phase_of_bbr1(320, 512), Some(Phase::ProbeBwUp));
        assert_eq!(phase_of_bbr1(256, 256), Some(Phase::ProbeRtt));
        assert_eq!(phase_of_bbr1(709, 512), None, "BBRv3 starts up with other gains");
    }

    #[test]
    fn what_an_algorithm_does_not_have_is_not_a_number() {
        let reno = Observation {
            bw_Bps: 0,
            min_rtt_us: None,
            pacing_gain_256: 0,
            cwnd_gain_256: 0,
            phase: Phase::SlowStart,
        };
        let inside = Inside::from(reno);
        assert!(inside.bw_mbps.is_nan() && inside.min_rtt_ms.is_nan() && inside.pacing_gain.is_nan());
        assert_eq!(inside.phase, Phase::SlowStart as i8);
        let bbr = Inside::from(Observation { bw_Bps: 1_250_000, min_rtt_us: Some(10_500), ..reno });
        assert_eq!((bbr.bw_mbps, bbr.min_rtt_ms), (10.0, 10.5));
    }
}
