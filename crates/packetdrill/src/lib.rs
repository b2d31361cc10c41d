//! Internal: only Fairpace's own crates use it. An interpreter of packetdrill scripts for the simulated TCP:
//! the tests in which Linux's own TCP is specified, against `fairpace-tcp`, in virtual time.
//!
//! [`Script::parse`] reads the language of google/packetdrill: packets that arrive and packets that are
//! expected, with their times, system calls, shell commands that set up the host, and Python that looks at
//! `tcp_info`. [`run()`] performs a script. An [`Outcome`] that is no pass names the line, what was expected,
//! and what the stack did, and when. What the stack has not is refused by name, never passed over.
//!
//! It is not packetdrill: it sends nothing to a kernel, and it is no TCP. The sender and the receiver are
//! those of `fairpace-tcp`, which count in packets of one MSS; this crate adds only what lies around them:
//! the roles of client and server, bytes, options, and the FIN of an idle connection. Not compared are the
//! window that the stack announces, NOP options, timestamps without `--tcp_ts_tick_usecs`, the PSH of
//! retransmissions, and a PSH that the script expects in the middle of what was written.
//!
//! - `parse.rs`, `script.rs`: the grammar; `python.rs`, `evaluate.rs`: the Python
//! - `check.rs`: what is refused before a script runs; `setup.rs`: shell commands
//! - `run.rs`: the clock and the order of events; `calls.rs`, `fd.rs`: system calls; `expect.rs`: packets
//!   that are expected
//! - `endpoint.rs`, `agreed.rs`, `shake.rs`, `segment.rs`, `info.rs`, `tuned.rs`: the stack
//! - [`Population`]: lists of scripts that are counted together

#![forbid(unsafe_code)]

mod agreed;
mod calls;
mod check;
mod endpoint;
mod evaluate;
mod expect;
mod fd;
mod info;
mod outcome;
mod parse;
mod population;
mod python;
mod run;
mod script;
mod segment;
mod setup;
mod shake;
mod tuned;

pub use outcome::{Outcome, Record};
pub use population::Population;
pub use run::run;
pub use script::Script;
pub use tuned::Mutant;
