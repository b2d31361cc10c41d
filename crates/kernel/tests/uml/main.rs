//! In User-mode Linux, whose kernel has the algorithms built in: each is the same function there as in the
//! native build. JITed BPF is compared in the binary `all`.
//!
//! No test harness: the program is also the first process of the guest, where it makes the comparison.

#[path = "../all/support/pair.rs"]
mod pair;
#[path = "../all/support/streams.rs"]
mod streams;

use std::env;

use fairpace_cc::Algorithm;
use fairpace_kernel::Replay;
use fairpace_results::Silent;
use fairpace_test_support::skip;
use fairpace_virtual::{Emulator, Error, Job, Machine, Refusal, Wanted, guest};

/// What the guest says if nothing differs, as the message of a refusal: this job has no result to return.
const SAME: &str = "every algorithm is the same function";

/// In the guest: compares all algorithms but presets, which are there an algorithm with other parameters. A
/// difference is a panic of the first process, whose message ends the host's error.
fn compare() -> Refusal {
    for algorithm in Algorithm::all().filter(|algorithm| algorithm.preset().is_none()) {
        pair::parity_of(algorithm, Replay::built_in);
        assert!(pair::notices_one_packet(algorithm, Replay::built_in), "{algorithm}");
    }
    Refusal { code: 0, message: SAME.to_owned(), help: String::new() }
}

fn main() {
    if env::args().nth(1).as_deref() == Some(guest::COMMAND) {
        let served = guest::serve(|_, _, _| Err(compare()));
        return served.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    }
    let this = env::current_exe().expect("a test program");
    let wanted = Wanted { emulator: Some(Emulator::Uml), series: None };
    let machine = match Machine::find(&this, wanted) {
        Ok(machine) => machine,
        Err(error) => return skip(&error.to_string()),
    };
    println!("{}", machine.description());
    let booted = machine.boot(&|| false).expect("it boots");
    let job = Job { seed: 1, toml: String::new(), files: Vec::new(), headers: Vec::new() };
    match booted.run(&job, &mut Silent) {
        Err(Error::Guest(refusal)) if refusal.message == SAME => println!("{SAME}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("this job has no result"),
    }
}
