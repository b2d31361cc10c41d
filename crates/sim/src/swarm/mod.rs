//! Random scenarios, and what must hold of every run: for `fairpace-dev swarm` and the tests of this crate.

mod check;
mod draw;
mod ledger;

pub use check::{check, write};
pub use draw::scenario;
