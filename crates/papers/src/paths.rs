//! Paths of measures: `flow.short.goodput_mbps`, `link.bottleneck.queue_delay_ms`, `jain`, `model.goodput`,
//! `table.jain`.
//!
//! Where a path names several flows or links, additive quantities are summed; of other quantities the mean is
//! taken, over the flows or links that have a value.

use std::collections::HashMap;

use fairpace_cc::Phase;
use fairpace_results::{Completions, FlowSummary, LinkSummary, Run, Summary};
use fairpace_scenario::Scenario;

use crate::figure::Measure;
use crate::source::Planned;

/// Columns in the series of a flow.
const OF_FLOWS: &str = "goodput_mbps delivered_kb rtt_ms cwnd_pkts inflight_pkts pacing_mbps bw_mbps \
                        min_rtt_ms pacing_gain probe_alpha phase completion_ms";
/// Columns in the series of a link; the name of a flow may follow `backlog_kb`.
const OF_LINKS: [&str; 3] = ["queue_delay_ms", "drops", "backlog_kb"];
/// Metrics over all flows: the least, and the greatest, goodput of a flow over the mean goodput.
const OF_MEAN: [&str; 2] = ["least_of_mean", "most_of_mean"];
/// Additive metrics: the number for several flows or links is the sum over them.
const ADDED: &str = "goodput_mbps delivered_kb share sent_pkts retransmits dropped_pkts marked_pkts \
                     completions.began completions.completed drops early_drops lost marks cwnd_pkts \
                     inflight_pkts pacing_mbps bw_mbps backlog_kb";

/// Whether a name is in a list of names, which spaces separate.
fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Names that paths may use: of flows, with their algorithms, and of links.
struct Names([Vec<(String, String)>; 2]);

impl Names {
    fn of(summary: &Summary) -> Self {
        let flows = summary.flows.iter().map(|flow| (flow.name.clone(), flow.cc.clone()));
        let links = summary.links.iter().map(|link| (link.name.clone(), String::new()));
        Self([flows.collect(), links.collect()])
    }

    fn all(&self, part: Part) -> impl Iterator<Item = &str> {
        self.0[part as usize].iter().map(|(name, _)| name.as_str())
    }

    /// Indices of the flows or links that a selector names.
    fn select(&self, part: Part, selector: &str) -> Vec<usize> {
        let of = &self.0[part as usize];
        let (name, all) = (|index: usize| of[index].0.as_str(), 0..of.len());
        let find =
            |is_it: &dyn Fn(usize) -> bool| all.clone().filter(|index| is_it(*index)).collect::<Vec<_>>();
        if selector == "*" {
            return all.collect();
        }
        if let (Some(cc), Part::Flow) = (selector.strip_prefix("cc="), part) {
            return find(&|index| of[index].1 == cc);
        }
        let number = |index: usize| (index + 1).to_string() == selector;
        // a group of flows: "short-1", "short-2", ...
        let member = |index: usize| {
            let rest = name(index).strip_prefix(selector).and_then(|rest| rest.strip_prefix('-'));
            rest.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let rules: [&dyn Fn(usize) -> bool; 3] = [&|index| name(index) == selector, &number, &member];
        rules.into_iter().map(find).find(|found| !found.is_empty()).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Flow,
    Link,
}

/// Splits a path into the flows or links that it names and the metric. Names may contain dots.
fn split<'p>(
    path: &'p str,
    names: &Names,
    known: &dyn Fn(Part, &str) -> bool,
) -> Option<(Part, Vec<usize>, &'p str)> {
    let (part, rest) = match path.split_once('.')? {
        ("flow", rest) => (Part::Flow, rest),
        ("link", rest) => (Part::Link, rest),
        _ => return None,
    };
    let splits = rest.match_indices('.').map(|(dot, _)| (&rest[..dot], &rest[dot + 1..]));
    splits.filter(|(_, what)| known(part, what)).find_map(|(selector, what)| {
        let found = names.select(part, selector);
        (!found.is_empty()).then_some((part, found, what))
    })
}

fn combined(what: &str, values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.flatten().filter(|value| value.is_finite()).collect();
    let sum: f64 = values.iter().sum();
    let adds = is_in(ADDED, what) || what.starts_with("backlog_");
    let divisor = if adds { 1.0 } else { values.len() as f64 };
    (!values.is_empty()).then(|| sum / divisor)
}

/// The number of a summary at a path; `None` if the summary has no number there.
pub(crate) fn number(path: &str, summary: &Summary) -> Option<f64> {
    if OF_MEAN.contains(&path) {
        let goodputs = summary.flows.iter().map(|flow| flow.goodput_mbps);
        let mean = goodputs.clone().sum::<f64>() / summary.flows.len() as f64;
        let end = goodputs.reduce(if path == OF_MEAN[0] { f64::min } else { f64::max })?;
        return (mean > 0.0).then_some(end / mean);
    }
    let (what, values) = metric(path, summary)?;
    combined(what, values.into_iter())
}

/// The metric of a path, and its value for each flow or link; `None` if there is no such metric.
fn metric<'p>(path: &'p str, summary: &Summary) -> Option<(&'p str, Vec<Option<f64>>)> {
    let names = Names::of(summary);
    let metrics: HashMap<String, Option<f64>> = metrics(summary).into_iter().collect();
    let full = |part: Part, index: usize, what: &str| {
        format!("{}.{}.{what}", ["flows", "links"][part as usize], names.0[part as usize][index].0)
    };
    let known = |part: Part, what: &str| {
        (0..names.0[part as usize].len()).any(|index| metrics.contains_key(&full(part, index, what)))
    };
    let of = |part, index: &usize, what: &str| metrics.get(&full(part, *index, what)).copied().flatten();
    match split(path, &names, &known) {
        Some((part, found, what)) => Some((what, found.iter().map(|index| of(part, index, what)).collect())),
        None => metrics.get(path).map(|value| ("", vec![*value])),
    }
}

