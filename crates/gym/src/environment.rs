//! An environment: the episodes of a setup, one after the other.

use std::sync::Arc;
use std::time::Duration;

use fairpace_cc::{FEATURES, Interval};
use fairpace_scenario::Random;
use fairpace_scenario::{Cc, MOST_SEED, Scenario, Target};
use fairpace_sim::Stepper;

use crate::columns::{Form, INFO, InForce, OBSERVATIONS, observe, ratio};
use crate::error::Error;
use crate::scenarios::{Scenarios, Source, Unusable};
use crate::stop::Watch;

/// The shortest monitor interval, and the longest: the range of `interval` of the algorithm `agent`.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(10));
/// Length of a monitor interval in base RTTs: an action shows in the ACKs of an RTT later, and the interval
/// has an RTT of them.
const INTERVAL_RTTS: u32 = 2;

/// Longest simulated time between two checks of a step whether to end early: 80,000 packets at 100 Gbit/s, or
/// some 10 ms of a processor. Most intervals are as short.
const PIECE: Duration = Duration::from_millis(10);

/// Length of the measurement window of an episode.
const WINDOW: Duration = Duration::from_micros(1);

/// When the next episode starts after one that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// In the step that ends the episode: the step's observation is the first one of the next episode.
    #[default]
    SameStep,
    /// In the next step, whose action is ignored: the step that ends an episode has its last observation.
    NextStep,
}

/// The settings of an environment.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The scenarios of the episodes. All have equal numbers of flows and of agents, and last longer than two
    /// monitor intervals.
    pub scenarios: Scenarios,
    /// The seed of the first episode, at most [`MOST_SEED`]; the seeds of later episodes follow from it.
    pub seed: u64,
    /// The monitor interval, whole microseconds from 1 ms to 10 s. `None`: the `interval` that the scenario
    /// sets for its agents, else two of the shortest base RTT of the agents, at least 1 ms.
    pub interval: Option<Duration>,
}

impl Setup {
    /// Returns the setup of episodes of these scenarios, with the usual monitor interval.
    #[must_use]
    pub fn new(scenarios: Scenarios, seed: u64) -> Self {
        Setup { scenarios, seed, interval: None }
    }
}

/// An environment, and its rows of the last step.
pub(crate) struct Environment {
    index: usize,
    source: Source,
    interval: Option<Duration>,
    /// The seed of the first episode, until that episode starts.
    first_seed: Option<u64>,
    /// Random numbers for the seeds of later episodes.
    random: Random,
    episode: Option<Episode>,
    pub(crate) autoreset: Autoreset,
    pub(crate) agents: usize,
    pub(crate) flows: usize,
    pub(crate) rows: Rows,
}

/// The rows that a step fills.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) observations: Vec<f32>,
    /// The last observations of the episode that has just ended, if one has.
    pub(crate) last_observations: Vec<f32>,
    pub(crate) info: Vec<f32>,
    pub(crate) truncated: bool,
    pub(crate) error: Option<Error>,
}

/// A running episode of a scenario.
struct Episode {
    stepper: Stepper,
    interval: Duration,
    /// Number of monitor intervals that are over.
    steps: u32,
    /// The agents of the scenario.
    agents: Vec<AgentFlow>,
    goodputs_mbps: Vec<f64>,
}

struct AgentFlow {
    flow: usize,
    /// True if the last interval had an ACK: an algorithm would decide now.
    decides: bool,
}

impl Environment {
    /// Returns the environment before its first episode.
    pub(crate) fn new(index: usize, setup: Setup) -> Result<Self, Error> {
        let Setup { scenarios, seed, interval } = setup;
        let source = Source::new(scenarios).map_err(|reason| Error::Drawn { environment: index, reason })?;
        let mut environment = Environment {
            index,
            source,
            interval,
            first_seed: Some(seed),
            random: Random::new(seed),
            episode: None,
            autoreset: Autoreset::SameStep,
            agents: 0,
            flows: 0,
            rows: Rows::default(),
        };
        let scenario = environment.scenario_of(seed)?;
        environment.agents = agents(&scenario).count();
        environment.flows = scenario.flows.len();
        environment.rows.observations = vec![0.0; environment.agents * OBSERVATIONS.len()];
        environment.rows.last_observations = environment.rows.observations.clone();
        environment.rows.info = vec![0.0; environment.flows * INFO.len()];
        Ok(environment)
    }

