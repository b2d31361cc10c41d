//! Traces of a simulation, read back by standard parsers.

mod failing;
mod reading;
