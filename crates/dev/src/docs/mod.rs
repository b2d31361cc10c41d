//! `fairpace-dev docs`: writes all generated pages that take only seconds.
//!
//! `run` and `accuracy` write tables of long runs between the marks of their pages. This command fills
//! numbers in prose from such tables.

mod algorithms;
mod commands;
mod numbers;
mod python;

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use serde::Serialize;

use crate::args::DocsArgs;
use crate::run::figures;

/// A generated page: its path and its text.
type Page = (PathBuf, String);

/// The record that `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    written: Vec<String>,
}

pub(crate) fn run(args: &DocsArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let stale = stale(&args.dir)?;
    let names: Vec<String> = stale.iter().map(|(path, _)| path.display().to_string()).collect();
    if args.check && !stale.is_empty() {
        let message = format!("generated pages are out of date: {}", names.join(", "));
        return Err(Failure::new(Exit::Internal, message, "run `make docs` and commit the result"));
    }
    for (path, text) in &stale {
        new_file::write(path, text).map_err(|error| unusable(path, &error))?;
    }
    match (global.json, global.quiet) {
        (true, _) => out.json(&Record { written: names }),
        (_, true) => Ok(()),
        _ if names.is_empty() => out.line("all generated pages are up to date"),
        _ => names.iter().try_for_each(|name| out.line(&format!("{name} is written"))),
    }
}

/// The pages of a checkout that differ from their generated text.
fn stale(root: &Path) -> Result<Vec<Page>, Failure> {
    let reference = root.join("docs/reference");
    let scenario = reference.join("scenario.md");
    let scenario_page = scenario_page(&scenario)?;
    let mut pages = vec![
        (reference.join("cli.md"), commands::product()),
        (reference.join("dev.md"), commands::maintainers()),
        (reference.join("algorithms.md"), algorithms::page()),
        (scenario, scenario_page),
        (root.join("crates/python/python/fairpace/_keys.py"), python::page()),
    ];
    let papers = figures::pages(&root.join("reproduction"))?;
    pages.push((papers.front.path().to_owned(), papers.front.text(&papers.tables)));
    pages.extend(papers.papers);
    pages.extend(numbers::pages(root)?);
    let is_current = |(path, text): &Page| fs::read_to_string(path).is_ok_and(|found| found == *text);
    pages.retain(|page| !is_current(page));
    Ok(pages)
}

/// The page of scenario keys: its introduction is written by hand, the tables of keys are generated.
fn scenario_page(path: &Path) -> Result<String, Failure> {
    /// The first generated line of the page.
    const FIRST: &str = "\n## At the top";
    let page = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
    let (introduction, _) = page.split_once(FIRST).ok_or_else(|| {
        let message = format!("{} has no line `{}`", path.display(), FIRST.trim());
        Failure::new(Exit::Output, message, "its generated part begins there")
    })?;
    Ok(format!("{introduction}{}", fairpace_scenario::keys::reference()))
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    let another = "run this in a checkout of the repository, or name one with --dir";
    Failure::file("cannot use", path, error, another)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_pages_of_the_repository_are_up_to_date() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let stale = stale(root).unwrap_or_else(|failure| panic!("{failure}"));
        let names: Vec<_> = stale.iter().map(|(path, _)| path).collect();
        assert!(names.is_empty(), "run `make docs`: {names:?}");
    }
}
