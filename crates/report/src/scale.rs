//! From values to places on a plot: axes with round ticks, numbers as text.

/// Width of a plot in its own units. Twice the pixels of a plot on a desktop, so that integers are fine enough.
pub(crate) const WIDTH: i32 = 1200;
/// Height of a plot in its own units. Finer than the width: a closer look may magnify heights tenfold.
pub(crate) const HEIGHT: i32 = 4000;

/// An axis from zero to a round number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    /// The end of the axis.
    pub(crate) max: f64,
    /// Distance of two ticks.
    step: f64,
}

impl Axis {
    /// The smallest axis with a round end that holds `largest`, with about `ticks` ticks.
    pub(crate) fn holding(largest: f64, ticks: u32) -> Axis {
        let axis = Axis::ending_at(largest, ticks);
        // Beyond the last tick by less than a thousandth is rounding of the data, not data.
        Axis { max: ((largest / axis.step - 1e-3).ceil().max(1.0) * axis.step).max(axis.step), ..axis }.sane()
    }

    /// An axis that ends at `largest` exactly, with about `ticks` round ticks.
    pub(crate) fn ending_at(largest: f64, ticks: u32) -> Axis {
        let max = if largest.is_finite() && largest > 1e-9 { largest.min(1e15) } else { 1.0 };
        let rough = max / f64::from(ticks.max(1));
        let mut step = 1e-12;
        'found: for exponent in -12..=18 {
            for mantissa in [1.0, 2.0, 5.0] {
                step = format!("{mantissa}e{exponent}").parse().unwrap_or(1.0);
                if step >= rough * 0.85 {
                    break 'found;
                }
            }
        }
        Axis { max, step }
    }

    fn sane(self) -> Axis {
        if self.max.is_finite() { self } else { Axis { max: 1.0, step: 1.0 } }
    }

    /// The ticks, from zero.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = (self.max / self.step + 1e-9).floor().clamp(0.0, 100.0) as u32;
        (0..=count).map(|i| f64::from(i) * self.step)
    }

    /// The place of `value` between the start (0) and the end (1) of the axis; outside values are clamped.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if value.is_nan() { 0.0 } else { (value / self.max).clamp(0.0, 1.0) }
    }
}

/// Time across, a quantity upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Seconds.
    pub(crate) time: Axis,
    /// The quantity.
    pub(crate) value: Axis,
    /// More points than this and several share a column, drawn as its minimum and maximum.
    pub(crate) columns: usize,
}

impl Scale {
    pub(crate) fn x(&self, t_s: f64) -> i32 {
        (self.time.place(t_s) * f64::from(WIDTH)).round() as i32
    }

    pub(crate) fn y(&self, value: f64) -> i32 {
        HEIGHT - (self.value.place(value) * f64::from(HEIGHT)).round() as i32
    }
}

/// A number for people: three significant digits or so, and a dash for what is not there.
pub(crate) fn text(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let digits = match x.abs() {
        x if x < 0.0005 => 0,
        x if x < 0.9995 => 3,
        x if x < 9.995 => 2,
        x if x < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A tick's label: as short as the step allows.
pub(crate) fn tick_text(x: f64) -> String {
    let rounded = fairpace_results::round(x);
    if rounded >= 10_000.0 {
        format!("{}k", fairpace_results::round(rounded / 1000.0))
    } else {
        rounded.to_string()
    }
}

/// A measured value with a fixed number of decimals, so that columns line up; a dash for what is not there.
pub(crate) fn fixed(x: Option<f64>, decimals: usize) -> String {
    match x {
        Some(x) if x.is_finite() => format!("{x:.decimals$}"),
        _ => "–".into(),
    }
}

/// Moves labels apart until they are `gap` from each other and within `low..=high`, as little as needed and
/// without changing their order. If there is no room for all, they overlap evenly.
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let steps = wanted.len().saturating_sub(1).max(1) as f64;
    let gap = gap.min((high - low) / steps);
    let mut places = wanted.to_vec();
    let mut floor = low;
    for i in &order {
        places[*i] = places[*i].max(floor);
        floor = places[*i] + gap;
    }
    let mut ceiling = high;
    for i in order.iter().rev() {
        places[*i] = places[*i].min(ceiling);
        ceiling = places[*i] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_a_round_tick_that_holds_the_data() {
        for (largest, max, ticks) in
            [(94.0, 100.0, 6), (100.0, 100.0, 6), (101.0, 120.0, 7), (0.03, 0.03, 4), (2.885, 3.0, 7)]
        {
            let axis = Axis::holding(largest, 5);
            assert!((axis.max - max).abs() < 1e-12, "{largest}: {axis:?}");
            assert_eq!(axis.ticks().count(), ticks, "{largest}: {axis:?}");
        }
    }

    #[test]
    fn any_number_gives_a_usable_axis() {
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, 1e-9] {
            for axis in [Axis::holding(x, 5), Axis::ending_at(x, 8)] {
                assert!(axis.max > 0.0 && axis.max.is_finite(), "{x}: {axis:?}");
                assert!(axis.ticks().count() >= 2, "{x}: {axis:?}");
                assert!((0.0..=1.0).contains(&axis.place(x)), "{x}: {axis:?}");
            }
        }
    }

    #[test]
    fn labels_keep_their_order_and_distance() {
        let places = spread(&[50.0, 52.0, 10.0, 99.0], 10.0, 0.0, 100.0);
        assert_eq!(places, [50.0, 60.0, 10.0, 99.0]);
        assert_eq!(spread(&[98.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert_eq!(spread(&[5.0; 3], 80.0, 0.0, 100.0), [0.0, 50.0, 100.0]);
        assert!(spread(&[], 1.0, 0.0, 1.0).is_empty());
    }

    #[test]
    fn numbers_are_short() {
        let cases =
            [(87.31, "87.3"), (6.0, "6"), (1234.6, "1235"), (0.0514, "0.051"), (0.0, "0"), (f64::NAN, "–")];
        for (x, expected) in cases {
            assert_eq!(text(x), expected);
        }
        assert_eq!(tick_text(0.1 + 0.2), "0.3");
        assert_eq!(tick_text(15_000.0), "15k");
    }
}
