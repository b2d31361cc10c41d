//! Tables and paragraphs in Markdown.

use fairpace_cli_core::wrap::wrapped;

/// A Markdown table: the first column is aligned to the left, the others, which hold numbers, to the right.
#[must_use]
pub fn markdown_table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---{}|\n", "|--:".repeat(header.len().saturating_sub(1)));
    [line(header), rule].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// A paragraph of a page of criteria.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, 120, "", |_| true) + "\n"
}
