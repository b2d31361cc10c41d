//! What a script has shown.

use fairpace_scenario::Problem;
use serde::Serialize;

/// The outcome of a script.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The stack did what the script expects.
    Passed {
        /// Settings without effect on the stack.
        ignored: Vec<String>,
        /// Lines that the script's Python printed.
        printed: Vec<String>,
    },
    /// The stack did something else: the line, what was expected, and what the stack did, and when.
    Failed(Box<Problem>),
    /// The script needs what the stack has not: the line, and the name of it.
    Inexpressible(Box<Problem>),
}

impl Outcome {
    /// The word for tables and records.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed { .. } => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::Inexpressible(_) => "cannot be expressed",
        }
    }

    /// The line and the reason, unless the script passed.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Outcome::Passed { .. } => None,
            Outcome::Failed(problem) | Outcome::Inexpressible(problem) => Some(problem),
        }
    }

    /// The record of the outcome.
    #[must_use]
    pub fn record(&self, name: &str) -> Record {
        let (ignored, printed) = match self {
            Outcome::Passed { ignored, printed } => (ignored.clone(), printed.clone()),
            _ => Default::default(),
        };
        let problem = self.problem();
        Record {
            script: name.to_owned(),
            outcome: self.word(),
            line: problem.map(|problem| problem.line),
            message: problem.map(|problem| problem.message.clone()),
            detail: problem.map(|problem| problem.help.clone()),
            ignored,
            printed,
        }
    }
}

/// An outcome as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// The script.
    pub script: String,
    /// `passed`, `failed` or `cannot be expressed`.
    pub outcome: &'static str,
    /// The line of the script that failed or cannot be expressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What failed or cannot be expressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the stack did, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Settings without effect on the stack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Lines that the script's Python printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
}
