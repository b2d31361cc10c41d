//! Meter of a flow: goodput, RTT of its packets, retransmissions.

use fairpace_results::{FlowSeries, FlowSummary};

use crate::meters::percentiles::Percentiles;
use crate::meters::schedule::{Boundaries, Metered, Schedule};
use crate::time::{Nanos, SECOND};

/// Totals since the start of the run. The difference of two of them gives the measurement window or an
/// interval.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    at: Nanos,
    goodput_bytes: u64,
    packets: u64,
    rtt_sum_ns: u64,
}

impl Totals {
    fn since(self, earlier: Totals) -> Totals {
        Totals {
            at: self.at - earlier.at,
            goodput_bytes: self.goodput_bytes - earlier.goodput_bytes,
            packets: self.packets - earlier.packets,
            rtt_sum_ns: self.rtt_sum_ns - earlier.rtt_sum_ns,
        }
    }

    fn goodput_mbps(self) -> f64 {
        if self.at == 0 { 0.0 } else { self.goodput_bytes as f64 * 8e3 / self.at as f64 }
    }

    fn rtt_mean_ms(self) -> Option<f64> {
        (self.packets > 0).then(|| self.rtt_sum_ns as f64 / self.packets as f64 / 1e6)
    }
}

/// Numbers of data packets that a sender has sent since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Number of all data packets.
    pub pkts: u64,
    /// Number of retransmissions among them.
    pub retransmitted_pkts: u64,
}

/// Number of flows from which on percentiles have two digits: a flow's record then takes 3 kB, not 30.
pub(crate) const MANY: usize = 100;

/// A flow's record. Times must not go back. The measurement window and intervals close by themselves. The
/// fields that every packet changes come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct FlowMeter {
    total: Totals,
    in_window: bool,
    boundaries: Boundaries,
    /// RTTs in the measurement window.
    rtt: Percentiles,
    window_began: Totals,
    interval_began: Totals,
    closed: Option<Totals>,
    window: (Nanos, Nanos),
    /// Packets sent at the edges of the measurement window; `None`: the driver does not count them.
    sent: Option<(Sent, Sent)>,
    goodput_mbps: Vec<f32>,
    rtt_ms: Vec<f32>,
}

impl FlowMeter {
    /// Returns an empty record for one of `flows` flows. Percentiles have three digits; with 100 flows and
    /// more they have two.
    pub fn new(schedule: Schedule, flows: usize) -> Self {
        let digits = if flows < MANY { 3 } else { 2 };
        FlowMeter {
            boundaries: Boundaries::new(schedule),
            in_window: schedule.window.0 == 0,
            total: Totals::default(),
            window_began: Totals::default(),
            interval_began: Totals::default(),
            rtt: Percentiles::new(digits),
            closed: None,
            window: schedule.window,
            sent: None,
            goodput_mbps: Vec::new(),
            rtt_ms: Vec::new(),
        }
    }

    /// Counts a data packet that crossed the path; `rtt_ns` is the base RTT plus its waiting and transmission
    /// times.
    #[inline]
    pub fn data(&mut self, now: Nanos, rtt_ns: Nanos) {
        self.catch_up(now);
        self.total.packets += 1;
        self.total.rtt_sum_ns += rtt_ns;
        if self.in_window {
            self.rtt.record(rtt_ns);
        }
    }

    /// Counts `bytes` of payload that reached the receiving application, in order.
    #[inline]
    pub fn goodput(&mut self, now: Nanos, bytes: u64) {
        self.catch_up(now);
        self.total.goodput_bytes += bytes;
    }

    /// Records the packets that the flow's sender has sent by `now`, without those sent at `now`. Drivers
    /// report this at both edges of the measurement window, at least.
    pub fn sent(&mut self, now: Nanos, so_far: Sent) {
        let (from, to) = self.window;
        let (at_from, at_to) = self.sent.get_or_insert_default();
        if now <= from {
            *at_from = so_far;
        }
        if now <= to {
            *at_to = so_far;
        }
    }

    /// Closes intervals and the measurement window that ended by `now`, for a driver that reads points while
    /// the run goes on.
    pub fn settle(&mut self, now: Nanos) {
        self.catch_up(now);
    }

    /// Returns goodput in Mbit/s and mean RTT in ms (NaN: no packet) in the interval of this index; `None`:
    /// the interval has not been closed.
    pub fn point(&self, index: usize) -> Option<(f32, f32)> {
        self.goodput_mbps.get(index).copied().zip(self.rtt_ms.get(index).copied())
    }

    /// Ends the measurement: closes the interval, and the measurement window if it is open.
    pub fn finish(&mut self, now: Nanos) {
        self.catch_up(now);
        if now > self.interval_began.at {
            self.end_interval(now);
        }
        if self.closed.is_none() {
            self.close_window(now);
        }
    }

