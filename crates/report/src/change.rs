//! Named vertical lines across a chart.

use crate::plot::percent;
use crate::scale::{Axis, HEIGHT, Scale};
use maud::{Markup, html};

/// A place on the horizontal axis from which on something else holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where.
    pub x: f64,
    /// What holds from there on.
    pub to: String,
}

/// The lines, in plot units.
pub(crate) fn lines(changes: &[Change], scale: &Scale) -> Markup {
    let path: String = changes.iter().map(|change| format!("M{},0v{HEIGHT}", scale.x(change.x))).collect();
    html! { @if !path.is_empty() { path class="change" d=(path) {} } }
}

/// Their names, as HTML over the plot: text in the drawing would be stretched.
pub(crate) fn names(changes: &[Change], x: &Axis) -> Markup {
    html! {
        @for change in changes {
            span.change style={ "left:" (percent(x.place(change.x))) } { (change.to) }
        }
    }
}
