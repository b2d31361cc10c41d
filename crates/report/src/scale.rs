//! Scales from values to positions in a plot: axes with round ticks, numbers as text.

/// Width of a plot in plot units: twice the pixels of a plot on a desktop, so that integers are fine enough.
pub(crate) const WIDTH: i32 = 1200;
/// Height of a plot in plot units: finer than the width, because zoom may magnify heights tenfold.
pub(crate) const HEIGHT: i32 = 4000;

/// The largest value on an axis.
const LARGEST: f64 = 1e15;
/// The least value on a logarithmic axis.
const SMALLEST: f64 = 1e-12;
/// Most ticks of the sequence 1, 2, 5, 10, 20, ... on a logarithmic axis. If the sequence has more, only
/// powers of ten are ticks.
const FINE_TICKS: i32 = 7;

/// An axis with round ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Value at the start of the axis.
    pub(crate) min: f64,
    /// Value at the end of the axis.
    pub(crate) max: f64,
    ticks: Ticks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ticks {
    /// A linear axis with ticks at multiples of this step.
    Every(f64),
    /// A logarithmic axis between two numbers of the sequence of [`round_number`], by index.
    Log(i32, i32),
}

impl Axis {
    /// An axis from zero to the first round number that is at least `largest`, with about `ticks` ticks.
    #[must_use]
    pub fn holding(largest: f64, ticks: u32) -> Axis {
        Axis::around([0.0, if largest.is_finite() && largest > 1e-9 { largest } else { 1.0 }], ticks)
    }

    /// An axis from zero to exactly `largest`, with about `ticks` round ticks.
    #[must_use]
    pub fn ending_at(largest: f64, ticks: u32) -> Axis {
        Axis::between(0.0, if largest.is_finite() && largest > 1e-9 { largest } else { 1.0 }, ticks)
    }

    /// An axis from exactly `min` to exactly `max`, with about `ticks` round ticks; 0 to 1 if `min` and `max`
    /// do not form an axis.
    #[must_use]
    pub fn between(min: f64, max: f64, ticks: u32) -> Axis {
        let (min, max) = (min.clamp(-LARGEST, LARGEST), max.clamp(-LARGEST, LARGEST));
        let (min, max) = if max - min > 1e-9 * min.abs().max(max.abs()) { (min, max) } else { (0.0, 1.0) };
        Axis { min, max, ticks: Ticks::Every(round_step((max - min) / f64::from(ticks.max(1)))) }
    }

    /// An axis with round ends around all finite `values`. It includes zero unless all values are far from
    /// it.
    #[must_use]
    pub fn around(values: impl IntoIterator<Item = f64>, ticks: u32) -> Axis {
        let Some((least, most)) = extent(values) else { return Axis::between(0.0, 1.0, ticks) };
        let (least, most) = match least == most {
            true if most > 0.0 => (0.0, most),
            true if most < 0.0 => (least, 0.0),
            true => (0.0, 1.0),
            false if least > 0.0 && least < 0.6 * most => (0.0, most),
            false if most < 0.0 && most > 0.6 * least => (least, 0.0),
            false => (least, most),
        };
        let step = round_step((most - least) / f64::from(ticks.max(1)));
        // An excess over the last tick of less than a thousandth is a rounding error of the data.
        let (first, last) = ((least / step + 1e-3).floor(), (most / step - 1e-3).ceil());
        Axis { ticks: Ticks::Every(step), ..Axis::between(first * step, last.max(first + 1.0) * step, ticks) }
    }

    /// A logarithmic axis with round ends around all positive `values`; `None` if there is none.
    #[must_use]
    pub fn log(values: impl IntoIterator<Item = f64>) -> Option<Axis> {
        let (least, most) = extent(values.into_iter().filter(|x| *x > 0.0))?;
        let (least, most) = (least.max(SMALLEST), most.max(SMALLEST));
        let near = |x: f64| 3 * x.log10().floor() as i32;
        let low = (near(least) - 1..).take_while(|i| round_number(*i) <= least * 1.001).last()?;
        let high = (near(most) - 1..).find(|i| round_number(*i) >= most * 0.999)?;
        let (low, high) = if high > low { (low, high) } else { (low - 1, low + 1) };
        Some(Axis { min: round_number(low), max: round_number(high), ticks: Ticks::Log(low, high) })
    }

