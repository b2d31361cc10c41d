//! What a command is given that takes a while.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;

/// The call of a command that a signal ends early.
pub(crate) struct Call<'a> {
    /// The options of every command.
    pub(crate) global: Global,
    /// The signals that have come since the call began.
    pub(crate) signals: Signals,
    /// Where the results go.
    pub(crate) out: &'a mut Output,
}

impl<'a> Call<'a> {
    /// Catches signals from now on.
    pub(crate) fn begin(global: Global, out: &'a mut Output) -> Result<Self, Failure> {
        Ok(Self { global, signals: Signals::catch()?, out })
    }
}
