//! From a criterion to its cases: the product of the axes, filled into the templates, as scenarios.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use fairpace_scenario::quantity::{
    Buffer, Dimension, PACKET_BYTES, parse as parse_quantity, parse_buffer, parse_time, show_time,
};
use fairpace_scenario::{Invalid, Problem, Scenario, Set, Target, parse};

use crate::axis::Point;
use crate::criterion::Criterion;
use crate::item::{Item, filled, names};
use crate::judge::Check;
use crate::source::ABOUT;
use crate::template::{Entry, FlowPart, Part, Template, Written, is_part};

/// Which cases of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// All.
    Full,
    /// Those that the file names for a quick look.
    Quick,
}

/// A scenario with the conditions that must hold in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name: "10mbit 10/50ms 1bdp".
    pub name: String,
    /// What is run, with seed 1.
    pub scenario: Scenario,
    /// What must hold.
    pub checks: Vec<Check>,
    /// The part of the link's rate that can be had.
    pub available: f64,
    /// The words of its name that stand for its row in a picture: "10/50ms".
    pub row: String,
    /// The words that stand for its column: "10mbit", "1bdp". Empty: it takes the whole row.
    pub column: Vec<String>,
}

impl Criterion {
    /// The cases whose name contains `matching`, for an algorithm. Changes of a parameter are made where its
    /// algorithm takes part, others everywhere.
    ///
    /// # Errors
    /// What is wrong with the first wrong case, each with its place in the criterion's file or in `sets`.
    pub fn cases(&self, cc: &str, sets: &[Set], form: Form, matching: &str) -> Result<Vec<Case>, Invalid> {
        let mut cases = Vec::new();
        let mut names = HashSet::new();
        for template in &self.templates {
            for points in self.combinations(template, form) {
                let one = Combination { criterion: self, template, points };
                let name = one.name()?;
                if !names.insert(name.clone()) {
                    let message = format!("two cases are called `{name}`");
                    let help = "let the name of a template have all its axes";
                    let span = template.span.clone();
                    return Err(self.source.invalid(span, "duplicate-name", "template.name", message, help));
                }
                if name.contains(matching) {
                    cases.push(one.case(name, cc, sets)?);
                }
            }
        }
        Ok(cases)
    }

    /// The conditions with the numbers of a case.
    pub(crate) fn checks<'v>(
        &self,
        value: impl Fn(&str) -> Option<&'v Item>,
        scenario: &Scenario,
    ) -> Result<Vec<Check>, Invalid> {
        self.conditions.iter().map(|of| of.check(&value, scenario, &self.source)).collect()
    }

    /// The product of the axes that a template names; the last one changes fastest.
    fn combinations(&self, template: &Template, form: Form) -> Vec<Vec<(&str, &Point)>> {
        let mut all: Vec<Vec<(&str, &Point)>> = vec![Vec::new()];
        for axis in self.axes_of(template) {
            let points = || axis.points.iter().filter(|point| form == Form::Full || point.is_quick);
            let with =
                |before: Vec<_>| points().map(move |point| [&before[..], &[(&*axis.name, point)]].concat());
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }
}

/// A template with a value of each of its axes.
struct Combination<'g> {
    criterion: &'g Criterion,
    template: &'g Template,
    points: Vec<(&'g str, &'g Point)>,
}

/// A key of a scenario with its value in TOML.
struct Line {
    key: String,
    value: String,
    /// The text, if it is one.
    text: Option<String>,
    span: Range<usize>,
}

/// The keys of a flow, and where it is in the criterion's file.
struct Lines {
    lines: Vec<Line>,
    span: Range<usize>,
}

/// A scenario's text, and where each of its lines comes from.
#[derive(Default)]
struct Draft {
    text: String,
    places: Vec<Range<usize>>,
}

impl Draft {
    fn line(&mut self, line: &str, span: &Range<usize>) {
        let _ = writeln!(self.text, "{line}");
        self.places.push(span.clone());
    }

    fn lines(&mut self, lines: &[Line]) {
        lines.iter().for_each(|line| self.line(&format!("{} = {}", line.key, line.value), &line.span));
    }
}

