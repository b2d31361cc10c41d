//! Functions of `kernel.rs` for a build that has only the simulator.

use crate::Record;

use super::{Evaluation, Works};
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::host::without_kernel;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::signals::Signals;
use fairpace_scenario::Scenario;

pub(super) fn check(_: Place, _: Option<&str>, _: &[Scenario]) -> Result<(), Failure> {
    Err(without_kernel())
}

pub(super) fn measure(_: &Evaluation<'_>, _: &Works, _: &mut Record, _: &Signals) -> Result<(), Failure> {
    Err(without_kernel())
}
