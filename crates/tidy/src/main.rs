//! Internal: only Fairpace's own crates use it. Checks the tree against the rules of CONTRIBUTING.md that
//! neither rustc nor clippy nor clang checks.
//!
//! This is a program over all files that git tracks: widths, sizes of files and functions, comments of
//! constants, links, pages without a link to them, numbers in prose, words that the glossary forbids, machine
//! paths, stray headers, and import cycles. It is not a parser of Rust or C: each check parses as much syntax
//! as it needs, and its header says so.
//!
//! `cargo test -p fairpace-tidy` fails on a violation; `cargo run -p fairpace-tidy` lists the violations.

#![forbid(unsafe_code)]

mod bytes;
mod constants;
mod cycles;
mod exempt;
mod headers;
mod inbound;
mod links;
mod mask;
mod numbers;
mod paths;
mod size;
mod tree;
mod width;
mod words;

use std::path::Path;
use std::process::ExitCode;

use tree::{File, Violation};

/// Every violation in these files that is not exempt.
fn violations(files: &[File]) -> Vec<Violation> {
    let mut found = all(files);
    found.retain(|violation| !exempt::is_exempt(violation));
    found.sort_by(|a, b| (&a.path, a.line, a.check).cmp(&(&b.path, b.line, b.check)));
    found
}

/// Every violation in these files.
fn all(files: &[File]) -> Vec<Violation> {
    let glossary = files.iter().find(|file| file.path == words::GLOSSARY);
    let forbidden = words::forbidden(glossary.map_or("", |file| &file.text));
    let known = links::Known::new(files);
    let mut found = Vec::new();
    for file in files {
        width::check(file, &mut found);
        size::check(file, &mut found);
        bytes::check(file, &mut found);
        constants::check(file, &mut found);
        links::check(file, &known, &mut found);
        words::check(file, &forbidden, &mut found);
        paths::check(file, &mut found);
    }
    words::check_list(files, &forbidden, &mut found);
    headers::check(files, &mut found);
    inbound::check(files, &mut found);
    numbers::check(files, &mut found);
    cycles::check(files, &mut found);
    found
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn main() -> ExitCode {
    let found = violations(&tree::files(root()));
    found.iter().for_each(|violation| println!("{violation}"));
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let found = violations(&tree::files(root()));
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
    }

    #[test]
    fn every_exemption_hides_something() {
        let found = all(&tree::files(root()));
        for exemption in exempt::EXEMPTIONS {
            for check in exemption.checks {
                let hides =
                    |found: &Violation| found.check == *check && found.path.starts_with(exemption.path);
                assert!(found.iter().any(hides), "{}: {check}", exemption.path);
            }
            assert!(exemption.reason.len() > 10, "{}", exemption.path);
        }
    }
}
