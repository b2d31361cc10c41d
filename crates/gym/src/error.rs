//! Errors of making, resetting and stepping environments.

use fairpace_scenario::Invalid;

/// The reason why environments could not be made, reset or stepped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no environment.
    #[error("there is no environment; give at least one")]
    NoEnvironment,
    /// A list of scenarios is empty.
    #[error("environment {environment} has no scenario; give at least one")]
    NoScenario {
        /// Index of the environment.
        environment: usize,
    },
    /// The ranges of an environment are not in order, or a scenario that it can draw is wrong.
    #[error("environment {environment}: {reason}")]
    Drawn {
        /// Index of the environment.
        environment: usize,
        /// Description of the problem, and what to write.
        reason: String,
    },
    /// A scenario is not valid.
    #[error("environment {environment}, seed {seed}: {invalid}")]
    Scenario {
        /// Index of the environment.
        environment: usize,
        /// The seed of the episode.
        seed: u64,
        /// The problems of the scenario.
        invalid: Box<Invalid>,
    },
    /// A valid scenario cannot be used for an environment.
    #[error("environment {environment}, seed {seed}: {reason}")]
    Unfit {
        /// Index of the environment.
        environment: usize,
        /// The seed of the episode.
        seed: u64,
        /// Description of the problem, and what to write.
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
        /// The given value.
        value: f32,
        /// The least value.
        least: f32,
        /// The largest value.
        most: f32,
    },
    /// An array has another length than the environments need.
    #[error("{what} has {found} values; {rows} rows of {columns} columns are {}", rows * columns)]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Length of the array.
        found: usize,
        /// Number of rows that the array needs.
        rows: usize,
        /// Number of columns of each row.
        columns: usize,
    },
    /// There is no such environment.
    #[error("there is no environment {environment}; there are {environments}, from 0 on")]
    NoSuchEnvironment {
        /// The requested index.
        environment: usize,
        /// Number of environments.
        environments: usize,
    },
    /// An environment has no episode: it has not been reset, or its last reset failed.
    #[error("environment {environment} has no episode; reset it first")]
    NotReset {
        /// Index of the environment.
        environment: usize,
    },
    /// The caller has stopped the call.
    #[error("stopped before the end; the environments have no episode: reset them first")]
    Stopped,
    /// The system gave no threads.
    #[error("the system does not start {jobs} threads: {reason}")]
    Threads {
        /// Number of requested threads.
        jobs: usize,
        /// Message of the system.
        reason: String,
    },
}
