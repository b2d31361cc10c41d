//! Tables with aligned columns, and texts of numbers.

use comfy_table::{CellAlignment, Table, presets};

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

/// The lines of a table without trailing blanks.
#[must_use]
pub fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Text of a number with this many decimals; a dash for a missing or infinite one.
#[must_use]
pub fn number(value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.decimals$}"),
        _ => "-".to_owned(),
    }
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
