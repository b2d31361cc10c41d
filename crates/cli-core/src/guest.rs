//! The first process of a kernel in virtual time: it runs the testbed.

use std::path::Path;

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Target;
use fairpace_virtual::{Header, Refusal, guest};

use crate::failure::{Exit, Failure};
use crate::headers;
use crate::host::COMMIT;

/// The first process of the guest: runs the scenario that the host gives to it. It does not return there.
///
/// # Errors
/// Returns an error if this process is another one.
pub fn serve() -> Result<(), Failure> {
    guest::serve(perform).map_err(|Refusal { message, help, .. }| Failure::new(Exit::Usage, message, help))
}

/// Runs a scenario in the guest. The emulator does not wake early: it would read the clock all the time, and
/// these instructions are what virtual time costs.
fn perform(file: &Path, headers: Vec<Header>, monitor: &mut dyn Monitor) -> Result<Run, Refusal> {
    let refusal = |failure: Failure| Refusal {
        code: failure.code(),
        message: failure.to_string(),
        help: failure.help().unwrap_or_default().to_owned(),
    };
    headers::load_compiled(file.parent().unwrap_or(file), headers).map_err(refusal)?;
    let scenario =
        fairpace_scenario::load(file, &[], Target::Testbed).map_err(|error| refusal(error.into()))?;
    let commit = COMMIT.to_owned();
    let options =
        fairpace_testbed::Options { commit, wake_early: false, virtual_time: true, ..Default::default() };
    fairpace_testbed::run(&scenario, monitor, &options).map_err(|error| refusal(error.into()))
}
