//! What the kernel host tells BBRv3 of sends and losses, held against what happened, over the testbed's
//! emulated path.
//!
//! A binary of its own, because cargo runs test binaries one after the other: the streams and the verifier's
//! work in the binary `all` would take processor time from these runs.

mod sends;
#[allow(dead_code, reason = "the binary `all` uses the rest")]
#[path = "../all/support/mod.rs"]
mod support;
mod truth;
