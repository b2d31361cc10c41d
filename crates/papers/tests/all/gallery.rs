//! The gallery as a standard parser sees it, whatever the records.

use crate::support::{figure, line, measure, measured, papers, plot, shape};
use fairpace_papers::figure::{Along, Cause, Is, Kind, Line, Measure, RunPlan, Stack, Value};
use fairpace_papers::gallery::page;
use fairpace_papers::record::{
    Compared, Drawn, Finding, Mean, Moved, Numbers, PaperRecords, Picture, Record, Tried, Verdict,
};
use fairpace_scenario::Target;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select as any_of;
use scraper::{ElementRef, Html, Selector};
use std::collections::BTreeMap;

/// Parses strictly: an unclosed element, a stray tag, a bad attribute fails the test.
fn parse(page: &str) -> Html {
    let document = Html::parse_document(page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

fn select<'a>(document: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    document.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(of: ElementRef) -> String {
    of.text().collect::<Vec<_>>().join(" ")
}

/// Every outermost drawing of the page as it is written.
fn drawings(page: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::new(), page);
    while let Some(from) = rest.find("<svg") {
        rest = &rest[from..];
        let (mut depth, mut to) = (0, 0);
        loop {
            let open = rest[to..].find("<svg").map_or(usize::MAX, |at| at + to);
            let close = rest[to..].find("</svg>").unwrap() + to;
            (depth, to) = if open < close { (depth + 1, open + 4) } else { (depth - 1, close + 6) };
            if depth == 0 {
                break;
            }
        }
        all.push(&rest[..to]);
        rest = &rest[to..];
    }
    all
}

/// HTML and each drawing are well-formed, and nothing is written that is no number.
fn check(page: &str) -> Html {
    let document = parse(page);
    for drawing in drawings(page) {
        let parsed = roxmltree::Document::parse(drawing).unwrap_or_else(|error| panic!("{error}: {drawing}"));
        for node in parsed.descendants() {
            for attribute in node.attributes() {
                let value = attribute.value();
                assert!(!value.contains("NaN") && !value.contains("inf"), "{}={value}", attribute.name());
            }
        }
    }
    for element in select(&document, "[style]") {
        let style = element.value().attr("style").unwrap();
        assert!(!style.contains("NaN") && !style.contains("inf"), "{style}");
    }
    document
}

fn only(record: Record) -> Vec<PaperRecords> {
    let mut all = papers();
    all.truncate(1);
    all[0].records = vec![record];
    all
}

#[test]
fn a_link_leads_to_every_figure() {
    let page = page(&papers());
    let document = check(&page);
    let links = select(&document, "nav a");
    assert_eq!(links.len(), papers().iter().map(|paper| paper.records.len()).sum::<usize>());
    for link in links {
        let target = link.value().attr("href").unwrap().strip_prefix('#').unwrap();
        assert_eq!(select(&document, &format!("article[id=\"{target}\"]")).len(), 1, "{target}");
    }
}

#[test]
fn each_verdict_is_said_in_words() {
    for (verdict, word) in [
        (Verdict::Replicated, "replicated"),
        (Verdict::Partly, "partly replicated"),
        (Verdict::Not, "not replicated"),
        (Verdict::Ours, "ours"),
        (Verdict::NotRun, "not run"),
    ] {
        let mut record = papers()[0].records[0].clone();
        record.measured.iter_mut().for_each(|measured| measured.verdict = verdict);
        let page = page(&only(record));
        assert_eq!(text(select(&check(&page), "article strong")[0]), word);
    }
}

#[test]
fn a_figure_says_what_it_needs_to_be_believed_and_repeated() {
    let all = papers();
    let page = page(&all);
    let document = check(&page);
    let record = all[0].records.iter().find(|record| record.id == "fig15").unwrap();
    let article = text(select(&document, "article#made-up--fig15")[0]);
    let value = &record.figure.values[0];
    for expected in [
        record.figure.differs.as_str(),
        &record.figure.source,
        &value.what,
        "37.1",
        "36.4 ± 2.1",
        "34.4 ± 3.9",
        "contradicted",
        "fairpace-dev run reproduction/made-up/fig15",
        &record.measured[0].cost.commit,
        "40 runs",
    ] {
        assert!(article.contains(expected), "no {expected:?} in {article}");
    }
}

#[test]
fn what_stands_between_backticks_is_code() {
    let mut all = papers();
    all[0].records[0].figure.differs = "Run `fairpace sim` with `<b>`.".to_owned();
    let document = check(&page(&all));
    let code: Vec<String> = select(&document, "article:first-of-type p code").into_iter().map(text).collect();
    assert!(code.contains(&"fairpace sim".into()) && code.contains(&"<b>".into()), "{code:?}");
}

