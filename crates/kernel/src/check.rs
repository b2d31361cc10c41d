//! The result of a check of the kernel or machine, with texts for users.

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The checked part is as it should be.
    Ok,
    /// Loading works, with a loss that the check explains.
    Degraded,
    /// Loading cannot work.
    Missing,
}

/// A check of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Subject of the check, in a few words.
    pub what: &'static str,
    /// The standing that the check found.
    pub standing: Standing,
    /// Finding of the check.
    pub found: String,
    /// Reason why the finding matters.
    pub matters: &'static str,
    /// Remedy; empty when none is needed.
    pub remedy: String,
}

/// Subject of a check, and the reason why it matters.
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
