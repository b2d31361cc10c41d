//! REPRODUCTION.md: every figure with its status, published values and ours, and the command that measures
//! them.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::figure::{Base, Claim, Figure, Hosts, Is, Paper, Value};
use crate::record::{Compared, Finding, Measured, Moved, PaperRecords, Record, Verdict};
use crate::summary::{self, columns};
use crate::tally::Counted;
use crate::text::{self, cell};

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Replicated => "replicated",
            Self::Partly => "partly replicated",
            Self::Not => "not replicated",
            Self::Ours => "ours",
            Self::NotRun => "not run",
        })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Open => "open",
            Self::Contradicted => "contradicted",
            Self::NotMeasured => "not measured",
        })
    }
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reaches => "reaches it",
            Self::Towards => "moves towards it",
            Self::Away => "moves away from it",
            Self::Unmoved => "does not move it",
            Self::NotMeasured => "not measured",
        })
    }
}

/// Everything between the page's marks.
#[must_use]
pub fn tables(papers: &[PaperRecords]) -> String {
    let mut page = summary::head(papers);
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
    page.push_str(&provenance(papers.iter().flat_map(|paper| &paper.records)));
    text::wrapped(&page)
}

/// What precedes what is known of a paper's hosts, here and in the gallery.
pub(crate) const HOSTS: &str = "In all simulations:";

/// What precedes the bases of a paper, here and in the gallery.
pub(crate) const BASES: &str =
    "Every figure is run and judged on each of these bases, if it does not say why not:";

/// What a paper declares of its hosts, the bases, and why.
fn bases(paper: &Paper) -> String {
    let sets = |sets: &[String]| sets.iter().map(|set| format!(" `{set}`")).collect::<String>();
    let why = |why: &str| why.trim().replace('\n', " ");
    let Hosts { why: known, set } = &paper.hosts;
    let hosts = match set.is_empty() {
        true => String::new(),
        false => format!("{HOSTS} {}{}\n\n", why(known), sets(set)),
    };
    if paper.bases.len() < 2 {
        return hosts;
    }
    let item = |base: &Base| format!("- {}: {}{}\n", base.title, why(&base.why), sets(&base.set));
    let items: String = paper.bases.iter().map(item).collect();
    format!("{hosts}{BASES}\n\n{items}\n")
}

fn header(paper: &Paper) -> String {
    let ours = columns(paper).into_iter().map(|column| format!(" ours, {} |", column.name()));
    let ours: Vec<String> = ours.collect();
    let marks = "---|".repeat(ours.len());
    format!("| figure | status | published |{} command |\n|---|---|---|{marks}---|\n", ours.concat())
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
        published.push(cell(&format!("{}: {is}{}", value.what, text::published(value))));
    }
    let ours: Vec<String> =
        columns(paper).iter().map(|of| format!(" {} |", column(record, &of.base.name, of.on))).collect();
    let status = |base| record.with_base(&record.verdict_on(base).to_string(), base);
    let status: Vec<String> = record.bases.iter().map(status).collect();
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
        let models = "models have no base";
        return cell(figure.no_base.get(base).map_or(models, String::as_str));
    };
    match (record.at(base, on), on) {
        (None, Target::Testbed) if figure.kernel.is_none() => {
            format!("no real flows: {}", cell(&figure.no_kernel))
        }
        (None, _) => "not run".to_owned(),
        (Some(measured), _) => {
            let ours = figure.values.iter().enumerate().map(|(index, value)| ours(value, measured, index));
            ours.chain(shapes(record, measured))
                .chain(text::real_settings(figure, on))
                .collect::<Vec<_>>()
                .join("<br>")
        }
    }
}

/// "shapes: 4 of 5 hold", and the same of what is ours.
fn shapes(record: &Record, measured: &Measured) -> impl Iterator<Item = String> {
    let counted = Counted::in_place(&record.figure, measured);
    let kinds = [("shapes", counted.shapes), ("ours", counted.ours)];
    kinds
        .into_iter()
        .filter(|(_, tally)| tally.measured() > 0)
        .map(|(name, tally)| format!("{name}: {} hold", summary::held(tally)))
}

fn ours(value: &Value, measured: &Measured, index: usize) -> String {
    let found = measured.values.iter().find(|of| of.value == index);
    match found {
        // what does not hold is seen at once; what cannot fail is no finding
        Some(Compared { ours: Some(ours), .. }) if !value.by_construction.is_empty() => text::mean(*ours),
        Some(Compared { ours: Some(ours), finding, .. }) => {
            let mark = match finding {
                Finding::Holds | Finding::NotMeasured => "",
                Finding::Open => "*",
                Finding::Contradicted => "**",
            };
            format!("{mark}{}{mark}", text::mean(*ours))
        }
        Some(Compared { finding: Finding::Contradicted, .. }) => "**none**".to_owned(),
        _ => "-".to_owned(),
    }
}

/// Why some checks do not hold, which cannot fail, and what is not checked.
fn differences(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let why = record.figure.differs.trim();
        if !why.is_empty() && record.verdict() != Verdict::NotRun {
            let _ = write!(text, "\n**{}**: {}\n", record.id, paragraphs(why));
        }
        for (what, why) in constructed(&record.figure) {
            let _ = write!(text, "\n**{}**, cannot fail: {what}. {why}\n", record.id);
        }
        for Claim { quote, why } in &record.figure.claims {
            let _ = write!(text, "\n**{}**, no check: “{}” {}\n", record.id, quote.trim(), why.trim());
        }
    }
    text
}

/// A text whose lines are joined, and whose paragraphs are not.
fn paragraphs(text: &str) -> String {
    let joined = text.split("\n\n").map(|paragraph| paragraph.trim().replace('\n', " "));
    joined.collect::<Vec<_>>().join("\n\n")
}

/// Checks that hold by construction, each with the reason.
pub(crate) fn constructed(figure: &Figure) -> impl Iterator<Item = (&str, &str)> {
    let values = figure.values.iter().map(|of| (of.what.as_str(), of.by_construction.trim()));
    let shapes = figure.shapes.iter().map(|of| (of.what.as_str(), of.by_construction.trim()));
    values.chain(shapes).filter(|(_, why)| !why.is_empty())
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
        "\nBold: contradicted. Italic: open. A dash: not measured. Means \u{b1} half of the 95 % confidence \
         interval, over seeds, or over runs with real flows. {runs} runs, {} of CPU time without those of \
         the tables, {}; measured by {}. The gallery that `make reproduce` writes draws the comparison of \
         each figure; the numbers are in `reproduction/results`, the experiments in the folders of the \
         figures.\n",
        text::duration(cpu_s),
        text::of(packets, "packet"),
        commits.join(", ")
    )
}
