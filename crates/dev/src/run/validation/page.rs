//! The results of the validation, as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fairpace_cli_core::place::kernel_shown;
use fairpace_cli_core::table::{number, short};

use super::judge::Quantity;
use super::record::{Compared, OnKernel, Record};
use fairpace_experiment::Range as Spread;

/// The generated part of the page.
pub(super) fn generated(record: &Record) -> String {
    let mut page = facts(record);
    page.push_str(&kinds(record));
    page.push_str(&titles(record));
    let names: String = record.kernels.iter().map(|kernel| format!(" {} |", kernel.name)).collect();
    let columns = "---:|".repeat(record.kernels.len());
    let _ = writeln!(page, "\n| scenario | of | what |{names} simulator | beyond | allowed | |");
    let _ = writeln!(page, "|---|---|---|{columns}---:|---:|---:|---|");
    for scenario in &record.scenarios {
        for (index, quantity) in scenario.quantities.iter().enumerate() {
            page.push_str(&row(if index == 0 { &scenario.name } else { "" }, quantity));
        }
    }
    page
}

/// Text of one scenario in a line, for display while others run.
pub(super) fn line(scenario: &Compared) -> String {
    let mut line = format!("{}: {}", scenario.name, verdict(scenario.agrees()));
    for q in scenario.quantities.iter().filter(|q| q.agrees == Some(false)) {
        let kernel = shown(q.kernels.first().copied().flatten());
        let _ = write!(line, "; {} of {}: {} against {kernel} {}", q.what, q.of, show(&q.sim), q.unit);
    }
    if scenario.disturbed > 0 {
        let _ = write!(line, "; disturbed runs: {}", scenario.disturbed);
    }
    line
}

fn facts(Record { commit, kernels, seeds, scenarios, .. }: &Record) -> String {
    let named = |is: &dyn Fn(&&Compared) -> bool, name: fn(&Compared) -> String| {
        scenarios.iter().filter(is).map(name).collect::<Vec<_>>()
    };
    let of = |verdict| named(&|scenario| scenario.agrees() == verdict, |scenario| scenario.name.clone());
    let disturbed: u32 = scenarios.iter().map(|scenario| scenario.disturbed).sum();
    let mut text = "| | |\n|---|---|\n".to_owned();
    for (index, OnKernel { kernel, runs, .. }) in kernels.iter().enumerate() {
        let judges = if index == 0 { "kernel, by which the simulator is judged" } else { "another kernel" };
        let _ = writeln!(text, "| {judges} | {}, {runs} runs of each scenario |", kernel_shown(kernel));
    }
    let _ = write!(
        text,
        "| simulator | seeds 1 to {seeds} |\n| commit | `{commit}` |\n\
         | runs that were disturbed and repeated | {disturbed} |\n\
         | scenarios that agree | {} of {} |\n",
        of(Some(true)).len(),
        scenarios.len()
    );
    let wanted = kernels.first().map_or(0, |kernel| kernel.runs);
    let runs = |scenario: &Compared| scenario.runs.first().copied().unwrap_or(0);
    let fewer = scenarios.iter().filter(|scenario| (1..wanted).contains(&runs(scenario)));
    let fewer = fewer.map(|scenario| format!("{} ({})", scenario.name, runs(scenario))).collect();
    for (what, names) in [
        ("that do not", of(Some(false))),
        ("that the machine disturbed in all runs", of(None)),
        ("judged by fewer runs", fewer),
    ] {
        if !names.is_empty() {
            let _ = writeln!(text, "| {what} | {} |", names.join(", "));
        }
    }
    text
}

/// A table of how many drawn flows of each kind agree.
fn kinds(Record { scenarios, .. }: &Record) -> String {
    let kinds: BTreeSet<&str> = scenarios.iter().filter_map(|scenario| scenario.kind.as_deref()).collect();
    let mut text = String::new();
    if !kinds.is_empty() {
        text.push_str("\n| kind | flows | agree | outside |\n|---|---:|---:|---:|\n");
    }
    for kind in kinds {
        let of_kind = scenarios.iter().filter(|scenario| scenario.kind.as_deref() == Some(kind));
        let found: Vec<_> = of_kind.map(Compared::agrees).collect();
        let [agree, outside] =
            [true, false].map(|wanted| found.iter().filter(|found| **found == Some(wanted)).count());
        let _ = writeln!(text, "| {kind} | {} | {agree} | {outside} |", found.len());
    }
    text
}

