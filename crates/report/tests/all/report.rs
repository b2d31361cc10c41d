//! The page and the picture as a whole, checked with a standard parser and a browser.

use crate::support::{Shape, demonstration, run};
use fairpace_report::{Context, headline_svg, html};
use fairpace_results::{Completions, FlowSummary, MediaSummary, Repeat, Run};
use fairpace_results::{RECORD_SCHEMA, Record, RecordFlow, RecordSeries};
use proptest::prelude::*;
use scraper::{Html, Selector};

/// Parses strictly: an unclosed element, a stray tag or a bad attribute fails the test.
fn parse(page: &str) -> Html {
    let document = Html::parse_document(page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

fn select<'a>(document: &'a Html, selector: &str) -> Vec<scraper::ElementRef<'a>> {
    let selector = Selector::parse(selector).unwrap();
    document.select(&selector).collect()
}

fn text(document: &Html) -> String {
    document.root_element().text().collect()
}

fn of_flows(flows: usize, points: f64) -> Run {
    let rtts: Vec<f64> = (0..flows).map(|i| 10.0 + 7.0 * i as f64).collect();
    let goodputs = vec![95.0 / flows.max(1) as f64; flows];
    run(&Shape {
        on: "sim",
        cc: "bbr1",
        rtts_ms: &rtts,
        goodputs_mbps: &goodputs,
        queue_ms: 20.0,
        duration_s: points * 0.1,
        interval_s: 0.1,
        noise: 1.0,
    })
}

#[test]
fn the_page_has_every_plot_of_every_run_and_nothing_from_elsewhere() {
    let (runs, context) = demonstration();
    let page = html("Demonstration", &runs, &context);
    let document = parse(&page);
    for i in 0..runs.len() {
        let panels: Vec<&str> = select(&document, &format!("#run-{i} .panel"))
            .iter()
            .filter_map(|panel| panel.value().attr("data-panel"))
            .collect();
        assert_eq!(panels, ["goodput", "rtt", "queue-delay-0", "backlog-0", "window", "rate", "phase"]);
    }
    assert_eq!(select(&document, ".multiples .panel").len(), runs.len());
    for element in select(&document, "*") {
        for (name, value) in element.value().attrs() {
            let loads = ["src", "href", "xlink:href", "srcset", "action", "data", "poster"].contains(&name);
            assert!(!loads || value.starts_with('#') || value == "data:,", "{name}={value}");
        }
    }
    for style in select(&document, "style") {
        let css: String = style.text().collect();
        assert!(!css.contains("url(") && !css.contains("@import"), "{css}");
    }
    let policy = select(&document, "meta[http-equiv=Content-Security-Policy]");
    assert!(policy[0].value().attr("content").is_some_and(|p| p.starts_with("default-src 'none'")));
}

#[test]
fn the_page_says_how_to_repeat_each_run_and_what_was_published() {
    let (runs, context) = demonstration();
    let text = text(&parse(&html("Demonstration", &runs, &context)));
    let summary = &runs[0].summary;
    for expected in [
        context.runs[0].commands[1].as_str(),
        &summary.commit,
        &summary.scenario.hash,
        &context.runs[0].scenario_toml,
        &runs[3].notes[0],
        &context.runs[0].published.as_ref().unwrap().source,
        "87.3",
        "42.5",
        "Probe BW cruise",
    ] {
        assert!(text.contains(expected), "no {expected:?}");
    }
}

#[test]
fn several_seeds_are_shown_with_their_intervals() {
    let runs: Vec<Run> = [6.0, 7.0, 8.0]
        .map(|goodput| {
            let mut run = of_flows(2, 600.0);
            run.summary.flows[0].goodput_mbps = goodput;
            run
        })
        .into();
    let summaries: Vec<_> = runs.iter().map(|run| run.summary.clone()).collect();
    let context = Context { repeat: Repeat::of(&summaries), ..Context::default() };
    let document = parse(&html("Seeds", &runs[..1], &context));
    assert_eq!(select(&document, "#seeds tbody tr").len(), 3, "two flows and a link");
    // mean 7, sd 1, t = 4.3027 with two degrees of freedom
    let cell: String = select(&document, "#seeds td.estimate")[0].text().collect();
    assert_eq!(cell.split_whitespace().collect::<Vec<_>>(), ["7.00", "\u{b1}", "2.48"]);
    assert!(select(&parse(&html("One", &runs[..1], &Context::default())), "#seeds").is_empty());
}

