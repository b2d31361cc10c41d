//! Shares and Jain's index, and the checks of a run's series.

use crate::{FlowSummary, Run, Summary};

/// Jain's fairness index, (sum x)^2 / (n * sum x^2): 1 if all values are equal, 1/n if a single value has the
/// whole sum (Jain, Chiu, Hawe, DEC-TR-301, 1984).
///
/// Values are rates or amounts. `None` if no value is above zero, or if a value is negative or not finite.
#[must_use]
pub fn jain(values: &[f64]) -> Option<f64> {
    // divided by the largest, neither sums nor squares leave the range of f64
    let largest = largest(values)?;
    let sum: f64 = values.iter().map(|x| x / largest).sum();
    let squares: f64 = values.iter().map(|x| (x / largest) * (x / largest)).sum();
    Some(sum * sum / (values.len() as f64 * squares))
}

/// Returns each value's part of the sum of the values; `None` where [`jain`] is `None`.
#[must_use]
pub fn shares(values: &[f64]) -> Option<Vec<f64>> {
    let largest = largest(values)?;
    let sum: f64 = values.iter().map(|x| x / largest).sum();
    Some(values.iter().map(|x| x / largest / sum).collect())
}

/// The largest value. `None` if no value is above zero, or if a value is negative or not finite.
fn largest(values: &[f64]) -> Option<f64> {
    if values.iter().any(|x| !x.is_finite() || *x < 0.0) {
        return None;
    }
    let largest = values.iter().copied().fold(0.0, f64::max);
    (largest > 0.0).then_some(largest)
}

impl Summary {
    /// Sets each [`share`](crate::FlowSummary::share) and [`jain`](Summary::jain) from the flows' goodputs.
    pub fn derive_fairness(&mut self) {
        let goodputs: Vec<f64> = self.flows.iter().map(|f| f.goodput_mbps).collect();
        self.jain = jain(&goodputs);
        let shares = shares(&goodputs);
        for (i, flow) in self.flows.iter_mut().enumerate() {
            flow.share = shares.as_ref().map(|s| s[i]);
        }
    }
}

impl FlowSummary {
    /// Sets `dropped_pkts` and `loss_rate`. `dropped_pkts` counts data packets dropped or lost; `sent_pkts`
    /// must be set.
    pub fn derive_loss(&mut self, dropped_pkts: u64) {
        self.dropped_pkts = dropped_pkts;
        let sent = self.sent_pkts.filter(|sent| *sent > 0);
        self.loss_rate = sent.map(|sent| dropped_pkts as f64 / sent as f64);
    }
}

impl Run {
    /// Checks that every vector of the series has a value per point, and that there is a series per flow and
    /// link of the summary, or no series at all.
    ///
    /// # Errors
    /// A description of the first vector of a wrong length.
    pub fn check(&self) -> Result<(), String> {
        let (points, series) = (self.series.t_s.len(), &self.series);
        if points == 0 && series.flows.is_empty() && series.links.is_empty() {
            return Ok(());
        }
        let expect = |what: String, want: usize, got: usize| match want == got {
            true => Ok(()),
            false => Err(format!("series: {what} has {got} entries instead of {want}")),
        };
        expect("flows".into(), self.summary.flows.len(), series.flows.len())?;
        expect("links".into(), self.summary.links.len(), series.links.len())?;
        for (i, flow) in series.flows.iter().enumerate() {
            for (name, values) in flow.columns() {
                expect(format!("{name} of flow {i}"), points, values.len())?;
            }
            expect(format!("phase of flow {i}"), points, flow.phase.len())?;
            if !flow.completion_ms.is_empty() {
                expect(format!("completion_ms of flow {i}"), 101, flow.completion_ms.len())?;
            }
        }
        for (i, link) in series.links.iter().enumerate() {
            expect(format!("queue_delay_ms of link {i}"), points, link.queue_delay_ms.len())?;
            expect(format!("dropped_pkts of link {i}"), points, link.drops.len())?;
            expect(format!("backlog_kb of link {i}"), series.flows.len(), link.backlog_kb.len())?;
            for (f, values) in link.backlog_kb.iter().enumerate() {
                expect(format!("backlog_kb of link {i}, flow {f}"), points, values.len())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jain_of_known_cases() {
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 7.0, 0.0, 0.0]), Some(0.25));
        // The BBQ paper's BBR pair, by hand: 93.6^2 / (2 * (6.3^2 + 87.3^2)) = 8760.96 / 15321.96.
        assert!((jain(&[6.3, 87.3]).unwrap() - 0.571_791_2).abs() < 1e-6);
    }

    #[test]
    fn nothing_to_share_is_none() {
        for nothing in [&[][..], &[0.0], &[0.0, 0.0], &[f64::NAN, 1.0], &[f64::INFINITY], &[-1.0, 2.0]] {
            assert_eq!(jain(nothing), None, "{nothing:?}");
            assert_eq!(shares(nothing), None, "{nothing:?}");
        }
    }

    proptest! {
        #[test]
        fn jain_lies_between_one_over_n_and_one(values in prop::collection::vec(0.0..1e300f64, 1..40)) {
            if let Some(index) = jain(&values) {
                let n = values.len() as f64;
                prop_assert!(index >= 1.0 / n - 1e-12 && index <= 1.0 + 1e-12, "{index} of {n}");
            } else {
                prop_assert!(values.iter().all(|x| *x == 0.0));
            }
        }

        #[test]
        fn jain_ignores_scale_and_order(
            values in prop::collection::vec(0.1..1e3f64, 1..20),
            scale in 1e-6..1e6f64,
        ) {
            let scaled: Vec<f64> = values.iter().rev().map(|x| x * scale).collect();
            prop_assert!((jain(&values).unwrap() - jain(&scaled).unwrap()).abs() < 1e-12);
        }

        #[test]
        fn shares_sum_to_one_and_keep_proportions(values in prop::collection::vec(0.0..1e9f64, 1..40)) {
            if let Some(parts) = shares(&values) {
                prop_assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                for (part, value) in parts.iter().zip(&values) {
                    prop_assert!((part * values.iter().sum::<f64>() - value).abs() <= 1e-6 * (1.0 + value));
                }
            }
        }
    }
}
