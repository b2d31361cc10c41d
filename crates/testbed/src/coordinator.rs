//! The coordinator of a run: it starts, stops and samples the flows, reports to the monitor, and ends the run
//! early if necessary.

use crate::Error;
use crate::clock::Clock;
use crate::control::Controls;
use crate::flows::{self, Senders};
use crate::telemetry::{Delivered, Limits, Sample};
use fairpace_netem::{Nanos, SECOND, Schedule};
use fairpace_results::{FlowSeries, Monitor};
use fairpace_scenario::{Flow, Scenario, Window, ns};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest time between two calls of the monitor, ns.
const MONITOR_PERIOD_NS: Nanos = SECOND / 10;

/// A command to a flow, or a time of measurement. Simultaneous commands are executed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Command {
    /// The end of an interval of the time series.
    Sample,
    /// The measurement window opens.
    WindowOpens,
    /// The measurement window closes.
    WindowCloses,
    Stop(usize),
    Start(usize),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    Running,
    Ended,
}

/// The telemetry of a flow so far.
#[derive(Default)]
struct Track {
    state: State,
    series: FlowSeries,
    /// The last value of the connection's counter, which outlives the connection.
    retransmits: u64,
    at_window_edges: [u64; 2],
    /// The limits at the last sample.
    limits: Limits,
    /// The packets that were delivered until the last sample.
    delivered: Delivered,
    /// The largest cwnd of all samples.
    largest_cwnd_pkts: u32,
}

/// The telemetry of a flow.
pub(crate) struct FlowTelemetry {
    /// All series but goodput and RTT.
    pub(crate) series: FlowSeries,
    /// Number of segments retransmitted in the measurement window.
    pub(crate) retransmits: u64,
    /// The largest cwnd of all samples.
    pub(crate) largest_cwnd_pkts: u32,
    /// The packets that were delivered until the last sample.
    pub(crate) delivered: Delivered,
}

pub(crate) struct Coordinator<'a> {
    scenario: &'a Scenario,
    controls: &'a Controls,
    senders: &'a Senders,
    clock: Clock,
    commands: Vec<(Nanos, Command)>,
    end: Nanos,
    tracks: Vec<Track>,
    /// Largest lateness of a command.
    latest: Nanos,
}

/// The coordinator's results at the end of a run.
pub(crate) struct Coordinated {
    /// The telemetry of each flow.
    pub(crate) flows: Vec<FlowTelemetry>,
    /// Largest lateness of a start, stop or sample.
    pub(crate) latest: Nanos,
    /// The largest part of a flow's busy time in which socket buffers held it back, 0 to 1.
    pub(crate) buffer_limited: f64,
}

impl<'a> Coordinator<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        controls: &'a Controls,
        senders: &'a Senders,
        clock: Clock,
        schedule: Schedule,
    ) -> Self {
        Coordinator {
            scenario,
            controls,
            senders,
            clock,
            commands: commands(scenario, schedule),
            end: schedule.end,
            tracks: scenario.flows.iter().map(|_| Track::default()).collect(),
            latest: 0,
        }
    }

    /// Executes all commands of the run, or returns early when `stop` is set because another thread failed.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the monitor stops the run, [`Error::Flow`].
    pub(crate) fn run(mut self, monitor: &mut dyn Monitor, stop: &AtomicBool) -> Result<Coordinated, Error> {
        // a monitor hears of the run before its clock starts
        monitor.progress(0.0, self.end as f64 / SECOND as f64);
        self.clock.sleep_until_start();
        for (at, command) in std::mem::take(&mut self.commands) {
            self.wait_until(at, monitor, stop)?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.latest = self.latest.max(self.clock.now().saturating_sub(at));
            self.execute(command)?;
        }
        let judged = self.tracks.iter().zip(&self.scenario.flows).filter(|(_, flow)| needs_buffers(flow));
        let buffer_limited = judged.map(|(track, _)| track.limits.buffer_limited()).fold(0.0, f64::max);
        let telemetry = |track: Track| {
            let [from, to] = track.at_window_edges;
            FlowTelemetry {
                series: track.series,
                retransmits: to.saturating_sub(from),
                largest_cwnd_pkts: track.largest_cwnd_pkts,
                delivered: track.delivered,
            }
        };
        let flows = self.tracks.into_iter().map(telemetry).collect();
        Ok(Coordinated { flows, latest: self.latest, buffer_limited })
    }

    fn wait_until(&self, at: Nanos, monitor: &mut dyn Monitor, stop: &AtomicBool) -> Result<(), Error> {
        let seconds = |t: Nanos| t as f64 / SECOND as f64;
        loop {
            let now = self.clock.now();
            monitor.progress(seconds(now.min(self.end)), seconds(self.end));
            if monitor.stop() {
                return Err(Error::Interrupted);
            }
            if now >= at || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.clock.sleep_until(at.min(now + MONITOR_PERIOD_NS));
        }
    }

    fn execute(&mut self, command: Command) -> Result<(), Error> {
        let flows = 0..self.tracks.len();
        match command {
            Command::Start(flow) => {
                self.senders
                    .start(flow, self.scenario.flows[flow].sending.ecn, self.clock.now())
                    .map_err(|e| self.broken(flow, e))?;
                self.tracks[flow].state = State::Running;
            }
            Command::Stop(flow) => {
                self.sample(flow)?;
                self.senders.stop(flow).map_err(|e| self.broken(flow, e))?;
                self.tracks[flow].state = State::Ended;
            }
            Command::Sample => {
                for flow in flows {
                    let sample = self.sample(flow)?;
                    sample.push(&mut self.tracks[flow].series);
                }
            }
            Command::WindowOpens | Command::WindowCloses => {
                let edge = usize::from(command == Command::WindowCloses);
                for flow in flows {
                    self.tracks[flow].at_window_edges[edge] = self.sample(flow)?.retransmits;
                }
            }
        }
        Ok(())
    }

    fn sample(&mut self, flow: usize) -> Result<Sample, Error> {
        let track = &self.tracks[flow];
        if track.state != State::Running {
            return Ok(Sample::absent(track.retransmits));
        }
        let fd = self.senders.socket(flow);
        let algorithm = self.controls.observe(flow, fd);
        let sample = Sample::take(fd, algorithm).map_err(|e| self.broken(flow, e))?;
        let track = &mut self.tracks[flow];
        track.retransmits = sample.retransmits;
        track.limits = sample.limits;
        track.delivered = sample.delivered;
        track.largest_cwnd_pkts = track.largest_cwnd_pkts.max(sample.cwnd_pkts as u32);
        Ok(sample)
    }

    fn broken(&self, flow: usize, cause: io::Error) -> Error {
        Error::Flow { flow: self.scenario.flows[flow].name.clone(), cause }
    }
}

