//! From TOML to a [`Scenario`]: finds the values, remembers where each stands, and goes on after an error so
//! that one look shows them all.

mod conditions;
mod hosts;
mod queue;
mod values;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check::{self, Complaint, Fault};
use crate::keys::{self, KEYS, MOST_FLOWS, Section};
use crate::problem::{Invalid, Problem};
use crate::quantity::{self, Buffer, Dimension, show_time};
use crate::sets::{self, Set, Sources};
use crate::{Cc, Flow, Limit, Link, Scenario, Target, Trace, View};
use values::{example, kind_of};

/// Reads a scenario from a text, after making the changes in `sets`. `name` is the file's name in errors; files that the text names are
/// looked for in its folder.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse(name: &str, text: &str, sets: &[Set], target: Target) -> Result<Scenario, Invalid> {
    let mut reader = Reader {
        sources: Sources::new(name, text),
        folder: Path::new(name).parent().unwrap_or(Path::new("")),
        target,
        problems: Vec::new(),
        places: HashMap::new(),
        items: HashMap::new(),
        origin: Vec::new(),
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let message = format!("this is not TOML: {}", error.message());
        let help = "strings stand in quotes, as in rate = \"100mbit\"; see docs/reference/scenario.md";
        reader.complain(span, "", Complaint::new("syntax", message, help));
    }
    let mut document = document.into_inner();
    // a broken text would only give errors that follow from the first
    if reader.problems.is_empty() {
        for (span, complaint) in sets::apply(&mut document, sets, &mut reader.sources) {
            reader.complain(span, "", complaint);
        }
        if let Some(scenario) = reader.scenario(&document) {
            return Ok(scenario);
        }
    }
    Err(reader.into_invalid())
}

/// A table of the file, and what it is.
struct Part<'t, 'i> {
    section: Section,
    index: usize,
    table: &'t DeTable<'i>,
    span: Range<usize>,
}

struct Reader<'a> {
    sources: Sources,
    /// Files are named from here.
    folder: &'a Path,
    target: Target,
    problems: Vec<Problem>,
    /// Where each value stands; a part as a whole under the key "".
    places: HashMap<(&'static str, usize, &'static str), Range<usize>>,
    /// Where the items of each list stand.
    items: HashMap<(&'static str, usize, &'static str), Vec<Range<usize>>>,
    /// Which `[[flow]]` each flow came from.
    origin: Vec<usize>,
}