#[test]
fn the_page_loads_nothing_and_has_no_script() {
    let page = page(&papers());
    let document = check(&page);
    assert!(select(&document, "script, img, iframe, object, embed").is_empty());
    for element in select(&document, "*") {
        for (name, value) in element.value().attrs() {
            let is_link = name == "href" && element.value().name() == "a";
            let loads = ["src", "href", "xlink:href", "srcset", "action", "data", "poster"].contains(&name);
            assert!(!loads || is_link || value == "data:,", "{name}={value}");
        }
    }
    let policy = select(&document, "meta[http-equiv=Content-Security-Policy]");
    assert!(policy[0].value().attr("content").is_some_and(|p| p.starts_with("default-src 'none'")));
    for style in select(&document, "style") {
        let css: String = style.text().collect();
        assert!(!css.contains("url(") && !css.contains("@import"), "{css}");
    }
}

#[test]
fn same_records_same_bytes() {
    assert_eq!(page(&papers()), page(&papers()));
}

#[test]
fn nothing_at_all_is_a_page_too() {
    check(&page(&[]));
    let mut empty = papers();
    empty.iter_mut().for_each(|paper| paper.records.clear());
    check(&page(&empty));
}

#[test]
fn hostile_strings_stay_text() {
    for hostile in [
        "</title><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</style><svg onload=alert(1)>",
        "a\u{0}b\u{8}\u{fffe}\u{ffff}c",
        "&amp; <b> ]]> <!-- --> ' \" `",
    ] {
        let mut record = papers()[0].records[1].clone();
        (record.paper, record.id) = (hostile.into(), hostile.into());
        let figure = &mut record.figure;
        for field in [
            &mut figure.title,
            &mut figure.source,
            &mut figure.setup,
            &mut figure.expect,
            &mut figure.differs,
        ] {
            *field = hostile.into();
        }
        (figure.kernel, figure.no_kernel) = (None, hostile.into());
        for value in &mut figure.values {
            (value.what, value.unit, value.quote) = (hostile.into(), hostile.into(), hostile.into());
        }
        figure.shapes.iter_mut().for_each(|shape| shape.what = hostile.into());
        for plot in &mut figure.plots {
            (plot.title, plot.x, plot.y) = (hostile.into(), hostile.into(), hostile.into());
            plot.lines.iter_mut().for_each(|line| line.label = hostile.into());
        }
        for measured in &mut record.measured {
            measured.cost.commit = hostile.into();
        }
        let mut all = only(record);
        let paper = &mut all[0].paper;
        (paper.title, paper.authors, paper.published, paper.about) =
            (hostile.into(), hostile.into(), hostile.into(), hostile.into());
        let page = page(&all);
        let document = check(&page);
        assert!(select(&document, "script, img, b script").is_empty(), "{hostile}");
        let handler = |e: &ElementRef| e.value().attrs().any(|(name, _)| name.starts_with("on"));
        assert!(!select(&document, "*").iter().any(handler), "{hostile}");
        assert!(select(&document, "article").len() == 1, "{hostile}");
    }
}

/// The record with its last line measured of a run that is not in the paper.
fn with_ours(mut record: Record) -> Record {
    let ours = r#"name = "ours"
        scenario = "ours.toml"
        beside = true"#;
    record.figure.runs.push(toml::from_str(ours).unwrap());
    let line = record.figure.plots[0].lines.last_mut().unwrap();
    (line.label, line.measure.run) = ("LEVEL".into(), "ours".into());
    record
}

#[test]
fn what_is_not_in_the_paper_says_so_and_has_its_own_line_marks_and_colour() {
    let sweep = papers()[0].records.iter().find(|record| record.id == "fig15").unwrap().clone();
    let page = page(&only(with_ours(sweep)));
    let document = check(&page);
    let class = |of: &str| {
        select(&document, &format!("article .plot {of}"))
            .into_iter()
            .map(|path| path.attr("class"))
            .collect::<Vec<_>>()
    };
    assert_eq!(class("path.line"), [Some("line a3"), Some("line broken a15")]);
    assert_eq!(class("path.mark.box"), [Some("mark box a15")]);
    assert!(text(select(&document, "article .key")[0]).contains("LEVEL (not in the paper)"));
}

