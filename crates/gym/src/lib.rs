//! Environments for reinforcement learning: senders with the algorithm `agent` among others, on any scenario.
//!
//! [`Environments`] is a batch: [`step`](Environments::step) takes an action for each agent, runs every
//! simulation for one monitor interval on a pool of threads, and fills a row of observations per agent and a
//! row of ground truth per flow. [`OBSERVATIONS`], [`Form::actions`] and [`INFO`] name the columns, with
//! units and ranges. At the end of its scenario, an environment starts the next episode by itself, with the
//! next seed and, if scenarios are [drawn](Scenarios), another scenario. Results depend on seeds and actions,
//! not on the number of threads. Statistics and arithmetic are those of `lib/monitor.h` and `lib/action.h` in
//! fairpace-cc, so a policy in C makes equal decisions. This crate has no rewards, no learning and no Python.
//!
//! ```
//! use fairpace_gym::{Environments, Form, OBSERVATIONS, Scenarios, Setup};
//! use fairpace_scenario::{Target, parse};
//!
//! let text = r#"
//!     title = "an agent alone"
//!     duration = "3s"
//!     [[link]]
//!     rate = "12mbit"
//!     buffer = "1bdp"
//!     [[flow]]
//!     cc = "agent"
//!     rtt = "30ms"
//! "#;
//! let scenario = parse("one.toml", text, &[], Target::Simulator)?;
//! let setups = (0..4).map(|seed| Setup::new(Scenarios::from(scenario.clone()), seed));
//! let mut environments = Environments::new(setups, Form::Factor, Some(2))?;
//! let mut batch = environments.batch();
//! environments.reset(None, &mut batch.observations)?;
//! assert_eq!(OBSERVATIONS[0].name, "delivered_mbps");
//! for _ in 0..20 {
//!     let rows = batch.observations.chunks(OBSERVATIONS.len());
//!     let actions: Vec<f32> = rows.map(|row| if row[0] < 10.0 { 0.5 } else { 0.0 }).collect();
//!     environments.step(&actions, batch.outputs())?;
//! }
//! assert!(batch.observations.chunks(OBSERVATIONS.len()).all(|row| row[0] > 10.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod columns;
mod environment;
mod environments;
mod error;
mod scenarios;
mod stop;

pub use columns::{Column, Form, INFO, OBSERVATIONS};
pub use environment::{Autoreset, Setup};
pub use environments::{Batch, Environments, Outputs};
pub use error::Error;
pub use scenarios::{Drawn, Scale, Scenarios};
pub use stop::Stop;
