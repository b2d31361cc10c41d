//! What a link measures: per flow and in all, over the window and per interval.

use fairpace_results::{LinkSeries, LinkSummary};
use hdrhistogram::Histogram;

use crate::aqm::DropReason;
use crate::schedule::{Boundaries, Boundary};
use crate::{Nanos, SECOND, Schedule};

/// Delays are kept to three digits or half a microsecond, whichever is coarser, and up to 1000 s.
pub(crate) fn delay_histogram<C: hdrhistogram::Counter>() -> Histogram<C> {
    Histogram::new_with_bounds(1_000, 1_000 * SECOND, 3).expect("constant bounds are valid")
}

/// The same, to so many digits, beginning small and growing with its values.
pub(crate) fn growing_histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    let mut histogram =
        Histogram::new_with_bounds(1_000, 2_000, digits.clamp(1, 3)).expect("these bounds are valid");
    histogram.auto(true);
    histogram
}

/// One flow's use of the link. What every packet touches is in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Use {
    /// Time integral of the backlog up to `settled`, bytes x ns, modulo 2^128.
    byte_ns: u128,
    backlog_bytes: u64,
    settled: Nanos,
    packets: u64,
    bytes: u64,
    /// The integral when the current interval began.
    interval_began_byte_ns: u128,
    drops: u64,
    /// How many of the drops a discipline chose, rather than that there was no room.
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

    /// As if it had been settled when the backlog changed by so many bytes, at a time before or after it was.
    #[inline]
    fn correct(&mut self, bytes: i64, changed: Nanos) {
        let before = i128::from(bytes) * i128::from(self.settled.wrapping_sub(changed) as i64);
        self.byte_ns = self.byte_ns.wrapping_add(before as u128);
        self.backlog_bytes = self.backlog_bytes.wrapping_add_signed(bytes);
    }
}

/// Counters and integrals of one link. All byte counts are link bytes.
///
/// Exact: counts, bytes, mean wait, the time integral of every flow's backlog. To three digits: percentiles.
/// Each method that takes a time first closes what ended by then, so window edges and intervals are exact
/// however late the driver comes, as long as times do not go back.
#[derive(Debug, Clone)]
pub struct LinkMeter {
    boundaries: Boundaries,
    flows: Vec<Use>,
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

/// The window's result, taken when it closed.
#[derive(Debug, Clone)]
struct Closed {
    length_ns: Nanos,
    flows: Vec<Use>,
    wait_mean_ns: Option<f64>,
    /// [`QUANTILES`] of the waiting time.
    wait_ns: Option<[u64; 4]>,
    duplicates: u64,
}

/// Median, 95th and 99th percentile, most.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

impl LinkMeter {
    /// A meter for `flows` flows.
    pub fn new(flows: usize, schedule: Schedule) -> Self {
        LinkMeter {
            boundaries: Boundaries::new(schedule),
            flows: vec![Use::default(); flows],
            wait: delay_histogram(),
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

    /// A packet joined the queue.
    #[inline]
    pub fn queued(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.catch_up(now);
        let f = &mut self.flows[flow as usize];
        f.settle(now);
        f.backlog_bytes += u64::from(bytes);
    }

    /// A packet that had joined the queue left it for the wire.
    #[inline]
    pub fn begun(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.catch_up(now);
        let f = &mut self.flows[flow as usize];
        f.settle(now);
        f.backlog_bytes -= u64::from(bytes);
    }

    /// A packet's last bit left; it had waited for `waited_ns` before its first.
    #[inline]
    pub fn departed(&mut self, now: Nanos, flow: u32, bytes: u32, waited_ns: Nanos) {
        self.catch_up(now);
        self.left(flow, bytes, waited_ns);
    }

    /// The same when no [stop](LinkMeter::next_boundary) has been passed since the last.
    #[inline]
    pub(crate) fn left(&mut self, flow: u32, bytes: u32, waited_ns: Nanos) {
        let f = &mut self.flows[flow as usize];
        f.packets += 1;
        f.bytes += u64::from(bytes);
        self.wait.saturating_record(waited_ns);
        self.wait_sum_ns += waited_ns;
        self.interval_wait_sum_ns += waited_ns;
        self.interval_packets += 1;
    }

    /// So much joined the queue; other than with [`queued`](LinkMeter::queued), no [stop](LinkMeter::next_boundary) has been passed since the last.
    #[inline]
    pub(crate) fn joined(&mut self, now: Nanos, flow: u32, bytes: u64) {
        self.flows[flow as usize].correct(bytes as i64, now);
    }

    /// A packet that had [joined](LinkMeter::joined) left the queue for the wire at `starts`, which may be long ago, but for stops.
    #[inline]
    pub(crate) fn started(&mut self, starts: Nanos, flow: u32, bytes: u32) {
        self.flows[flow as usize].correct(-i64::from(bytes), starts);
    }

    /// When an interval or the window next begins or ends: what happened before must have been told by then.
    #[inline]
    pub(crate) fn next_boundary(&self) -> Nanos {
        self.boundaries.next()
    }

    /// Closes and opens what ends and begins at this time.
    pub(crate) fn stop(&mut self, at: Nanos) {
        self.take_stock(at);
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, now: Nanos, flow: u32, _bytes: u32) {
        self.catch_up(now);
        self.flows[flow as usize].drops += 1;
        self.interval_drops += 1;
    }

    /// A packet was dropped that the queue had room for.
    pub(crate) fn dropped_early(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.dropped(now, flow, bytes);
        self.flows[flow as usize].early_drops += 1;
    }

    /// A packet that had joined the queue was dropped.
    pub fn removed(&mut self, now: Nanos, flow: u32, bytes: u32, reason: DropReason) {
        self.begun(now, flow, bytes);
        self.dropped(now, flow, bytes);
        self.flows[flow as usize].early_drops += u64::from(reason == DropReason::Early);
    }

    /// A packet was marked with ECN.
    pub fn marked(&mut self, now: Nanos, flow: u32) {
        self.catch_up(now);
        self.flows[flow as usize].marks += 1;
    }

    /// A packet that has departed was lost on the line.
    pub fn lost(&mut self, now: Nanos, flow: u32) {
        self.catch_up(now);
        self.flows[flow as usize].lost += 1;
    }

    /// A packet that has departed arrives twice.
    pub fn duplicated(&mut self, now: Nanos) {
        self.catch_up(now);
        self.duplicates += 1;
    }

    /// Ends the measurement: closes the interval, and the window if it is open.
    pub fn finish(&mut self, now: Nanos) {
        self.catch_up(now);
        if now > self.interval_began {
            self.end_interval(now);
        }
        if self.closed.is_none() {
            self.close_window(now);
        }
    }

    /// The window that has closed: from, to; nothing before it has.
    pub fn window(&self) -> (Nanos, Nanos) {
        let length_ns = self.closed.as_ref().map_or(0, |c| c.length_ns);
        (self.window_began, self.window_began + length_ns)
    }

    /// The window's summary; all zeros and `None` before the window has closed. `possible_bits` could have left in it. What the queue is
    /// called is left to the driver.
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
        }
    }

