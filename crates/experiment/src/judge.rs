//! Whether a run passes the conditions of its case, and which of several seeds is judged.

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
    /// For people, with at most four decimals: "<= 0.05".
    pub(crate) fn shown(self) -> String {
        format!("{} {}", self.side.sign(), (self.value * 1e4).round() / 1e4)
    }

    /// By which factor a value is beyond it, less 1: 0.5 for 15 where at most 10 are allowed, and for 10
    /// where at least 15 are. Where a factor has no meaning, because one of them is not above 0, it is
    /// infinite.
    fn miss(self, value: f64) -> f64 {
        if self.side.holds(value, self.value) {
            return 0.0;
        }
        let (more, less) = match self.side {
            Side::AtLeast => (self.value, value),
            Side::AtMost | Side::Below => (value, self.value),
        };
        let factor = more / less;
        // at a bound that must not be reached the factor is 1
        if less > 0.0 && factor.is_finite() { (factor - 1.0).max(f64::EPSILON) } else { f64::INFINITY }
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

impl Check {
    /// Compares a value with the bounds.
    pub(crate) fn held(&self, value: f64) -> Held {
        let miss = self.bounds.iter().map(|bound| bound.miss(value)).fold(0.0, f64::max);
        Held { value, holds: miss == 0.0, miss }
    }
}

/// A condition that was compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The value.
    pub value: f64,
    /// Whether it is within all bounds.
    pub holds: bool,
    /// The factor by which it is beyond its bounds, less 1; 0 if and only if it holds.
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
    let held = checks.iter().map(|check| check.held(measured.value(check.metric, &check.of))).collect();
    Judged { seed, measured, held }
}

/// The run that is judged among those of several seeds: one that fails before one that passes, and among
/// equals the one with the lower Jain index.
#[must_use]
pub fn worst(runs: &[Judged]) -> Option<&Judged> {
    runs.iter().reduce(|worst, run| {
        let jain = |run: &Judged| run.measured.value(Metric::Jain, "");
        let is_worse = match (worst.holds(), run.holds()) {
            (true, false) => true,
            (false, true) => false,
            _ => jain(run) < jain(worst),
        };
        if is_worse { run } else { worst }
    })
}
