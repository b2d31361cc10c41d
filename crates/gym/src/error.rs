//! Why environments could not be made, reset or stepped.

use fairpace_scenario::Invalid;

/// Why environments could not be made, reset or stepped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none.
    #[error("there is no environment; give at least one")]
    NoEnvironment,
    /// A list of scenarios is empty.
    #[error("environment {environment} has no scenario; give at least one")]
    NoScenario {
        /// Its index.
        environment: usize,
    },
    /// What an environment draws is not in order, or a scenario that it can draw is wrong.
    #[error("environment {environment}: {reason}")]
    Drawn {
        /// Its index.
        environment: usize,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// A scenario is not valid.
    #[error("environment {environment}, seed {seed}: {invalid}")]
    Scenario {
        /// Its index.
        environment: usize,
        /// The seed of the episode.
        seed: u64,
        /// What is wrong with it.
        invalid: Box<Invalid>,
    },
    /// A valid scenario is not one for an environment.
    #[error("environment {environment}, seed {seed}: {reason}")]
    Unfit {
        /// Its index.
        environment: usize,
        /// The seed of the episode.
        seed: u64,
        /// Why, and what to write.
        reason: String,
    },
    /// A value of an action is not a number in its range.
    #[error(
        "environment {environment}, agent \"{agent}\": {column} is {value}; it is a number from {least} to \
         {most}"
    )]
    Action {
        /// The index of the environment.
        environment: usize,
        /// The name of the agent's flow.
        agent: String,
        /// The column of the action.
        column: &'static str,
        /// What was given.
        value: f32,
        /// The least value.
        least: f32,
        /// The largest value.
        most: f32,
    },
    /// An array has another length than the environments need.
    #[error("{what} has {found} values; {rows} rows of {columns} columns are {}", rows * columns)]
    Length {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Rows that it needs.
        rows: usize,
        /// Columns that each has.
        columns: usize,
    },
    /// There is no such environment.
    #[error("there is no environment {environment}; there are {environments}, from 0 on")]
    NoSuchEnvironment {
        /// The index.
        environment: usize,
        /// How many there are.
        environments: usize,
    },
    /// An environment has no episode: it has not been reset, or its last reset failed.
    #[error("environment {environment} has no episode; reset it first")]
    NotReset {
        /// Its index.
        environment: usize,
    },
    /// The caller has stopped it.
    #[error("stopped before the end; the environments have no episode: reset them first")]
    Stopped,
    /// The system gave no threads.
    #[error("the system does not start {jobs} threads: {reason}")]
    Threads {
        /// How many were asked for.
        jobs: usize,
        /// What it says.
        reason: String,
    },
}