    /// Returns whether `other` has equal scenarios, with equal ranges.
    pub(crate) fn draws_as(&self, other: &Self) -> bool {
        self.interval == other.interval && self.source.draws_as(&other.source)
    }

    /// Checks the scenarios at the ends of the ranges; if they are a list, all scenarios.
    pub(crate) fn check_extremes(&self, watch: &mut Watch<'_, '_>) -> Result<(), Error> {
        for number in 0..self.source.extremes() {
            if watch.stops() {
                return Err(Error::Stopped);
            }
            let (values, drawn) = self.source.extreme(number);
            let checked = drawn.and_then(|drawn| self.fitted(drawn)).and_then(|fitted| self.same(&fitted));
            checked.map_err(|unusable| Error::Drawn {
                environment: self.index,
                reason: format!("{values}: {}", unusable.reason()),
            })?;
        }
        Ok(())
    }

    /// Starts the first episode of this seed, or without a seed the next episode, and runs its first
    /// interval.
    pub(crate) fn reset(&mut self, seed: Option<u64>, watch: &mut Watch<'_, '_>) -> Result<(), Error> {
        if let Some(seed) = seed {
            (self.first_seed, self.random) = (Some(seed), Random::new(seed));
        }
        let seed = self.first_seed.take().unwrap_or_else(|| self.next_seed());
        self.start(seed, watch)
    }

    /// Ends the episode.
    pub(crate) fn end(&mut self) {
        self.episode = None;
    }

    fn next_seed(&mut self) -> u64 {
        self.random.next_u64() & MOST_SEED
    }

    /// Runs one interval. `actions` must have been checked.
    pub(crate) fn step(
        &mut self,
        form: Form,
        actions: &[f32],
        watch: &mut Watch<'_, '_>,
    ) -> Result<(), Error> {
        let Some(episode) = &mut self.episode else {
            return Err(Error::NotReset { environment: self.index });
        };
        if episode.stepper.is_over() {
            // the last step has ended it, and has left the next one to this step
            self.rows.truncated = false;
            self.rows.info.fill(0.0);
            let seed = self.next_seed();
            return self.start(seed, watch);
        }
        episode.act(form, actions);
        episode.run(watch)?;
        episode.observe(&mut self.rows.observations);
        episode.inform(&mut self.rows.info);
        self.rows.truncated = episode.stepper.is_over();
        if self.rows.truncated && self.autoreset == Autoreset::SameStep {
            self.rows.last_observations.clone_from(&self.rows.observations);
            let seed = self.next_seed();
            self.start(seed, watch)?;
        }
        Ok(())
    }

    fn start(&mut self, seed: u64, watch: &mut Watch<'_, '_>) -> Result<(), Error> {
        self.episode = None;
        let scenario = Arc::new(self.scenario_of(seed)?);
        self.same(&scenario).map_err(|unusable| unusable.error(self.index, seed))?;
        let stepper = Stepper::new(Arc::clone(&scenario)).map_err(|e| self.unfit(seed, e.to_string()))?;
        let mut episode = Episode {
            stepper,
            interval: scenario.interval,
            steps: 0,
            agents: self::agents(&scenario).map(|flow| AgentFlow { flow, decides: false }).collect(),
            goodputs_mbps: vec![0.0; self.flows],
        };
        episode.run(watch)?;
        episode.observe(&mut self.rows.observations);
        self.episode = Some(episode);
        Ok(())
    }

    fn scenario_of(&self, seed: u64) -> Result<Scenario, Error> {
        if seed > MOST_SEED {
            return Err(self.unfit(seed, format!("a seed is at most {MOST_SEED}")));
        }
        let fitted = self.source.draw(seed).and_then(|drawn| self.fitted(drawn));
        fitted.map_err(|unusable| unusable.error(self.index, seed))
    }