#[test]
fn twenty_lines_are_distinguishable_and_named() {
    let page = page(&papers());
    let document = check(&page);
    let key = select(&document, "article#made-up-2--fig03 .key .readout");
    assert_eq!(key.len(), 20);
    let mut styles: Vec<&str> = select(&document, "article#made-up-2--fig03 .plot path.line")
        .iter()
        .filter_map(|path| path.value().attr("class"))
        .collect();
    styles.sort_unstable();
    styles.dedup();
    assert_eq!(styles.len(), 20);
}

#[test]
fn bars_over_a_sweep_are_a_row_per_point_and_real_flows_stand_at_theirs() {
    let mut record = papers()[1].records[0].clone();
    let run = "[[run]]\nname = 'bbr'\n[run.sweep]\ntitle = ''\n\
               point = [{ at = '1 ms', x = 1, set = [] }, { at = '2 ms', x = 2, set = [] }]";
    record.figure.runs =
        toml::from_str::<BTreeMap<String, Vec<RunPlan>>>(run).unwrap().remove("run").unwrap();
    record.figure.kernel.as_mut().unwrap().at = vec!["2 ms".into()];
    record.figure.plots[0].lines.truncate(1);
    record.figure.plots[0].lines[0].published = vec![[2.0, 7.5]];
    for (measured, y) in record.measured.iter_mut().zip([vec![Some(4.25), Some(6.25)], vec![Some(6.75)]]) {
        measured.pictures[0].lines = vec![Drawn { x: vec![], half: vec![None; y.len()], y }];
    }
    assert_eq!(bars(&record), ["1 ms 4.25", "2 ms 6.25 6.75 7.5"], "of the one line that there is");
    let mut other = record.figure.plots[0].lines[0].clone();
    (other.label, other.published) = ("improved".into(), Vec::new());
    record.figure.plots[0].lines.push(other);
    for measured in &mut record.measured {
        let picture = &mut measured.pictures[0];
        picture.lines.push(picture.lines[0].clone());
    }
    assert_eq!(bars(&record), ["1 ms 4.25 4.25", "2 ms 6.25 6.75 7.5 6.25 6.75"], "side by side");
    record.figure.plots[0].lines[1].measure.at = "2 ms".into();
    for measured in &mut record.measured {
        let improved = &mut measured.pictures[0].lines[1];
        *improved = Drawn { x: vec![], y: vec![Some(8.5)], half: vec![None] };
    }
    let apart = ["original, 2 flows, 1 ms 4.25", "original, 2 flows, 2 ms 6.25 6.75 7.5", "improved 8.5 8.5"];
    assert_eq!(bars(&record), apart, "of different points");
}

