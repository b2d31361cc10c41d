//! Named vertical lines across a chart.

use crate::plot::percent;
use crate::scale::{Axis, HEIGHT, Scale};
use maud::{Markup, html};

/// A named vertical line: the place on the horizontal axis at which a state begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Horizontal value at which the state begins.
    pub x: f64,
    /// Name of the state.
    pub to: String,
}

/// The vertical lines of a chart, in plot units.
pub(crate) fn lines(changes: &[Change], scale: &Scale) -> Markup {
    let path: String = changes.iter().map(|change| format!("M{},0v{HEIGHT}", scale.x(change.x))).collect();
    html! { @if !path.is_empty() { path class="change" d=(path) {} } }
}

/// The names of the states, as HTML over the plot: text in the drawing would be stretched.
pub(crate) fn names(changes: &[Change], x: &Axis) -> Markup {
    html! {
        @for change in changes {
            span.change style={ "left:" (percent(x.place(change.x))) } { (change.to) }
        }
    }
}
