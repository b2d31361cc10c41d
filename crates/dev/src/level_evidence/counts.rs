//! Cases of criteria that forms of an algorithm hold.

use fairpace_cc::Parameter;
use fairpace_cli_core::failure::Failure;
use fairpace_experiment::evaluation::{Runs, Works, no_case};
use fairpace_experiment::{AlgorithmRecord, Criterion, Form, load};
use fairpace_scenario::Set;
use serde::Serialize;

use super::parameters::sets;
use super::{Context, LEVEL};
use crate::evaluate::{cache, keeping};

/// An algorithm with changed parameters at some criteria.
pub(super) struct Asked {
    pub(super) cc: String,
    pub(super) sets: Vec<Set>,
    /// Ids of the criteria; `None`: all.
    pub(super) criteria: Option<&'static [&'static str]>,
}

/// LEVEL with one parameter at a value.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// `None`: all parameters have their defaults.
    pub(super) parameter: Option<&'static str>,
    /// As the command line takes it.
    pub(super) value: Option<String>,
    pub(super) is_default: bool,
    pub(super) criteria: Vec<Held>,
    #[serde(skip)]
    pub(super) raw: u32,
}

/// How many cases of a criterion are held.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Held {
    pub(super) criterion: String,
    pub(super) cases: usize,
    pub(super) hold: usize,
}

impl Row {
    /// LEVEL as it is.
    pub(super) const fn defaults() -> Self {
        Self { parameter: None, value: None, is_default: true, criteria: Vec::new(), raw: 0 }
    }

    /// LEVEL with this raw value of a parameter.
    pub(super) fn of(parameter: &Parameter, raw: u32) -> Self {
        Self {
            parameter: Some(parameter.name),
            value: Some(parameter.unit.format(raw)),
            is_default: raw == parameter.default,
            raw,
            ..Self::defaults()
        }
    }

    /// "patience=0", or "defaults".
    pub(super) fn name(&self) -> String {
        match (self.parameter, &self.value) {
            (Some(parameter), Some(value)) => format!("{parameter}={value}"),
            _ => "defaults".to_owned(),
        }
    }

    pub(super) fn asked(&self, all: &[Parameter], criteria: Option<&'static [&'static str]>) -> Asked {
        let parameter = all.iter().find(|known| Some(known.name) == self.parameter);
        let sets = parameter.map(|parameter| sets(parameter, self.raw)).unwrap_or_default();
        Asked { cc: LEVEL.to_owned(), sets, criteria }
    }

    /// Adds what was measured.
    pub(super) fn with(self, criteria: &[Criterion], records: &[(usize, AlgorithmRecord)]) -> Self {
        let held = |(criterion, of): &(usize, AlgorithmRecord)| Held {
            criterion: criteria[*criterion].id.clone(),
            cases: of.cases,
            hold: of.hold,
        };
        Self { criteria: records.iter().map(held).collect(), ..self }
    }

    /// Cases that are held at all criteria.
    pub(super) fn sum(&self) -> usize {
        self.criteria.iter().map(|held| held.hold).sum()
    }
}

/// What was measured.
pub(super) struct Counted {
    /// The criteria that are not drawn, in order.
    pub(super) criteria: Vec<Criterion>,
    /// Runs behind the numbers.
    pub(super) runs: usize,
    /// For each that was asked, a record for each of its criteria, with the index of that.
    pub(super) records: Vec<Vec<(usize, AlgorithmRecord)>>,
}

