//! Real flows in User-mode Linux: what the testbed measures where its subject is not real time. No load of
//! this machine disturbs a run, so tests run beside each other.
//!
//! The program is also the first process of each guest, where it performs the test that the host names.

mod drops;
mod links;
#[path = "../all/support/scenarios.rs"]
mod scenarios;
mod workloads;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::{env, fs, panic};

use fairpace_results::Silent;
use fairpace_scenario::Scenario;
use fairpace_test_support::skip;
use fairpace_testbed::{Error, Options, Outcome};
use fairpace_virtual::{Booted, Emulator, Error as VirtualError, Job, Machine, Refusal, Wanted, guest};
use libtest_mimic::{Arguments, Failed, Trial};

/// What the guest says if a test has passed, as the message of a refusal: there is no result to return.
const PASSED: &str = "passed";

/// A list of tests, each with its name.
macro_rules! tests {
    ($($module:ident::{$($test:ident,)*})*) => {
        &[$($((concat!(stringify!($module), "::", stringify!($test)), $module::$test),)*)*]
    };
}

const TESTS: &[(&str, fn())] = tests! {
    drops::{
        the_same_packets_are_dropped_as_in_the_simulator,
    }
    links::{
        a_flow_that_starts_late_and_stops_early_leaves_the_link_to_the_other,
        of_two_links_in_a_row_the_slower_one_has_the_queue,
        a_link_loses_polices_and_changes_its_rate_as_in_the_simulator,
        a_connection_without_an_answer_has_failed_and_ends_no_run,
        without_tso_packets_leave_one_by_one,
    }
    workloads::{
        a_finite_flow_is_complete_when_its_last_byte_has_arrived,
        a_flow_that_does_not_get_so_far_is_not_complete,
        an_application_that_pauses_leaves_the_link_idle_and_comes_back,
        a_live_stream_has_its_own_rate,
        a_flow_with_ecn_is_slowed_by_marks_and_another_by_losses,
        responses_follow_requests_and_wait_for_each_other_at_a_barrier,
        flows_of_different_mtus_send_full_packets_of_their_own,
        a_receive_window_holds_a_flow_back_as_in_the_simulator,
        accurate_ecn_is_refused_where_the_kernel_has_none,
        a_route_passes_its_own_links_and_acks_wait_in_a_queue_of_their_own,
        acks_are_held_back_lost_and_come_together_as_asked,
        a_managed_queue_holds_its_target_and_separates_flows,
        a_line_reorders_and_duplicates_what_passes_it,
    }
};

/// A run in the guest.
fn measure(scenario: &Scenario) -> Result<Outcome, Error> {
    let options = Options { wake_early: false, virtual_time: true, ..Options::default() };
    fairpace_testbed::measure(scenario, &mut Silent, &options)
}

/// A run in the guest, whose record is whole: nothing disturbs it.
fn measured(scenario: &Scenario) -> Outcome {
    let outcome = measure(scenario).expect("the testbed runs here");
    outcome.run.check().expect("a whole record");
    assert!(outcome.disturbed.is_none(), "{:?}", outcome.disturbed);
    outcome
}

/// In the guest: performs the test that the job names.
fn perform(job: &Path) -> Refusal {
    let name = fs::read_to_string(job).expect("the name of a test");
    let (_, test) = TESTS.iter().find(|(each, _)| *each == name).expect("the host knows the same tests");
    let failure = Arc::new(Mutex::new(None));
    let said = Arc::clone(&failure);
    panic::set_hook(Box::new(move |panic| *said.lock().expect("one panic") = Some(panic.to_string())));
    let message = match panic::catch_unwind(test) {
        Ok(()) => PASSED.to_owned(),
        Err(_) => failure.lock().expect("one panic").take().unwrap_or_default(),
    };
    Refusal { code: 0, message, help: String::new() }
}

/// In the host: boots User-mode Linux with this program for a test.
fn boot(booted: &Booted, name: &str) -> Result<(), Failed> {
    let job = Job { seed: 1, toml: name.to_owned(), files: Vec::new(), headers: Vec::new() };
    match booted.run(&job, &mut Silent) {
        Err(VirtualError::Guest(refusal)) if refusal.message == PASSED => Ok(()),
        Err(error) => Err(error.to_string().into()),
        Ok(_) => Err("a test has no result".into()),
    }
}

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(guest::COMMAND) {
        let served = guest::serve(|job, _, _| Err(perform(job)));
        served.unwrap_or_else(|refusal| panic!("{}", refusal.message));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let this = env::current_exe().expect("a test program");
    let wanted = Wanted { emulator: Some(Emulator::Uml), series: None };
    let booted = match Machine::find(&this, wanted).and_then(|machine| machine.boot(&|| false)) {
        Ok(booted) => Arc::new(booted),
        Err(error) => {
            skip(&error.to_string());
            return ExitCode::SUCCESS;
        }
    };
    let trial = |(name, _): &(&'static str, fn())| {
        let (name, booted) = (*name, Arc::clone(&booted));
        Trial::test(name, move || boot(&booted, name))
    };
    libtest_mimic::run(&arguments, TESTS.iter().map(trial).collect()).exit_code()
}
