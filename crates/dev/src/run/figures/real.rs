//! Figures with real flows, one after the other: on the running kernel, or on one in virtual time.

use std::num::NonZeroUsize;
use std::path::Path;

use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_cli_core::output::note;
use fairpace_papers::figure::Kernel;
use fairpace_scenario::{Scenario, Target};

use super::{Work, store_on};
use crate::run::Call;

/// Performs the missing runs, for each figure as many at a time as it allows. A figure with a disturbed run
/// is left out and reported as a failure at the end.
pub(super) fn measure(
    works: &[Work<'_>],
    kernel: &KernelHost,
    root: &Path,
    call: Call<'_>,
) -> Result<(), Failure> {
    let mut disturbed = None;
    for work in works {
        match measure_one(work, kernel, root, call) {
            Err(failure) if failure.is_disturbance() => {
                note(&format!("{}: not measured: {failure}", work.sheet.name()));
                disturbed.get_or_insert(failure);
            }
            other => other?,
        }
    }
    match disturbed {
        Some(failure) => {
            Err(failure.with_help("the other figures are finished; run it again on a quiet machine"))
        }
        None => Ok(()),
    }
}

/// Number of these real runs that may run at a time, for the reason that [`Kernel::at_a_time`] gives.
fn at_a_time(kernel: Option<&Kernel>, runs: &[&Scenario]) -> u32 {
    let sends_single_packets = |run: &&Scenario| run.flows.iter().any(|flow| !flow.sending.tso);
    let asked = kernel.map_or(1, |kernel| kernel.at_a_time);
    if runs.iter().any(sends_single_packets) { 1 } else { asked }
}

fn measure_one(work: &Work<'_>, kernel: &KernelHost, root: &Path, call: Call<'_>) -> Result<(), Failure> {
    let on = Target::Testbed;
    let cache = |of: &Scenario| store_on(Some(kernel), root, of);
    let keeping = call.keeping(root, &cache);
    let missing = keeping.missing(work.plan.scenarios(), on);
    let at_a_time = at_a_time(work.sheet.figure.kernel.as_ref(), &missing);
    let real = NonZeroUsize::new(at_a_time as usize).unwrap_or(NonZeroUsize::MIN);
    let jobs = kernel.at_a_time(real, call.args.jobs.at_a_time);
    if !call.global.quiet {
        let jobs = jobs.map_or_else(|| "one for each core".to_owned(), |jobs| jobs.to_string());
        note(&format!("{}: {} runs, {jobs} at a time", work.sheet.name_on(work.stack), missing.len()));
    }
    let progress = kernel.progress(&missing, call.global.quiet);
    let batch = Batch { jobs, signals: call.signals, progress: &progress };
    let done = batch.map(&missing, |scenario, job| {
        keeping.keep(scenario, &kernel.run(scenario, job, at_a_time == 1)?, on)
    });
    done.map(drop)
}

#[cfg(test)]
mod tests {
    use fairpace_test_support::{Folder, TWO_FLOWS};

    use super::*;

    #[test]
    fn real_flows_that_send_single_packets_run_alone() {
        let place = Folder::create();
        place.write("two.toml", TWO_FLOWS);
        let bursts = fairpace_scenario::load(&place.path().join("two.toml"), &[], Target::Simulator)
            .expect("it is a scenario");
        let mut single = bursts.clone();
        single.flows.iter_mut().for_each(|flow| flow.sending.tso = false);
        let kernel = Kernel { at_a_time: 3, ..Kernel::default() };
        assert_eq!(at_a_time(Some(&kernel), &[&bursts, &bursts]), 3);
        assert_eq!(at_a_time(Some(&kernel), &[&bursts, &single]), 1);
        assert_eq!(at_a_time(None, &[&bursts]), 1);
    }
}
