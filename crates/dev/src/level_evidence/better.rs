//! Table `better`: cases that another algorithm holds and LEVEL does not, and the other way round.

use fairpace_cli_core::failure::Failure;
use fairpace_experiment::{AlgorithmRecord, CaseRecord, Criterion, markdown_table};
use serde::Serialize;

use super::counts::{Asked, count};
use super::{Context, LEVEL, Made, record};

/// Seeds of the full form.
const SEEDS: u32 = 2;
/// The algorithms beside LEVEL.
const RIVALS: [&str; 4] = ["bbr1", "bbr3", "bbq", "cubic"];

/// A criterion, LEVEL and another algorithm.
#[derive(Debug, Serialize)]
struct Row {
    rival: &'static str,
    criterion: String,
    #[serde(skip)]
    title: String,
    cases: usize,
    /// Names of cases that only the rival holds.
    rival_only: Vec<String>,
    /// Names of cases that only LEVEL holds.
    level_only: Vec<String>,
}

pub(super) fn make(context: &Context<'_>) -> Result<Made, Failure> {
    let (form, seeds) = (context.form(), context.seeds(SEEDS));
    let names = std::iter::once(LEVEL).chain(RIVALS);
    let asked: Vec<Asked> =
        names.map(|cc| Asked { cc: cc.to_owned(), sets: Vec::new(), criteria: None }).collect();
    let counted = count(context, &asked, form, seeds)?;
    let mut rows = Vec::new();
    if let Some((level, others)) = counted.records.split_first() {
        for (rival, other) in RIVALS.into_iter().zip(others) {
            rows.extend(
                level.iter().zip(other).map(|(own, other)| row(&counted.criteria, rival, own, other)),
            );
        }
    }
    let mut text = context.facts(form, seeds, counted.runs) + &table(&rows);
    RIVALS.iter().for_each(|rival| text.push_str(&details(rival, &rows)));
    Ok(Made { text, record: record(&rows)?, pictures: Vec::new() })
}

fn row(
    criteria: &[Criterion],
    rival: &'static str,
    (criterion, own): &(usize, AlgorithmRecord),
    (_, other): &(usize, AlgorithmRecord),
) -> Row {
    Row {
        rival,
        criterion: criteria[*criterion].id.clone(),
        title: criteria[*criterion].title.clone(),
        cases: own.cases,
        rival_only: only(&other.results, &own.results),
        level_only: only(&own.results, &other.results),
    }
}

/// Names of the cases that the first holds and the second does not.
fn only(holds: &[CaseRecord], fails: &[CaseRecord]) -> Vec<String> {
    let fails = |name: &str| fails.iter().any(|of| of.case == name && !of.holds);
    holds.iter().filter(|of| of.holds && fails(&of.case)).map(|of| of.case.clone()).collect()
}

/// A row for each criterion: how many cases only each rival holds, and only LEVEL.
fn table(rows: &[Row]) -> String {
    let mut header = vec!["criterion".to_owned(), "cases".to_owned()];
    for rival in RIVALS {
        header.extend([format!("only {rival}"), format!("only {LEVEL}, not {rival}")]);
    }
    let of_rival = |rival: &'static str| rows.iter().filter(move |row| row.rival == rival);
    let mut lines = Vec::new();
    for first in of_rival(RIVALS[0]) {
        let mut line = vec![format!("{} {}", first.criterion, first.title), first.cases.to_string()];
        for row in rows.iter().filter(|row| row.criterion == first.criterion) {
            line.extend([&row.rival_only, &row.level_only].map(|names| names.len().to_string()));
        }
        lines.push(line);
    }
    let mut sum = vec!["all".to_owned(), of_rival(RIVALS[0]).map(|row| row.cases).sum::<usize>().to_string()];
    for rival in RIVALS {
        sum.push(of_rival(rival).map(|row| row.rival_only.len()).sum::<usize>().to_string());
        sum.push(of_rival(rival).map(|row| row.level_only.len()).sum::<usize>().to_string());
    }
    lines.push(sum);
    markdown_table(&header, &lines)
}

