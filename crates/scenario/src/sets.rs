//! `KEY=VALUE` from the command line: changes to a scenario before it is checked.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use fairpace_cc::Algorithm;

use crate::cc::Cc;
use crate::excerpt::Text;
use crate::fault::Complaint;
use crate::key::{Kind, Section};
use crate::keys;
use crate::problem::Invalid;

/// A change of a scenario: a key of the scenario, or a parameter of an algorithm, and its new value.
///
/// | key | changes |
/// |---|---|
/// | `duration`, `seed`, ... | a key at the top |
/// | `window.from`, `window.to` | the window |
/// | `link.KEY`, `link.NAME.KEY` | all links, or the one of that name (or number, from 1) |
/// | `flow.KEY`, `flow.NAME.KEY` | all flows, or the one of that name (or number, from 1) |
/// | `flow.route`, `flow.reverse` | a list: names with commas between them |
/// | `ALGORITHM.PARAMETER` | the parameter in all flows with this algorithm |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    key: String,
    value: String,
    argument: Option<Cow<'static, str>>,
}

/// Error: a `KEY=VALUE` without its `=` or its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not KEY=VALUE; write for example \"duration=30s\" or \"bbq.alpha=3ms\"")]
pub struct NotASet(String);

impl std::str::FromStr for Set {
    type Err = NotASet;

    fn from_str(text: &str) -> Result<Self, NotASet> {
        let (key, value) = text.split_once('=').ok_or_else(|| NotASet(text.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(NotASet(text.to_owned()));
        }
        Ok(Self::new(key, value))
    }
}

impl std::fmt::Display for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl Set {
    /// Returns a change of `key` to `value`.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), argument: None }
    }

    /// Returns a change from an argument of its own, such as `--rate`: errors name the argument instead of
    /// `--set`.
    #[must_use]
    pub fn argument(
        name: impl Into<Cow<'static, str>>,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self { argument: Some(name.into()), ..Self::new(key, value) }
    }

    /// The name of the algorithm, if the change sets a parameter of an algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Option<&'static str> {
        parameter_of(&self.key).map(|(algorithm, _)| algorithm)
    }
}

/// The file and the changes as one address space: a span beyond the file's end belongs to a change. So a
/// value knows its place, whether it comes from the file or from a change.
pub(crate) struct Sources {
    file: Text,
    length: usize,
    sets: Vec<(usize, Text)>,
}

impl Sources {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { file: Text::new(name, text), length: text.len(), sets: Vec::new() }
    }

    /// Adds a change and returns the spans of its key and value.
    fn add(&mut self, set: &Set) -> (Range<usize>, Range<usize>) {
        let start = self.sets.last().map_or(self.length, |(start, text)| start + text.len()) + 1;
        let (name, text, value_at) = match &set.argument {
            Some(name) => (name.as_ref(), set.value.clone(), 0),
            None => ("--set", format!("{}={}", set.key, set.value), set.key.len() + 1),
        };
        let end = start + text.len();
        self.sets.push((start, Text::new(name, &text)));
        // the value's own argument shows no key: point at the value for both
        (start..if value_at == 0 { end } else { start + set.key.len() }, start + value_at..end)
    }

    /// Whether a span lies in the file, and not in a change.
    pub(crate) fn is_of_file(&self, span: &Range<usize>) -> bool {
        span.start <= self.length
    }

    /// The text that a span lies in, and the span within it.
    pub(crate) fn locate(&self, span: Range<usize>) -> (&Text, Range<usize>) {
        match self.sets.iter().rev().find(|(start, _)| span.start >= *start) {
            Some((start, text)) => (text, span.start - start..span.end.saturating_sub(*start)),
            None => (&self.file, span),
        }
    }
}

/// Changes the document. Returns a complaint for each change whose key has no place in the document.
pub(crate) fn apply<'i>(
    document: &mut DeTable<'i>,
    sets: &'i [Set],
    sources: &mut Sources,
) -> Vec<(Range<usize>, Complaint)> {
    let mut complaints = Vec::new();
    // parameters last: which flow has which algorithm may be changed too
    let is_parameter = |set: &&Set| parameter_of(&set.key).is_some();
    let ordered = sets.iter().filter(|set| !is_parameter(set)).chain(sets.iter().filter(is_parameter));
    for set in ordered {
        let (key, value) = sources.add(set);
        if let Err(complaint) = change(document, set, &key, &value) {
            complaints.push((key, complaint));
        }
        if complaints.len() >= Invalid::MOST {
            break;
        }
    }
    complaints
}

