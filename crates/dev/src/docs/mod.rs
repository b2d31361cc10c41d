//! `fairpace-dev docs`: all generated pages that take only seconds.
//!
//! Tables of long runs are written by `run` and `accuracy` between the marks of their pages. Numbers in prose
//! are filled from such tables here.

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

use crate::args::DocsArgs;
use crate::run::figures;
use crate::written;

/// A generated page.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn new(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text == self.text)
    }
}

pub(crate) fn run(args: &DocsArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let stale = stale(&args.dir)?;
    if args.check && !stale.is_empty() {
        let names: Vec<_> = stale.iter().map(|page| page.path.display().to_string()).collect();
        let message = format!("generated pages are out of date: {}", names.join(", "));
        return Err(Failure::new(Exit::Internal, message, "run `make docs` and commit the result"));
    }
    for page in &stale {
        new_file::write(&page.path, &page.text).map_err(|error| unusable(&page.path, &error))?;
    }
    let written: Vec<&Path> = stale.iter().map(|page| page.path.as_path()).collect();
    written::report(&written, global, out)?;
    if stale.is_empty() && !global.quiet && !global.json {
        out.line("all generated pages are up to date")?;
    }
    Ok(())
}

/// The pages of a checkout that are not as they would be written.
fn stale(root: &Path) -> Result<Vec<Page>, Failure> {
    let reference = root.join("docs/reference");
    let scenario = reference.join("scenario.md");
    let mut pages = vec![
        Page::new(reference.join("cli.md"), commands::product()),
        Page::new(reference.join("dev.md"), commands::maintainers()),
        Page::new(reference.join("algorithms.md"), algorithms::page()),
        Page::new(scenario.clone(), scenario_page(&scenario)?),
        Page::new(root.join("crates/python/python/fairpace/_keys.py"), python::page()),
    ];
    let papers = figures::pages(&root.join("reproduction"))?;
    pages.push(Page::new(papers.front.path().to_owned(), papers.front.text(&papers.tables)));
    pages.extend(papers.papers.into_iter().map(|(path, text)| Page::new(path, text)));
    pages.extend(numbers::pages(root)?);
    pages.retain(|page| !page.is_current());
    Ok(pages)
}

/// The page of scenario keys: its introduction is written by hand, the tables of keys are generated.
fn scenario_page(path: &Path) -> Result<String, Failure> {
    /// The first generated line.
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
        let names: Vec<_> = stale.iter().map(|page| &page.path).collect();
        assert!(names.is_empty(), "run `make docs`: {names:?}");
    }
}
