//! The compared quantities, and the permitted differences.
//!
//! The kernel's runs of one scenario differ among themselves. The simulator's mean may lie outside of the
//! range of the kernel's runs, from the lowest to the highest, by at most the allowance. For a flow that
//! ends, only the completion time is compared.

use fairpace_results::Summary;
use serde::Serialize;

use fairpace_experiment::Range as Spread;

/// Allowance of a flow's share, in percentage points.
const SHARE_POINTS: f64 = 4.0;
/// Allowance of the goodput of all flows together, as a ratio of the kernel's.
const GOODPUT_RATIO: f64 = 0.04;
/// Allowance of the mean queueing delay, as a ratio of the kernel's. The larger of this and [`DELAY_MS`]
/// applies.
const DELAY_RATIO: f64 = 0.2;
/// Allowance of the mean queueing delay, ms.
const DELAY_MS: f64 = 2.0;

/// Allowance of a completion time, as a ratio of the kernel's shortest. The larger of this and
/// [`COMPLETION_MS`] applies.
const COMPLETION_RATIO: f64 = 0.05;
/// Allowance of a completion time, ms.
const COMPLETION_MS: f64 = 5.0;

/// A quantity of a scenario on both hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Quantity {
    /// The name of a flow or link, or "all flows".
    pub(super) of: String,
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    /// Spread over the kernel's runs; `None` if every run on the kernel was disturbed.
    pub(super) kernel: Option<Spread>,
    pub(super) sim: Spread,
    /// The simulator's mean minus the kernel's mean.
    pub(super) difference: Option<f64>,
    /// Distance of the simulator's mean from the kernel's range.
    pub(super) beyond: Option<f64>,
    /// Largest permitted distance; `None` for a quantity that is shown and not judged.
    pub(super) allowed: Option<f64>,
    pub(super) agrees: Option<bool>,
}

/// The name of a quantity: the first three fields of [`Quantity`].
type Name<'a> = (&'a str, &'static str, &'static str);

/// A function that returns the largest permitted distance, given the kernel's runs.
type Allowance = fn(&Spread) -> f64;

/// Compares the runs of one scenario; for a drawn flow only the completion time. Without a simulation the
/// result is empty.
pub(super) fn compare(kernel: &[Summary], sim: &[Summary], is_drawn: bool) -> Vec<Quantity> {
    let Some(first) = sim.first() else { return Vec::new() };
    let mut quantities = Vec::new();
    let mut add = |name: Name<'_>, allowance: Option<Allowance>, value: &dyn Fn(&Summary) -> Option<f64>| {
        let all = |runs: &[Summary]| Spread::known(runs.iter().filter_map(value));
        quantities.extend(all(sim).map(|sim| quantity(name, all(kernel), sim, allowance)));
    };
    for (i, flow) in first.flows.iter().enumerate() {
        if is_drawn && i == 0 {
            // one that is not complete when the run ends takes at least as long as the run
            let ms = |run: &Summary| {
                let flow = run.flows.first()?;
                Some(1e3 * flow.completion_s.unwrap_or(run.window_s[1] - flow.start_s))
            };
            let allowance: Allowance = |kernel| (COMPLETION_RATIO * kernel.min).max(COMPLETION_MS);
            add((&flow.name, "completion time", "ms"), Some(allowance), &ms);
        } else if !is_drawn && first.flows.len() > 1 {
            let share = |run: &Summary| run.flows[i].share.map(|share| 100.0 * share);
            add((&flow.name, "share", "%"), Some(|_| SHARE_POINTS), &share);
        }
    }
    if is_drawn {
        return quantities;
    }
    let together = |run: &Summary| Some(run.flows.iter().map(|flow| flow.goodput_mbps).sum());
    add(("all flows", "goodput", "Mbit/s"), Some(|kernel| GOODPUT_RATIO * kernel.mean), &together);
    for (i, link) in first.links.iter().enumerate() {
        let delay = |run: &Summary| run.links[i].queue_delay_mean_ms;
        let allowance: Allowance = |kernel| (DELAY_RATIO * kernel.mean).max(DELAY_MS);
        add((&link.name, "mean queueing delay", "ms"), Some(allowance), &delay);
        let drops = |run: &Summary| run.links[i].loss_rate.map(|rate| 100.0 * rate);
        add((&link.name, "dropped", "%"), None, &drops);
    }
    let retransmitted = |run: &Summary| Some(run.flows.iter().map(|flow| flow.retransmits as f64).sum());
    add(("all flows", "retransmitted", "packets"), None, &retransmitted);
    quantities
}

