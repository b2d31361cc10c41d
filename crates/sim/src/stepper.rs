//! A simulation that pauses: its owner may change the algorithms at each pause.

use std::sync::Arc;
use std::time::Duration;

use fairpace_cc::{Controller, NO_RATE};
use fairpace_netem::Nanos;
use fairpace_results::observer::NullObserver;
use fairpace_results::{Monitor, Run};
use fairpace_scenario::{Scenario, ns};

use crate::connection::Connection;
use crate::engine::Engine;
use crate::error::Error;

/// A simulation that runs up to a time, and pauses there.
///
/// A pause changes nothing: whatever the number of pauses, the record is that of [`run`](crate::run), byte by
/// byte. At a pause, all events before that time have happened, and no event at that time but the
/// measurements of an interval that ends there. So times that are multiples of [`Scenario::interval`] have
/// the points of the series.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use fairpace_cc::Action;
/// use fairpace_results::Silent;
/// use fairpace_scenario::{Target, parse};
/// use fairpace_sim::Stepper;
///
/// let text = r#"
///     title = "a rate from outside"
///     duration = "2s"
///     interval = "100ms"
///     [[link]]
///     rate = "12mbit"
///     buffer = "1bdp"
///     [[flow]]
///     cc = "agent"
///     rtt = "30ms"
///     set = { interval = "100ms" }
/// "#;
/// let scenario = Arc::new(parse("agent.toml", text, &[], Target::Simulator)?);
/// let mut stepper = Stepper::new(scenario)?;
/// stepper.run_until(Duration::from_millis(100));
/// let agent = stepper.controller_mut(0).expect("it has connected");
/// assert!(agent.interval(100_000).is_some_and(|interval| interval.acks > 0));
/// agent.act(Action::Absolute { pacing_rate_Bps: 1_000_000, cwnd_pkts: 100 })?;
/// stepper.run_until(Duration::from_secs(1));
/// let goodput_mbps = stepper.flow_point(0, 9).expect("the tenth interval is over").goodput_mbps;
/// assert!((goodput_mbps - 8.0).abs() < 0.2);
/// let run = stepper.finish(&mut Silent)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stepper {
    engine: Engine<NullObserver>,
    scenario: Arc<Scenario>,
    now: Nanos,
}

/// Measurements of a flow in one interval of the time series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowPoint {
    /// Goodput: in-order payload that reached the receiving application, Mbit/s.
    pub goodput_mbps: f32,
    /// Mean RTT of the packets that crossed the path, ms; NaN: no packet did.
    pub rtt_ms: f32,
}

/// Measurements of a link in one interval of the time series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPoint {
    /// Mean queueing delay of the packets that departed, ms; NaN: no packet did.
    pub queue_delay_ms: f32,
    /// Number of packets that were dropped.
    pub drops: u32,
}

impl Stepper {
    /// Returns a stepper at the start of a scenario, which must have been checked, as for
    /// [`run`](crate::run).
    ///
    /// # Errors
    /// The errors of [`run`](crate::run) except [`Error::Stopped`].
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, Error> {
        Self::start(scenario, false)
    }

    /// Returns a stepper like [`new`](Stepper::new), with equal results bit for bit, without fast path and
    /// epochs.
    ///
    /// # Errors
    /// See [`new`](Stepper::new).
    #[cfg(feature = "testing")]
    pub fn new_per_hop(scenario: Arc<Scenario>) -> Result<Self, Error> {
        Self::start(scenario, true)
    }

    fn start(scenario: Arc<Scenario>, per_hop: bool) -> Result<Self, Error> {
        Ok(Self { engine: Engine::new(&scenario, NullObserver, per_hop)?, scenario, now: 0 })
    }

    /// Runs up to `at`, at most to the end of the scenario, and pauses there. A time that has passed changes
    /// nothing.
    pub fn run_until(&mut self, at: Duration) {
        self.now = ns(at).min(self.engine.simulation.schedule.end).max(self.now);
        self.engine.run_until(self.now);
    }

