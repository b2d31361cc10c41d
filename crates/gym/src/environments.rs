//! Many environments, stepped together on a pool of threads.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use fairpace_cc::Interval;
use fairpace_scenario::Scenario;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::columns::{Form, INFO, OBSERVATIONS};
use crate::environment::{Autoreset, Environment, Setup};
use crate::error::Error;
use crate::stop::{ASK_EVERY, Stop, Watch};

/// Most environments that a thread takes at once: about 0.1 ms, a hundred times the cost of taking them.
const AT_ONCE: usize = 16;
/// Number of shares that each thread takes if there are fewer environments: the last share then keeps the
/// others waiting for an eighth of the time at most.
const SHARES: usize = 8;
/// Most threads of a batch. More than one per core do not step faster, and thousands are not started within a
/// minute.
const MOST_THREADS: usize = 256;

/// A batch of independent environments.
///
/// An episode runs its scenario from the start to the end. When it is reset, an environment runs the first
/// monitor interval, in which its agents have no action yet; the first observation covers this interval. Each
/// step then hands in an action per agent and runs one interval. The action of an agent whose last
/// observation has no ACK is ignored: an algorithm decides when an ACK arrives. Rows of arrays are in the
/// order of the environments, then of the flows in the scenario.
pub struct Environments {
    environments: Vec<Environment>,
    form: Form,
    /// The pool of threads; `None`: one thread, the caller's.
    pool: Option<ThreadPool>,
    /// The first row of each environment's agents and of its flows, and behind them the numbers of rows.
    first_agents: Vec<usize>,
    first_flows: Vec<usize>,
}

/// The arrays that a step fills.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// A row of [`OBSERVATIONS`] per agent. Where an episode has ended, the first observations of the next
    /// episode; with [`Autoreset::NextStep`] its last ones, and in the next step the first ones.
    pub observations: &'a mut [f32],
    /// A row of [`OBSERVATIONS`] per agent of episodes that have ended: their last observations. Other rows
    /// do not change, and with [`Autoreset::NextStep`] none does.
    pub final_observations: &'a mut [f32],
    /// A row of [`INFO`] per flow, of the interval that has just ended; zeros where this step started an
    /// episode ([`Autoreset::NextStep`]).
    pub info: &'a mut [f32],
    /// True per environment whose episode has ended with its scenario.
    pub truncated: &'a mut [bool],
}

/// Arrays of the right lengths for [`Outputs`], filled with 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of `Outputs`")]
pub struct Batch {
    pub observations: Vec<f32>,
    pub final_observations: Vec<f32>,
    pub info: Vec<f32>,
    pub truncated: Vec<bool>,
}

impl Batch {
    /// Returns the arrays, to be filled.
    pub fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            observations: &mut self.observations,
            final_observations: &mut self.final_observations,
            info: &mut self.info,
            truncated: &mut self.truncated,
        }
    }
}

impl Environments {
    /// Returns environments with actions of this form, stepped on `jobs` threads; `None`: one per core. There
    /// are no more threads than environments, and at most 256. The environments have no episode before they
    /// are [reset](Environments::reset).
    ///
    /// Scenarios are checked where their ranges end: every scenario of a list; of ranges all corners while
    /// there are at most 64, of more ranges all least values, all largest values, and these two with each
    /// range alone at its other end.
    ///
    /// # Errors
    /// There is no setup, a setup is wrong, or the system starts no threads.
    pub fn new(
        setups: impl IntoIterator<Item = Setup>,
        form: Form,
        jobs: Option<usize>,
    ) -> Result<Self, Error> {
        Self::new_unless_stopped(setups, form, jobs, &mut || false)
    }

