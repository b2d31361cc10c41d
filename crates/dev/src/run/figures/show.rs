//! Published values beside ours, on standard output.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, short, table};
use fairpace_papers::record::{Finding, Mean, Measured, Verdict};
use fairpace_papers::text;
use fairpace_scenario::Target;
use serde::Serialize;

use super::Finished;

/// Text of a finished figure, in a line.
pub(super) fn line(done: &Finished<'_>) -> String {
    let Measured { verdict, cost, .. } = &done.measured;
    format!(
        "{}: {verdict}, {} runs, {:.1} CPU-seconds",
        done.sheet.name_on(done.stack),
        cost.runs,
        cost.cpu_s
    )
}

/// The record of a figure that was just run, for `--json`.
#[derive(Debug, Serialize)]
struct Ran<'a> {
    /// Name of the figure with its stack, for the table.
    #[serde(skip)]
    name: String,
    paper: &'a str,
    figure: &'a str,
    title: &'a str,
    on: &'static str,
    stack: &'a str,
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
    /// Whether the check is our own, and not stated in the paper.
    #[serde(rename = "is_ours")]
    ours_alone: bool,
    ours: &'a [Mean],
    finding: Finding,
}

fn ran<'a>(done: &'a Finished<'_>) -> Ran<'a> {
    let (figure, measured) = (&done.sheet.figure, &done.measured);
    let values = figure.values.iter().zip(&measured.values).map(|(value, compared)| RanValue {
        what: &value.what,
        unit: &value.unit,
        published: value.published,
        ours: compared.ours(),
        finding: compared.finding,
    });
    let shapes = figure.shapes.iter().zip(&measured.shapes);
    Ran {
        name: done.sheet.name_on(done.stack),
        paper: &done.sheet.paper,
        figure: &done.sheet.id,
        title: &figure.title,
        on: measured.on.name(),
        stack: &done.stack.name,
        verdict: measured.verdict,
        runs: measured.cost.runs,
        cpu_s: measured.cost.cpu_s,
        values: values.collect(),
        shapes: shapes
            .map(|(shape, held)| RanShape {
                what: &shape.what,
                ours_alone: shape.ours,
                ours: &held.numbers.ours,
                finding: held.finding,
            })
            .collect(),
    }
}

/// Shows the figures that were run.
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
            lines.add_row([String::new(), value.what.to_owned(), published, mean, value.finding.to_string()]);
        }
        for shape in &figure.shapes {
            let means: Vec<String> = shape.ours.iter().map(|mean| short(mean.mean)).collect();
            let means = if means.len() > 4 { String::new() } else { means.join(", ") };
            let kind = if shape.ours_alone { "ours" } else { "shape" };
            let kind = kind.to_owned(); // in place of a published number
            lines.add_row([String::new(), shape.what.to_owned(), kind, means, shape.finding.to_string()]);
        }
    }
    out.text(&table::text(&lines))
}
