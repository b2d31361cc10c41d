//! The papers' equations for how BBR flows share a link.
//!
//! * [`mimd`]: the two-phase model of Zhang et al., "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
//! * [`queueing`]: the model of Tao et al., "Unraveling the RTT-fairness Problem for BBR: A Queueing Model", GLOBECOM 2018.
//!
//! Each exists as its equations read, as what they come to once their slips are mended, and as a simulation of the
//! fluid that they describe. Numbers and nothing else: no packets, no BBR. The packet simulator does not use this, and this knows
//! nothing of it; where they part, the model's assumptions break.
//!
//! [`evaluate`] runs a model by name with arguments by name; [`catalog`] lists both. The modules have the same as
//! plain functions. All is deterministic, and no argument makes anything here panic.

mod arguments;
mod catalog;
mod fluid;
pub mod mimd;
pub mod queueing;

use std::collections::BTreeMap;

use serde::Serialize;

pub use arguments::{Argument, Error};
pub use catalog::{Model, Quantity, catalog, evaluate};

/// What a model gives. A quantity that the equations do not have for the arguments, such as the time until a flow starves that never
/// does, is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Output {
    /// Numbers by name.
    pub values: BTreeMap<String, f64>,
    /// Curves by name, as `[x, y]` in ascending order of x.
    pub curves: BTreeMap<String, Vec<[f64; 2]>>,
}

impl Output {
    /// A value, unless it is no number.
    pub(crate) fn value(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// A curve, without points that are no numbers.
    pub(crate) fn curve(&mut self, name: &str, points: impl IntoIterator<Item = [f64; 2]>) {
        let finite = |point: &[f64; 2]| point.iter().all(|number| number.is_finite());
        self.curves.insert(name.to_owned(), points.into_iter().filter(finite).collect());
    }
}
