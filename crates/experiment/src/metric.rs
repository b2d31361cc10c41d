//! Numbers and series of a run, by path: `flow.short.goodput_mbps`, `link.bottleneck.queue_delay_ms`, `jain`.
//! Conditions of criteria, measures of figures and columns of tables are all evaluated here.
//!
//! Where a path names several flows or links, additive quantities are summed, and of frames the worst flow
//! counts; of other quantities the mean is taken, over the flows or links that have a value.

use std::collections::BTreeMap;

use fairpace_cc::Phase;
use fairpace_results::{Completions, FlowSummary, LinkSummary, MediaSummary, Run, Summary};
use fairpace_scenario::Scenario;

/// Columns in the series of a flow.
const OF_FLOWS: &str = "goodput_mbps delivered_kb rtt_ms cwnd_pkts inflight_pkts pacing_mbps bw_mbps \
                        min_rtt_ms pacing_gain probe_alpha phase completion_ms";
/// Columns in the series of a link; the name of a flow may follow `backlog_kb`. `drops` is `dropped_pkts` of
/// the tables: measurements on record belong to a hash of their measure, which has this name.
const OF_LINKS: [&str; 3] = ["queue_delay_ms", "drops", "backlog_kb"];
/// Metrics over all flows: the least, and the greatest, goodput of a flow, and each over the mean goodput.
const ENDS: [&str; 4] = ["least_mbps", "most_mbps", "least_of_mean", "most_of_mean"];
/// Additive metrics: the number for several flows or links is the sum over them.
const ADDED: &str = "goodput_mbps delivered_kb share sent_pkts retransmits dropped_pkts marked_pkts \
                     completions.began completions.completed drops early_dropped_pkts lost cwnd_pkts \
                     inflight_pkts pacing_mbps bw_mbps backlog_kb";
/// Metrics of which the number for several flows is the greatest.
const WORST: [&str; 2] = ["media.late_or_lost", "media.delay_p95_ms"];

/// Whether a name is in a list of names, which spaces separate.
fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Whether a flow belongs to a group: a flow `own` with a `count` is expanded to `own-1`, `own-2`, ...
pub(crate) fn is_of(flow: &str, group: &str) -> bool {
    match flow.strip_prefix(group) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok()),
        None => false,
    }
}

/// Names that paths may use: of flows, with their algorithms, and of links.
#[derive(Debug, Clone, Default, PartialEq)]
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
        let member = |index: usize| is_of(name(index), selector);
        let rules: [&dyn Fn(usize) -> bool; 3] = [&|index| name(index) == selector, &number, &member];
        rules.into_iter().map(find).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Splits a path into the flows or links that it names and the metric. Names may contain dots.
    fn split<'p>(
        &self,
        path: &'p str,
        known: impl Fn(Part, &str) -> bool,
    ) -> Option<(Part, Vec<usize>, &'p str)> {
        let (part, rest) = match path.split_once('.')? {
            ("flow", rest) => (Part::Flow, rest),
            ("link", rest) => (Part::Link, rest),
            _ => return None,
        };
        let splits = rest.match_indices('.').map(|(dot, _)| (&rest[..dot], &rest[dot + 1..]));
        splits.filter(|(_, what)| known(part, what)).find_map(|(selector, what)| {
            let found = self.select(part, selector);
            (!found.is_empty()).then_some((part, found, what))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Flow,
    Link,
}

fn combined(what: &str, values: &[f64]) -> Option<f64> {
    match what {
        _ if WORST.contains(&what) => values.iter().copied().reduce(f64::max),
        _ if values.is_empty() => None,
        _ if is_in(ADDED, what) || what.starts_with("backlog_") => Some(values.iter().sum()),
        _ => Some(mean(values)),
    }
}

/// The numbers of a summary, by path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    names: Names,
    metrics: BTreeMap<String, Option<f64>>,
}

impl Numbers {
    /// The numbers of this summary.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        Self { names: Names::of(summary), metrics: metrics(summary).collect() }
    }

    /// The number at a path; `None` if the summary has no number there.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<f64> {
        if !ENDS.contains(&path) {
            let (what, values) = self.metric(path)?;
            return combined(what, &values);
        }
        let goodputs = self.values("flow.*.goodput_mbps");
        let end = if path.starts_with("least") { f64::min } else { f64::max };
        let (end, mean) = (goodputs.iter().copied().reduce(end)?, mean(&goodputs));
        if path.ends_with("_mbps") { Some(end) } else { (mean > 0.0).then_some(end / mean) }
    }

    /// The values at a path: one for each flow or link that it names and that has a value.
    pub(crate) fn values(&self, path: &str) -> Vec<f64> {
        self.metric(path).map(|(_, values)| values).unwrap_or_default()
    }

    /// The metric of a path, and its values; `None` if there is no such metric.
    fn metric<'p>(&self, path: &'p str) -> Option<(&'p str, Vec<f64>)> {
        let Self { names, metrics } = self;
        let of = |part: Part, index: usize, what: &str| {
            let name = &names.0[part as usize][index].0;
            metrics.get(&format!("{}.{name}.{what}", ["flows", "links"][part as usize])).copied()
        };
        let known =
            |part, what: &str| (0..names.all(part).count()).any(|index| of(part, index, what).is_some());
        match names.split(path, known) {
            Some((part, found, what)) => {
                let values = found.into_iter().filter_map(|index| of(part, index, what).flatten());
                Some((what, values.collect()))
            }
            None => metrics.get(path).map(|value| ("", value.iter().copied().collect())),
        }
    }
}

