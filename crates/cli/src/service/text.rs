//! Texts on changes of defaults.

use fairpace_kernel::DefaultChange;

/// A sentence on the change of a default.
pub(super) fn sentence(change: &DefaultChange) -> String {
    let DefaultChange { before, after, instead_of } = change;
    match instead_of {
        None if before == after => format!("the default of this network namespace is {after}, set again"),
        None => format!("the default of this network namespace is {after}; it was {before}"),
        Some(former) if former.is_empty() => {
            format!(
                "the default of this network namespace is {after}: which one was before {before} is not known"
            )
        }
        Some(former) => {
            format!("the default of this network namespace is {after}: {former} is not offered any more")
        }
    }
}
