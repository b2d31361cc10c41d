//! Text cells of CSV files.

use std::borrow::Cow;

/// First characters with which a spreadsheet reads a cell as a formula, which may run a program (OWASP, "CSV
/// Injection").
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Returns `text` as a cell of a CSV file (RFC 4180). A cell that a spreadsheet would run gets an apostrophe
/// in front, which a spreadsheet reads as "text", and quotes. Not for numbers: a negative number would get an
/// apostrophe, too.
#[must_use]
pub fn csv_text(text: &str) -> Cow<'_, str> {
    let mark = if text.starts_with(FORMULA) { "'" } else { "" };
    if mark.is_empty() && !text.contains([',', ';', '"', '\n', '\r', '\t']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_bare_and_separators_are_quoted() {
        assert_eq!(csv_text("10 ms-2"), "10 ms-2");
        assert_eq!(csv_text("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_text("a;b\nc"), "\"a;b\nc\"");
    }

    #[test]
    fn what_a_spreadsheet_would_run_is_marked_as_text() {
        for cell in ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(csv_text(cell), format!("\"'{cell}\""));
        }
    }
}
