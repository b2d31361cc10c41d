//! The identity of a run: what decides its result, besides its scenario and seed.

use fairpace_scenario::Scenario;
use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Hash of the simulator's sources.
const SIMULATOR: &str = env!("FAIRPACE_SIMULATOR");

/// Hash of the simulator and of a scenario's algorithms, in hexadecimal digits.
pub(crate) fn identity(scenario: &Scenario) -> String {
    let mut names: Vec<String> = scenario.flows.iter().map(|flow| flow.cc.to_string()).collect();
    names.sort();
    names.dedup();
    let mut sum = Sha256::new();
    sum.update(SIMULATOR);
    for name in names {
        let source = SOURCES.iter().find(|(known, _)| *known == name).map_or("", |(_, source)| *source);
        sum.update(format!(" {name} {source}"));
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