#[test]
fn a_record_is_drawn_beside_the_flows_of_each_run() {
    let series = RecordSeries {
        t_s: vec![1.0, 2.0, 3.0],
        goodput_mbps: vec![10.0, 20.0, 30.0],
        cwnd_pkts: vec![10.0, 11.0, 12.0],
        ..RecordSeries::default()
    };
    let flow =
        RecordFlow { name: "stream 1".into(), goodput_mbps: Some(20.0), series, ..RecordFlow::default() };
    let record = Record {
        schema: RECORD_SCHEMA.into(),
        name: "<lab>".into(),
        tool: "iperf 3.16".into(),
        source: "lab.json".into(),
        flows: vec![flow],
        notes: vec!["a remark".into()],
    };
    let context = Context { beside: vec![record], ..Context::default() };
    let runs = [of_flows(2, 600.0), of_flows(2, 600.0)];
    let text = html("Beside", &runs, &context);
    let document = parse(&text);
    // goodput is in the headline and in a panel, RTT was not measured
    for (panel, drawn) in [("goodput", 4), ("window", 2), ("rtt", 0), ("rate", 0)] {
        let paths = select(&document, &format!("[data-panel=\"{panel}\"] path.line.c2.d1[d]"));
        let in_plots = paths.iter().filter(|path| path.value().attr("data-flow") == Some("10")).count();
        assert_eq!(in_plots, drawn, "{panel}");
        assert_eq!(text.matches("&lt;lab&gt; <b>").count(), 6);
    }
    let rows = select(&document, "#numbers table:first-of-type tbody");
    let last: String = rows[2].text().collect();
    assert!(last.contains("<lab>") && last.contains("20.0"), "{last}");
    assert!(text.contains("measured by iperf 3.16") && text.contains("a remark"));
    let picture = headline_svg("Beside", &runs, &context);
    assert!(picture.contains("&lt;lab&gt;"), "the key of the picture names the record");
}

#[test]
fn completion_times_are_a_table_and_a_curve_per_flow_that_has_any() {
    let mut run = of_flows(2, 600.0);
    run.summary.flows[1].completions =
        Some(Completions { began: 7, completed: 6, mean_ms: Some(12.25), ..Completions::default() });
    run.series.flows[1].completion_ms = (10..=110).map(|ms| ms as f32).collect();
    let document = parse(&html("Web", &[run.clone()], &Context::default()));
    assert_eq!(select(&document, "#completions tbody tr").len(), 1);
    assert_eq!(select(&document, "#completions .plot path.line.c1").len(), 1);
    let row: String = select(&document, "#completions tbody tr")[0].text().collect();
    assert!(row.contains("12.2") && row.contains("\u{2013}"), "{row}");
    // without completed transfers there is no curve and no panic
    run.series.flows[1].completion_ms.clear();
    let document = parse(&html("Web", &[run], &Context::default()));
    assert!(select(&document, "#completions figure").is_empty());
}

#[test]
fn audio_and_video_are_a_table_of_the_flows_that_have_any() {
    let mut run = of_flows(3, 600.0);
    let media =
        MediaSummary { frames: 400, late: 3, lost: 1, late_or_lost: Some(0.01), ..MediaSummary::default() };
    run.summary.flows[2].media = Some(MediaSummary { delay_p95_ms: Some(47.26), ..media });
    let document = parse(&html("Call", &[run.clone()], &Context::default()));
    let rows = select(&document, "#media tbody tr");
    let row: String = rows[0].text().collect();
    assert_eq!(rows.len(), 1);
    assert!(row.contains("400") && row.contains("1.00") && row.contains("47.3"), "{row}");
    run.summary.flows[2].media = None;
    assert!(select(&parse(&html("None", &[run], &Context::default())), "#media").is_empty());
}

#[test]
fn same_runs_same_bytes() {
    let (runs, context) = demonstration();
    assert_eq!(html("x", &runs, &context), html("x", &runs, &context));
    assert_eq!(headline_svg("x", &runs, &context), headline_svg("x", &runs, &context));
}

/// The horizontal places of the plots, row by row, and the width of the picture.
fn places(runs: &[Run], context: &Context) -> (Vec<Vec<usize>>, usize) {
    let picture = headline_svg("Demonstration", runs, context);
    let document = roxmltree::Document::parse(&picture).unwrap();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut height = "";
    for place in document.descendants().filter_map(|node| node.attribute("transform")) {
        let (x, y) = place.trim_matches(|c: char| !c.is_ascii_digit()).split_once(',').unwrap();
        if y != height {
            rows.push(Vec::new());
        }
        height = y;
        rows.last_mut().unwrap().push(x.parse().unwrap());
    }
    (rows, document.root_element().attribute("width").unwrap().parse().unwrap())
}

