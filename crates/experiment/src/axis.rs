//! Axes: what the cases of a criterion, or the points of a figure's sweep, go through.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use crate::item::{is_item, shown};
use crate::source::{Wrong, suggestion};

/// The values of each axis as the file has them; their places give the order of the axes.
pub(crate) type Written = BTreeMap<String, Spanned<Vec<Value>>>;

/// An axis: a name, and the points that an expansion goes through.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis<P> {
    /// Name of the axis: "rate". A CSV file has a column of this name.
    pub name: String,
    /// The points of the axis, in order.
    #[serde(rename = "point")]
    pub points: Vec<P>,
}

/// Each combination of points of the axes that `is_meant`, one of each axis; the last axis changes fastest.
pub fn combinations<'a, P>(
    axes: impl IntoIterator<Item = &'a Axis<P>>,
    is_meant: impl Fn(&P) -> bool,
) -> Vec<Vec<(&'a str, &'a P)>> {
    axes.into_iter().fold(vec![Vec::new()], |all, axis| {
        let points = || axis.points.iter().filter(|point| is_meant(point));
        let with = |before: &Vec<_>| {
            points().map(|point| [&before[..], &[(&*axis.name, point)]].concat()).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

/// A point of a criterion's axis: a value of the axis, and other names that have a value at that point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// The values at this point, by name. The name of the axis is one of the keys.
    pub(crate) values: Table,
    /// Text of the value that the axis has at this point, such as "10mbit".
    pub(crate) label: String,
    /// Whether the quick form of the criterion includes this point.
    pub(crate) is_quick: bool,
}

/// Reads all axes of a criterion, in the order of the file: the first axis changes slowest.
pub(crate) fn axes(
    written: &Written,
    quick: &BTreeMap<String, Vec<Value>>,
    wrong: &mut Wrong<'_>,
) -> Vec<Axis<Point>> {
    let mut written: Vec<_> = written.iter().collect();
    written.sort_by_key(|(_, values)| values.span().start);
    for name in quick.keys().filter(|name| !written.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("there is no key `{name}` here");
        wrong.add("unknown-key", &format!("quick.{name}"), message, suggestion(name, &known));
    }
    written.into_iter().map(|(name, values)| axis(name, values.get_ref(), quick.get(name), wrong)).collect()
}

fn axis(name: &str, values: &[Value], quick: Option<&Vec<Value>>, wrong: &mut Wrong<'_>) -> Axis<Point> {
    let mut points: Vec<Point> = Vec::new();
    for (number, value) in (1..).zip(values) {
        let key = format!("axis.{name}.{number}");
        let Some(point) = point(name, value) else {
            let help =
                format!("write a number, a text, a list of these, or a table with `{name}` among its keys");
            wrong.add("wrong-type", &key, format!("this is no value of `{name}`"), help);
            continue;
        };
        if points.iter().any(|other| other.label == point.label) {
            wrong.add("duplicate-name", &key, format!("`{}` is there twice", point.label), "");
        } else if points.first().is_some_and(|first| !first.values.keys().eq(point.values.keys())) {
            let message = "it does not have the same names as the first value of its axis";
            wrong.add("missing-key", &key, message, "give all values the same names");
        }
        points.push(point);
    }
    let key = format!("axis.{name}");
    wrong.unless(!values.is_empty(), "missing-key", &key, "the axis has no value", "add one");
    if let Some(quick) = quick {
        points.iter_mut().for_each(|point| point.is_quick = quick.iter().any(|of| shown(of) == point.label));
        let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
        for (number, value) in (1..).zip(quick).filter(|(_, value)| !labels.contains(&&*shown(value))) {
            let message = format!("the axis `{name}` has no such value");
            let help = suggestion(&shown(value), &labels);
            wrong.add("unknown-name", &format!("quick.{name}.{number}"), message, help);
        }
    }
    Axis { name: name.to_owned(), points }
}

/// Reads a point from a value, or from a table with several values that belong together; `None` if it is
/// neither.
fn point(axis: &str, value: &Value) -> Option<Point> {
    let values = match value {
        Value::Table(values) => values.clone(),
        other => Table::from_iter([(axis.to_owned(), other.clone())]),
    };
    let label = shown(values.get(axis)?);
    values.values().all(is_item).then_some(Point { values, label, is_quick: true })
}
