//! What decides the result of a run besides its scenario and seed: the sources of the simulator and of the
//! algorithms, as hashes.

use fairpace_scenario::{Cc, Scenario};
use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Hash of the simulator's sources.
const SIMULATOR: &str = env!("FAIRPACE_SIMULATOR");

/// Hash of the simulator and of a scenario's algorithms, in hexadecimal digits.
#[must_use]
pub fn identity(scenario: &Scenario) -> String {
    let sum = Sha256::digest(format!("{SIMULATOR}{}", of_algorithms(scenario)));
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The algorithms of a scenario, each with the hash of its sources.
pub(crate) fn of_algorithms(scenario: &Scenario) -> String {
    let name = |cc: &Cc| Cc::split(&cc.to_string()).0.to_owned();
    let mut names: Vec<String> = scenario.flows.iter().map(|flow| name(&flow.cc)).collect();
    names.sort();
    names.dedup();
    let with_source = |name: &String| {
        let source = SOURCES.iter().find(|(known, _)| known == name).map_or("", |(_, source)| *source);
        format!(" {name} {source}")
    };
    names.iter().map(with_source).collect()
}