#[test]
fn a_fourth_run_of_a_place_is_not_alone_in_a_row() {
    let (mut runs, context) = demonstration();
    assert_eq!(places(&runs, &context), (vec![vec![0, 300], vec![0, 300, 600]], 900));
    runs.push(runs[4].clone());
    let (rows, width) = places(&runs, &context);
    assert_eq!(rows, [vec![0, 275], vec![0, 275, 550, 825]]);
    assert!(width >= 825 + 275, "{width}");
    runs.push(runs[4].clone());
    assert_eq!(places(&runs, &context).0.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 2]);
}

#[test]
fn of_two_runs_one_is_below_the_other_and_the_text_fits_a_phone() {
    let (runs, context) = demonstration();
    assert_eq!(places(&runs[1..3], &context), (vec![vec![0], vec![0]], 358));
    let picture = headline_svg("Demonstration", &runs[1..3], &context);
    let document = roxmltree::Document::parse(&picture).unwrap();
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    let placed = texts.filter_map(|node| Some((node.attribute("x")?.parse::<f64>().ok()?, node.text()?)));
    for (x, text) in placed {
        // the smallest letters are about 6 wide
        assert!(x + 6.0 * text.chars().count() as f64 <= 358.0 + 6.0, "{text}");
    }
}

#[test]
fn five_runs_stay_small() {
    let (runs, context) = demonstration();
    let page = html("Demonstration", &runs, &context).len();
    let picture = headline_svg("Demonstration", &runs, &context).len();
    assert!(page < 1_500_000, "{page} bytes");
    assert!(picture < 100_000, "{picture} bytes");
}

#[test]
fn a_long_fine_run_is_not_larger_than_a_short_one_by_much() {
    let points = 60_000.0;
    let page = html("Long", &[of_flows(2, points)], &Context::default()).len();
    assert!(page < 700_000, "{page} bytes");
}

#[test]
fn hostile_names_stay_text() {
    let hostile = [
        "</script><script>alert(1)</script>",
        "\"><img src=http://evil.example/x onerror=alert(1)>",
        "' onload='alert(1)",
        "<!-- <script> ]]> &lt; &#60; {{7*7}} ${x}",
        "\u{0}\u{8}\u{1b}[31m\u{fffe}\u{202e}",
    ];
    for name in hostile {
        let (mut runs, mut context) = demonstration();
        for run in &mut runs {
            let summary = &mut run.summary;
            (summary.on, summary.commit, summary.scenario.title) = (name.into(), name.into(), name.into());
            summary.scenario.hash = name.into();
            summary.links[0].name = name.into();
            summary.flows.iter_mut().for_each(|flow| (flow.name, flow.cc) = (name.into(), name.into()));
            run.notes.push(name.into());
        }
        context.why = name.into();
        context.phases.iter_mut().for_each(|phase| *phase = name.into());
        for run in &mut context.runs {
            (run.label, run.scenario_toml, run.commands) = (name.into(), name.into(), vec![name.into()]);
            let published = run.published.as_mut().unwrap();
            (published.label, published.source) = (name.into(), name.into());
        }
        let page = html(name, &runs, &context);
        let document = parse(&page);
        assert_eq!(select(&document, "script").len(), 2, "{name}");
        assert!(select(&document, "img, iframe, object, embed").is_empty(), "{name}");
        let handler = |e: &scraper::ElementRef| e.value().attrs().any(|(name, _)| name.starts_with("on"));
        assert!(!select(&document, "*").iter().any(handler), "{name}");
        let data: String = select(&document, "script#data")[0].text().collect();
        serde_json::from_str::<serde_json::Value>(&data).unwrap();
        let shown = name.replace(|c: char| c.is_control() || c == '\u{fffe}', "\u{fffd}");
        assert!(text(&document).contains(&shown), "{name}");
        let picture = headline_svg(name, &runs, &context);
        let parsed = roxmltree::Document::parse(&picture).unwrap();
        assert!(
            !parsed.descendants().any(|node| ["script", "img"].contains(&node.tag_name().name())),
            "{name}"
        );
    }
}

#[test]
fn one_to_twenty_flows_are_distinguishable() {
    for flows in [1, 2, 3, 8, 9, 16, 20] {
        let runs = [of_flows(flows, 1200.0)];
        let document = parse(&html("Flows", &runs, &Context::default()));
        let mut styles: Vec<&str> = select(&document, "#run-0 [data-panel=goodput] path.line[data-flow]")
            .iter()
            .filter_map(|path| path.value().attr("class"))
            .collect();
        styles.sort_unstable();
        styles.dedup();
        assert_eq!(styles.len(), flows);
        roxmltree::Document::parse(&headline_svg("Flows", &runs, &Context::default())).unwrap();
    }
}

