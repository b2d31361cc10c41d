//! Numbers in prose that also stand in a table: this module fills them from the table.
//!
//! A place in a page is `<!-- n:KEY -->` and `<!-- /n -->` with the number between them. `docs/numbers.md`
//! gives for each key the table in which the number stands. The page also lists the numbers that are kept by
//! hand, which `fairpace-tidy` checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::{Exit, Failure};

use super::{Page, unusable};

/// Path of the page with the keys, from the root of the repository.
const KEYS: &str = "docs/numbers.md";
/// The first line of the table of keys.
const HEADER: &str = "| key | page | section | row | column | number |";
const BEGIN: &str = "<!-- n:";
const END: &str = "<!-- /n -->";
/// Folders whose pages have such places. Pages at the root have such places, too.
const FOLDERS: [&str; 2] = ["docs", "research"];

/// The source of a number: a place in a table.
struct Source {
    key: String,
    page: String,
    section: String,
    row: String,
    column: String,
    /// Index of the number in its cell, from 1; `None`: the whole cell.
    number: Option<usize>,
}

/// The pages with such places, filled with numbers.
pub(super) fn pages(root: &Path) -> Result<Vec<Page>, Failure> {
    let keys = root.join(KEYS);
    let values = if keys.exists() { values(root, &read(&keys)?)? } else { BTreeMap::new() };
    let mut used = Vec::new();
    let mut pages = Vec::new();
    for path in markdown(root)? {
        let text = read(&path)?;
        if text.contains(BEGIN) && path != keys {
            let filled = filled(&text, &values, &mut used).map_err(|what| wrong(&path, &what))?;
            pages.push((path, filled));
        }
    }
    match values.keys().find(|key| !used.contains(*key)) {
        Some(key) => Err(wrong(&keys, &format!("no page has the key {key}"))),
        None => Ok(pages),
    }
}

/// The value of each key.
fn values(root: &Path, keys: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut values = BTreeMap::new();
    for source in sources(keys) {
        let path = root.join(&source.page);
        let value = value(&read(&path)?, &source).map_err(|what| wrong(&root.join(KEYS), &what))?;
        values.insert(source.key, value);
    }
    Ok(values)
}

/// The rows of the table of keys.
fn sources(keys: &str) -> Vec<Source> {
    let rows = keys.lines().skip_while(|line| *line != HEADER).skip(2);
    let source = |line: &str| {
        let [key, page, section, row, column, number] = <[String; 6]>::try_from(cells(line)?).ok()?;
        Some(Source { key, page, section, row, column, number: number.parse().ok() })
    };
    rows.map_while(source).collect()
}

/// The number in the first table of the section, at that row and column of a page.
fn value(page: &str, source: &Source) -> Result<String, String> {
    let Source { key, page: name, section, row, column, number } = source;
    let heading = |line: &&str| line.starts_with('#') && line.trim_start_matches('#').trim() == section;
    let mut lines = page.lines().skip_while(|line| !heading(line)).peekable();
    lines.next().ok_or_else(|| format!("{key}: {name} has no section \"{section}\""))?;
    let mut at = None;
    let mut before: Option<Vec<String>> = None;
    for line in lines.take_while(|line| !line.starts_with('#')) {
        let Some(cells) = cells(line) else {
            (at, before) = (None, None);
            continue;
        };
        if before.is_none() {
            let numbered = || column.parse::<usize>().ok()?.checked_sub(1);
            at = cells.iter().position(|cell| cell == column).or_else(numbered);
        }
        if let (Some(at), true) = (at, cells.first() == Some(row)) {
            let cell = cells.get(at).map_or("", String::as_str);
            let part = number.map_or(Some(cell), |number| part(cell, number));
            let fewer = || format!("{key}: the cell \"{cell}\" has fewer numbers");
            return part.map(str::to_owned).ok_or_else(fewer);
        }
        before = Some(cells);
    }
    Err(format!("{key}: \"{section}\" of {name} has no row \"{row}\" with a column \"{column}\""))
}

/// The cells of a table's row, without marks of code; a name that is broken over lines is joined.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cell = |cell: &str| cell.trim().replace("_<br>", "_").replace("<br>", " ").replace('`', "");
    Some(inner.split('|').map(cell).collect())
}

/// The number with this index in a cell.
fn part(cell: &str, number: usize) -> Option<&str> {
    let numbers = cell.split(|c: char| !(c.is_ascii_digit() || ".-".contains(c)));
    numbers.filter(|part| part.contains(|c: char| c.is_ascii_digit())).nth(number.checked_sub(1)?)
}