/// The cases that only this rival holds, by name, folded.
fn details(rival: &str, rows: &[Row]) -> String {
    let rows: Vec<&Row> =
        rows.iter().filter(|row| row.rival == rival && !row.rival_only.is_empty()).collect();
    let count = rows.iter().map(|row| row.rival_only.len()).sum::<usize>();
    if count == 0 {
        return String::new();
    }
    let cases = if count == 1 { "case" } else { "cases" };
    let mut text = format!(
        "\n<details><summary>{rival}: {count} {cases} that {LEVEL} does not hold</summary>\n\n```text\n"
    );
    for row in rows {
        text.push_str(&format!("{} {}\n", row.criterion, row.title));
        for (name, last) in grouped(&row.rival_only) {
            text.push_str(&format!("  {}\n", format!("{name} {}", last.join(", ")).trim()));
        }
    }
    text.push_str("```\n\n</details>\n");
    text
}

/// Names without their last word, each with the last words that it occurs with.
fn grouped(names: &[String]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let (first, last) = name.rsplit_once(' ').unwrap_or(("", name));
        match groups.iter_mut().find(|(known, _)| *known == first) {
            Some((_, words)) => words.push(last),
            None => groups.push((first, vec![last])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::records::assert_documented;

    fn case(name: &str, holds: bool) -> CaseRecord {
        CaseRecord {
            case: name.to_owned(),
            scenario: String::new(),
            row: String::new(),
            column: Vec::new(),
            seed: 1,
            holds,
            miss: 0.0,
            metrics: BTreeMap::new(),
            conditions: Vec::new(),
            seeds: 1,
            seeds_hold: 1,
            kernel: None,
        }
    }

    #[test]
    fn a_case_is_better_only_where_one_holds_and_the_other_fails() {
        let level = [case("a", true), case("b", false), case("c", true), case("d", false)];
        let other = [case("d", false), case("c", false), case("b", true), case("a", true)];
        assert_eq!(only(&other, &level), ["b"]);
        assert_eq!(only(&level, &other), ["c"]);
        assert_eq!(only(&[case("e", true)], &level), [""; 0], "a case that was not measured is no win");
    }

    #[test]
    fn names_are_grouped_by_all_words_but_the_last() {
        let names = ["1gbit 10/50ms 1bdp", "1gbit 10/50ms 4bdp", "cellular", "2mbit 10/50ms 1bdp"];
        let names = names.map(str::to_owned);
        let expected = [
            ("1gbit 10/50ms", vec!["1bdp", "4bdp"]),
            ("", vec!["cellular"]),
            ("2mbit 10/50ms", vec!["1bdp"]),
        ];
        assert_eq!(grouped(&names), expected);
    }

    #[test]
    fn rows_of_all_criteria_add_up() {
        let row = |rival, criterion: &str, wins: &[&str], losses: &[&str]| Row {
            rival,
            criterion: criterion.to_owned(),
            title: "T".to_owned(),
            cases: 5,
            rival_only: wins.iter().map(|name| (*name).to_owned()).collect(),
            level_only: losses.iter().map(|name| (*name).to_owned()).collect(),
        };
        let rows: Vec<Row> = RIVALS
            .into_iter()
            .flat_map(|rival| [row(rival, "G1", &["a"], &["b", "c"]), row(rival, "G2", &[], &["d"])])
            .collect();
        let text = table(&rows);
        let sum: Vec<&str> =
            text.lines().last().unwrap().trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(sum, ["all", "10", "1", "3", "1", "3", "1", "3", "1", "3"]);
        assert!(details("bbr1", &rows).contains("bbr1: 1 case that"));
        assert_documented("level-evidence", &rows);
    }
}
