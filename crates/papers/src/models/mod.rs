//! Models of congestion-controlled flows that share a link: the equations of two papers about BBR, and those
//! of LEVEL.
//!
//! * [`mimd`]: the two-phase model of Zhang et al., "Improving Google's BBR for Reduced Latency and Increased
//!   Fairness", 2018.
//! * [`queueing`]: the model of Tao et al., "Unraveling the RTT-fairness Problem for BBR: A Queueing Model",
//!   GLOBECOM 2018.
//! * [`level`]: the model of LEVEL, `cc/level.h`, which research/level/theory.md compares with packets.
//!
//! Each model of a paper exists in three forms: its equations as printed, the equations with their errors
//! corrected, and a simulation of the fluid that the equations describe. This module has no packets and no
//! implementation of an algorithm. It is independent of the packet simulator; where the two disagree, an
//! assumption of the model does not hold.
//!
//! [`evaluate`] runs a model by name with arguments by name, and [`catalog`] lists models and arguments. The
//! modules have the same models as plain functions. All functions are deterministic, and no argument makes
//! them panic.

mod arguments;
mod catalog;
mod curve;
mod fluid;
pub mod level;
pub mod mimd;
mod model;
pub mod queueing;

use std::collections::BTreeMap;

use serde::Serialize;

pub use arguments::Error;
pub(crate) use catalog::checked;
pub use catalog::evaluate;
pub use model::{Argument, Model, Quantity, catalog};

/// The results of a model. A quantity that the equations do not define for the arguments is absent, such as
/// the time until a flow starves if the flow never does.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Output {
    /// Computed numbers by name.
    pub values: BTreeMap<String, f64>,
    /// Computed curves by name, as `[x, y]` in ascending order of x.
    pub curves: BTreeMap<String, Vec<[f64; 2]>>,
}

impl Output {
    /// Adds a value unless it is not finite.
    pub(crate) fn value(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Adds a curve without the points that are not finite.
    pub(crate) fn curve(&mut self, name: &str, points: impl IntoIterator<Item = [f64; 2]>) {
        let finite = |point: &[f64; 2]| point.iter().all(|number| number.is_finite());
        self.curves.insert(name.to_owned(), points.into_iter().filter(finite).collect());
    }
}