    /// Returns the scenario of an episode. Its time series has one point per monitor interval. Its
    /// measurement window is its end: environments do not read metrics of a window, and percentiles take a
    /// quarter of the time.
    fn fitted(&self, mut scenario: Scenario) -> Result<Scenario, Unusable> {
        let interval = self.interval_of(&scenario).map_err(Unusable::Unfit)?;
        if scenario.duration <= interval * 2 {
            return Err(Unusable::Unfit(format!(
                "the scenario lasts {:?}, but an episode is longer than two monitor intervals of \
                 {interval:?}; lengthen `duration`",
                scenario.duration
            )));
        }
        scenario.interval = interval;
        scenario.window = (scenario.duration.saturating_sub(WINDOW), scenario.duration);
        for flow in scenario.flows.iter_mut().filter(|flow| is_agent(&flow.cc)) {
            let set = flow.cc.set("interval", &format!("{}us", interval.as_micros()));
            set.map_err(|error| Unusable::Unfit(error.to_string()))?;
        }
        scenario.sealed(Target::Simulator).map_err(|invalid| Unusable::Invalid(Box::new(invalid)))
    }

    /// Checks that a scenario has the environment's numbers of agents and flows.
    fn same(&self, scenario: &Scenario) -> Result<(), Unusable> {
        let [agents, flows] = [agents(scenario).count(), scenario.flows.len()];
        if (agents, flows) == (self.agents, self.flows) {
            return Ok(());
        }
        Err(Unusable::Unfit(format!(
            "{agents} agents among {flows} flows, but {} among {} in its first scenario; all its scenarios \
             need the same numbers",
            self.agents, self.flows
        )))
    }

    fn interval_of(&self, scenario: &Scenario) -> Result<Duration, String> {
        let flows = || agents(scenario).map(|flow| &scenario.flows[flow]);
        let Some(least_rtt) = flows().map(|flow| flow.rtt).min() else {
            return Err("no flow has `cc = \"agent\"`; give one to at least one flow".to_owned());
        };
        if let Some(workload) = flows().find(|flow| flow.arrivals.is_some()) {
            return Err(format!(
                "flow \"{}\" is a workload of many connections; an agent is one connection",
                workload.name
            ));
        }
        let mut set = flows().filter_map(|flow| set_interval(&flow.cc));
        let interval = match (self.interval, set.next()) {
            (Some(interval), _) => interval,
            (None, Some(first)) if set.all(|other| other == first) => first,
            (None, Some(_)) => {
                return Err("its agents have different `interval`s; an environment has one".to_owned());
            }
            (None, None) => {
                // a drawn RTT can have any nanosecond
                let whole_us = (least_rtt * INTERVAL_RTTS).as_micros();
                Duration::from_micros(u64::try_from(whole_us).unwrap_or(u64::MAX))
                    .clamp(INTERVALS.0, INTERVALS.1)
            }
        };
        if !(INTERVALS.0..=INTERVALS.1).contains(&interval) || interval.subsec_nanos() % 1_000 != 0 {
            return Err(format!(
                "a monitor interval of {interval:?}; it is whole microseconds from 1 ms to 10 s"
            ));
        }
        Ok(interval)
    }

    fn unfit(&self, seed: u64, reason: String) -> Error {
        Error::Unfit { environment: self.index, seed, reason }
    }

    /// The scenario of the current episode.
    pub(crate) fn scenario(&self) -> Option<&Scenario> {
        self.episode.as_ref().map(|episode| &**episode.stepper.scenario())
    }

    /// The statistics of an agent's last interval.
    pub(crate) fn interval(&self, agent: usize) -> Option<Interval> {
        let episode = self.episode.as_ref()?;
        episode.interval_of(episode.agents.get(agent)?.flow)
    }

    /// The name of an agent's flow.
    pub(crate) fn agent_name(&self, agent: usize) -> String {
        let flow = self.episode.as_ref().and_then(|episode| Some(episode.agents.get(agent)?.flow));
        let name = self.scenario().zip(flow).map(|(scenario, flow)| scenario.flows[flow].name.clone());
        name.unwrap_or_else(|| agent.to_string())
    }
}