    /// Returns environments as [`new`](Environments::new) does, but ends early when `stop` returns true.
    ///
    /// # Errors
    /// The errors of [`new`](Environments::new), or [`Error::Stopped`].
    pub fn new_unless_stopped(
        setups: impl IntoIterator<Item = Setup>,
        form: Form,
        jobs: Option<usize>,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let mut watch = Watch::clock(stop);
        let mut environments: Vec<Environment> = Vec::new();
        for (index, setup) in setups.into_iter().enumerate() {
            if watch.stops() {
                return Err(Error::Stopped);
            }
            let environment = Environment::new(index, setup)?;
            // most batches have the same ranges everywhere, and checking them costs as much as many resets
            if !environments.last().is_some_and(|before| before.draws_as(&environment)) {
                environment.check_extremes(&mut watch)?;
            }
            environments.push(environment);
        }
        if environments.is_empty() {
            return Err(Error::NoEnvironment);
        }
        let first = |of: fn(&Environment) -> usize| {
            let mut rows = vec![0];
            for environment in &environments {
                rows.push(rows[rows.len() - 1] + of(environment));
            }
            rows
        };
        let (first_agents, first_flows) = (first(|e| e.agents), first(|e| e.flows));
        let pool = pool(threads(jobs, environments.len()))?;
        Ok(Environments { pool, environments, form, first_agents, first_flows })
    }

    /// Returns the environments with another start of the episodes after the first.
    #[must_use]
    pub fn autoreset(mut self, mode: Autoreset) -> Self {
        self.environments.iter_mut().for_each(|environment| environment.autoreset = mode);
        self
    }

