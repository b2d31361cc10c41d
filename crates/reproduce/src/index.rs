//! REPRODUCTION.md: every figure with its status, published values and ours, and the command that measures
//! them.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::figure::Is;
use crate::record::{Compared, Held, Measured, PaperRecords, Record, Verdict};
use crate::text;

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::ShapeOnly => "shape only",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        })
    }
}

/// Everything between the page's marks.
#[must_use]
pub fn tables(papers: &[PaperRecords]) -> String {
    let all = || papers.iter().flat_map(|paper| &paper.records);
    let count = |verdict| all().filter(|record| record.verdict() == verdict).count();
    let mut page = format!(
        "{} figures, tables and questions: {} reproduced, {} in shape only, {} differ, {} not run.\n",
        all().count(),
        count(Verdict::Reproduced),
        count(Verdict::ShapeOnly),
        count(Verdict::Differs),
        count(Verdict::NotRun)
    );
    for PaperRecords { id, paper, records } in papers {
        let _ = write!(
            page,
            "\n## {}\n\n{}, {}. {}\n\n",
            paper.title,
            paper.authors,
            paper.published,
            paper.about.trim()
        );
        let _ = write!(page, "{HEADER}");
        for record in records {
            page.push_str(&row(id, record));
        }
        page.push_str(&differences(records));
    }
    page.push_str(&provenance(all()));
    text::wrapped(&page)
}

const HEADER: &str =
    "| figure | status | published | ours, simulator | ours, kernel | command |\n|---|---|---|---|---|---|\n";

fn row(paper: &str, record: &Record) -> String {
    let figure = &record.figure;
    let held: Vec<String> = record.measured.iter().filter_map(shapes).collect();
    let mut published: Vec<String> = Vec::new();
    let (mut sim, mut kernel) = (Vec::new(), Vec::new());
    for (index, value) in figure.values.iter().enumerate() {
        let is = match value.is {
            // no value is only apart from another: that is for shapes
            Is::About | Is::Apart => "",
            Is::Below => "at most ",
            Is::Above => "at least ",
        };
        published.push(cell(&format!(
            "{}: {is}{} {}",
            value.what,
            text::number(value.published),
            value.unit
        )));
        sim.push(ours(record.on(Target::Simulator), index));
        kernel.push(ours(record.on(Target::Testbed), index));
    }
    if figure.kernel.is_none() {
        kernel = vec![format!("cannot be: {}", cell(&figure.no_kernel))];
    } else if record.on(Target::Testbed).is_none() {
        kernel = vec!["not run".to_owned()];
    }
    published.extend(held.into_iter().map(|held| cell(&held)));
    format!(
        "| [{}](reproduction/{paper}/{}) {} | {} | {} | {} | {} | `{}` |\n",
        cell(&record.id),
        record.id,
        cell(&figure.title),
        record.verdict(),
        published.join("<br>"),
        sim.join("<br>"),
        kernel.join("<br>"),
        record.command()
    )
}

/// How many shapes hold, of how many that were measured.
pub(crate) fn held(measured: &Measured) -> (u32, u32) {
    let judged = measured.shapes.iter().filter_map(|Held { holds, .. }| *holds);
    judged.fold((0, 0), |(hold, all), holds| (hold + u32::from(holds), all + 1))
}

/// "simulator: 4 of 5 shapes hold".
fn shapes(measured: &Measured) -> Option<String> {
    let (hold, all) = held(measured);
    let noun = if all == 1 { "shape holds" } else { "shapes hold" };
    (all > 0).then(|| format!("{}: {hold} of {all} {noun}", place(measured.on)))
}

pub(crate) fn place(on: Target) -> &'static str {
    match on {
        Target::Simulator => "simulator",
        Target::Testbed => "kernel",
    }
}

fn ours(measured: Option<&Measured>, value: usize) -> String {
    let found = measured.and_then(|measured| measured.values.iter().find(|of| of.value == value));
    match found {
        Some(Compared { ours: Some(ours), holds, .. }) => {
            // what is outside of its tolerance is seen at once
            let mark = if *holds == Some(false) { "**" } else { "" };
            format!("{mark}{}{mark}", text::mean(*ours))
        }
        Some(Compared { holds: Some(false), .. }) => "**none**".to_owned(),
        _ => "-".to_owned(),
    }
}

/// Why those that are not reproduced are not.
fn differences(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let why = record.figure.differs.trim();
        if !why.is_empty() && record.verdict() != Verdict::NotRun {
            let _ = write!(text, "\n**{}**: {}\n", record.id, why.replace('\n', " "));
        }
    }
    text
}

/// Commits of the programs that measured, and what it cost.
fn provenance<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut commits: Vec<&str> = Vec::new();
    let (mut runs, mut cpu_s, mut packets) = (0, 0.0, 0);
    for measured in records.flat_map(|record| &record.measured) {
        if !commits.contains(&measured.commit.as_str()) {
            commits.push(&measured.commit);
        }
        runs += measured.runs;
        cpu_s += measured.cpu_s;
        packets += measured.packets;
    }
    if commits.is_empty() {
        return String::new();
    }
    commits.sort_unstable();
    let commits: Vec<String> = commits.iter().map(|commit| format!("`{commit}`")).collect();
    format!(
        "\nBold: outside of its tolerance. Means \u{b1} half of the 95 % confidence interval over seeds. \
         {runs} runs, {} of CPU time, {}; measured by {}. The folder of each figure has the comparison, \
         reproduction/results the numbers.\n",
        text::duration(cpu_s),
        text::of(packets, "packet"),
        commits.join(", ")
    )
}

/// Text that stays in its cell.
pub(crate) fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}
