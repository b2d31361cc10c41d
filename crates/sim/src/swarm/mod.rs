//! Random scenarios, and conditions that must hold for every run: for `fairpace-dev swarm` and the tests of
//! this crate.

mod check;
mod draw;
mod ledger;

pub use check::{check, write};
pub use draw::scenario;
