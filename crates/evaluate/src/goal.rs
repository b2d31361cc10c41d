//! A goal: what one file of criteria says.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fairpace_scenario::Invalid;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::amount::Amount;
use crate::item::{Item, names};
use crate::judge::Side;
use crate::measure::Metric;
use crate::read::{Reader, Table, ends, number};
use crate::source::{Source, unreadable};
use crate::template::{Template, Written};

/// What is asked of an algorithm, and the cases that answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The file without its extension: "rtt-fairness".
    pub name: String,
    /// Short: "G1".
    pub id: String,
    /// A few words.
    pub title: String,
    /// What it asks, in a sentence.
    pub asks: String,
    /// Why it is asked, in a sentence.
    pub why: String,
    /// Axes whose values are the columns of a picture; the others give its rows.
    pub columns: Vec<String>,
    /// A size in BDP is at least this many packets.
    pub(crate) least_pkts: u64,
    pub(crate) axes: Vec<Axis>,
    pub(crate) templates: Vec<Template>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) source: Source,
}

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

/// What must hold in every case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    pub(crate) of: String,
    pub(crate) bounds: Vec<(Side, Amount)>,
    /// The upper bound is also at most this part of the longest RTT, in milliseconds.
    pub(crate) of_rtt: Option<f64>,
    /// Factor of the upper bound.
    pub(crate) times: Amount,
    pub(crate) span: Range<usize>,
}

/// The goals of a folder in the order of their ids.
///
/// # Errors
/// Everything that is wrong with the first wrong file, each with its place.
pub fn load(folder: &Path) -> Result<Vec<Goal>, Invalid> {
    let failed = |error| unreadable(folder, &error);
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut goals: Vec<Goal> = Vec::new();
    for path in &paths {
        let goal = Goal::read(path)?;
        if let Some(other) = goals.iter().find(|other| other.id == goal.id) {
            let span = goal.source.text.find("id").map_or(0..0, |at| at..at + 2);
            let message = format!("`{}` is the id of {}, too", goal.id, other.source.name);
            let problem =
                goal.source.problem(span, "duplicate-name", "id", message, "give each goal its own");
            return Err(Invalid { problems: vec![problem] });
        }
        goals.push(goal);
    }
    if goals.is_empty() {
        return Err(unreadable(folder, &std::io::Error::other("there is no goal in it")));
    }
    goals.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(goals)
}

impl Goal {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn read(path: &Path) -> Result<Self, Invalid> {
        let source = Source::read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::parse(name, source)
    }

    pub(crate) fn parse(name: String, source: Source) -> Result<Self, Invalid> {
        let document = DeTable::parse(&source.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!("this is not TOML: {}", error.message());
            Invalid { problems: vec![source.problem(span, "syntax", "", message, "")] }
        })?;
        let mut reader = Reader { source: &source, problems: Vec::new() };
        let goal = read_goal(&mut reader, name, document.get_ref());
        let problems = reader.problems;
        match goal {
            Some(goal) if problems.is_empty() => Ok(Self { source, ..goal }),
            _ => Err(Invalid { problems }),
        }
    }

    /// Names and words of its conditions: "fair: jain >= 0.95".
    #[must_use]
    pub fn conditions(&self) -> Vec<String> {
        self.conditions.iter().map(Condition::text).collect()
    }

    /// Algorithms that its flows name, beside the one under test.
    #[must_use]
    pub fn rivals(&self) -> Vec<String> {
        let flows = self.templates.iter().flat_map(|template| &template.flows);
        let written = flows.flat_map(|flow| &flow.part.entries).filter(|entry| entry.key == "cc");
        let mut rivals: Vec<String> = Vec::new();
        for entry in written {
            let Written::Text(text) = &entry.value else { continue };
            let points = || self.axes.iter().flat_map(|axis| &axis.points).flat_map(|point| &point.values);
            match names(text).next() {
                Some(name) => {
                    rivals.extend(points().filter(|(known, _)| known == name).map(|(_, item)| item.shown()));
                }
                None => rivals.push(text.clone()),
            }
        }
        rivals
    }

    /// The axes that a template names, in the order of the file.
    pub(crate) fn axes_of(&self, template: &Template) -> Vec<&Axis> {
        let names = template.names();
        let is_used = |axis: &&Axis| {
            let values = axis.points.iter().flat_map(|point| &point.values);
            values.into_iter().any(|(name, _)| names.contains(name.as_str()))
        };
        self.axes.iter().filter(is_used).collect()
    }
}

