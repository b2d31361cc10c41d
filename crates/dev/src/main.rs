//! The program `fairpace-dev`; see the crate's library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fairpace_cli_core::program::main::<fairpace_dev::Cli>()
}
