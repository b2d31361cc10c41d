//! REPRODUCTION.md: every figure with its status, published values and ours, and the command that measures
//! them.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::figure::{Base, Is, Paper};
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
        page.push_str(&bases(paper));
        page.push_str(&header(paper));
        for record in records {
            page.push_str(&row(id, record, paper));
        }
        page.push_str(&differences(records));
    }
    page.push_str(&provenance(all()));
    text::wrapped(&page)
}

/// The bases that a paper declares, and why.
fn bases(paper: &Paper) -> String {
    if paper.bases.len() < 2 {
        return String::new();
    }
    let item = |base: &Base| {
        let sets: Vec<String> = base.set.iter().map(|set| format!(" `{set}`")).collect();
        format!("- {}: {}{}\n", base.title, base.why.trim().replace('\n', " "), sets.concat())
    };
    let items: String = paper.bases.iter().map(item).collect();
    format!(
        "Every figure is run and judged on these bases, which were declared before the runs:\n\n{items}\n"
    )
}

/// A base and a host for each column of ours; without declared bases, the hosts alone.
fn columns(paper: &Paper) -> Vec<(&str, &str, Target)> {
    let bases: Vec<(&str, &str)> = match paper.bases.as_slice() {
        [] => vec![("", "")],
        some => some.iter().map(|base| (base.name.as_str(), base.title.as_str())).collect(),
    };
    let hosts = |(name, title)| [Target::Simulator, Target::Testbed].map(|on| (name, title, on));
    bases.into_iter().flat_map(hosts).collect()
}

fn header(paper: &Paper) -> String {
    let ours = columns(paper).into_iter().map(|(_, title, on)| {
        let comma = if title.is_empty() { "" } else { ", " };
        format!(" ours, {}{comma}{title} |", place(on))
    });
    let ours: Vec<String> = ours.collect();
    format!(
        "| figure | status | published |{} command |\n|---|---|---|{}---|\n",
        ours.concat(),
        "---|".repeat(ours.len())
    )
}

fn row(id: &str, record: &Record, paper: &Paper) -> String {
    let figure = &record.figure;
    let mut published: Vec<String> = Vec::new();
    for value in &figure.values {
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
    }
    let ours: Vec<String> =
        columns(paper).into_iter().map(|(base, _, on)| format!(" {} |", column(record, base, on))).collect();
    let status: Vec<String> = record.bases.iter().map(|base| record.verdict_on(base).to_string()).collect();
    format!(
        "| [{}](reproduction/{id}/{}) {} | {} | {} |{} `{}` |\n",
        cell(&record.id),
        record.id,
        cell(&figure.title),
        status.join("<br>"),
        published.join("<br>"),
        ours.concat(),
        record.command()
    )
}

/// Ours beside each published value, then how many shapes hold; or why there are none.
fn column(record: &Record, base: &str, on: Target) -> String {
    let figure = &record.figure;
    let Some(base) = record.bases.iter().find(|known| known.name == base) else {
        let models = "models and tables have no base";
        return cell(figure.no_base.get(base).map_or(models, String::as_str));
    };
    match (record.at(base, on), on) {
        (None, Target::Testbed) if figure.kernel.is_none() => {
            format!("cannot be: {}", cell(&figure.no_kernel))
        }
        (None, _) => "not run".to_owned(),
        (Some(measured), _) => {
            let ours = (0..figure.values.len()).map(|index| ours(measured, index));
            ours.chain(shapes(measured)).collect::<Vec<_>>().join("<br>")
        }
    }
}

/// How many shapes hold, of how many that were measured.
pub(crate) fn held(measured: &Measured) -> (u32, u32) {
    let judged = measured.shapes.iter().filter_map(|Held { holds, .. }| *holds);
    judged.fold((0, 0), |(hold, all), holds| (hold + u32::from(holds), all + 1))
}

/// "4 of 5 shapes hold".
fn shapes(measured: &Measured) -> Option<String> {
    let (hold, all) = held(measured);
    let noun = if all == 1 { "shape holds" } else { "shapes hold" };
    (all > 0).then(|| format!("{hold} of {all} {noun}"))
}

pub(crate) fn place(on: Target) -> &'static str {
    match on {
        Target::Simulator => "simulator",
        Target::Testbed => "kernel",
    }
}

fn ours(measured: &Measured, value: usize) -> String {
    let found = measured.values.iter().find(|of| of.value == value);
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