/// The metrics of a whole summary: its own, the number of flows, the packets delivered, and the rates of the
/// links.
fn metrics(summary: &Summary) -> Vec<(String, Option<f64>)> {
    let counts = [("flows", summary.flows.len() as f64), ("packets", summary.cost.data_packets as f64)];
    let counts = counts.map(|(name, count)| (name.to_owned(), Some(count)));
    let rates = summary.links.iter().map(|of| (format!("links.{}.rate_mbps", of.name), Some(of.rate_mbps)));
    summary.metrics().into_iter().chain(counts).chain(rates).collect()
}

/// The series of a run at a path, one value for each point of its time; NaN if there is no value. `None` if
/// there is no such series.
pub(crate) fn series(path: &str, run: &Run) -> Option<Vec<f64>> {
    let names = Names::of(&run.summary);
    let (part, found, what) = split(path, &names, &|part, what| has_series(&names, part, what))?;
    let columns: Vec<Vec<f64>> =
        found.iter().map(|index| column(run, &names, part, *index, what)).collect::<Option<_>>()?;
    let points = columns.iter().map(Vec::len).max()?;
    let at = |point: usize| columns.iter().map(move |column| column.get(point).copied());
    Some((0..points).map(|point| combined(what, at(point)).unwrap_or(f64::NAN)).collect())
}

fn has_series(names: &Names, part: Part, what: &str) -> bool {
    match (part, what.strip_prefix("backlog_kb.")) {
        (Part::Flow, _) => is_in(OF_FLOWS, what) || phase(what).is_some(),
        (Part::Link, Some(flow)) => !names.select(Part::Flow, flow).is_empty(),
        (Part::Link, None) => OF_LINKS.contains(&what),
    }
}

fn column(run: &Run, names: &Names, part: Part, index: usize, what: &str) -> Option<Vec<f64>> {
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    if part == Part::Flow {
        let flow = run.series.flows.get(index)?;
        return match what {
            "phase" => Some(flow.phase.iter().map(|phase| f64::from(*phase)).collect()),
            "completion_ms" => Some(wide(&flow.completion_ms)),
            _ if phase(what).is_some() => Some(phase_ms(&run.series.t_s, &flow.phase, phase(what)?)),
            "probe_alpha" => Some(probe_alpha(&flow.phase, &flow.pacing_gain)),
            "delivered_kb" => Some(delivered_kb(&run.series.t_s, &flow.goodput_mbps)),
            _ => flow.columns().iter().find(|(name, _)| *name == what).map(|(_, values)| wide(values)),
        };
    }
    let link = run.series.links.get(index)?;
    match what {
        "queue_delay_ms" => Some(wide(&link.queue_delay_ms)),
        "drops" => Some(link.drops.iter().map(|drops| f64::from(*drops)).collect()),
        _ => {
            let all = || (0..link.backlog_kb.len()).collect();
            let flow = what.strip_prefix("backlog_kb.");
            let flows: Vec<usize> = flow.map_or_else(all, |flow| names.select(Part::Flow, flow));
            let at =
                |point: usize| flows.iter().filter_map(move |flow| link.backlog_kb.get(*flow)?.get(point));
            let sum = |point: usize| at(point).map(|kb| f64::from(*kb)).filter(|kb| kb.is_finite()).sum();
            Some((0..run.series.t_s.len()).map(sum).collect())
        }
    }
}

