//! Tables in Markdown.

/// A Markdown table: the first column is aligned to the left, the others, which hold numbers, to the right.
#[must_use]
pub fn markdown_table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---{}|\n", "|--:".repeat(header.len().saturating_sub(1)));
    [line(header), rule].into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// Breaks a text into lines of at most 120 columns.
pub(crate) fn wrapped(text: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if width > 0 && width + 1 + letters > 120 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += letters;
    }
    lines + "\n"
}
