//! What is wrong with a scenario, before its place in a file is known.

use crate::key::Section;

/// What is wrong, and what to write.
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

    /// Values that are each in range but do not go together.
    pub(crate) fn impossible(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new("impossible", message, help)
    }

    /// The complaint about this key of a typed scenario.
    pub(crate) fn of(self, section: Section, index: usize, key: &'static str) -> Fault {
        Fault { section, index, key, item: None, complaint: self }
    }
}

/// The value of a typed scenario that a complaint is about. `index` counts links, and flows with groups
/// expanded.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) section: Section,
    pub(crate) index: usize,
    /// Empty: the part as a whole.
    pub(crate) key: &'static str,
    /// Which item of a list.
    pub(crate) item: Option<usize>,
    pub(crate) complaint: Complaint,
}

/// A fault of values that are each in range but do not go together.
pub(crate) fn impossible(
    section: Section,
    index: usize,
    key: &'static str,
    message: impl Into<String>,
    help: impl Into<String>,
) -> Fault {
    Complaint::impossible(message, help).of(section, index, key)
}
