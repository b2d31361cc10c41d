//! Check of pages to which no other page links: a reader would find them by chance only.

use std::collections::BTreeSet;

use crate::links;
use crate::tree::{File, Violation};

const CHECK: &str = "page without a link to it";
/// Folders whose pages need no link. A crate's README is the page of its registry, and the words of
/// `crates/papers/assets` are a part of generated pages.
const ELSEWHERE: &[&str] = &["crates/"];

/// Finds Markdown pages that no other page links to. A link to a folder leads to its README.
pub(crate) fn check(files: &[File], found: &mut Vec<Violation>) {
    let pages: Vec<&File> = files.iter().filter(|file| file.is_markdown()).collect();
    let linked: BTreeSet<String> = pages
        .iter()
        .flat_map(|page| links::targets(page).into_iter().filter(|target| *target != page.path))
        .flat_map(|target| [format!("{target}/README.md"), target])
        .collect();
    for page in pages {
        let is_meant = !ELSEWHERE.iter().any(|folder| page.path.starts_with(folder));
        if is_meant && !linked.contains(&page.path) {
            found.push(Violation::new(CHECK, page, 1, "no other page links to it".into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = pages.iter().map(|(path, text)| File::new(path, text)).collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        found.into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn a_page_that_nothing_or_only_itself_links_to_is_found() {
        let pages = [
            ("README.md", "[a](docs/a.md) [b](docs/b#part)"),
            ("docs/a.md", "[start](../README.md)"),
            ("docs/b/README.md", ""),
            ("docs/c.md", "[here](c.md) [top](#top)"),
            ("crates/d/README.md", ""),
        ];
        assert_eq!(found(&pages), ["docs/c.md"]);
    }

    #[test]
    fn a_link_in_a_code_block_is_none() {
        assert_eq!(found(&[("a.md", "```\n[b](b.md)\n```"), ("b.md", "[a](a.md)")]), ["b.md"]);
    }
}
