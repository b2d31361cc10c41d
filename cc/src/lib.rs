//! The congestion control algorithms of `cc/`, built natively, behind a safe interface.
//!
//! [`Algorithm`] says what exists and what can be set, [`Params`] holds the settings, [`Controller`] is one
//! flow's algorithm at work: it reads a [`View`] and writes a [`Decision`]. The same C files run in the kernel;
//! [`Params::as_bytes`] and [`Algorithm::observe_bytes`] speak the layout that the kernel objects use.
//!
//! This crate knows no protocol, clock, packet or socket, and contains no congestion control of its own: what a
//! sender does between two calls is `fairpace-tcp`, what the kernel does is `fairpace-kernel`. Adding an
//! algorithm does not change this crate: one file in `cc/` and one line in `cc/algorithms.def` are enough.

mod algorithm;
mod contract;
mod controller;
mod ffi;
mod params;
mod sends;
mod value;

pub use algorithm::{Algorithm, Kind, Parameter, Preset, UnknownAlgorithm};
pub use contract::{
    CaState, Decision, Event, INFINITE, MIN_BURST_PKTS, NO_RATE, NO_RTT, Observation, Phase, View,
};
pub use controller::{Controller, StateSizeError};
pub use params::{ParamError, Params};
pub use sends::KernelSends;
pub use value::Unit;