impl Reader<'_> {
    fn complain(&mut self, span: Range<usize>, key: &str, complaint: Complaint) {
        let problem = Problem::new(complaint.kind, key.to_owned(), complaint.message, complaint.help);
        let (text, span) = self.sources.locate(span);
        let problem = problem.at(text, span);
        // a group's flows share their place: say it once
        let said = |p: &Problem| {
            (p.line, p.column, p.kind, &p.key) == (problem.line, problem.column, problem.kind, &problem.key)
                && p.file == problem.file
        };
        if !self.problems.iter().any(said) {
            self.problems.push(problem);
        }
    }

    fn into_invalid(mut self) -> Invalid {
        self.problems.sort_by(|a, b| {
            (a.file.starts_with("--"), a.line, a.column).cmp(&(b.file.starts_with("--"), b.line, b.column))
        });
        Invalid { problems: self.problems }
    }

    fn scenario(&mut self, document: &DeTable<'_>) -> Option<Scenario> {
        let top = self.part(Section::Top, 0, document, 0..0);
        let title = self.text(&top, "title");
        let why = self.text(&top, "why").unwrap_or_default();
        let seed = self.integer(&top, "seed").unwrap_or(1);
        let duration = self.time(&top, "duration");
        let interval = self.time(&top, "interval");
        let window = self.window(document);
        let flows = self.flows(document);
        let links = self.links(document, &flows);
        if !self.problems.is_empty() {
            return None;
        }
        let duration = duration?;
        // a third, in whole milliseconds: it is printed
        let third = Duration::from_millis(u64::try_from(duration.as_millis() / 3).unwrap_or(u64::MAX));
        let from = window.0.unwrap_or(third.min(Duration::from_secs(20)));
        let mut scenario = Scenario {
            title: title?,
            why,
            seed,
            duration,
            window: (from, window.1.unwrap_or(duration)),
            interval: interval.unwrap_or(Duration::from_millis(100).min(duration / 10)),
            links,
            flows,
            hash: String::new(),
        };
        for fault in check::relations(&scenario) {
            self.fault(fault);
        }
        scenario.hash = scenario.canonical_hash();
        self.problems.is_empty().then_some(scenario)
    }

    fn fault(&mut self, fault: Fault) {
        let Fault { section, index, key, item, complaint } = fault;
        let index =
            if section == Section::Flow { self.origin.get(index).copied().unwrap_or(0) } else { index };
        let place = |key| self.places.get(&(section.header(), index, key)).cloned();
        let item = item.and_then(|item| self.items.get(&(section.header(), index, key))?.get(item).cloned());
        let span = item.or_else(|| place(key)).or_else(|| place("")).unwrap_or(0..0);
        self.complain(span, &path(section, key), complaint);
    }

    fn window(&mut self, document: &DeTable<'_>) -> (Option<Duration>, Option<Duration>) {
        let Some(value) = document.get("window") else { return (None, None) };
        let DeValue::Table(table) = value.get_ref() else {
            self.not_a_table(Section::Window, value);
            return (None, None);
        };
        let part = self.part(Section::Window, 0, table, value.span());
        (self.time(&part, "from"), self.time(&part, "to"))
    }

    fn links(&mut self, document: &DeTable<'_>, flows: &[Flow]) -> Vec<Link> {
        let parts = self.parts(document, Section::Link, "link");
        let longest = flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
        let mut links = Vec::new();
        for part in &parts {
            let name = self.text(part, "name").unwrap_or_else(|| sets::link_name(part.index, parts.len()));
            let ends = self.ends(part);
            let (rate, trace) = self.rate(part);
            let burst_bytes = self.quantity(part, "burst", Dimension::Size);
            let bdp_rtt = self.time(part, "bdp_rtt").unwrap_or(longest);
            let buffer = self.buffer(part, rate, bdp_rtt);
            let queue = self.queue(part, buffer);
            let rate_at = self.steps(part, "rate_at", Dimension::Rate);
            let (policer, loss, line) = (self.policer(part), self.loss(part), self.line(part));
            if let (Some(rate_bps), Some(buffer), Some(queue)) = (rate, buffer, queue) {
                links.push(Link {
                    name,
                    ends,
                    rate_bps,
                    trace,
                    burst_bytes,
                    buffer,
                    queue,
                    line,
                    rate_at,
                    policer,
                    loss,
                });
            }
        }
        links
    }

    /// The rate and the trace that it comes from.
    fn rate(&mut self, part: &Part<'_, '_>) -> (Option<u64>, Option<Trace>) {
        for other in ["rate", "rate_at", "burst"] {
            self.excludes(part, "trace", other);
        }
        let rate = self.quantity(part, "rate", Dimension::Rate);
        if !part.table.contains_key("trace") {
            return (rate, None);
        }
        let trace = self.file(part, "trace", |name, text| {
            let trace = Trace::read(name, text)?;
            let rate =
                keys::find(Section::Link, "rate").map_or(Ok(()), |key| check::bounds(key, trace.mean_bps()));
            rate.map_err(|complaint| format!("of its mean rate: {}", complaint.message))?;
            Ok(trace)
        });
        (trace.as_ref().map(Trace::mean_bps), trace)
    }

    /// Two nodes, of a link or a flow.
    fn ends(&mut self, part: &Part<'_, '_>) -> Option<(String, String)> {
        let (from, to) = (self.text(part, "from"), self.text(part, "to"));
        self.both(part, ["from", "to"], ["from = \"a\"", "to = \"b\""]);
        from.zip(to)
    }

    fn buffer(&mut self, part: &Part<'_, '_>, rate: Option<u64>, rtt: Duration) -> Option<Limit> {
        let (key, value) = self.find(part, "buffer")?;
        let text = self.quantity_text(key, value)?;
        let buffer = self.parsed(key, value, quantity::parse_buffer(text))?;
        // without the rate or the RTT there is an error already, and the product has no value
        let limit = match buffer {
            Buffer::Bdp { .. } if rtt.is_zero() => return None,
            Buffer::Bdp { .. } => buffer.limit(rate?, rtt),
            Buffer::Bytes(_) | Buffer::Packets(_) => buffer.limit(0, rtt),
        };
        self.bounded(key, value, limit.bytes()).map(|_| limit)
    }

    fn flows(&mut self, document: &DeTable<'_>) -> Vec<Flow> {
        let parts = self.parts(document, Section::Flow, "flow");
        let given: Vec<_> = parts.iter().map(|part| self.text(part, "name")).collect();
        let mut names: HashSet<String> = given.iter().flatten().cloned().collect();
        let mut flows = Vec::new();
        for (part, given) in parts.iter().zip(given) {
            let mut cc = self.algorithm(part);
            self.parameters(part, cc.as_mut());
            let rtt = self.time(part, "rtt");
            let start = self.time(part, "start").unwrap_or_default();
            let stop = self.time(part, "stop");
            let count = self.integer(part, "count").unwrap_or(1);
            let stagger = self.time(part, "stagger").unwrap_or_default();
            // of a flow without an algorithm nothing is kept but its errors
            let base = Flow::new("", cc.clone().unwrap_or(Cc::Kernel(String::new())), Duration::ZERO);
            let conditions = self.conditions(part, base);
            let view = self.choice(part, "view").and_then(View::by_name).unwrap_or_default();
            if flows.len() as u64 + count > MOST_FLOWS {
                let complaint = Complaint::new(
                    "out-of-range",
                    format!("the scenario has more than {MOST_FLOWS} flows"),
                    "write a smaller `count`",
                );
                self.complain(part.span.clone(), "flow.count", complaint);
                return flows;
            }
            let (Some(cc), Some(rtt)) = (cc, rtt) else { continue };
            let name = given.unwrap_or_else(|| unused(&show_time(rtt), &mut names));
            let first = Flow { name, cc, rtt, start, stop, view, ..conditions };
            self.group(part, &first, count, stagger, &mut flows);
        }
        flows
    }

    fn group(
        &mut self,
        part: &Part<'_, '_>,
        first: &Flow,
        count: u64,
        stagger: Duration,
        flows: &mut Vec<Flow>,
    ) {
        if count == 1 {
            self.origin.push(part.index);
            flows.push(first.clone());
            return;
        }
        let mut start = first.start;
        for number in 1..=count {
            let name = format!("{}-{number}", first.name);
            self.origin.push(part.index);
            flows.push(Flow { name, start, ..first.clone() });
            start = start.saturating_add(stagger);
        }
    }

    fn algorithm(&mut self, part: &Part<'_, '_>) -> Option<Cc> {
        let name = self.text(part, "cc")?;
        let span = self.places.get(&(Section::Flow.header(), part.index, "cc"))?.clone();
        match check::algorithm(&name, self.target) {
            Ok(cc) => Some(cc),
            Err(complaint) => {
                self.complain(span, "flow.cc", complaint);
                None
            }
        }
    }

    /// Sets the parameters in the table `set`; those of an unknown algorithm are not judged.
    fn parameters(&mut self, part: &Part<'_, '_>, mut cc: Option<&mut Cc>) {
        let Some((_, value)) = self.find(part, "set") else { return };
        let DeValue::Table(table) = value.get_ref() else {
            let help = "write a table, as in set = { alpha = \"3ms\" }";
            let complaint =
                Complaint::new("wrong-type", format!("`set` is {}", kind_of(value.get_ref())), help);
            self.complain(value.span(), "flow.set", complaint);
            return;
        };
        for (name, value) in table {
            let path = format!("flow.set.{}", name.get_ref());
            let Some(text) = scalar(value.get_ref()) else {
                let message = format!("a parameter cannot be {}", kind_of(value.get_ref()));
                let complaint = Complaint::new("wrong-type", message, "write a text or a number");
                self.complain(value.span(), &path, complaint);
                continue;
            };
            let Some(cc) = cc.as_deref_mut() else { continue };
            if let Err(error) = cc.set(name.get_ref(), &text) {
                let complaint = check::complaint_of_cc(error);
                let is_name = complaint.kind == "unknown-parameter";
                self.complain(if is_name { name.span() } else { value.span() }, &path, complaint);
            }
        }
    }

    // -- parts and values ------------------------------------------------------------------------------------------

    /// The tables of `[[link]]` or `[[flow]]`; there must be one.
    fn parts<'t, 'i>(
        &mut self,
        document: &'t DeTable<'i>,
        section: Section,
        name: &str,
    ) -> Vec<Part<'t, 'i>> {
        let mut parts = Vec::new();
        match document.get(name).map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Array(items))) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    match item.get_ref() {
                        DeValue::Table(table) => parts.push(self.part(section, index, table, item.span())),
                        _ => self.not_a_table(section, item),
                    }
                }
            }
            Some((value, DeValue::Table(_))) => {
                let message = format!("`[{name}]` stands in single brackets");
                let help = format!("write `{}`: there may be several", section.header());
                self.complain(value.span(), name, Complaint::new("wrong-type", message, help));
            }
            Some((value, _)) => self.not_a_table(section, value),
            None => {
                let message = format!("the scenario has no {name}");
                let help = format!("add a part `{}`", section.header());
                self.complain(0..0, name, Complaint::new("missing-key", message, help));
            }
        }
        parts
    }

    fn not_a_table(&mut self, section: Section, value: &Spanned<DeValue<'_>>) {
        let header = section.header();
        let name = header.trim_matches(['[', ']']);
        let message = format!("`{name}` is {}", kind_of(value.get_ref()));
        let help = format!("write a part `{header}` with its keys below");
        self.complain(value.span(), name, Complaint::new("wrong-type", message, help));
    }

    /// Notes where the keys of a table stand, and complains about those that do not exist or are missing.
    fn part<'t, 'i>(
        &mut self,
        section: Section,
        index: usize,
        table: &'t DeTable<'i>,
        span: Range<usize>,
    ) -> Part<'t, 'i> {
        self.places.insert((section.header(), index, ""), span.clone());
        let is_part = |name: &str| section == Section::Top && matches!(name, "window" | "link" | "flow");
        let mut meant = Vec::new();
        for (name, value) in table {
            match keys::find(section, name.get_ref()) {
                Some(key) => {
                    self.places.insert((section.header(), index, key.name), value.span());
                }
                None if is_part(name.get_ref()) => {}
                None => meant.extend(self.unknown_key(section, name)),
            }
        }
        for key in KEYS.iter().filter(|key| key.section == section && key.default.is_none()) {
            // a misspelt key is one error, not two
            let instead = key.name == "rate" && table.contains_key("trace");
            if !instead && !table.contains_key(key.name) && !meant.contains(&key.name) {
                let place = if section == Section::Top {
                    "the scenario".into()
                } else {
                    format!("`{}`", section.header())
                };
                let complaint = Complaint::new(
                    "missing-key",
                    format!("{place} has no `{}`", key.name),
                    format!("add {} = {}", key.name, example(key)),
                );
                self.complain(span.clone(), &path(section, key.name), complaint);
            }
        }
        Part { section, index, table, span }
    }

    /// Complains, and returns the key that was probably meant.
    fn unknown_key(&mut self, section: Section, name: &Spanned<Cow<'_, str>>) -> Option<&'static str> {
        let parts: &[&'static str] = if section == Section::Top { &["window", "link", "flow"] } else { &[] };
        let own = KEYS.iter().filter(|key| key.section == section).map(|key| key.name);
        let known: Vec<_> = own.chain(parts.iter().copied()).collect();
        let written = name.get_ref();
        let elsewhere = KEYS.iter().find(|key| key.name == *written && key.section != section);
        let guess = keys::nearest(written, known.iter().copied());
        let meant = match (guess, elsewhere) {
            (_, Some(key)) => format!("`{written}` belongs {}. ", place_of(key.section)),
            (Some(guess), None) => format!("did you mean `{guess}`? "),
            (None, None) => String::new(),
        };
        let complaint = Complaint::new(
            "unknown-key",
            format!("there is no key `{written}` {}", place_of(section)),
            format!("{meant}Known are {}", known.join(", ")),
        );
        self.complain(name.span(), &path(section, written), complaint);
        guess
    }
}

fn path(section: Section, key: &str) -> String {
    match section {
        Section::Top => key.to_owned(),
        Section::Window => format!("window.{key}"),
        Section::Link => format!("link.{key}"),
        Section::Flow => format!("flow.{key}"),
    }
}

fn place_of(section: Section) -> String {
    match section {
        Section::Top => "at the top of the file".into(),
        _ => format!("under `{}`", section.header()),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// `wanted`, or `wanted-2`, `wanted-3`, ... if it is taken.
fn unused(wanted: &str, names: &mut HashSet<String>) -> String {
    let numbered = (2u64..).map(|number| format!("{wanted}-{number}"));
    let name = std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !names.contains(name));
    let name = name.unwrap_or_else(|| wanted.to_owned());
    names.insert(name.clone());
    name
}
