//! Internal: only Fairpace's own crates use it. Robustness tests: invalid input and stressful conditions, on
//! purpose.
//!
//! - [`abuse`]: starts the program `fairpace` thousands of times with hostile input, and judges each
//!   invocation.
//! - [`soak`]: loads, replaces and unloads algorithms while many connections send checked data.
//! - [`hostile`]: algorithms that decide what none should, in the simulator and on the running kernel.
//! - [`machine`]: what they need of the machine.
//! - [`args`]: the arguments of these three commands of `fairpace-dev`.
//!
//! It has no random scenarios (`fairpace-sim`, for `fairpace-dev swarm`) and no fuzzer (`fairpace-fuzz`).

pub mod abuse;
pub mod args;
pub mod hostile;
pub mod machine;
pub mod soak;
