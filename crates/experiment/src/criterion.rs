//! A criterion: what one file of criteria says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fairpace_scenario::Invalid;
use toml::de::DeTable;

use crate::axis::{Axis, axes};
use crate::condition::{Asked, Condition};
use crate::draw::Draw;
use crate::item::{Item, names};
use crate::judge::Check;
use crate::read::{Reader, Table, ends};
use crate::section::{self, Section};
use crate::source::{Source, unreadable};
use crate::template::{Template, Written};

/// Cases of a template: more would take days, and come from a file that is no criterion.
const MOST_CASES: usize = 10_000;

/// What is asked of an algorithm, and the cases that answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
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
    /// What it means to fail it, in a sentence; empty if the file does not say.
    pub fails: String,
    /// The section that it belongs to, if its folder has one.
    pub section: Option<Section>,
    /// Seeds of each case in the full form.
    pub seeds: u32,
    /// Names of the cases that real flows of a kernel can show, too.
    pub kernel: Vec<String>,
    /// Axes whose values are the columns of a picture; the others give its rows.
    pub columns: Vec<String>,
    /// A size in BDP is at least this many packets.
    pub(crate) least_pkts: u64,
    pub(crate) axes: Vec<Axis>,
    pub(crate) templates: Vec<Template>,
    pub(crate) draw: Option<Draw>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) medians: Vec<Condition>,
    pub(crate) source: Source,
}

/// The criteria of a folder in the order of their ids. If folders in it have a `section.toml`, the criteria
/// of these sections, in the order of their names.
///
/// # Errors
/// Everything that is wrong with the first wrong file, each with its place.
pub fn load(folder: &Path) -> Result<Vec<Criterion>, Invalid> {
    let mut criteria = Vec::new();
    let sections = section::folders(folder)?;
    for section in sections.iter().map(PathBuf::as_path).chain(sections.is_empty().then_some(folder)) {
        add_folder(section, &mut criteria)?;
    }
    if criteria.is_empty() {
        return Err(unreadable(folder, &std::io::Error::other("there is no criterion in it")));
    }
    Ok(criteria)
}

/// Adds the criteria of one folder.
fn add_folder(folder: &Path, criteria: &mut Vec<Criterion>) -> Result<(), Invalid> {
    let section = Section::of(folder)?;
    let failed = |error| unreadable(folder, &error);
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_criterion = path.file_name().is_some_and(|name| name != section::FILE);
        if is_criterion && path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let first = criteria.len();
    for path in &paths {
        let criterion = Criterion { section: section.clone(), ..Criterion::read(path)? };
        criterion.require_conditions()?;
        if let Some(other) = criteria.iter().find(|other| other.id == criterion.id) {
            let span = criterion.source.text.find("id").map_or(0..0, |at| at..at + 2);
            let message = format!("`{}` is the id of {}, too", criterion.id, other.source.name);
            let problem = criterion.source.problem(
                span,
                "duplicate-name",
                "id",
                message,
                "give each criterion its own",
            );
            return Err(Invalid { problems: vec![problem] });
        }
        criteria.push(criterion);
    }
    criteria[first..].sort_by_key(|criterion| order(&criterion.id));
    Ok(())
}

/// Ids in their natural order: 7.2 before 7.10, and G2 before G10.
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
    /// Reads a file. An error is everything that is wrong with it, each with its place.
    fn read(path: &Path) -> Result<Self, Invalid> {
        let source = Source::read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::of(name, source)
    }

    /// Reads a text as if it were in a file of this path, which need not be there.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Invalid> {
        let source = Source { name: path.display().to_string(), text: text.to_owned() };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::of(name, source)
    }

    fn of(name: String, source: Source) -> Result<Self, Invalid> {
        let document = DeTable::parse(&source.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!("this is not TOML: {}", error.message());
            source.invalid(span, "syntax", "", message, "")
        })?;
        let mut reader = Reader { source: &source, problems: Vec::new() };
        let criterion = read_criterion(&mut reader, name, document.get_ref());
        let problems = reader.problems;
        match criterion {
            Some(criterion) if problems.is_empty() => Ok(Self { source, ..criterion }),
            _ => Err(Invalid { problems }),
        }
    }

    /// A file of criteria without conditions would pass in each case.
    fn require_conditions(&self) -> Result<(), Invalid> {
        if self.conditions.is_empty() {
            let help = "add a part `[[condition]]`";
            return Err(self.source.invalid(
                0..0,
                "missing-key",
                "condition",
                "there is no `condition`",
                help,
            ));
        }
        Ok(())
    }

    /// Its conditions in words, with the sources of their bounds.
    #[must_use]
    pub fn conditions(&self) -> Vec<Asked> {
        let values = |name: &str| {
            let values = self.axes.iter().flat_map(|axis| &axis.points).flat_map(|point| &point.values);
            let mut shown: Vec<String> = Vec::new();
            for (_, item) in values.filter(|(known, _)| known == name) {
                if !shown.contains(&item.shown()) {
                    shown.push(item.shown());
                }
            }
            shown
        };
        let asked = |of: &Condition| Asked { text: of.text(values), source: of.source.clone() };
        let of_all =
            |of: &Condition| Asked { text: format!("median of all cases, {}", of.text(values)), ..asked(of) };
        self.conditions.iter().map(asked).chain(self.medians.iter().map(of_all)).collect()
    }

    /// What must hold of the medians over all cases.
    #[must_use]
    pub fn medians(&self) -> Vec<Check> {
        self.medians.iter().map(Condition::fixed).collect()
    }

    /// Whether its cases are random paths, which [`Criterion::paths`] draws, instead of those of
    /// [`Criterion::cases`].
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.draw.is_some()
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

