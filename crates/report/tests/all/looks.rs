//! What a reader sees and can operate: pages in a browser, and the labels of the picture.

use crate::support::demonstration;
use fairpace_report::{headline_svg, html};
use fairpace_test_support::announce;
use scraper::{Html, Selector};

/// The page after its scripts have run in a browser; `None` if there is no browser.
fn in_browser(page: &str) -> Option<Html> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let browser = std::process::Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output();
    match browser {
        Ok(output) if output.status.success() => {
            Some(Html::parse_document(&String::from_utf8_lossy(&output.stdout)))
        }
        Ok(output) => panic!("chromium: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            announce("SKIPPED", &format!("chromium: {error}"));
            None
        }
    }
}

fn select<'a>(document: &'a Html, selector: &str) -> Vec<scraper::ElementRef<'a>> {
    let selector = Selector::parse(selector).unwrap();
    document.select(&selector).collect()
}

fn attribute<'a>(document: &'a Html, selector: &str, name: &str) -> Vec<&'a str> {
    select(document, selector).iter().filter_map(|element| element.value().attr(name)).collect()
}

fn page() -> String {
    let (runs, context) = demonstration();
    html("Demonstration", &runs, &context)
}

/// The script shows the toolbar as its last action.
#[test]
fn the_script_runs_in_a_browser() {
    let page = page();
    let spans = |of: &Html| attribute(of, "[data-span]", "aria-pressed").join(" ");
    let shown = |of: &Html| select(of, "#span")[0].text().collect::<String>();
    assert_eq!(spans(&Html::parse_document(&page)), "true false false");
    let Some(document) = in_browser(&page) else { return };
    assert!(attribute(&document, "#toolbar", "hidden").is_empty(), "the script did not reach its end");
    assert_eq!((shown(&document).as_str(), spans(&document).as_str()), ("0 s to 60 s", "true false false"));

    let press = |what: &str| page.replace("</body>", &format!("<script>{what}</script></body>"));
    let measured = "document.querySelector('[data-span=window]').click();";
    let document = in_browser(&press(measured)).unwrap();
    assert_eq!((shown(&document).as_str(), spans(&document).as_str()), ("20 s to 60 s", "false false true"));
    let escape = "const panel = document.querySelector('.panel');\
                  panel.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));";
    let document = in_browser(&press(&format!("{measured}{escape}"))).unwrap();
    assert_eq!((shown(&document).as_str(), spans(&document).as_str()), ("0 s to 60 s", "true false false"));
}

/// Shows the page in a frame of each width, and writes what does not fit as items of a list.
const MEASURE: &str = "\
    const fault = (text) => document.body.appendChild(document.createElement('li')).textContent = text;\
    for (const frame of document.querySelectorAll('iframe')) {\
      const page = frame.contentDocument;\
      const box = (element) => element.getBoundingClientRect();\
      const wide = page.documentElement.scrollWidth;\
      if (wide > frame.clientWidth) fault(`${frame.clientWidth}: the page is ${wide} wide`);\
      for (const tick of page.querySelectorAll('.yaxis:not(.names) span')) {\
        const {height, left} = box(tick);\
        const start = box(tick.parentElement).left;\
        const is = `tick ${tick.textContent}, ${height} high`;\
        if (height > 14 || left < start) fault(`${frame.clientWidth}: ${is}`);\
      }\
      const ends = (plot) => [box(plot).left, box(plot).right].join(' to ');\
      const of = (panel) => [...panel.querySelectorAll('.xaxis span')];\
      const ticks = (panel) => of(panel).map((tick) => tick.textContent).join(' ');\
      const panel = (key) => page.querySelector(`#run-0 [data-panel=${key}]`);\
      const [above, lanes] = ['goodput', 'phase'].map(panel);\
      const plot = (panel) => ends(panel.querySelector('.plot'));\
      for (const what of [plot, ticks]) {\
        const [one, other] = [above, lanes].map(what);\
        if (one !== other) fault(`${frame.clientWidth}: plot ${one}, phases ${other}`);\
      }\
      document.body.appendChild(document.createElement('hr'));\
    }";

#[test]
fn axes_fit_a_phone_and_phases_are_below_their_time() {
    let page = page().replace('&', "&amp;").replace('"', "&quot;");
    let frame = |width: u32| format!("<iframe style='width:{width}px;border:0' srcdoc=\"{page}\"></iframe>");
    let frames: String = [390, 800, 1400].map(frame).concat();
    let script = format!("<script>addEventListener('load', () => {{ {MEASURE} }});</script>");
    let Some(document) = in_browser(&format!("<!DOCTYPE html><body>{frames}{script}</body>")) else { return };
    assert_eq!(select(&document, "hr").len(), 3, "all frames were measured");
    let faults: Vec<String> = select(&document, "li").iter().map(|fault| fault.text().collect()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_word_with_a_meaning_shows_it_without_a_script() {
    let document = Html::parse_document(&page());
    let buttons = select(&document, "button.term");
    assert!(buttons.len() > 20, "{}", buttons.len());
    for button in buttons {
        assert_eq!(button.value().attr("type"), Some("button"));
        let word = button.value().attr("popovertarget").unwrap();
        let meaning = select(&document, &format!("p.meaning#{word}[popover]"));
        assert_eq!(meaning.len(), 1, "{word}");
    }
    for word in ["queue-delay", "jain", "p99"] {
        for place in ["#numbers th", "#run-0 dt"] {
            let selector = format!("{place} button[popovertarget=word-{word}]");
            assert!(!select(&document, &selector).is_empty(), "{selector}");
        }
    }
}

/// A published value has the colour of its flow and stands at the dashed line of that flow.
#[test]
fn a_published_value_stands_at_its_dashed_line() {
    let (mut runs, context) = demonstration();
    // the measured values lie the other way round, as in docs/img/demo.svg
    for (flow, goodput) in [(0, 41.4), (1, 53.3)] {
        runs[1].summary.flows[flow].goodput_mbps = goodput;
    }
    let context = fairpace_report::Context { runs: context.runs[1..].to_vec(), ..context };
    let picture = headline_svg("Demonstration", &runs[1..2], &context);
    let document = roxmltree::Document::parse(&picture).unwrap();
    let of_class = |class: &str| {
        let class = class.to_owned();
        let nodes = document.descendants();
        nodes.filter(move |node| node.attribute("class").is_some_and(|of| of.starts_with(&class)))
    };
    // lines are in plot units from 0 to 4000, over 156 pixels that begin at 44
    let line = |flow: usize| {
        let rule = of_class(&format!("rule c{flow}")).next().unwrap().attribute("d").unwrap();
        let y: f64 = rule.trim_start_matches("M0,").split('h').next().unwrap().parse().unwrap();
        44.0 + 156.0 * y / 4000.0
    };
    let labels: Vec<(usize, f64)> = (0..2)
        .flat_map(|flow| of_class(&format!("label c{flow}")).map(move |node| (flow, node)))
        .map(|(flow, node)| (flow, node.attribute("y").unwrap().parse::<f64>().unwrap() - 4.0))
        .collect();
    assert_eq!(labels.len(), 2);
    for (flow, y) in labels {
        assert!((y - line(flow)).abs() < 2.0, "flow {flow}: {y}, {}", line(flow));
    }
    let mut heights: Vec<f64> = ["value", "label"]
        .iter()
        .flat_map(|class| of_class(class))
        .map(|node| node.attribute("y").unwrap().parse().unwrap())
        .collect();
    heights.sort_by(f64::total_cmp);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 13.9), "no two overlap: {heights:?}");
}
