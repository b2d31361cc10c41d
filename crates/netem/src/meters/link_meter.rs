//! Meter of a link, per flow and in total: over the measurement window and per interval.

use fairpace_results::{LinkSeries, LinkSummary};
use hdrhistogram::Histogram;

use crate::aqm::DropReason;
use crate::meters::schedule::{Boundaries, Metered, Schedule};
use crate::time::{Nanos, SECOND};

/// Longest waiting time that is recorded; longer ones are recorded as this.
const LONGEST_WAIT: Nanos = 1_000 * SECOND;

/// Returns a histogram of delays, to `digits` digits or half a microsecond, whichever is coarser. It starts
/// small and grows with its values.
pub(crate) fn growing_histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    let mut histogram =
        Histogram::new_with_bounds(1_000, 2_000, digits.clamp(1, 3)).expect("these bounds are valid");
    histogram.auto(true);
    histogram
}

/// A flow's use of the link. The fields that every packet touches are in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Use {
    /// Time integral of the backlog up to `settled`, bytes x ns, modulo 2^128.
    byte_ns: u128,
    backlog_bytes: u64,
    settled: Nanos,
    packets: u64,
    bytes: u64,
    /// Value of the integral when the current interval began.
    interval_began_byte_ns: u128,
    drops: u64,
    /// Number of drops that were the discipline's decision, not for lack of room.
    early_drops: u64,
    lost: u64,
    marks: u64,
}

impl Use {
    #[inline]
    fn settle(&mut self, now: Nanos) {
        let more = u128::from(self.backlog_bytes) * u128::from(now - self.settled);
        self.byte_ns = self.byte_ns.wrapping_add(more);
        self.settled = now;
    }

    /// Corrects the integral as if the flow had been settled when the backlog changed by `bytes`, at a time
    /// before or after `settled`.
    #[inline]
    fn correct(&mut self, bytes: i64, changed: Nanos) {
        let before = i128::from(bytes) * i128::from(self.settled.wrapping_sub(changed) as i64);
        self.byte_ns = self.byte_ns.wrapping_add(before as u128);
        self.backlog_bytes = self.backlog_bytes.wrapping_add_signed(bytes);
    }
}

/// Counters and integrals of a link. All byte counts are of packets on the wire.
///
/// Counts, bytes, mean wait and the time integral of every flow's backlog are exact; percentiles have three
/// digits. Each method that takes a time first closes intervals that ended by then, so that boundaries are
/// exact however late the driver calls. Times must not go back.
#[derive(Debug, Clone)]
pub struct LinkMeter {
    boundaries: Boundaries,
    flows: Vec<Use>,
    in_window: bool,
    /// Waiting times of packets that left in the measurement window.
    wait: Histogram<u64>,
    wait_sum_ns: u64,
    interval_wait_sum_ns: u64,
    interval_packets: u64,
    interval_drops: u32,
    duplicates: u64,
    interval_began: Nanos,
    window_began: Nanos,
    closed: Option<Closed>,
    series: LinkSeries,
}

/// The result of the measurement window, taken when it closed.
#[derive(Debug, Clone)]
struct Closed {
    length_ns: Nanos,
    flows: Vec<Use>,
    wait_mean_ns: Option<f64>,
    /// [`QUANTILES`] of the waiting time.
    wait_ns: Option<[u64; 4]>,
    duplicates: u64,
}

/// Quantiles of the waiting time: median, 95th and 99th percentile, maximum.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

impl LinkMeter {
    /// Returns a meter for `flows` flows.
    pub fn new(flows: usize, schedule: Schedule) -> Self {
        LinkMeter {
            boundaries: Boundaries::new(schedule),
            flows: vec![Use::default(); flows],
            in_window: schedule.window.0 == 0,
            wait: growing_histogram(3),
            wait_sum_ns: 0,
            interval_wait_sum_ns: 0,
            interval_packets: 0,
            interval_drops: 0,
            duplicates: 0,
            interval_began: 0,
            window_began: 0,
            closed: None,
            series: LinkSeries { backlog_kb: vec![Vec::new(); flows], ..LinkSeries::default() },
        }
    }

    /// Counts a packet that joined the queue.
    #[inline]
    pub fn queued(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.catch_up(now);
        let f = &mut self.flows[flow as usize];
        f.settle(now);
        f.backlog_bytes += u64::from(bytes);
    }

