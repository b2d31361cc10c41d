//! Expansion of a criterion into its cases: the product of the axes, filled into the templates, gives
//! scenarios.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use fairpace_cc::Algorithm;
use fairpace_scenario::quantity::{
    Buffer, Dimension, PACKET_BYTES, parse as parse_quantity, parse_buffer, parse_time, show_time,
};
use fairpace_scenario::{Cc, Invalid, Problem, Scenario, Set, Target, parse};

use toml::{Table, Value};

use crate::axis::{Point, combinations};
use crate::condition::Condition;
use crate::criterion::Criterion;
use crate::item::{filled, names, shown, whole};
use crate::judge::Check;
use crate::template::{FlowPart, Template, is_part};

/// Selects cases of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// All cases.
    Full,
    /// The cases that the file selects for a quick look.
    Quick,
}

/// A scenario with the conditions that must hold in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Name of the case: "10mbit 10/50ms 1bdp".
    pub name: String,
    /// The scenario of the case, with seed 1.
    pub scenario: Scenario,
    /// The conditions that must hold.
    pub checks: Vec<Check>,
    /// The part of the link's rate that flows can use.
    pub available: f64,
    /// The words of the name that give the case's row in a picture: "10/50ms".
    pub row: String,
    /// The words of the name that give the case's column: "10mbit", "1bdp". If empty, the case takes the
    /// whole row.
    pub column: Vec<String>,
}

impl Criterion {
    /// The cases whose name contains `matching`, for an algorithm. Changed parameters apply where their
    /// algorithm takes part, other changes everywhere.
    ///
    /// # Errors
    /// Returns the problems of the first wrong case, each with its place in the criterion's file or in
    /// `sets`.
    pub fn cases(&self, cc: &str, sets: &[Set], form: Form, matching: &str) -> Result<Vec<Case>, Invalid> {
        let mut cases = Vec::new();
        let mut names = HashSet::new();
        for (number, template) in (1..).zip(&self.templates) {
            let is_meant = |point: &Point| form == Form::Full || point.is_quick;
            for points in combinations(self.axes_of(template), is_meant) {
                let at = format!("template.{number}");
                let one = Combination { criterion: self, template, at, points };
                let name = one.fill(&template.name)?;
                if !names.insert(name.clone()) {
                    let message = format!("two cases are called `{name}`");
                    let help = "let the name of a template have all its axes";
                    let key = format!("{}.name", one.at);
                    return Err(self.source.invalid("duplicate-name", &key, message, help));
                }
                if name.contains(matching) {
                    cases.push(one.case(name, cc, sets)?);
                }
            }
        }
        Ok(cases)
    }

    /// The conditions of the criterion, with the numbers of a case.
    pub(crate) fn checks<'v>(
        &self,
        value: impl Fn(&str) -> Option<&'v Value>,
        scenario: &Scenario,
    ) -> Result<Vec<Check>, Invalid> {
        let check = |(number, of): (usize, &Condition)| {
            of.check(&value, scenario, &self.source, &format!("condition.{number}"))
        };
        (1..).zip(&self.conditions).map(check).collect()
    }
}

/// The changes of `sets` that apply to a scenario with these algorithms: changes of their parameters, and
/// changes of other keys.
pub(crate) fn taking_part(sets: &[Set], algorithms: &[&str]) -> Vec<Set> {
    // a header is called by its name, a variant by that of its algorithm
    let name = |text: &str| Algorithm::by_name(Cc::split(text).0).map(Algorithm::name);
    let is_of = |of: &str| algorithms.iter().any(|text| name(text) == Ok(of));
    let takes_part = |set: &&Set| set.algorithm().is_none_or(is_of);
    sets.iter().filter(takes_part).cloned().collect()
}

/// A template, whose key is `at`, with a value for each of its axes.
struct Combination<'g> {
    criterion: &'g Criterion,
    template: &'g Template,
    at: String,
    points: Vec<(&'g str, &'g Point)>,
}