    /// Number of environments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.environments.len()
    }

    /// Always false: there is at least one environment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of threads that step the environments.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// The form of actions.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Number of rows of actions and observations: the agents of all environments.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.first_agents[self.len()]
    }

    /// Number of rows of ground truth: the flows of all environments.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.first_flows[self.len()]
    }

    /// The rows of an environment's agents; empty: there is no such environment.
    #[must_use]
    pub fn agents_of(&self, environment: usize) -> Range<usize> {
        rows(&self.first_agents, environment)
    }

    /// The rows of an environment's flows; empty: there is no such environment.
    #[must_use]
    pub fn flows_of(&self, environment: usize) -> Range<usize> {
        rows(&self.first_flows, environment)
    }

    /// Returns arrays of the lengths that a step fills.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let observations = vec![0.0; self.agents() * OBSERVATIONS.len()];
        Batch {
            final_observations: observations.clone(),
            observations,
            info: vec![0.0; self.flows() * INFO.len()],
            truncated: vec![false; self.len()],
        }
    }

    /// The scenario of an environment's current episode, with its seed. `None`: it has no episode.
    #[must_use]
    pub fn scenario(&self, environment: usize) -> Option<&Scenario> {
        self.environments.get(environment)?.scenario()
    }

    /// The integers behind the last observation of an agent, which an algorithm in C sees. `None`: there is
    /// no such agent in this environment, or it has not connected.
    #[must_use]
    pub fn interval(&self, environment: usize, agent: usize) -> Option<Interval> {
        self.environments.get(environment)?.interval(agent)
    }

    /// Starts the first episode of these seeds, one per environment, and fills the first observations. The
    /// seeds of later episodes follow from them. Without seeds, the next episodes start; at first, the
    /// episodes of the setups' seeds.
    ///
    /// # Errors
    /// An array has another length, or a seed or a scenario is wrong.
    pub fn reset(&mut self, seeds: Option<&[u64]>, observations: &mut [f32]) -> Result<(), Error> {
        let seeds = match seeds {
            None => vec![None; self.len()],
            Some(seeds) => seeds.iter().copied().map(Some).collect(),
        };
        self.reset_unless_stopped(&seeds, observations, &mut || false)
    }

    /// Resets environments, with a seed for some of them: the others start their next episodes. It ends early
    /// when `stop` returns true.
    ///
    /// # Errors
    /// The errors of [`reset`](Environments::reset). Or [`Error::Stopped`]: all environments have to be
    /// reset.
    pub fn reset_unless_stopped(
        &mut self,
        seeds: &[Option<u64>],
        observations: &mut [f32],
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.check_observations("observations", observations)?;
        check_length("seeds", seeds.len(), self.len(), 1)?;
        each(self.pool.as_ref(), &mut self.environments, stop, |environment, index, watch| {
            environment.reset(seeds[index], watch)
        })?;
        for index in 0..self.len() {
            self.gather(index, observations);
        }
        Ok(())
    }

    /// Resets one environment. Rows of other environments do not change.
    ///
    /// # Errors
    /// There is no such environment, the array has another length, or the seed or the scenario is wrong.
    pub fn reset_one(
        &mut self,
        environment: usize,
        seed: Option<u64>,
        observations: &mut [f32],
    ) -> Result<(), Error> {
        self.check_observations("observations", observations)?;
        let environments = self.len();
        let one = self.environments.get_mut(environment);
        let one = one.ok_or(Error::NoSuchEnvironment { environment, environments })?;
        one.reset(seed, &mut Watch::clock(&mut || false))?;
        self.gather(environment, observations);
        Ok(())
    }

    /// Takes a row of [`Form::actions`] per agent, and runs every environment for one monitor interval, or to
    /// the end of its scenario, where the next episode starts ([`Autoreset`]).
    ///
    /// # Errors
    /// An array has another length, or a value is not a number in its range: nothing has happened then. Or
    /// the scenario of a next episode is wrong: that environment has to be reset, and the others have gone
    /// on.
    pub fn step(&mut self, actions: &[f32], outputs: Outputs<'_>) -> Result<(), Error> {
        self.step_unless_stopped(actions, outputs, &mut || false)
    }

    /// Steps as [`step`](Environments::step) does, but ends early when `stop` returns true.
    ///
    /// # Errors
    /// The errors of [`step`](Environments::step). Or [`Error::Stopped`]: all environments have to be reset,
    /// and the arrays are unchanged.
    pub fn step_unless_stopped(
        &mut self,
        actions: &[f32],
        outputs: Outputs<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.check(actions, &outputs)?;
        let (form, first_agents) = (self.form, &self.first_agents);
        let columns = form.actions().len();
        let step = |environment: &mut Environment, index: usize, watch: &mut Watch<'_, '_>| {
            let Range { start, end } = rows(first_agents, index);
            environment.step(form, &actions[start * columns..end * columns], watch)
        };
        let done = each(self.pool.as_ref(), &mut self.environments, stop, step);
        if matches!(done, Err(Error::Stopped)) {
            return done;
        }
        let Outputs { observations, final_observations, info, truncated } = outputs;
        for (index, is_truncated) in truncated.iter_mut().enumerate() {
            self.gather(index, observations);
            let rows = &self.environments[index].rows;
            *is_truncated = rows.truncated;
            if rows.truncated && self.environments[index].autoreset == Autoreset::SameStep {
                copy(final_observations, self.agents_of(index), &rows.last_observations);
            }
            copy(info, self.flows_of(index), &rows.info);
        }
        done
    }

    fn gather(&self, index: usize, observations: &mut [f32]) {
        copy(observations, self.agents_of(index), &self.environments[index].rows.observations);
    }

    fn check_observations(&self, what: &'static str, array: &[f32]) -> Result<(), Error> {
        check_length(what, array.len(), self.agents(), OBSERVATIONS.len())
    }

    fn check(&self, actions: &[f32], outputs: &Outputs<'_>) -> Result<(), Error> {
        let columns = self.form.actions();
        check_length("actions", actions.len(), self.agents(), columns.len())?;
        self.check_observations("observations", outputs.observations)?;
        self.check_observations("final_observations", outputs.final_observations)?;
        check_length("info", outputs.info.len(), self.flows(), INFO.len())?;
        check_length("truncated", outputs.truncated.len(), self.len(), 1)?;
        for (row, values) in actions.chunks_exact(columns.len()).enumerate() {
            for (value, column) in values.iter().zip(columns) {
                if !(column.least..=column.most).contains(value) {
                    let environment = self.first_agents.partition_point(|first| *first <= row) - 1;
                    let agent = row - self.first_agents[environment];
                    return Err(Error::Action {
                        environment,
                        agent: self.environments[environment].agent_name(agent),
                        column: column.name,
                        value: *value,
                        least: column.least,
                        most: column.most,
                    });
                }
            }
        }
        match self.environments.iter().position(|environment| environment.scenario().is_none()) {
            Some(environment) => Err(Error::NotReset { environment }),
            None => Ok(()),
        }
    }
}

