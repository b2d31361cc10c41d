//! The result of a check of the kernel or machine, for people.

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Ok,
    /// Works, with a loss that the check explains.
    Degraded,
    /// Loading cannot work.
    Missing,
}

/// A check of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was checked, in a few words.
    pub what: &'static str,
    /// The result.
    pub standing: Standing,
    /// What was found.
    pub found: String,
    /// Why it matters.
    pub matters: &'static str,
    /// What to do; empty when all is well.
    pub remedy: String,
}

impl Check {
    pub(crate) fn ok(what: &'static str, found: String, matters: &'static str) -> Check {
        Check { what, standing: Standing::Ok, found, matters, remedy: String::new() }
    }

    pub(crate) fn missing(
        what: &'static str,
        found: String,
        matters: &'static str,
        remedy: impl Into<String>,
    ) -> Check {
        Check { what, standing: Standing::Missing, found, matters, remedy: remedy.into() }
    }

    pub(crate) fn degraded(
        what: &'static str,
        found: String,
        matters: &'static str,
        remedy: impl Into<String>,
    ) -> Check {
        Check { what, standing: Standing::Degraded, found, matters, remedy: remedy.into() }
    }
}
