//! Records on disk: `reproduction/results/PAPER/FIGURE.json`, and the verdicts of the short versions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::draw::pictures;
use crate::figure::{Base, Figure, Line, Plot, Shape, Value};
use crate::judge::{Rule, judge, judge_again};
use crate::load::RESULTS;
use crate::measure::{Outcome, Outcomes, round};
use crate::record::{Compared, Drawn, Finding, Held, Measured, Record, Verdict};
use crate::sheet::{Sheet, name_on};
use crate::tally::Counted;
use fairpace_cli_core::new_file::write;

mod kept;

/// What the quick versions came to, by [`Sheet::name_on`].
pub type Short = BTreeMap<String, Quick>;

/// What came of a quick version, judged by means: [`Rule::Mean`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quick {
    /// Of the figure.
    pub verdict: Verdict,
    /// How many values and shapes were measured.
    pub measured: usize,
    /// Which of them do not hold.
    pub fails: Vec<String>,
}

impl Quick {
    /// Of a figure that was just run.
    #[must_use]
    pub fn of(figure: &Figure, measured: &Measured) -> Self {
        let values = measured.values.iter().map(|of| (&figure.values[of.value].what, of.finding));
        let shapes = measured.shapes.iter().map(|of| (&figure.shapes[of.shape].what, of.finding));
        let all = values.chain(shapes).filter(|(_, finding)| *finding != Finding::NotMeasured);
        let all: Vec<(&String, Finding)> = all.collect();
        let fails = all.iter().filter(|(_, finding)| *finding != Finding::Holds);
        Self {
            verdict: measured.verdict,
            measured: all.len(),
            fails: fails.map(|(what, _)| (*what).clone()).collect(),
        }
    }
}

/// What one place says of a figure on a base. `scenarios_hash` is that of its plan, `commit` the program's.
#[must_use]
pub fn measured(
    sheet: &Sheet,
    base: &Base,
    on: Target,
    rule: Rule,
    outcomes: &[Outcome],
    scenarios_hash: String,
    commit: &str,
) -> Measured {
    let all = Outcomes { figure: &sheet.figure, all: outcomes };
    let (values, shapes, verdict) = judge(&all, on, rule);
    let runs = || outcomes.iter().flat_map(|outcome| outcome.gave.runs());
    let sum = |of: fn(&fairpace_results::Cost) -> f64| {
        round(runs().map(|run| of(&run.summary.cost)).filter(|cost| cost.is_finite()).sum())
    };
    Measured {
        on,
        base: base.name.clone(),
        commit: commit.to_owned(),
        scenarios_hash,
        runs: u32::try_from(runs().count()).unwrap_or(u32::MAX),
        wall_s: sum(|cost| cost.wall_s),
        cpu_s: sum(|cost| cost.cpu_s),
        packets: runs().map(|run| run.summary.cost.data_packets).sum(),
        verdict,
        values,
        shapes,
        pictures: pictures(&all),
    }
}

/// A base and a host, with what they measured of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) base: &'a Base,
    pub(crate) on: Target,
    pub(crate) measured: Option<&'a Measured>,
}

impl<'a> Place<'a> {
    /// What it says of a published value.
    pub(crate) fn compared(&self, value: usize) -> Option<&'a Compared> {
        self.measured?.values.iter().find(|compared| compared.value == value)
    }

    /// What it says of a relation.
    pub(crate) fn held(&self, shape: usize) -> Option<&'a Held> {
        self.measured?.shapes.iter().find(|held| held.shape == shape)
    }
}

impl Record {
    /// A figure of which nothing was measured.
    #[must_use]
    pub fn blank(sheet: &Sheet) -> Self {
        let Sheet { paper, id, figure, bases, .. } = sheet;
        let (paper, id, figure, bases) = (paper.clone(), id.clone(), figure.clone(), bases.clone());
        Self { paper, id, figure, bases, measured: Vec::new() }
    }

    /// What is on record of a figure, with the words that its file has now. What was simulated of another
    /// figure, with other runs, values or pictures, is left out. Of real flows only that is left out which
    /// changed: they cannot be had again as they were, and take as long as they last.
    ///
    /// # Errors
    /// When a record is there but cannot be read.
    pub fn load(root: &Path, sheet: &Sheet) -> io::Result<Self> {
        let blank = Self::blank(sheet);
        let text = match std::fs::read_to_string(path(root, sheet)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(blank),
            other => other?,
        };
        let mut found: Self = serde_json::from_str(&text).map_err(io::Error::other)?;
        if wordless(&found.figure) == wordless(&sheet.figure) {
            redraw(&mut found, &sheet.figure.plots);
        } else {
            found.measured = kept::of_real_flows(&found, &sheet.figure);
        }
        for measured in &mut found.measured {
            // before a paper declared bases, the first was the only one
            if measured.base.is_empty() {
                measured.base.clone_from(&sheet.bases[0].name);
            }
            let lines = measured.pictures.iter_mut().flat_map(|picture| &mut picture.lines);
            lines.for_each(|line| line.half.resize(line.y.len(), None));
        }
        found.measured.iter_mut().for_each(|measured| judge_again(&sheet.figure, measured));
        found.measured.retain(|measured| sheet.bases.iter().any(|base| base.name == measured.base));
        Ok(Self { measured: found.measured, ..blank })
    }