fn quantity(
    (of, what, unit): Name<'_>,
    kernel: Option<Spread>,
    sim: Spread,
    allowance: Option<Allowance>,
) -> Quantity {
    let beyond = kernel.map(|kernel| kernel.beyond(sim.mean));
    let difference = kernel.map(|kernel| sim.mean - kernel.mean);
    // a judged quantity has an allowance even without a run on the kernel
    let allowed = allowance.map(|allowance| allowance(&kernel.unwrap_or(Spread::of(&[0.0]))));
    let agrees = beyond.zip(allowed).map(|(beyond, allowed)| beyond <= allowed);
    Quantity { of: of.to_owned(), what, unit, kernel, sim, difference, beyond, allowed, agrees }
}

#[cfg(test)]
mod tests {
    use fairpace_results::FlowSummary;

    use super::*;

    const KERNEL: Spread = Spread { mean: 50.0, min: 48.0, max: 53.0 };

    fn sim(mean: f64) -> Spread {
        Spread { mean, min: mean, max: mean }
    }

    fn judged(mean: f64, allowance: Allowance) -> (Option<f64>, Option<bool>) {
        let q = quantity(("a", "share", "%"), Some(KERNEL), sim(mean), Some(allowance));
        (q.beyond, q.agrees)
    }

    #[test]
    fn what_counts_is_the_distance_from_the_kernels_range() {
        assert_eq!(judged(49.0, |_| 0.0), (Some(0.0), Some(true)));
        assert_eq!(judged(44.0, |_| SHARE_POINTS), (Some(4.0), Some(true)));
        assert_eq!(judged(43.9, |_| SHARE_POINTS).1, Some(false));
        assert_eq!(judged(57.1, |_| SHARE_POINTS).1, Some(false));
    }

    #[test]
    fn a_completion_time_may_be_five_per_cent_or_five_milliseconds_off() {
        let run = |completion_s| {
            let flow = FlowSummary { completion_s, ..FlowSummary::default() };
            Summary { window_s: [0.0, 20.0], flows: vec![flow], ..Summary::default() }
        };
        let agrees = |sim: Option<f64>, kernel: [f64; 2]| {
            let kernel = kernel.map(|s| run(Some(s)));
            let quantities = compare(&kernel, &[run(sim)], true);
            let [Quantity { agrees, .. }] = quantities[..] else { panic!("one quantity") };
            agrees.expect("there are runs of both")
        };
        assert_eq!(
            [1.947, 1.953, 2.147, 2.153].map(|s| agrees(Some(s), [2.05, 2.05])),
            [false, true, true, false]
        );
        assert_eq!(
            [0.0549, 0.0551, 0.0749, 0.0751].map(|s| agrees(Some(s), [0.07, 0.06])),
            [false, true, true, false]
        );
        assert!(!agrees(None, [18.0, 18.1]), "it takes 20 s at least");
    }

    #[test]
    fn without_an_undisturbed_run_there_is_no_verdict() {
        let q = quantity(("a", "share", "%"), None, sim(50.0), Some(|_| SHARE_POINTS));
        assert_eq!((q.difference, q.beyond, q.agrees), (None, None, None));
        assert!(q.allowed.is_some(), "it would be judged");
    }

    #[test]
    fn what_has_no_allowance_is_only_shown() {
        let q = quantity(("a", "dropped", "%"), Some(KERNEL), sim(500.0), None);
        assert_eq!((q.beyond, q.agrees), (Some(447.0), None));
    }
}
