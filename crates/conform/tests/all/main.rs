//! The tests of this crate that are not within its modules.

mod adaptors;
mod mutants;
mod own;
mod schemas;
