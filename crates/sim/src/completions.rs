//! How long transfers of finite size take, and how much longer than they would if they were alone.

use fairpace_path::build::nanos;
use fairpace_path::{Nanos, SECOND};
use fairpace_scenario::{Route, Scenario};
use fairpace_tcp::{HEADER_BYTES, MSS_BYTES};
use hdrhistogram::Histogram;

/// What a transfer takes that has the path for itself and is limited by nothing else: neither slow start nor windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ideal {
    rtt_ns: Nanos,
    one_way_ns: Nanos,
    /// Of the narrowest link, bits per second.
    rate_bps: u64,
}

impl Ideal {
    pub(crate) fn new(scenario: &Scenario, index: u32, route: &Route) -> Self {
        let links = || route.forward.iter().map(|i| &scenario.links[*i as usize]);
        Ideal {
            rtt_ns: nanos(scenario.flows[index as usize].rtt),
            one_way_ns: route.access_ns
                + route.behind_ns
                + links().map(|l| nanos(l.line.delay)).sum::<Nanos>(),
            rate_bps: links().map(|l| l.rate_bps).min().unwrap_or(1).max(1),
        }
    }

    /// From the connect, or from the first byte if there is a connection, to the arrival of the last byte.
    fn ns(&self, bytes: u64, connects: bool) -> Nanos {
        let packets = bytes.div_ceil(u64::from(MSS_BYTES)).max(1);
        let bits = packets * u64::from(MSS_BYTES + HEADER_BYTES) * 8;
        let sending = u128::from(bits) * u128::from(SECOND) / u128::from(self.rate_bps);
        self.one_way_ns + sending as Nanos + if connects { self.rtt_ns } else { 0 }
    }
}

/// Slowdowns are kept in thousandths.
const SLOWDOWN_UNIT: f64 = 1_000.0;

/// The transfers of an entry that came to their end.
#[derive(Debug, Clone)]
pub(crate) struct Completions {
    ideal: Ideal,
    /// Nothing is allocated for entries without an end.
    kept: Option<Box<Kept>>,
}

#[derive(Debug, Clone)]
struct Kept {
    took_ns: Histogram<u64>,
    slowdown: Histogram<u64>,
    took_sum_ns: f64,
    slowdown_sum: f64,
}

impl Completions {
    pub(crate) fn new(ideal: Ideal) -> Self {
        Completions { ideal, kept: None }
    }

    /// A transfer of so many bytes came to its end; `connects`: its time counts the handshake.
    #[cold]
    pub(crate) fn record(&mut self, bytes: u64, took_ns: Nanos, connects: bool) {
        let slowdown = took_ns as f64 / self.ideal.ns(bytes, connects).max(1) as f64;
        let kept = self.kept.get_or_insert_with(|| {
            Box::new(Kept {
                took_ns: histogram(),
                slowdown: histogram(),
                took_sum_ns: 0.0,
                slowdown_sum: 0.0,
            })
        });
        let _ = kept.took_ns.record(took_ns); // fails only beyond what it can grow to, which is all of u64
        let _ = kept.slowdown.record((slowdown * SLOWDOWN_UNIT) as u64);
        kept.took_sum_ns += took_ns as f64;
        kept.slowdown_sum += slowdown;
    }

    /// The time of the only transfer that there was, seconds.
    pub(crate) fn only_s(&self) -> Option<f64> {
        let kept = self.kept.as_ref().filter(|kept| kept.took_ns.len() == 1)?;
        Some(kept.took_sum_ns / SECOND as f64)
    }

    /// Count, mean and these quantiles of the times, seconds; then mean and quantiles of the slowdowns. `None` without any.
    pub(crate) fn summary<const N: usize>(&self, quantiles: [f64; N]) -> Option<Times<N>> {
        let kept = self.kept.as_ref()?;
        let count = kept.took_ns.len();
        Some(Times {
            count,
            mean_s: kept.took_sum_ns / count as f64 / SECOND as f64,
            quantiles_s: quantiles.map(|q| kept.took_ns.value_at_quantile(q) as f64 / SECOND as f64),
            slowdown_mean: kept.slowdown_sum / count as f64,
            slowdown_quantiles: quantiles.map(|q| kept.slowdown.value_at_quantile(q) as f64 / SLOWDOWN_UNIT),
        })
    }
}

/// See [`Completions::summary`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times<const N: usize> {
    pub(crate) count: u64,
    pub(crate) mean_s: f64,
    pub(crate) quantiles_s: [f64; N],
    pub(crate) slowdown_mean: f64,
    pub(crate) slowdown_quantiles: [f64; N],
}

fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 2, 3).expect("constant bounds are valid");
    histogram.auto(true);
    histogram
}
