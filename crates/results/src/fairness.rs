//! Convergence time, and fair rates on several bottlenecks.

use crate::jain;

/// Length of the bins over which goodputs are compared, s.
const BIN_S: f64 = 1.0;
/// Least Jain's index of fair shares. Between two flows, the larger share is at most 61 % then: the
/// delta-fairness of RFC 5166, section 2.3.3, with delta 0.23.
pub const FAIR_JAIN: f64 = 0.95;
/// Number of consecutive bins with fair shares after which flows have converged.
const BINS: usize = 5;

/// Seconds from `last_start_s` to the first of five consecutive seconds in each of which Jain's index of the
/// goodputs is at least [`FAIR_JAIN`]. `None` if there is no such time in the run, or fewer than two flows,
/// or if an interval is longer than a second.
///
/// `goodputs` are series of any unit, one per flow, over the intervals that end at `t_s`. Seconds count from
/// `last_start_s`. An interval that spans two seconds is split between them.
#[must_use]
pub fn convergence_s(t_s: &[f64], goodputs: &[&[f32]], last_start_s: f64) -> Option<f64> {
    let end_s = t_s.last().copied()?;
    // an interval's end is a sum of rounded numbers
    let bins = ((end_s - last_start_s) / BIN_S + 1e-9).max(0.0) as usize;
    let begins_s = std::iter::once(0.0).chain(t_s.iter().copied());
    let is_coarse = t_s.iter().zip(begins_s).any(|(end_s, begin_s)| end_s - begin_s > BIN_S * 1.01);
    if goodputs.len() < 2 || bins < BINS || is_coarse {
        return None;
    }
    let amounts: Vec<Vec<f64>> = goodputs.iter().map(|g| binned(t_s, g, last_start_s, bins)).collect();
    let mut of_bin = vec![0.0; goodputs.len()];
    let mut fair_bins = 0;
    for bin in 0..bins {
        of_bin.iter_mut().zip(&amounts).for_each(|(of_bin, flow)| *of_bin = flow[bin]);
        let is_fair = jain(&of_bin).is_some_and(|index| index >= FAIR_JAIN);
        fair_bins = if is_fair { fair_bins + 1 } else { 0 };
        if fair_bins == BINS {
            return Some((bin + 1 - BINS) as f64 * BIN_S);
        }
    }
    None
}

/// The amount that a flow received in each bin from `from_s` on.
fn binned(t_s: &[f64], goodput: &[f32], from_s: f64, bins: usize) -> Vec<f64> {
    let mut amounts = vec![0.0; bins];
    let mut began_s = 0.0;
    for (ended_s, rate) in t_s.iter().copied().zip(goodput) {
        let (mut from, to) = ((began_s - from_s) / BIN_S, (ended_s - from_s) / BIN_S);
        began_s = ended_s;
        from = from.max(0.0);
        while from < to && rate.is_finite() {
            let bin = from.floor();
            let part = to.min(bin + 1.0) - from;
            if let Some(amount) = amounts.get_mut(bin as usize) {
                *amount += f64::from(*rate) * part;
            }
            from = bin + 1.0;
        }
    }
    amounts
}

/// The max-min fair rates: no rate can grow without reducing one that is not larger. `routes` are the indices
/// of the links that each flow uses; `capacity` is the capacity of each link, in the unit of the result.
///
/// Progressive filling computes them: all rates grow together; when a link is full, its flows stop and the
/// others continue (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2). A flow without links
/// gets infinity.
#[must_use]
pub fn max_min(routes: &[&[u32]], capacity: &[f64]) -> Vec<f64> {
    let mut rates = vec![f64::INFINITY; routes.len()];
    let mut left = capacity.to_vec();
    loop {
        let growing = |flow: &usize| rates[*flow].is_infinite();
        let mut users = vec![0_u32; capacity.len()];
        for flow in (0..routes.len()).filter(growing) {
            routes[flow].iter().for_each(|link| users[*link as usize] += 1);
        }
        let level = |link: usize| left[link].max(0.0) / f64::from(users[link]);
        let used = (0..capacity.len()).filter(|link| users[*link] > 0);
        let Some(full) = used.min_by(|a, b| level(*a).total_cmp(&level(*b))) else { return rates };
        let rate = level(full);
        let stopping: Vec<usize> =
            (0..routes.len()).filter(growing).filter(|flow| routes[*flow].contains(&(full as u32))).collect();
        for flow in stopping {
            rates[flow] = rate;
            routes[flow].iter().for_each(|link| left[*link as usize] -= rate);
        }
    }
}

