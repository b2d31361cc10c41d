//! Network namespaces and changes of defaults, for people.

use std::fs;
use std::path::Path;

use fairpace_kernel::{DefaultChange, Namespace};

/// A network namespace, for people.
pub(super) fn place(namespace: &Namespace) -> String {
    let path = &namespace.found_at;
    let process = path.strip_prefix("/proc").ok().and_then(|rest| rest.iter().next()?.to_str());
    match process.filter(|process| process.bytes().all(|b| b.is_ascii_digit())) {
        Some(process) => {
            let command = fs::read_to_string(Path::new("/proc").join(process).join("comm"));
            format!("the network namespace of process {process} ({})", command.unwrap_or_default().trim())
        }
        None => format!("the network namespace {}", path.display()),
    }
}

/// What happened to the default, as a sentence.
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
