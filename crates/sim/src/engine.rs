//! The loop over events, and the points of the time series.

use fairpace_netem::{Boundaries, Boundary, Nanos, SECOND, Sent};
use fairpace_results::observer::Observer;
use fairpace_results::{FlowSeries, Monitor, Run};
use fairpace_scenario::Scenario;

use crate::cost::Stopwatch;
use crate::epochs::{self, Epochs};
use crate::error::Error;
use crate::event_queue::NEVER;
use crate::record;
use crate::simulation::{BOUNDARIES, FIRST_ELEMENT, Simulation};

/// Number of events between two checks of the wall clock: a few milliseconds.
const EVENTS_PER_LOOK: u32 = 1 << 14;
/// Wall-clock time between two reports to the monitor, seconds: short enough for a display.
const REPORT_EVERY_S: f64 = 0.1;

/// A simulation and its driver.
pub(crate) struct Engine<O> {
    pub(crate) simulation: Simulation<O>,
    /// The epochs; `None`: connections run one event after the other.
    epochs: Option<Epochs>,
    boundaries: Boundaries,
    series: Vec<FlowSeries>,
    /// Times of the points of the series that have been recorded.
    points: Vec<Nanos>,
}

impl<O: Observer> Engine<O> {
    /// Returns an engine at the start of a scenario. With `per_hop` there is neither a fast path nor an
    /// epoch; results are equal.
    pub(crate) fn new(scenario: &Scenario, observer: O, per_hop: bool) -> Result<Self, Error> {
        let mut simulation = Simulation::new(scenario, observer, per_hop)?;
        let boundaries = Boundaries::new(simulation.schedule);
        simulation.queue.set(BOUNDARIES, boundaries.next_event());
        // an observer gets events in their order
        let epochs = if O::ON || per_hop { None } else { epochs::lookahead(&simulation).map(Epochs::new) };
        let series = vec![FlowSeries::default(); simulation.flows.len()];
        Ok(Engine { simulation, epochs, boundaries, series, points: Vec::new() })
    }

    /// Runs the simulation to its end.
    pub(crate) fn run(mut self, scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        let stopwatch = Stopwatch::start();
        let seconds = |t: Nanos| t as f64 / SECOND as f64;
        let end = self.simulation.schedule.end;
        let total_s = seconds(end);
        let mut reported_s = 0.0;
        while let Some(now) = self.run_some(EVENTS_PER_LOOK, NEVER) {
            if monitor.stop() {
                return Err(Error::Stopped { at_s: seconds(now), total_s });
            }
            if stopwatch.wall_s() - reported_s >= REPORT_EVERY_S {
                reported_s = stopwatch.wall_s();
                monitor.progress(seconds(now), total_s);
            }
        }
        monitor.progress(total_s, total_s);
        self.simulation.network.links_mut().for_each(|link| link.finish(end));
        self.simulation.flows.iter_mut().for_each(|flow| flow.meter.finish(end));
        Ok(record::record(self.simulation, self.series, self.points, scenario, &stopwatch))
    }

    /// Runs to the end, or up to `pause`: all events before it, and the measurements at that time.
    pub(crate) fn run_until(&mut self, pause: Nanos) {
        while self.run_some(u32::MAX, pause).is_some() {}
    }

    /// Runs `events` events, or an epoch more, up to `pause`. Returns the time reached; `None`: no event is
    /// left before the pause, or the run is over.
    fn run_some(&mut self, events: u32, pause: Nanos) -> Option<Nanos> {
        let end = self.simulation.schedule.end;
        let stop = end.saturating_add(1).min(pause);
        let (mut now, mut done) = (0, 0);
        while done < events {
            let (at, index) = self.simulation.queue.first();
            // measurements are the first of the events at a time
            if at >= stop && (at > end || at != pause || index != BOUNDARIES) {
                return None;
            }
            now = at;
            done += 1;
            if index < self.simulation.first_connection {
                self.run_other(index, now);
            } else if let Some(epochs) = &mut self.epochs {
                let limit = self.boundaries.next_event().min(stop);
                done += epochs.run(&mut self.simulation, now, limit);
            } else {
                self.simulation.run_connection(index - self.simulation.first_connection, now);
            }
        }
        Some(now)
    }

    fn run_other(&mut self, index: usize, now: Nanos) {
        let simulation = &mut self.simulation;
        if index >= simulation.first_workload {
            simulation.run_workload(index - simulation.first_workload, now);
        } else if index >= FIRST_ELEMENT {
            simulation.run_element(index - FIRST_ELEMENT, now);
        } else {
            self.measure(now);
        }
    }

    /// Takes the measurements at boundaries of the schedule.
    #[cold]
    fn measure(&mut self, now: Nanos) {
        while let Some(boundary) = self.boundaries.take(now) {
            let Boundary { opens_window, closes_window, ends_interval, .. } = boundary;
            if opens_window || closes_window {
                self.count_sent(now);
            }
            if ends_interval {
                self.take_point(now);
            }
        }
        self.simulation.queue.set(BOUNDARIES, self.boundaries.next_event());
    }

    fn take_point(&mut self, now: Nanos) {
        let simulation = &mut self.simulation;
        let mut connections = simulation.connections.iter();
        for (flow, series) in simulation.flows.iter().zip(&mut self.series) {
            let connection = if flow.workload.is_none() { connections.next() } else { None };
            record::sample(series, connection);
        }
        self.points.push(now);
        simulation.network.links_mut().for_each(|link| link.settle(now));
        simulation.check_conservation();
    }