#[test]
fn empty_short_and_silent_runs_give_a_page() {
    let mut silent = of_flows(2, 100.0);
    for flow in &mut silent.series.flows {
        flow.goodput_mbps.fill(0.0);
        flow.rtt_ms.fill(f32::NAN);
        flow.phase.fill(-1);
    }
    silent.summary.flows.iter_mut().for_each(|flow| {
        (flow.goodput_mbps, flow.rtt_mean_ms, flow.rtt_p50_ms, flow.rtt_p99_ms) = (0.0, None, None, None);
    });
    silent.summary.links[0].queue_delay_mean_ms = None;
    silent.summary.derive_fairness();
    let mut bare = of_flows(2, 100.0);
    bare.series = Default::default();
    let mut none = of_flows(0, 100.0);
    (none.summary.links, none.series.links) = (vec![], vec![]);
    for runs in [vec![], vec![silent], vec![bare], vec![none], vec![of_flows(3, 1.0)]] {
        parse(&html("Edge", &runs, &Context::default()));
        roxmltree::Document::parse(&headline_svg("Edge", &runs, &Context::default())).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_series_makes_it_panic_or_write_what_is_no_number(
        flows in 0usize..6,
        points in 0.0..40.0f64,
        window_s in [prop::num::f64::ANY, prop::num::f64::ANY],
        bad in prop::collection::vec((0usize..12, 0usize..6, 0usize..40, prop::num::f32::ANY), 0..20),
        cut in prop::collection::vec((0usize..12, 0usize..6, 0usize..40), 0..6),
    ) {
        let mut run = of_flows(flows, points);
        run.summary.window_s = window_s;
        for (column, flow, point, value) in bad {
            if let Some(x) = column_of(&mut run, column, flow).and_then(|values| values.get_mut(point)) {
                *x = value;
            }
            if let (11, Some(t)) = (column, run.series.t_s.get_mut(point)) {
                *t = f64::from(value);
            }
        }
        for (column, flow, length) in cut {
            if let Some(values) = column_of(&mut run, column, flow) {
                values.truncate(length);
            }
        }
        let page = html("Any", std::slice::from_ref(&run), &Context::default());
        let document = parse(&page);
        for path in select(&document, "path") {
            let d = path.value().attr("d").unwrap_or_default();
            prop_assert!(!d.contains("NaN") && !d.contains("inf"), "{d}");
        }
        let picture = headline_svg("Any", std::slice::from_ref(&run), &Context::default());
        prop_assert!(roxmltree::Document::parse(&picture).is_ok());
    }
}

/// A browser opens a few megabytes, whatever was simulated.
#[test]
fn a_report_on_thousands_of_flows_shows_groups_and_stays_small() {
    let mut large = demonstration().0.swap_remove(0);
    let (flow, series) = (large.summary.flows[0].clone(), large.series.flows[0].clone());
    large.summary.flows = (0..3000).map(|i| FlowSummary { name: format!("f{i}"), ..flow.clone() }).collect();
    large.series.flows = vec![series; 3000];
    for link in &mut large.series.links {
        link.backlog_kb = vec![link.backlog_kb[0].clone(); 3000];
    }
    for link in &mut large.summary.links {
        link.backlog_share = vec![1.0 / 3000.0; 3000];
    }
    let runs = std::slice::from_ref(&large);
    let page = html("Large", runs, &Context::default());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let names: Vec<String> = select(&parse(&page), "#numbers table:first-of-type td.name")
        .iter()
        .map(|cell| cell.text().collect())
        .collect();
    let cc = &flow.cc;
    let thirds = ["slowest", "middle", "fastest"].map(|which| format!("{cc}, {which} 1000 of 3000"));
    assert!(names.starts_with(&thirds), "{names:?}");
    assert!(page.contains("groups of the 3000 flows"), "the page says so");
    let picture = headline_svg("Large", runs, &Context::default());
    assert!(picture.len() < 500_000, "{} bytes", picture.len());
}

fn column_of(run: &mut Run, column: usize, flow: usize) -> Option<&mut Vec<f32>> {
    if column >= 8 {
        let link = run.series.links.first_mut()?;
        return if column == 8 { Some(&mut link.queue_delay_ms) } else { link.backlog_kb.get_mut(flow) };
    }
    let series = run.series.flows.get_mut(flow)?;
    let columns = [
        &mut series.goodput_mbps,
        &mut series.rtt_ms,
        &mut series.cwnd_pkts,
        &mut series.inflight_pkts,
        &mut series.pacing_mbps,
        &mut series.bw_mbps,
        &mut series.min_rtt_ms,
        &mut series.pacing_gain,
    ];
    columns.into_iter().nth(column)
}
