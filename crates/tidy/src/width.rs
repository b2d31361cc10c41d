//! Check of the width of lines: rustfmt breaks neither comments nor strings, clang-format breaks no comments,
//! and no tool breaks Markdown, scripts and settings.

use crate::tree::{File, Violation};

const CHECK: &str = "width";
/// Columns of Rust: `max_width` in rustfmt.toml.
const RUST: usize = 110;
/// Columns of C: `ColumnLimit` in .clang-format.
const C: usize = 120;
/// Columns of prose in Markdown. Tables cannot be broken.
const MARKDOWN: usize = 130;
/// Columns of scripts, of the Makefile, and of comments in TOML. A string in TOML has one line.
const SCRIPT: usize = 140;
/// Columns of a tab: `TabWidth` in .clang-format.
const TAB: usize = 8;

/// Finds lines over the width, unless they have no space at which they can be broken.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    let limit = match () {
        () if file.is_rust() => RUST,
        () if file.is_c() => C,
        () if file.is_markdown() => MARKDOWN,
        () if matches!(file.extension(), "sh" | "toml") || file.path.ends_with("Makefile") => SCRIPT,
        () => return,
    };
    let mut fenced = false;
    for (index, line) in file.text.lines().enumerate() {
        if file.is_markdown() {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            if fenced || fence || line.trim_start().starts_with('|') {
                continue;
            }
        }
        if file.extension() == "toml" && !line.trim_start().starts_with('#') {
            continue;
        }
        let line = if file.is_markdown() { &without_marks(line) } else { line };
        let width = columns(line);
        if width > limit && can_be_broken(line, limit) {
            let what = format!("{width} columns, {limit} at most");
            found.push(Violation::new(CHECK, file, index + 1, what));
        }
    }
}

/// A line without the marks of a number that is filled from a table, which readers do not see.
fn without_marks(line: &str) -> String {
    let mut parts = line.split("<!-- n:");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = |out, part: &str| out + part.split_once(" -->").map_or(part, |(_, after)| after);
    parts.fold(first, rest).replace("<!-- /n -->", "")
}

fn columns(line: &str) -> usize {
    line.chars().fold(0, |at, c| if c == '\t' { at + TAB - at % TAB } else { at + 1 })
}

/// Whether a word other than the first begins within the limit, so that the line can be broken there. Comment
/// and list marks are no words.
fn can_be_broken(line: &str, limit: usize) -> bool {
    let is_mark = |word: &str| !word.contains(char::is_alphanumeric);
    let mut words = 0;
    let mut at = 0;
    for word in line.split(' ') {
        if !word.is_empty() && at <= limit {
            words += usize::from(words > 0 || !is_mark(word.trim_start()));
        }
        at += columns(word) + 1;
    }
    words > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        check(&File::new(path, text), &mut found);
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_line_over_its_width_is_found() {
        let limits = [("a.rs", RUST), ("a.h", C), ("a.md", MARKDOWN), ("a.sh", SCRIPT), ("a.toml", SCRIPT)];
        for (path, limit) in limits {
            let exact = format!("## word {}", "x".repeat(limit - 8));
            assert_eq!(lines(path, &exact), [0; 0]);
            assert_eq!(lines(path, &format!("\n{exact}x")), [2]);
        }
        assert_eq!(lines("a.c", &format!("\t\t// a {}", "x".repeat(100))), [1; 1], "a tab has eight columns");
    }

    #[test]
    fn marks_of_a_filled_number_have_no_width() {
        let filled = "<!-- n:key -->5<!-- /n --> ms and <!-- n:b -->6<!-- /n --> ms";
        let line = |x| format!("{} {filled}", "x".repeat(x));
        assert_eq!(lines("a.md", &line(116)), [0; 0]);
        assert_eq!(lines("a.md", &line(117)), [1]);
    }

    #[test]
    fn what_cannot_be_broken_and_tables_and_code_may_be_wide() {
        let wide = "x".repeat(140);
        assert_eq!(lines("a.rs", &format!("    /// https://{wide}")), [0; 0]);
        assert_eq!(lines("a.toml", &format!("why = \"a {wide}\"")), [0; 0]);
        assert_eq!(lines("a.md", &format!("| a | {wide} |\n\n```\na {wide}\n```\n- a {wide}")), [6]);
    }
}