    /// Gives the meters the packets that have been sent by an edge of the measurement window.
    fn count_sent(&mut self, now: Nanos) {
        let simulation = &mut self.simulation;
        let mut sent = vec![Sent::default(); simulation.flows.len()];
        for connection in &simulation.connections {
            let (sent, more) = (&mut sent[connection.slot.id.flow as usize], connection.sent());
            sent.pkts += more.pkts;
            sent.retransmitted_pkts += more.retransmitted_pkts;
        }
        for (flow, sent) in simulation.flows.iter_mut().zip(sent) {
            flow.meter.sent(now, sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairpace_netem::MS;
    use fairpace_results::observer::NullObserver;
    use fairpace_results::{Run, Silent};
    use fairpace_scenario::{self as scenario, Arrivals, Cc, Codel, Flow, Queue, Scenario, Sending, Sizes};

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn flow(rtt_ms: u64) -> Flow {
        Flow::new("a flow", "bbr1".parse::<Cc>().unwrap(), ms(rtt_ms))
    }

    fn meeting(flows: Vec<Flow>) -> Scenario {
        Scenario {
            title: "test".to_owned(),
            why: String::new(),
            seed: 1,
            duration: ms(1_000),
            window: (ms(300), ms(1_000)),
            interval: ms(35),
            links: vec![scenario::Link::new("bottleneck", 40_000_000, 60_000)],
            flows,
            hash: String::new(),
        }
    }

    fn lookahead(scenario: &Scenario) -> Option<Nanos> {
        let mut observer = NullObserver;
        let engine = Engine::new(scenario, &mut observer, false).expect("it is valid");
        engine.epochs.map(|epochs| epochs.lookahead)
    }

    #[test]
    fn the_lookahead_is_the_shortest_way_to_a_receiver_at_any_time() {
        assert_eq!(lookahead(&meeting(vec![flow(30), flow(10)])), Some(5 * MS));
        let falls = Flow { rtt_at: vec![(ms(100), ms(4)), (ms(200), ms(50))], ..flow(30) };
        assert_eq!(lookahead(&meeting(vec![falls, flow(10)])), Some(2 * MS));
        // 3 ms of the 10 are on the link's line, half of the others behind it
        let mut with_line = meeting(vec![flow(10)]);
        with_line.links[0].line = scenario::Line { delay: ms(3), ..scenario::Line::default() };
        assert_eq!(lookahead(&with_line), Some(6_500_000));
    }

    #[test]
    fn epochs_need_a_propagation_delay_and_a_single_shared_fifo() {
        let sizes = Sizes { name: "one".to_owned(), cdf: [(1_000, 1)].into() };
        let workload = Flow { arrivals: Some(Arrivals { per_s_milli: 1_000, sizes }), ..flow(10) };
        let far = Flow { access_delay: ms(1), ..flow(10) };
        for one in [flow(0), workload, far] {
            assert_eq!(lookahead(&meeting(vec![flow(10), one])), None);
        }
        let mut with_aqm = meeting(vec![flow(10)]);
        with_aqm.links[0].queue = Queue::Codel(Codel::default());
        let mut shared_back = meeting(vec![Flow { reverse: vec!["back".to_owned()], ..flow(10) }]);
        shared_back.links.push(scenario::Link::new("back", 1_000_000, 10_000));
        assert_eq!((lookahead(&with_aqm), lookahead(&shared_back)), (None, None));
    }

    /// Returns a run without its cost. As text, because NaN is not equal to itself.
    fn text(run: Run) -> String {
        format!("{}{:?}", run.summary.stable_json(), run.series)
    }

    #[test]
    fn an_epoch_with_too_many_packets_shortens_the_next_and_changes_no_result() {
        // twenty flows send 4,000 each as soon as their SYN is answered, which is in one epoch
        let sending = Sending { initial_cwnd_pkts: 4_000, ..Sending::default() };
        let flow = |_| Flow { cc: "reno".parse().unwrap(), sending, ..flow(40) };
        let mut scenario = meeting((0..20).map(flow).collect());
        (scenario.duration, scenario.window) = (ms(100), (ms(0), ms(100)));
        scenario.links[0] = scenario::Link::new("bottleneck", 10_000_000_000, 200_000_000);
        let run = |per_hop| {
            let (mut observer, mut shortest) = (NullObserver, Nanos::MAX);
            let mut engine = Engine::new(&scenario, &mut observer, per_hop).expect("it is valid");
            while engine.run_some(1, NEVER).is_some() {
                shortest = engine.epochs.iter().map(|epochs| epochs.span).fold(shortest, Nanos::min);
            }
            (shortest, text(engine.run(&scenario, &mut Silent).expect("nothing stops it")))
        };
        let ((shortest, in_epochs), (_, by_events)) = (run(false), run(true));
        assert_eq!(shortest, 10 * MS, "half of the lookahead");
        assert!(in_epochs == by_events);
    }

    #[test]
    fn results_do_not_depend_on_the_length_of_epochs() {
        let scenario = meeting(vec![flow(30), flow(10), flow(11)]);
        let run = |longest: Option<Nanos>| {
            let mut observer = NullObserver;
            let mut engine = Engine::new(&scenario, &mut observer, false).expect("it is valid");
            if let Some(longest) = longest {
                engine.epochs = Some(Epochs::new(longest));
            }
            text(engine.run(&scenario, &mut Silent).expect("nothing stops it"))
        };
        let expected = run(None);
        for longest in [1, 777, 100_000, 1_234_567, 5 * MS] {
            assert!(run(Some(longest)) == expected, "epochs of {longest} ns");
        }
    }
}