#[test]
fn no_interval_goes_beyond_what_an_index_of_fairness_can_be() {
    let mut record = papers()[1].records[0].clone();
    record.figure.plots[0].lines.truncate(1);
    let line = &mut record.figure.plots[0].lines[0];
    (line.measure.of, line.published) = ("jain".into(), Vec::new());
    record.measured.truncate(1);
    record.measured[0].pictures[0].lines =
        vec![Drawn { x: vec![], y: vec![Some(0.75)], half: vec![Some(0.5)] }];
    let whiskers = |record: &Record| {
        let document = check(&page(&only(record.clone())));
        let found = select(&document, "article .bars .whisker").into_iter();
        found.map(|path| path.attr("d").unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(whiskers(&record), ["M300,2000H1200"], "of an axis from 0 to 1");
}

#[test]
fn a_published_reference_is_a_dashed_line_through_its_points_without_marks() {
    let mut record = papers()[0].records.iter().find(|record| record.id == "fig15").unwrap().clone();
    let line = record.figure.plots[0].lines.last_mut().unwrap();
    (line.label, line.reference) = ("equal shares".into(), true);
    line.published = vec![[10.0, 50.0], [200.0, 50.0]];
    let page = page(&only(record));
    let document = check(&page);
    let lines = select(&document, "article .plot path.rule");
    assert_eq!(lines.iter().map(|path| path.attr("class")).collect::<Vec<_>>(), [Some("rule an")]);
    let squares = select(&document, "article .plot path.mark.square:not(.hole)");
    assert!(squares.iter().all(|path| path.attr("class") != Some("mark square an")));
    assert!(!text(select(&document, "article .key")[0]).contains("not measured"));
}

/// The rows of the record's charts of bars: what they are called, and their numbers.
fn bars(record: &Record) -> Vec<String> {
    let page = page(&only(record.clone()));
    let document = check(&page);
    let rows = select(&document, "article .bars .row:has(.label)").into_iter();
    rows.map(|row| text(row).split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_line_that_was_not_measured_is_said_to_be_so() {
    let mut record = papers()[0].records[1].clone();
    record.measured.truncate(1);
    record.measured[0].pictures[0].lines[1] = Drawn::default();
    let page = page(&only(record));
    let document = check(&page);
    let key: Vec<String> = select(&document, "article .key .readout").into_iter().map(text).collect();
    assert!(key.iter().any(|label| label.contains("BBR (not measured)")), "{key:?}");
}

/// A flow over time: simulated at 1000 Mbit/s, and real flows that have `drawn`.
fn over_time(drawn: Drawn) -> Record {
    let t: Vec<f64> = (0..10).map(f64::from).collect();
    let plots = vec![plot(Kind::Time, "time, s", "rate, Mbit/s", vec![line("one")])];
    let lines = |of: Drawn| vec![vec![of]];
    let simulated = lines(crate::support::drawn(&t, |_| Some(1000.0), |_| None));
    let on = |on, of| measured(on, Verdict::Replicated, vec![], vec![], of, &[Kind::Time]);
    Record {
        paper: "made-up".into(),
        id: "time".into(),
        figure: figure("Over time", plots, vec![], vec![]),
        stacks: vec![Stack::default()],
        measured: vec![on(Target::Simulator, simulated), on(Target::Testbed, lines(drawn))],
    }
}

fn notes(record: Record) -> (Vec<String>, usize) {
    let page = page(&only(record));
    let document = check(&page);
    let notes = select(&document, "article .chart .note").into_iter().map(text).collect();
    let ticks = select(&document, "article .yaxis span").into_iter();
    let tall = ticks.filter(|of| text(*of).replace(|c: char| !c.is_ascii_digit(), "") == "1000").count();
    (notes, tall)
}

#[test]
fn real_flows_that_drew_nothing_have_no_empty_axes() {
    assert_eq!(notes(over_time(Drawn::default())).0, ["simulator, first seed"]);
}

#[test]
fn real_flows_have_axes_of_their_own_if_their_link_has_another_rate() {
    let drawn = || crate::support::drawn(&[0.0, 9.0], |_| Some(100.0), |_| None);
    let (both, tall) = notes(over_time(drawn()));
    assert_eq!(both, ["simulator, first seed", "real flows, first run"]);
    let mut tenth = over_time(drawn());
    tenth.figure.kernel.as_mut().unwrap().set = vec!["link.rate=100mbit".into()];
    let (notes, of_one) = notes(tenth);
    assert_eq!(notes, ["simulator, first seed", "real flows, first run; link.rate=100mbit"]);
    assert_eq!((tall, of_one), (2, 1), "charts with 1000 on their axis");
}

#[test]
fn a_long_series_does_not_make_a_long_page() {
    let t: Vec<f64> = (0..600_000).map(|i| f64::from(i) / 1e3).collect();
    let drawn = crate::support::drawn(&t, |t| Some((t * 7919.0).sin()), |_| None);
    let plots = vec![plot(Kind::Time, "time, s", "", vec![line("one")])];
    let figure = figure("Long", plots, vec![], vec![]);
    let measured =
        measured(Target::Simulator, Verdict::Replicated, vec![], vec![], vec![vec![drawn]], &[Kind::Time]);
    let page = page(&only(Record {
        paper: "made-up".into(),
        id: "long".into(),
        figure,
        stacks: vec![Stack::default()],
        measured: vec![measured],
    }));
    assert!(page.len() < 100_000, "{} bytes", page.len());
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Sweep, Kind::Time, Kind::Bars, Kind::Phase, Kind::Cdf])
}

fn any_drawn() -> impl Strategy<Value = Drawn> {
    let number = || prop_oneof![4 => -10.0..1000.0f64, 1 => prop::num::f64::ANY, 1 => Just(0.0)];
    let numbers = move || vec(prop::option::weighted(0.8, number()), 0..12);
    (vec(number(), 0..12), numbers(), numbers()).prop_map(|(x, y, half)| Drawn { x, y, half })
}

fn any_finding() -> impl Strategy<Value = Finding> {
    any_of(vec![Finding::Holds, Finding::Open, Finding::Contradicted, Finding::NotMeasured])
}

fn any_mean() -> impl Strategy<Value = Mean> {
    (0u32..9, prop::num::f64::ANY, prop::option::of(prop::num::f64::ANY)).prop_map(|(n, mean, half)| Mean {
        n,
        mean,
        half,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn any_record_gives_a_page(
        plots in vec((kind(), any::<[bool; 3]>(), prop::num::f64::ANY, prop::num::f64::ANY,
            vec((any_drawn(), "\\PC{0,30}", vec(any::<[f64; 2]>(), 0..3)), 0..5)), 0..3),
        values in vec((any::<[f64; 3]>(), any_of(vec![Is::About, Is::Below, Is::Above]), any_mean(),
            any_finding()), 0..3),
        shapes in vec((vec(any_mean(), 0..5), any_finding(), prop::option::of(Just(Along::Level))), 0..3),
        places in prop::sample::subsequence(vec![Target::Simulator, Target::Testbed], 0..=2),
        words in "\\PC{0,40}",
        cost in any::<(f64, f64, u64, u32)>(),
    ) {
        let mut of = figure(&words, vec![], vec![], vec![]);
        of.setup = words.clone();
        let (mut kinds, mut lines) = (Vec::new(), Vec::new());
        for (kind, [log_x, log_y, reference], from_s, to_s, drawn) in plots {
            let mut one = plot(kind, "x", &words, vec![]);
            (one.log_x, one.log_y, one.from_s, one.to_s) = (log_x, log_y, from_s, to_s);
            for (_, label, published) in &drawn {
                one.lines.push(Line { published: published.clone(), reference, ..line(label) });
            }
            of.plots.push(one);
            kinds.push(kind);
            lines.push(drawn.into_iter().map(|(drawn, ..)| drawn).collect::<Vec<_>>());
        }
        let (mut compared, mut held) = (Vec::new(), Vec::new());
        for ([published, tolerance, tolerance_ratio], is, ours, finding) in values {
            of.values.push(Value {
                what: words.clone(),
                unit: String::new(),
                measure: measure(),
                published,
                is,
                tolerance,
                tolerance_ratio,
                tolerance_why: words.clone(),
                in_words: false,
                quote: words.clone(),
                by_construction: words.clone(),
                causes: vec![Cause { what: words.clone(), measure: measure() }],
            });
            let numbers = Numbers { ours: vec![ours], complete: true };
            let tried = vec![Tried { numbers: numbers.clone(), moved: Moved::Towards }];
            compared.push(Compared { numbers, finding, tried });
        }
        for (ours, finding, along) in shapes {
            of.shapes.push(shape(&words, along));
            held.push(Compared { numbers: Numbers { ours, complete: true }, finding, tried: Vec::new() });
        }
        let place = |on: Target| {
            let mut one =
                measured(on, Verdict::Not, compared.clone(), held.clone(), lines.clone(), &kinds);
            let all = &mut one.cost;
            (all.wall_s, all.cpu_s, all.packets, all.runs) = cost;
            one
        };
        let measured = places.into_iter().map(place).collect();
        let stacks = vec![Stack::default()];
        let all = only(Record { paper: words.clone(), id: "any".into(), figure: of, stacks, measured });
        check(&page(&all));
    }
}

#[test]
fn charts_over_the_same_time_stand_below_each_other_per_place() {
    let mut record = papers()[0].records[0].clone();
    record.figure.plots.push(record.figure.plots[0].clone());
    for measured in &mut record.measured {
        let again = measured.pictures[0].clone();
        measured.pictures.push(Picture { plot: 1, ..again });
    }
    let page = page(&only(record));
    let document = check(&page);
    let columns = select(&document, "article .aligned");
    let charts = Selector::parse("figure").unwrap();
    assert_eq!(columns.iter().map(|column| column.select(&charts).count()).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn changes_of_state_are_named_lines_and_have_no_curve() {
    let mut record = papers()[0].records[0].clone();
    let curves = select(&check(&page(&only(record.clone()))), "article path.line").len();
    let states = Line { measure: Measure { of: "flow.1.phase".into(), ..measure() }, ..line("states") };
    record.figure.plots[0].lines.push(states);
    let phases = [(1.0, -1.0), (2.0, 0.0), (3.0, 0.0), (4.0, 1.0), (5.0, 2.0), (6.0, 3.0), (7.0, 6.0)];
    for measured in &mut record.measured {
        let (x, y) = phases.into_iter().map(|(x, y)| (x, Some(y))).unzip();
        measured.pictures[0].lines.push(Drawn { x, y, half: Vec::new() });
    }
    let page = page(&only(record));
    let document = check(&page);
    let names: Vec<String> = select(&document, "article span.change").into_iter().map(text).collect();
    assert_eq!(names, ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"].repeat(2), "of both places");
    assert_eq!(select(&document, "article path.line").len(), curves);
    assert!(page.contains("grey lines: states"));
}