    /// The metrics of the measurement window. Shares, losses and marks follow in [`record`](crate::record());
    /// the driver adds completions.
    pub fn summary(&self, name: &str, cc: &str, rtt_ns: Nanos, start_ns: Nanos) -> FlowSummary {
        let window = self.closed.unwrap_or_default();
        let sent = self.sent.map(|(at_from, at_to)| Sent {
            pkts: at_to.pkts - at_from.pkts,
            retransmitted_pkts: at_to.retransmitted_pkts - at_from.retransmitted_pkts,
        });
        let rtt = self.closed.and(Some(&self.rtt));
        let quantile_ms = |q: f64| rtt.and_then(|rtt| rtt.quantile_ns(q)).map(|ns| ns as f64 / 1e6);
        FlowSummary {
            name: name.to_owned(),
            cc: cc.to_owned(),
            rtt_ms: rtt_ns as f64 / 1e6,
            start_s: start_ns as f64 / SECOND as f64,
            goodput_mbps: window.goodput_mbps(),
            sent_pkts: sent.map(|sent| sent.pkts),
            retransmits: sent.map_or(0, |sent| sent.retransmitted_pkts),
            rtt_mean_ms: window.rtt_mean_ms(),
            rtt_min_ms: rtt.and_then(Percentiles::min_ns).map(|ns| ns as f64 / 1e6),
            rtt_p50_ms: quantile_ms(0.50),
            rtt_p95_ms: quantile_ms(0.95),
            rtt_p99_ms: quantile_ms(0.99),
            ..FlowSummary::default()
        }
    }

    /// Moves the goodput and RTT series into `series`. The driver fills the other series.
    pub fn fill(&mut self, series: &mut FlowSeries) {
        series.goodput_mbps = std::mem::take(&mut self.goodput_mbps);
        series.rtt_ms = std::mem::take(&mut self.rtt_ms);
    }
}

impl Metered for FlowMeter {
    #[inline]
    fn boundaries(&mut self) -> &mut Boundaries {
        &mut self.boundaries
    }

    fn open_window(&mut self, at: Nanos) {
        self.window_began = Totals { at, ..self.total };
        self.in_window = true;
    }

    fn close_window(&mut self, at: Nanos) {
        self.closed = Some(Totals { at, ..self.total }.since(self.window_began));
        self.rtt.settle();
        self.in_window = false;
    }

    fn end_interval(&mut self, at: Nanos) {
        let now = Totals { at, ..self.total };
        let interval = now.since(self.interval_began);
        self.goodput_mbps.push(interval.goodput_mbps() as f32);
        self.rtt_ms.push(interval.rtt_mean_ms().map_or(f32::NAN, |ms| ms as f32));
        self.interval_began = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    #[test]
    fn window_and_intervals_are_counted_separately() {
        let mut m =
            FlowMeter::new(Schedule { window: (15 * MS, 35 * MS), interval: 10 * MS, end: 40 * MS }, 1);
        for t in 0..40 {
            m.data(t * MS, (50 + t) * MS);
            m.goodput(t * MS, 1000);
            m.sent(t * MS, Sent { pkts: 10 * t, retransmitted_pkts: t });
        }
        m.finish(40 * MS);
        let s = m.summary("a", "reno", 50 * MS, 0);
        assert_eq!(s.goodput_mbps, 8.0);
        assert_eq!((s.sent_pkts, s.retransmits, s.rtt_mean_ms), (Some(200), 20, Some(74.5)));
        assert!((s.rtt_min_ms.unwrap() - 65.0).abs() < 0.1, "{s:?}");
        assert!((s.rtt_p95_ms.unwrap() - 83.0).abs() < 0.1, "{s:?}");
        assert!((s.rtt_p50_ms.unwrap() - 74.0).abs() < 0.1, "{s:?}");
        assert!((s.rtt_p99_ms.unwrap() - 84.0).abs() < 0.1, "{s:?}");
        let mut series = FlowSeries::default();
        m.fill(&mut series);
        assert_eq!(series.goodput_mbps, [8.0; 4]);
        assert_eq!(series.rtt_ms, [54.5, 64.5, 74.5, 84.5]);
    }

    #[test]
    fn the_size_of_a_record_depends_on_its_rtts() {
        let mut m = FlowMeter::new(Schedule { window: (0, 20 * MS), interval: 10 * MS, end: 20 * MS }, 1);
        m.data(0, 50 * MS);
        // 4 bytes each: 100,000 such flows are 3 GB
        assert!(m.rtt.room() <= 8 * 1024, "{}", m.rtt.room());
        m.data(MS, 2_000 * SECOND);
        m.finish(20 * MS);
        let s = m.summary("a", "reno", MS, 0);
        assert!((s.rtt_p50_ms.unwrap() - 50.0).abs() < 0.1, "{s:?}");
        assert!((s.rtt_p99_ms.unwrap() - 2e6).abs() < 2e3, "{s:?}");
    }

    #[test]
    fn a_flow_without_packets_has_no_rtt() {
        let mut m = FlowMeter::new(Schedule { window: (0, 20 * MS), interval: 10 * MS, end: 20 * MS }, 1);
        m.finish(20 * MS);
        let s = m.summary("a", "reno", MS, 0);
        assert_eq!((s.goodput_mbps, s.rtt_mean_ms, s.rtt_p99_ms), (0.0, None, None));
        let mut series = FlowSeries::default();
        m.fill(&mut series);
        assert!(series.rtt_ms.len() == 2 && series.rtt_ms.iter().all(|v| v.is_nan()));
    }
}
