//! Files that a check leaves out, each with its reason.

use crate::tree::Violation;

/// An exemption: files whose path begins with a text are left out of some checks.
pub(crate) struct Exemption {
    pub(crate) path: &'static str,
    /// Names of the checks.
    pub(crate) checks: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and for the test that there is one"))]
    pub(crate) reason: &'static str,
}

/// All exemptions.
pub(crate) const EXEMPTIONS: &[Exemption] = &[
    Exemption {
        path: "crates/tidy/src/",
        checks: &["word", "machine path"],
        reason: "the checks and their tests name what they look for",
    },
    Exemption { path: "docs/glossary.md", checks: &["word"], reason: "the list of words not to use is here" },
];

/// Whether a violation is in a file that its check leaves out.
pub(crate) fn is_exempt(violation: &Violation) -> bool {
    EXEMPTIONS.iter().any(|exemption| {
        violation.path.starts_with(exemption.path) && exemption.checks.contains(&violation.check)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    #[test]
    fn an_exemption_is_of_its_path_and_its_checks() {
        let violation = |check, path| Violation::new(check, &File::new(path, ""), 1, String::new());
        assert!(is_exempt(&violation("word", "docs/glossary.md")));
        assert!(!is_exempt(&violation("width", "docs/glossary.md")));
        assert!(!is_exempt(&violation("word", "docs/bbq.md")));
    }
}