/// The name of the algorithm and the parameter, if the key is a parameter of an algorithm.
fn parameter_of(key: &str) -> Option<(&'static str, &str)> {
    let (algorithm, parameter) = key.split_once('.')?;
    Some((Algorithm::by_name(algorithm).ok()?.name(), parameter))
}

fn change<'i>(
    document: &mut DeTable<'i>,
    set: &'i Set,
    key_span: &Range<usize>,
    value_span: &Range<usize>,
) -> Result<(), Complaint> {
    if let Some((algorithm, parameter)) = parameter_of(&set.key) {
        let value = DeValue::String(Cow::Borrowed(set.value.as_str()));
        let value = Spanned::new(value_span.clone(), value);
        return set_parameter(document, algorithm, parameter, key_span, &value);
    }
    let (section, selector, name) = split_key(&set.key).ok_or_else(|| unknown(set))?;
    let key = keys::find(section, name).ok_or_else(|| unknown(set))?;
    if key.kind == Kind::Parameters {
        let help = "set a parameter as ALGORITHM.PARAMETER=VALUE, as in `--set bbq.alpha=3ms`";
        return Err(Complaint::new("unknown-key", format!("`{}` is a table", set.key), help));
    }
    let value = Spanned::new(value_span.clone(), typed(&set.value, key.kind, value_span.start));
    let name = Spanned::new(key_span.clone(), Cow::Borrowed(key.name));
    match section {
        Section::Top => put(document, &name, &value),
        Section::Window => {
            if let Some(table) = inner(document, "window", key_span) {
                put(table, &name, &value);
            }
        }
        Section::Link | Section::Flow => {
            let array = if section == Section::Link { "link" } else { "flow" };
            let names = names(document, section, array);
            let mut changed = false;
            for (number, (table, called)) in (1..).zip(tables(document, array).zip(&names)) {
                let is_it = |wanted: &str| called == wanted || u32::to_string(&number) == wanted;
                if selector.is_none_or(is_it) {
                    put(table, &name, &value);
                    changed = true;
                }
            }
            if let (false, Some(wanted)) = (changed, selector) {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let help = format!("this scenario has {}", names.join(", "));
                return Err(Complaint::new("unknown-key", format!("there is no {array} `{wanted}`"), help));
            }
        }
    }
    Ok(())
}

/// Splits a key into section, name of a link or flow, and name of the key.
fn split_key(key: &str) -> Option<(Section, Option<&str>, &str)> {
    let Some((section, rest)) = key.split_once('.') else { return Some((Section::Top, None, key)) };
    let section = match section {
        "window" => return Some((Section::Window, None, rest)),
        "link" => Section::Link,
        "flow" => Section::Flow,
        _ => return None,
    };
    // a name may have dots, a key has none
    match rest.rsplit_once('.') {
        Some((name, key)) => Some((section, Some(name), key)),
        None => Some((section, None, rest)),
    }
}

/// Returns the value in the form that the key's kind has in a file; `at` is its place.
fn typed(value: &str, kind: Kind, at: usize) -> DeValue<'_> {
    let text = || DeValue::String(Cow::Borrowed(value));
    match kind {
        Kind::Integer | Kind::BurstLength => match DeValue::parse(value).map(Spanned::into_inner) {
            Ok(integer @ DeValue::Integer(_)) => integer,
            // an error names the type
            Ok(scalar @ (DeValue::Float(_) | DeValue::Boolean(_))) if kind == Kind::Integer => scalar,
            _ => text(),
        },
        Kind::Bool => value.parse().map_or_else(|_| text(), DeValue::Boolean),
        Kind::Links | Kind::Drops => DeValue::Array(listed(value, at)),
        _ => text(),
    }
}

/// Reads `a,b`: each item with its place. An empty text is the empty list.
fn listed(value: &str, at: usize) -> DeArray<'_> {
    let mut start = at;
    let mut items = DeArray::new();
    for item in value.split(',').filter(|_| !value.trim().is_empty()) {
        let name = item.trim();
        let from = start + item.len() - item.trim_start().len();
        items.push(Spanned::new(from..from + name.len(), DeValue::String(Cow::Borrowed(name))));
        start += item.len() + 1;
    }
    items
}

