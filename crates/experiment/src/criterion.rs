//! A criterion, as one file declares it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fairpace_scenario::Invalid;
use serde::Deserialize;
use toml::{Table, Value};

use crate::axis::{Axis, Point, Written, axes};
use crate::condition::{Asked, Condition};
use crate::draw::Draw;
use crate::item::{first_of_each, names, shown};
use crate::judge::Check;
use crate::section::{self, ABOUT, Section};
use crate::source::{Source, Wrong, paths_in, suggestion, text, unreadable};
use crate::template::Template;

/// Most cases of a template. More cases would take days; a file with more is not a criterion.
const MOST_CASES: usize = 10_000;
/// Most seeds of a case; each seed is a run.
const MOST_SEEDS: u32 = 1000;

/// A criterion: a question about an algorithm, and the cases that answer it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Name of the file without its extension: "rtt-fairness".
    #[serde(skip)]
    pub name: String,
    /// Short id of the criterion: "G1".
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// Title of the criterion, a few words.
    #[serde(deserialize_with = "text")]
    pub title: String,
    /// What the criterion asks, in a sentence.
    #[serde(deserialize_with = "text")]
    pub asks: String,
    /// Why the criterion asks it, in a sentence.
    #[serde(deserialize_with = "text")]
    pub why: String,
    /// What it means if an algorithm fails the criterion, in a sentence; empty if the file does not say.
    #[serde(default)]
    pub fails: String,
    /// The section of the criterion, if its folder is one.
    #[serde(skip)]
    pub section: Option<Section>,
    /// Number of seeds of each case in the full form; 2 unless the file gives a number.
    #[serde(default = "number::<2>")]
    pub seeds: u32,
    /// Names of the cases that real flows on a kernel can also run.
    #[serde(default)]
    pub kernel: Vec<String>,
    /// Least size in packets of a buffer that the file gives in BDP.
    #[serde(default = "number::<4>")]
    pub(crate) least_pkts: u32,
    #[serde(default, rename = "axis")]
    written: Written,
    #[serde(default)]
    quick: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub(crate) page: Page,
    #[serde(skip)]
    pub(crate) axes: Vec<Axis<Point>>,
    #[serde(default, rename = "template")]
    pub(crate) templates: Vec<Template>,
    pub(crate) draw: Option<Draw>,
    #[serde(default, rename = "condition")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(default, rename = "median")]
    pub(crate) medians: Vec<Condition>,
    #[serde(skip)]
    pub(crate) source: Source,
}

/// How a picture shows the cases of a criterion.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// Axes whose values are the columns of the picture; the other axes give its rows.
    pub(crate) columns: Vec<String>,
}

const fn number<const N: u32>() -> u32 {
    N
}

/// Reads the criteria of a folder in the order of their ids. If folders in it have a `section.toml`, reads
/// the criteria of these sections, in the order of the folders' names.
///
/// # Errors
/// Returns every problem of the first wrong file, each with its place.
pub fn load(folder: &Path) -> Result<Vec<Criterion>, Invalid> {
    let mut criteria = Vec::new();
    let sections = section::folders(folder)?;
    for section in sections.iter().map(PathBuf::as_path).chain(sections.is_empty().then_some(folder)) {
        add_folder(section, &mut criteria)?;
    }
    if criteria.is_empty() {
        return Err(unreadable(
            folder,
            ABOUT.0,
            &std::io::Error::other("there is no criterion in it"),
            ABOUT.1,
        ));
    }
    Ok(criteria)
}

/// Appends the criteria of one folder to `criteria`.
fn add_folder(folder: &Path, criteria: &mut Vec<Criterion>) -> Result<(), Invalid> {
    let section = Section::of(folder)?;
    let is_criterion = |path: &PathBuf| {
        !path.ends_with(section::FILE) && path.extension().is_some_and(|extension| extension == "toml")
    };
    let first = criteria.len();
    for path in paths_in(folder, ABOUT.0, ABOUT.1)?.iter().filter(|path| is_criterion(path)) {
        let criterion = Criterion {
            section: section.clone(),
            ..Criterion::of(path, Source::read(path, ABOUT.0, ABOUT.1)?)?
        };
        if criterion.conditions.iter().all(|condition| condition.counts.is_some()) {
            // it would be passed in each case
            let message = "there is no `condition` that decides whether a case passes";
            let help = "add a part `[[condition]]` without the key `counts`";
            return Err(criterion.source.invalid("missing-key", "condition", message, help));
        }
        if let Some(other) = criteria.iter().find(|other| other.id == criterion.id) {
            let message = format!("`{}` is the id of {}, too", criterion.id, other.source.name);
            let help = "give each criterion its own";
            return Err(criterion.source.invalid("duplicate-name", "id", message, help));
        }
        criteria.push(criterion);
    }
    criteria[first..].sort_by_key(|criterion| order(&criterion.id));
    Ok(())
}

/// Sort key of an id in natural order: 7.2 comes before 7.10, and G2 before G10.
fn order(id: &str) -> Vec<(u64, String)> {
    let mut parts: Vec<(u64, String)> = Vec::new();
    for part in id.split('.') {
        let letters = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let number = &part[..part.len() - letters.len()];
        let (word, digits) =
            letters.split_at(letters.find(|c: char| c.is_ascii_digit()).unwrap_or(letters.len()));
        parts.push((number.parse().unwrap_or(0), word.to_owned()));
        parts.extend(digits.parse().ok().map(|number| (number, String::new())));
    }
    parts
}

