//! Check of links and file names in Markdown whose target does not exist.
//!
//! The check covers targets in the repository only: it fetches nothing.

use std::collections::BTreeSet;

use crate::tree::{File, Violation};

const LINKS: &str = "dead link";
const MENTIONS: &str = "dead file name";
/// Extensions of source files, for which a path must exist. Paths of results such as `out/flows.csv` need
/// not.
const SOURCES: &[&str] = &["rs", "c", "h", "def", "md", "sh", "toml"];
/// Words in a path that stand for any name.
const ANY: &[&str] = &["NAME", "CRATE", "FILE", "DIR", "PAPER", "FIGURE"];
/// Folders with which a path in the sources of Linux begins.
const LINUX: &[&str] = &["net", "include", "kernel", "tools", "linux", "sched", "uapi"];

/// The targets that links may have.
pub(crate) struct Known {
    /// Paths of files and folders.
    paths: BTreeSet<String>,
    /// Anchors of pages, as `FILE#ANCHOR`.
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
    for (first, text) in paragraphs(&file.text) {
        let line_at = |at: usize| first + text[..at].matches('\n').count();
        let (without_spans, spans) = spans(&text);
        for (at, target) in link_targets(&without_spans) {
            if let Some(what) = dead_link(file, target, known) {
                found.push(Violation::new(LINKS, file, line_at(at), what));
            }
        }
        for (at, span) in spans {
            if is_dead_mention(file, span, known) {
                let what = format!("`{span}` does not exist");
                found.push(Violation::new(MENTIONS, file, line_at(at), what));
            }
        }
    }
}

/// The files and folders that a page links to, from the root of the repository.
pub(crate) fn targets(page: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (_, text) in paragraphs(&page.text) {
        let (without_spans, _) = spans(&text);
        for (_, target) in link_targets(&without_spans) {
            let path = target.trim_matches(['<', '>']).split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") {
                found.push(resolve(&page.path, path));
            }
        }
    }
    found
}

/// Paragraphs outside of code blocks, with the number of their first line. A code span may continue in the
/// next line.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut next = 0;
    for (line, text) in prose(text).filter(|(_, text)| !text.trim().is_empty()) {
        match found.last_mut() {
            Some((_, paragraph)) if line == next => {
                paragraph.push('\n');
                paragraph.push_str(text);
            }
            _ => found.push((line, text.to_owned())),
        }
        next = line + 1;
    }
    found
}

/// Lines outside of code blocks, with their numbers from 1 on.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The paragraph with its code spans blanked, and the spans with their places.
fn spans(paragraph: &str) -> (String, Vec<(usize, &str)>) {
    let (mut blanked, mut spans) = (String::with_capacity(paragraph.len()), Vec::new());
    for (index, part) in paragraph.split('`').enumerate() {
        if index % 2 == 0 {
            blanked.push_str(part);
        } else {
            spans.push((blanked.len(), part));
            blanked.extend(part.chars().map(|c| if c == '\n' { c } else { '_' }));
        }
        blanked.push('`');
    }
    (blanked, spans)
}

/// The targets of `[text](target)` and of `[name]: target`, with their places.
fn link_targets(paragraph: &str) -> Vec<(usize, &str)> {
    let ends = [')', ' ', '\n'];
    let inline = paragraph.match_indices("](");
    let inline = inline.map(|(at, _)| (at, paragraph[at + 2..].split(ends).next().unwrap_or_default()));
    let mut next = 0;
    let references = paragraph.split_inclusive('\n').filter_map(|line| {
        let at = next;
        next += line.len();
        let (_, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
        Some((at, target.trim()))
    });
    inline.chain(references).collect()
}

/// The problem of a link; `None` if its target exists.
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

/// Whether a code span names a file or folder of the repository that does not exist, neither from the root
/// nor beside the page.
fn is_dead_mention(file: &File, span: &str, known: &Known) -> bool {
    let path = span.split(':').next().unwrap_or_default().trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let first = path.split('/').next().unwrap_or_default();
    let stands_for_any = path.split(['/', '.', '_', '-']).any(|part| ANY.contains(&part));
    if !path.contains('/') || path.starts_with('/') || !path.chars().all(is_plain) || LINUX.contains(&first) {
        return false;
    }
    let is_source = path.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension));
    let ours = is_source || (known.has_folder_at_root(first) && !path.contains("..."));
    let exists = [path.to_owned(), resolve(&file.path, path)].iter().any(|path| known.paths.contains(path));
    ours && !exists && !stands_for_any
}

/// The path from the root, for a path beside a file.
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

/// The anchors that GitHub makes of headings, in lower case, with hyphens for spaces and without punctuation;
/// and the anchors of HTML.
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

    /// Line numbers of the violations of a page docs/a.md beside docs/b.md and src/x.rs.
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
        assert_eq!(found("`src/README.md`"), [1], "not every name in capitals stands for any");
        assert_eq!(found("`a span\nof two lines` `src/y.rs`\n\n`src/z.rs`"), [2, 4]);
    }
}
