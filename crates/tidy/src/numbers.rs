//! Check of numbers with a unit in README and docs, which must be kept up to date.
//!
//! A number that also stands in a table is filled from the table (`fairpace-dev docs`): it stands between
//! `<!-- n:KEY -->` and `<!-- /n -->`. A number that a command writes stands in a generated part. Any other
//! number is kept by hand, and the list of docs/numbers.md has it with the reason.

use crate::tree::{File, Violation};

const CHECK: &str = "number";
/// Path of the page with the list.
const LIST: &str = "docs/numbers.md";
/// The first line of the list: a row for a section of a page.
const HEADER: &str = "| page | section | numbers | reason |";
/// Word in the column "numbers" for every number of the section.
const EVERY: &str = "all";
/// The page that new readers see first: its numbers are listed one by one.
const FIRST_PAGE: &str = "README.md";
/// Least number of letters of a reason.
const LEAST_REASON: usize = 12;
/// Units after a number. Neither a letter nor a digit follows a unit.
const UNITS: &str = "% ns us µs ms s min minutes minute seconds second hours hour h CPU-seconds bit/s kbit/s \
                     Mbit/s Gbit/s bytes byte kB MB GB TB KiB MiB GiB packets packet BDP";

/// A number with its unit, as `12.5 ms`.
#[derive(Debug, PartialEq, Eq)]
struct Number {
    text: String,
    line: usize,
    /// Heading above the number; empty before the first heading.
    section: String,
}

/// A row of the list.
struct Kept {
    /// Path of a page, or of a folder with a slash at its end.
    page: String,
    /// Heading of a section; empty for the whole page.
    section: String,
    /// The word of [`EVERY`], or numbers with semicolons between them.
    numbers: String,
    reason: String,
    line: usize,
}

impl Kept {
    fn is_of(&self, path: &str, section: &str) -> bool {
        let page = path == self.page || (self.page.ends_with('/') && path.starts_with(&self.page));
        page && (self.section.is_empty() || self.section == section)
    }

    fn listed(&self) -> impl Iterator<Item = &str> {
        self.numbers.split(';').map(str::trim).filter(|number| !number.is_empty())
    }

    fn covers(&self, path: &str, number: &Number) -> bool {
        let listed = || self.numbers == EVERY || self.listed().any(|listed| listed == number.text);
        self.is_of(path, &number.section) && listed()
    }
}

/// Finds numbers that are neither filled, nor generated, nor on the list, and rows of the list that match no
/// number.
pub(crate) fn check(files: &[File], found: &mut Vec<Violation>) {
    let list = files.iter().find(|file| file.path == LIST);
    let kept = list.map_or_else(Vec::new, |list| kept(&list.text));
    let is_meant = |file: &&File| {
        file.is_markdown() && (file.path == FIRST_PAGE || file.path.starts_with("docs/")) && file.path != LIST
    };
    let pages: Vec<(&File, Vec<Number>)> =
        files.iter().filter(is_meant).map(|page| (page, numbers(&page.text))).collect();
    for (page, numbers) in &pages {
        for number in numbers.iter().filter(|number| !kept.iter().any(|row| row.covers(&page.path, number))) {
            let what = format!("{} is neither filled from a table nor listed in {LIST}", number.text);
            found.push(Violation::new(CHECK, page, number.line, what));
        }
    }
    for (list, row) in list.iter().flat_map(|list| kept.iter().map(move |row| (list, row))) {
        let numbers = || pages.iter().flat_map(|(page, all)| all.iter().map(move |number| (page, number)));
        let any = numbers().any(|(page, number)| row.covers(&page.path, number));
        let gone = |listed: &&str| {
            !numbers().any(|(page, number)| row.is_of(&page.path, &number.section) && number.text == **listed)
        };
        let what = if row.reason.len() < LEAST_REASON {
            "this row has no reason".to_owned()
        } else if row.numbers == EVERY && row.page == FIRST_PAGE {
            format!("numbers of {FIRST_PAGE} are listed one by one")
        } else if !any {
            "this row holds for no number".to_owned()
        } else if let Some(gone) = row.listed().filter(|_| row.numbers != EVERY).find(gone) {
            format!("{gone} is not there")
        } else {
            continue;
        };
        found.push(Violation::new(CHECK, list, row.line, what));
    }
}

