//! REPRODUCTION.md and the pages of papers say what their records say.

use crate::support::{papers, shape};
use fairpace_papers::figure::Kernel;
use fairpace_papers::front;
use fairpace_papers::load::QUESTIONS;
use fairpace_papers::page::page;
use fairpace_papers::record::{Compared, Finding, PaperRecords};

fn front_page(papers: &[PaperRecords]) -> String {
    front::tables(papers).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line of a page with this text.
fn line<'p>(page: &'p str, of: &str) -> &'p str {
    page.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("no {of} in {page}"))
}

#[test]
fn a_value_that_holds_only_with_real_flows_is_counted_apart() {
    assert!(front_page(&papers()).contains("and 1 more with real flows of such a stack"));
    let row = page(&papers()[0]);
    let row = line(&row, "that share over BBR's");
    assert!(row.ends_with("| 9.40 ± 0.52, **contradicted** | 4.90 ± 0.52, holds |"), "{row}");
}

#[test]
fn values_that_a_paper_states_in_words_are_counted_apart() {
    let mut papers = papers();
    assert!(front_page(&papers).contains("state 0 of the 11 in words"));
    // one holds in the simulator, the other does not
    papers[0].records[1].figure.values[0].in_words = true;
    papers[0].records[1].figure.values[1].in_words = true;
    let page = front_page(&papers);
    assert!(page.contains("state 2 of the 11 in words"), "{page}");
    assert!(page.contains("of these 1 hold in the simulator"), "{page}");
}

#[test]
fn what_real_flows_run_otherwise_stands_with_their_cost() {
    let mut papers = papers();
    let kernel = Kernel { set: vec!["duration=60s".into()], ..Kernel::default() };
    papers[0].records[1].figure.kernel = Some(kernel);
    let page = page(&papers[0]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains("real flows: 40 runs, 118 s of CPU time, commit `0123456789ab`, with `duration=60s`.")
    );
}

#[test]
fn a_value_that_cannot_fail_is_no_finding() {
    let mut papers = papers();
    papers[0].records[1].figure.values[1].by_construction = "It is a setting.".into();
    let page = page(&papers[0]);
    assert!(line(&page, "that share over BBR's").contains("| 9.40 ± 0.52 |"), "{page}");
    line(&page, "- Cannot fail: that share over BBR's. It is a setting.");
}

#[test]
fn paragraphs_of_an_explanation_stay_apart() {
    let page = papers().iter().map(page).collect::<String>();
    assert!(page.contains("are shorter here.\n\nA second paragraph"), "{page}");
}

#[test]
fn a_bar_ends_no_cell_and_a_relation_has_its_numbers() {
    let mut papers = papers();
    let record = papers[0].records.iter_mut().find(|record| record.id == "fig15").unwrap();
    record.figure.shapes[1].what = "one | two".into();
    record.figure.shapes.push(shape("three", None));
    record.measured.iter_mut().for_each(|of| of.shapes.push(Compared::default()));
    record.measured[0].shapes[1].finding = Finding::Contradicted;
    let page = page(&papers[0]);
    let row = line(&page, "| one \\| two |");
    assert!(row.contains("38.2 ± 1.0 ≥ 15.60 ± 0.90 = 3 × 5.2, within 10 %, **contradicted** |"), "{row}");
    assert!(line(&page, "| three |").ends_with("| - | - |"), "{page}");
}

#[test]
fn a_question_has_its_method_and_a_picture_for_each_plot() {
    let mut paper = papers().remove(0);
    (paper.id, paper.records[0].paper) = (QUESTIONS.into(), QUESTIONS.into());
    let text = page(&paper);
    let record = &paper.records[0];
    assert!(text.contains(&format!("]({}/picture-1.svg)", record.id)), "{text}");
    assert!(text.contains(record.figure.setup.trim()), "{text}");
    assert_eq!(text.matches("/picture-").count(), record.figure.plots.len(), "of the questions alone");
}