impl Criterion {
    /// Reads a text as if it were in a file of this path, which need not exist.
    ///
    /// # Errors
    /// Returns the first key that a file of criteria does not allow, or all keys that do not fit together,
    /// each with its place.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Invalid> {
        Self::of(path, Source { about: ABOUT.0, name: path.display().to_string(), text: text.to_owned() })
    }

    fn of(path: &Path, source: Source) -> Result<Self, Invalid> {
        let mut criterion: Self = source.parse()?;
        criterion.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut wrong = Wrong::new(&source);
        criterion.axes = axes(&criterion.written, &criterion.quick, &mut wrong);
        criterion.check(&mut wrong);
        wrong.none()?;
        Ok(Self { source, ..criterion })
    }

    /// Checks what the type allows but a criterion does not.
    fn check(&self, wrong: &mut Wrong<'_>) {
        let message = format!("`seeds` must be a whole number from 1 to {MOST_SEEDS}");
        wrong.unless((1..=MOST_SEEDS).contains(&self.seeds), "out-of-range", "seeds", message, "");
        let axes: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        let are_axes = self.page.columns.iter().all(|column| axes.contains(&column.as_str()));
        let help = format!("they are {}", axes.join(", "));
        wrong.unless(are_axes, "unknown-name", "page.columns", "it must be a list of axes", help);
        let has_page = self.page != Page::default();
        let (has_templates, has_quick) = (!self.templates.is_empty(), !self.quick.is_empty());
        let has_axes = !axes.is_empty();
        for (part, is_there) in
            [("template", has_templates), ("axis", has_axes), ("quick", has_quick), ("page", has_page)]
        {
            let message = format!("random paths have no `{part}`");
            wrong.unless(!is_there || !self.is_drawn(), "impossible", part, message, "leave one of them out");
        }
        let (message, help) = ("there is no `template`", "add a part `[[template]]`");
        wrong.unless(has_templates || self.is_drawn(), "missing-key", "template", message, help);
        for (number, template) in (1..).zip(&self.templates) {
            let at = format!("template.{number}");
            template.check(&at, wrong);
            self.check_names(&at, template, wrong);
        }
        for (number, condition) in (1..).zip(&self.conditions) {
            condition.validate(&format!("condition.{number}"), false, wrong);
        }
        for (number, condition) in (1..).zip(&self.medians) {
            condition.validate(&format!("median.{number}"), true, wrong);
        }
    }

    /// Checks that every name in a template and in the conditions is the name of an axis's value.
    fn check_names(&self, at: &str, template: &Template, wrong: &mut Wrong<'_>) {
        let axes = self.axes_of(template);
        let known: BTreeSet<&String> = axes
            .iter()
            .filter_map(|axis| axis.points.first())
            .flat_map(|point| point.values.keys())
            .collect();
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        let cases = axes.iter().fold(1usize, |cases, axis| cases.saturating_mul(axis.points.len()));
        let message = format!("the template gives {cases} cases; it may give {MOST_CASES}");
        wrong.unless(cases <= MOST_CASES, "out-of-range", at, message, "give its axes fewer values");
        for name in template.names().into_iter().filter(|name| !known.contains(name)) {
            let message = format!("no axis has a value `{name}`");
            wrong.add("unknown-name", at, message, suggestion(name, &known));
        }
        for (number, condition) in (1..).zip(&self.conditions) {
            for name in condition.names().filter(|name| !known.contains(name)) {
                let message = format!("{at} uses no axis that has a value `{name}`");
                wrong.add("unknown-name", &format!("condition.{number}"), message, suggestion(name, &known));
            }
        }
    }

    /// The conditions of the criterion in words, with the sources of their bounds.
    #[must_use]
    pub fn conditions(&self) -> Vec<Asked> {
        let values = |name: &str| first_of_each(self.values(name));
        let asked = |of: &Condition| Asked { text: of.text(values), source: of.source.clone() };
        let of_all =
            |of: &Condition| Asked { text: format!("median of all cases, {}", of.text(values)), ..asked(of) };
        self.conditions.iter().map(asked).chain(self.medians.iter().map(of_all)).collect()
    }

    /// The conditions that must hold of the medians over all cases.
    #[must_use]
    pub fn medians(&self) -> Vec<Check> {
        self.medians.iter().map(Condition::fixed).collect()
    }

    /// Whether the cases are random paths, which [`Criterion::paths`] draws, and not those of
    /// [`Criterion::cases`].
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.draw.is_some()
    }

    /// The algorithms that flows of the criterion name, besides the algorithm under test.
    #[must_use]
    pub fn rivals(&self) -> Vec<String> {
        let flows = self.templates.iter().flat_map(|template| &template.flows);
        let written = flows.filter_map(|flow| flow.part.get("cc")?.as_str());
        let rivals = |text: &str| match names(text).next() {
            Some(name) => self.values(name).collect(),
            None => vec![text.to_owned()],
        };
        written.flat_map(rivals).collect()
    }

    /// Text of each value of a name, in the order of the file.
    fn values(&self, name: &str) -> impl Iterator<Item = String> {
        let points = self.axes.iter().flat_map(|axis| &axis.points);
        points.filter_map(move |point| point.values.get(name)).map(shown)
    }

    /// The axes that a template names, in the order of the file.
    pub(crate) fn axes_of(&self, template: &Template) -> Vec<&Axis<Point>> {
        let names = template.names();
        let is_named = |values: &Table| values.keys().any(|name| names.contains(name.as_str()));
        let is_used = |axis: &&Axis<Point>| axis.points.iter().any(|point| is_named(&point.values));
        self.axes.iter().filter(is_used).collect()
    }
}
