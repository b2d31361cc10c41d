//! Table `paths`: the random paths of the criteria over parameters that move them.

use fairpace_cc::Parameter;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_experiment::evaluation::{Runs, Works, no_case};
use fairpace_experiment::{AlgorithmRecord, Criterion, Form, Metric, load, markdown_table, seed_of};
use serde::Serialize;

use super::counts::Row;
use super::parameters::number;
use super::{Context, LEVEL, Made, parameters, record};
use crate::evaluate::{cache, keeping};

/// Seeds of the full form.
const SEEDS: u32 = 2;
/// Paths of the full form, and of the quick one.
const PATHS: (usize, usize) = (100, 10);
/// The commit in which the present form of LEVEL was frozen. docs/evaluation/level-random-paths.md has the
/// same paths.
const DRAW: &str = "87231cdedc7b2afeb5ab5edfade61bc6b972947e";

/// Parameters, and their values in the unit of a table, see [`number`]. The default is added.
const OVER: [(&str, &[f64]); 2] = [("patience", &[0.0, 3.0, 6.0, 8.0]), ("level", &[1.0, 1.4])];

/// LEVEL with one parameter at a value, on all paths.
#[derive(Debug, Serialize)]
struct PathsRow {
    parameter: Option<&'static str>,
    value: Option<String>,
    is_default: bool,
    paths: usize,
    /// Paths on which all conditions hold.
    hold: usize,
    /// Paths on which this one does.
    fair: usize,
    full: usize,
    /// The least Jain index of a path.
    jain_least: f64,
    /// The median of the paths' mean queueing delays.
    queue_ms_median: f64,
}

pub(super) fn make(context: &Context<'_>) -> Result<Made, Failure> {
    let all = parameters()?;
    let (form, seeds) = (context.form(), context.seeds(SEEDS));
    let criterion = load(&context.args.criteria)?
        .into_iter()
        .find(Criterion::is_drawn)
        .ok_or_else(|| no_paths(context))?;
    let rows = rows(all);
    let mut works = Works::new(1);
    for row in &rows {
        let mut cases = criterion.paths(LEVEL, &row.asked(all, None).sets, count(form), draw()?)?;
        cases.retain(|case| case.name.contains(&context.args.matching));
        works.add(0, LEVEL, cases, seeds);
    }
    if works.scenarios().is_empty() {
        return Err(no_case(&context.args.matching));
    }
    let folder = &context.args.criteria;
    let cache = cache(folder);
    let keeping = keeping(folder, &cache, false, context.args.jobs);
    let summaries = Runs::new(keeping, works.scenarios(), context.global)?.perform(context.signals)?;
    let judged = works.judged(&summaries, &[&criterion]);
    let rows: Vec<PathsRow> = rows.iter().zip(judged).map(|(row, (_, of))| PathsRow::of(row, &of)).collect();
    let drawn = format!("Paths drawn from `{DRAW}`.\n\n");
    let text = context.facts(form, seeds, summaries.len()) + &drawn + &table(&rows);
    Ok(Made { text, record: record(&rows)?, pictures: Vec::new() })
}

fn no_paths(context: &Context<'_>) -> Failure {
    let message = format!("{} has no random paths", context.args.criteria.display());
    Failure::new(Exit::Usage, message, "evaluation/level has them")
}

const fn count(form: Form) -> usize {
    match form {
        Form::Full => PATHS.0,
        Form::Quick => PATHS.1,
    }
}

fn draw() -> Result<u64, Failure> {
    seed_of(DRAW).ok_or_else(|| Failure::new(Exit::Internal, format!("{DRAW} is no seed"), ""))
}

/// The defaults, then each parameter at its values.
fn rows(all: &[Parameter]) -> Vec<Row> {
    let mut rows = vec![Row::defaults()];
    for (name, values) in OVER {
        let Some(parameter) = all.iter().find(|parameter| parameter.name == name) else { continue };
        let one = number(parameter.unit, 1);
        let raw = values.iter().map(|value| (value / one).round() as u32);
        let allowed = raw.filter(|raw| (parameter.least..=parameter.most).contains(raw));
        rows.extend(allowed.filter(|raw| *raw != parameter.default).map(|raw| Row::of(parameter, raw)));
    }
    rows
}

impl PathsRow {
    fn of(row: &Row, of: &AlgorithmRecord) -> Self {
        let hold = |name: &str| of.conditions.iter().find(|condition| condition.name == name);
        let spread = |metric: Metric| of.metrics.iter().find(|spread| spread.metric == metric);
        Self {
            parameter: row.parameter,
            value: row.value.clone(),
            is_default: row.is_default,
            paths: of.cases,
            hold: of.hold,
            fair: hold("fair").map_or(0, |condition| condition.hold),
            full: hold("full").map_or(0, |condition| condition.hold),
            jain_least: spread(Metric::Jain).map_or(f64::NAN, |spread| spread.least),
            queue_ms_median: spread(Metric::QueueMs).map_or(f64::NAN, |spread| spread.median),
        }
    }

    fn cells(&self) -> Vec<String> {
        let name = match (self.parameter, &self.value) {
            (Some(parameter), Some(value)) => format!("`{parameter}={value}`"),
            _ => "`defaults`".to_owned(),
        };
        let counts = [self.hold, self.fair, self.full].map(|count| count.to_string());
        let mut cells = vec![name];
        cells.extend(counts);
        cells.extend([format!("{:.3}", self.jain_least), format!("{:.2}", self.queue_ms_median)]);
        cells
    }
}

fn table(rows: &[PathsRow]) -> String {
    let paths = rows.first().map_or(0, |row| row.paths);
    let hold = format!("hold, of {paths}");
    let header = ["value", &hold, "fair", "full", "worst Jain index", "median queue, ms"].map(str::to_owned);
    markdown_table(&header, &rows.iter().map(PathsRow::cells).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::assert_documented;

    #[test]
    fn the_defaults_come_first_and_no_value_is_the_default() {
        let rows = rows(parameters().unwrap());
        assert_eq!(rows[0].name(), "defaults");
        assert!(rows[1..].iter().all(|row| !row.is_default));
        for known in ["patience=0", "patience=8", "level=1ms"] {
            assert!(rows.iter().any(|row| row.name() == known), "{known}");
        }
        assert!(draw().is_ok());
    }

    #[test]
    fn a_row_has_what_the_conditions_and_metrics_say() {
        let row = PathsRow {
            parameter: Some("patience"),
            value: Some("0".to_owned()),
            is_default: false,
            paths: 100,
            hold: 87,
            fair: 88,
            full: 99,
            jain_least: 0.1844,
            queue_ms_median: 6.756,
        };
        assert_documented("level-evidence", &[&row]);
        let text = table(&[row]);
        let last = text.lines().last().unwrap();
        let cells: Vec<&str> = last.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells, ["`patience=0`", "87", "88", "99", "0.184", "6.76"]);
    }
}
