//! The call of a command that takes some time: its global options, signals and output.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;

/// The call of a command that a signal ends early.
pub(crate) struct Call<'a> {
    /// The options that every command has.
    pub(crate) global: Global,
    /// The signals that arrived since the call began.
    pub(crate) signals: Signals,
    /// The destination of the results.
    pub(crate) out: &'a mut Output,
}

impl<'a> Call<'a> {
    /// Catches signals from now on.
    pub(crate) fn begin(global: Global, out: &'a mut Output) -> Result<Self, Failure> {
        Ok(Self { global, signals: Signals::catch()?, out })
    }
}