/// The page with a value in each place. A place must not be at the beginning of a line, where Markdown would
/// read it as HTML.
fn filled(page: &str, values: &BTreeMap<String, String>, used: &mut Vec<String>) -> Result<String, String> {
    let (mut out, mut rest) = (String::with_capacity(page.len()), page);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        out.push_str(before);
        let (key, after) = after.split_once(" -->").ok_or("a mark has no end")?;
        let (_, after) = after.split_once(END).ok_or_else(|| format!("{key} has no {END}"))?;
        let value = values.get(key).ok_or_else(|| format!("{KEYS} has no key {key}"))?;
        if out.is_empty() || out.ends_with('\n') {
            return Err(format!("{key} is at the beginning of a line, which would be HTML"));
        }
        used.push(key.to_owned());
        out.push_str(&format!("{BEGIN}{key} -->{value}{END}"));
        rest = after;
    }
    Ok(out + rest)
}

/// The Markdown pages at the root and below the folders, in the order of their names.
fn markdown(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    entries(root, false, &mut found)?;
    for folder in FOLDERS {
        entries(&root.join(folder), true, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn entries(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(|error| unusable(folder, &error))? {
        let path = entry.map_err(|error| unusable(folder, &error))?.path();
        if path.is_dir() && deep {
            entries(&path, deep, found)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| unusable(path, &error))
}

fn wrong(path: &Path, what: &str) -> Failure {
    let message = format!("{}: {what}", path.display());
    Failure::new(Exit::Output, message, format!("{KEYS} explains the places and the keys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "# P\n\n## A\n\n| | x |\n|---|---|\n| `a` | 1 |\n\ntext\n\n\
                          | | x, %<br>half | b_<br>c |\n|---|---|---|\n| b | ~7.5 (6 to 9) | 3 |\n\n## B\n";

    fn source(section: &str, row: &str, column: &str, number: Option<usize>) -> Source {
        let [key, page, section, row, column] = ["k", "p.md", section, row, column].map(str::to_owned);
        Source { key, page, section, row, column, number }
    }

    fn at(row: &str, column: &str, number: Option<usize>) -> Result<String, String> {
        value(TABLES, &source("A", row, column, number))
    }

    #[test]
    fn a_value_is_found_by_its_section_row_and_column() {
        assert_eq!(at("a", "x", None).as_deref(), Ok("1"));
        assert_eq!(at("b", "b_c", None).as_deref(), Ok("3"));
        assert_eq!(at("b", "x, % half", None).as_deref(), Ok("~7.5 (6 to 9)"));
        assert_eq!(at("b", "x, % half", Some(1)).as_deref(), Ok("7.5"));
        assert_eq!(at("b", "x, % half", Some(3)).as_deref(), Ok("9"));
        assert_eq!(at("a", "2", None).as_deref(), Ok("1"), "the second column");
    }

    #[test]
    fn what_no_table_has_is_an_error() {
        assert!(at("b", "x", None).is_err(), "a row of another table");
        assert!(at("c", "x", None).is_err());
        assert!(at("b", "b_c", Some(2)).is_err());
        assert!(value(TABLES, &source("B", "a", "x", None)).is_err());
        assert!(value(TABLES, &source("C", "a", "x", None)).is_err());
    }

    #[test]
    fn places_are_filled_and_all_else_stays() {
        let values = BTreeMap::from([("k".to_owned(), "7.5".to_owned())]);
        let fill = |page: &str| filled(page, &values, &mut Vec::new());
        let page = "# A\n\nIt is <!-- n:k -->3<!-- /n --> ms.\n<!-- other -->\n";
        assert_eq!(fill(page).unwrap(), page.replace('3', "7.5"));
        assert!(fill("It is <!-- n:j -->3<!-- /n --> ms.").unwrap_err().contains("no key j"));
        assert!(fill("It is <!-- n:k -->3 ms.").is_err());
        assert!(fill("It\n<!-- n:k -->3<!-- /n -->").unwrap_err().contains("beginning of a line"));
    }

    #[test]
    fn the_table_of_keys_ends_with_its_last_row() {
        let row = "| `k` | a.md | A | b | c | 2 |";
        let keys = format!("text\n\n{HEADER}\n|---|---|---|---|---|---|\n{row}\n\n| x |\n");
        let found = sources(&keys);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.as_str(), found[0].number), ("k", Some(2)));
    }
}