    /// Counts a packet that left the queue for the wire.
    #[inline]
    pub fn begun(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.catch_up(now);
        let f = &mut self.flows[flow as usize];
        f.settle(now);
        f.backlog_bytes -= u64::from(bytes);
    }

    /// Counts a packet whose last bit left. The packet had waited for `waited_ns` before its first bit left.
    #[inline]
    pub fn departed(&mut self, now: Nanos, flow: u32, bytes: u32, waited_ns: Nanos) {
        self.catch_up(now);
        self.left(flow, bytes, waited_ns);
    }

    /// Counts a packet whose last bit left, if no [boundary](LinkMeter::next_boundary) has passed since the
    /// last call.
    #[inline]
    pub(crate) fn left(&mut self, flow: u32, bytes: u32, waited_ns: Nanos) {
        let f = &mut self.flows[flow as usize];
        f.packets += 1;
        f.bytes += u64::from(bytes);
        if self.in_window {
            // it grows to any wait
            let _ = self.wait.record(waited_ns.min(LONGEST_WAIT));
        }
        self.wait_sum_ns += waited_ns;
        self.interval_wait_sum_ns += waited_ns;
        self.interval_packets += 1;
    }

    /// Counts `bytes` that joined the queue at `now`. Unlike with [`queued`](LinkMeter::queued), no
    /// [boundary](LinkMeter::next_boundary) may have passed since the last call.
    #[inline]
    pub(crate) fn joined(&mut self, now: Nanos, flow: u32, bytes: u64) {
        self.flows[flow as usize].correct(bytes as i64, now);
    }

    /// Counts a packet that had [joined](LinkMeter::joined) the queue and left it for the wire at `starts`.
    /// This may be long ago, but after the last boundary.
    #[inline]
    pub(crate) fn started(&mut self, starts: Nanos, flow: u32, bytes: u32) {
        self.flows[flow as usize].correct(-i64::from(bytes), starts);
    }

    /// The time when an interval or the measurement window next begins or ends. All events before this time
    /// must have been reported by then.
    #[inline]
    pub(crate) fn next_boundary(&self) -> Nanos {
        self.boundaries.next_event()
    }

    /// Closes and opens the intervals and the measurement window that end and begin at `at`.
    pub(crate) fn pass_boundary(&mut self, at: Nanos) {
        self.pass_boundaries(at);
    }

    /// Counts a packet that was dropped.
    pub fn dropped(&mut self, now: Nanos, flow: u32) {
        self.catch_up(now);
        self.flows[flow as usize].drops += 1;
        self.interval_drops += 1;
    }

    /// Counts a packet that was dropped although the queue had room for it.
    pub(crate) fn dropped_early(&mut self, now: Nanos, flow: u32) {
        self.dropped(now, flow);
        self.flows[flow as usize].early_drops += 1;
    }

    /// Counts a packet that had joined the queue and was dropped.
    pub fn removed(&mut self, now: Nanos, flow: u32, bytes: u32, reason: DropReason) {
        self.begun(now, flow, bytes);
        self.dropped(now, flow);
        self.flows[flow as usize].early_drops += u64::from(reason == DropReason::Early);
    }

    /// Counts a packet that was marked with ECN.
    pub fn marked(&mut self, now: Nanos, flow: u32) {
        self.catch_up(now);
        self.flows[flow as usize].marks += 1;
    }

    /// Counts a packet that has departed and was lost.
    pub fn lost(&mut self, now: Nanos, flow: u32) {
        self.catch_up(now);
        self.flows[flow as usize].lost += 1;
    }

    /// Counts a duplicate of a packet that has departed.
    pub fn duplicated(&mut self, now: Nanos) {
        self.catch_up(now);
        self.duplicates += 1;
    }

    /// Ends the measurement: closes the interval, and the measurement window if it is open.
    pub fn finish(&mut self, now: Nanos) {
        self.catch_up(now);
        if now > self.interval_began {
            self.end_interval(now);
        }
        if self.closed.is_none() {
            self.close_window(now);
        }
    }

    /// The measurement window as far as it has closed: from, to.
    pub fn window(&self) -> (Nanos, Nanos) {
        let length_ns = self.closed.as_ref().map_or(0, |c| c.length_ns);
        (self.window_began, self.window_began + length_ns)
    }

