//! The report of an evaluation: a page that loads nothing, and a fragment in Markdown.

use std::fs;

use fairpace_experiment::{CaseRecord, CriterionRecord, Form, Record, Section, judge, load};
use scraper::{Html, Selector};

use super::pages::{record, small_record};
use super::support::{SMALL, measured, small};

fn page(record: &Record) -> Html {
    let document = Html::parse_document(&record.html());
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

fn texts(document: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    let text = |element: scraper::ElementRef<'_>| element.text().collect::<String>();
    document.select(&selector).map(text).collect()
}

#[test]
fn the_scorecard_has_a_cell_for_each_criterion_and_algorithm_and_counts_what_passes() {
    let document = page(&record(vec![small_record()]));
    assert_eq!(texts(&document, "table.scores thead th"), ["Criterion", "bbr1", "reno"]);
    assert_eq!(texts(&document, "table.scores td.d4"), ["0/4"], "100 ms where 4 are allowed");
    assert_eq!(texts(&document, "table.scores td.d2"), ["2/4"], "5 ms where 4 are allowed");
    let sums = texts(&document, "table.scores tr.sum td");
    assert_eq!(sums, ["passed", "0 of 1", "0 of 1"]);
    assert!(texts(&document, "h1")[0].contains("Evaluation of bbr1"));
}

#[test]
fn a_criterion_says_what_fails_and_the_command_that_repeats_it() {
    let document = page(&record(vec![small_record()]));
    let criterion = texts(&document, "section.criterion").join("");
    let parts = [
        "S1 Small",
        "short queue: queue_ms <= 8 or 4",
        "bbr1 fails: 0 of 4 cases pass, 0 with most seeds.",
        "bbr1: the 4 cases that fail, the worst first",
        "fairpace-dev evaluate --cc a,b --criterion S1",
    ];
    for part in parts {
        assert!(criterion.contains(part), "{part} is not in\n{criterion}");
    }
    assert_eq!(texts(&document, "table.cases tbody tr").len(), 4, "those of reno are not listed");
    let marks = Selector::parse("section.criterion .row svg.strip").unwrap();
    assert_eq!(document.select(&marks).count(), 2, "a row for each algorithm");
}

#[test]
fn the_command_of_a_criterion_names_no_other_criterion() {
    let mut record = record(vec![small_record()]);
    record.command = "fairpace evaluate bbr1 --criterion S1,S2 --quick".to_owned();
    let criterion = texts(&page(&record), "section.criterion").join("");
    assert!(criterion.contains("fairpace evaluate bbr1 --quick --criterion S1"), "{criterion}");
}

#[test]
fn the_page_loads_nothing() {
    let html = record(vec![small_record()]).html();
    let policy = "Content-Security-Policy\" content=\"default-src 'none'";
    assert!(html.contains(policy) && !html.contains("http://") && !html.contains("https://"));
}

#[test]
fn a_fragment_names_what_fails_of_one_algorithm() {
    let text = record(vec![small_record()]).fragment("bbr1");
    assert!(text.starts_with("# bbr1: 0 of 1 criteria passed, 0 of 4 cases pass\n"), "{text}");
    assert!(text.contains("| S1 Small | 0/4 | 2/4 |"), "{text}");
    assert!(text.contains("- 100mbit 10/10ms: short queue 100 (<= 4); 0 of 1 seeds pass"), "{text}");
}

#[test]
fn the_worst_seed_is_judged_and_the_median_is_beside_it() {
    let criterion = fairpace_experiment::Criterion::parse(std::path::Path::new("small.toml"), SMALL).unwrap();
    let case = &criterion.cases("reno", &[], Form::Full, "").unwrap()[0];
    let run = |(seed, queue_ms)| judge(&case.checks, seed, measured(case, &[1.0, 1.0], queue_ms, 0.0));
    let runs: Vec<_> = [(1, 3.0), (2, 20.0), (3, 5.0)].into_iter().map(run).collect();
    let result = CaseRecord::of(case, &runs).unwrap();
    assert_eq!((result.seed, result.holds, result.seeds, result.seeds_hold), (2, false, 3, 2));
    assert_eq!((result.conditions[0].value, result.conditions[0].median), (20.0, 5.0));
    assert!(CaseRecord::of(case, &[]).is_none());
}

#[test]
fn a_section_that_is_apart_is_not_in_totals() {
    let of = |name: &str, apart| {
        let section = Section { name: name.into(), title: name.into(), about: "x".into(), apart };
        CriterionRecord { section: Some(section), id: name.into(), ..small_record() }
    };
    let both = record(vec![of("5.1-alone", false), of("own", true)]);
    let text = both.text(false);
    assert!(text.contains("bbr1 passes 0 of 1 criteria; 0 of 4 cases pass\n"), "{text}");
    assert!(text.contains("bbr1, counted apart: own: 0 of 1 criteria; 0 of 4 cases pass\n"), "{text}");
    let board = both.leaderboard();
    assert!(board.contains("| algorithm | passed | 5.1 | cases | own |"), "{board}");
    assert!(board.contains("| reno | 0 of 1 | 0 of 1 | 2 of 4 | 0 of 1 |"), "{board}");
    assert!(board.contains("without `own`"), "{board}");
    assert!(both.html().contains("All criteria without own"));
    // with nothing else the criteria of the section are the total
    let alone = record(vec![of("own", true)]).text(false);
    assert!(alone.contains("bbr1 passes 0 of 1 criteria; 0 of 4 cases pass\n"), "{alone}");
    assert!(!alone.contains("apart"), "{alone}");
}

#[test]
fn folders_with_a_section_file_are_sections_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("b/section.toml", "title = \"B\"\nabout = \"The second.\"");
    write("b/x.toml", &small("id = \"S1\"", "id = \"7.10\""));
    write("b/y.toml", &small("id = \"S1\"", "id = \"7.2a\"\nfails = \"It fails.\"\nseeds = 5"));
    write("a/section.toml", "title = \"A\"\nabout = \"The first.\"");
    write("a/z.toml", SMALL);
    write("other/no-criterion.toml", "neither = 1");
    let criteria = load(folder.path()).unwrap();
    let ids: Vec<_> = criteria.iter().map(|criterion| criterion.id.as_str()).collect();
    assert_eq!(ids, ["S1", "7.2a", "7.10"]);
    assert_eq!((criteria[1].fails.as_str(), criteria[1].seeds, criteria[0].seeds), ("It fails.", 5, 2));
    let record = CriterionRecord::of(&criteria[1], 5);
    assert_eq!(record.section.unwrap().title, "B");
    write("b/section.toml", "title = \"B\"\nabuot = \"\"");
    let invalid = load(folder.path()).unwrap_err();
    assert!(invalid.to_string().contains("there is no key `abuot` here"), "{invalid}");
    write("b/section.toml", "title = \"B\"\nabout = \"The second.\"");
    write("b/y.toml", &small("id = \"S1\"", "id = \"S2\"\nseeds = 0"));
    let invalid = load(folder.path()).unwrap_err();
    assert!(invalid.to_string().contains("`seeds` must be a whole number from 1 to 1000"), "{invalid}");
}
