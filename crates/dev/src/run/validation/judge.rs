//! The compared quantities, and the permitted differences.
//!
//! Runs on the running kernel are few, and differ by the noise of the machine: the simulator's mean may lie
//! outside of their range, from the lowest to the highest, by at most the allowance. A kernel in virtual time
//! has no noise, and as many runs as are wanted: there the means differ by at most the allowance. For a flow
//! that ends, only the completion time is compared, with the range.

use fairpace_results::Summary;
use serde::Serialize;

use fairpace_experiment::Range as Spread;

/// The permitted differences.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Of a flow's share, percentage points.
    share_points: f64,
    /// Of the goodput of all flows together, as a ratio of the kernel's.
    goodput_ratio: f64,
    /// Of the mean queueing delay, as a ratio of the kernel's, and in ms: the larger one applies.
    delay: (f64, f64),
    /// Of a completion time, as a ratio of the kernel's shortest, and in ms: the larger one applies.
    completion: (f64, f64),
    /// Whether the means are compared, and not the simulator's mean with the range of the kernel's runs.
    of_means: bool,
}

/// Those for the running kernel.
pub(super) const REAL: Bounds = Bounds {
    share_points: 4.0,
    goodput_ratio: 0.04,
    delay: (0.2, 2.0),
    completion: (0.05, 5.0),
    of_means: false,
};

/// Those for a kernel in virtual time.
pub(super) const VIRTUAL: Bounds = Bounds {
    share_points: 2.0,
    goodput_ratio: 0.02,
    delay: (0.1, 1.0),
    completion: (0.02, 2.0),
    of_means: true,
};

/// A quantity of a scenario on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Quantity {
    /// The name of a flow or link, or "all flows".
    pub(super) of: String,
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    /// Spread over the runs of each kernel; `None` if every run there was disturbed. The first one is judged.
    pub(super) kernels: Vec<Option<Spread>>,
    pub(super) sim: Spread,
    /// The simulator's mean minus the first kernel's mean.
    pub(super) difference: Option<f64>,
    /// Distance of the simulator's mean from the first kernel's range or mean.
    pub(super) beyond: Option<f64>,
    /// Largest permitted distance; `None` for a quantity that is shown and not judged.
    pub(super) allowed: Option<f64>,
    pub(super) agrees: Option<bool>,
}

/// The name of a quantity: the first three fields of [`Quantity`].
type Name<'a> = (&'a str, &'static str, &'static str);

/// A function that returns the largest permitted distance, given the kernel's runs.
type Allowance<'a> = &'a dyn Fn(&Spread) -> f64;

/// Compares the runs of one scenario on each kernel with its simulations; for a drawn flow only the
/// completion time. Without a simulation the result is empty.
pub(super) fn compare(
    kernels: &[Vec<Summary>],
    sim: &[Summary],
    is_drawn: bool,
    bounds: &Bounds,
) -> Vec<Quantity> {
    let Some(first) = sim.first() else { return Vec::new() };
    let mut quantities = Vec::new();
    let of_means = bounds.of_means && !is_drawn;
    let mut add =
        |name: Name<'_>, allowance: Option<Allowance<'_>>, value: &dyn Fn(&Summary) -> Option<f64>| {
            let all = |runs: &[Summary]| Spread::known(runs.iter().filter_map(value));
            let on_kernels = || kernels.iter().map(|runs| all(runs)).collect();
            quantities.extend(all(sim).map(|sim| quantity(name, on_kernels(), sim, allowance, of_means)));
        };
    for (i, flow) in first.flows.iter().enumerate() {
        if is_drawn && i == 0 {
            // one that is not complete when the run ends takes at least as long as the run
            let ms = |run: &Summary| {
                let flow = run.flows.first()?;
                Some(1e3 * flow.completion_s.unwrap_or(run.window_s[1] - flow.start_s))
            };
            let (ratio, least_ms) = bounds.completion;
            add(
                (&flow.name, "completion time", "ms"),
                Some(&|kernel| (ratio * kernel.min).max(least_ms)),
                &ms,
            );
        } else if !is_drawn && first.flows.len() > 1 {
            let share = |run: &Summary| run.flows[i].share.map(|share| 100.0 * share);
            add((&flow.name, "share", "%"), Some(&|_| bounds.share_points), &share);
        }
    }
    if is_drawn {
        return quantities;
    }
    let together = |run: &Summary| Some(run.flows.iter().map(|flow| flow.goodput_mbps).sum());
    let allowance = |kernel: &Spread| bounds.goodput_ratio * kernel.mean;
    add(("all flows", "goodput", "Mbit/s"), Some(&allowance), &together);
    for (i, link) in first.links.iter().enumerate() {
        let delay = |run: &Summary| run.links[i].queue_delay_mean_ms;
        let (ratio, least_ms) = bounds.delay;
        let allowance = |kernel: &Spread| (ratio * kernel.mean).max(least_ms);
        add((&link.name, "mean queueing delay", "ms"), Some(&allowance), &delay);
        let drops = |run: &Summary| run.links[i].loss_rate.map(|rate| 100.0 * rate);
        add((&link.name, "dropped", "%"), None, &drops);
    }
    let retransmitted = |run: &Summary| Some(run.flows.iter().map(|flow| flow.retransmits as f64).sum());
    add(("all flows", "retransmitted", "packets"), None, &retransmitted);
    quantities
}

