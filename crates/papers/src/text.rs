//! Texts of numbers and relations, the same on every page.

use fairpace_cli_core::wrap;
use fairpace_scenario::Target;
use serde::Serialize;

use crate::figure::{Figure, Is, Shape, Value};
use crate::record::{Cost, Finding, Mean, Moved, Verdict};

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reaches => "reaches it",
            Self::Towards => "moves towards it",
            Self::Away => "moves away from it",
            Self::Unmoved => "does not move it",
            Self::NotMeasured => "not measured",
        })
    }
}

/// Text of a number with about four significant digits, without superfluous zeros; a dash if it is not a
/// number.
pub(crate) fn number(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let magnitude = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    if !(-5..15).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.*}", (3 - magnitude).max(0) as usize);
    trimmed(&text)
}

/// Text of a number without zeros at the end of a fraction, and without a negative zero.
fn trimmed(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0".into() } else { text.into() }
}

/// Text of a mean, "51.4 ± 0.32": the interval with two significant digits, the mean with as many decimals.
#[must_use]
pub fn mean(of: Mean) -> String {
    match of.half.filter(|half| half.is_finite() && *half >= 0.0) {
        Some(half) if half > 0.0 && of.mean.is_finite() => {
            let finest = if of.mean == 0.0 { 0 } else { 4 - of.mean.abs().log10().floor() as i32 };
            let decimals = (1 - half.log10().floor() as i32).min(finest).clamp(0, 12) as usize;
            if of.mean.abs().max(half) >= 1e15 {
                return format!("{} ± {}", number(of.mean), number(half));
            }
            format!("{:.decimals$} ± {half:.decimals$}", of.mean)
        }
        Some(_) if of.n > 1 => format!("{} ± 0", number(of.mean)),
        _ => number(of.mean),
    }
}

/// Text escaped for a cell of a Markdown table.
pub(crate) fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

/// Settings that apply when real flows run the figure: "with `duration=60s`".
pub(crate) fn real_settings(figure: &Figure, on: Target) -> Option<String> {
    let kernel = figure.kernel.iter().filter(|_| on == Target::Testbed);
    let sets = kernel.flat_map(|kernel| &kernel.set).map(|set| format!("`{}`", cell(set)));
    let sets: Vec<String> = sets.collect();
    (!sets.is_empty()).then(|| format!("with {}", sets.join(", ")))
}

/// Text of a time in a unit that suits its length.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "–".into(),
        s if s < 0.05 => "less than 0.1 s".into(),
        s if s < 0.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Text of a tolerance: "± 5", "at most 26".
pub(crate) fn allowed(value: &Value) -> String {
    match value.is {
        // no value is only apart from another: that is for shapes
        Is::About | Is::Apart => {
            // three significant digits are enough for a bound that people chose
            let rounded = format!("{:.2e}", value.room());
            format!("± {}", number(rounded.parse().unwrap_or(f64::NAN)))
        }
        Is::Below => "at most".to_owned(),
        Is::Above => "at least".to_owned(),
    }
}

/// Joins the lines of a text within paragraphs, and keeps the paragraphs apart.
pub(crate) fn paragraphs(text: &str) -> String {
    let joined = text.split("\n\n").map(|paragraph| paragraph.trim().replace('\n', " "));
    joined.collect::<Vec<_>>().join("\n\n")
}

/// Text of a large count: 12 345 678 as "12.3 million".
pub(crate) fn count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{} thousand", n / 1000),
        1_000_000..1_000_000_000 => format!("{:.1} million", n as f64 / 1e6),
        _ => format!("{:.1} billion", n as f64 / 1e9),
    }
}

