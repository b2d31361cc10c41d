//! Lateness of the emulator and the flows, other limits of flows, and the tolerance for both.
//!
//! Departures are computed, so a late write delays one packet and never reduces the rate of a link. Lateness
//! adds a delay to some packets' RTT that the scenario does not have. The threads of the flows have no
//! departures. The lateness of the thread that starts and samples them is evidence of theirs: where it did
//! not run in time, receivers did not read in time either. Where socket buffers held a flow back, its
//! congestion control did not decide its rate. [`Tolerance`] has the bounds of a scenario; a run beyond them
//! is not judged.

use fairpace_netem::Nanos;
use fairpace_scenario::ns;
use hdrhistogram::Histogram;
use std::fmt;
use std::time::Duration;

/// Number of significant decimal digits with which lateness is recorded.
const DIGITS: u8 = 3;
/// Largest lateness that is recorded, ns: a write later than a minute counts as a minute late.
const MAX_RECORDED_NS: u64 = 60_000_000_000;

/// Time between the computed departure of a packet and its write, over all packets of a run, in both
/// directions; and the lateness of starts, stops and samples of flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// Number of packets written.
    pub packets: u64,
    /// Median of the lateness of packets.
    pub p50: Duration,
    /// 99th percentile of the lateness of packets.
    pub p99: Duration,
    /// 99.9th percentile of the lateness of packets.
    pub p999: Duration,
    /// Largest lateness of a packet.
    pub max: Duration,
    /// Share of the packets that were later than [`Tolerance::late`], 0 to 1.
    pub late_share: f64,
    /// Number of packets that the kernel dropped before the emulator read them, because the emulator was not
    /// scheduled in time.
    pub lost_before_emulator: u64,
    /// Largest lateness of a start, stop or sample of a flow.
    pub command_max: Duration,
    /// The largest part of a flow's time in which its hosts' socket buffers held it back, 0 to 1.
    pub buffer_limited: f64,
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        write!(
            f,
            "emulator lateness over {} packets: median {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.1} us",
            self.packets,
            us(self.p50),
            us(self.p99),
            us(self.p999),
            us(self.max)
        )?;
        write!(f, "; flows sampled at most {:.1} ms late", self.command_max.as_secs_f64() * 1e3)?;
        write!(f, ", held back by socket buffers for at most {:.1} %", self.buffer_limited * 1e2)?;
        if self.lost_before_emulator > 0 {
            write!(f, "; {} packets lost before they reached it", self.lost_before_emulator)?;
        }
        Ok(())
    }
}

/// The lateness that a scenario tolerates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Least lateness of a late packet: the larger of 5 ms (as the scheduler of a busy machine delays any
    /// process) and 10 % of the smallest RTT (more would be visible in a flow's own RTT).
    pub late: Duration,
    /// Share of the packets that may be late: 0.1 %, so that the 99.9th percentile is within bounds.
    pub late_share: f64,
    /// Largest lateness of a packet, and of any start, stop or sample of a flow. Half of Linux's smallest
    /// retransmission timeout (200 ms): a longer stall can make timers fire that would not have fired on a
    /// real path.
    pub stall: Duration,
    /// Largest part of its time in which socket buffers may hold a flow back: 10 %. Linux lets buffers grow
    /// with cwnd, which takes some round trips: nothing at 10 and 50 ms, 5.5 % of 15 s at 200 and 300 ms. In
    /// five runs beside 36 others the buffers did not grow, and flows stayed at 22 packets in flight; memory
    /// of TCP is the suspected cause, not a proven one.
    pub buffer_limited: f64,
}

impl Tolerance {
    /// Returns the tolerance of a scenario with this shortest RTT.
    pub fn for_rtt(shortest_rtt: Duration) -> Self {
        Tolerance {
            late: Duration::from_millis(5).max(shortest_rtt / 10),
            late_share: 0.001,
            stall: Duration::from_millis(100),
            buffer_limited: 0.1,
        }
    }

    /// Returns the reason why a run with this lateness must not be judged; `None`: it may be judged.
    pub fn violation(&self, measured: &Lateness) -> Option<String> {
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        if measured.max > self.stall {
            return Some(format!(
                "one packet was {:.0} ms late (bound {:.0} ms)",
                ms(measured.max),
                ms(self.stall)
            ));
        }
        if measured.late_share > self.late_share {
            return Some(format!(
                "{:.2} % of the packets were more than {:.0} ms late (bound {:.1} %)",
                measured.late_share * 100.0,
                ms(self.late),
                self.late_share * 100.0
            ));
        }
        if measured.command_max > self.stall {
            return Some(format!(
                "a flow was started, stopped or sampled {:.0} ms late (bound {:.0} ms): other work kept the \
                 processors from the flows",
                ms(measured.command_max),
                ms(self.stall)
            ));
        }
        if measured.buffer_limited > self.buffer_limited {
            return Some(format!(
                "socket buffers held a flow back for {:.0} % of its time (bound {:.0} %): this machine's TCP \
                 may be short of memory (net.ipv4.tcp_mem)",
                measured.buffer_limited * 100.0,
                self.buffer_limited * 100.0
            ));
        }
        // A packet that is lost here is a loss that the path does not have.
        (measured.lost_before_emulator > 0).then(|| {
            format!("{} packets were lost before the emulator could read them", measured.lost_before_emulator)
        })
    }
}

/// Lateness and limits of the flows, see [`Lateness`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowLateness {
    pub(crate) command_max: Duration,
    pub(crate) buffer_limited: f64,
}