/// Data that was delivered from the start to the end of each interval, in units of 1000 bytes.
fn delivered_kb(t_s: &[f64], goodput_mbps: &[f32]) -> Vec<f64> {
    /// Number of kilobytes in a megabit.
    const KB_PER_MBIT: f64 = 125.0;
    let (mut sum, mut began_s) = (0.0, 0.0);
    let intervals = t_s.iter().zip(goodput_mbps);
    intervals
        .map(|(ended_s, mbps)| {
            let mbps = f64::from(*mbps);
            sum += if mbps.is_finite() { mbps * (ended_s - began_s) * KB_PER_MBIT } else { 0.0 };
            began_s = *ended_s;
            sum
        })
        .collect()
}

/// The phase in a path such as `phase_ms.probe_bw_up`.
fn phase(what: &str) -> Option<Phase> {
    let name = what.strip_prefix("phase_ms.")?;
    Phase::ALL.iter().copied().find(|phase| phase.name().eq_ignore_ascii_case(name))
}

/// Length of each time in a phase, ms, at its end; NaN at other points.
fn phase_ms(t_s: &[f64], phases: &[i8], phase: Phase) -> Vec<f64> {
    let is_in = |index: usize| phases.get(index) == Some(&(phase as i8));
    let mut began_s = 0.0;
    let length_ms = |index: usize| {
        if !is_in(index) || index == 0 || !is_in(index - 1) {
            began_s = if index == 0 { 0.0 } else { t_s[index - 1] };
        }
        let ends = is_in(index) && index + 1 < phases.len() && !is_in(index + 1);
        if ends { (t_s[index] - began_s) * 1e3 } else { f64::NAN }
    };
    (0..phases.len()).map(length_ms).collect()
}

/// Alpha of Zhang et al. 2018, section IV.C: the distance of the pacing gain from 1 in PROBE_BW_UP and DOWN,
/// and in other phases its last value there; NaN before the first. A cycle has the gains 1 + alpha, 1 - alpha
/// and 1, so that either phase shows alpha.
fn probe_alpha(phase: &[i8], pacing_gain: &[f32]) -> Vec<f64> {
    let probes = [Phase::ProbeBwUp, Phase::ProbeBwDown].map(|phase| phase as i8);
    let mut alpha = f64::NAN;
    let points = phase.iter().zip(pacing_gain);
    points
        .map(|(phase, gain)| {
            if probes.contains(phase) {
                alpha = (f64::from(*gain) - 1.0).abs();
            }
            alpha
        })
        .collect()
}

/// Checks, before the run, that the path of a measure exists. The error has a message and a help text.
pub(crate) fn check(measure: &Measure, source: &Planned) -> Result<(), (String, String)> {
    let of = measure.of.as_str();
    match source {
        Planned::Model((name, _)) => check_model(of, name),
        Planned::Table { table, filters } => {
            let column = of.strip_prefix("table.");
            let column =
                column.ok_or_else(|| (format!("a table has no `{of}`"), "write table.COLUMN".into()))?;
            table.numbers(filters, column).map(drop).map_err(|error| (error, String::new()))
        }
        Planned::Cell { columns, .. } => {
            let is_column = |name| columns.iter().any(|column| column.heading == name);
            match of.strip_prefix("table.").is_some_and(is_column) {
                true => Ok(()),
                false => Err((format!("a run of the table has no `{of}`"), "write table.COLUMN".into())),
            }
        }
        Planned::Runs(scenarios) => match scenarios.first() {
            Some(scenario) => check_scenario(of, measure.take.is_some(), scenario),
            None => Ok(()),
        },
    }
}

fn check_model(of: &str, name: &str) -> Result<(), (String, String)> {
    let models = crate::models::catalog();
    // a model that does not exist is an error of its run
    let Some(model) = models.iter().find(|model| model.name == name) else { return Ok(()) };
    let quantities = model.values.iter().chain(&model.curves);
    let known: Vec<String> = quantities.map(|quantity| format!("model.{}", quantity.name)).collect();
    if known.iter().any(|known| known == of) {
        return Ok(());
    }
    Err((format!("the model `{name}` has no `{of}`"), format!("it has {}", known.join(", "))))
}