    /// Gives what is on record the words and tolerances that the figure's file has now. A record of other
    /// runs, checks or bases is left as it is: its numbers come back when the file does.
    ///
    /// # Errors
    /// When a record is there but cannot be read, or cannot be written.
    pub fn reword(root: &Path, sheet: &Sheet) -> io::Result<()> {
        let text = match std::fs::read_to_string(path(root, sheet)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let found: Self = serde_json::from_str(&text).map_err(io::Error::other)?;
        let worded = Self::load(root, sheet)?;
        let keeps_all = worded.measured.len() == found.measured.len();
        match keeps_all && wordless(&found.figure) == wordless(&sheet.figure) {
            true => worded.store(root, sheet),
            false => Ok(()),
        }
    }

    /// Puts what was measured in the place of what the same place measured before on the same base.
    pub fn add(&mut self, measured: Measured) {
        self.measured.retain(|other| (other.on, &other.base) != (measured.on, &measured.base));
        self.measured.push(measured);
        let base = |name: &str| self.bases.iter().position(|base| base.name == name);
        self.measured.sort_by_key(|of| (base(&of.base), of.on == Target::Testbed));
    }

    /// What a place measured on the first base.
    #[must_use]
    pub fn on(&self, on: Target) -> Option<&Measured> {
        self.bases.first().and_then(|base| self.at(base, on))
    }

    /// What a place measured on a base.
    #[must_use]
    pub fn at(&self, base: &Base, on: Target) -> Option<&Measured> {
        self.measured.iter().find(|of| of.on == on && of.base == base.name)
    }

    /// On which base it was measured.
    #[must_use]
    pub fn base(&self, of: &Measured) -> Option<&Base> {
        self.bases.iter().find(|base| base.name == of.base)
    }

    /// How many checks of each kind hold on a base in a place; where nothing was measured, none of them was.
    #[must_use]
    pub fn counted(&self, base: &Base, on: Target) -> Counted {
        match self.at(base, on) {
            Some(measured) => Counted::in_place(&self.figure, measured),
            None => Counted::unmeasured(&self.figure),
        }
    }

    /// The verdict of the simulator on the first base, or of the kernel where there is no other.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.bases.first().map_or(Verdict::NotRun, |base| self.verdict_on(base))
    }

    /// The same on any base.
    #[must_use]
    pub fn verdict_on(&self, base: &Base) -> Verdict {
        let place = |on| self.at(base, on);
        let measured = place(Target::Simulator).or_else(|| place(Target::Testbed));
        measured.map_or(Verdict::NotRun, |measured| measured.verdict)
    }

    /// Every base in the simulator, and with real flows where there are any.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let of = |base| {
            [Target::Simulator, Target::Testbed].map(|on| Place { base, on, measured: self.at(base, on) })
        };
        let places = self.bases.iter().flat_map(of);
        places.filter(|place| place.measured.is_some() || place.on == Target::Simulator)
    }

    /// Words with what a base is called, where others stand beside it: "simulator, single packets".
    pub(crate) fn with_base(&self, words: &str, base: &Base) -> String {
        if self.bases.len() > 1 { format!("{words}, {}", base.title) } else { words.to_owned() }
    }

    /// As [`Sheet::name_on`].
    #[must_use]
    pub fn name_on(&self, base: &Base) -> String {
        name_on(&self.paper, &self.id, &self.bases, base)
    }

    /// The command that measures it.
    #[must_use]
    pub fn command(&self) -> String {
        format!("fairpace-dev reproduce {}/{}", self.paper, self.id)
    }

    /// Puts the record in its place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(&self, root: &Path, sheet: &Sheet) -> io::Result<()> {
        let mut thin = self.clone();
        // most lines have no interval at all
        let lines = thin.measured.iter_mut().flat_map(|of| &mut of.pictures).flat_map(|of| &mut of.lines);
        lines.filter(|line| line.half.iter().all(Option::is_none)).for_each(|line| line.half.clear());
        write(&path(root, sheet), &json(&thin)?)
    }
}

/// Where a figure's record lies.
#[must_use]
pub fn path(root: &Path, sheet: &Sheet) -> PathBuf {
    root.join(RESULTS).join(&sheet.paper).join(format!("{}.json", sheet.id))
}

/// Where the verdicts of the quick versions lie.
#[must_use]
pub fn short_path(root: &Path) -> PathBuf {
    root.join(RESULTS).join("short.json")
}

/// Those on record; none is no error.
///
/// # Errors
/// When they cannot be read.
pub fn load_short(root: &Path) -> io::Result<Short> {
    match std::fs::read_to_string(short_path(root)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Short::new()),
        other => serde_json::from_str(&other?).map_err(io::Error::other),
    }
}

