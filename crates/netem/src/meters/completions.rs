//! Flow completion times of transfers, and slowdowns: the ratio to the time on an empty path.

use fairpace_results::Completions;
use hdrhistogram::Histogram;

use crate::meters::link_meter::growing_histogram;
use crate::time::{Nanos, SECOND};

/// Unit of slowdowns, which are kept in thousandths: three digits of a slowdown of 1.
const SLOWDOWN_UNIT: f64 = 1e3;

/// The least time that a path allows a transfer, without slow start, receive window or cross traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ideal {
    /// Round-trip time of the path without queueing and transmission.
    pub rtt_ns: Nanos,
    /// The part of the round trip from the sender to the receiver.
    pub one_way_ns: Nanos,
    /// Rate of the path's narrowest link, bits per second; at least 1.
    pub narrowest_bps: u64,
}

impl Ideal {
    /// Returns the time from the begin to the arrival of the last of `wire_bytes`, headers included. With
    /// `connects`, a handshake of one RTT comes first.
    #[must_use]
    pub fn ns(self, wire_bytes: u64, connects: bool) -> Nanos {
        let bit_ns = u128::from(wire_bytes) * 8 * u128::from(SECOND);
        let transmission_ns = bit_ns / u128::from(self.narrowest_bps.max(1));
        let transmission_ns = Nanos::try_from(transmission_ns).unwrap_or(Nanos::MAX / 2);
        self.one_way_ns + transmission_ns + if connects { self.rtt_ns } else { 0 }
    }
}

/// A flow's transfers, sequential or concurrent. Metrics cover transfers that begin in the measurement
/// window. Memory does not grow with their number; a single transfer needs no histogram.
#[derive(Debug, Clone)]
pub struct Transfers {
    window: (Nanos, Nanos),
    /// Duration of the first transfer that was completed, in the measurement window or not.
    first_ns: Option<Nanos>,
    began: u64,
    completed: u64,
    took_sum_ns: u128,
    slowdown_sum: f64,
    /// Histograms, from the second transfer on.
    many: Option<Box<Many>>,
}

#[derive(Debug, Clone)]
struct Many {
    took: Histogram<u32>,
    slowdown: Histogram<u32>,
}

impl Many {
    fn new() -> Self {
        // to three digits, from 0.001 on
        let mut slowdown = Histogram::new_with_bounds(1, 2, 3).expect("constant bounds are valid");
        slowdown.auto(true);
        Many { took: growing_histogram(3), slowdown }
    }

    fn record(&mut self, took_ns: Nanos, slowdown: f64) {
        // both fail only beyond the range of u64
        let _ = self.took.record(took_ns);
        let _ = self.slowdown.record((slowdown * SLOWDOWN_UNIT).round() as u64);
    }
}

impl Transfers {
    /// Returns a meter without transfers. `window` is the measurement window: from, to.
    #[must_use]
    pub fn new(window: (Nanos, Nanos)) -> Self {
        Transfers {
            window,
            first_ns: None,
            began: 0,
            completed: 0,
            took_sum_ns: 0,
            slowdown_sum: 0.0,
            many: None,
        }
    }

    /// Counts a transfer that begins at `now`.
    pub fn begins(&mut self, now: Nanos) {
        self.began += u64::from(self.counts(now));
    }

    /// Counts a transfer that began at `began` and is complete at `now`. On an empty path it would have taken
    /// `ideal_ns`.
    pub fn completed(&mut self, began: Nanos, now: Nanos, ideal_ns: Nanos) {
        let took_ns = now - began;
        self.first_ns.get_or_insert(took_ns);
        if !self.counts(began) {
            return;
        }
        let slowdown = took_ns as f64 / ideal_ns.max(1) as f64;
        if self.completed > 0 {
            let (only_ns, only_slowdown) = (self.took_sum_ns as Nanos, self.slowdown_sum);
            let many = self.many.get_or_insert_with(|| {
                let mut many = Box::new(Many::new());
                many.record(only_ns, only_slowdown);
                many
            });
            many.record(took_ns, slowdown);
        }
        self.completed += 1;
        self.took_sum_ns += u128::from(took_ns);
        self.slowdown_sum += slowdown;
    }

    fn counts(&self, began: Nanos) -> bool {
        (self.window.0..self.window.1).contains(&began)
    }

    /// Duration of the first transfer that was completed, in the measurement window or not.
    #[must_use]
    pub fn first_ns(&self) -> Option<Nanos> {
        self.first_ns
    }

    /// The duration below which `quantile` of the transfers lie, ms.
    fn took_ms(&self, quantile: f64) -> Option<f64> {
        let ns = match &self.many {
            Some(many) => many.took.value_at_quantile(quantile) as f64,
            None => self.took_sum_ns as f64,
        };
        (self.completed > 0).then_some(ns / 1e6)
    }