    /// The simulated time of the pause.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Returns whether the pause is at the end of the scenario.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.now >= self.engine.simulation.schedule.end
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The algorithm of the flow with this index in the scenario. `None`: there is no such flow, the flow has
    /// not connected yet, or it is a workload, which has many connections.
    #[must_use]
    pub fn controller(&self, flow: usize) -> Option<&Controller> {
        Some(self.connection(flow)?.sender.control()?.controller())
    }

    /// The algorithm of the flow with this index, to change its state. Its decision is in force from its next
    /// call on. `None`: see [`controller`](Stepper::controller).
    pub fn controller_mut(&mut self, flow: usize) -> Option<&mut Controller> {
        let slot = self.slot(flow)?;
        let connection = &mut self.engine.simulation.connections[slot];
        Some(connection.sender.control_mut()?.controller_mut())
    }

    /// The cwnd in force of a flow, packets; `None`: see [`controller`](Stepper::controller).
    #[must_use]
    pub fn cwnd_pkts(&self, flow: usize) -> Option<u32> {
        self.controller(flow)?;
        Some(self.connection(flow)?.sender.cwnd_pkts())
    }

    /// The pacing rate in force of a flow, bytes of payload per second; `None`: the flow is not paced, or see
    /// [`controller`](Stepper::controller).
    #[must_use]
    #[allow(non_snake_case)]
    pub fn pacing_rate_Bps(&self, flow: usize) -> Option<u64> {
        self.controller(flow)?;
        let sender = &self.connection(flow)?.sender;
        Some(sender.pacing_rate_Bps()).filter(|rate| sender.is_paced() && *rate != NO_RATE)
    }

    /// The measurements of a flow in the interval of the time series with this index, from 0. `None`: there
    /// is no such flow, or the interval is not over.
    pub fn flow_point(&mut self, flow: usize, interval: usize) -> Option<FlowPoint> {
        self.has_passed(interval)?;
        let meter = &mut self.engine.simulation.flows.get_mut(flow)?.meter;
        meter.settle(self.now);
        meter.point(interval).map(|(goodput_mbps, rtt_ms)| FlowPoint { goodput_mbps, rtt_ms })
    }

    /// The measurements of a link in the interval of the time series with this index, from 0. `None`: there
    /// is no such link, or the interval is not over.
    #[must_use]
    pub fn link_point(&self, link: usize, interval: usize) -> Option<LinkPoint> {
        self.has_passed(interval)?;
        let series = self.engine.simulation.network.links().nth(link)?.meter().series();
        let (queue_delay_ms, drops) = series.queue_delay_ms.get(interval).zip(series.drops.get(interval))?;
        Some(LinkPoint { queue_delay_ms: *queue_delay_ms, drops: *drops })
    }

    /// The links that the data of a flow takes, by their indices in the scenario.
    pub fn data_links(&self, flow: usize) -> impl Iterator<Item = usize> {
        let network = &self.engine.simulation.network;
        let has_flow = flow < network.paths.len();
        has_flow.then(|| network.data_links(flow as u32)).into_iter().flatten()
    }

    /// Runs to the end, as [`run`](crate::run) with this monitor, and returns the record. Its cost covers
    /// this call alone.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn finish(self, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        self.engine.run(&self.scenario, monitor)
    }

    /// Checks that the interval is over; `None`: it is not. Receivers are computed ahead of the pause, and
    /// may have intervals that are not over.
    fn has_passed(&self, interval: usize) -> Option<()> {
        let schedule = self.engine.simulation.schedule;
        let end = (interval as u64 + 1).saturating_mul(schedule.interval).min(schedule.end);
        (end <= self.now).then_some(())
    }

    fn connection(&self, flow: usize) -> Option<&Connection> {
        self.slot(flow).map(|slot| &self.engine.simulation.connections[slot])
    }

    /// Returns the slot of a flow that is no workload. These slots are in the order of flows, before all
    /// others.
    fn slot(&self, flow: usize) -> Option<usize> {
        let simulation = &self.engine.simulation;
        if simulation.flows.get(flow)?.workload.is_some() {
            return None;
        }
        Some(flow - simulation.workloads.iter().filter(|workload| **workload < flow).count())
    }
}

/// Checks that a stepper can go from thread to thread.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Stepper>();
};
