//! Runs libFuzzer for the target that the environment variable `FAIRPACE_FUZZ` names. Arguments are
//! libFuzzer's: folders of inputs, `-max_total_time=60`, `-jobs=2`.
#![no_main]
// the entry points that libFuzzer calls are symbols with fixed names
#![allow(unsafe_code)]

use std::sync::LazyLock;

use fairpace_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FAIRPACE_FUZZ").unwrap_or_default();
    Target::by_name(&name).unwrap_or_else(|| {
        let names = TARGETS.map(|target| target.name).join(", ");
        eprintln!("FAIRPACE_FUZZ=\"{name}\" names no target; there are {names}");
        std::process::exit(2);
    })
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
