//! What the kernel host reports to BBRv3 of sends and losses, compared with the true numbers, over the
//! testbed's emulated path; and a figure with real flows.
//!
//! A binary of its own, because cargo runs test binaries one after the other: the simulations of the binary
//! `all` would take processor time from these runs. Within this binary each test holds a lock.

mod figures;
mod sends;