/// Seeds of a case unless the file says how many.
const USUAL_SEEDS: u32 = 2;
/// Most seeds of a case: each is a run.
const MOST_SEEDS: f64 = 1000.0;

const KEYS: [&str; 15] = [
    "id",
    "title",
    "asks",
    "why",
    "fails",
    "seeds",
    "kernel",
    "least_pkts",
    "axis",
    "quick",
    "page",
    "template",
    "draw",
    "condition",
    "median",
];

fn read_criterion(reader: &mut Reader<'_>, name: String, document: &DeTable<'_>) -> Option<Criterion> {
    let top = Table { table: document, path: "", span: (0, 0) };
    reader.known(top, &KEYS);
    let [id, title, asks, why] = ["id", "title", "asks", "why"].map(|key| reader.text(top, key));
    let fails = reader.optional_text(top, "fails").unwrap_or_default();
    let least_pkts = reader.number(top, "least_pkts").unwrap_or(4.0) as u64;
    let seeds = seeds(reader, top);
    let kernel = reader.texts(top, "kernel");
    let axes = axes(reader, top);
    let draw = Draw::read(reader, top);
    let mut templates = Vec::new();
    if !document.contains_key("draw") {
        for (path, value, table) in reader.tables(top, "template") {
            templates.extend(Template::read(reader, Table { table, path: &path, span: ends(value) }));
        }
    }
    let mut conditions = Vec::new();
    if document.contains_key("condition") {
        for (path, value, table) in reader.tables(top, "condition") {
            conditions.extend(Condition::read(reader, Table { table, path: &path, span: ends(value) }));
        }
    }
    let mut medians = Vec::new();
    if document.contains_key("median") {
        for (path, value, table) in reader.tables(top, "median") {
            medians.extend(Condition::read_median(reader, Table { table, path: &path, span: ends(value) }));
        }
    }
    let columns = columns(reader, top, &axes);
    let source = Source { name: String::new(), text: String::new() };
    let criterion = Criterion {
        name,
        id: id?,
        title: title?,
        asks: asks?,
        why: why?,
        fails,
        section: None,
        seeds,
        kernel,
        columns,
        least_pkts,
        axes,
        templates,
        draw,
        conditions,
        medians,
        source,
    };
    for (number, template) in (1..).zip(&criterion.templates) {
        check_names(reader, &criterion, number, template);
    }
    Some(criterion)
}

fn seeds(reader: &mut Reader<'_>, top: Table<'_, '_>) -> u32 {
    let Some(seeds) = reader.number(top, "seeds") else { return USUAL_SEEDS };
    if seeds.fract() != 0.0 || !(1.0..=MOST_SEEDS).contains(&seeds) {
        let message = format!("`seeds` must be a whole number from 1 to {MOST_SEEDS}");
        reader.complain(reader.place(top, "seeds"), "out-of-range", "seeds", message, "");
    }
    seeds as u32
}

/// Every name of a template and of the conditions must be a value of an axis.
fn check_names(reader: &mut Reader<'_>, criterion: &Criterion, number: usize, template: &Template) {
    let axes = criterion.axes_of(template);
    let points = axes.iter().filter_map(|axis| axis.points.first());
    let known: BTreeSet<&str> =
        points.flat_map(|point| &point.values).map(|(name, _)| name.as_str()).collect();
    let help = |name: &str| {
        let meant = fairpace_cc::nearest(name, known.iter().copied());
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        format!("{meant}Known are {}", known.iter().copied().collect::<Vec<_>>().join(", "))
    };
    let cases = axes.iter().fold(1usize, |cases, axis| cases.saturating_mul(axis.points.len()));
    if cases > MOST_CASES {
        let message = format!("the template gives {cases} cases; it may give {MOST_CASES}");
        let key = format!("template.{number}");
        reader.complain(template.span.clone(), "out-of-range", &key, message, "give its axes fewer values");
    }
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
    for (place, condition) in (1..).zip(&criterion.conditions) {
        for name in condition.names().filter(|name| !known.contains(name)) {
            let message = format!("template {number} uses no axis that has a value `{name}`");
            let key = format!("condition.{place}");
            reader.complain(condition.span.clone(), "unknown-name", &key, message, help(name));
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