impl Condition {
    fn text(&self) -> String {
        let Self { name, metric, of, bounds, of_rtt, times, .. } = self;
        let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
        let amount = |amount: &Amount| match amount {
            Amount::Fixed(number) => number.to_string(),
            Amount::Named(name) => format!("`{name}`"),
        };
        let mut parts: Vec<_> =
            bounds.iter().map(|(side, bound)| format!("{} {}", side.sign(), amount(bound))).collect();
        parts.extend(of_rtt.map(|part| format!("<= {part} of the longest RTT")));
        let times = match times {
            Amount::Fixed(1.0) => String::new(),
            other => format!(", times {}", amount(other)),
        };
        format!("{name}: {}{of} {}{times}", metric.name(), parts.join(" and "))
    }
}

const KEYS: [&str; 10] =
    ["id", "title", "asks", "why", "least_pkts", "axis", "quick", "page", "template", "condition"];

fn read_goal(reader: &mut Reader<'_>, name: String, document: &DeTable<'_>) -> Option<Goal> {
    let top = Table { table: document, path: "", span: (0, 0) };
    reader.known(top, &KEYS);
    let [id, title, asks, why] = ["id", "title", "asks", "why"].map(|key| reader.text(top, key));
    let least_pkts = reader.number(top, "least_pkts").unwrap_or(4.0) as u64;
    let axes = axes(reader, top);
    let mut templates = Vec::new();
    for (path, value, table) in reader.tables(top, "template") {
        templates.extend(Template::read(reader, Table { table, path: &path, span: ends(value) }));
    }
    let mut conditions = Vec::new();
    for (path, value, table) in reader.tables(top, "condition") {
        conditions.extend(condition(reader, Table { table, path: &path, span: ends(value) }));
    }
    let columns = columns(reader, top, &axes);
    let source = Source { name: String::new(), text: String::new() };
    let goal = Goal {
        name,
        id: id?,
        title: title?,
        asks: asks?,
        why: why?,
        columns,
        least_pkts,
        axes,
        templates,
        conditions,
        source,
    };
    for (number, template) in (1..).zip(&goal.templates) {
        check_names(reader, &goal, number, template);
    }
    Some(goal)
}

/// Every name of a template and of the conditions must be a value of an axis.
fn check_names(reader: &mut Reader<'_>, goal: &Goal, number: usize, template: &Template) {
    let axes = goal.axes_of(template);
    let points = axes.iter().filter_map(|axis| axis.points.first());
    let known: BTreeSet<&str> =
        points.flat_map(|point| &point.values).map(|(name, _)| name.as_str()).collect();
    let help = |name: &str| {
        let meant = fairpace_cc::nearest(name, known.iter().copied());
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        format!("{meant}Known are {}", known.iter().copied().collect::<Vec<_>>().join(", "))
    };
    for name in template.names().into_iter().filter(|name| !known.contains(name)) {
        let message = format!("no axis has a value `{name}`");
        reader.complain(
            template.span.clone(),
            "unknown-name",
            &format!("template.{number}"),
            message,
            help(name),
        );
    }
    for (place, condition) in (1..).zip(&goal.conditions) {
        let amounts = condition.bounds.iter().map(|(_, amount)| amount).chain([&condition.times]);
        for amount in amounts {
            let Amount::Named(name) = amount else { continue };
            if !known.contains(name.as_str()) {
                let message = format!("template {number} uses no axis that has a value `{name}`");
                let key = format!("condition.{place}");
                reader.complain(condition.span.clone(), "unknown-name", &key, message, help(name));
            }
        }
    }
}