/// The rows of the list.
fn kept(list: &str) -> Vec<Kept> {
    let lines = list.lines().enumerate().skip_while(|(_, line)| *line != HEADER).skip(2);
    let row = |(index, line): (usize, &str)| {
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        let [page, section, numbers, reason] = <[String; 4]>::try_from(cells).ok()?;
        Some(Kept { page, section, numbers, reason, line: index + 1 })
    };
    lines.map_while(row).collect()
}

/// The numbers of a page outside of generated parts, filled places and code.
fn numbers(text: &str) -> Vec<Number> {
    let (mut found, mut section) = (Vec::new(), String::new());
    let (mut generated, mut fenced, mut after_empty) = (false, false, true);
    // a number may end a line whose unit begins the next
    let mut before = String::new();
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        generated |= line.starts_with("<!-- generated by ") && line.ends_with("do not edit below -->");
        let indented = line.starts_with("    ") && after_empty;
        let is_code = fenced || fence || indented;
        if let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) {
            section = heading.trim_start_matches('#').trim().to_owned();
        }
        let prose = if generated || is_code { String::new() } else { prose(line) };
        let carried = if prose.starts_with(char::is_alphabetic) || prose.starts_with('%') {
            std::mem::take(&mut before)
        } else {
            String::new()
        };
        let with_number = format!("{carried} {prose}");
        let each = with_units(&with_number).into_iter();
        found.extend(each.map(|text| Number { text, line: index + 1, section: section.clone() }));
        before = last_number(&prose);
        after_empty = line.is_empty() || (indented && !fenced);
        generated &= !(line.starts_with("<!-- generated by ") && line.ends_with("do not edit above -->"));
    }
    found
}

/// A line without filled numbers, other comments, code spans and targets of links.
fn prose(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("<!-- ") {
        out.push_str(before);
        let (comment, after) = after.split_once("-->").unwrap_or((after, ""));
        let filled = comment.starts_with("n:");
        rest = if filled { after.split_once("<!-- /n -->").map_or("", |(_, after)| after) } else { after };
    }
    out.push_str(rest);
    let spans = out.split('`').enumerate();
    let text: String = spans.map(|(i, part)| if i % 2 == 0 { part } else { "_" }).collect();
    let mut links = text.split("](");
    let first = links.next().unwrap_or_default().to_owned();
    links.fold(first, |out, part| out + "]" + part.split_once(')').map_or("", |(_, after)| after))
}

/// The number at the end of a line, or an empty text.
fn last_number(line: &str) -> String {
    let word = line.trim_end().rsplit(' ').next().unwrap_or_default();
    let is_number = word.ends_with(|c: char| c.is_ascii_digit());
    let number = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let all = number.chars().all(|c| c.is_ascii_digit() || ".,".contains(c));
    if is_number && all { number.to_owned() } else { String::new() }
}

