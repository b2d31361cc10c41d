//! Internal: only Fairpace's own crates use it. A TCP sender and receiver that behave like those of Linux
//! 6.18, without I/O: time is an argument, segments are values.
//!
//! The crate models what congestion control depends on: SACK scoreboard, RACK-TLP, RTO and F-RTO, PRR, undo,
//! delivery rate samples, TSO bursts, pacing by earliest departure time, delayed ACKs, SACK compression, GRO,
//! ECN, and rwnd with its autotuning. [`Sending`] and [`ReceiverConfig`] have fields that switch some of
//! these mechanisms off. Data is counted in packets of one MSS, which is constant, and is not stored;
//! sequence numbers are packet numbers and do not wrap. The cost per ACK does not depend on the number of
//! packets in flight, and memory is proportional to it.
//!
//! It is not a TCP for real networks: it has no window scaling, no changes of the path MTU, no close
//! handshake, no receivers that renege and no applications that read slowly. Timers are those of a kernel
//! with 250 jiffies per second, and late by the mean of its timer wheel; timers of the handshake are on time.
//! It does not read scenarios and has no network. Comments cite RFCs, or the Linux function that the code
//! follows.
//!
//! A sender and a receiver, 10 ms apart:
//!
//! ```
//! use fairpace_cc::{Algorithm, Controller, Params};
//! use fairpace_tcp::{Ack, Nanos, Receiver, ReceiverConfig, Segment, Sender, Sending};
//!
//! const ONE_WAY: Nanos = 10_000_000;
//! let params = Params::defaults(Algorithm::by_name("bbr3").expect("the algorithm exists"));
//! let mut sender = Sender::<Controller>::new(Sending::default(), 1, params);
//! let mut receiver = Receiver::new(ReceiverConfig::linux(2 * ONE_WAY));
//!
//! let (mut segments, mut acks): (Vec<Segment>, Vec<(Nanos, Ack)>) = (Vec::new(), Vec::new());
//! sender.connect(0, &mut segments);
//! sender.write(0, 10, &mut segments);
//! for now in [ONE_WAY, 3 * ONE_WAY] {
//!     for segment in segments.drain(..) {
//!         receiver.on_segment(now, segment, &mut acks);
//!     }
//!     for (left, ack) in acks.drain(..) {
//!         sender.on_ack(left + ONE_WAY, &ack, &mut segments);
//!     }
//! }
//! assert!(sender.is_idle(), "all ten packets are acknowledged");
//! assert_eq!((receiver.rcv_nxt(), sender.srtt_us()), (10, 20_000));
//! ```

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
mod time;
mod wire;

pub use config::{Ecn, ReceiverConfig, Sending, Window};
pub use control::Control;
pub use receiver::Receiver;
pub use sender::{Sender, SenderInfo, SenderStats};
pub use time::Nanos;
pub use wire::{Ack, AckWire, Block, EcnField, HEADER_BYTES, MSS_BYTES, SYN_BYTES, Segment, Wire};
