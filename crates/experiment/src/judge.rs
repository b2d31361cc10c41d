//! Judgement of a run by the conditions of its case, and of a case by its worst seed.

use serde::Serialize;

use crate::measure::{Measured, Metric};

/// The side of a bound on which a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The value must be the bound or more.
    AtLeast,
    /// The value must be the bound or less.
    AtMost,
    /// The value must be less than the bound.
    Below,
}

impl Side {
    /// The sign of the comparison: ">=", "<=" or "<".
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

/// A bound on a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The side of the bound on which the value must be.
    pub side: Side,
    /// The bound itself.
    pub value: f64,
}

impl Bound {
    /// Text of the bound, with at most four decimals: "<= 0.05".
    pub(crate) fn shown(self) -> String {
        format!("{} {}", self.side.sign(), (self.value * 1e4).round() / 1e4)
    }

    /// Factor by which a value is beyond the bound, less 1: 0.5 for 15 where at most 10 are allowed, and for
    /// 10 where at least 15 are required. It is infinite if value or bound is not above 0, so that no factor
    /// exists.
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

/// A condition of one case: its bounds are numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the condition: "short queue".
    pub name: String,
    /// The metric that is compared with the bounds.
    pub metric: Metric,
    /// Name of the flows that the metric is computed from; empty for a metric of all flows.
    pub of: String,
    /// The bounds: one, or a lower and an upper bound.
    pub bounds: Vec<Bound>,
    /// Name under which the case is counted if the condition does not hold; `None` for a condition that
    /// decides whether the case passes.
    pub counts: Option<String>,
}

impl Check {
    /// Compares a value with the bounds of the condition.
    pub(crate) fn held(&self, value: f64) -> Held {
        let miss = self.bounds.iter().map(|bound| bound.miss(value)).fold(0.0, f64::max);
        Held { value, holds: miss == 0.0, miss, decides: self.counts.is_none() }
    }
}

/// The result of a condition: a value compared with its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The measured value.
    pub value: f64,
    /// Whether the value is within all bounds.
    pub holds: bool,
    /// Factor by which the value is beyond its bounds, less 1; 0 if and only if the condition holds.
    pub miss: f64,
    /// Whether the condition decides if the case passes.
    pub decides: bool,
}

/// A run with the results of the conditions of its case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Seed of the run.
    pub seed: u64,
    /// The metrics of the run.
    pub measured: Measured,
    /// The result of each condition, in the order of the checks.
    pub held: Vec<Held>,
}

impl Judged {
    /// Whether all conditions that decide hold in this run.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.deciding().all(|held| held.holds)
    }

    /// The largest miss of a condition that decides in this run.
    #[must_use]
    pub fn miss(&self) -> f64 {
        self.deciding().map(|held| held.miss).fold(0.0, f64::max)
    }

    fn deciding(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|held| held.decides)
    }
}

/// Compares the metrics of a run with the conditions of its case.
#[must_use]
pub fn judge(checks: &[Check], seed: u64, measured: Measured) -> Judged {
    let held = checks.iter().map(|check| check.held(measured.value(check.metric, &check.of))).collect();
    Judged { seed, measured, held }
}

/// The run by which a case is judged. A run that fails comes before one that passes; among runs that are
/// equal in this, the one with the lower Jain index comes first.
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