/// Puts them in their place.
///
/// # Errors
/// When they cannot be written.
pub fn store_short(root: &Path, short: &Short) -> io::Result<()> {
    write(&short_path(root), &json(short)?)
}

/// The figure without what only explains or judges, and without what is not in the paper: its words and
/// tolerances may change without a new run, and so may an algorithm of ours that real flows did not run, and
/// a reference that is drawn as it is published.
fn wordless(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    let is_beside = |line: &Line| figure.is_beside(&line.measure);
    let plots = figure.plots.iter().map(|plot| {
        let is_measured = |line: &&Line| !is_beside(line) && !line.is_drawn_as_published();
        let lines = plot.lines.iter().filter(is_measured).cloned().collect();
        Plot { lines, ..plot.clone() }
    });
    figure.plots = plots.collect();
    figure.runs.retain(|run| !run.beside);
    let Figure { title, source, setup, expect, differs, no_kernel, kernel, short, .. } = &mut figure;
    [title, source, setup, expect, differs, no_kernel].into_iter().for_each(String::clear);
    // what they would change in a run is in its scenarios' hash
    (*kernel, *short) = (None, Default::default());
    figure.no_base.clear();
    figure.claims.clear();
    figure.values.iter_mut().for_each(wordless_value);
    figure.shapes.iter_mut().for_each(wordless_shape);
    figure.plots.iter_mut().for_each(wordless_plot);
    figure
}

fn wordless_value(value: &mut Value) {
    let Value { what, unit, quote, by_construction, tolerance_why, causes, .. } = value;
    [what, unit, quote, by_construction, tolerance_why].into_iter().for_each(String::clear);
    causes.iter_mut().for_each(|cause| cause.what.clear());
    (value.tolerance, value.tolerance_ratio, value.in_words) = (0.0, 0.0, false);
}

fn wordless_shape(shape: &mut Shape) {
    let Shape { what, quote, by_construction, tolerance_why, .. } = shape;
    [what, quote, by_construction, tolerance_why].into_iter().for_each(String::clear);
    (shape.ours, shape.tolerance_ratio) = (false, 0.0);
}

fn wordless_plot(plot: &mut Plot) {
    [&mut plot.title, &mut plot.x, &mut plot.y].into_iter().for_each(String::clear);
    (plot.log_x, plot.log_y) = (false, false);
    for line in &mut plot.lines {
        line.label.clear();
        line.published.clear();
        line.reference = false;
    }
}

/// Puts the lines of a record's pictures in the order of these plots.
fn redraw(record: &mut Record, plots: &[Plot]) {
    let was = &record.figure.plots;
    for picture in record.measured.iter_mut().flat_map(|measured| &mut measured.pictures) {
        if let (Some(was), Some(is)) = (was.get(picture.plot), plots.get(picture.plot)) {
            picture.lines = lines_of(&picture.lines, was, is);
        }
    }
}

/// The lines of a picture in the order that its plot has now, by what they measure; one that is new was not
/// drawn.
fn lines_of(drawn: &[Drawn], was: &Plot, is: &Plot) -> Vec<Drawn> {
    let mut old: Vec<(&Line, &Drawn)> = was.lines.iter().zip(drawn).collect();
    let same = |a: &Line, b: &Line| (&a.measure, &a.against) == (&b.measure, &b.against);
    let mut find = |line: &Line| {
        let index = old.iter().position(|(other, _)| same(other, line))?;
        Some(old.remove(index).1.clone())
    };
    is.lines.iter().map(|line| find(line).unwrap_or_default()).collect()
}

/// JSON with an object's keys on lines of their own and a list of numbers on one, so that a change is seen
/// as small as it is.
fn json<T: Serialize>(value: &T) -> io::Result<String> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Lines(PrettyFormatter::with_indent(b" "))))?;
    out.push(b'\n');
    String::from_utf8(out).map_err(io::Error::other)
}

struct Lines(PrettyFormatter<'static>);

impl Formatter for Lines {
    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_stays_with_the_line_that_measures_it() {
        let plot = |of: &[&str]| {
            let line =
                |of: &&str| format!("[[line]]\nlabel = ''\nmeasure = {{ run = 'bbr', of = '{of}' }}\n");
            let lines: String = of.iter().map(line).collect();
            toml::from_str::<Plot>(&format!("kind = 'time'\nx = ''\ny = ''\n{lines}")).unwrap()
        };
        let drawn = |y: f64| Drawn { x: vec![1.0], y: vec![Some(y)], half: vec![None] };
        let (was, is) = (plot(&["jain", "flow.1.share"]), plot(&["flow.1.share", "flow.2.share", "jain"]));
        let lines = lines_of(&[drawn(1.0), drawn(2.0)], &was, &is);
        assert_eq!(lines, [drawn(2.0), Drawn::default(), drawn(1.0)]);
    }
}
