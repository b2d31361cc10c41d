//! Counts of checks by kind and finding.

use std::iter::repeat;

use crate::figure::{Claimed, Figure};
use crate::record::{Finding, Measured};

/// Number of checks of one kind for each finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally([u32; 4]);

impl Tally {
    fn count(&mut self, finding: Finding) {
        self.0[finding as usize] += 1;
    }

    /// Number of checks that have this finding.
    #[must_use]
    pub fn of(self, finding: Finding) -> u32 {
        self.0[finding as usize]
    }

    /// Number of all checks of this kind.
    #[must_use]
    pub fn all(self) -> u32 {
        self.0.iter().sum()
    }
}

impl std::fmt::Display for Tally {
    /// Text of the count, "7 of 9"; a dash if there is no check.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.all() == 0 {
            f.pad("–")
        } else {
            write!(f, "{} of {}", self.of(Finding::Holds), self.all())
        }
    }
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|finding| self.0[finding] + other.0[finding]))
    }
}

/// Counts of the checks of a figure in one place, by kind. Each check is of one of the four kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Checks of published numbers.
    pub values: Tally,
    /// Shapes that the paper states or shows without a number.
    pub shapes: Tally,
    /// Our own predictions and questions.
    pub ours: Tally,
    /// Number of checks that cannot fail.
    pub by_construction: u32,
}

impl Counted {
    /// The counts of one place; `None`: the place measured nothing.
    #[must_use]
    pub fn of(figure: &Figure, measured: Option<&Measured>) -> Self {
        let mut counted = Self::default();
        let found = measured.into_iter().flat_map(Measured::findings).chain(repeat(Finding::NotMeasured));
        for ((_, cannot_fail, claimed), finding) in figure.checks().zip(found) {
            match claimed {
                _ if !cannot_fail.is_empty() => counted.by_construction += 1,
                Claimed::Value => counted.values.count(finding),
                Claimed::Shape => counted.shapes.count(finding),
                Claimed::Ours => counted.ours.count(finding),
            }
        }
        counted
    }
}

impl std::ops::Add for Counted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            values: self.values + other.values,
            shapes: self.shapes + other.shapes,
            ours: self.ours + other.ours,
            by_construction: self.by_construction + other.by_construction,
        }
    }
}
