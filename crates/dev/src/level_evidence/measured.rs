//! Tables of scenarios that are measured and not judged.
//!
//! A file of `evaluation/level-evidence` has the scenarios of a table, in the format of criteria without
//! conditions. Every algorithm runs all of them. Cases that differ only in an axis of the columns are one
//! row.

use std::collections::BTreeMap;

use fairpace_cli_core::batch;
use fairpace_cli_core::failure::Failure;
use fairpace_experiment::evaluation::no_case;
use fairpace_experiment::{Criterion, markdown_table};
use fairpace_results::Run;
use fairpace_scenario::Scenario;
use serde::Serialize;

use super::{Context, LEVEL, Made, record};
use crate::args::EvidenceTable;
use fairpace_experiment::Range as Spread;

/// Seeds of the full form.
const SEEDS: u32 = 2;

/// A number by the name of its column; NaN: the run has none.
pub(super) type Values = Vec<(&'static str, f64)>;

/// A column for each algorithm.
pub(super) struct Column {
    pub(super) key: &'static str,
    /// With its unit.
    pub(super) heading: &'static str,
    pub(super) decimals: usize,
}

/// The last columns, which compare LEVEL with others.
pub(super) enum Verdict {
    /// For each of these algorithms: in which of these columns LEVEL's value is greater.
    Above { rivals: &'static [&'static str], keys: &'static [&'static str] },
    /// The algorithms whose value of this column is less than LEVEL's.
    Less { key: &'static str, heading: &'static str },
}

/// A table.
pub(super) struct Sheet {
    pub(super) table: EvidenceTable,
    pub(super) algorithms: &'static [&'static str],
    pub(super) columns: &'static [Column],
    pub(super) measure: fn(&Run) -> Values,
    pub(super) verdict: Verdict,
}

/// A case and an algorithm.
#[derive(Debug, Serialize)]
struct Row {
    case: String,
    cc: &'static str,
    /// Runs behind the numbers.
    runs: usize,
    values: BTreeMap<&'static str, Value>,
}

/// A number over several runs.
#[derive(Debug, Serialize)]
struct Value {
    #[serde(flatten)]
    spread: Spread,
    /// How many runs have it.
    found: usize,
}

