//! What the algorithms cost the verifier. Its limit is a million instructions a program, but long before that
//! loading gets slow, and a change that doubles the count once can do so again: a jump is a failure here.
//!
//! The counts are recorded in cc/bpf/verifier-budget.toml. They depend on compiler and kernel; to record
//! those of this machine: `FAIRPACE_RECORD_BUDGET=1 cargo test -p fairpace-kernel --test all verifier::`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use crate::support::{has_kernel, load_transient};
use fairpace_cc::Algorithm;

const BUDGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cc/bpf/verifier-budget.toml");
/// No program may take more, whatever is recorded.
const CEILING: u32 = 50_000;

/// By algorithm, then by program.
type Counts = BTreeMap<String, BTreeMap<String, u32>>;

fn measured() -> Counts {
    let of = |algorithm: Algorithm| {
        let loaded = load_transient(algorithm.name());
        let programs = loaded.programs().iter().map(|p| (p.name.clone(), p.verified_instructions));
        (algorithm.name().to_owned(), programs.collect())
    };
    Algorithm::all().map(of).collect()
}

fn record(counts: &Counts) {
    let compiler = std::process::Command::new("clang").arg("--version").output().expect("clang");
    let compiler = String::from_utf8_lossy(&compiler.stdout).lines().next().unwrap_or_default().to_owned();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").expect("osrelease");
    let mut text = format!(
        "# Instructions that the kernel's verifier goes through, per algorithm and program. CI fails when \
         an\n# algorithm's sum grows by more than half. Recorded by \
         crates/kernel/tests/all/verifier.rs with\n# {compiler}, Linux {}.\n",
        kernel.trim().split('-').next().unwrap_or_default()
    );
    for (algorithm, programs) in counts {
        writeln!(text, "\n[{algorithm}]").expect("string");
        for (program, count) in programs {
            writeln!(text, "{program} = {count}").expect("string");
        }
    }
    fs::write(BUDGET, text).expect("write the budget");
}

/// What is over budget, in words.
fn excess(budget: &Counts, counts: &Counts) -> Vec<String> {
    let mut complaints = Vec::new();
    for (algorithm, programs) in counts {
        for (program, &count) in programs.iter().filter(|(_, count)| **count > CEILING) {
            complaints.push(format!("{algorithm}: {program} takes {count}, more than {CEILING}"));
        }
        let sum: u32 = programs.values().sum();
        match budget.get(algorithm).map(|recorded| recorded.values().sum::<u32>()) {
            None => complaints.push(format!("{algorithm}: takes {sum}, none recorded")),
            Some(recorded) if sum > recorded + recorded / 2 => {
                complaints.push(format!("{algorithm}: takes {sum}, recorded are {recorded}: {programs:?}"));
            }
            Some(_) => {}
        }
    }
    complaints
}

#[test]
fn no_algorithm_costs_the_verifier_half_more_than_recorded() {
    if !has_kernel() {
        return;
    }
    let counts = measured();
    for (algorithm, programs) in &counts {
        println!("{algorithm}: {} {programs:?}", programs.values().sum::<u32>());
        assert!(programs.values().all(|&count| count > 0), "this kernel does not count: {programs:?}");
    }
    if std::env::var_os("FAIRPACE_RECORD_BUDGET").is_some() {
        record(&counts);
    }
    let budget =
        toml::from_str(&fs::read_to_string(BUDGET).expect("read the budget")).expect("the budget is TOML");
    assert_eq!(excess(&budget, &counts), [""; 0]);
}

#[test]
fn growth_by_half_passes_and_more_is_found() {
    let counts =
        |n| Counts::from([("a".to_owned(), BTreeMap::from([("f".to_owned(), n), ("g".to_owned(), 10)]))]);
    assert_eq!(excess(&counts(1000), &counts(1505)), [""; 0]);
    assert_eq!(excess(&counts(1000), &counts(1506)).len(), 1);
    assert_eq!(excess(&Counts::new(), &counts(1)).len(), 1);
    assert_eq!(excess(&counts(CEILING), &counts(CEILING + 1)).len(), 1);
}