impl Episode {
    /// Hands in the actions of the agents that had an ACK.
    fn act(&mut self, form: Form, actions: &[f32]) {
        for (agent, row) in self.agents.iter().zip(actions.chunks_exact(form.actions().len())) {
            if agent.decides
                && let Some(controller) = self.stepper.controller_mut(agent.flow)
            {
                let taken = controller.act(form.action(row));
                debug_assert!(taken.is_ok(), "it has been checked: {taken:?}");
            }
        }
    }

    /// Runs to the end of the next interval.
    fn run(&mut self, watch: &mut Watch<'_, '_>) -> Result<(), Error> {
        self.steps += 1;
        let end = self.interval.saturating_mul(self.steps);
        loop {
            if watch.stops() {
                return Err(Error::Stopped);
            }
            let pause = self.stepper.now().saturating_add(PIECE).min(end);
            self.stepper.run_until(pause);
            if pause == end || self.stepper.is_over() {
                return Ok(());
            }
        }
    }

    fn interval_of(&self, flow: usize) -> Option<Interval> {
        let now_us = u64::try_from(self.stepper.now().as_micros()).unwrap_or(u64::MAX);
        self.stepper.controller(flow)?.interval(now_us)
    }

    fn features_of(&self, flow: usize, interval: &Interval) -> [i32; FEATURES] {
        let controller = self.stepper.controller(flow);
        controller.and_then(|controller| controller.features(interval)).unwrap_or_default()
    }

    /// Fills a row per agent.
    fn observe(&mut self, observations: &mut [f32]) {
        let rows = observations.chunks_exact_mut(OBSERVATIONS.len());
        for (agent, row) in (0..self.agents.len()).zip(rows) {
            let flow = self.agents[agent].flow;
            let interval = self.interval_of(flow);
            self.agents[agent].decides = interval.is_some_and(|interval| interval.acks > 0);
            match interval {
                None => row.fill(0.0),
                Some(interval) => {
                    let in_force = InForce {
                        cwnd_pkts: self.stepper.cwnd_pkts(flow).unwrap_or(0),
                        pacing_rate_bytes_per_s: self.stepper.pacing_rate_Bps(flow).unwrap_or(0),
                        features: self.features_of(flow, &interval),
                    };
                    row.copy_from_slice(&observe(&interval, in_force));
                }
            }
        }
    }

    /// Fills a row per flow.
    fn inform(&mut self, info: &mut [f32]) {
        let point = self.steps as usize - 1;
        for (flow, goodput_mbps) in self.goodputs_mbps.iter_mut().enumerate() {
            let found = self.stepper.flow_point(flow, point);
            *goodput_mbps = found.map_or(0.0, |found| f64::from(found.goodput_mbps));
        }
        let all: f64 = self.goodputs_mbps.iter().sum();
        for ((flow, goodput_mbps), row) in
            self.goodputs_mbps.iter().enumerate().zip(info.chunks_exact_mut(INFO.len()))
        {
            let links = self.stepper.data_links(flow);
            let delays = links.filter_map(|link| self.stepper.link_point(link, point));
            // NaN, where no packet left, is less than any delay
            let longest = delays.fold(0.0, |longest: f32, link| longest.max(link.queue_delay_ms));
            row.copy_from_slice(&[*goodput_mbps as f32, ratio(*goodput_mbps, all) as f32, longest]);
        }
    }
}

fn is_agent(cc: &Cc) -> bool {
    matches!(cc, Cc::Ours(ours) if ours.algorithm().is_agent())
}

/// Returns the indices of the flows that are agents.
fn agents(scenario: &Scenario) -> impl Iterator<Item = usize> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter(|(_, flow)| is_agent(&flow.cc)).map(|(index, _)| index)
}

/// Returns the monitor interval that a scenario sets.
fn set_interval(cc: &Cc) -> Option<Duration> {
    let Cc::Ours(ours) = cc else { return None };
    cc.settings().iter().find(|(name, _)| *name == "interval")?;
    ours.params().get("interval").map(|us| Duration::from_micros(us.into()))
}

// the columns that `inform` fills
const _: () = assert!(INFO.len() == 3);
