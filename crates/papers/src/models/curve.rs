//! Points of curves.

/// The largest number of points in a curve of a simulation; a picture has fewer columns.
const CURVE_POINTS: usize = 2000;

/// Every n-th of the points, and the last one, so that at most about [`CURVE_POINTS`] points remain.
pub(super) fn thinned<T: Copy>(points: &[T]) -> impl Iterator<Item = T> + Clone {
    let every = points.len().div_ceil(CURVE_POINTS).max(1);
    let last = points.last().filter(|_| points.len() % every != 1 && every > 1);
    points.iter().step_by(every).chain(last).copied()
}

/// `count` + 1 points of a function, evenly spaced from one end to the other.
pub(super) fn sampled(
    from: f64,
    to: f64,
    count: u32,
    of: impl Fn(f64) -> f64,
) -> impl Iterator<Item = [f64; 2]> {
    (0..=count).map(move |index| {
        let x = from + (to - from) * f64::from(index) / f64::from(count);
        [x, of(x)]
    })
}