/// A count with its noun: "1 run", "12 runs".
pub(crate) fn of(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Text of the cost of a place: "12 runs, 8 s of CPU time, commit `0123`", and of real flows the kernel.
pub(crate) fn cost(cost: &Cost) -> String {
    let Cost { runs, cpu_s, commit, kernel, .. } = cost;
    let on = if kernel.is_empty() { String::new() } else { format!(", on {kernel}") };
    format!("{}, {} of CPU time, commit `{commit}`{on}", of(u64::from(*runs), "run"), duration(*cpu_s))
}

/// Text of a relation with its numbers: "17.2 ≥ 12.3 = 3 × 4.1, within 5 %".
pub(crate) fn relation(shape: &Shape, ours: &[Mean]) -> String {
    let [left, right] = ours else { return "a side has no value".into() };
    let sign = match shape.is {
        Is::About => "≈",
        Is::Below => "≤",
        Is::Above => "≥",
        Is::Apart => "≠",
    };
    let mut text = format!("{} {sign} {}", mean(*left), mean(*right));
    if shape.than.is_some() && shape.factor != 1.0 && shape.factor != 0.0 {
        text += &format!(" = {} × {}", number(shape.factor), number(right.mean / shape.factor));
    }
    if shape.tolerance_ratio > 0.0 {
        text += &format!(", within {} %", number(100.0 * shape.tolerance_ratio));
    }
    text
}

/// Columns of a line in a Markdown page: the width that crates/tidy/src/width.rs allows.
const PAGE_COLUMNS: usize = 130;

/// Breaks the paragraphs and list items of a Markdown page at spaces. Tables, headings, pictures, comments
/// and code stay as they are.
pub(crate) fn wrapped(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut is_code = false;
    for line in page.split_inclusive('\n') {
        is_code ^= line.starts_with("```");
        match is_code || line.starts_with(['|', '#', '!', '<']) {
            true => out.push_str(line),
            false => {
                let indent = if line.starts_with("- ") { "  " } else { "" };
                out += &(wrap::wrapped(line, PAGE_COLUMNS, indent, |word| !begins_a_block(word)) + "\n");
            }
        }
    }
    out
}

/// Whether Markdown would read this word at the begin of a line as the begin of a list, a heading or a table.
fn begins_a_block(word: &str) -> bool {
    let number = word.trim_end_matches(['.', ')']);
    let is_number = number.len() < word.len() && number.chars().all(|c| c.is_ascii_digit());
    is_number || matches!(word, "-" | "+" | "*" | "=" | ">" | "|") || word.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_begins_with_a_sign_that_makes_a_list() {
        for sign in ["-", "+", "*", "10.", "#"] {
            let page = wrapped(&format!("{}{sign} 1 {sign} 2\n", "1234567 ".repeat(16)));
            assert_eq!(page.lines().count(), 2, "{page}");
            let is_right = |line: &str| !line.starts_with(sign) && line.len() <= PAGE_COLUMNS;
            assert!(page.lines().all(is_right), "{page}");
        }
    }

    #[test]
    fn paragraphs_are_broken_at_spaces_and_tables_are_not() {
        let word = "1234567 ";
        let prose = word.repeat(40);
        let page = wrapped(&format!("{prose}\n\n- {prose}\n| {prose} |\n```\n{prose}\n```\n"));
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], word.repeat(16).trim_end());
        assert_eq!(
            lines[4..6],
            [format!("- {}", word.repeat(16).trim_end()), format!("  {}", word.repeat(16).trim_end())]
        );
        assert!(lines.contains(&format!("| {prose} |").as_str()) && lines.contains(&prose.as_str()));
        assert_eq!(page.split_whitespace().collect::<String>().matches("1234567").count(), 160);
    }

    #[test]
    fn numbers_have_the_digits_they_deserve() {
        let cases =
            [(51.4, "51.4"), (0.05, "0.05"), (10178.0, "10178"), (-0.0, "0"), (3.0, "3"), (1e-9, "1.00e-9")];
        for (x, expected) in cases {
            assert_eq!(number(x), expected);
        }
        assert_eq!(number(f64::NAN), "–");
        let of = |n, mean, half| Mean { n, mean, half };
        assert_eq!(mean(of(5, 51.4321, Some(0.3178))), "51.43 ± 0.32");
        assert_eq!(mean(of(5, 10178.2, Some(531.0))), "10178 ± 531");
        assert_eq!(mean(of(1, 51.4321, None)), "51.43");
        assert_eq!(mean(of(3, 2.0, Some(0.0))), "2 ± 0");
        assert_eq!(
            (duration(0.3), duration(100.0), duration(9000.0)),
            ("0.3 s".into(), "100 s".into(), "2.5 h".into())
        );
        assert_eq!((of_runs(1), of_runs(12_345_678)), ("1 run".into(), "12.3 million runs".into()));
    }

    fn of_runs(n: u64) -> String {
        super::of(n, "run")
    }
}