    /// The metrics of the measurement window; zeros and `None` before it has closed. `possible_bits` is the
    /// number of bits that the link could have sent. The driver sets the name of the queue, and the link its
    /// losses.
    pub fn summary(&self, name: &str, rate_bps: u64, possible_bits: f64) -> LinkSummary {
        let none =
            Closed { length_ns: 0, flows: Vec::new(), wait_mean_ns: None, wait_ns: None, duplicates: 0 };
        let w = self.closed.as_ref().unwrap_or(&none);
        let bits = w.flows.iter().map(|f| f.bytes).sum::<u64>() as f64 * 8.0;
        let area = w.flows.iter().map(|f| f.byte_ns).sum::<u128>();
        let packets = w.flows.iter().map(|f| f.packets).sum::<u64>();
        let drops = w.flows.iter().map(|f| f.drops).sum::<u64>();
        let share = |f: &Use| if area == 0 { 0.0 } else { f.byte_ns as f64 / area as f64 };
        let quantile_ms = |index: usize| w.wait_ns.map(|ns| ns[index] as f64 / 1e6);
        LinkSummary {
            name: name.to_owned(),
            queue: String::new(),
            rate_mbps: rate_bps as f64 / 1e6,
            utilization: if possible_bits > 0.0 { bits / possible_bits } else { 0.0 },
            queue_delay_mean_ms: w.wait_mean_ns.map(|ns| ns / 1e6),
            queue_delay_p50_ms: quantile_ms(0),
            queue_delay_p95_ms: quantile_ms(1),
            queue_delay_p99_ms: quantile_ms(2),
            queue_delay_max_ms: quantile_ms(3),
            drops,
            early_drops: w.flows.iter().map(|f| f.early_drops).sum(),
            loss_rate: (packets + drops > 0).then(|| drops as f64 / (packets + drops) as f64),
            lost: w.flows.iter().map(|f| f.lost).sum(),
            marks: w.flows.iter().map(|f| f.marks).sum(),
            duplicates: w.duplicates,
            backlog_share: w.flows.iter().map(share).collect(),
            loss_bursts: None,
        }
    }

    /// Number of packets of a flow that were dropped in the measurement window.
    pub fn drops(&self, flow: u32) -> u64 {
        self.of(flow).drops
    }

    /// Number of packets of a flow that departed in the measurement window and were lost.
    pub fn losses(&self, flow: u32) -> u64 {
        self.of(flow).lost
    }

    /// Number of packets of a flow that were marked in the measurement window.
    pub fn marks(&self, flow: u32) -> u64 {
        self.of(flow).marks
    }

    /// Number of packets of a flow that the discipline dropped early in the measurement window.
    pub fn early_drops(&self, flow: u32) -> u64 {
        self.of(flow).early_drops
    }

    /// Number of packets of a flow that departed in the measurement window.
    pub fn packets(&self, flow: u32) -> u64 {
        self.of(flow).packets
    }

    /// The time integral of a flow's backlog over the measurement window, bytes x ns.
    pub fn backlog_byte_ns(&self, flow: u32) -> u128 {
        self.of(flow).byte_ns
    }

    fn of(&self, flow: u32) -> Use {
        let flows = self.closed.as_ref().map_or(&self.flows, |c| &c.flows);
        flows.get(flow as usize).copied().unwrap_or_default()
    }

    /// The time series of all intervals that have ended.
    pub fn series(&self) -> &LinkSeries {
        &self.series
    }
}

impl Metered for LinkMeter {
    #[inline]
    fn boundaries(&mut self) -> &mut Boundaries {
        &mut self.boundaries
    }

    fn open_window(&mut self, at: Nanos) {
        for f in &mut self.flows {
            f.settle(at);
            // the interval continues: its begin moves with the origin, modulo 2^128
            let interval_began_byte_ns = f.interval_began_byte_ns.wrapping_sub(f.byte_ns);
            let Use { backlog_bytes, settled, .. } = *f;
            *f = Use { backlog_bytes, settled, interval_began_byte_ns, ..Use::default() };
        }
        self.duplicates = 0;
        self.in_window = true;
        self.wait_sum_ns = 0;
        self.window_began = at;
    }

