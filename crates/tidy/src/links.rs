//! Links and file names in Markdown that lead nowhere.
//!
//! Only what is in the repository is looked at: nothing is fetched.

use std::collections::BTreeSet;

use crate::tree::{File, Violation};

const LINKS: &str = "dead link";
const MENTIONS: &str = "dead file name";
/// Files with these endings are sources, and a path to one must exist. Results such as `out/series.csv` need
/// not.
const SOURCES: &[&str] = &["rs", "c", "h", "def", "md", "sh", "toml"];
/// Where a path in the sources of Linux begins.
const LINUX: &[&str] = &["net", "include", "kernel", "tools", "linux", "sched", "uapi"];

/// What can be linked to.
pub(crate) struct Known {
    /// Files and folders.
    paths: BTreeSet<String>,
    /// `FILE#ANCHOR`.
    anchors: BTreeSet<String>,
}

impl Known {
    pub(crate) fn new(files: &[File]) -> Known {
        let mut known = Known { paths: BTreeSet::from([String::new()]), anchors: BTreeSet::new() };
        for file in files {
            let folders = file.path.match_indices('/').map(|(at, _)| file.path[..at].to_owned());
            known.paths.extend(folders);
            known.paths.insert(file.path.clone());
            if file.is_markdown() {
                known
                    .anchors
                    .extend(anchors(&file.text).into_iter().map(|anchor| format!("{}#{anchor}", file.path)));
            }
        }
        known
    }

    fn has_folder_at_root(&self, name: &str) -> bool {
        !name.contains('.') && self.paths.contains(name)
    }
}

/// Finds relative links to files and anchors that do not exist, and names of such files in backticks.
pub(crate) fn check(file: &File, known: &Known, found: &mut Vec<Violation>) {
    if !file.is_markdown() {
        return;
    }
    for (line, text) in prose(&file.text) {
        for target in link_targets(&without_spans(text)) {
            if let Some(what) = dead_link(file, target, known) {
                found.push(Violation::new(LINKS, file, line, what));
            }
        }
        for span in text.split('`').skip(1).step_by(2) {
            if is_dead_mention(file, span, known) {
                let what = format!("`{span}` does not exist");
                found.push(Violation::new(MENTIONS, file, line, what));
            }
        }
    }
}

/// Lines outside of code blocks, from 1 on.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The line with its code spans blanked.
fn without_spans(line: &str) -> String {
    line.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "code" }).collect()
}

/// The targets of `[text](target)` and of `[name]: target`.
fn link_targets(line: &str) -> Vec<&str> {
    let inline =
        line.match_indices("](").map(|(at, _)| line[at + 2..].split([')', ' ']).next().unwrap_or_default());
    let reference = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    inline.chain(reference.map(|(_, target)| target.trim())).collect()
}

/// What is wrong with a link.
fn dead_link(file: &File, target: &str, known: &Known) -> Option<String> {
    let target = target.trim_matches(['<', '>']);
    if target.contains("://") || target.starts_with("mailto:") || target.is_empty() {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path) };
    if !known.paths.contains(path.trim_end_matches('/')) {
        return Some(format!("{path} does not exist"));
    }
    let missing =
        path.ends_with(".md") && !anchor.is_empty() && !known.anchors.contains(&format!("{path}#{anchor}"));
    missing.then(|| format!("{path} has no heading #{anchor}"))
}

/// Whether a code span names a file or folder of ours that does not exist, from the root or from beside the
/// page.
fn is_dead_mention(file: &File, span: &str, known: &Known) -> bool {
    let path = span.split(':').next().unwrap_or_default().trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let first = path.split('/').next().unwrap_or_default();
    // NAME and the like stand for any name
    let stands_for_any = path.split(['/', '.', '_', '-']).any(|part| part.len() > 1 && is_upper(part));
    if !path.contains('/') || path.starts_with('/') || !path.chars().all(is_plain) || LINUX.contains(&first) {
        return false;
    }
    let is_source = path.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension));
    let ours = is_source || (known.has_folder_at_root(first) && !path.contains("..."));
    let exists = [path.to_owned(), resolve(&file.path, path)].iter().any(|path| known.paths.contains(path));
    ours && !exists && !stands_for_any
}

fn is_upper(part: &str) -> bool {
    part.chars().all(|c| c.is_ascii_uppercase())
}

/// A path beside a file, from the root.
fn resolve(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors that GitHub makes of headings: lower case, hyphens for spaces, no punctuation; and those of
/// HTML.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        for (at, attribute) in line.match_indices(" id=\"").chain(line.match_indices(" name=\"")) {
            anchors.extend(line[at + attribute.len()..].split('"').next().map(str::to_owned));
        }
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase().replace(' ', "-");
        let slug: String = kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let same = anchors.iter().filter(|anchor| **anchor == slug).count();
        anchors.push(if same == 0 { slug } else { format!("{slug}-{same}") });
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Violations of a page docs/a.md beside docs/b.md and src/x.rs.
    fn found(text: &str) -> Vec<usize> {
        let page = File::new("docs/a.md", text);
        let files =
            [File::new("docs/a.md", text), File::new("docs/b.md", "# A `b`: c\n"), File::new("src/x.rs", "")];
        let mut found = Vec::new();
        check(&page, &Known::new(&files), &mut found);
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_dead_link_is_found() {
        assert_eq!(
            found("[a](b.md) [c](../src/x.rs) [d](../src) [e](https://x.y/z) ![f](#g)\n\n# g"),
            [0; 0]
        );
        assert_eq!(
            found("[a](c.md)\n![b](../src/y.rs)\n[r]: b.rs\n`[a](c.md)`\n```\n[a](c.md)\n```"),
            [1, 2, 3]
        );
    }

    #[test]
    fn a_dead_anchor_is_found() {
        assert_eq!(found("[a](b.md#a-b-c)\n[a](b.md#a-c)\n[a](#no)"), [2, 3]);
    }

    #[test]
    fn a_dead_file_name_is_found() {
        assert_eq!(
            found("`src/x.rs` `src/x.rs:12` `src` `src/` `out/a.json` `src/NAME.rs` `net/ipv4/a.c`"),
            [0; 0]
        );
        assert_eq!(found("`src/y.rs`\n`src/y`\n`other/y.rs:3`"), [1, 2, 3]);
    }
}
