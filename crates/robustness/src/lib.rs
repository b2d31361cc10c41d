//! Internal: only Fairpace's own crates use it. Robustness tests with invalid input and stressful conditions.
//!
//! - [`abuse`]: starts the program `fairpace` thousands of times with hostile input, and judges each
//!   invocation.
//! - [`soak`]: loads, replaces and unloads algorithms while many connections send checked data.
//! - [`hostile`]: algorithms with invalid or extreme decisions, in the simulator and on the running kernel.
//! - [`machine`]: requirements of these tests on the machine.
//! - [`args`]: the arguments of these three commands of `fairpace-dev`.
//!
//! Random scenarios are in `fairpace-sim` (for `fairpace-dev swarm`), and the fuzzers in `fairpace-fuzz`.

pub mod abuse;
pub mod args;
pub mod hostile;
pub mod machine;
pub mod soak;