    /// Whether the axis is logarithmic.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.ticks, Ticks::Log(..))
    }

    /// Iterates over the ticks, in order.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let ticks: Vec<f64> = match self.ticks {
            Ticks::Every(step) => {
                let first = (self.min / step - 1e-9).ceil();
                let count = ((self.max / step + 1e-9).floor() - first).clamp(0.0, 100.0) as u32;
                (0..=count).map(|i| (first + f64::from(i)) * step).collect()
            }
            Ticks::Log(low, high) if high - low <= FINE_TICKS => (low..=high).map(round_number).collect(),
            Ticks::Log(low, high) => {
                let stride = 3 * (1 + (high - low) / (3 * FINE_TICKS));
                (low..=high).filter(|i| i.rem_euclid(stride) == 0).map(round_number).collect()
            }
        };
        ticks.into_iter()
    }

    /// The position of `value` between the start (0) and the end (1) of the axis. Values outside are clamped.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let part = match self.ticks {
            Ticks::Every(_) => (value - self.min) / (self.max - self.min),
            Ticks::Log(..) if value <= 0.0 => 0.0,
            Ticks::Log(..) => (value / self.min).log10() / (self.max / self.min).log10(),
        };
        if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
    }
}

/// The minimum and the maximum of the finite values.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|x| x.is_finite()).map(|x| x.clamp(-LARGEST, LARGEST));
    finite.fold(None, |range, x| range.map_or(Some((x, x)), |(a, b): (f64, f64)| Some((a.min(x), b.max(x)))))
}

/// The number at an index of the sequence 1, 2, 5, 10, 20, ..., which has 1 at index 0. It is parsed from
/// text, because powers are not rounded alike on all machines.
fn round_number(index: i32) -> f64 {
    let mantissa = [1, 2, 5][index.rem_euclid(3) as usize];
    format!("{mantissa}e{}", index.div_euclid(3)).parse().unwrap_or(1.0)
}

/// The first round number that is not much smaller than `rough`.
fn round_step(rough: f64) -> f64 {
    (-36..=54).map(round_number).find(|step| *step >= rough * 0.85).unwrap_or(LARGEST)
}

/// The axes of a plot: time horizontally, a quantity vertically.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// The time axis, in seconds.
    pub(crate) time: Axis,
    /// The axis of the quantity.
    pub(crate) value: Axis,
    /// Number of columns. If there are more points, several points share a column, which is drawn as their
    /// minimum and maximum.
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

/// Text of a number: about three significant digits, and a dash if it is not finite.
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

/// Text of a tick's value, as short as the step allows.
pub(crate) fn tick_text(x: f64) -> String {
    let rounded = fairpace_results::round(x);
    for (from, unit, letter) in [(1e10, 1e9, "G"), (1e7, 1e6, "M"), (1e4, 1e3, "k")] {
        if rounded.abs() >= from {
            return format!("{}{letter}", fairpace_results::round(rounded / unit));
        }
    }
    rounded.to_string()
}

/// Text of a measured value with a fixed number of decimals, so that columns align; a dash if it is missing.
pub(crate) fn fixed(x: Option<f64>, decimals: usize) -> String {
    match x {
        Some(x) if x.is_finite() => format!("{x:.decimals$}"),
        _ => "–".into(),
    }
}

/// Moves labels apart until their distance is at least `gap` and all labels are within `low..=high`, as
/// little as needed and without changing their order. If the space is too small, they overlap evenly.
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