/// The mean of some values; NaN if there are none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The metrics of a whole summary: its own, the number of flows, the packets delivered, the rates of the
/// links, and what conditions of criteria ask of flows.
fn metrics(summary: &Summary) -> impl Iterator<Item = (String, Option<f64>)> {
    let counts = [("flows", summary.flows.len() as f64), ("packets", summary.cost.data_packets as f64)];
    let counts = counts.map(|(name, count)| (name.to_owned(), Some(count)));
    let rates = summary.links.iter().map(|of| (format!("links.{}.rate_mbps", of.name), Some(of.rate_mbps)));
    let window_ms = (summary.window_s[1] - summary.window_s[0]) * 1e3;
    let derived = move |flow: &FlowSummary| {
        let name = |what: &str| format!("flows.{}.{what}", flow.name);
        let sent_per_rtt = flow.sent_pkts.unwrap_or_default() as f64 / (window_ms / flow.rtt_ms);
        // a transfer that did not complete takes for ever, and so does a packet that did not arrive
        let complete = flow.completions.as_ref().filter(|of| of.began > 0 && of.completed == of.began);
        let slowdown = complete.and_then(|of| of.slowdown_mean).unwrap_or(f64::INFINITY);
        let delay_ms = |of: &MediaSummary| of.delay_p95_ms.unwrap_or(f64::INFINITY);
        let media = flow.media.as_ref();
        let media = media.map(|of| [(name(WORST[0]), of.late_or_lost), (name(WORST[1]), Some(delay_ms(of)))]);
        let of_flow = [(name("sent_per_rtt"), Some(sent_per_rtt)), (name("slowdown"), Some(slowdown))];
        of_flow.into_iter().chain(media.into_iter().flatten()).collect::<Vec<_>>()
    };
    summary.metrics().into_iter().chain(counts).chain(rates).chain(summary.flows.iter().flat_map(derived))
}

/// The series of a run at a path, one value for each point of its time; NaN if there is no value. `None` if
/// there is no such series.
#[must_use]
pub fn series(path: &str, run: &Run) -> Option<Vec<f64>> {
    let names = Names::of(&run.summary);
    let (part, found, what) = names.split(path, |part, what| has_series(&names, part, what))?;
    let columns: Vec<Vec<f64>> =
        found.iter().map(|index| column(run, &names, part, *index, what)).collect::<Option<_>>()?;
    let points = columns.iter().map(Vec::len).max()?;
    let at = |point: usize| columns.iter().filter_map(move |column| column.get(point).copied());
    let finite = |point: usize| at(point).filter(|value| value.is_finite()).collect::<Vec<_>>();
    Some((0..points).map(|point| combined(what, &finite(point)).unwrap_or(f64::NAN)).collect())
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

/// Checks, before a run of this scenario, that a path exists; `is_taken`: that it is a series, which is
/// reduced to a number.
///
/// # Errors
/// Returns a message and a help text if it does not.
pub fn check(path: &str, is_taken: bool, scenario: &Scenario) -> Result<(), (String, String)> {
    let blank = Numbers::of(&blank(scenario));
    let names = &blank.names;
    let is_series = names.split(path, |part, what| has_series(names, part, what)).is_some();
    let is_number = ENDS.contains(&path) || blank.metric(path).is_some();
    let named = |part| names.all(part).take(20).collect::<Vec<_>>().join(", ");
    match (is_series, is_number, is_taken) {
        // a picture over time shows the series itself
        (true, ..) | (_, true, false) => Ok(()),
        (false, true, true) => Err((format!("`{path}` is a number"), "leave `take` out".into())),
        (false, false, _) => {
            let all = blank.metrics.keys().map(|name| name.rsplit('.').next().unwrap_or_default());
            let all = all.chain(OF_FLOWS.split(' ')).chain(OF_LINKS);
            let last = path.rsplit('.').next().unwrap_or_default();
            let meant = fairpace_cc::nearest(last, all).filter(|meant| *meant != last);
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}its flows are {}; its links {}", named(Part::Flow), named(Part::Link));
            Err((format!("a run of this scenario has no `{path}`"), help))
        }
    }
}

/// A summary with all names of the scenario and without numbers.
fn blank(scenario: &Scenario) -> Summary {
    let flow = |flow: &fairpace_scenario::Flow| FlowSummary {
        name: flow.name.clone(),
        cc: flow.cc.to_string(),
        completions: Some(Completions::default()),
        media: Some(MediaSummary::default()),
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

    #[test]
    fn alpha_is_what_up_and_down_add_and_subtract() {
        let [cruise, up, down] =
            [Phase::ProbeBwCruise, Phase::ProbeBwUp, Phase::ProbeBwDown].map(|phase| phase as i8);
        let alpha = probe_alpha(&[0, up, down, cruise, down, cruise], &[2.885, 1.25, 0.75, 1.0, 0.5, 1.0]);
        assert!(alpha[0].is_nan(), "STARTUP does not probe");
        assert_eq!(alpha[1..], [0.25, 0.25, 0.25, 0.5, 0.5]);
    }
}
