//! Tables with aligned columns, and texts of numbers.

use std::io::{self, IsTerminal};

use comfy_table::ColumnConstraint::LowerBoundary;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, Table, Width, presets};
use rustix::termios::tcgetwinsize;

/// A table with a header. Columns from index `numbers` on are right-aligned.
#[must_use]
pub fn table(header: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.iter().copied());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= numbers {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Columns of a line on standard output: those of the environment variable COLUMNS, or of the terminal.
/// `None` for a file or a pipe, whose reader wants a row in a line.
#[must_use]
pub fn width() -> Option<u16> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || io::stdout().is_terminal().then(|| tcgetwinsize(io::stdout()).ok()).flatten();
    asked.or_else(|| of_terminal().map(|size| size.ws_col)).filter(|columns| *columns > 0)
}

/// The lines of a table without trailing blanks. Cells are folded to the [`width`] of the terminal.
#[must_use]
pub fn text(table: &Table) -> String {
    folded(table, width())
}

/// The lines of a table for lines of this many characters. Cells are folded between words. If the words alone
/// are too wide, each row becomes a paragraph with a line for each cell.
fn folded(table: &Table, width: Option<u16>) -> String {
    let mut table = table.clone();
    let widest = table.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
    if let Some(width) = width.filter(|width| usize::from(*width) < widest) {
        let words: Vec<u16> = (0..table.column_count()).map(|column| longest_word(&table, column)).collect();
        let with_gaps = |gap: u16| words.iter().map(|word| word + gap).sum::<u16>() - gap;
        let Some(gap) = [2, 1].into_iter().find(|gap| with_gaps(*gap) <= width) else {
            return paragraphs(&table);
        };
        // the gap after the last column is outside
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width + gap);
        for (column, word) in table.column_iter_mut().zip(words) {
            column.set_padding((0, gap)).set_constraint(LowerBoundary(Width::Fixed(word + gap)));
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A text with its lines folded between words to the [`width`] of the terminal. The rest of a line has the
/// indent of its begin.
#[must_use]
pub fn prose(text: &str) -> String {
    let Some(width) = width() else { return text.to_owned() };
    let fold = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        // paths and addresses stay whole
        let options = textwrap::Options::new(usize::from(width)).subsequent_indent(indent).break_words(false);
        textwrap::fill(line, options.word_splitter(textwrap::WordSplitter::NoHyphenation))
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// The cells of a table by rows, the header first.
fn rows(table: &Table) -> impl Iterator<Item = &Row> {
    table.header().into_iter().chain(table.row_iter())
}

/// Characters of the longest word in a column.
fn longest_word(table: &Table, column: usize) -> u16 {
    let cells = rows(table).filter_map(|row| row.cell_iter().nth(column));
    let words =
        cells.flat_map(|cell| cell.content().split_whitespace().map(|word| word.chars().count()).max());
    words.max().and_then(|longest| u16::try_from(longest).ok()).unwrap_or(0)
}

/// A paragraph for each row: its cells, each with the header of the column.
fn paragraphs(table: &Table) -> String {
    let names: Vec<String> = table.header().into_iter().flat_map(Row::cell_iter).map(Cell::content).collect();
    let widest = names.iter().map(String::len).max().unwrap_or(0);
    let line = |(name, cell): (&String, &Cell)| format!("{name:widest$}  {}\n", cell.content());
    let paragraph = |row: &Row| names.iter().zip(row.cell_iter()).map(line).collect::<String>();
    table.row_iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

/// Text of a number with this many decimals; a dash for a missing or infinite one.
#[must_use]
pub fn number(value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.decimals$}"),
        _ => "-".to_owned(),
    }
}

/// Text of a number of bytes with two or three digits: "126 MB".
#[must_use]
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1e3, larger);
    }
    let decimals = usize::from(value < 9.95 && unit != "B");
    format!("{value:.decimals$} {unit}")
}

/// Text of a ratio as a percentage with this many decimals, or a dash.
#[must_use]
pub fn percent(ratio: Option<f64>, decimals: usize) -> String {
    number(ratio.map(|ratio| ratio * 100.0), decimals)
}

/// Text of a number with at most three decimals and no trailing zeros.
#[must_use]
pub fn short(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut of = table(&["algorithm", "queueing delay mean ms", "p99"], 1);
        of.add_row(["bbr3:beta=0.5", "12.5", "39.6"]);
        of
    }

    #[test]
    fn a_table_folds_between_words_and_else_becomes_paragraphs() {
        let wide = folded(&sample(), None);
        assert_eq!(wide.lines().count(), 2);
        assert_eq!(folded(&sample(), Some(60)), wide);
        let narrow = folded(&sample(), Some(32));
        assert!(narrow.lines().all(|line| line.chars().count() <= 32), "{narrow}");
        assert!(narrow.contains("delay mean\n") && narrow.contains("bbr3:beta=0.5  "), "{narrow}");
        let paragraphs = folded(&sample(), Some(20));
        let expected = "\
algorithm               bbr3:beta=0.5
queueing delay mean ms  12.5
p99                     39.6
";
        assert_eq!(paragraphs, expected);
    }

    #[test]
    fn sizes_have_the_digits_that_matter() {
        let shown = [0, 999, 1_250, 81_900, 125_551_332, 999_600_000, 3_200_000_000_000].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.2 kB", "82 kB", "126 MB", "1.0 GB", "3.2 TB"]);
    }
}
