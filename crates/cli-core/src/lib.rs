//! Internal: only Fairpace's own crates use it. Parts that the programs `fairpace` and `fairpace-dev` share.
//!
//! - [`program`]: parses arguments, performs a command, turns its result into an exit code.
//! - [`args`]: arguments that every command has, and value parsers.
//! - [`output`], [`table`], [`summary`]: standard output as text or JSON, aligned columns, metrics of runs.
//! - [`failure`]: errors with a remedy and an exit code.
//! - [`result_dir`]: `--out DIR`, which replaces an earlier result and changes no other file.
//! - [`new_file`]: a file that replaces an earlier one unless that was changed.
//! - [`progress`], [`signals`]: progress bars, and signals that end a run in order.
//! - [`headers`], [`supervised`]: the user's own algorithms, and the process that they run in.
//! - [`host`], [`batch`]: one run in the simulator or on the kernel; many simulations on a thread pool.
//! - [`place`], `kernel_host`: where runs take place; the kernel of real flows.
//! - `virtual_time`, `guest`: kernels in virtual time, and the first process in one.
//! - [`algorithms`]: the algorithms with their parameters, as records.
//! - [`wrap`]: text in lines of limited width.
//! - [`beside`]: records of other programs, which are shown beside runs.
//! - [`comparison`]: scenarios that are made from arguments instead of a file.
//!
//! This crate has no command, and no module computes a metric. The API follows the two programs and is not
//! stable.

#![deny(unsafe_code)]

pub mod algorithms;
pub mod args;
pub mod batch;
pub mod beside;
pub mod comparison;
mod escape;
pub mod failure;
#[cfg(feature = "kernel")]
pub mod guest;
pub mod headers;
pub mod host;
#[cfg(feature = "kernel")]
pub mod kernel_host;
pub mod new_file;
pub mod output;
pub mod place;
pub mod program;
pub mod progress;
pub mod result_dir;
pub mod signals;
pub mod summary;
pub mod supervised;
pub mod table;
#[cfg(feature = "virtual")]
pub mod virtual_time;
pub mod wrap;