/// Calls a function for every environment. Of several errors, the error of the first environment is returned.
/// The place of a stop differs from time to time, so no environment keeps its episode then.
fn each(
    pool: Option<&ThreadPool>,
    environments: &mut [Environment],
    stop: Stop<'_>,
    perform: impl Fn(&mut Environment, usize, &mut Watch<'_, '_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let one = |(index, environment): (usize, &mut Environment), watch: &mut Watch<'_, '_>| {
        environment.rows.error = perform(environment, index, watch).err();
    };
    let is_stopped = match pool {
        None => {
            let mut watch = Watch::clock(stop);
            environments.iter_mut().enumerate().for_each(|each| one(each, &mut watch));
            watch.stops()
        }
        Some(pool) => together(pool, environments, stop, one),
    };
    if is_stopped {
        environments.iter_mut().for_each(Environment::end);
        return Err(Error::Stopped);
    }
    environments.iter_mut().find_map(|environment| environment.rows.error.take()).map_or(Ok(()), Err)
}

/// Calls a function for every environment on the threads of the pool, while this thread waits and calls
/// `stop`. Returns whether `stop` returned true.
fn together(
    pool: &ThreadPool,
    environments: &mut [Environment],
    stop: Stop<'_>,
    perform: impl Fn((usize, &mut Environment), &mut Watch<'_, '_>) + Sync,
) -> bool {
    let at_once = (environments.len() / (SHARES * pool.current_num_threads())).clamp(1, AT_ONCE);
    let stops = AtomicBool::new(false);
    let (send, receive) = channel::<()>();
    pool.in_place_scope(|scope| {
        let (stops, perform) = (&stops, &perform);
        scope.spawn(move |_| {
            // dropped when all is done, also if it panics
            let _done = send;
            let all = environments.par_iter_mut().enumerate().with_min_len(at_once);
            all.for_each(|each| perform(each, &mut Watch::Flag(stops)));
        });
        while let Err(RecvTimeoutError::Timeout) = receive.recv_timeout(ASK_EVERY) {
            if stop() {
                stops.store(true, Ordering::Relaxed);
            }
        }
    });
    stops.into_inner()
}

fn threads(jobs: Option<usize>, environments: usize) -> usize {
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
    jobs.min(environments).clamp(1, MOST_THREADS)
}

/// Returns a pool of threads; `None`: the caller's thread is enough.
fn pool(threads: usize) -> Result<Option<ThreadPool>, Error> {
    if threads == 1 {
        return Ok(None);
    }
    let name = |thread| format!("environments {thread}");
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build();
    pool.map(Some).map_err(|error| Error::Threads { jobs: threads, reason: error.to_string() })
}

fn rows(first: &[usize], environment: usize) -> Range<usize> {
    match first.get(environment..environment.saturating_add(2)) {
        Some(&[start, end]) => start..end,
        _ => 0..0,
    }
}

/// Copies the values of some rows to their place in the array of all rows.
fn copy(all: &mut [f32], rows: Range<usize>, values: &[f32]) {
    let columns = values.len() / rows.len().max(1);
    all[rows.start * columns..rows.end * columns].copy_from_slice(values);
}

fn check_length(what: &'static str, found: usize, rows: usize, columns: usize) -> Result<(), Error> {
    if found == rows * columns { Ok(()) } else { Err(Error::Length { what, found, rows, columns }) }
}

/// Checks that another thread may own environments, as a language binding needs.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Environments>();
};
