//! Rows of bars and marks on a horizontal axis.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::chart::{Axis, Colour, Look, marked, within};
use crate::colour::class;
use crate::scale::{HEIGHT, WIDTH};

/// The drawing of a row in a bar chart, or of a value in a table: marks on an axis of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// The horizontal axis.
    pub axis: Axis,
    /// End value of a bar that starts at the beginning of the axis, and colour of the bar.
    pub bar: Option<(f64, Option<Colour>)>,
    /// The shaded range of values within the tolerance.
    pub allowed: Option<[f64; 2]>,
    /// The marks: look, value, half of the interval, colour.
    pub marks: Vec<(Look, f64, Option<f64>, Option<Colour>)>,
    /// Possible range of the values: no interval is drawn beyond it.
    pub possible: [f64; 2],
}

impl Strip {
    /// Renders the strip at the full width of its container.
    #[must_use]
    pub fn drawing(&self) -> Markup {
        html! {
            svg.drawing.strip viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                preserveAspectRatio="none" aria-hidden="true" { (drawn(&[(0, self)])) }
        }
    }

    /// Renders several strips, one below the other, in one drawing.
    #[must_use]
    pub fn stack(strips: &[Strip]) -> Markup {
        let height = HEIGHT / strips.len().max(1) as i32;
        html! {
            svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                preserveAspectRatio="none" aria-hidden="true" {
                @for (i, strip) in strips.iter().enumerate() {
                    svg y=(i as i32 * height) width=(WIDTH) height=(height)
                        viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                        preserveAspectRatio="none" { (drawn(&[(0, strip)])) }
                }
            }
        }
    }

    fn x(&self, value: f64) -> i32 {
        (self.axis.place(value) * f64::from(WIDTH)).round() as i32
    }
}

/// The content of several strips, each at its upper end. From back to front: the tolerances, the bars, the
/// first mark of each strip, the second mark. Parts of the same look are one path.
pub(crate) fn drawn(strips: &[(i32, &Strip)]) -> Markup {
    let (mut allowed, mut bars) = (String::new(), BTreeMap::<_, String>::new());
    for (top, strip) in strips {
        if let Some([from, to]) = strip.allowed.map(|ends| ends.map(|end| strip.x(end))) {
            allowed += &rect(from, *top, (to - from).max(6), HEIGHT);
        }
        let bar = strip.bar.filter(|(value, _)| value.is_finite());
        let ends = bar.map(|(value, _)| (strip.x(0.0), strip.x(value)));
        let class = bar.map_or_else(|| "grid".to_owned(), |(_, colour)| format!("bar {}", class(colour)));
        *bars.entry(class).or_default() += &match ends {
            Some((a, b)) => rect(a.min(b), top + HEIGHT / 5, (a - b).abs(), HEIGHT - 2 * (HEIGHT / 5)),
            None => format!("M0,{}h{WIDTH}", top + HEIGHT / 2),
        };
    }
    let most = strips.iter().map(|(_, strip)| strip.marks.len()).max().unwrap_or(0);
    html! {
        @if !allowed.is_empty() { path class="allowed" d=(allowed) {} }
        @for (class, path) in &bars { path class=(class) d=(path) {} }
        @for n in 0..most {
            @for ((look, colour), [path, whiskers]) in marks(strips, n) {
                (marked(look, &colour, &path, &whiskers))
            }
        }
    }
}

/// The `n`-th mark of each strip: paths of marks and whiskers for each look.
fn marks(strips: &[(i32, &Strip)], n: usize) -> BTreeMap<(Look, String), [String; 2]> {
    let mut paths = BTreeMap::<_, [String; 2]>::new();
    for (top, strip) in strips {
        let mark = strip.marks.get(n).filter(|(_, value, ..)| value.is_finite());
        let Some(&(look, value, half, colour)) = mark else { continue };
        let [path, whiskers] = paths.entry((look, class(colour))).or_default();
        let end = |value| strip.x(within(value, strip.possible));
        let middle = top + HEIGHT / 2;
        *path += &format!("M{},{middle}h0", strip.x(value));
        if let Some(half) = half.filter(|half| half.is_finite() && *half > 0.0) {
            *whiskers += &format!("M{},{middle}H{}", end(value - half), end(value + half));
        }
    }
    paths
}

fn rect(x: i32, y: i32, width: i32, height: i32) -> String {
    format!("M{x},{y}h{width}v{height}h-{width}z")
}
