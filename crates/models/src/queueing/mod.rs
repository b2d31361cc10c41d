//! The queueing model of Tao et al., GLOBECOM 2018: how two BBR flows share a link.
//!
//! Flow 0 has the shorter RTT, flow 1 has `ratio` times of it. Each sends at its estimate of the bandwidth; the bottleneck
//! divides its capacity by the flows' data in flight (equation 6); that is the next estimate.
//!
//! * [`literal`]: equations 1 to 22 as printed, with their slips.
//! * [`corrected`]: equation 6 solved exactly, with BBR's filter of ten rounds, which the printed closed form leaves out.
//! * [`simulation`]: the two flows in continuous time, event by event.
//!
//! Rates may be in any unit as long as all are in the same; times are in seconds; a share is a part of 1.

pub mod corrected;
pub mod literal;
pub mod simulation;

/// Time between two visits to PROBE_RTT less the time of one (equation 21), seconds.
pub const PROBE_BW_S: f64 = 10.0 - 0.2;

/// At this share a flow counts as drained out (section IV-C).
pub const STARVED: f64 = 0.001;