/// Judges all that is asked by the criteria. Runs that were kept are used.
pub(super) fn count(
    context: &Context<'_>,
    asked: &[Asked],
    form: Form,
    seeds: u32,
) -> Result<Counted, Failure> {
    let args = context.args;
    let mut criteria = load(&args.criteria)?;
    criteria.retain(|criterion| !criterion.is_drawn());
    let mut works = Works::new(1);
    let mut lengths = Vec::new();
    for Asked { cc, sets, criteria: ids } in asked {
        let mut length = 0;
        for (index, criterion) in criteria.iter().enumerate() {
            if ids.is_some_and(|ids| !ids.contains(&criterion.id.as_str())) {
                continue;
            }
            let cases = criterion.cases(cc, sets, form, &args.matching)?;
            if !cases.is_empty() {
                works.add(index, cc, cases, seeds);
                length += 1;
            }
        }
        lengths.push(length);
    }
    if works.scenarios().is_empty() {
        return Err(no_case(&args.matching));
    }
    let cache = cache(&args.criteria);
    let keeping = keeping(&args.criteria, &cache, false, args.jobs);
    let summaries = Runs::new(keeping, works.scenarios(), context.global)?.perform(context.signals)?;
    let mut judged = works.judged(&summaries, &criteria.iter().collect::<Vec<_>>()).into_iter();
    let records = lengths.into_iter().map(|length| judged.by_ref().take(length).collect()).collect();
    Ok(Counted { criteria, runs: summaries.len(), records })
}

/// Headings of the criteria that some row has: "G1 of 160".
pub(super) fn headings(rows: &[Row]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for Held { criterion, cases, .. } in rows.iter().flat_map(|row| &row.criteria) {
        if !found.iter().any(|(known, _)| known == criterion) {
            found.push((criterion.clone(), format!("{criterion} of {cases}")));
        }
    }
    found
}

/// The cells of a row below such headings.
pub(super) fn cells(row: &Row, headings: &[(String, String)]) -> Vec<String> {
    let of = |(id, _): &(String, String)| row.criteria.iter().find(|held| held.criterion == *id);
    headings.iter().map(|heading| of(heading).map_or("-".to_owned(), |held| held.hold.to_string())).collect()
}

/// A table with a row for each value: cases held at each criterion, at all, and how many more than the first
/// row.
pub(super) fn table(heading: &str, rows: &[Row]) -> String {
    let criteria = headings(rows);
    let cases: usize = rows.first().map_or(0, |row| row.criteria.iter().map(|held| held.cases).sum());
    let mut header = vec![heading.to_owned()];
    header.extend(criteria.iter().map(|(_, heading)| heading.clone()));
    header.extend([format!("all of {cases}"), "difference".to_owned()]);
    let first = rows.first().map_or(0, Row::sum);
    let line = |row: &Row| {
        let mut line = vec![format!("`{}`", row.name())];
        line.extend(cells(row, &criteria));
        line.extend([row.sum().to_string(), difference(row.sum(), first)]);
        line
    };
    fairpace_experiment::markdown_table(&header, &rows.iter().map(line).collect::<Vec<_>>())
}

/// "+3", "-2", or "0".
pub(super) fn difference(now: usize, before: usize) -> String {
    match now as i64 - before as i64 {
        0 => "0".to_owned(),
        by => format!("{by:+}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::assert_documented;

    fn row(hold: usize) -> Row {
        let held = |criterion: &str, hold| Held { criterion: criterion.to_owned(), cases: 10, hold };
        Row { criteria: vec![held("G1", hold), held("G4", 3)], ..Row::defaults() }
    }

    #[test]
    fn a_row_has_each_criterion_their_sum_and_the_difference_to_the_first() {
        let text = table("form", &[row(8), row(6), row(9)]);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
        assert_eq!(rows[0], ["form", "G1 of 10", "G4 of 10", "all of 20", "difference"]);
        assert_eq!(rows[2], ["`defaults`", "8", "3", "11", "0"]);
        assert_eq!((&rows[3][3..], &rows[4][3..]), (&["9", "-2"][..], &["12", "+1"][..]));
    }

    #[test]
    fn a_criterion_that_was_not_measured_has_no_number() {
        let rows = [row(8), Row { criteria: row(1).criteria[1..].to_vec(), ..Row::defaults() }];
        assert_eq!(cells(&rows[1], &headings(&rows)), ["-", "3"]);
    }

    #[test]
    fn the_record_is_documented() {
        assert_documented("level-evidence", &[row(1)]);
    }
}
