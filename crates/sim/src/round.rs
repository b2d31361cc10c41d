//! Rounds of requests: the flows of each barrier, and a flow's place in its round.

use fairpace_netem::Nanos;
use fairpace_scenario::Scenario;

/// A flow's place in a round of its barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Round {
    /// The flow has no barrier.
    #[default]
    None,
    /// The response has not arrived.
    Running,
    /// The response arrives at this time, which may be a while from now, since a receiver gets a packet as it
    /// leaves the last link. The barrier does not know it yet.
    Arrived(Nanos),
    /// The response arrives at this time, others are missing.
    Waiting(Nanos),
    /// The flow has just stopped or failed: the barrier does not know it yet.
    Leaving,
    /// The flow has stopped or failed.
    Left,
}

impl Round {
    /// Records that the flow sends no more responses.
    pub(crate) fn leave(&mut self) {
        if !matches!(self, Round::None | Round::Left) {
            *self = Round::Leaving;
        }
    }
}

/// Returns the flows of each barrier, in the order of their names.
pub(crate) fn barriers(scenario: &Scenario) -> Vec<Vec<u32>> {
    let mut names: Vec<&str> = scenario.flows.iter().filter_map(|flow| flow.barrier.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let has = |name: &&str, index: &u32| scenario.flows[*index as usize].barrier.as_deref() == Some(*name);
    let all = 0..scenario.flows.len() as u32;
    names.iter().map(|name| all.clone().filter(|index| has(name, index)).collect()).collect()
}