fn quantity(
    (of, what, unit): Name<'_>,
    kernels: Vec<Option<Spread>>,
    sim: Spread,
    allowance: Option<Allowance<'_>>,
    of_means: bool,
) -> Quantity {
    let kernel = kernels.first().copied().flatten();
    let difference = kernel.map(|kernel| sim.mean - kernel.mean);
    let from_range = || kernel.map(|kernel| kernel.beyond(sim.mean));
    let beyond = if of_means { difference.map(f64::abs) } else { from_range() };
    // a judged quantity has an allowance even without a run on the kernel
    let allowed = allowance.map(|allowance| allowance(&kernel.unwrap_or(Spread::of(&[0.0]))));
    let agrees = beyond.zip(allowed).map(|(beyond, allowed)| beyond <= allowed);
    Quantity { of: of.to_owned(), what, unit, kernels, sim, difference, beyond, allowed, agrees }
}

#[cfg(test)]
mod tests {
    use fairpace_results::FlowSummary;

    use super::*;

    const KERNEL: Spread = Spread { mean: 50.0, min: 48.0, max: 53.0 };

    fn sim(mean: f64) -> Spread {
        Spread { mean, min: mean, max: mean }
    }

    fn judged(mean: f64, allowance: f64, of_means: bool) -> (Option<f64>, Option<bool>) {
        let q = quantity(("a", "share", "%"), vec![Some(KERNEL)], sim(mean), Some(&|_| allowance), of_means);
        (q.beyond, q.agrees)
    }

    #[test]
    fn what_counts_is_the_distance_from_the_kernels_range() {
        assert_eq!(judged(49.0, 0.0, false), (Some(0.0), Some(true)));
        assert_eq!(judged(44.0, 4.0, false), (Some(4.0), Some(true)));
        assert_eq!([43.9, 57.1].map(|mean| judged(mean, 4.0, false).1), [Some(false); 2]);
    }

    #[test]
    fn in_virtual_time_the_means_are_compared() {
        assert_eq!(judged(49.0, 2.0, true), (Some(1.0), Some(true)));
        assert_eq!([47.9, 52.1].map(|mean| judged(mean, 2.0, true).1), [Some(false); 2]);
    }

    #[test]
    fn a_completion_time_may_be_off_by_a_ratio_or_by_milliseconds() {
        let run = |completion_s| {
            let flow = FlowSummary { completion_s, ..FlowSummary::default() };
            Summary { window_s: [0.0, 20.0], flows: vec![flow], ..Summary::default() }
        };
        let judged = |sim: Option<f64>, kernel: [f64; 2], bounds| {
            let kernel = kernel.map(|s| run(Some(s))).to_vec();
            let quantities = compare(&[kernel], &[run(sim)], true, bounds);
            let [Quantity { agrees, .. }] = quantities[..] else { panic!("one quantity") };
            agrees.expect("there are runs of both")
        };
        let agrees = |sim, kernel| judged(sim, kernel, &REAL);
        assert_eq!(
            [1.947, 1.953, 2.147, 2.153].map(|s| agrees(Some(s), [2.05, 2.05])),
            [false, true, true, false]
        );
        assert_eq!(
            [0.0549, 0.0551, 0.0749, 0.0751].map(|s| agrees(Some(s), [0.07, 0.06])),
            [false, true, true, false]
        );
        assert!(!agrees(None, [18.0, 18.1]), "it takes 20 s at least");
        assert_eq!(
            [2.008, 2.010, 2.090, 2.092].map(|s| judged(Some(s), [2.05, 2.05], &VIRTUAL)),
            [false, true, true, false]
        );
    }

    #[test]
    fn without_an_undisturbed_run_there_is_no_verdict() {
        let q = quantity(("a", "share", "%"), vec![None], sim(50.0), Some(&|_| 4.0), false);
        assert_eq!((q.difference, q.beyond, q.agrees), (None, None, None));
        assert!(q.allowed.is_some(), "it would be judged");
    }

    #[test]
    fn what_has_no_allowance_is_only_shown() {
        let q = quantity(("a", "dropped", "%"), vec![Some(KERNEL)], sim(500.0), None, false);
        assert_eq!((q.beyond, q.agrees), (Some(447.0), None));
    }
}
