//! The reader: turns TOML into a [`Scenario`], remembers the place of each value, and goes on after an error
//! to report all problems at once.

mod relations;
mod values;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fairpace_cc::ParamError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check;
use crate::fault::{Complaint, Fault};
use crate::key::{DefaultValue, MOST_FLOWS, Section};
use crate::problem::{Invalid, Problem};
use crate::quantity::{Buffer, show_time};
use crate::row::Lens;
use crate::scenario::title_of;
use crate::sets::{self, Set, Sources};
use crate::value::{Given, Value};
use crate::{Cc, CcError, Flow, Link, Scenario, Target, keys};
use values::kind_of;

/// Reads a scenario from a text, after making the changes in `sets`. `name` is the file's name in errors;
/// files that the text names are looked for in its folder, and files that `sets` names in the working
/// directory.
///
/// # Errors
/// Every problem of the scenario, each with its place.
pub fn parse(name: &str, text: &str, sets: &[Set], target: Target) -> Result<Scenario, Invalid> {
    parse_with(name, text, sets, target, None)
}

/// Reads a scenario that a program contains, as [`parse`] does. The files that the text names are among
/// `files`: their paths, from the folder that `name` starts from, and their texts.
///
/// # Errors
/// Every problem of the scenario, each with its place.
pub fn parse_contained(
    name: &str,
    text: &str,
    sets: &[Set],
    target: Target,
    files: &[(&str, &str)],
) -> Result<Scenario, Invalid> {
    parse_with(name, text, sets, target, Some(files))
}

