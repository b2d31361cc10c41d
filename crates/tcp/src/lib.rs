//! A TCP sender and receiver as in Linux 6.18, without I/O: time is an argument, segments are values.
//!
//! It models what a congestion control algorithm can notice of its host: the SACK scoreboard, RACK-TLP, RTO and
//! F-RTO, PRR, undo, delivery-rate samples, TSO bursts, pacing by earliest departure time, delayed ACKs, SACK
//! compression, GRO, ECN, the receive window and its autotuning; each can be switched (see [`SenderConfig`] and
//! [`ReceiverConfig`]). Data is counted in packets of one MSS and never stored; sequence numbers are packet numbers and
//! do not wrap. Cost per ACK does not grow with what is in flight, and memory is proportional to it.
//!
//! It is not a TCP for a real network: no window scaling, no path MTU changes, no reneging receivers, no close handshake,
//! no application that is slow to read. Timers fire on time
//! where Linux rounds to jiffies. Comments cite RFCs, or the Linux function whose behaviour is meant.

#![allow(non_snake_case)] // bytes per second are _Bps, bits per second _bps, as in the contract

mod bits;
mod bursts;
mod config;
mod control;
mod pacer;
pub mod prefetch;
mod rack;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
mod wire;

pub use config::{Ecn, ReceiverConfig, SenderConfig, Window};
pub use control::Control;
pub use receiver::Receiver;
pub use sender::{Sender, SenderStats};
pub use wire::{Ack, AckWire, Block, HEADER_BYTES, MSS_BYTES, SYN_BYTES, Segment, Wire};

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// Nanoseconds in a microsecond, the resolution of TCP's own clock.
pub(crate) const US: Nanos = 1_000;
