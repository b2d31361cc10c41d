//! Mean, lowest and highest value of a quantity over several runs.

use serde::Serialize;

/// Mean, lowest and highest value of several runs. All three are NaN if there is no run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The mean value.
    pub mean: f64,
    /// The lowest value.
    pub min: f64,
    /// The highest value.
    pub max: f64,
}

impl Range {
    /// The range of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let min = values.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        let max = values.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
        Self { mean: values.iter().sum::<f64>() / values.len() as f64, min, max }
    }

    /// The range of the values that are present; `None` if there is no such value.
    pub fn known(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        (!values.is_empty()).then(|| Self::of(&values))
    }

    /// Distance of a value from the range.
    #[must_use]
    pub fn beyond(&self, value: f64) -> f64 {
        (self.min - value).max(value - self.max).max(0.0)
    }

    /// Text of the range, "mean (lowest to highest)", with this number of decimals.
    #[must_use]
    pub fn text(&self, decimals: usize) -> String {
        let Self { mean, min, max } = self;
        format!("{mean:.decimals$} ({min:.decimals$} to {max:.decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_of_all_runs() {
        let range = Range::of(&[3.0, 1.0, 2.0]);
        assert_eq!(range, Range { mean: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(range.text(1), "2.0 (1.0 to 3.0)");
        assert_eq!([0.5, 2.5, 4.0].map(|value| range.beyond(value)), [0.5, 0.0, 1.0]);
    }
}
