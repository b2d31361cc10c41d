//! Records on disk: `reproduction/results/PAPER/FIGURE.json`, and the verdicts of the short versions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_scenario::Target;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::cache::write;
use crate::draw::pictures;
use crate::figure::{Figure, Line, Plot};
use crate::judge::judge;
use crate::load::RESULTS;
use crate::measure::{Gave, Outcome, Outcomes, round};
use crate::record::{Measured, Record, Verdict};
use crate::sheet::Sheet;

/// Verdicts of the quick versions by "PAPER/FIGURE".
pub type Short = BTreeMap<String, Verdict>;

/// What one place says of a figure. `scenarios_hash` is that of its plan, `commit` the program's.
#[must_use]
pub fn measured(
    sheet: &Sheet,
    on: Target,
    outcomes: &[Outcome],
    scenarios_hash: String,
    commit: &str,
) -> Measured {
    let all = Outcomes { figure: &sheet.figure, all: outcomes };
    let (values, shapes, verdict) = judge(&all, on);
    let runs = || {
        outcomes.iter().flat_map(|outcome| match &outcome.gave {
            Gave::Runs(runs) => runs.as_slice(),
            _ => &[],
        })
    };
    let sum = |of: fn(&fairpace_results::Cost) -> f64| {
        round(runs().map(|run| of(&run.summary.cost)).filter(|cost| cost.is_finite()).sum())
    };
    Measured {
        on,
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

impl Record {
    /// A figure of which nothing was measured.
    #[must_use]
    pub fn blank(sheet: &Sheet) -> Self {
        let Sheet { paper, id, figure, .. } = sheet;
        Self { paper: paper.clone(), id: id.clone(), figure: figure.clone(), measured: Vec::new() }
    }

    /// What is on record of a figure, with the words that its file has now. What was measured of another
    /// figure, with other runs, values or pictures, is left out.
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
        if wordless(&found.figure) != wordless(&sheet.figure) {
            return Ok(blank);
        }
        let lines = found.measured.iter_mut().flat_map(|of| &mut of.pictures).flat_map(|of| &mut of.lines);
        lines.for_each(|line| line.half.resize(line.y.len(), None));
        Ok(Self { measured: found.measured, ..blank })
    }

    /// Puts what was measured in the place of what the same place measured before.
    pub fn add(&mut self, measured: Measured) {
        self.measured.retain(|other| other.on != measured.on);
        self.measured.push(measured);
        self.measured.sort_by_key(|measured| measured.on == Target::Testbed);
    }

    /// What a place measured.
    #[must_use]
    pub fn on(&self, on: Target) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.on == on)
    }

    /// The verdict of the simulator, or of the kernel where there is no other.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.measured.first().map_or(Verdict::NotRun, |measured| measured.verdict)
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

/// Writes a page in one step.
///
/// # Errors
/// When it cannot be written.
pub fn write_page(path: &Path, text: &str) -> io::Result<()> {
    write(path, text)
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

/// The figure without what only explains, and without what is not in the paper: its words may change without
/// a new run, and so may an algorithm of ours that real flows did not run.
fn wordless(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    let is_beside = |line: &Line| figure.is_beside(&line.measure);
    let plots = figure.plots.iter().map(|plot| {
        let lines = plot.lines.iter().filter(|line| !is_beside(line)).cloned().collect();
        Plot { lines, ..plot.clone() }
    });
    figure.plots = plots.collect();
    figure.runs.retain(|run| !run.beside);
    let Figure { title, source, setup, expect, differs, no_kernel, kernel, short, .. } = &mut figure;
    [title, source, setup, expect, differs, no_kernel].into_iter().for_each(String::clear);
    // what they would change in a run is in its scenarios' hash
    (*kernel, *short) = (None, Default::default());
    for value in &mut figure.values {
        [&mut value.what, &mut value.unit, &mut value.quote].into_iter().for_each(String::clear);
    }
    figure.shapes.iter_mut().for_each(|shape| shape.what.clear());
    for plot in &mut figure.plots {
        [&mut plot.title, &mut plot.x, &mut plot.y].into_iter().for_each(String::clear);
        (plot.log_x, plot.log_y) = (false, false);
        for line in &mut plot.lines {
            line.label.clear();
            line.published.clear();
            line.reference = false;
        }
    }
    figure
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