    fn slowdown(&self, quantile: f64) -> Option<f64> {
        let slowdown = match &self.many {
            Some(many) => many.slowdown.value_at_quantile(quantile) as f64 / SLOWDOWN_UNIT,
            None => self.slowdown_sum,
        };
        (self.completed > 0).then_some(slowdown)
    }

    /// The metrics of the transfers. Percentiles of several transfers are exact to three digits.
    #[must_use]
    pub fn summary(&self) -> Completions {
        let mean = |sum: f64| (self.completed > 0).then(|| sum / self.completed as f64);
        Completions {
            began: self.began,
            completed: self.completed,
            mean_ms: mean(self.took_sum_ns as f64 / 1e6),
            p50_ms: self.took_ms(0.50),
            p95_ms: self.took_ms(0.95),
            p99_ms: self.took_ms(0.99),
            slowdown_mean: mean(self.slowdown_sum),
            slowdown_p50: self.slowdown(0.50),
            slowdown_p95: self.slowdown(0.95),
            slowdown_p99: self.slowdown(0.99),
        }
    }

    /// Percentiles 0 to 100 of the durations in ms; empty without transfers.
    #[must_use]
    pub fn percentiles_ms(&self) -> Vec<f32> {
        let ms = |percent: u32| self.took_ms(f64::from(percent) / 100.0).map(|ms| ms as f32);
        (0..=100).filter_map(ms).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    #[test]
    fn the_ideal_is_handshake_propagation_and_narrowest_link() {
        let ideal = Ideal { rtt_ns: 40 * MS, one_way_ns: 15 * MS, narrowest_bps: 8_000_000 };
        assert_eq!(ideal.ns(10_000, false), (15 + 10) * MS);
        assert_eq!(ideal.ns(10_000, true), (40 + 15 + 10) * MS);
        // nothing overflows
        let slow = Ideal { rtt_ns: 0, one_way_ns: 0, narrowest_bps: 1 };
        assert!(slow.ns(u64::MAX, true) > 1_000_000 * SECOND);
    }

    #[test]
    fn transfers_count_when_they_begin_in_the_window() {
        let mut transfers = Transfers::new((10 * MS, 20 * MS));
        for began in [9, 10, 19, 20] {
            transfers.begins(began * MS);
        }
        transfers.completed(9 * MS, 12 * MS, MS);
        transfers.completed(10 * MS, 30 * MS, 10 * MS);
        let summary = transfers.summary();
        assert_eq!((summary.began, summary.completed), (2, 1));
        assert_eq!((summary.mean_ms, summary.slowdown_mean), (Some(20.0), Some(2.0)));
        assert_eq!((summary.p99_ms, summary.slowdown_p50), (Some(20.0), Some(2.0)), "exact for a single one");
        assert_eq!(transfers.first_ns(), Some(3 * MS), "though it began before the window");
        transfers.completed(19 * MS, 49 * MS, 10 * MS);
        let summary = transfers.summary();
        assert_eq!((summary.completed, summary.mean_ms, summary.slowdown_mean), (2, Some(25.0), Some(2.5)));
        assert!((summary.p50_ms.unwrap() - 20.0).abs() < 0.1 && (summary.p99_ms.unwrap() - 30.0).abs() < 0.1);
    }

    #[test]
    fn percentiles_of_times_and_slowdowns() {
        let mut transfers = Transfers::new((0, SECOND));
        for i in 1..=1000 {
            transfers.begins(0);
            transfers.completed(0, i * MS, 10 * MS);
        }
        let s = transfers.summary();
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.unwrap();
            assert!((found / wanted - 1.0).abs() < 2e-3, "{found} instead of {wanted}");
        };
        near(s.mean_ms, 500.5);
        near(s.p50_ms, 500.0);
        near(s.p95_ms, 950.0);
        near(s.p99_ms, 990.0);
        near(s.slowdown_mean, 50.05);
        near(s.slowdown_p50, 50.0);
        near(s.slowdown_p95, 95.0);
        near(s.slowdown_p99, 99.0);
        let curve = transfers.percentiles_ms();
        assert_eq!(curve.len(), 101);
        assert!(curve.is_sorted() && (curve[100] / 1000.0 - 1.0).abs() < 2e-3, "{curve:?}");
    }

    #[test]
    fn without_a_completion_metrics_are_none() {
        let mut transfers = Transfers::new((0, SECOND));
        transfers.begins(0);
        let none = Completions { began: 1, ..Completions::default() };
        assert_eq!(transfers.summary(), none);
        assert!(transfers.percentiles_ms().is_empty());
    }
}