    fn close_window(&mut self, at: Nanos) {
        self.in_window = false;
        for f in &mut self.flows {
            f.settle(at);
        }
        let packets = self.flows.iter().map(|f| f.packets).sum::<u64>();
        self.closed = Some(Closed {
            length_ns: at - self.window_began,
            flows: self.flows.clone(),
            wait_mean_ns: (packets > 0).then(|| self.wait_sum_ns as f64 / packets as f64),
            wait_ns: (!self.wait.is_empty()).then(|| QUANTILES.map(|q| self.wait.value_at_quantile(q))),
            duplicates: self.duplicates,
        });
    }

    fn end_interval(&mut self, at: Nanos) {
        let length_ns = (at - self.interval_began) as f64;
        for (f, points) in self.flows.iter_mut().zip(&mut self.series.backlog_kb) {
            f.settle(at);
            let byte_ns = f.byte_ns.wrapping_sub(f.interval_began_byte_ns);
            points.push((byte_ns as f64 / length_ns / 1e3) as f32);
            f.interval_began_byte_ns = f.byte_ns;
        }
        let mean_ms = self.interval_wait_sum_ns as f64 / self.interval_packets as f64 / 1e6;
        self.series.queue_delay_ms.push(if self.interval_packets > 0 { mean_ms as f32 } else { f32::NAN });
        self.series.drops.push(self.interval_drops);
        self.interval_wait_sum_ns = 0;
        self.interval_packets = 0;
        self.interval_drops = 0;
        self.interval_began = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;
    use proptest::prelude::*;

    fn meter(window: (Nanos, Nanos)) -> LinkMeter {
        LinkMeter::new(2, Schedule { window, interval: 10 * MS, end: 40 * MS })
    }

    #[test]
    fn backlog_integrals_are_cut_at_the_edges_of_the_window() {
        let mut m = meter((10 * MS, 30 * MS));
        // Flow 0 holds 1000 bytes from 5 to 15 ms, flow 1 holds 500 from 20 to 40 ms.
        m.queued(5 * MS, 0, 1000);
        m.begun(15 * MS, 0, 1000);
        m.queued(20 * MS, 1, 500);
        m.begun(40 * MS, 1, 500);
        m.finish(40 * MS);
        assert_eq!(m.backlog_byte_ns(0), 1000 * 5 * u128::from(MS));
        assert_eq!(m.backlog_byte_ns(1), 500 * 10 * u128::from(MS));
        assert_eq!(m.summary("l", 1, 1.0).backlog_share, [0.5, 0.5]);
    }

    #[test]
    fn intervals_hold_mean_backlog_mean_wait_and_drops() {
        let mut m = meter((0, 40 * MS));
        m.queued(5 * MS, 0, 1000);
        m.begun(15 * MS, 0, 1000);
        m.departed(16 * MS, 0, 1000, 10 * MS);
        m.departed(17 * MS, 1, 1000, 20 * MS);
        m.dropped(35 * MS, 1);
        m.finish(40 * MS);
        let s = m.series();
        assert_eq!(s.backlog_kb, [[0.5, 0.5, 0.0, 0.0], [0.0; 4]]);
        assert!(s.queue_delay_ms[0].is_nan() && s.queue_delay_ms[2].is_nan());
        assert_eq!(s.queue_delay_ms[1], 15.0);
        assert_eq!(s.drops, [0, 0, 0, 1]);
    }

    #[test]
    fn the_summary_counts_only_the_window() {
        let mut m = meter((10 * MS, 20 * MS));
        m.departed(9 * MS, 0, 1000, 7 * MS);
        m.dropped(9 * MS, 0);
        m.departed(10 * MS, 0, 1000, MS);
        m.departed(19 * MS, 1, 1000, 3 * MS);
        m.dropped(19 * MS, 1);
        m.departed(20 * MS, 0, 1000, 9 * MS);
        m.finish(40 * MS);
        // 2000 bytes in 10 ms on a link that could have sent 4000.
        let s = m.summary("l", 3_200_000, 32_000.0);
        assert!((s.utilization - 0.5).abs() < 1e-12);
        assert_eq!(s.queue_delay_mean_ms, Some(2.0));
        assert!((s.queue_delay_p99_ms.unwrap() - 3.0).abs() < 0.01);
        assert_eq!(s.drops, 1);
        assert_eq!(s.loss_rate, Some(1.0 / 3.0), "two went through");
        assert_eq!((m.packets(0), m.packets(1), m.drops(0), m.drops(1)), (1, 1, 0, 1));
    }

    #[test]
    fn percentiles_and_maximum_are_of_packets_that_left() {
        let mut m = meter((0, 40 * MS));
        for waited in 1..=1000 {
            m.departed(20 * MS, 0, 1000, waited * MS / 10);
        }
        m.finish(40 * MS);
        let s = m.summary("l", 1, 1.0);
        let wanted = [50.0, 95.0, 99.0, 100.0];
        let found = [s.queue_delay_p50_ms, s.queue_delay_p95_ms, s.queue_delay_p99_ms, s.queue_delay_max_ms];
        for (found, wanted) in found.into_iter().zip(wanted) {
            assert!((found.unwrap() - wanted).abs() < 0.1, "{s:?}");
        }
    }

    proptest! {
        #[test]
        fn a_histogram_that_grows_has_the_percentiles_of_one_that_reaches_1000_s(
            waits in prop::collection::vec((0u64..2_000, 0u32..31), 1..300),
        ) {
            let mut fixed: Histogram<u64> = Histogram::new_with_bounds(1_000, LONGEST_WAIT, 3).unwrap();
            let mut m = meter((0, 40 * MS));
            for (mantissa, exponent) in waits {
                let waited_ns = (mantissa << exponent).min(LONGEST_WAIT);
                fixed.saturating_record(waited_ns);
                m.departed(20 * MS, 0, 1000, waited_ns);
            }
            m.finish(40 * MS);
            let ms = |q: f64| Some(fixed.value_at_quantile(q) as f64 / 1e6);
            let s = m.summary("l", 1, 1.0);
            let [p50, p95, p99, most] = QUANTILES.map(ms);
            prop_assert_eq!((s.queue_delay_p50_ms, s.queue_delay_p95_ms), (p50, p95));
            prop_assert_eq!((s.queue_delay_p99_ms, s.queue_delay_max_ms), (p99, most));
        }
    }

    #[test]
    fn marks_losses_and_duplicates_are_counted_in_the_window_only() {
        let mut m = meter((10 * MS, 20 * MS));
        for at in [9, 10, 19, 20] {
            m.marked(at * MS, 1);
            m.lost(at * MS, 0);
            m.duplicated(at * MS);
        }
        m.finish(40 * MS);
        let s = m.summary("l", 1, 1.0);
        assert_eq!((s.marks, s.lost, s.duplicates), (2, 2, 2));
        assert_eq!((m.marks(0), m.marks(1), m.losses(0), m.losses(1)), (0, 2, 2, 0));
    }

    #[test]
    fn removed_packets_leave_the_backlog_and_marks_count_in_the_window() {
        let mut m = meter((10 * MS, 30 * MS));
        m.queued(5 * MS, 0, 1000);
        m.marked(5 * MS, 0);
        m.queued(5 * MS, 0, 500);
        m.removed(15 * MS, 0, 1000, DropReason::Early);
        m.marked(16 * MS, 0);
        m.removed(20 * MS, 0, 500, DropReason::Full);
        m.marked(30 * MS, 0);
        m.finish(40 * MS);
        assert_eq!(m.backlog_byte_ns(0), (1000 * 5 + 500 * 10) * u128::from(MS));
        assert_eq!((m.drops(0), m.early_drops(0), m.marks(0)), (2, 1, 1));
    }

    #[test]
    fn a_run_that_ends_early_closes_its_window() {
        let mut m = meter((10 * MS, 30 * MS));
        m.departed(15 * MS, 0, 500, 0);
        m.finish(20 * MS);
        assert!((m.summary("l", 800_000, 8_000.0).utilization - 0.5).abs() < 1e-12);
        assert_eq!(m.series().drops.len(), 2);
    }

    #[test]
    fn an_unused_link_has_no_delay_and_no_shares() {
        let mut m = meter((10 * MS, 30 * MS));
        m.finish(40 * MS);
        let s = m.summary("l", 1_000_000, 1.0);
        assert_eq!((s.utilization, s.queue_delay_mean_ms, s.queue_delay_p99_ms), (0.0, None, None));
        assert_eq!(s.backlog_share, [0.0, 0.0]);
    }
}
