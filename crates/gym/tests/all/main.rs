//! Environments from outside.

mod batch;
mod errors;
mod parity;
mod properties;
mod stop;
mod support;
