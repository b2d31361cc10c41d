//! Axes: the values that the cases of a criterion go through.

use toml::Spanned;
use toml::de::DeValue;

use crate::item::Item;
use crate::read::{Reader, Table, ends};

/// Values that each template which names them goes through.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// A value of an axis, and what else has a value with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// By name; the axis's own is among them.
    pub(crate) values: Vec<(String, Item)>,
    /// The value of the axis's own name, for people.
    pub(crate) label: String,
    /// Whether the quick form has it.
    pub(crate) is_quick: bool,
}

/// All axes of a criterion.
pub(crate) fn axes(reader: &mut Reader<'_>, top: Table<'_, '_>) -> Vec<Axis> {
    let Some((_, _, table)) = reader.table(top, "axis") else { return Vec::new() };
    let mut found: Vec<(usize, Axis)> = Vec::new();
    for (name, value) in table {
        let key = format!("axis.{}", name.get_ref());
        let DeValue::Array(items) = value.get_ref() else {
            reader.complain(
                value.span(),
                "wrong-type",
                &key,
                "an axis must be a list",
                "write it in brackets",
            );
            continue;
        };
        let mut points: Vec<Point> = Vec::new();
        for (number, item) in (1..).zip(items) {
            let key = format!("{key}.{number}");
            let Some(point) = point(reader, name.get_ref(), item, &key) else { continue };
            let names = |point: &Point| point.values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            if points.iter().any(|other| other.label == point.label) {
                let message = format!("`{}` is there twice", point.label);
                reader.complain(item.span(), "duplicate-name", &key, message, "");
            } else if points.first().is_some_and(|first| names(first) != names(&point)) {
                let message = "it does not have the same names as the first value of its axis";
                reader.complain(item.span(), "missing-key", &key, message, "give all values the same names");
            }
            points.push(point);
        }
        if items.is_empty() {
            reader.complain(value.span(), "missing-key", &key, "the axis has no value", "add one");
        }
        found.push((value.span().start, Axis { name: name.get_ref().to_string(), points }));
    }
    // as in the file: the first axis changes slowest
    found.sort_by_key(|(at, _)| *at);
    let mut axes: Vec<Axis> = found.into_iter().map(|(_, axis)| axis).collect();
    quick(reader, top, &mut axes);
    axes
}

/// A value, or a table with several that belong together.
fn point(reader: &mut Reader<'_>, axis: &str, item: &Spanned<DeValue<'_>>, key: &str) -> Option<Point> {
    let help = format!("write a number, a text, a list of these, or a table with `{axis}` among its keys");
    let mut values = Vec::new();
    match item.get_ref() {
        DeValue::Table(table) => {
            for (name, value) in table {
                let Some(item) = Item::of(value.get_ref()) else {
                    let key = format!("{key}.{}", name.get_ref());
                    reader.complain(
                        value.span(),
                        "wrong-type",
                        &key,
                        "this cannot be a value",
                        help.as_str(),
                    );
                    return None;
                };
                values.push((name.get_ref().to_string(), item));
            }
        }
        other => values.extend(Item::of(other).map(|item| (axis.to_owned(), item))),
    }
    let Some(label) = values.iter().find(|(name, _)| name == axis).map(|(_, item)| item.shown()) else {
        reader.complain(item.span(), "wrong-type", key, format!("this is no value of `{axis}`"), help);
        return None;
    };
    Some(Point { values, label, is_quick: true })
}

/// Marks which values the quick form has.
fn quick(reader: &mut Reader<'_>, top: Table<'_, '_>, axes: &mut [Axis]) {
    let Some((path, value, table)) = reader.table(top, "quick") else { return };
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    reader.known(Table { table, path: &path, span: ends(value) }, &names);
    for axis in axes {
        let Some(value) = table.get(axis.name.as_str()) else { continue };
        let DeValue::Array(items) = value.get_ref() else {
            let key = format!("quick.{}", axis.name);
            reader.complain(value.span(), "wrong-type", &key, "it must be a list of the axis's values", "");
            continue;
        };
        axis.points.iter_mut().for_each(|point| point.is_quick = false);
        for (number, item) in (1..).zip(items) {
            let label = Item::of(item.get_ref()).map(|item| item.shown());
            match axis.points.iter_mut().find(|point| Some(&point.label) == label.as_ref()) {
                Some(point) => point.is_quick = true,
                None => {
                    let key = format!("quick.{}.{number}", axis.name);
                    let help = axis.points.iter().map(|point| point.label.as_str()).collect::<Vec<_>>();
                    let message = format!("the axis `{}` has no such value", axis.name);
                    reader.complain(
                        item.span(),
                        "unknown-name",
                        &key,
                        message,
                        format!("it has {}", help.join(", ")),
                    );
                }
            }
        }
    }
}
