//! The figures with their verdicts, and published values beside ours, on standard output.

use std::collections::HashSet;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, number, short, table};
use fairpace_papers::figure::{Base, Value};
use fairpace_papers::record::{Compared, Finding, Mean, PaperRecords, Record, Verdict};
use fairpace_papers::sheet::Sheet;
use fairpace_papers::text;
use fairpace_scenario::Target;
use serde::Serialize;

use super::execute::Finished;

/// A figure in `--list --json`.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    paper: &'a str,
    figure: &'a str,
    title: &'a str,
    /// Of the hosts; empty, where the paper declares none.
    base: &'a str,
    verdict: Verdict,
    /// CPU-seconds of its simulations in the last run; `null` if there was none.
    cost_s: Option<f64>,
    command: String,
}

impl<'a> Entry<'a> {
    fn of((record, base): (&'a Record, &'a Base)) -> Self {
        Self {
            paper: &record.paper,
            figure: &record.id,
            title: &record.figure.title,
            base: &base.name,
            verdict: record.verdict_on(base),
            cost_s: record.at(base, Target::Simulator).map(|measured| measured.cpu_s),
            command: record.command(),
        }
    }
}

/// `--list`.
pub(super) fn list(
    papers: &[PaperRecords],
    chosen: &[&Sheet],
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let wanted: HashSet<(&str, &str)> =
        chosen.iter().map(|sheet| (sheet.paper.as_str(), sheet.id.as_str())).collect();
    let records = papers.iter().flat_map(|paper| &paper.records);
    let records = records.filter(|record| wanted.contains(&(record.paper.as_str(), record.id.as_str())));
    let records: Vec<_> =
        records.flat_map(|record| record.bases.iter().map(move |base| (record, base))).collect();
    if global.json {
        return out.json(&records.into_iter().map(Entry::of).collect::<Vec<_>>());
    }
    let mut lines = table(&["figure", "title", "verdict", "on the kernel", "CPU-seconds"], 4);
    for (record, base) in records {
        let kernel = match (record.at(base, Target::Testbed), &record.figure.kernel) {
            (Some(measured), _) => measured.verdict.to_string(),
            (None, Some(_)) => "not run".to_owned(),
            (None, None) => "cannot be".to_owned(),
        };
        let name = record.name_on(base);
        let cost = number(record.at(base, Target::Simulator).map(|of| of.cpu_s), 1);
        let verdict = record.verdict_on(base).to_string();
        lines.add_row(vec![name, record.figure.title.clone(), verdict, kernel, cost]);
    }
    out.text(&table::text(&lines))?;
    out.line("\nrun one with `fairpace-dev reproduce FIGURE`")
}

/// A figure that was just run, for `--json`.
#[derive(Debug, Serialize)]
struct Ran<'a> {
    /// With its base, for the table.
    #[serde(skip)]
    name: String,
    paper: &'a str,
    figure: &'a str,
    title: &'a str,
    on: &'static str,
    base: &'a str,
    verdict: Verdict,
    runs: u32,
    cpu_s: f64,
    values: Vec<RanValue<'a>>,
    shapes: Vec<RanShape<'a>>,
}

#[derive(Debug, Serialize)]
struct RanValue<'a> {
    what: &'a str,
    unit: &'a str,
    published: f64,
    ours: Option<Mean>,
    finding: Finding,
}

#[derive(Debug, Serialize)]
struct RanShape<'a> {
    what: &'a str,
    /// The paper does not state it.
    #[serde(rename = "is_ours")]
    ours_alone: bool,
    ours: &'a [Mean],
    finding: Finding,
}

fn ran<'a>(done: &'a Finished<'_>) -> Ran<'a> {
    let (figure, measured) = (&done.sheet.figure, &done.measured);
    let value = |(value, compared): (&'a Value, &Compared)| RanValue {
        what: &value.what,
        unit: &value.unit,
        published: value.published,
        ours: compared.ours,
        finding: compared.finding,
    };
    let shapes = figure.shapes.iter().zip(&measured.shapes);
    Ran {
        name: done.sheet.name_on(done.base),
        paper: &done.sheet.paper,
        figure: &done.sheet.id,
        title: &figure.title,
        on: measured.on.name(),
        base: &done.base.name,
        verdict: measured.verdict,
        runs: measured.runs,
        cpu_s: measured.cpu_s,
        values: figure.values.iter().zip(&measured.values).map(value).collect(),
        shapes: shapes
            .map(|(shape, held)| RanShape {
                what: &shape.what,
                ours_alone: shape.ours,
                ours: &held.ours,
                finding: held.finding,
            })
            .collect(),
    }
}

/// The figures that were run.
pub(super) fn finished(
    all: &[Finished<'_>],
    on: Target,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let all: Vec<Ran<'_>> = all.iter().map(ran).collect();
    if global.json {
        return out.json(&all);
    }
    let ours = if on == Target::Simulator { "ours, simulator" } else { "ours, kernel" };
    let mut lines = table(&["figure", "value", "published", ours, "verdict"], 2);
    for figure in &all {
        let name = figure.name.clone();
        lines.add_row(vec![name, String::new(), String::new(), String::new(), figure.verdict.to_string()]);
        for value in &figure.values {
            let published = format!("{} {}", short(value.published), value.unit);
            let mean = value.ours.map_or_else(|| "-".to_owned(), text::mean);
            let row = [String::new(), value.what.to_owned(), published, mean, value.finding.to_string()];
            lines.add_row(row);
        }
        for shape in &figure.shapes {
            let means: Vec<String> = shape.ours.iter().map(|mean| short(mean.mean)).collect();
            let means = if means.len() > 4 { String::new() } else { means.join(", ") };
            let row = [String::new(), shape.what.to_owned(), kind(shape), means, shape.finding.to_string()];
            lines.add_row(row);
        }
    }
    out.text(&table::text(&lines))
}

/// In place of a published number.
fn kind(shape: &RanShape<'_>) -> String {
    if shape.ours_alone { "ours" } else { "shape" }.to_owned()
}
