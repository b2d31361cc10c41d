//! The part of a run's fairness metrics that needs the scenario: the conditions under which they are defined,
//! and the rates that the path would allow.

use std::time::Duration;

use fairpace_results::{Series, Summary};
use fairpace_scenario::{Flow, Scenario, Sending, Writes};

use crate::handover::rate_steps;

/// Sets the metrics that derive from the flows' goodputs: shares, Jain's index, convergence, distance from
/// max-min fairness.
pub(crate) fn derive_fairness(summary: &mut Summary, series: &Series, scenario: &Scenario) {
    summary.derive_fairness();
    summary.convergence_s = convergence_s(scenario, series);
    summary.max_min_distance = max_min_distance(scenario, summary);
}

/// Returns whether a flow has data to send from its start to the end of the run.
fn is_greedy(flow: &Flow, scenario: &Scenario) -> bool {
    let endless = flow.traffic.size_bytes.is_none() && flow.traffic.writes == Writes::Always;
    endless && flow.arrivals.is_none() && flow.stop.is_none_or(|stop| stop >= scenario.duration)
}

/// Computes [`Summary::convergence_s`].
fn convergence_s(scenario: &Scenario, series: &Series) -> Option<f64> {
    if !scenario.flows.iter().all(|flow| is_greedy(flow, scenario)) {
        return None;
    }
    let goodputs: Vec<&[f32]> = series.flows.iter().map(|flow| flow.goodput_mbps.as_slice()).collect();
    let last_start = scenario.flows.iter().map(|flow| flow.start).max()?;
    fairpace_results::convergence_s(&series.t_s, &goodputs, last_start.as_secs_f64())
}

/// Computes [`Summary::max_min_distance`].
fn max_min_distance(scenario: &Scenario, summary: &Summary) -> Option<f64> {
    let from = scenario.window.0;
    if !scenario.flows.iter().all(|flow| is_greedy(flow, scenario) && flow.start <= from) {
        return None;
    }
    // goodputs as if all flows had the default MTU: links share bytes on the wire
    let usual = Sending::default().payload_ratio();
    let capacity: Vec<f64> =
        (0..scenario.links.len()).map(|link| mean_mbps(link, scenario) * usual).collect();
    let flows = summary.flows.iter().zip(&scenario.flows);
    let goodputs: Vec<f64> =
        flows.map(|(found, flow)| found.goodput_mbps * (usual / flow.sending.payload_ratio())).collect();
    let routes = scenario.routes();
    let routes: Vec<&[u32]> = routes.iter().map(|route| route.forward.as_slice()).collect();
    fairpace_results::max_min_distance(&goodputs, &routes, &capacity)
}

/// Returns a link's mean rate over the measurement window.
fn mean_mbps(index: usize, scenario: &Scenario) -> f64 {
    let link = &scenario.links[index];
    let (from, to) = scenario.window;
    let begins = rate_steps(scenario, index).into_iter().map(|(at, rate)| (Duration::from_nanos(at), rate));
    let begins: Vec<_> = std::iter::once((Duration::ZERO, link.rate_bps)).chain(begins).collect();
    let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let bits = begins.iter().zip(ends).map(|((begin, rate), end)| {
        let length = end.min(to).saturating_sub((*begin).max(from));
        *rate as f64 * length.as_secs_f64()
    });
    bits.sum::<f64>() / (to - from).as_secs_f64() / 1e6
}

#[cfg(test)]
mod tests {
    use fairpace_scenario::Link;

    use super::*;

    /// One second as a duration.
    const SECOND: Duration = Duration::from_secs(1);

    fn scenario(flows: Vec<Flow>, links: Vec<Link>) -> Scenario {
        Scenario {
            title: String::new(),
            why: String::new(),
            seed: 1,
            duration: 10 * SECOND,
            window: (2 * SECOND, 10 * SECOND),
            interval: SECOND / 10,
            links,
            flows,
            hash: String::new(),
        }
    }

    #[test]
    fn a_links_mean_rate_is_that_of_the_window() {
        let mut link = Link::new("l", 10_000_000, 1000);
        link.rate_at = vec![(SECOND, 20_000_000), (4 * SECOND, 0), (6 * SECOND, 30_000_000)];
        let scenario = scenario(vec![], vec![link]);
        // 2 s at 20 Mbit/s, 2 s at 0, 4 s at 30
        assert!((mean_mbps(0, &scenario) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn fairness_is_defined_only_for_greedy_flows() {
        let greedy =
            Flow::new("a", "reno".parse::<fairpace_scenario::Cc>().expect("an algorithm"), SECOND / 50);
        let stopping = Flow { stop: Some(9 * SECOND), ..greedy.clone() };
        let mut finite = greedy.clone();
        finite.traffic.size_bytes = Some(1);
        let late = Flow { start: 3 * SECOND, ..greedy.clone() };
        let lone = scenario(vec![greedy.clone()], vec![]);
        assert!(is_greedy(&greedy, &lone) && is_greedy(&late, &lone));
        assert!(!is_greedy(&stopping, &lone) && !is_greedy(&finite, &lone));
    }
}
