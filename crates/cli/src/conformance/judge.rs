//! What is compared of two worlds, and how far apart they may be.
//!
//! The kernel's runs of one scenario differ among themselves. So the simulator's mean is held against their range, from the least to the
//! most: what it lies beyond that range is what must be small.

use fairpace_results::Summary;
use serde::Serialize;

/// Shares of the flows, points.
const SHARE_POINTS: f64 = 4.0;
/// Goodput of all flows together, part of the kernel's.
const GOODPUT_PART: f64 = 0.04;
/// Mean queue delay: part of the kernel's, ...
const DELAY_PART: f64 = 0.2;
/// ... or this, whichever is more.
const DELAY_MS: f64 = 2.0;

/// One quantity of a scenario in both worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Quantity {
    /// Of whom: a flow, a link, or all flows.
    pub(super) of: String,
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    /// `None`: no run on the kernel was undisturbed.
    pub(super) kernel: Option<Spread>,
    pub(super) sim: Spread,
    /// The simulator's mean less the kernel's.
    pub(super) difference: Option<f64>,
    /// By how much the simulator's mean lies outside of the kernel's range.
    pub(super) beyond: Option<f64>,
    /// By how much it may. `None`: shown, not judged.
    pub(super) allowed: Option<f64>,
    pub(super) agrees: Option<bool>,
}

/// Several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        Some(Self { mean: values.iter().sum::<f64>() / values.len() as f64, min, max })
    }

    /// How far a value lies outside.
    fn beyond(&self, value: f64) -> f64 {
        (self.min - value).max(value - self.max).max(0.0)
    }
}

/// How far apart the worlds may be, from the kernel's mean.
type Allowance = fn(f64) -> f64;

/// Both worlds' runs of one scenario, quantity by quantity. There must be one simulation at least.
pub(super) fn compare(kernel: &[Summary], sim: &[Summary]) -> Vec<Quantity> {
    let Some(first) = sim.first() else { return Vec::new() };
    let mut quantities = Vec::new();
    let mut add =
        |of: &str, what, unit, allowance: Option<Allowance>, value: &dyn Fn(&Summary) -> Option<f64>| {
            let all = |runs: &[Summary]| Spread::of(&runs.iter().filter_map(value).collect::<Vec<_>>());
            if let Some(sim) = all(sim) {
                quantities.push(quantity((of, what, unit), all(kernel), sim, allowance));
            }
        };
    if first.flows.len() > 1 {
        for (i, flow) in first.flows.iter().enumerate() {
            let share = move |run: &Summary| run.flows[i].share.map(|share| 100.0 * share);
            add(&flow.name, "share", "%", Some(|_| SHARE_POINTS), &share);
        }
    }
    let together = |run: &Summary| Some(run.flows.iter().map(|flow| flow.goodput_mbps).sum());
    add("all flows", "goodput", "Mbit/s", Some(|kernel| GOODPUT_PART * kernel), &together);
    for (i, link) in first.links.iter().enumerate() {
        let delay = |run: &Summary| run.links[i].queue_delay_mean_ms;
        add(&link.name, "mean queue delay", "ms", Some(|kernel| (DELAY_PART * kernel).max(DELAY_MS)), &delay);
        let drops = |run: &Summary| run.links[i].loss_rate.map(|rate| 100.0 * rate);
        add(&link.name, "dropped", "%", None, &drops);
    }
    let resent = |run: &Summary| Some(run.flows.iter().map(|flow| flow.retransmits as f64).sum());
    add("all flows", "sent again", "packets", None, &resent);
    quantities
}

fn quantity(
    (of, what, unit): (&str, &'static str, &'static str),
    kernel: Option<Spread>,
    sim: Spread,
    allowance: Option<Allowance>,
) -> Quantity {
    let beyond = kernel.map(|kernel| kernel.beyond(sim.mean));
    // without the kernel's mean there is nothing to allow, but it would be judged
    let allowed = allowance.map(|allowance| allowance(kernel.map_or(0.0, |kernel| kernel.mean)));
    Quantity {
        of: of.to_owned(),
        what,
        unit,
        kernel,
        sim,
        difference: kernel.map(|kernel| sim.mean - kernel.mean),
        beyond,
        allowed,
        agrees: beyond.zip(allowed).map(|(beyond, allowed)| beyond <= allowed),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_spread_is_of_all_runs() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { mean: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(&[]), None);
    }
}
