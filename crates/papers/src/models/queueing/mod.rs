//! The queueing model of Tao et al., GLOBECOM 2018: how two BBR flows share a link.
//!
//! Flow 0 has the shorter RTT; the RTT of flow 1 is `ratio` times as long. Each flow sends at its estimate of
//! the bandwidth. The bottleneck divides its capacity in proportion to the inflight of the flows (equation
//! 6), and each share is the next estimate.
//!
//! * [`literal`]: equations 1 to 22 as printed, with their errors.
//! * [`corrected`]: equation 6 solved exactly, with BBR's filter of ten rounds, which the printed closed form
//!   leaves out.
//! * [`simulation`]: the two flows in continuous time, event by event.
//!
//! Rates may have any unit if all rates have the same one. Times are in seconds. A share is between 0 and 1.

pub mod corrected;
pub mod literal;
pub mod simulation;

/// Time between two PROBE_RTTs minus the length of one (equation 21), seconds.
pub const PROBE_BW_S: f64 = 10.0 - 0.2;

/// A flow with at most this share counts as drained (section IV-C).
pub const STARVED: f64 = 0.001;
