//! Internal: only Fairpace's own crates use it. Test cases for implementations of BBR, and a runner that
//! applies them over stdin and stdout.
//!
//! - `cases/`: the 22 cases of the appendix of draft-ietf-ccwg-bbr-06, a file each ([`case`]). They are data:
//!   a path, its changes, and the conditions that must hold, with their section.
//! - [`run`](run()): a sender and a path in virtual time, which obey the answers of a subject and report
//!   events
//!   to it. A congestion controller behind the interface of its transport can answer them ([`protocol`]).
//! - [`adaptor`]: a subject that is another process. [`serve`](serve()): the other end, for adaptors in Rust.
//! - [`Own`]: the algorithms of `fairpace-cc` as a subject.
//!
//! It does not measure speed, fairness or competition (`fairpace evaluate` does), and its path is not the
//! simulator: one flow, one bottleneck, no randomness, nothing that a reader of the draft would have to
//! guess.

#![forbid(unsafe_code)]
#![allow(non_snake_case)] // Bps: bytes per second, as in the JSON

pub mod adaptor;
pub mod case;
mod cases;
mod observe;
mod own;
mod path;
pub mod protocol;
mod run;
mod sampler;
mod serve;
mod transport;

pub use cases::contained;
pub use own::Own;
pub use protocol::Subject;
pub use run::{Mismatch, Outcome, Peer, run};
pub use serve::serve;