/// The reason why a run must not be judged, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disturbance {
    /// The machine was too late, lost packets or held a flow back: see [`Tolerance`].
    Late(String),
    /// A flow had a cwnd that no algorithm chose, on a kernel that skips programs
    /// ([`fairpace_kernel::Features::skips_programs`]).
    Skipped(String),
}

impl Disturbance {
    /// Returns a remedy for the user.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Late(_) => "run it again on a quieter machine; a lower rate or a longer RTT bears more",
            Self::Skipped(_) => {
                "run it again, or measure on a kernel that `fairpace doctor` finds no fault with"
            }
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(why) | Self::Skipped(why) => f.write_str(why),
        }
    }
}

/// Records lateness without allocating.
pub(crate) struct Recorder {
    histogram: Histogram<u64>,
    tolerance: Tolerance,
}

impl Recorder {
    pub(crate) fn new(tolerance: Tolerance) -> Option<Self> {
        Histogram::new_with_bounds(1, MAX_RECORDED_NS, DIGITS)
            .ok()
            .map(|histogram| Recorder { histogram, tolerance })
    }

    /// Records a packet whose departure was computed for `ideal` and that was written at `actual`.
    pub(crate) fn record(&mut self, ideal: Nanos, actual: Nanos) {
        self.histogram.saturating_record(actual.saturating_sub(ideal));
    }

    /// Returns the recorded lateness, together with losses and the lateness of flows.
    pub(crate) fn summary(&self, lost_before_emulator: u64, flows: FlowLateness) -> Lateness {
        let h = &self.histogram;
        let quantile = |q| Duration::from_nanos(h.value_at_quantile(q));
        let late_from = ns(self.tolerance.late);
        let late = if h.max() > late_from { h.count_between(late_from, h.max()) } else { 0 };
        Lateness {
            packets: h.len(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: Duration::from_nanos(h.max()),
            late_share: if h.is_empty() { 0.0 } else { late as f64 / h.len() as f64 },
            lost_before_emulator,
            command_max: flows.command_max,
            buffer_limited: flows.buffer_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use fairpace_netem::MS;

    const IN_TIME: FlowLateness = FlowLateness { command_max: Duration::ZERO, buffer_limited: 0.0 };

    fn run(late_ms: &[(u64, u64)]) -> (Tolerance, Lateness) {
        let tolerance = Tolerance::for_rtt(Duration::from_millis(10));
        let mut recorder = Recorder::new(tolerance).unwrap();
        for &(ms, packets) in late_ms {
            (0..packets).for_each(|_| recorder.record(MS, MS + ms * MS));
        }
        (tolerance, recorder.summary(0, IN_TIME))
    }

    #[test]
    fn the_bound_follows_the_smallest_rtt_but_is_never_below_five_milliseconds() {
        assert_eq!(Tolerance::for_rtt(Duration::from_millis(10)).late, Duration::from_millis(5));
        assert_eq!(Tolerance::for_rtt(Duration::from_millis(200)).late, Duration::from_millis(20));
    }

    #[test]
    fn one_packet_in_a_thousand_may_be_late_and_no_more() {
        let (tolerance, good) = run(&[(0, 9_990), (8, 10)]);
        assert_eq!(tolerance.violation(&good), None);
        let (_, bad) = run(&[(0, 9_980), (8, 20)]);
        let why = tolerance.violation(&bad).expect("0.2 % late");
        assert!(why.contains("0.20 %") && why.contains("5 ms"), "{why}");
    }

    #[test]
    fn a_single_long_stall_spoils_a_run() {
        let (tolerance, bad) = run(&[(0, 1_000_000), (217, 1)]);
        let why = tolerance.violation(&bad).expect("a stall of 217 ms");
        assert!(why.contains("ms late"), "{why}");
    }

    #[test]
    fn a_packet_lost_outside_of_the_scenario_spoils_a_run() {
        let (tolerance, mut lateness) = run(&[(0, 10)]);
        assert_eq!(tolerance.violation(&lateness), None);
        lateness.lost_before_emulator = 1;
        assert!(tolerance.violation(&lateness).is_some());
    }

    #[test]
    fn flows_that_did_not_run_in_time_spoil_a_run() {
        let (tolerance, mut lateness) = run(&[(0, 10)]);
        lateness.command_max = Duration::from_millis(100);
        assert_eq!(tolerance.violation(&lateness), None);
        lateness.command_max = Duration::from_millis(130);
        let why = tolerance.violation(&lateness).expect("a sample 130 ms late");
        assert!(why.contains("sampled 130 ms late (bound 100 ms)"), "{why}");
    }

    #[test]
    fn a_flow_that_buffers_held_back_spoils_a_run() {
        let (tolerance, mut lateness) = run(&[(0, 10)]);
        lateness.buffer_limited = 0.09;
        assert_eq!(tolerance.violation(&lateness), None);
        lateness.buffer_limited = 0.97;
        let why = tolerance.violation(&lateness).expect("an idle link");
        assert!(why.contains("held a flow back for 97 % of its time (bound 10 %)"), "{why}");
    }

    #[test]
    fn an_early_write_counts_as_punctual() {
        let mut recorder = Recorder::new(Tolerance::for_rtt(Duration::from_millis(10))).unwrap();
        recorder.record(2 * MS, MS);
        assert_eq!(recorder.summary(0, IN_TIME).max, Duration::ZERO);
    }
}