fn parse_with(
    name: &str,
    text: &str,
    sets: &[Set],
    target: Target,
    contained: Option<&[(&str, &str)]>,
) -> Result<Scenario, Invalid> {
    let mut reader = Reader {
        sources: Sources::new(name, text),
        name,
        folder: Path::new(name).parent().unwrap_or(Path::new("")),
        contained,
        target,
        problems: Vec::new(),
        said: HashSet::new(),
        places: HashMap::new(),
        items: HashMap::new(),
        origin: Vec::new(),
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.into_iter().take(Invalid::MOST) {
        let span = error.span().unwrap_or(0..0);
        let message = format!("this is not TOML: {}", error.message());
        let help = format!("strings stand in quotes, as in rate = \"100mbit\"; see {REFERENCE}");
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

/// Address of the page that lists all keys.
const REFERENCE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/scenario.md");

/// A table of the file, with its section and index.
struct Part<'t, 'i> {
    section: Section,
    index: usize,
    table: &'t DeTable<'i>,
    span: Range<usize>,
}

struct Reader<'a> {
    sources: Sources,
    /// The file's name.
    name: &'a str,
    /// The folder that paths of files in the text start from; in changes they start from the working
    /// directory.
    folder: &'a Path,
    /// The files of the program, in place of those of the file system.
    contained: Option<&'a [(&'a str, &'a str)]>,
    target: Target,
    problems: Vec<Problem>,
    /// Place, kind and key of each problem reported so far.
    said: HashSet<(usize, &'static str, String)>,
    /// The place of each value; a part as a whole has the key "".
    places: HashMap<(&'static str, usize, &'static str), Range<usize>>,
    /// The places of the items of each list.
    items: HashMap<(&'static str, usize, &'static str), Vec<Range<usize>>>,
    /// The index of the `[[flow]]` that each flow came from.
    origin: Vec<usize>,
}

impl Reader<'_> {
    fn complain(&mut self, span: Range<usize>, key: &str, complaint: Complaint) {
        // a group's flows share their place: say it once
        if self.is_full() || !self.said.insert((span.start, complaint.kind, key.to_owned())) {
            return;
        }
        let problem = Problem::new(complaint.kind, key.to_owned(), complaint.message, complaint.help);
        let (text, span) = self.sources.locate(span);
        let problem = problem.at(text, &span);
        // two equal arguments have places of their own
        let said =
            |p: &Problem| (&p.file, &p.key, &p.message) == (&problem.file, &problem.key, &problem.message);
        let at = |p: &Problem| (p.line, p.column) == (problem.line, problem.column);
        if !self.problems.iter().any(|p| said(p) && at(p)) {
            self.problems.push(problem);
        }
    }

    /// Returns whether the list of problems is full. Loops over the file end then, so that a file that is no
    /// scenario is refused at once.
    fn is_full(&self) -> bool {
        self.problems.len() >= Invalid::MOST
    }

    fn into_invalid(mut self) -> Invalid {
        self.problems.sort_by(|a, b| {
            (a.file.starts_with("--"), a.line, a.column).cmp(&(b.file.starts_with("--"), b.line, b.column))
        });
        Invalid { problems: self.problems }
    }

    fn scenario(&mut self, document: &DeTable<'_>) -> Option<Scenario> {
        let top = self.part(Section::Top, 0, document, 0..0);
        let top = self.given(&top);
        let window = self.window(document);
        let flows = self.flows(document);
        let links = self.links(document, &flows);
        if !self.problems.is_empty() {
            return None;
        }
        let mut scenario = Scenario { links, flows, ..Scenario::of_length(top.time("duration")?) };
        for (section, given) in [(Section::Top, &top), (Section::Window, &window)] {
            let rows = keys::of_scenario().filter(|row| row.key().section == section);
            set_given(rows, &mut scenario, given);
        }
        if top.get("title").is_none() {
            scenario.title = title_of(self.name);
        }
        for fault in check::faults(&scenario, self.target) {
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
        self.complain(span, &section.path(key), complaint);
    }

    fn window(&mut self, document: &DeTable<'_>) -> Given {
        let Some(value) = document.get("window") else { return Given::default() };
        let DeValue::Table(table) = value.get_ref() else {
            self.not_a_table(Section::Window, value);
            return Given::default();
        };
        let part = self.part(Section::Window, 0, table, value.span());
        self.given(&part)
    }

    fn links(&mut self, document: &DeTable<'_>, flows: &[Flow]) -> Vec<Link> {
        let parts = self.parts(document, Section::Link, "link");
        let longest = flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
        let mut links = Vec::new();
        for part in &parts {
            let mut given = self.given(part);
            self.relations(part, &given);
            self.queue(part, &given);
            self.buffer(part, &mut given, longest);
            let mut link = Link::new(sets::link_name(part.index, parts.len()), 0, 0);
            set_given(keys::of_link(), &mut link, &given);
            links.push(link);
        }
        links
    }

    /// Replaces a multiple of the BDP or a time with bytes, and checks the buffer's range.
    fn buffer(&mut self, part: &Part<'_, '_>, given: &mut Given, longest: Duration) {
        let rtt = given.time("bdp_rtt").unwrap_or(longest);
        let rate = match given.get("trace") {
            Some(Value::Trace(trace)) => Some(trace.mean_bps()),
            _ => given.number("rate"),
        };
        let Some(Value::Buffer(buffer)) = given.get("buffer") else { return };
        let limit = match *buffer {
            Buffer::Limit(limit) => Some(limit),
            // without the rate or the RTT there is an error already, and the product has no value
            Buffer::Bdp { .. } if rtt.is_zero() => None,
            Buffer::Bdp { .. } | Buffer::Time(_) => rate.map(|rate_bps| buffer.limit(rate_bps, rtt)),
        };
        given.replace("buffer", limit.map(Value::Limit));
        if let (Some(limit), Some((key, written))) = (limit, self.find(part, "buffer")) {
            self.bounded(key, written, limit.bytes());
        }
    }

    fn flows(&mut self, document: &DeTable<'_>) -> Vec<Flow> {
        let parts = self.parts(document, Section::Flow, "flow");
        let given: Vec<_> = parts.iter().map(|part| self.given(part)).collect();
        let taken = given.iter().filter_map(|given| given.text("name")).collect();
        let mut names = Names { taken, next: HashMap::new() };
        let mut flows = Vec::new();
        for (part, mut given) in parts.iter().zip(given) {
            self.relations(part, &given);
            let mut flow = Flow::any();
            match given.get_mut("cc") {
                Some(Value::Cc(cc)) => self.parameters(part, Some(cc)),
                _ => self.parameters(part, None),
            }
            set_given(keys::of_flow(), &mut flow, &given);
            let count = given.number("count").unwrap_or(1);
            if flows.len() as u64 + count > MOST_FLOWS {
                let message = format!("the scenario has more than {MOST_FLOWS} flows");
                let complaint = Complaint::new("out-of-range", message, "write a smaller `count`");
                self.complain(part.span.clone(), "flow.count", complaint);
                return flows;
            }
            if given.get("name").is_none() {
                flow.name = names.unused(show_time(flow.rtt));
            }
            self.group(part, &flow, count, given.time("stagger").unwrap_or_default(), &mut flows);
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
        let mut start = first.start;
        for number in 1..=count {
            let name = if count == 1 { first.name.clone() } else { format!("{}-{number}", first.name) };
            self.origin.push(part.index);
            flows.push(Flow { name, start, ..first.clone() });
            start = start.saturating_add(stagger);
        }
    }

    /// Sets the parameters in the table `set`; parameters of an unknown algorithm are not checked.
    fn parameters(&mut self, part: &Part<'_, '_>, mut cc: Option<&mut Cc>) {
        let Some((_, value)) = self.find(part, "set") else { return };
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("`set` is {}", kind_of(value.get_ref()));
            let help = "write a table, as in set = { alpha = \"3ms\" }";
            return self.complain(value.span(), "flow.set", Complaint::new("wrong-type", message, help));
        };
        for (name, value) in table {
            if self.is_full() {
                return;
            }
            let path = format!("flow.set.{}", name.get_ref());
            let Some(text) = scalar(value.get_ref()) else {
                let message = format!("a parameter cannot be {}", kind_of(value.get_ref()));
                let complaint = Complaint::new("wrong-type", message, "write a text or a number");
                self.complain(value.span(), &path, complaint);
                continue;
            };
            let Some(cc) = cc.as_deref_mut() else { continue };
            if let Err(error) = cc.set(name.get_ref(), &text) {
                let is_of_name = |error: &ParamError| {
                    matches!(error, ParamError::Unknown { .. } | ParamError::Renamed { .. })
                };
                let is_value = matches!(&error, CcError::Parameter(error) if !is_of_name(error));
                let span = if is_value { value.span() } else { name.span() };
                self.complain(span, &path, check::complaint_of_cc(error));
            }
        }
    }

    // -- parts and values
    // ------------------------------------------------------------------------------------------

    /// Returns the tables of `[[link]]` or `[[flow]]`; there must be at least one.
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
                    if self.is_full() {
                        break;
                    }
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
        let name = section.name();
        let message = format!("`{name}` is {}", kind_of(value.get_ref()));
        let help = format!("write a part `{header}` with its keys below");
        self.complain(value.span(), name, Complaint::new("wrong-type", message, help));
    }

    /// Records the places of the keys of a table, and complains about keys that do not exist or are missing.
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
            if self.is_full() {
                break;
            }
            match keys::find(section, name.get_ref()) {
                Some(key) => {
                    self.places.insert((section.header(), index, key.name), value.span());
                }
                None if is_part(name.get_ref()) => {}
                None => meant.extend(self.unknown_key(section, name)),
            }
        }
        for key in keys::of(section).filter(|key| key.default == DefaultValue::None) {
            // a misspelt key is one error, not two
            let instead = key.unless.is_some_and(|other| table.contains_key(other));
            if !instead && !table.contains_key(key.name) && !meant.contains(&key.name) {
                let place = match section {
                    Section::Top => "the scenario".into(),
                    _ => format!("`{}`", section.header()),
                };
                let message = format!("{place} has no `{}`", key.name);
                let help = format!("add {} = {}", key.name, key.written_example());
                let complaint = Complaint::new("missing-key", message, help);
                self.complain(span.clone(), &section.path(key.name), complaint);
            }
        }
        Part { section, index, table, span }
    }

    /// Complains about an unknown key, and returns the key that was probably meant.
    fn unknown_key(&mut self, section: Section, name: &Spanned<Cow<'_, str>>) -> Option<&'static str> {
        let parts: &[&'static str] = if section == Section::Top { &["window", "link", "flow"] } else { &[] };
        let own = keys::of(section).map(|key| key.name);
        let known: Vec<_> = own.chain(parts.iter().copied()).collect();
        let written = name.get_ref();
        let elsewhere = keys::all().find(|key| key.name == *written && key.section != section);
        let guess = fairpace_cc::nearest(written, known.iter().copied());
        let meant = match (guess, elsewhere) {
            (_, Some(key)) => format!("`{written}` belongs {}. ", place_of(key.section)),
            (Some(guess), None) => format!("did you mean `{guess}`? "),
            (None, None) => String::new(),
        };
        let message = format!("there is no key `{written}` {}", place_of(section));
        let complaint =
            Complaint::new("unknown-key", message, format!("{meant}Known are {}", known.join(", ")));
        self.complain(name.span(), &section.path(written), complaint);
        guess
    }
}

/// Sets the fields of the keys that are given, in the order of the rows.
fn set_given<P: 'static>(rows: impl Iterator<Item = &'static dyn Lens<P>>, part: &mut P, given: &Given) {
    for row in rows {
        if let Some(value) = given.get(row.key().name) {
            row.set(part, value.clone(), given);
        }
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

/// Names that are taken, and the number at which the search for a free one begins.
struct Names {
    taken: HashSet<String>,
    next: HashMap<String, u64>,
}

impl Names {
    /// Returns `wanted`, or `wanted-2`, `wanted-3`, ... if the name is taken.
    fn unused(&mut self, wanted: String) -> String {
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        // what was found taken stays taken: thousands of flows may want one name
        let next = self.next.entry(wanted.clone()).or_insert(2);
        loop {
            let name = format!("{wanted}-{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
