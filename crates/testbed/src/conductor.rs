//! The run's own thread: starts and stops flows, samples them, tells the monitor, and ends early if it must.

use crate::Error;
use crate::clock::{Clock, nanos};
use crate::control::Controls;
use crate::flows::Senders;
use crate::telemetry::Sample;
use fairpace_netem::{Nanos, SECOND, Schedule};
use fairpace_results::{FlowSeries, Monitor};
use fairpace_scenario::Scenario;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The monitor hears from the run at least this often.
const MONITOR_PERIOD_NS: Nanos = SECOND / 10;

/// What happens at a point in time. Simultaneous events happen in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The end of an interval of the time series.
    Sample,
    /// The measurement window opens.
    WindowOpens,
    /// The measurement window closes.
    WindowCloses,
    Stop(usize),
    Start(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended,
}

/// One flow as its telemetry shows it.
struct Track {
    state: State,
    series: FlowSeries,
    /// The counter's last value; it outlives the connection.
    retransmits: u64,
    at_window_edges: [u64; 2],
}

/// What the telemetry leaves of one flow.
pub(crate) struct Told {
    /// Everything but goodput and RTT.
    pub(crate) series: FlowSeries,
    /// Segments sent again in the window.
    pub(crate) retransmits: u64,
}

pub(crate) struct Conductor<'a> {
    scenario: &'a Scenario,
    controls: &'a Controls,
    senders: &'a Senders,
    clock: Clock,
    events: Vec<(Nanos, Event)>,
    end: Nanos,
    tracks: Vec<Track>,
}

impl<'a> Conductor<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        controls: &'a Controls,
        senders: &'a Senders,
        clock: Clock,
        schedule: Schedule,
    ) -> Self {
        let track = |_| Track {
            state: State::Waiting,
            series: FlowSeries::default(),
            retransmits: 0,
            at_window_edges: [0; 2],
        };
        Conductor {
            scenario,
            controls,
            senders,
            clock,
            events: agenda(scenario, schedule),
            end: schedule.end,
            tracks: scenario.flows.iter().map(track).collect(),
        }
    }

    /// Conducts the run to its end, or until `stop` is set because another thread failed.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the monitor says so, [`Error::Flow`].
    pub(crate) fn run(mut self, monitor: &mut dyn Monitor, stop: &AtomicBool) -> Result<Vec<Told>, Error> {
        for (at, event) in std::mem::take(&mut self.events) {
            self.wait_until(at, monitor, stop)?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.happen(event)?;
        }
        let told = |track: Track| {
            let [from, to] = track.at_window_edges;
            Told { series: track.series, retransmits: to.saturating_sub(from) }
        };
        Ok(self.tracks.into_iter().map(told).collect())
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

    fn happen(&mut self, event: Event) -> Result<(), Error> {
        let flows = 0..self.tracks.len();
        match event {
            Event::Start(flow) => {
                self.senders
                    .start(flow, self.scenario.flows[flow].sending.ecn)
                    .map_err(|e| self.broken(flow, e))?;
                self.tracks[flow].state = State::Running;
            }
            Event::Stop(flow) => {
                self.sample(flow)?;
                self.senders.stop(flow).map_err(|e| self.broken(flow, e))?;
                self.tracks[flow].state = State::Ended;
            }
            Event::Sample => {
                for flow in flows {
                    let sample = self.sample(flow)?;
                    sample.push(&mut self.tracks[flow].series);
                }
            }
            Event::WindowOpens | Event::WindowCloses => {
                let edge = usize::from(event == Event::WindowCloses);
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
        let inside = self.controls.look_inside(flow, fd);
        let sample = Sample::take(fd, inside).map_err(|e| self.broken(flow, e))?;
        self.tracks[flow].retransmits = sample.retransmits;
        Ok(sample)
    }

    fn broken(&self, flow: usize, cause: io::Error) -> Error {
        Error::Flow { flow: self.scenario.flows[flow].name.clone(), cause }
    }
}

/// All events of a run, in order. A flow that would stop after the end, or start after it, does not.
fn agenda(scenario: &Scenario, schedule: Schedule) -> Vec<(Nanos, Event)> {
    let mut events: Vec<(Nanos, Event)> = schedule.points().map(|at| (at, Event::Sample)).collect();
    events.push((schedule.window.0, Event::WindowOpens));
    events.push((schedule.window.1, Event::WindowCloses));
    for (i, flow) in scenario.flows.iter().enumerate() {
        let (start, stop) = (nanos(flow.start), flow.stop.map_or(Nanos::MAX, nanos));
        if start < schedule.end && start < stop {
            events.push((start, Event::Start(i)));
            if stop < schedule.end {
                events.push((stop, Event::Stop(i)));
            }
        }
    }
    events.sort_unstable();
    events
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
        let events = agenda(&scenario(&[(0, Some(2)), (2, None)]), SCHEDULE);
        let expected = [
            (0, Event::Start(0)),
            (1, Event::Sample),
            (1, Event::WindowOpens),
            (2, Event::Sample),
            (2, Event::Stop(0)),
            (2, Event::Start(1)),
            (3, Event::Sample),
            (3, Event::WindowCloses),
        ];
        assert_eq!(events, expected.map(|(s, event)| (s * SECOND, event)));
    }

    #[test]
    fn what_lies_beyond_the_end_does_not_happen() {
        let events = agenda(&scenario(&[(3, None), (0, Some(9)), (2, Some(1))]), SCHEDULE);
        let flows: Vec<Event> = events
            .into_iter()
            .map(|(_, event)| event)
            .filter(|e| matches!(e, Event::Start(_) | Event::Stop(_)))
            .collect();
        assert_eq!(flows, [Event::Start(1)]);
    }
}
