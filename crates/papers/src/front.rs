//! The generated part of REPRODUCTION.md: how many checks of each paper hold, the meaning of the words, and
//! every figure with its status. All of it is computed from records.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::figure::Paper;
use crate::places::Place;
use crate::record::{Compared, Cost, Finding, Moved, PaperRecords, Record};
use crate::tally::Counted;
use crate::text::{self, cell};

/// Explanation of the columns and the verdicts.
const WORDS: &str = include_str!("../assets/words.md");

/// The text between the marks of the page.
#[must_use]
pub fn tables(papers: &[PaperRecords]) -> String {
    let mut page =
        "| paper | measured in | values that hold | shapes that hold | contradicted | open | not measured \
                    | ours | cannot fail | no check |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    papers.iter().for_each(|paper| rows(paper, &mut page));
    page.push_str(WORDS);
    page.push_str(&Counts::of(papers).text());
    for PaperRecords { id, paper, records } in papers {
        let Paper { title, authors, about, .. } = paper;
        // the first paragraph: what the paper claims and what came of it
        let about = about.split("\n\n").next().unwrap_or_default().trim();
        let _ = write!(page, "\n## [{title}](reproduction/{id}/README.md)\n\n{authors}. {about}\n\n");
        page.push_str("| figure | status |\n|---|---|\n");
        records.iter().for_each(|record| page.push_str(&row(record)));
    }
    page.push_str(&provenance(papers.iter().flat_map(|paper| &paper.records)));
    text::wrapped(&page)
}

fn row(record: &Record) -> String {
    let mut status: Vec<String> =
        record.stacks.iter().map(|stack| record.verdict(stack).to_string()).collect();
    status.dedup();
    let link = format!("reproduction/{}/README.md#{}", record.paper, record.id);
    format!("| [{}]({link}) {} | {} |\n", record.id, cell(&record.figure.title), status.join("; "))
}

/// Appends the rows of a paper: one for each stack and host.
fn rows(of: &PaperRecords, page: &mut String) {
    let claims: usize = of.records.iter().map(|record| record.figure.claims.len()).sum();
    let figures = text::of(of.records.len() as u64, "figure");
    for stack in of.paper.bases_or_default() {
        for on in [Target::Simulator, Target::Testbed] {
            let all = of.records.iter().map(|record| Counted::of(&record.figure, record.at(&stack, on)));
            let Counted { values, shapes, ours, by_construction } =
                all.fold(Counted::default(), |sum, of| sum + of);
            let paper = values + shapes;
            if on == Target::Testbed && of.records.iter().all(|record| record.at(&stack, on).is_none()) {
                continue;
            }
            let place = Place { stack: &stack, on, measured: None }.name();
            let found = [Finding::Contradicted, Finding::Open, Finding::NotMeasured];
            let [contradicted, open, not_measured] = found.map(|finding| paper.of(finding));
            let _ = writeln!(
                page,
                "| {}, {figures} | {place} | {values} | {shapes} | {contradicted} | {open} | {not_measured} \
                 | {ours} | {by_construction} | {claims} |",
                cell(&of.paper.authors),
            );
        }
    }
}

/// Numbers of published values in all papers. Each value holds in the simulator, or is in one of `reached` to
/// `untried`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    all: usize,
    /// Values that hold in the simulator, with at least one declared stack.
    hold: usize,
    /// Values that do not hold in the simulator, but with real flows with at least one declared stack.
    hold_real: usize,
    /// Values that the paper states in words, and the number of them that hold in the simulator.
    in_words: usize,
    hold_in_words: usize,
    reached: usize,
    towards: usize,
    /// Values for which causes were tried, none of which moves the value nearer to the published one.
    unmoved: usize,
    /// Values for which no cause was tried.
    untried: usize,
    /// Changes of causes by [`Moved`]; a change counts once for each stack.
    tries: [usize; 4],
}

