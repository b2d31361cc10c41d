//! Faults of a scenario: problems whose place in a file is not known yet.

use crate::key::Section;

/// A description of a problem, and of what to write instead.
#[derive(Debug, Clone)]
pub(crate) struct Complaint {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Complaint {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    /// Returns the complaint about values that are each in range but do not go together.
    pub(crate) fn impossible(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new("impossible", message, help)
    }

    /// Returns the fault with this complaint about a key of a typed scenario.
    pub(crate) fn of(self, section: Section, index: usize, key: &'static str) -> Fault {
        Fault { section, index, key, item: None, complaint: self }
    }
}

/// A complaint with the value of a typed scenario that it is about. `index` counts links, and flows with
/// groups expanded.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) section: Section,
    pub(crate) index: usize,
    /// The key; empty for the part as a whole.
    pub(crate) key: &'static str,
    /// The index of the item, if the value is a list.
    pub(crate) item: Option<usize>,
    pub(crate) complaint: Complaint,
}

/// Returns the fault of values that are each in range but do not go together.
pub(crate) fn impossible(
    section: Section,
    index: usize,
    key: &'static str,
    message: impl Into<String>,
    help: impl Into<String>,
) -> Fault {
    Complaint::impossible(message, help).of(section, index, key)
}
