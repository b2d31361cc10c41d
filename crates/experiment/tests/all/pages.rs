//! Texts, pages and pictures have what was measured, whatever it is.

use fairpace_experiment::{
    AlgorithmRecord, CaseRecord, Criterion, CriterionRecord, Form, Record, SCHEMA, heat_map, judge,
};

use crate::support::{SMALL, criterion, measured};
use fairpace_report::svg::{bold_width, width};

/// What an algorithm with these numbers did in all cases of a criterion.
pub(crate) fn algorithm(
    criterion: &Criterion,
    cc: &str,
    goodput: impl Fn(usize) -> f64,
    queue_ms: f64,
) -> AlgorithmRecord {
    let cases = match criterion.is_drawn() {
        true => criterion.paths(cc, &[], 30, 1).unwrap(),
        false => criterion.cases(cc, &[], Form::Full, "").unwrap(),
    };
    let result = |case: &fairpace_experiment::Case| {
        let goodputs: Vec<f64> = (0..case.scenario.flows.len()).map(&goodput).collect();
        CaseRecord::of(case, &[judge(&case.checks, 1, measured(case, &goodputs, queue_ms, 0.0))]).unwrap()
    };
    AlgorithmRecord::of(cc.to_owned(), 1.0, cases.iter().map(result).collect(), &criterion.medians())
}

pub(crate) fn record(criteria: Vec<CriterionRecord>) -> Record {
    Record {
        schema: SCHEMA,
        commit: "0123abc".into(),
        command: "fairpace-dev evaluate --cc a,b".into(),
        asked: vec!["bbr1".into()],
        folder: "small".into(),
        form: "full",
        kernel: None,
        seed: 1,
        scenarios_hash: "00ff".into(),
        runs: 8,
        simulated: 3,
        wall_s: 1.5,
        criteria,
    }
}

pub(crate) fn small_record() -> CriterionRecord {
    let criterion = Criterion::parse(std::path::Path::new("small.toml"), SMALL).unwrap();
    let mut record = CriterionRecord::of(&criterion, 2);
    record.algorithms.push(algorithm(&criterion, "bbr1", |_| 1.0, 100.0));
    record.algorithms.push(algorithm(&criterion, "reno", |_| 1.0, 5.0));
    record
}

#[test]
fn sums_are_of_the_cases() {
    let criterion = small_record();
    let [bbr1, reno] = &criterion.algorithms[..] else { panic!("two algorithms") };
    assert_eq!((bbr1.cases, bbr1.hold, reno.hold), (4, 0, 2), "8 ms pass at 10 Mbit/s, 4 ms not at 100");
    assert_eq!(reno.conditions[0].hold, 2);
    let queue = bbr1.metrics.iter().find(|of| of.metric.name() == "queue_ms").unwrap();
    assert_eq!([queue.least, queue.median, queue.most], [100.0; 3]);
    let text = record(vec![small_record()]).text(false);
    assert!(text.contains("S1 Small       0/4       2/4\n"), "{text}");
    assert!(text.contains("bbr1 passes 0 of 1 criteria; 0 of 4 cases pass\n"), "{text}");
    assert!(!text.contains("10/50ms"), "cases are shown only if asked for:\n{text}");
    let text = record(vec![small_record()]).text(true);
    assert!(text.contains("100mbit 10/50ms  short queue 5.00 (<= 4)"), "{text}");
}