impl Counts {
    fn of(papers: &[PaperRecords]) -> Self {
        let mut counts = Self::default();
        for record in papers.iter().flat_map(|of| &of.records) {
            let places: Vec<Place<'_>> = record.places().collect();
            let values = record.figure.values.iter().enumerate();
            for (index, value) in values.filter(|(_, value)| value.by_construction.is_empty()) {
                let on = |target: Target| places.iter().filter(move |place| place.on == target);
                let of = |place: &Place<'_>| place.measured.map(|of| of.values[index].clone());
                let found: Vec<Compared> = on(Target::Simulator).filter_map(of).collect();
                let real: Vec<Compared> = on(Target::Testbed).filter_map(of).collect();
                counts.count(value.in_words, &found, &real);
            }
        }
        counts
    }

    fn count(&mut self, in_words: bool, found: &[Compared], real: &[Compared]) {
        let holds = |found: &[Compared]| found.iter().any(|of| of.finding == Finding::Holds);
        self.all += 1;
        self.in_words += usize::from(in_words);
        if holds(found) {
            self.hold += 1;
            self.hold_in_words += usize::from(in_words);
            return;
        }
        self.hold_real += usize::from(holds(real));
        let moved = || found.iter().flat_map(|of| &of.tried).map(|tried| tried.moved);
        for moved in moved().filter(|moved| *moved != Moved::NotMeasured) {
            self.tries[moved as usize] += 1;
        }
        *match moved().min() {
            Some(Moved::Reaches) => &mut self.reached,
            Some(Moved::Towards) => &mut self.towards,
            Some(Moved::Away | Moved::Unmoved) => &mut self.unmoved,
            Some(Moved::NotMeasured) | None => &mut self.untried,
        } += 1;
    }

    fn text(&self) -> String {
        let Self { all, hold, hold_real, in_words, hold_in_words, .. } = self;
        let Self { reached, towards, unmoved, untried, tries, .. } = self;
        let [reach, near, away, unmoved_tries] = tries;
        let untried = if *untried == 0 { String::new() } else { format!("; of {untried} none was tried") };
        let tried = tries.iter().sum::<usize>();
        format!(
            "\n## Published values, and what moves those that do not hold\n\n{hold} of {all} published \
             values hold in the simulator with at least one stack that was declared before the run, and \
             {hold_real} more with real flows of such a stack. The papers state {in_words} of the {all} in \
             words such as “equally”, not in digits; of these {hold_in_words} hold in the simulator. Each \
             value that does not hold in the simulator is measured again with a change of what may be the \
             cause, in italics on the page of the paper. With such a change {reached} hold; {towards} come \
             nearer by more than the intervals; {unmoved} are not moved nearer by any change that was \
             tried{untried}.\n\nThe changes, counted for each stack, are {tried}: {reach} reach the value, \
             {near} move it nearer, {away} away, {unmoved_tries} not at all. With this number of tries \
             some may reach a value by chance. A change that reaches the value is sufficient for the \
             published number; nothing shows that the hosts of the authors had it. A change that joins two \
             says so.\n"
        )
    }
}

/// Text with the commits of the programs that measured, and the cost of the runs.
fn provenance<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let costs: Vec<&Cost> = records.flat_map(|record| &record.measured).map(|of| &of.cost).collect();
    let mut commits: Vec<String> = costs.iter().map(|cost| format!("`{}`", cost.commit)).collect();
    commits.sort_unstable();
    commits.dedup();
    if commits.is_empty() {
        return String::new();
    }
    let runs: u64 = costs.iter().map(|cost| u64::from(cost.runs)).sum();
    let cpu_s: f64 = costs.iter().map(|cost| cost.cpu_s).sum();
    let packets = costs.iter().fold(0u64, |sum, cost| sum.saturating_add(cost.packets));
    format!(
        "\n{}, {} of CPU time without that of the tables of the grid, {}; measured by {}. `make \
         reproduce` runs all figures and draws them in a gallery.\n",
        text::of(runs, "run"),
        text::duration(cpu_s),
        text::of(packets, "packet"),
        commits.join(", ")
    )
}
