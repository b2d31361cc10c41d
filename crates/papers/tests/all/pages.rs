//! A question's page says what its record says.

use crate::support::{drawn, figure, line, measured, papers, plot, shape};
use fairpace_papers::figure::{Base, Kind};
use fairpace_papers::load::QUESTIONS;
use fairpace_papers::pages::{Page, pages};
use fairpace_papers::record::{Finding, Held, Mean, Measured, PaperRecords, Record, Verdict};
use fairpace_scenario::Target;

/// A question with two claims and a picture, of which nothing was measured.
fn question() -> Record {
    let plots = vec![plot(Kind::Sweep, "loss, %", "share", vec![line("one")])];
    let figure = figure("Who is first?", plots, vec![], vec![shape("one | two", None), shape("three", None)]);
    Record {
        paper: QUESTIONS.into(),
        id: "first".into(),
        figure,
        bases: vec![Base::default()],
        measured: vec![],
    }
}

fn written(record: Record) -> Page {
    let mut all = papers();
    all.truncate(1);
    let paper = PaperRecords { id: QUESTIONS.into(), records: vec![record], ..all.remove(0) };
    pages(&[paper]).remove(0)
}

fn readme(page: &Page) -> &str {
    assert_eq!(page.files[0].0, "README.md");
    &page.files[0].1
}

#[test]
fn only_questions_have_pages() {
    assert!(pages(&papers()).iter().all(|page| {
        papers().iter().any(|of| of.id == QUESTIONS && of.records.iter().any(|record| record.id == page.id))
    }));
}

#[test]
fn what_was_not_measured_is_not_answered() {
    let page = written(question());
    let text = readme(&page);
    assert!(text.starts_with("# Who is first?\n") && text.contains("do not edit"), "{text}");
    assert!(
        text.contains("Not measured yet") && text.contains("fairpace-dev reproduce open-questions/first"),
        "{text}"
    );
    assert_eq!(page.files.len(), 1, "there is no picture of nothing");
}

#[test]
fn claims_have_their_numbers_and_whether_they_hold() {
    let mut record = question();
    let mean = |mean, half| Mean { n: 5, mean, half: Some(half) };
    let ours = vec![mean(0.5, 0.021), mean(0.75, 0.1)];
    let held = |shape, finding| Held { shape, ours, complete: true, finding };
    let mut sim = run_of(&record);
    sim.shapes = vec![held(0, Finding::Contradicted), Held { shape: 1, complete: true, ..Held::default() }];
    record.measured = vec![sim];
    record.figure.differs = "It is the other one.".into();
    let page = written(record);
    let text = readme(&page);
    assert!(text.contains("In the simulator, 0 of 1 claims hold, 1 not measured."), "{text}");
    let row = text.lines().find(|line| line.starts_with("| one")).unwrap();
    assert!(row.starts_with("| one \\| two |"), "a bar ends no cell: {row}");
    assert!(
        row.contains("0.500 ± 0.021 ≥ 0.75 ± 0.10 = 3 × 0.25, within 10 %") && row.contains("contradicted"),
        "{row}"
    );
    assert!(text.contains("| three |  | not measured |"), "{text}");
    assert!(text.contains("It is the other one."), "{text}");
}

#[test]
fn pictures_lie_beside_the_page_that_shows_them() {
    let mut record = question();
    record.measured = vec![run_of(&record)];
    let page = written(record);
    let (name, picture) = &page.files[1];
    assert!(readme(&page).contains(&format!("]({name})")), "{name}");
    let document = roxmltree::Document::parse(picture).unwrap();
    assert!(document.root_element().has_tag_name("svg"));
    let text: String = document.descendants().filter_map(|node| node.text()).collect();
    assert!(text.contains("loss, %") && text.contains("share"), "{text}");
}

/// As if a place had run it.
fn run_of(record: &Record) -> Measured {
    let nothing = |shape| Held { shape, complete: true, ..Held::default() };
    let shapes = (0..record.figure.shapes.len()).map(nothing).collect();
    let lines = vec![vec![drawn(&[1.0, 2.0], |x| Some(x / 4.0), |_| Some(0.1))]];
    measured(Target::Simulator, Verdict::Not, vec![], shapes, lines, &[Kind::Sweep])
}