/// The text of a scenario, and for each line the key of the criterion's file that it comes from.
#[derive(Default)]
struct Draft {
    text: String,
    places: Vec<String>,
}

impl Draft {
    fn line(&mut self, line: &str, at: String) {
        let _ = writeln!(self.text, "{line}");
        self.places.push(at);
    }

    fn part(&mut self, header: &str, keys: &Table, at: &str) {
        self.line(header, at.to_owned());
        keys.iter().for_each(|(key, value)| self.line(&format!("{key} = {value}"), format!("{at}.{key}")));
    }
}

/// The texts that the parts have at a key.
fn texts<'p>(parts: &'p [(String, Table)], key: &str) -> impl Iterator<Item = &'p str> {
    parts.iter().filter_map(move |(_, part)| part.get(key)?.as_str())
}

impl Combination<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.points.iter().find_map(|(_, point)| point.values.get(name))
    }

    fn fill(&self, text: &str) -> Result<String, Invalid> {
        filled(text, |name| self.value(name).map(shown)).map_err(|name| self.unknown(&name, &self.at))
    }

    /// The words of the name that give row and column in a picture. A word with an axis of the columns
    /// belongs to the column.
    fn place(&self) -> Result<(String, Vec<String>), Invalid> {
        let words: Vec<&str> = self.template.name.split(' ').collect();
        let is_with = |word: &str, axis: &str| names(word).any(|name| name == axis);
        let columns = || self.criterion.page.columns.iter();
        let column = columns().filter_map(|axis| words.iter().find(|word| is_with(word, axis)));
        let is_of_row = |word: &&&str| !columns().any(|axis| is_with(word, axis));
        let row: Vec<&str> = words.iter().filter(is_of_row).copied().collect();
        Ok((self.fill(&row.join(" "))?, column.map(|word| self.fill(word)).collect::<Result<_, _>>()?))
    }

    /// The error that no axis has this name. Reading the file checks the names, so the error is a fault of
    /// this crate.
    fn unknown(&self, name: &str, at: &str) -> Invalid {
        self.criterion.source.invalid("unknown-name", at, format!("`{name}` has no value here"), "")
    }

    fn case(&self, name: String, cc: &str, sets: &[Set]) -> Result<Case, Invalid> {
        let flows = self.flows(cc)?;
        let draft = self.draft(&name, &flows)?;
        let sets = taking_part(sets, &texts(&flows, "cc").collect::<Vec<_>>());
        let scenario = parse(&self.criterion.source.name, &draft.text, &sets, Target::Simulator)
            .map_err(|invalid| self.in_criterion(invalid, &draft, &name))?;
        let checks = self.criterion.checks(|name| self.value(name), &scenario)?;
        let (row, column) = self.place()?;
        let available =
            self.template.available.of(|name| self.value(name)).ok().filter(|part| is_part(*part));
        let available = available.ok_or_else(|| {
            let message = format!("`available` is no number above 0 and at most 1 in the case `{name}`");
            self.criterion.source.invalid("out-of-range", &format!("{}.available", self.at), message, "")
        })?;
        Ok(Case { name, scenario, checks, available, row, column })
    }

    fn draft(&self, name: &str, flows: &[(String, Table)]) -> Result<Draft, Invalid> {
        let Self { criterion, template, at, .. } = self;
        let longest = texts(flows, "rtt").filter_map(|text| parse_time(text).ok()).max();
        let title = Value::String(format!("{} {name}", criterion.id));
        let mut draft = Draft::default();
        draft.part(&format!("title = {title}"), &self.part(&template.top, None, at)?, at);
        let of_window = format!("{at}.window");
        draft.part("[window]", &self.part(&template.window, None, &of_window)?, &of_window);
        for (number, link) in (1..).zip(&template.links) {
            let at = format!("{at}.link.{number}");
            let mut keys = self.part(link, None, &at)?;
            self.resolve(&mut keys, longest);
            draft.part("[[link]]", &keys, &at);
        }
        flows.iter().for_each(|(at, keys)| draft.part("[[flow]]", keys, at));
        Ok(draft)
    }

    /// The keys of all flows, each with its place. A part gives one flow, or one flow for each item of its
    /// list. A flow that names no algorithm runs the algorithm under test.
    fn flows(&self, cc: &str) -> Result<Vec<(String, Table)>, Invalid> {
        let mut flows = Vec::new();
        for (number, FlowPart { each, apart, part }) in (1..).zip(&self.template.flows) {
            let at = format!("{}.flow.{number}", self.at);
            let items = match each.as_deref().map(|list| (list, self.value(list))) {
                None => vec![None],
                Some((list, Some(Value::Array(items)))) => {
                    items.iter().map(|item| Some((list, item))).collect()
                }
                Some((list, Some(other))) => vec![Some((list, other))],
                Some((list, None)) => return Err(self.unknown(list, &at)),
            };
            let apart = apart.as_deref().and_then(|text| parse_time(text).ok()).unwrap_or_default();
            for (index, item) in (0u32..).zip(items) {
                let mut keys = self.part(part, item, &at)?;
                keys.entry("cc").or_insert_with(|| cc.into());
                let start = apart.saturating_mul(index);
                if !start.is_zero() {
                    keys.insert("start".to_owned(), show_time(start).into());
                }
                flows.push((at.clone(), keys));
            }
        }
        Ok(flows)
    }

    /// The keys of a part with values in place of names; `item` is the name of a list and one of its items.
    fn part(&self, part: &Table, item: Option<(&str, &Value)>, at: &str) -> Result<Table, Invalid> {
        let value = |name: &str| match item {
            Some((list, item)) if list == name => Some(shown(item)),
            _ => self.value(name).map(shown),
        };
        let with_values = |(key, written): (&String, &Value)| {
            let Some(text) = written.as_str() else { return Ok((key.clone(), written.clone())) };
            // a number that is the whole value stays one: `count = "{n}"`; so does true or false
            let alone = whole(text).and_then(|name| self.value(name));
            if let Some(alone) = alone.filter(|value| !value.is_str() && !value.is_array()) {
                return Ok((key.clone(), alone.clone()));
            }
            let text = filled(text, value).map_err(|name| self.unknown(&name, &format!("{at}.{key}")))?;
            Ok((key.clone(), text.into()))
        };
        part.iter().map(with_values).collect()
    }

    /// Replaces buffer sizes in BDP by bytes, with the criterion's least number of packets.
    fn resolve(&self, keys: &mut Table, longest: Option<Duration>) {
        let text = |key: &str| keys.get(key).and_then(Value::as_str);
        let rate = text("rate").and_then(|rate| parse_quantity(rate, Dimension::Rate).ok());
        let rtt = text("bdp_rtt").and_then(|rtt| parse_time(rtt).ok()).or(longest);
        // without them the scenario's own check says what is wrong
        let (Some(rate), Some(rtt)) = (rate, rtt) else { return };
        keys.remove("bdp_rtt");
        for (_, value) in keys.iter_mut() {
            if let Some(Ok(size @ Buffer::Bdp { .. })) = value.as_str().map(parse_buffer) {
                let least = u64::from(self.criterion.least_pkts) * PACKET_BYTES;
                *value = format!("{}B", size.limit(rate, rtt).bytes().max(least)).into();
            }
        }
    }

    /// The problems of a scenario's text, at the places in the criterion's file that the text comes from.
    fn in_criterion(&self, invalid: Invalid, draft: &Draft, case: &str) -> Invalid {
        let source = &self.criterion.source;
        let moved = |problem: Problem| {
            if problem.file != source.name {
                return problem;
            }
            let place = problem.line.checked_sub(1).and_then(|line| draft.places.get(line));
            let message = format!("{} (in the case `{case}`)", problem.message);
            source.moved(problem, message, place.unwrap_or(&self.at))
        };
        Invalid { problems: invalid.problems.into_iter().map(moved).collect() }
    }
}