/// The numbers of a text that a unit follows, each as `12.5 ms`.
fn with_units(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset) {
        let is_part = |c: char| !(c.is_ascii_digit() || ".,".contains(c));
        let end = text[start..].find(is_part).map_or(text.len(), |offset| start + offset);
        at = end;
        // a part of a name, as in "fp_bbr3" or "v3.2"
        if text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let number = text[start..end].trim_end_matches(['.', ',']);
        let after = &text[start + number.len()..];
        let after = after.strip_prefix(' ').unwrap_or(after);
        let is_unit = |unit: &&str| {
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "_/".contains(c));
            after.strip_prefix(*unit).is_some_and(ends)
        };
        found.extend(UNITS.split(' ').find(is_unit).map(|unit| format!("{number} {unit}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        numbers(text).into_iter().map(|number| number.text).collect()
    }

    #[test]
    fn a_number_with_a_unit_is_found() {
        let text = "2.5 ms, 3% of 10ms; 1,000 packets (20 kB) 4\nMbit/s, 2 to 8 BDP, 5.8 ± 2.3 s.";
        let all = ["2.5 ms", "3 %", "10 ms", "1,000 packets", "20 kB", "4 Mbit/s", "8 BDP", "2.3 s"];
        assert_eq!(texts(text), all);
        assert_eq!(texts("| a | 5 ms |\n"), ["5 ms"], "in a table, too");
    }

    #[test]
    fn names_code_what_is_filled_and_what_is_generated_are_none() {
        let text = "`5 ms` bbr3 s, 8 min_rtt, 2 sockets\n\
                    <!-- n:a -->5 ms<!-- /n -->, <!-- n:b -->5<!-- /n --> ms\n\
                    \n    5 ms\n\n```\n5 ms\n```\n[a](5 ms)\n\
                    <!-- generated by `x`: do not edit below -->\n5 ms\n\
                    <!-- generated by `x`: do not edit above -->\n";
        assert_eq!(texts(text), [""; 0]);
        assert_eq!(texts("    5 ms\ntext\n    5 ms\n- a\n    5 ms"), ["5 ms"; 2], "a paragraph that goes on");
    }

    /// Violations of a page and a list with these rows.
    fn found(path: &str, page: &str, rows: &str) -> Vec<String> {
        let list = format!("# Numbers\n\n{HEADER}\n|---|---|---|---|\n{rows}\n");
        let files = [File::new(path, page), File::new(LIST, &list)];
        let mut found = Vec::new();
        check(&files, &mut found);
        found.iter().map(|violation| format!("{}:{}", violation.path, violation.line)).collect()
    }

    #[test]
    fn a_number_is_listed_with_its_page_its_section_and_a_reason() {
        let page = "1 ms\n\n# A b\n\n2 ms\n";
        let why = "a definition of the page";
        assert_eq!(found("docs/a.md", page, ""), ["docs/a.md:1", "docs/a.md:5"]);
        let one = format!("| `docs/a.md` | A b | 2 ms | {why} |");
        assert_eq!(found("docs/a.md", page, &one), ["docs/a.md:1"]);
        assert_eq!(found("docs/a.md", page, &format!("| `docs/a.md` | | all | {why} |")), [""; 0]);
        assert_eq!(found("docs/b/a.md", page, &format!("| `docs/b/` | | 1 ms; 2 ms | {why} |")), [""; 0]);
        assert_eq!(found("docs/a.md", page, "| `docs/a.md` | | all | |"), ["docs/numbers.md:5"]);
        assert_eq!(found("research/a.md", page, ""), [""; 0], "README and docs only");
        let mut without_list = Vec::new();
        check(&[File::new("docs/a.md", page)], &mut without_list);
        assert_eq!(without_list.len(), 2);
    }

    #[test]
    fn a_row_that_holds_for_no_number_and_a_number_that_is_gone_are_found() {
        let why = "a definition of the page";
        let gone = |rows: &str| found("docs/a.md", "# A\n\n1 ms\n", rows);
        let all = format!("| `docs/a.md` | | all | {why} |\n");
        assert_eq!(gone(&format!("{all}| `docs/a.md` | B | all | {why} |")), ["docs/numbers.md:6"]);
        assert_eq!(gone(&format!("{all}| `docs/a.md` | A | 1 ms; 3 ms | {why} |")), ["docs/numbers.md:6"]);
    }

    #[test]
    fn numbers_of_the_first_page_are_listed_one_by_one() {
        let why = "a definition of the page";
        assert_eq!(found(FIRST_PAGE, "1 ms", &format!("| `README.md` | | 1 ms | {why} |")), [""; 0]);
        let all = format!("| `README.md` | | all | {why} |");
        assert_eq!(found(FIRST_PAGE, "1 ms", &all), ["docs/numbers.md:5"]);
    }
}