fn check_scenario(of: &str, takes: bool, scenario: &Scenario) -> Result<(), (String, String)> {
    let blank = blank(scenario);
    let names = Names::of(&blank);
    let metrics = metrics(&blank);
    let is_series = split(of, &names, &|part, what| has_series(&names, part, what)).is_some();
    let is_number = OF_MEAN.contains(&of) || metric(of, &blank).is_some();
    let named = |part| names.all(part).take(20).collect::<Vec<_>>().join(", ");
    match (is_series, is_number, takes) {
        (true, _, true) | (_, true, false) => Ok(()),
        // a picture over time shows the series itself
        (true, false, false) => Ok(()),
        (false, true, true) => Err((format!("`{of}` is a number"), "leave `take` out".into())),
        (false, false, _) => {
            let all = metrics.iter().map(|(name, _)| name.rsplit('.').next().unwrap_or_default());
            let all = all.chain(OF_FLOWS.split(' ')).chain(OF_LINKS);
            let last = of.rsplit('.').next().unwrap_or_default();
            let meant = fairpace_cc::nearest(last, all).filter(|meant| *meant != last);
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}its flows are {}; its links {}", named(Part::Flow), named(Part::Link));
            Err((format!("a run of this scenario has no `{of}`"), help))
        }
    }
}

/// A summary with all names of the scenario and without numbers.
fn blank(scenario: &Scenario) -> Summary {
    let flow = |flow: &fairpace_scenario::Flow| FlowSummary {
        name: flow.name.clone(),
        cc: flow.cc.to_string(),
        completions: Some(Completions::default()),
        ..FlowSummary::default()
    };
    let link = |link: &fairpace_scenario::Link| LinkSummary {
        name: link.name.clone(),
        backlog_share: vec![0.0; scenario.flows.len()],
        ..LinkSummary::default()
    };
    Summary {
        flows: scenario.flows.iter().map(flow).collect(),
        links: scenario.links.iter().map(link).collect(),
        ..Summary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests as sample;

    #[test]
    fn numbers_are_found_by_name_number_group_and_algorithm() {
        let summary = sample::run(0).summary;
        let of = |path: &str| number(path, &summary);
        assert_eq!(of("flow.1.5ms.goodput_mbps"), Some(10.0), "names have dots");
        assert_eq!(of("flow.2.goodput_mbps"), Some(20.0));
        assert_eq!(of("flow.web-2.goodput_mbps"), Some(30.0));
        assert_eq!(of("flow.web.goodput_mbps"), Some(50.0));
        assert_eq!(of("flow.*.goodput_mbps"), Some(60.0));
        assert_eq!(of("flow.cc=cubic.goodput_mbps"), Some(50.0));
        assert_eq!(of("flow.cc=cubic.rtt_mean_ms"), Some(50.0), "a mean of 40 and 60 is no sum");
        assert_eq!(of("link.bottleneck.utilization"), Some(0.5));
        assert_eq!(of("link.1.backlog_share.web-1"), Some(0.25));
        assert_eq!(of("jain"), Some(0.75));
        assert_eq!([of("least_of_mean"), of("most_of_mean")], [Some(0.5), Some(1.5)]);
        for nothing in
            ["convergence_s", "flow.none.share", "flow.web.completion_s", "link.2.drops", "cost", ""]
        {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn alpha_is_what_up_and_down_add_and_subtract() {
        let [cruise, up, down] =
            [Phase::ProbeBwCruise, Phase::ProbeBwUp, Phase::ProbeBwDown].map(|phase| phase as i8);
        let alpha = probe_alpha(&[0, up, down, cruise, down, cruise], &[2.885, 1.25, 0.75, 1.0, 0.5, 1.0]);
        assert!(alpha[0].is_nan(), "STARTUP does not probe");
        assert_eq!(alpha[1..], [0.25, 0.25, 0.25, 0.5, 0.5]);
    }

    #[test]
    fn series_add_up_and_gaps_count_for_nothing() {
        let run = sample::run(0);
        let of = |path: &str| series(path, &run);
        assert_eq!(of("flow.*.goodput_mbps"), Some(vec![0.0, 60.0, 120.0, 180.0]));
        let rtt = of("flow.cc=cubic.rtt_ms").unwrap();
        assert!(rtt[0].is_nan());
        assert_eq!(rtt[1..], [3.0, 1.0, 2.0]);
        assert_eq!(of("flow.1.delivered_kb"), Some(vec![0.0, 1250.0, 3750.0, 7500.0]));
        assert_eq!(of("link.bottleneck.drops"), Some(vec![0.0, 1.0, 2.0, 3.0]));
        assert_eq!(of("link.bottleneck.backlog_kb"), Some(vec![7.0; 4]));
        assert_eq!(of("link.bottleneck.backlog_kb.1.5ms"), Some(vec![1.0; 4]));
        assert_eq!(of("link.bottleneck.backlog_kb.web"), Some(vec![6.0; 4]));
        assert_eq!(of("link.bottleneck.utilization"), None, "a number, not a series");
    }
}