/// Moves labels apart like [`spread`], but so that the sum of the squares of their ways is least: labels that
/// would overlap stay around the middle of what they belong to.
pub(crate) fn centred(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let steps = wanted.len().saturating_sub(1) as f64;
    let gap = gap.min((high - low) / steps.max(1.0));
    // Isotonic regression by pooling: labels of a pool are next to each other, at the mean of their offsets.
    let mut pools: Vec<(f64, u32)> = Vec::new();
    for (index, label) in order.iter().enumerate() {
        pools.push((wanted[*label] - index as f64 * gap, 1));
        while let [.., (before, many), (last, one)] = pools[..] {
            if before <= last {
                break;
            }
            pools.truncate(pools.len() - 2);
            let all = many + one;
            pools.push(((before * f64::from(many) + last * f64::from(one)) / f64::from(all), all));
        }
    }
    let offsets = pools.iter().flat_map(|(offset, count)| (0..*count).map(move |_| *offset));
    let mut places = wanted.to_vec();
    for ((index, label), offset) in order.iter().enumerate().zip(offsets) {
        places[*label] = offset.clamp(low, (high - steps * gap).max(low)) + index as f64 * gap;
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
            let given = [
                Axis::holding(x, 5),
                Axis::ending_at(x, 8),
                Axis::around([x, 1.0], 5),
                Axis::between(x, 2.0, 4),
            ];
            for axis in given.into_iter().chain(Axis::log([x, 3.0])) {
                assert!(axis.max > axis.min && axis.max.is_finite(), "{x}: {axis:?}");
                assert!(axis.ticks().count() >= 2, "{x}: {axis:?}");
                assert!((0.0..=1.0).contains(&axis.place(x)), "{x}: {axis:?}");
            }
        }
    }

    #[test]
    fn an_axis_begins_at_zero_unless_its_values_are_far_from_it() {
        for (values, min, max) in [
            ([20.0, 94.0], 0.0, 100.0),
            ([91.0, 94.0], 91.0, 94.0),
            ([-3.0, 4.0], -4.0, 4.0),
            ([-9.0, -1.0], -10.0, 0.0),
            ([7.0, 7.0], 0.0, 8.0),
            ([0.0, f64::NAN], 0.0, 1.0),
        ] {
            let axis = Axis::around(values, 4);
            assert!((axis.min - min).abs() < 1e-9 && (axis.max - max).abs() < 1e-9, "{values:?}: {axis:?}");
        }
        let window = Axis::between(12.0, 22.0, 5);
        assert_eq!(window.ticks().collect::<Vec<_>>(), [12.0, 14.0, 16.0, 18.0, 20.0, 22.0]);
        assert_eq!((window.place(12.0), window.place(17.0), window.place(30.0)), (0.0, 0.5, 1.0));
    }

    #[test]
    fn a_logarithmic_axis_has_round_ends_around_all_positive_values() {
        let axis = Axis::log([12.0, 450.0, 0.0, -1.0, f64::NAN]).unwrap();
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]);
        assert_eq!(
            (axis.place(0.0), axis.place(10.0), axis.place(500.0), axis.place(1e9)),
            (0.0, 0.0, 1.0, 1.0)
        );
        let decades = Axis::log([1e-5, 0.5]).unwrap();
        assert_eq!(decades.ticks().collect::<Vec<_>>(), [1e-5, 1e-4, 1e-3, 0.01, 0.1]);
        assert!(
            (decades.place(1e-4) - decades.place(1e-5) - (decades.place(0.1) - decades.place(0.01))).abs()
                < 1e-9
        );
        assert_eq!(Axis::log([100.0]).map(|axis| (axis.min, axis.max)), Some((50.0, 200.0)));
        assert_eq!(Axis::log([f64::NAN, 0.0, -1.0]), None);
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
    fn labels_that_would_overlap_stay_around_their_middle() {
        assert_eq!(centred(&[50.0, 52.0, 10.0, 99.0], 10.0, 0.0, 100.0), [46.0, 56.0, 10.0, 99.0]);
        assert_eq!(centred(&[98.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert_eq!(centred(&[5.0; 3], 80.0, 0.0, 100.0), [0.0, 50.0, 100.0]);
        // a pool that meets a label takes it up
        assert_eq!(centred(&[40.0, 42.0, 47.0], 10.0, 0.0, 100.0), [33.0, 43.0, 53.0]);
        assert!(centred(&[], 1.0, 0.0, 1.0).is_empty());
    }

    #[test]
    fn numbers_are_short() {
        let cases =
            [(87.31, "87.3"), (6.0, "6"), (1234.6, "1235"), (0.0514, "0.051"), (0.0, "0"), (f64::NAN, "–")];
        for (x, expected) in cases {
            assert_eq!(text(x), expected);
        }
        assert_eq!(tick_text(0.1 + 0.2), "0.3");
        assert_eq!((tick_text(15_000.0), tick_text(-2.5e7)), ("15k".into(), "-25M".into()));
    }
}
