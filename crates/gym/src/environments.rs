//! Many environments, stepped together on a pool of threads.

use std::ops::Range;

use fairpace_cc::Interval;
use fairpace_scenario::Scenario;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::columns::{Form, INFO, OBSERVATIONS};
use crate::environment::{Environment, Setup};
use crate::error::Error;

/// Environments that a thread takes at once, at most: about 0.1 ms, a hundred times what it costs to take
/// them.
const AT_ONCE: usize = 16;
/// Of fewer environments, each thread takes this many shares: the last one then keeps the others waiting for
/// an eighth of the time at most.
const SHARES: usize = 8;

/// A batch of independent environments.
///
/// An episode runs its scenario from the start to the end. When it is reset, an environment runs the first
/// monitor interval, in which its agents have no action yet; the first observation is of it. Each step then
/// hands in an action per agent and runs one interval. The action of an agent whose last observation has no
/// ACK is ignored: an algorithm decides when an ACK arrives. Rows of arrays are in the order of the
/// environments, then of the flows in the scenario.
pub struct Environments {
    environments: Vec<Environment>,
    form: Form,
    /// `None`: one thread, the caller's.
    pool: Option<ThreadPool>,
    /// The first row of each environment's agents and of its flows, and behind them the numbers of rows.
    first_agents: Vec<usize>,
    first_flows: Vec<usize>,
}

/// The arrays that a step fills.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// A row of [`OBSERVATIONS`] per agent. Where an episode has ended, they are the first of the next one.
    pub observations: &'a mut [f32],
    /// The same, of episodes that have ended: their last observations. Other rows stay as they are.
    pub final_observations: &'a mut [f32],
    /// A row of [`INFO`] per flow, of the interval that has just ended.
    pub info: &'a mut [f32],
    /// Per environment: the episode has ended with its scenario.
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
    /// The arrays, to be filled.
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
    /// Environments with actions of this form, stepped on `jobs` threads; `None`: one per core. They have no
    /// episode before they are [reset](Environments::reset).
    ///
    /// # Errors
    /// There is none, a setup is wrong, or the system starts no threads.
    pub fn new(
        setups: impl IntoIterator<Item = Setup>,
        form: Form,
        jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let setups: Vec<Setup> = setups.into_iter().collect();
        let environments =
            setups.into_iter().enumerate().map(|(index, setup)| Environment::new(index, setup));
        let environments = environments.collect::<Result<Vec<_>, Error>>()?;
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
        Ok(Environments { pool: pool(jobs)?, environments, form, first_agents, first_flows })
    }

    /// Number of environments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.environments.len()
    }

    /// Never: there is at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The form of actions.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Rows of actions and observations: the agents of all environments.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.first_agents[self.len()]
    }

    /// Rows of ground truth: the flows of all environments.
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

    /// Arrays of the lengths that a step fills.
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

    /// The scenario of an environment's current episode, with its seed. `None`: there is none.
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
    /// seeds of later episodes follow from them. Without seeds, the next episodes start; at first, those of
    /// the setups' seeds.
    ///
    /// # Errors
    /// An array has another length, or a seed or a scenario is wrong.
    pub fn reset(&mut self, seeds: Option<&[u64]>, observations: &mut [f32]) -> Result<(), Error> {
        self.check_observations("observations", observations)?;
        if let Some(seeds) = seeds {
            check_length("seeds", seeds.len(), self.len(), 1)?;
        }
        each(self.pool.as_ref(), &mut self.environments, |environment, index| {
            environment.reset(seeds.map(|seeds| seeds[index]))
        })?;
        for index in 0..self.len() {
            self.gather(index, observations);
        }
        Ok(())
    }

    /// The same with one environment. Rows of others stay as they are.
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
        one.reset(seed)?;
        self.gather(environment, observations);
        Ok(())
    }

    /// Takes a row of [`Form::actions`] per agent, and runs every environment for one monitor interval, or to
    /// the end of its scenario. There the next episode starts.
    ///
    /// # Errors
    /// An array has another length, or a value is not a number in its range: nothing has happened then. Or
    /// the scenario of a next episode is wrong: that environment has to be reset, and the others have gone
    /// on.
    pub fn step(&mut self, actions: &[f32], outputs: Outputs<'_>) -> Result<(), Error> {
        self.check(actions, &outputs)?;
        let (form, first_agents) = (self.form, &self.first_agents);
        let columns = form.actions().len();
        let step = |environment: &mut Environment, index: usize| {
            let Range { start, end } = rows(first_agents, index);
            environment.step(form, &actions[start * columns..end * columns])
        };
        let done = each(self.pool.as_ref(), &mut self.environments, step);
        let Outputs { observations, final_observations, info, truncated } = outputs;
        for (index, is_truncated) in truncated.iter_mut().enumerate() {
            self.gather(index, observations);
            let rows = &self.environments[index].rows;
            *is_truncated = rows.truncated;
            if rows.truncated {
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

/// Does something with every environment. Of several errors, that of the first environment is returned.
fn each(
    pool: Option<&ThreadPool>,
    environments: &mut [Environment],
    perform: impl Fn(&mut Environment, usize) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let one = |(index, environment): (usize, &mut Environment)| {
        environment.rows.error = perform(environment, index).err();
    };
    match pool {
        None => environments.iter_mut().enumerate().for_each(one),
        Some(pool) => {
            let at_once = (environments.len() / (SHARES * pool.current_num_threads())).clamp(1, AT_ONCE);
            pool.install(|| environments.par_iter_mut().enumerate().with_min_len(at_once).for_each(one));
        }
    }
    environments.iter_mut().find_map(|environment| environment.rows.error.take()).map_or(Ok(()), Err)
}

fn pool(jobs: Option<usize>) -> Result<Option<ThreadPool>, Error> {
    if jobs.is_some_and(|jobs| jobs <= 1) {
        return Ok(None);
    }
    let jobs = jobs.unwrap_or(0); // one per core
    let name = |thread| format!("environments {thread}");
    let pool = ThreadPoolBuilder::new().num_threads(jobs).thread_name(name).build();
    pool.map(Some).map_err(|error| Error::Threads { jobs, reason: error.to_string() })
}

fn rows(first: &[usize], environment: usize) -> Range<usize> {
    match first.get(environment..environment.saturating_add(2)) {
        Some(&[start, end]) => start..end,
        _ => 0..0,
    }
}

/// Copies the values of some rows to their place in the array of all.
fn copy(all: &mut [f32], rows: Range<usize>, values: &[f32]) {
    let columns = values.len() / rows.len().max(1);
    all[rows.start * columns..rows.end * columns].copy_from_slice(values);
}

fn check_length(what: &'static str, found: usize, rows: usize, columns: usize) -> Result<(), Error> {
    if found == rows * columns { Ok(()) } else { Err(Error::Length { what, found, rows, columns }) }
}

/// Another thread may own them: a binding needs that.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Environments>();
};
