//! Congestion control algorithms: one C source for the simulator, the Linux kernel and any other transport.
//!
//! The C headers of this package are the algorithms: BBRv1, BBRv2, BBRv3, published variants of BBRv1, CUBIC
//! and Reno (`algorithms.def` lists them). This crate compiles them for the target and wraps them in a safe
//! interface. [`Algorithm`] describes an algorithm and its parameters, [`Params`] holds their values, and a
//! [`Controller`] runs the algorithm for one flow: the host fills a [`View`] on every ACK and applies the
//! [`Decision`]. The crate does not send packets, keep time or know a protocol, and contains no algorithm of
//! its own.
//!
//! # Run an algorithm against your own transport
//!
//! A transport reports each ACK with a delivery rate sample and applies cwnd and pacing rate. This one sends
//! packets of 1448 bytes over a link of one packet per millisecond with a base RTT of 40 ms.
//!
//! ```
//! use fairpace_cc::{Algorithm, Controller, Decision, Params, View};
//! use std::collections::VecDeque;
//!
//! let mut params = Params::defaults(Algorithm::by_name("bbr1")?);
//! params.set("probe_up_gain", "1.25")?;
//! let mut view = View { random: 7, ..View::default() }; // a new connection
//! let mut decision = Decision::in_force(&view);
//! let mut flow = Controller::new(&params, &view, &mut decision);
//!
//! let mut sent = VecDeque::new(); // per packet in flight: departure, time of its ACK, delivered_pkts
//! let (mut now_us, mut next_departure_us, mut link_free_us) = (0_u64, 0_u64, 0_u64);
//! while now_us < 5_000_000 {
//!     let ack_us = sent.front().map_or(u64::MAX, |&(_, ack_us, _)| ack_us);
//!     if sent.len() < decision.cwnd_pkts as usize && next_departure_us <= ack_us {
//!         now_us = now_us.max(next_departure_us); // send a packet
//!         link_free_us = link_free_us.max(now_us) + 1_000;
//!         sent.push_back((now_us, link_free_us + 39_000, view.delivered_pkts));
//!         next_departure_us = now_us + 1_448 * 1_000_000 / decision.pacing_rate_Bps;
//!         continue;
//!     }
//!     view.prior_inflight_pkts = sent.len() as u32; // receive an ACK
//!     let (sent_us, ack_us, prior_delivered_pkts) = sent.pop_front().expect("cwnd is at least 1");
//!     now_us = ack_us;
//!     let rtt_us = (now_us - sent_us) as u32;
//!     (view.now_us, view.delivered_us) = (now_us, now_us);
//!     view.delivered_pkts += 1;
//!     view.inflight_pkts = sent.len() as u32;
//!     view.departure_lead_us = next_departure_us.saturating_sub(now_us) as u32;
//!     (view.srtt_us, view.min_rtt_us) = (rtt_us, view.min_rtt_us.min(rtt_us));
//!     (view.rtt_us, view.acked_pkts) = (rtt_us as i32, 1);
//!     view.sample_prior_delivered_pkts = prior_delivered_pkts;
//!     view.sample_delivered_pkts = (view.delivered_pkts - prior_delivered_pkts) as i32;
//!     view.sample_interval_us = rtt_us as i32;
//!     decision = Decision { min_burst_pkts: decision.min_burst_pkts, ..Decision::in_force(&view) };
//!     flow.on_ack(&view, &mut decision);
//!     (view.cwnd_pkts, view.pacing_rate_Bps) = (decision.cwnd_pkts, decision.pacing_rate_Bps);
//! }
//!
//! let model = flow.observe();
//! assert!((1_400_000..1_500_000).contains(&model.bw_Bps), "1448 bytes per ms: {model:?}");
//! assert_eq!(model.min_rtt_us, Some(40_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A transport with losses also calls [`Controller::on_event`]: see [`Event`], and [`Kind`] for how host and
//! algorithm share the control of cwnd. The full description is `contract/contract.h` in this package.
//!
//! # The C sources in other builds
//!
//! The build script of a crate that depends on this one finds the folder of the C sources in the environment
//! variable `DEP_FAIRPACE_CC_INCLUDE`. `fairpace-kernel` compiles them for eBPF that way.
//! [`Params::as_bytes`], [`Controller::state_bytes`] and [`Algorithm::observe_bytes`] read and write the
//! memory layout that both builds share.

mod agent;
mod algorithm;
mod clamp;
mod contract;
mod controller;
mod ffi;
mod interval;
mod names;
mod params;
#[cfg(feature = "plugin")]
pub mod plugin;
mod sends;
mod value;
#[cfg(feature = "plugin")]
pub mod watch;

/// The begin of a SHA-256 of the C of all algorithms and of what they include, in hexadecimal digits. A
/// kernel into which they are built (`linux/` of this crate's repository) says which it has.
pub const SOURCES: &str = env!("CC_SOURCES");

pub use agent::{Action, ActionError, FEATURES};
#[cfg(feature = "plugin")]
pub use algorithm::Origin;
pub use algorithm::{Algorithm, Kind, Parameter, Preset, UnknownAlgorithm};
pub use clamp::{Bounds, Clamps};
pub use contract::{
    CaState, Decision, Event, INFINITE, MIN_BURST_PKTS, NO_RATE, NO_RTT, Observation, Phase, View,
};
pub use controller::{Controller, StateSizeError};
pub use ffi::NATIVE_DEFINES;
pub use interval::Interval;
pub use names::nearest;
pub use params::{ParamError, Params};
pub use sends::KernelSends;
pub use value::Unit;
