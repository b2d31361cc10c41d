//! Percentiles of a flow's RTTs: a histogram behind a run of equal values.
//!
//! With hundreds of flows, a histogram is never in the cache. Successive packets have similar RTTs, so values
//! of one bucket are first counted here and added to the histogram together. The counts are the same.

use hdrhistogram::Histogram;

use crate::meters::link_meter::growing_histogram;
use crate::time::Nanos;

/// A record of values to two or three digits or half a microsecond, whichever is coarser.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Percentiles {
    run: Run,
    /// True if equal values are counted as runs. With three digits a run is rarely longer than one value.
    has_runs: bool,
    /// The histogram, which grows to the largest value, a few times at most; so thousands of flows stay
    /// small.
    histogram: Histogram<u32>,
}

/// A run of values in `first_ns..first_ns + width_ns`, one bucket of the histogram.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    first_ns: Nanos,
    width_ns: Nanos,
    count: u32,
}

impl Percentiles {
    /// Returns a record without values; percentiles will have `digits` digits, 1 to 3.
    pub(crate) fn new(digits: u8) -> Self {
        Percentiles { run: Run::default(), has_runs: digits < 3, histogram: growing_histogram(digits) }
    }

    #[inline]
    pub(crate) fn record(&mut self, ns: Nanos) {
        if ns.wrapping_sub(self.run.first_ns) < self.run.width_ns {
            self.run.count = self.run.count.saturating_add(1);
            return;
        }
        let mut run = Run { first_ns: ns, width_ns: 1, count: 1 };
        if self.has_runs {
            let width_ns = self.histogram.equivalent_range(ns);
            let next = Run { first_ns: ns & !(width_ns - 1), width_ns, count: 1 };
            run = std::mem::replace(&mut self.run, next);
        }
        self.count(run);
    }

    /// Adds the run to the histogram. Call this method before any value is read.
    pub(crate) fn settle(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.count(run);
    }

    #[inline]
    fn count(&mut self, run: Run) {
        if run.count > 0 {
            // fails only beyond the range of u64
            let _ = self.histogram.record_n(run.first_ns, run.count);
        }
    }

    /// The minimum; `None` without values. Call `settle` first.
    pub(crate) fn min_ns(&self) -> Option<Nanos> {
        debug_assert!(self.run.count == 0, "settled first");
        (!self.histogram.is_empty()).then(|| self.histogram.min())
    }

    /// The value at a quantile; `None` without values. Call `settle` first.
    pub(crate) fn quantile_ns(&self, quantile: f64) -> Option<Nanos> {
        debug_assert!(self.run.count == 0, "settled first");
        (!self.histogram.is_empty()).then(|| self.histogram.value_at_quantile(quantile))
    }

    /// Number of counters that the histogram has room for.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.histogram.distinct_values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::SECOND;

    /// Quantiles at both ends, in both tails and in the middle.
    const QUANTILES: [f64; 7] = [0.0, 0.01, 0.25, 0.5, 0.95, 0.99, 1.0];

    /// Generates times as packets have them: near the time before, or anywhere.
    fn times() -> impl Strategy<Value = Vec<Nanos>> {
        let step = prop_oneof![6 => -3_000i64..3_000, 2 => -3_000_000i64..3_000_000, 1 => any::<i64>()];
        let near = (0..4_000 * SECOND, prop::collection::vec(step, 1..200));
        near.prop_map(|(first, steps)| {
            let next = |at: &mut Nanos, step: i64| {
                *at = at.saturating_add_signed(step);
                Some(*at)
            };
            steps.into_iter().scan(first, next).collect()
        })
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_histogram_of_each_value(times in times(), digits in 1u8..4) {
            let mut runs = Percentiles::new(digits);
            let mut plain = runs.histogram.clone();
            for ns in &times {
                runs.record(*ns);
                plain.record(*ns).unwrap();
            }
            runs.settle();
            let counts = |of: &Histogram<u32>| -> Vec<(u64, u32)> {
                of.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect()
            };
            prop_assert_eq!(counts(&runs.histogram), counts(&plain));
            prop_assert_eq!(runs.histogram.len(), plain.len());
            prop_assert_eq!(runs.min_ns(), Some(plain.min()));
            for q in QUANTILES {
                prop_assert_eq!(runs.quantile_ns(q), Some(plain.value_at_quantile(q)));
            }
        }
    }

    #[test]
    fn a_long_run_saturates_its_counter() {
        let mut times = Percentiles::new(2);
        times.record(50_000_000);
        times.run.count = u32::MAX - 1;
        times.record(50_000_000);
        times.record(50_000_000);
        times.record(900_000_000);
        times.settle();
        assert_eq!(times.histogram.len(), u64::from(u32::MAX) + 1);
    }

    #[test]
    fn percentiles_of_no_values_are_none() {
        let times = Percentiles::new(3);
        assert_eq!((times.min_ns(), times.quantile_ns(0.5)), (None, None));
    }
}
