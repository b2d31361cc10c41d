//! How many checks of each kind hold.

use crate::figure::Figure;
use crate::record::{Finding, Measured};

/// Findings of one kind of check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// That hold.
    pub hold: u32,
    /// That are open.
    pub open: u32,
    /// That are contradicted.
    pub contradicted: u32,
    /// That were not measured.
    pub not_measured: u32,
}

impl Tally {
    fn count(&mut self, finding: Finding) {
        *match finding {
            Finding::Holds => &mut self.hold,
            Finding::Open => &mut self.open,
            Finding::Contradicted => &mut self.contradicted,
            Finding::NotMeasured => &mut self.not_measured,
        } += 1;
    }

    /// That were measured.
    #[must_use]
    pub fn measured(self) -> u32 {
        self.hold + self.open + self.contradicted
    }

    /// All of them.
    #[must_use]
    pub fn all(self) -> u32 {
        self.measured() + self.not_measured
    }
}

impl std::fmt::Display for Tally {
    /// "7 of 9"; a dash without any.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.all() == 0 { f.pad("–") } else { write!(f, "{} of {}", self.hold, self.all()) }
    }
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hold: self.hold + other.hold,
            open: self.open + other.open,
            contradicted: self.contradicted + other.contradicted,
            not_measured: self.not_measured + other.not_measured,
        }
    }
}

/// The checks of a figure in one place, by what they are. Each is in one of the four.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Published numbers.
    pub values: Tally,
    /// What the paper states or shows without a number.
    pub shapes: Tally,
    /// Our own predictions and questions.
    pub ours: Tally,
    /// What cannot fail.
    pub by_construction: u32,
}

impl Counted {
    /// Those of one place; `None`: nothing was measured there.
    #[must_use]
    pub fn of(figure: &Figure, measured: Option<&Measured>) -> Self {
        let mut counted = Self::default();
        for (index, value) in figure.values.iter().enumerate() {
            match value.by_construction.is_empty() {
                true => {
                    counted.values.count(measured.map_or(Finding::NotMeasured, |of| of.values[index].finding))
                }
                false => counted.by_construction += 1,
            }
        }
        for (index, shape) in figure.shapes.iter().enumerate() {
            let finding = measured.map_or(Finding::NotMeasured, |of| of.shapes[index].finding);
            match (shape.by_construction.is_empty(), shape.ours) {
                (false, _) => counted.by_construction += 1,
                (true, true) => counted.ours.count(finding),
                (true, false) => counted.shapes.count(finding),
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
