//! Whether a run holds the conditions of its case, and which of several seeds is judged.

use serde::Serialize;

use crate::measure::{Measured, Metric};

/// On which side of a bound a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The bound or more.
    AtLeast,
    /// The bound or less.
    AtMost,
    /// Less than the bound.
    Below,
}

impl Side {
    /// For people.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Below => value < bound,
        }
    }
}

/// A number that a value must not pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// Where the value must be.
    pub side: Side,
    /// The number.
    pub value: f64,
}

impl Bound {
    /// How far a value is beyond it, as a part of it; of a bound of 0, the distance itself.
    fn miss(self, value: f64) -> f64 {
        if self.side.holds(value, self.value) {
            return 0.0;
        }
        let distance = (value - self.value).abs() / if self.value == 0.0 { 1.0 } else { self.value.abs() };
        if distance.is_nan() { f64::INFINITY } else { distance }
    }
}

/// A condition in one case: its bounds are numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What people call it: "short queue".
    pub name: String,
    /// What is compared.
    pub metric: Metric,
    /// Of these flows; empty for a metric of all.
    pub of: String,
    /// One bound, or a least and a most value.
    pub bounds: Vec<Bound>,
}

/// A condition that was compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The value.
    pub value: f64,
    /// Whether it is within all bounds.
    pub holds: bool,
    /// How far it is beyond its bounds, as a part of the bound; 0 if it holds. Infinite without a value.
    pub miss: f64,
}

/// A run beside the conditions of its case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Seed of the run.
    pub seed: u64,
    /// What was measured.
    pub measured: Measured,
    /// Each condition, in the order of the checks.
    pub held: Vec<Held>,
}

impl Judged {
    /// Whether all conditions hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.held.iter().all(|held| held.holds)
    }

    /// The largest miss of a condition.
    #[must_use]
    pub fn miss(&self) -> f64 {
        self.held.iter().map(|held| held.miss).fold(0.0, f64::max)
    }
}

/// Compares what a run measured with the conditions of its case.
#[must_use]
pub fn judge(checks: &[Check], seed: u64, measured: Measured) -> Judged {
    let held = |check: &Check| {
        let value = measured.value(check.metric, &check.of);
        let holds = check.bounds.iter().all(|bound| bound.side.holds(value, bound.value));
        let miss = check.bounds.iter().map(|bound| bound.miss(value)).fold(0.0, f64::max);
        Held { value, holds, miss }
    };
    let held = checks.iter().map(held).collect();
    Judged { seed, measured, held }
}

/// The run that is judged among those of several seeds: one that fails before one that holds, and among equals
/// the one with the lower Jain index.
#[must_use]
pub fn worst(runs: impl IntoIterator<Item = Judged>) -> Option<Judged> {
    runs.into_iter().reduce(|worst, run| {
        let jain = |run: &Judged| run.measured.value(Metric::Jain, "");
        let is_worse = match (worst.holds(), run.holds()) {
            (true, false) => true,
            (false, true) => false,
            _ => jain(&run) < jain(&worst),
        };
        if is_worse { run } else { worst }
    })
}
