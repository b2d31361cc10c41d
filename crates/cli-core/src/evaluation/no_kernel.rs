//! In place of `kernel.rs` in a build that has only the simulator.

use fairpace_evaluate::Record;

use super::{Evaluation, Works};
use crate::failure::Failure;
use crate::host::without_kernel;
use crate::signals::Signals;

pub(super) fn check() -> Result<(), Failure> {
    Err(without_kernel())
}

pub(super) const fn release() -> String {
    String::new()
}

pub(super) fn measure(_: &Evaluation<'_>, _: &Works, _: &mut Record, _: &Signals) -> Result<(), Failure> {
    Err(without_kernel())
}
