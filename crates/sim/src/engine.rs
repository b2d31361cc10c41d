//! The loop over events.

use fairpace_path::{Detour, Fate, Link, Nanos, Packet, Random, SECOND, Schedule, build};
use fairpace_results::{FlowSeries, Monitor, Run};
use fairpace_scenario::Scenario;
use fairpace_tcp::Segment;

use crate::Error;
use crate::cost::Stopwatch;
use crate::flow::Flow;
use crate::queue::{NEVER, Queue};
use crate::record;

/// Events between two looks at the wall clock: a few milliseconds.
const EVENTS_PER_LOOK: u32 = 1 << 14;
/// Wall-clock time between two reports to the monitor.
const REPORT_EVERY_S: f64 = 0.1;

/// The element whose events are the points of the time series; links follow, then detours, then flows.
const CLOCK: usize = 0;
const FIRST_LINK: usize = 1;

pub(crate) struct Engine {
    queue: Queue,
    pub(crate) links: Vec<Link<Segment>>,
    /// Behind the last link, for the flows that have one.
    detours: Vec<Detour<Segment>>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) series: Vec<FlowSeries>,
    /// Points of the time series that have been taken.
    pub(crate) points: Vec<Nanos>,
    schedule: Schedule,
    first_flow: usize,
}

impl Engine {
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, Error> {
        for (what, empty) in [("links", scenario.links.is_empty()), ("flows", scenario.flows.is_empty())] {
            if empty {
                return Err(Error::Empty { what });
            }
        }
        let schedule = build::schedule(scenario);
        let links = (0..).zip(&scenario.links).map(|(i, asked)| {
            build::link(scenario, i, schedule)
                .map_err(|reason| Error::Loss { link: asked.name.clone(), reason })
        });
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let (detours, of_flow) = build::detours(scenario);
        let mut random = Random::new(scenario.seed);
        let flows = (0..).zip(&scenario.flows);
        let flows =
            flows.map(|(i, _)| Flow::new(scenario, i, random.next_u32(), of_flow[i as usize], schedule));
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        let first_flow = FIRST_LINK + links.len() + detours.len();
        let mut queue = Queue::new(first_flow + flows.len());
        queue.set(CLOCK, schedule.points().next().unwrap_or(NEVER));
        for (i, flow) in flows.iter().enumerate() {
            queue.set(first_flow + i, flow.next_event());
        }
        let series = vec![FlowSeries::default(); flows.len()];
        Ok(Engine { queue, links, detours, flows, series, points: Vec::new(), schedule, first_flow })
    }

    pub(crate) fn run(mut self, scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        let stopwatch = Stopwatch::start();
        let seconds = |t: Nanos| t as f64 / SECOND as f64;
        let total_s = seconds(self.schedule.end);
        let mut reported_s = 0.0;
        while let Some(now) = self.run_some(EVENTS_PER_LOOK) {
            if monitor.stop() {
                return Err(Error::Stopped { at_s: seconds(now), total_s });
            }
            if stopwatch.wall_s() - reported_s >= REPORT_EVERY_S {
                reported_s = stopwatch.wall_s();
                monitor.progress(seconds(now), total_s);
            }
        }
        monitor.progress(total_s, total_s);
        for link in &mut self.links {
            link.finish(self.schedule.end);
        }
        for flow in &mut self.flows {
            flow.meter.finish(self.schedule.end);
        }
        Ok(record::conclude(self, scenario, &stopwatch))
    }

    /// Runs so many events; `None` when the run is over, else the time reached.
    fn run_some(&mut self, events: u32) -> Option<Nanos> {
        let mut now = 0;
        for _ in 0..events {
            let (at, who) = self.queue.first();
            if at > self.schedule.end {
                return None;
            }
            now = at;
            if who >= self.first_flow {
                self.run_flow(who - self.first_flow, now);
            } else if who >= FIRST_LINK {
                self.run_link(who - FIRST_LINK, now);
            } else {
                self.take_point(now);
            }
        }
        Some(now)
    }

    #[inline]
    fn run_flow(&mut self, i: usize, now: Nanos) {
        let flow = &mut self.flows[i];
        flow.run(now, &mut self.links[0]);
        self.queue.set(self.first_flow + i, flow.next_event());
        self.queue.set(FIRST_LINK, self.links[0].next_event().unwrap_or(NEVER));
    }

    #[inline]
    fn run_link(&mut self, i: usize, now: Nanos) {
        if i >= self.links.len() {
            self.run_detour(i - self.links.len(), now);
            return;
        }
        while let Some(departed) = self.links[i].poll(now) {
            let who = departed.packet.flow as usize;
            if departed.fate != Fate::Delivered {
                self.flows[who].dropped_pkts += 1;
            } else if i + 1 < self.links.len() {
                if self.links[i + 1].push(now, departed.packet).is_err() {
                    self.flows[who].dropped_pkts += 1;
                }
                self.queue.set(FIRST_LINK + i + 1, self.links[i + 1].next_event().unwrap_or(NEVER));
            } else if self.detours.is_empty() || !self.detours_keep(now, departed.packet) {
                let next = self.flows[who].arrive(now, departed.packet.payload);
                self.queue.set_earlier(self.first_flow + who, next);
            }
        }
        self.queue.set(FIRST_LINK + i, self.links[i].next_event().unwrap_or(NEVER));
    }

    #[cold]
    fn run_detour(&mut self, i: usize, now: Nanos) {
        while let Some(departed) = self.detours[i].poll(now) {
            let who = departed.packet.flow as usize;
            let next = self.flows[who].arrive(now, departed.packet.payload);
            self.queue.set_earlier(self.first_flow + who, next);
        }
        let next = self.detours[i].next_event().unwrap_or(NEVER);
        self.queue.set(FIRST_LINK + self.links.len() + i, next);
    }

    /// Does a packet that has left the last link take its flow's detour?
    #[cold]
    fn detours_keep(&mut self, now: Nanos, packet: Packet<Segment>) -> bool {
        let Some(i) = self.flows[packet.flow as usize].detour else { return false };
        let keeps = self.detours[i].keeps(now, packet);
        let next = self.detours[i].next_event().unwrap_or(NEVER);
        self.queue.set(FIRST_LINK + self.links.len() + i, next);
        keeps
    }

    #[cold]
    fn take_point(&mut self, now: Nanos) {
        for (flow, series) in self.flows.iter().zip(&mut self.series) {
            record::sample(series, flow);
        }
        self.points.push(now);
        self.check_conservation();
        let next = now.saturating_add(self.schedule.interval).min(self.schedule.end);
        self.queue.set(CLOCK, if next > now { next } else { NEVER });
    }

    /// What entered the path has arrived, was dropped, or is on it.
    fn check_conservation(&self) {
        if cfg!(debug_assertions) {
            let total = |count: fn(&Flow) -> u64| self.flows.iter().map(count).sum::<u64>();
            let links = self.links.iter().map(|l| l.len() as u64).sum::<u64>();
            let inside = links + self.detours.iter().map(|d| d.len() as u64).sum::<u64>();
            let gone = total(|f| f.arrived_pkts) + total(|f| f.dropped_pkts);
            assert_eq!(total(|f| f.entered_pkts), gone + inside, "a packet was lost or invented");
        }
    }
}
