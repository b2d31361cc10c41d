//! What the programs `fairpace` and `fairpace-dev` share.
//!
//! - [`program`]: parses arguments, performs a command, turns its result into an exit code.
//! - [`args`]: arguments that every command has, and value parsers.
//! - [`output`], [`table`], [`summary`]: standard output as text or JSON, aligned columns, metrics of runs.
//! - [`failure`]: errors with a remedy and an exit code.
//! - [`progress`], [`signals`]: progress bars, and signals that end a run in order.
//! - [`host`], [`batch`]: one run in the simulator or on the kernel; many simulations on a thread pool.
//! - [`comparison`]: scenarios that are made from arguments instead of a file.
//!
//! No command is in here, and no module computes a metric. The API follows the two programs and is not
//! stable.

pub mod args;
pub mod batch;
pub mod comparison;
pub mod failure;
pub mod host;
pub mod output;
pub mod program;
pub mod progress;
pub mod signals;
pub mod summary;
pub mod table;
