//! REPRODUCTION.md says what its records say.

use crate::support::papers;
use fairpace_papers::figure::Kernel;
use fairpace_papers::index;
use fairpace_papers::record::{Finding, PaperRecords};

fn joined(papers: &[PaperRecords]) -> String {
    index::tables(papers).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_value_that_holds_only_with_real_flows_is_counted_apart() {
    let page = joined(&papers());
    assert!(page.contains("and 1 more with real flows on such a base"), "{page}");
    let (_, item) = page.split_once("- that share over BBR's, published 4.62").expect("it is in the list");
    let item = item.split(" **").next().unwrap_or_default();
    assert!(item.ends_with("; ours 9.40 ± 0.52; real flows 4.90 ± 0.52: holds"), "{item}");
}

#[test]
fn values_that_a_paper_states_in_words_are_counted_apart() {
    let mut papers = papers();
    let before = joined(&papers);
    assert!(before.contains("state 0 of the 11 in words"), "{before}");
    // one holds in the simulator, the other does not
    papers[0].records[1].figure.values[0].in_words = true;
    papers[0].records[1].figure.values[1].in_words = true;
    let page = joined(&papers);
    assert!(page.contains("state 2 of the 11 in words"), "{page}");
    assert!(page.contains("of these 1 hold in the simulator"), "{page}");
}

#[test]
fn a_published_value_has_its_unit_where_it_is_contradicted() {
    let mut papers = papers();
    papers[0].records[1].measured[0].values[0].finding = Finding::Contradicted;
    let page = joined(&papers);
    assert!(page.contains("under BBQ is 36.4 ± 2.1, published 37.1 % (± 5.57)"), "{page}");
}

#[test]
fn what_real_flows_run_otherwise_stands_with_their_numbers() {
    let mut papers = papers();
    let kernel = Kernel { set: vec!["duration=60s".into()], ..Kernel::default() };
    papers[0].records[1].figure.kernel = Some(kernel);
    let page = joined(&papers);
    assert_eq!(page.matches("with `duration=60s` |").count(), 1, "{page}");
}

#[test]
fn a_value_that_cannot_fail_is_no_finding() {
    let mut papers = papers();
    let record = &mut papers[0].records[1];
    record.figure.values[1].by_construction = "It is a setting.".into();
    assert!(joined(&papers).contains("<br>9.40 ± 0.52<br>"), "it is not in bold type");
}

#[test]
fn paragraphs_of_an_explanation_stay_apart() {
    let page = index::tables(&papers());
    assert!(page.contains("are shorter here.\n\nA second paragraph"), "{page}");
}