/// Returns whether socket buffers must not hold the flow back. The buffer of a flow that pauses is small on
/// purpose, and so may be a receive window; a flow with an end may be over before its buffers have grown, as
/// on any host.
fn needs_buffers(flow: &Flow) -> bool {
    let is_endless = flow.traffic.total_bytes().is_none() && !flows::pauses(flow);
    is_endless && flow.receiving.window == Window::Ample
}

/// Returns all commands of a run, in order. A flow does not start if it would start after the end, and does
/// not stop if it would stop after it.
fn commands(scenario: &Scenario, schedule: Schedule) -> Vec<(Nanos, Command)> {
    let mut commands: Vec<(Nanos, Command)> = schedule.points().map(|at| (at, Command::Sample)).collect();
    commands.push((schedule.window.0, Command::WindowOpens));
    commands.push((schedule.window.1, Command::WindowCloses));
    for (i, flow) in scenario.flows.iter().enumerate() {
        let (start, stop) = (ns(flow.start), flow.stop.map_or(Nanos::MAX, ns));
        if start < schedule.end && start < stop {
            commands.push((start, Command::Start(i)));
            if stop < schedule.end {
                commands.push((stop, Command::Stop(i)));
            }
        }
    }
    commands.sort_unstable();
    commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_scenario::{Cc, Flow};
    use std::time::Duration;

    fn scenario(flows: &[(u64, Option<u64>)]) -> Scenario {
        let flow = |(start, stop): &(u64, Option<u64>)| Flow {
            start: Duration::from_secs(*start),
            stop: stop.map(Duration::from_secs),
            ..Flow::new("f", Cc::Kernel("reno".to_owned()), Duration::from_millis(10))
        };
        Scenario {
            title: "t".into(),
            why: String::new(),
            seed: 1,
            duration: Duration::from_secs(3),
            window: (Duration::from_secs(1), Duration::from_secs(3)),
            interval: Duration::from_secs(1),
            links: Vec::new(),
            flows: flows.iter().map(flow).collect(),
            hash: String::new(),
        }
    }

    const SCHEDULE: Schedule = Schedule { window: (SECOND, 3 * SECOND), interval: SECOND, end: 3 * SECOND };

    #[test]
    fn a_flow_is_sampled_before_it_stops_and_starts_after_others_are_sampled() {
        let commands = commands(&scenario(&[(0, Some(2)), (2, None)]), SCHEDULE);
        let expected = [
            (0, Command::Start(0)),
            (1, Command::Sample),
            (1, Command::WindowOpens),
            (2, Command::Sample),
            (2, Command::Stop(0)),
            (2, Command::Start(1)),
            (3, Command::Sample),
            (3, Command::WindowCloses),
        ];
        assert_eq!(commands, expected.map(|(s, command)| (s * SECOND, command)));
    }

    #[test]
    fn commands_beyond_the_end_are_left_out() {
        let commands = commands(&scenario(&[(3, None), (0, Some(9)), (2, Some(1))]), SCHEDULE);
        let flows: Vec<Command> = commands
            .into_iter()
            .map(|(_, command)| command)
            .filter(|e| matches!(e, Command::Start(_) | Command::Stop(_)))
            .collect();
        assert_eq!(flows, [Command::Start(1)]);
    }
}
