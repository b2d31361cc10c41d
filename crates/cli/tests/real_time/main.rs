//! `fairpace` with flows of this kernel, in real time.
//!
//! A binary of its own, because cargo runs test binaries one after the other: no other test of ours takes
//! processor time from these runs. Within this binary each test holds a lock.

mod recipe;
#[allow(dead_code, reason = "the binary `all` uses the rest")]
#[path = "../all/support/mod.rs"]
mod support;
mod testbed;

use std::path::Path;

use fairpace_test_support::announce;
use support::{Ended, Place};

impl Ended {
    /// Whether every attempt was disturbed, which standard error then says. Such a run is not judged: it
    /// shows the machine's load, not an error of the program.
    fn is_disturbed(&self) -> bool {
        /// The program's exit code for a disturbed run.
        const DISTURBED: i32 = 4;
        if self.code == DISTURBED {
            announce("NOT JUDGED", &self.error()["message"].to_string());
        }
        self.code == DISTURBED
    }
}

impl Place {
    /// Runs a copy of the program that a test has built.
    fn run_other(&self, program: &Path, arguments: &[&str]) -> Ended {
        self.command_of(program, arguments).output().unwrap().into()
    }
}