impl Combination<'_> {
    fn value(&self, name: &str) -> Option<&Item> {
        let values = self.points.iter().flat_map(|(_, point)| &point.values);
        values.into_iter().find(|(known, _)| known == name).map(|(_, item)| item)
    }

    fn name(&self) -> Result<String, Invalid> {
        self.fill(&self.template.name)
    }

    fn fill(&self, text: &str) -> Result<String, Invalid> {
        filled(text, |name| self.value(name).map(Item::shown))
            .map_err(|name| self.unknown(&name, self.template.span.clone()))
    }

    /// The words of the name for row and column of a picture. A word with an axis of the columns is the
    /// column's.
    fn place(&self) -> Result<(String, Vec<String>), Invalid> {
        let words: Vec<&str> = self.template.name.split(' ').collect();
        let is_with = |word: &str, axis: &str| names(word).any(|name| name == axis);
        let columns = self.criterion.columns.iter();
        let column = columns.filter_map(|axis| words.iter().find(|word| is_with(word, axis)));
        let is_of_row = |word: &&&str| !self.criterion.columns.iter().any(|axis| is_with(word, axis));
        let row: Vec<&str> = words.iter().filter(is_of_row).copied().collect();
        Ok((self.fill(&row.join(" "))?, column.map(|word| self.fill(word)).collect::<Result<_, _>>()?))
    }

    /// No axis has this name: reading the file has checked that, so this is a fault of the crate.
    fn unknown(&self, name: &str, span: Range<usize>) -> Invalid {
        let message = format!("`{name}` has no value here");
        self.criterion.source.invalid(span, "unknown-name", "", message, "")
    }

    fn case(&self, name: String, cc: &str, sets: &[Set]) -> Result<Case, Invalid> {
        let (draft, algorithms) = self.draft(&name, cc)?;
        let is_for_this = |set: &&Set| set.algorithm().is_none_or(|of| algorithms.iter().any(|cc| cc == of));
        let sets: Vec<Set> = sets.iter().filter(is_for_this).cloned().collect();
        let scenario = parse(&self.criterion.source.name, &draft.text, &sets, Target::Simulator)
            .map_err(|invalid| self.in_criterion(invalid, &draft, &name))?;
        let checks = self.criterion.checks(|name| self.value(name), &scenario)?;
        let (row, column) = self.place()?;
        let available = self.available(&name)?;
        Ok(Case { name, scenario, checks, available, row, column })
    }

    /// The part of the link's rate that can be had.
    fn available(&self, case: &str) -> Result<f64, Invalid> {
        let part = self.template.available.of(|name| self.value(name)).ok().filter(|part| is_part(*part));
        part.ok_or_else(|| {
            let message = format!("`available` is no number above 0 and at most 1 in the case `{case}`");
            let span = self.template.span.clone();
            self.criterion.source.invalid(span, "out-of-range", "template.available", message, "")
        })
    }

    /// The scenario's text, and the algorithms of its flows.
    fn draft(&self, name: &str, cc: &str) -> Result<(Draft, Vec<String>), Invalid> {
        let Template { span, top, window, links, flows, .. } = self.template;
        let mut parts = Vec::new();
        for flow in flows {
            parts.extend(self.flows(flow, cc)?);
        }
        let texts = |key: &'static str| {
            let lines = parts.iter().flat_map(|part| &part.lines).filter(move |line: &&Line| line.key == key);
            lines.filter_map(|line| line.text.clone())
        };
        let longest = texts("rtt").filter_map(|text| parse_time(&text).ok()).max();
        let algorithms = texts("cc").collect();
        let mut draft = Draft::default();
        draft.line(&format!("title = {}", quoted(&format!("{} {name}", self.criterion.id))), span);
        draft.lines(&self.lines(top, None)?);
        draft.line("[window]", span);
        draft.lines(&self.lines(window, None)?);
        for link in links {
            let mut lines = self.lines(link, None)?;
            self.resolve(&mut lines, longest);
            draft.line("[[link]]", &link.span);
            draft.lines(&lines);
        }
        for Lines { lines, span } in &parts {
            draft.line("[[flow]]", span);
            draft.lines(lines);
        }
        Ok((draft, algorithms))
    }

    /// The flows of a part, one or one for each item of its list.
    fn flows(&self, flow: &FlowPart, cc: &str) -> Result<Vec<Lines>, Invalid> {
        let Some(each) = &flow.each else {
            let lines = self.with_cc(self.lines(&flow.part, None)?, cc, flow);
            return Ok(vec![Lines { lines, span: flow.part.span.clone() }]);
        };
        let items = match self.value(&each.of) {
            Some(Item::List(items)) => items.clone(),
            Some(other) => vec![other.shown()],
            None => return Err(self.unknown(&each.of, each.span.clone())),
        };
        let mut flows = Vec::new();
        for (number, item) in (0u32..).zip(&items) {
            let mut lines = self.with_cc(self.lines(&flow.part, Some((&each.of, item)))?, cc, flow);
            let start = each.apart.saturating_mul(number);
            if !start.is_zero() {
                lines.push(Line::of("start", show_time(start), &each.span));
            }
            flows.push(Lines { lines, span: flow.part.span.clone() });
        }
        Ok(flows)
    }

    /// A flow that names no algorithm has the one under test.
    fn with_cc(&self, mut lines: Vec<Line>, cc: &str, flow: &FlowPart) -> Vec<Line> {
        if !lines.iter().any(|line| line.key == "cc") {
            lines.push(Line::of("cc", cc.to_owned(), &flow.part.span));
        }
        lines
    }

    fn lines(&self, part: &Part, item: Option<(&str, &str)>) -> Result<Vec<Line>, Invalid> {
        part.entries.iter().map(|entry| self.entry(entry, item)).collect()
    }

    fn entry(&self, entry: &Entry, item: Option<(&str, &str)>) -> Result<Line, Invalid> {
        let Entry { key, value, span } = entry;
        let text = match value {
            Written::Raw(raw) => {
                return Ok(Line { key: key.clone(), value: raw.clone(), text: None, span: span.clone() });
            }
            Written::Text(text) => text,
        };
        // a number that is the whole value stays one: `count = "{n}"`; so does true or false
        if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
            && let Some(value) = self.value(name).and_then(Item::unquoted)
        {
            return Ok(Line { key: key.clone(), value, text: None, span: span.clone() });
        }
        let value = |name: &str| match item {
            Some((list, item)) if list == name => Some(item.to_owned()),
            _ => self.value(name).map(Item::shown),
        };
        let text = filled(text, value).map_err(|name| self.unknown(&name, span.clone()))?;
        Ok(Line::of(key, text, span))
    }

    /// Replaces sizes in BDP by bytes, which are at least some packets.
    fn resolve(&self, lines: &mut Vec<Line>, longest: Option<Duration>) {
        let text = |key: &str| lines.iter().find(|line| line.key == key).and_then(|line| line.text.clone());
        let rate = text("rate").and_then(|rate| parse_quantity(&rate, Dimension::Rate).ok());
        let rtt = text("bdp_rtt").and_then(|rtt| parse_time(&rtt).ok()).or(longest);
        // without them the scenario's own check says what is wrong
        let (Some(rate), Some(rtt)) = (rate, rtt) else { return };
        for line in lines.iter_mut() {
            let Some(Ok(size @ Buffer::Bdp { .. })) = line.text.as_deref().map(parse_buffer) else {
                continue;
            };
            let bytes = size.limit(rate, rtt).bytes().max(self.criterion.least_pkts * PACKET_BYTES);
            *line = Line::of(&line.key, format!("{bytes}B"), &line.span);
        }
        lines.retain(|line| line.key != "bdp_rtt");
    }

    /// What is wrong with a scenario's text, at the place in the criterion's file that the text comes from.
    fn in_criterion(&self, invalid: Invalid, draft: &Draft, case: &str) -> Invalid {
        let source = &self.criterion.source;
        let moved = |problem: Problem| {
            if problem.file != source.name {
                return problem;
            }
            let place = problem.line.checked_sub(1).and_then(|line| draft.places.get(line));
            let span = place.cloned().unwrap_or_else(|| self.template.span.clone());
            let message = format!("{} (in the case `{case}`)", problem.message);
            let Problem { kind, key, help, .. } = problem;
            Problem::of(ABOUT, kind, key, message, help).within(&source.name, &source.text, span)
        };
        Invalid { problems: invalid.problems.into_iter().map(moved).collect() }
    }
}

impl Line {
    fn of(key: &str, text: String, span: &Range<usize>) -> Self {
        Self { key: key.to_owned(), value: quoted(&text), text: Some(text), span: span.clone() }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
