//! The head of REPRODUCTION.md: how many checks of each paper hold, what the words mean, and every claim that
//! the evidence contradicts. All of it is computed from records.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::explained;
use crate::figure::{Base, Paper};
use crate::gallery::tables;
use crate::record::{Finding, PaperRecords, Record};
use crate::tally::{Counted, Tally};
use crate::text::{self, cell, place};

/// A base and a host of a paper.
pub(crate) struct Column {
    pub(crate) base: Base,
    pub(crate) on: Target,
}

/// Every base of a paper on each host.
pub(crate) fn columns(paper: &Paper) -> Vec<Column> {
    let hosts = |base: Base| [Target::Simulator, Target::Testbed].map(|on| Column { base: base.clone(), on });
    paper.bases_or_default().into_iter().flat_map(hosts).collect()
}

impl Column {
    /// "simulator, single packets".
    pub(crate) fn name(&self) -> String {
        let comma = if self.base.title.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", place(self.on), self.base.title)
    }

    fn counted(&self, records: &[Record]) -> Counted {
        let all = records.iter().map(|record| record.counted(&self.base, self.on));
        all.fold(Counted::default(), |sum, of| sum + of)
    }
}

/// Table, definitions, contradicted claims.
pub(crate) fn head(papers: &[PaperRecords]) -> String {
    let mut page = TABLE.to_owned();
    papers.iter().for_each(|paper| rows(paper, &mut page));
    page.push_str(WORDS);
    page.push_str(&explained::section(papers));
    page.push_str("\n## Contradicted by the evidence\n\n");
    let before = page.len();
    papers.iter().for_each(|paper| contradicted(paper, &mut page));
    if page.len() == before {
        page.push_str("Nothing.\n");
    }
    page
}

const TABLE: &str = "\
    | paper | measured on | values that hold | shapes that hold | contradicted | open | not measured \
    | ours | cannot fail | no check |\n|---|---|---|---|---|---|---|---|---|---|\n";

/// What the columns and the verdicts mean.
const WORDS: &str = include_str!("../assets/words.md");

fn rows(of: &PaperRecords, page: &mut String) {
    let claims: usize = of.records.iter().map(|record| record.figure.claims.len()).sum();
    let mut title = format!("{}, {}", cell(&of.paper.authors), of.records.len());
    title += if of.records.len() == 1 { " figure" } else { " figures" };
    for column in columns(&of.paper) {
        let counted = column.counted(&of.records);
        let paper = counted.values + counted.shapes;
        let is_run = of.records.iter().any(|record| record.at(&column.base, column.on).is_some());
        if !is_run && column.on == Target::Testbed {
            continue;
        }
        let _ = writeln!(
            page,
            "| {title} | {} | {} | {} | {} | {} | {} | {} | {} | {claims} |",
            column.name(),
            held(counted.values),
            held(counted.shapes),
            paper.contradicted,
            paper.open,
            paper.not_measured,
            held(counted.ours),
            counted.by_construction
        );
    }
}

/// "7 of 9"; a dash without any.
pub(crate) fn held(tally: Tally) -> String {
    if tally.all() == 0 { "–".into() } else { format!("{} of {}", tally.hold, tally.all()) }
}

/// Every value and shape of the paper that the evidence contradicts, by figure.
fn contradicted(of: &PaperRecords, page: &mut String) {
    for record in &of.records {
        for column in columns(&of.paper) {
            let list = contradicted_in(record, &column);
            if list.is_empty() {
                continue;
            }
            let settings = text::real_settings(&record.figure, column.on);
            let place: Vec<String> = [column.name()].into_iter().chain(settings).collect();
            let (place, list) = (place.join(", "), list.join("; "));
            let name = format!("{}/{}", of.id, record.id);
            let _ = writeln!(page, "- [{name}](reproduction/{name}), {place}: {list}.");
        }
    }
}

fn contradicted_in(record: &Record, column: &Column) -> Vec<String> {
    let Some(measured) = record.at(&column.base, column.on) else { return Vec::new() };
    let figure = &record.figure;
    let values = figure.values.iter().zip(&measured.values);
    let values = values.filter(|(value, of)| value.by_construction.is_empty() && is_contradicted(of.finding));
    let values = values.map(|(value, of)| {
        let ours = of.ours.map_or_else(|| "none".to_owned(), text::mean);
        let published = text::published(value);
        format!("{} is {ours}, published {published} ({})", value.what, tables::allowed(value))
    });
    let shapes = figure.shapes.iter().zip(&measured.shapes);
    let of_paper = shapes.filter(|(shape, _)| shape.by_construction.is_empty() && !shape.ours);
    let shapes = of_paper.filter(|(_, of)| is_contradicted(of.finding));
    let shapes = shapes.map(|(shape, of)| match shape.along {
        None => format!(
            "not “{}”: {}",
            shape.what,
            text::relation(shape, of).replacen(['≤', '≥', '≈'], "against", 1)
        ),
        Some(_) => format!("not “{}”", shape.what),
    });
    values.chain(shapes).map(|text| text.replace('\n', " ")).collect()
}

fn is_contradicted(finding: Finding) -> bool {
    finding == Finding::Contradicted
}