/// Returns the table called `name` in another table, and creates it if it is missing; `None` if the value
/// called `name` is no table.
fn inner<'t, 'i>(of: &'t mut DeTable<'i>, name: &'i str, span: &Range<usize>) -> Option<&'t mut DeTable<'i>> {
    let empty = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    match of.entry(Spanned::new(span.clone(), name.into())).or_insert_with(empty).get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn put<'i>(table: &mut DeTable<'i>, name: &Spanned<Cow<'i, str>>, value: &Spanned<DeValue<'i>>) {
    table.remove(name.get_ref().as_ref());
    table.insert(name.clone(), value.clone());
}

fn tables<'t, 'i: 't>(
    document: &'t mut DeTable<'i>,
    array: &str,
) -> impl Iterator<Item = &'t mut DeTable<'i>> {
    let items = match document.get_mut(array).map(Spanned::get_mut) {
        Some(DeValue::Array(items)) => Some(items),
        _ => None,
    };
    items.into_iter().flat_map(|items| items.iter_mut()).filter_map(|item| match item.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    })
}

fn string<'t>(table: &'t DeTable<'_>, key: &str) -> Option<&'t str> {
    table.get(key).and_then(|value| value.get_ref().as_str())
}

/// Returns the names of all links or flows: the name in the file, or the name that a part without a name
/// gets.
fn names(document: &mut DeTable<'_>, section: Section, array: &str) -> Vec<String> {
    let count = tables(document, array).count();
    let derived = |table: &DeTable<'_>, index| match section {
        Section::Link => link_name(index, count),
        _ => string(table, "rtt").map_or_else(|| (index + 1).to_string(), str::to_owned),
    };
    let name = |(index, table): (usize, &mut DeTable<'_>)| {
        string(table, "name").map_or_else(|| derived(table, index), str::to_owned)
    };
    tables(document, array).enumerate().map(name).collect()
}

/// Returns the name of a link without a name in the file.
pub(crate) fn link_name(index: usize, count: usize) -> String {
    if count == 1 { "bottleneck".to_owned() } else { format!("link{}", index + 1) }
}

fn set_parameter<'i>(
    document: &mut DeTable<'i>,
    algorithm: &str,
    parameter: &str,
    key_span: &Range<usize>,
    value: &Spanned<DeValue<'i>>,
) -> Result<(), Complaint> {
    let mut used: Vec<String> = Vec::new();
    let mut changed = false;
    for table in tables(document, "flow") {
        let cc = string(table, "cc").unwrap_or_default().to_owned();
        // a flow may have it by the path of its header, or have a variant of it
        if Algorithm::by_name(Cc::split(&cc).0).is_ok_and(|of| of.name() == algorithm) {
            if let Some(set) = inner(table, "set", key_span) {
                put(set, &Spanned::new(key_span.clone(), Cow::Owned(parameter.to_owned())), value);
            }
            changed = true;
        } else if !used.contains(&cc) {
            used.push(cc);
        }
    }
    if changed {
        return Ok(());
    }
    let message = format!("no flow of this scenario uses `{algorithm}`");
    Err(Complaint::new("unknown-key", message, format!("its flows use {}", used.join(", "))))
}

fn unknown(set: &Set) -> Complaint {
    let known = keys::all().filter(|key| key.kind != Kind::Parameters);
    let mut known: Vec<String> = known.map(|key| key.section.path(key.name)).collect();
    for algorithm in Algorithm::all() {
        known.extend(algorithm.parameters().iter().map(|known| format!("{algorithm}.{}", known.name)));
    }
    let meant = fairpace_cc::nearest(&set.key, known.iter().map(String::as_str));
    let meant = meant.map(|guess| format!("did you mean `{guess}`? ")).unwrap_or_default();
    let help = format!(
        "{meant}Keys are those of a scenario file, as `duration`, `window.from`, `link.rate`, \
         `flow.10ms.cc`, or ALGORITHM.PARAMETER"
    );
    Complaint::new("unknown-key", format!("there is no key `{}`", set.key), help)
}