impl Sheet {
    pub(super) fn make(&self, context: &Context<'_>) -> Result<Made, Failure> {
        let args = context.args;
        let criterion = Criterion::read(&args.scenarios.join(format!("{}.toml", self.table.name())))?;
        let (form, seeds) = (context.form(), context.seeds(SEEDS));
        let (mut names, mut scenarios): (Vec<(String, &'static str)>, Vec<Scenario>) = Default::default();
        for cc in self.algorithms {
            for case in criterion.cases(cc, &[], form, &args.matching)? {
                for seed in 1..=u64::from(seeds) {
                    names.push((case.row.clone(), cc));
                    scenarios.push(Scenario { seed, ..case.scenario.clone() });
                }
            }
        }
        if scenarios.is_empty() {
            return Err(no_case(&args.matching));
        }
        let (jobs, quiet) = (args.jobs.at_a_time, context.global.quiet);
        let measured =
            batch::simulate_all(&scenarios, jobs, context.signals, quiet, |_, run| (self.measure)(&run))?;
        let rows = rows(&names, &measured);
        let text = context.facts(form, seeds, scenarios.len()) + &self.markdown(&rows);
        Ok(Made { text, record: record(&rows)?, pictures: Vec::new() })
    }

    /// A row for each case.
    fn markdown(&self, rows: &[Row]) -> String {
        let mut header = vec!["case".to_owned()];
        for Column { heading, .. } in self.columns {
            for (index, cc) in self.algorithms.iter().enumerate() {
                header.push(if index == 0 { format!("{heading}: {cc}") } else { (*cc).to_owned() });
            }
        }
        header.extend(self.verdict.headings());
        let mut lines: Vec<Vec<String>> = Vec::new();
        let first = rows.iter().filter(|row| row.cc == self.algorithms[0]);
        for case in first.map(|row| &row.case) {
            let of: Vec<&Row> = rows.iter().filter(|row| row.case == *case).collect();
            let mut line = vec![case.clone()];
            for column in self.columns {
                line.extend(self.algorithms.iter().map(|cc| cell(&of, cc, column)));
            }
            line.extend(self.judged(&of));
            lines.push(line);
        }
        markdown_table(&header, &lines)
    }

    /// What the last columns say of the rows of a case.
    fn judged(&self, rows: &[&Row]) -> Vec<String> {
        let value = |cc: &str, key: &str| {
            let column = self.columns.iter().find(|column| column.key == key)?;
            shown(rows, cc, column)
        };
        // what the table shows as equal is equal
        let is_above = |one: &str, other: &str, key: &str| match (value(one, key), value(other, key)) {
            (Some(one), Some(other)) => one > other,
            _ => false,
        };
        match &self.verdict {
            Verdict::Above { rivals, keys } => {
                let above = |rival: &&str| {
                    let found: Vec<&str> =
                        keys.iter().filter(|key| is_above(LEVEL, rival, key)).copied().collect();
                    match (found.is_empty(), keys.len()) {
                        (true, _) => "no".to_owned(),
                        (false, 1) => "yes".to_owned(),
                        (false, _) => found.join(", "),
                    }
                };
                rivals.iter().map(above).collect()
            }
            Verdict::Less { key, .. } => {
                let less: Vec<&str> =
                    self.algorithms.iter().filter(|cc| is_above(LEVEL, cc, key)).copied().collect();
                vec![if less.is_empty() { "none".to_owned() } else { less.join(", ") }]
            }
        }
    }
}

impl Verdict {
    fn headings(&self) -> Vec<String> {
        match self {
            Self::Above { rivals, .. } => {
                rivals.iter().map(|rival| format!("{LEVEL} above {rival}")).collect()
            }
            Self::Less { heading, .. } => vec![(*heading).to_owned()],
        }
    }
}

/// One row for all runs of a case and an algorithm.
fn rows(names: &[(String, &'static str)], measured: &[Values]) -> Vec<Row> {
    let mut of_names: Vec<((&str, &'static str), Vec<&Values>)> = Vec::new();
    for ((case, cc), values) in names.iter().zip(measured) {
        match of_names.iter_mut().find(|(known, _)| *known == (case, *cc)) {
            Some((_, all)) => all.push(values),
            None => of_names.push(((case, *cc), vec![values])),
        }
    }
    let row = |((case, cc), runs): ((&str, &'static str), Vec<&Values>)| {
        let mut values = BTreeMap::new();
        for (key, _) in runs.first().into_iter().copied().flatten() {
            let of_key = runs.iter().flat_map(|run| run.iter()).filter(|(other, _)| other == key);
            let found: Vec<f64> = of_key.map(|(_, value)| *value).filter(|value| value.is_finite()).collect();
            values.insert(*key, Value { spread: Spread::of(&found), found: found.len() });
        }
        Row { case: case.to_owned(), cc, runs: runs.len(), values }
    };
    of_names.into_iter().map(row).collect()
}

/// The mean with the decimals of the table; `None` without any run that has it.
fn shown(rows: &[&Row], cc: &str, column: &Column) -> Option<f64> {
    let value = rows.iter().find(|row| row.cc == cc)?.values.get(column.key)?;
    let unit = 10f64.powi(column.decimals as i32);
    value.spread.mean.is_finite().then(|| (value.spread.mean * unit).round() / unit)
}

/// The mean, and how many runs have the value, if not all do.
fn cell(rows: &[&Row], cc: &str, column: &Column) -> String {
    let Some(mean) = shown(rows, cc, column) else { return "-".to_owned() };
    let text = format!("{mean:.*}", column.decimals);
    let row = rows.iter().find(|row| row.cc == cc);
    let found = row.and_then(|row| Some((row.values.get(column.key)?.found, row.runs)));
    match found {
        Some((found, runs)) if found < runs => format!("{text} ({found} of {runs})"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_evidence::sheets::{COLLAPSE, NEIGHBOURS, QUEUE, SHORT_FLOWS};
    use crate::level_evidence::tests::arguments;
    use crate::records::assert_documented;
    use fairpace_experiment::Form;

    const SHEET: Sheet = Sheet {
        table: EvidenceTable::Queue,
        algorithms: &["level", "bbr3"],
        columns: &[
            Column { key: "mean", heading: "mean, ms", decimals: 1 },
            Column { key: "p95", heading: "p95, ms", decimals: 1 },
        ],
        measure: |_| Vec::new(),
        verdict: Verdict::Above { rivals: &["bbr3"], keys: &["mean", "p95"] },
    };

    fn measured(level: [f64; 2], bbr3: [f64; 2]) -> Vec<Row> {
        let names = [("a".to_owned(), "level"), ("a".to_owned(), "bbr3")];
        let values = [level, bbr3].map(|[mean, p95]| vec![("mean", mean), ("p95", p95)]);
        rows(&names, &values)
    }

    fn judged(sheet: &Sheet, level: [f64; 2], bbr3: [f64; 2]) -> String {
        let rows = measured(level, bbr3);
        sheet.judged(&rows.iter().collect::<Vec<_>>()).join("|")
    }

    #[test]
    fn a_row_says_in_what_level_is_above_another() {
        assert_eq!(judged(&SHEET, [1.0, 2.0], [3.0, 4.0]), "no");
        assert_eq!(judged(&SHEET, [1.0, 5.0], [3.0, 4.0]), "p95");
        assert_eq!(judged(&SHEET, [4.0, 5.0], [3.0, 4.0]), "mean, p95");
        assert_eq!(judged(&SHEET, [3.04, 4.0], [3.02, 4.0]), "no", "the table shows them as equal");
        assert_eq!(judged(&SHEET, [f64::NAN, 4.0], [3.0, 4.0]), "no", "what was not measured is not above");
        let of_one = Sheet { verdict: Verdict::Above { rivals: &["bbr3"], keys: &["mean"] }, ..SHEET };
        assert_eq!(judged(&of_one, [4.0, 0.0], [3.0, 0.0]), "yes");
        let faster = Sheet { verdict: Verdict::Less { key: "mean", heading: "faster" }, ..SHEET };
        assert_eq!(judged(&faster, [4.0, 0.0], [3.0, 0.0]), "bbr3");
        assert_eq!(judged(&faster, [3.0, 0.0], [3.0, 0.0]), "none");
    }

    #[test]
    fn cases_of_one_row_are_averaged_and_runs_without_the_number_are_counted() {
        let names = vec![("a".to_owned(), "level"); 3];
        let values: Vec<Values> =
            [10.0, f64::NAN, 20.0].map(|mean| vec![("mean", mean), ("p95", 1.0)]).to_vec();
        let rows = rows(&names, &values);
        assert_eq!((rows.len(), rows[0].runs), (1, 3));
        let of: Vec<&Row> = rows.iter().collect();
        assert_eq!(cell(&of, "level", &SHEET.columns[0]), "15.0 (2 of 3)");
        assert_eq!(cell(&of, "level", &SHEET.columns[1]), "1.0");
        assert_eq!(cell(&of, "bbr3", &SHEET.columns[1]), "-");
        assert_documented("level-evidence", &rows);
    }

    #[test]
    fn every_row_of_the_table_has_its_verdict() {
        let text = SHEET.markdown(&measured([1.0, 5.0], [3.0, 4.0]));
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
        assert_eq!(
            lines[0],
            ["case", "mean, ms: level", "bbr3", "p95, ms: level", "bbr3", "level above bbr3"]
        );
        assert_eq!(lines[2], ["a", "1.0", "3.0", "5.0", "4.0", "p95"]);
    }

    #[test]
    fn every_file_has_cases_for_every_algorithm_in_both_forms() {
        for sheet in [&SHORT_FLOWS, &NEIGHBOURS, &QUEUE, &COLLAPSE] {
            let path = arguments().scenarios.join(format!("{}.toml", sheet.table.name()));
            let criterion = Criterion::read(&path).unwrap();
            assert!(sheet.algorithms.contains(&LEVEL));
            for cc in sheet.algorithms {
                let [full, quick] =
                    [Form::Full, Form::Quick].map(|form| criterion.cases(cc, &[], form, "").unwrap());
                assert!(quick.len() < full.len() && !quick.is_empty(), "{}", sheet.table.name());
                assert!(
                    full.iter().all(|case| case.scenario.flows.iter().any(|flow| flow.cc.to_string() == *cc))
                );
            }
        }
    }
}
