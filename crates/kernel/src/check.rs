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

/// What is checked, and why it matters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topic(pub(crate) &'static str, pub(crate) &'static str);

impl Topic {
    pub(crate) fn ok(self, found: impl Into<String>) -> Check {
        self.check(Standing::Ok, found, "")
    }

    pub(crate) fn missing(self, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        self.check(Standing::Missing, found, remedy)
    }

    pub(crate) fn degraded(self, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        self.check(Standing::Degraded, found, remedy)
    }

    fn check(self, standing: Standing, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        let Topic(what, matters) = self;
        Check { what, standing, found: found.into(), matters, remedy: remedy.into() }
    }
}