#[test]
fn a_page_names_what_fails_and_what_repeats_it() {
    let page = record(vec![small_record()]).page(|criterion| format!("{}.svg", criterion.name));
    let parts = [
        "| command | `fairpace-dev evaluate --cc a,b` |",
        "| simulations | 8, seeds 1 to 2 |",
        "| scenarios | `00ff` |",
        "| commit | `0123abc` |",
        "| S1 Small | 4 | 0 | 2 |",
        "- short queue: queue_ms <= 8 or 4",
        "](small.svg)",
        "<details><summary>bbr1: 4 cases fail</summary>",
        "100mbit 10/50ms  short queue 100 (<= 4)",
    ];
    for part in parts {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert!(!page.contains("<summary>reno: "), "it was not asked for\n{page}");
}

/// Where an element is in its picture: its own coordinates, moved as the groups around it say.
fn place(node: &roxmltree::Node<'_, '_>) -> [f64; 2] {
    let own = |name: &str| node.attribute(name).map_or(0.0, |at| at.parse::<f64>().unwrap());
    let moves = node.ancestors().filter_map(|group| group.attribute("transform")?.strip_prefix("translate("));
    moves.fold([own("x"), own("y")], |[x, y], by| {
        let (right, down) = by.split_once(')').unwrap().0.split_once(',').unwrap();
        [x + right.parse::<f64>().unwrap(), y + down.parse::<f64>().unwrap()]
    })
}

#[test]
fn a_picture_is_xml_with_a_cell_for_each_case() {
    for id in ["G1", "G2", "G3", "G4", "G5", "G6", "G7", "paths"] {
        let criterion = criterion(id);
        let mut record = CriterionRecord::of(&criterion, 2);
        for (cc, queue_ms) in [("bbr1", 0.0), ("reno", 3.0), ("cubic", 1e9), ("bbr3", 0.0)] {
            record.algorithms.push(algorithm(&criterion, cc, |flow| flow as f64 * 1e-3, queue_ms));
        }
        let picture = heat_map(&record);
        let document = roxmltree::Document::parse(&picture).unwrap_or_else(|error| panic!("{id}: {error}"));
        let paths = document.descendants().filter(|node| node.has_tag_name("path")).collect::<Vec<_>>();
        let cells = |of: &roxmltree::Node<'_, '_>| of.attribute("d").unwrap().matches('z').count();
        let cases: usize = record.algorithms.iter().map(|algorithm| algorithm.cases).sum();
        assert_eq!(paths.iter().map(cells).sum::<usize>(), cases, "{id}");
        let results = record.algorithms.iter().flat_map(|algorithm| &algorithm.results);
        let hold = results.filter(|case| case.holds).count();
        let of_degree = |class: &str| {
            paths.iter().filter(|path| path.attribute("class") == Some(class)).map(cells).sum::<usize>()
        };
        assert_eq!(of_degree("d0"), hold, "{id}: the lightest cells are those that pass");
        assert!(picture.len() < 64_000, "{id}: {} bytes", picture.len());
        let root = document.root_element();
        let [width, height] =
            ["width", "height"].map(|name| root.attribute(name).unwrap().parse::<f64>().unwrap());
        for node in document.descendants().filter(|node| node.attribute("x").is_some()) {
            let [x, y] = place(&node);
            assert!((0.0..width).contains(&x) && (0.0..height).contains(&y), "{id}: {node:?}");
        }
        no_label_is_cut(&document);
    }
}

/// In a wide font the labels of rows are inside of the picture, those of columns below its upper end, and
/// names of algorithms end before the next panel.
fn no_label_is_cut(document: &roxmltree::Document<'_>) {
    let texts = |of: roxmltree::Node<'_, '_>, class: &'static str| {
        let texts = of.descendants().filter(move |node| node.attribute("class") == Some(class));
        texts.filter_map(|node| node.text().map(str::to_owned)).collect::<Vec<_>>()
    };
    let panels = document.root_element().children().filter(|node| node.has_tag_name("g"));
    let mut ends: Vec<([f64; 2], f64)> = Vec::new();
    for panel in panels {
        let at = place(&panel);
        for label in texts(panel, "end") {
            assert!(at[0] - 6.0 - width(&label, 11.0) >= 0.0, "{label}");
        }
        let name = &texts(panel, "name")[0];
        ends.push((at, at[0] + bold_width(name, 13.0)));
        for column in panel.descendants().filter(|node| node.attribute("transform").is_some_and(is_upright)) {
            let Some(label) = column.text() else { continue };
            assert!(place(&column)[1] - width(label, 11.0) >= 15.0, "{label}");
        }
    }
    for pair in ends.windows(2).filter(|pair| pair[0].0[1] == pair[1].0[1]) {
        assert!(pair[0].1 < pair[1].0[0], "{pair:?}");
    }
}

fn is_upright(transform: &str) -> bool {
    transform.ends_with("rotate(-90)")
}

#[test]
fn a_long_label_of_a_row_is_not_cut() {
    let mut record = small_record();
    for algorithm in &mut record.algorithms {
        algorithm.cc = "an_algorithm_with_a_long_name".into();
        algorithm.results.iter_mut().for_each(|case| case.row = "100+100ms, mmmmm".into());
    }
    no_label_is_cut(&roxmltree::Document::parse(&heat_map(&record)).unwrap());
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let empty = CriterionRecord { algorithms: Vec::new(), ..small_record() };
    roxmltree::Document::parse(&heat_map(&empty)).unwrap();
    assert!(record(vec![empty]).page(|_| String::new()).contains("S1 Small"));
}

#[test]
fn a_median_over_all_cases_is_judged() {
    let criterion = criterion("paths");
    let median = |queue_ms| algorithm(&criterion, "bbr1", |_| 1.0, queue_ms).medians[0].clone();
    assert_eq!((median(4.9).holds, median(5.0).holds), (true, false));
    let mut record_of = CriterionRecord::of(&criterion, 2);
    record_of.algorithms.push(algorithm(&criterion, "bbr1", |_| 1.0, 7.0));
    let record = record(vec![record_of]);
    let said = "median over all cases: short queue fails, queue_ms 7.00 (< 5)";
    assert!(record.text(false).contains(said), "{}", record.text(false));
    assert!(record.page(|_| String::new()).contains(said));
}