/// Mean over the flows of |rate - fair| / fair, with the fair rates of [`max_min`]: 0 is fair. `None` without
/// flows, or if a fair rate is zero or infinite.
#[must_use]
pub fn max_min_distance(rates: &[f64], routes: &[&[u32]], capacity: &[f64]) -> Option<f64> {
    let fair = max_min(routes, capacity);
    let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
    if fair.is_empty() || fair.len() != rates.len() || !fair.iter().all(is_rate) {
        return None;
    }
    let distances = rates.iter().zip(&fair).map(|(rate, fair)| (rate - fair).abs() / fair);
    Some(distances.sum::<f64>() / fair.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a series in steps of 100 ms. Each of `steps` is a value and the time until which it holds.
    fn series(steps: &[(f64, f32)], end_s: f64) -> (Vec<f64>, Vec<f32>) {
        let t_s: Vec<f64> = (1..).map(|i| f64::from(i) * 0.1).take_while(|t| *t < end_s + 0.05).collect();
        let at = |t: &f64| steps.iter().find(|(until, _)| *t < until + 0.05).map_or(0.0, |(_, x)| *x);
        let values = t_s.iter().map(at).collect();
        (t_s, values)
    }

    #[test]
    fn convergence_counts_from_the_last_start_to_the_first_five_fair_seconds() {
        let (t_s, a) = series(&[(4.0, 90.0), (7.0, 50.0), (9.0, 80.0), (30.0, 55.0)], 30.0);
        let (_, b) = series(&[(4.0, 10.0), (7.0, 50.0), (9.0, 20.0), (30.0, 45.0)], 30.0);
        // fair for 3 s from 4 s on, which is not long enough, and for good from 9 s on
        assert_eq!(convergence_s(&t_s, &[&a, &b], 2.0), Some(7.0));
        assert_eq!(convergence_s(&t_s, &[&a, &b], 15.0), Some(0.0));
        assert_eq!(convergence_s(&t_s, &[&a, &b], 25.5), None, "less than five seconds are left");
        assert_eq!(convergence_s(&t_s, &[&a], 2.0), None);
        assert_eq!(convergence_s(&[], &[&[], &[]], 0.0), None);
        assert_eq!(convergence_s(&[10.0], &[&[1.0], &[1.0]], 0.0), None, "what happened in these 10 s?");
    }

    #[test]
    fn flows_that_never_share_do_not_converge() {
        let (t_s, a) = series(&[(60.0, 62.0)], 60.0);
        let (_, b) = series(&[(60.0, 38.0)], 60.0);
        assert_eq!(convergence_s(&t_s, &[&a, &b], 0.0), None, "Jain's index is 0.946");
    }

    #[test]
    fn an_interval_across_two_seconds_counts_for_both() {
        // intervals of 0.8 s: 0.8 of the first second at 10, the rest and 0.6 of the next at 0
        let amounts = binned(&[0.8, 1.6, 2.4], &[10.0, 0.0, 5.0], 0.0, 2);
        assert!((amounts[0] - 8.0).abs() < 1e-9 && (amounts[1] - 2.0).abs() < 1e-9, "{amounts:?}");
    }

    #[test]
    fn a_parking_lot_is_shared_as_the_textbook_has_it() {
        // one flow over both links, one on the first, two on the second
        let routes: [&[u32]; 4] = [&[0, 1], &[0], &[1], &[1]];
        assert_eq!(max_min(&routes, &[10.0, 9.0]), [3.0, 7.0, 3.0, 3.0]);
        assert_eq!(max_min_distance(&[3.0, 7.0, 3.0, 3.0], &routes, &[10.0, 9.0]), Some(0.0));
        // proportionally fair shares give the long flow less
        let distance = max_min_distance(&[1.5, 8.5, 3.75, 3.75], &routes, &[10.0, 9.0]).unwrap();
        assert!((distance - (0.5 + 1.5 / 7.0 + 0.25 + 0.25) / 4.0).abs() < 1e-12, "{distance}");
    }

    #[test]
    fn what_is_not_limited_has_no_distance() {
        assert_eq!(max_min(&[&[], &[0]], &[4.0]), [f64::INFINITY, 4.0]);
        assert_eq!(max_min_distance(&[1.0, 4.0], &[&[], &[0]], &[4.0]), None);
        assert_eq!(max_min_distance(&[0.0], &[&[0]], &[0.0]), None);
        assert_eq!(max_min_distance(&[], &[], &[1.0]), None);
    }

    /// Generates links with their capacities, and routes over them.
    fn networks() -> impl Strategy<Value = (Vec<Vec<u32>>, Vec<f64>)> {
        prop::collection::vec(0.1..1e4f64, 1..8).prop_flat_map(|capacity| {
            let links: Vec<u32> = (0..capacity.len() as u32).collect();
            let route = prop::sample::subsequence(links.clone(), 1..=links.len());
            (prop::collection::vec(route, 1..20), Just(capacity))
        })
    }

    proptest! {
        #[test]
        fn max_min_rates_are_feasible_and_every_flow_has_a_bottleneck((routes, capacity) in networks()) {
            let routes: Vec<&[u32]> = routes.iter().map(Vec::as_slice).collect();
            let rates = max_min(&routes, &capacity);
            let on = |link: u32| {
                (0..routes.len()).filter(|flow| routes[*flow].contains(&link)).collect::<Vec<_>>()
            };
            let load = |link: u32| on(link).into_iter().map(|flow| rates[flow]).sum::<f64>();
            for (link, capacity) in (0..).zip(&capacity) {
                let load = load(link);
                prop_assert!(load <= capacity * (1.0 + 1e-9), "link {link} of {capacity} carries {load}");
            }
            // each flow has a bottleneck: a full link where no other flow has a higher rate
            for (flow, route) in routes.iter().enumerate() {
                let is_bottleneck = |link: &u32| {
                    let capacity = capacity[*link as usize];
                    load(*link) >= capacity * (1.0 - 1e-9)
                        && on(*link).iter().all(|other| rates[*other] <= rates[flow] * (1.0 + 1e-9))
                };
                prop_assert!(
                    route.iter().any(is_bottleneck),
                    "flow {flow} of {rates:?} over {routes:?}, {capacity:?}"
                );
            }
        }

        #[test]
        fn fair_rates_are_at_no_distance_and_scale_does_not_matter(
            (routes, capacity) in networks(),
            scale in 1e-3..1e3f64,
        ) {
            let routes: Vec<&[u32]> = routes.iter().map(Vec::as_slice).collect();
            let rates = max_min(&routes, &capacity);
            prop_assert!(max_min_distance(&rates, &routes, &capacity).unwrap() < 1e-9);
            let halved: Vec<f64> = rates.iter().map(|rate| rate / 2.0 * scale).collect();
            let scaled: Vec<f64> = capacity.iter().map(|capacity| capacity * scale).collect();
            prop_assert!((max_min_distance(&halved, &routes, &scaled).unwrap() - 0.5).abs() < 1e-6);
        }
    }
}
