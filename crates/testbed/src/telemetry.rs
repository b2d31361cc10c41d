//! The kernel's reports on a flow: `tcp_info`, and the state of its congestion control.

use crate::sockopt::{self, BbrInfo};
use fairpace_cc::{Algorithm, Observation, Params, Phase};
use fairpace_results::FlowSeries;
use std::io;
use std::os::fd::BorrowedFd;

/// The state of a congestion control. NaN: unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AlgorithmState {
    pub(crate) bw_mbps: f32,
    pub(crate) min_rtt_ms: f32,
    pub(crate) pacing_gain: f32,
    pub(crate) phase: i8,
}

impl AlgorithmState {
    pub(crate) const UNKNOWN: AlgorithmState =
        AlgorithmState { bw_mbps: f32::NAN, min_rtt_ms: f32::NAN, pacing_gain: f32::NAN, phase: -1 };
}

/// The state of an algorithm of Fairpace.
impl From<Observation> for AlgorithmState {
    fn from(seen: Observation) -> Self {
        let some = |value: f32, there: bool| if there { value } else { f32::NAN };
        AlgorithmState {
            bw_mbps: some(mbps(seen.bw_Bps), seen.bw_Bps > 0),
            min_rtt_ms: seen.min_rtt_us.map_or(f32::NAN, |us| us as f32 / 1e3),
            pacing_gain: some(seen.pacing_gain_256 as f32 / 256.0, seen.pacing_gain_256 > 0),
            phase: seen.phase as i8,
        }
    }
}

/// The state of the kernel's own `bbr`.
impl From<BbrInfo> for AlgorithmState {
    fn from(info: BbrInfo) -> Self {
        AlgorithmState {
            bw_mbps: mbps(info.bandwidth_bytes_per_s()),
            min_rtt_ms: if info.min_rtt_us == u32::MAX { f32::NAN } else { info.min_rtt_us as f32 / 1e3 },
            pacing_gain: info.pacing_gain_256 as f32 / 256.0,
            phase: phase_of_bbr1(info.pacing_gain_256, info.cwnd_gain_256).map_or(-1, |phase| phase as i8),
        }
    }
}

/// Returns the phase of BBRv1 from its gains: it reports no phase, but each phase has its own pair of gains.
/// `None`: these are not BBRv1's gains.
fn phase_of_bbr1(pacing_gain_256: u32, cwnd_gain_256: u32) -> Option<Phase> {
    /// The unit of gains, 1/256 (Linux `BBR_UNIT`).
    const UNIT: Option<u32> = Some(256);
    let bbr1 = Params::defaults(Algorithm::by_name("bbr1").ok()?);
    let [startup, drain, up, down, cwnd] =
        ["startup_gain", "drain_gain", "probe_up_gain", "probe_down_gain", "cwnd_gain"].map(|n| bbr1.get(n));
    let phases = [
        ((startup, startup), Phase::Startup),
        ((drain, startup), Phase::Drain),
        ((up, cwnd), Phase::ProbeBwUp),
        ((down, cwnd), Phase::ProbeBwDown),
        ((UNIT, cwnd), Phase::ProbeBwCruise),
        ((UNIT, UNIT), Phase::ProbeRtt),
    ];
    let gains = (Some(pacing_gain_256), Some(cwnd_gain_256));
    phases.into_iter().find(|(of_phase, _)| *of_phase == gains).map(|(_, phase)| phase)
}

/// The state of a flow at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) cwnd_pkts: f32,
    pub(crate) inflight_pkts: f32,
    pub(crate) pacing_mbps: f32,
    pub(crate) algorithm: AlgorithmState,
    /// Number of segments retransmitted since the connection began.
    pub(crate) retransmits: u64,
    pub(crate) limits: Limits,
    pub(crate) delivered: Delivered,
}

/// Packets that were delivered since the connection began, as its sender knows: what its algorithm sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) pkts: u32,
    /// Packets that were delivered with CE.
    pub(crate) marked_pkts: u32,
}

/// Times in which a connection was held back since it began, as Linux measures them (RFC 4898 calls them
/// SndLim).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Time in which the connection had data to send, us.
    pub(crate) busy_us: u64,
    /// Time in which the receive window was full, or the send buffer was empty because it was too small, us.
    pub(crate) buffers_us: u64,
}

impl Limits {
    /// The part of the busy time in which socket buffers held the connection back, 0 to 1.
    pub(crate) fn buffer_limited(self) -> f64 {
        self.buffers_us as f64 / self.busy_us.max(1) as f64
    }
}

impl Sample {
    /// Returns the sample of a flow that has not started, or has ended after `retransmits` retransmissions.
    pub(crate) fn absent(retransmits: u64) -> Self {
        let nan = f32::NAN;
        Sample {
            cwnd_pkts: nan,
            inflight_pkts: nan,
            pacing_mbps: nan,
            algorithm: AlgorithmState::UNKNOWN,
            retransmits,
            limits: Limits::default(),
            delivered: Delivered::default(),
        }
    }

    /// Samples a connection. `algorithm` is the state of its congestion control.
    pub(crate) fn take(fd: BorrowedFd<'_>, algorithm: AlgorithmState) -> io::Result<Self> {
        let info = sockopt::tcp_info(fd)?;
        // tcp_packets_in_flight(): sent, and neither lost nor SACKed nor acknowledged, plus retransmitted.
        let left = info.tcpi_sacked.saturating_add(info.tcpi_lost);
        let inflight = info.tcpi_unacked.saturating_sub(left).saturating_add(info.tcpi_retrans);
        Ok(Sample {
            cwnd_pkts: info.tcpi_snd_cwnd as f32,
            inflight_pkts: inflight as f32,
            // all ones: no pacing
            pacing_mbps: if info.tcpi_pacing_rate == u64::MAX {
                f32::NAN
            } else {
                mbps(info.tcpi_pacing_rate)
            },
            algorithm,
            retransmits: u64::from(info.tcpi_total_retrans),
            limits: Limits {
                busy_us: info.tcpi_busy_time,
                buffers_us: info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited,
            },
            delivered: Delivered { pkts: info.tcpi_delivered, marked_pkts: info.tcpi_delivered_ce },
        })
    }

    /// Appends the sample to a series.
    pub(crate) fn push(&self, series: &mut FlowSeries) {
        series.cwnd_pkts.push(self.cwnd_pkts);
        series.inflight_pkts.push(self.inflight_pkts);
        series.pacing_mbps.push(self.pacing_mbps);
        series.bw_mbps.push(self.algorithm.bw_mbps);
        series.min_rtt_ms.push(self.algorithm.min_rtt_ms);
        series.pacing_gain.push(self.algorithm.pacing_gain);
        series.phase.push(self.algorithm.phase);
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
    fn unknown_state_is_nan() {
        let reno = Observation {
            bw_Bps: 0,
            min_rtt_us: None,
            pacing_gain_256: 0,
            cwnd_gain_256: 0,
            phase: Phase::SlowStart,
        };
        let algorithm = AlgorithmState::from(reno);
        assert!(
            algorithm.bw_mbps.is_nan() && algorithm.min_rtt_ms.is_nan() && algorithm.pacing_gain.is_nan()
        );
        assert_eq!(algorithm.phase, Phase::SlowStart as i8);
        let bbr = AlgorithmState::from(Observation { bw_Bps: 1_250_000, min_rtt_us: Some(10_500), ..reno });
        assert_eq!((bbr.bw_mbps, bbr.min_rtt_ms), (10.0, 10.5));
    }
}
