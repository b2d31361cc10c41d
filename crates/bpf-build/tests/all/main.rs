//! Compilation with the clang of this machine.

mod compile;
mod native;