/// A list of the scenarios: those of files, and the drawn flows that do not agree.
fn titles(Record { scenarios, .. }: &Record) -> String {
    let mut text = String::from("\n| scenario | what it shows | measured |\n|---|---|---|\n");
    let shown = scenarios.iter().filter(|s| s.kind.is_none() || s.agrees() != Some(true));
    for Compared { name, title, window_s: [from, to], .. } in shown {
        let _ = writeln!(text, "| {name} | {title} | {} to {} s |", short(*from), short(*to));
    }
    text
}

fn row(name: &str, q: &Quantity) -> String {
    let Quantity { of, what, unit, sim, beyond, allowed, agrees, .. } = q;
    let (beyond, mark) = (number(*beyond, decimals(sim.mean)), allowed.map_or("", |_| verdict(*agrees)));
    let allowed = allowed.map_or_else(String::new, |allowed| number(Some(allowed), 1));
    let kernels: String = q.kernels.iter().map(|spread| format!(" {} |", shown(*spread))).collect();
    let sim = show(sim);
    format!("| {name} | {of} | {what}, {unit} |{kernels} {sim} | {beyond} | {allowed} | {mark} |\n")
}

fn verdict(agrees: Option<bool>) -> &'static str {
    match agrees {
        Some(true) => "agrees",
        Some(false) => "**outside**",
        None => "disturbed",
    }
}

fn shown(spread: Option<Spread>) -> String {
    spread.as_ref().map_or_else(|| "-".to_owned(), show)
}

/// Text of a spread: mean (lowest to highest).
fn show(spread: &Spread) -> String {
    spread.text(decimals(spread.mean))
}

/// Number of decimals for about three significant digits.
fn decimals(value: f64) -> usize {
    match value.abs() {
        x if x >= 100.0 => 0,
        x if x >= 1.0 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(agrees: Option<bool>) -> Compared {
        let spread = Spread { mean: 12.34, min: 9.0, max: 15.0 };
        let kernel = agrees.map(|_| spread);
        let quantity = Quantity {
            of: "10ms".into(),
            what: "share",
            unit: "%",
            kernels: vec![kernel],
            sim: Spread { mean: 20.0, min: 19.0, max: 21.0 },
            difference: kernel.map(|_| 7.66),
            beyond: kernel.map(|_| 5.0),
            allowed: Some(4.0),
            agrees,
        };
        Compared {
            name: "case".into(),
            kind: Some("cubic with SACK".into()),
            title: "a case".into(),
            hash: "h".into(),
            window_s: [5.0, 20.0],
            runs: vec![agrees.map_or(0, |_| 2)],
            disturbed: 1,
            quantities: vec![quantity],
        }
    }

    fn record(scenario: Compared) -> Record {
        Record {
            schema: "s",
            commit: "c",
            kernels: vec![OnKernel { name: "Linux 6.18".into(), kernel: "6.18".into(), runs: 3 }],
            seeds: 5,
            scenarios: vec![scenario],
        }
    }

    fn page(scenario: Compared) -> String {
        generated(&record(scenario))
    }

    #[test]
    fn the_record_is_documented() {
        crate::documented::assert_documented("run", &record(compared(Some(true))));
    }

    #[test]
    fn a_scenario_outside_is_named_at_the_top_and_marked_in_its_row() {
        let page = page(compared(Some(false)));
        assert!(page.contains("| scenarios that agree | 0 of 1 |\n| that do not | case |"), "{page}");
        let row =
            "| case | 10ms | share, % | 12.3 (9.0 to 15.0) | 20.0 (19.0 to 21.0) | 5.0 | 4.0 | **outside** |";
        assert!(page.contains(row), "{page}");
    }

    #[test]
    fn what_has_fewer_runs_than_wanted_is_named() {
        assert!(page(compared(Some(true))).contains("| judged by fewer runs | case (2) |"));
        assert!(!page(Compared { runs: vec![3], ..compared(Some(true)) }).contains("fewer"));
        assert!(!page(compared(None)).contains("fewer"), "it is not judged");
    }

    #[test]
    fn a_drawn_flow_that_agrees_needs_no_title() {
        let title = "| case | a case | 5 to 20 s |";
        assert!(!page(compared(Some(true))).contains(title));
        assert!(page(compared(Some(false))).contains(title));
        assert!(page(Compared { kind: None, ..compared(Some(true)) }).contains(title));
    }

    #[test]
    fn a_disturbed_scenario_is_not_said_to_agree() {
        let page = page(compared(None));
        assert!(page.contains(
            "| scenarios that agree | 0 of 1 |\n| that the machine disturbed in all runs | case |"
        ));
        assert!(page.contains("| - | 20.0 (19.0 to 21.0) | - | 4.0 | disturbed |"), "{page}");
        assert!(line(&compared(None)).starts_with("case: disturbed"));
    }
}