fn axes(reader: &mut Reader<'_>, top: Table<'_, '_>) -> Vec<Axis> {
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

fn columns(reader: &mut Reader<'_>, top: Table<'_, '_>, axes: &[Axis]) -> Vec<String> {
    let Some((path, value, table)) = reader.table(top, "page") else { return Vec::new() };
    reader.known(Table { table, path: &path, span: ends(value) }, &["columns"]);
    let Some(value) = table.get("columns") else { return Vec::new() };
    let columns = match Item::of(value.get_ref()) {
        Some(Item::List(columns)) => columns,
        _ => Vec::new(),
    };
    let is_known = |name: &String| axes.iter().any(|axis| axis.name == *name);
    if columns.is_empty() || !columns.iter().all(is_known) {
        let names: Vec<_> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let help = format!("they are {}", names.join(", "));
        reader.complain(value.span(), "unknown-name", "page.columns", "it must be a list of axes", help);
    }
    columns
}

fn condition(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Condition> {
    const SIDES: [(&str, Side); 3] =
        [("at_least", Side::AtLeast), ("at_most", Side::AtMost), ("below", Side::Below)];
    reader.known(of, &["name", "metric", "of", "at_least", "at_most", "below", "at_most_of_rtt", "times"]);
    let (name, written) = (reader.text(of, "name"), reader.text(of, "metric")?);
    let place = |key: &str| of.table.get(key).map_or(of.span.0..of.span.1, Spanned::span);
    let Some(metric) = Metric::ALL.into_iter().find(|metric| metric.name() == written) else {
        let known = Metric::ALL.map(Metric::name);
        let meant = fairpace_cc::nearest(&written, known);
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let help = format!("{meant}Known are {}", known.join(", "));
        let message = format!("there is no metric `{written}`");
        reader.complain(place("metric"), "unknown-name", &of.key("metric"), message, help);
        return None;
    };
    let group = match (metric.is_of_flows(), of.table.contains_key("of")) {
        (true, _) => reader.text(of, "of")?,
        (false, true) => {
            let message = format!("`{written}` is of all flows");
            reader.complain(place("of"), "impossible", &of.key("of"), message, "leave `of` out");
            return None;
        }
        (false, false) => String::new(),
    };
    let mut bounds = Vec::new();
    for (key, side) in SIDES {
        bounds.extend(amount(reader, of, key).map(|amount| (side, amount)));
    }
    if bounds.is_empty() {
        let message = "the condition has no bound";
        let help = "write `at_least`, `at_most` or `below`";
        reader.complain(of.span.0..of.span.1, "missing-key", of.path, message, help);
    }
    let of_rtt = reader.number(of, "at_most_of_rtt");
    if of_rtt.is_some() && metric != Metric::QueueMs {
        let message = "only a queueing delay is compared with an RTT";
        reader.complain(
            place("at_most_of_rtt"),
            "impossible",
            &of.key("at_most_of_rtt"),
            message,
            "leave it out",
        );
    }
    let times = amount(reader, of, "times").unwrap_or(Amount::Fixed(1.0));
    Some(Condition { name: name?, metric, of: group, bounds, of_rtt, times, span: of.span.0..of.span.1 })
}

/// A number, or the name of one in braces.
fn amount(reader: &mut Reader<'_>, of: Table<'_, '_>, key: &str) -> Option<Amount> {
    let value = of.table.get(key)?;
    let named = value.get_ref().as_str().and_then(|text| {
        let name = names(text).next()?;
        (text == format!("{{{name}}}")).then(|| Amount::Named(name.to_owned()))
    });
    let amount = named.or_else(|| number(value.get_ref()).map(Amount::Fixed));
    if amount.is_none() {
        let help = "write a number, or \"{name}\" with a name of an axis's values";
        reader.complain(value.span(), "wrong-type", &of.key(key), format!("`{key}` is no number"), help);
    }
    amount
}