    /// Packets of a flow that were dropped in the window, so far or in all.
    pub fn drops(&self, flow: u32) -> u64 {
        self.of(flow).drops
    }

    /// Packets of a flow that left in the window and were lost on the line, so far or in all.
    pub fn losses(&self, flow: u32) -> u64 {
        self.of(flow).lost
    }

    /// Packets of a flow that were marked in the window, so far or in all.
    pub fn marks(&self, flow: u32) -> u64 {
        self.of(flow).marks
    }

    /// Of the packets of a flow that were dropped in the window: those that a discipline dropped early, as a signal.
    pub fn early_drops(&self, flow: u32) -> u64 {
        self.of(flow).early_drops
    }

    /// Packets of a flow that left in the window, so far or in all.
    pub fn packets(&self, flow: u32) -> u64 {
        self.of(flow).packets
    }

    /// The time integral of a flow's backlog over the window, so far or in all, in bytes x ns.
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

    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        if self.boundaries.due(now) {
            self.take_stock(now);
        }
    }

    #[cold]
    fn take_stock(&mut self, now: Nanos) {
        while let Some(stop) = self.boundaries.take(now) {
            let Boundary { at, opens_window, closes_window, ends_interval } = stop;
            if closes_window {
                self.close_window(at);
            }
            if ends_interval {
                self.end_interval(at);
            }
            if opens_window {
                self.open_window(at);
            }
        }
    }

    fn open_window(&mut self, at: Nanos) {
        for f in &mut self.flows {
            f.settle(at);
            // the interval goes on: its begin moves along with the origin, modulo 2^128
            let interval_began_byte_ns = f.interval_began_byte_ns.wrapping_sub(f.byte_ns);
            let Use { backlog_bytes, settled, .. } = *f;
            *f = Use { backlog_bytes, settled, interval_began_byte_ns, ..Use::default() };
        }
        self.duplicates = 0;
        self.wait = delay_histogram();
        self.wait_sum_ns = 0;
        self.window_began = at;
    }

    fn close_window(&mut self, at: Nanos) {
        for f in &mut self.flows {
            f.settle(at);
        }
        let packets = self.flows.iter().map(|f| f.packets).sum::<u64>();
        self.closed = Some(Closed {
            length_ns: at - self.window_began,
            flows: self.flows.clone(),
            wait_mean_ns: (packets > 0).then(|| self.wait_sum_ns as f64 / packets as f64),
            wait_ns: (packets > 0).then(|| QUANTILES.map(|q| self.wait.value_at_quantile(q))),
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

    const MS: Nanos = 1_000_000;

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
        m.dropped(35 * MS, 1, 1000);
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
        m.dropped(9 * MS, 0, 1000);
        m.departed(10 * MS, 0, 1000, MS);
        m.departed(19 * MS, 1, 1000, 3 * MS);
        m.dropped(19 * MS, 1, 1000);
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
    fn percentiles_and_the_most_are_of_the_packets_that_left() {
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
    fn what_is_removed_leaves_the_backlog_and_marks_count_in_the_window() {
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
