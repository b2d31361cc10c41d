//! Internal: only Fairpace's own crates use it. Renders the record of runs: one HTML file that needs no
//! network, or one SVG for a README.
//!
//! The plots are SVG and are drawn when the report is written, so they can be read without JavaScript, and
//! the report can be built without Node. A short script adds interaction: a cursor over all plots at once,
//! zoom to a span of time, flows that can be hidden. A plotting crate would fix the colours (no dark scheme)
//! and the size of the text (unreadable on a phone). Without these two needs it would still replace only
//! `path.rs`.
//!
//! This crate measures nothing and computes no metric: the numbers come from `fairpace-results`. The output
//! depends only on the arguments: the same runs give the same bytes.

#![forbid(unsafe_code)]

mod beside;
mod change;
pub mod chart;
mod colour;
mod completions;
mod data;
mod groups;
mod headline;
mod letters;
mod media;
mod page;
mod panels;
mod path;
mod picture;
mod plot;
mod repeats;
mod scale;
mod still;
mod strip;
pub mod svg;
mod tables;
mod words;

use std::sync::LazyLock;

use fairpace_results::{Record, Repeat, Run};

/// Information beside the runs. Every field has a default that gives a readable report.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The purpose of the experiment, in a sentence or two; may be empty.
    pub why: String,
    /// Information about each run, in the order of the runs. A run without an entry gets the default.
    pub runs: Vec<RunContext>,
    /// Names of the phases by index, as in the algorithms (`PROBE_BW_UP`).
    pub phases: Vec<String>,
    /// Records of other programs, which are drawn beside each run.
    pub beside: Vec<Record>,
    /// Statistics over several seeds, if the runs are one of them.
    pub repeat: Option<Repeat>,
}

/// Information about a run that is not part of its record.
#[derive(Debug, Clone, Default)]
pub struct RunContext {
    /// Name of the run for readers ("kernel bbr"). If empty, the name consists of the algorithms and the
    /// place of the run.
    pub label: String,
    /// Shell commands that repeat the run, one per entry.
    pub commands: Vec<String>,
    /// The scenario file.
    pub scenario_toml: String,
    /// Published values of the same experiment.
    pub published: Option<Published>,
}

/// Values from a publication, which the report shows beside a run.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// A short label for a line ("paper").
    pub label: String,
    /// Goodput of each flow, in the order of the run's flows; `None` or missing if it is not published.
    pub goodput_mbps: Vec<Option<f64>>,
    /// Mean queueing delay of the first link; `None` if it is not published.
    pub queue_delay_mean_ms: Option<f64>,
    /// The source of the values, as a sentence.
    pub source: String,
}

/// The report on `runs` as one HTML document.
///
/// The document loads no file: style, script and data are inside. Every string from the arguments is escaped.
/// Series may be empty, have gaps or be too short; the existing data is drawn. With more than 200 flows the
/// report shows groups of flows, as its page explains.
#[must_use]
pub fn html(title: &str, runs: &[Run], context: &Context) -> String {
    let page = |runs: &[Run], context: &Context| page::html(&Study::new(title, runs, context));
    printable(match groups::of(runs, context) {
        Some((runs, context)) => page(&runs, &context),
        None => page(runs, context),
    })
}

/// Goodput over time of every run, side by side on common axes, as one SVG document with a width of 900
/// units.
#[must_use]
pub fn headline_svg(title: &str, runs: &[Run], context: &Context) -> String {
    let picture = |runs: &[Run], context: &Context| picture::svg(&Study::new(title, runs, context));
    printable(match groups::of(runs, context) {
        Some((runs, context)) => picture(&runs, &context),
        None => picture(runs, context),
    })
}

/// The data that all parts of a report share.
struct Study<'a> {
    title: &'a str,
    context: &'a Context,
    runs: Vec<Case<'a>>,
    /// The time axis of all plots of all runs.
    time: scale::Axis,
    /// The largest number of columns in a plot.
    columns: usize,
}

/// A run with its context.
struct Case<'a> {
    index: usize,
    run: &'a Run,
    label: String,
    context: &'a RunContext,
}

impl<'a> Study<'a> {
    fn new(title: &'a str, runs: &'a [Run], context: &'a Context) -> Study<'a> {
        static NO_CONTEXT: LazyLock<RunContext> = LazyLock::new(RunContext::default);
        let end_s = |run: &Run| {
            let finite = run.series.t_s.iter().copied().filter(|t| t.is_finite());
            finite.fold(run.summary.window_s[1], f64::max)
        };
        let time = scale::Axis::ending_at(runs.iter().map(end_s).fold(0.0, f64::max), 6);
        let case = |(index, run): (usize, &'a Run)| {
            let context = context.runs.get(index).unwrap_or(&NO_CONTEXT);
            let label = if context.label.is_empty() { default_label(run) } else { context.label.clone() };
            Case { index, run, label, context }
        };
        let columns = path::columns_for(runs.iter().map(|run| run.summary.flows.len()).sum());
        Study { title, context, runs: runs.iter().enumerate().map(case).collect(), time, columns }
    }

    fn scale(&self, value: scale::Axis) -> scale::Scale {
        scale::Scale { time: self.time, value, columns: self.columns }
    }

    /// The largest finite value that `of` returns for any run, for a common axis.
    fn largest<I: IntoIterator<Item = f64>>(&self, of: impl Fn(&Case<'a>) -> I) -> f64 {
        self.runs.iter().flat_map(of).filter(|x| x.is_finite()).fold(0.0, f64::max)
    }

    /// The name of the flow at `index` if all runs agree on it, otherwise its number.
    fn flow_name(&self, index: usize) -> String {
        let mut names =
            self.runs.iter().filter_map(|case| case.run.summary.flows.get(index)).map(|f| &f.name);
        match names.next() {
            Some(first) if names.all(|name| name == first) => first.clone(),
            _ => format!("flow {}", index + 1),
        }
    }

    fn most_flows(&self) -> usize {
        self.runs.iter().map(|case| case.run.summary.flows.len()).max().unwrap_or(0)
    }

    /// The phase's name for readers: `PROBE_BW_UP` becomes "Probe BW up".
    fn phase_name(&self, phase: i8) -> String {
        let index = usize::try_from(phase).ok();
        let Some(name) = index.and_then(|i| self.context.phases.get(i)) else {
            return format!("phase {phase}");
        };
        let words = name.split('_').enumerate().map(|(i, word)| match word {
            "BW" | "RTT" => word.to_owned(),
            _ if i == 0 => word.chars().take(1).chain(word.to_lowercase().chars().skip(1)).collect(),
            _ => word.to_lowercase(),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Case<'_> {
    /// A flow's goodput. Until the flow starts, the goodput is missing instead of zero.
    fn goodput_since_start(&self, flow: usize) -> Vec<f32> {
        let Some(series) = self.run.series.flows.get(flow) else { return Vec::new() };
        let start_s = self.run.summary.flows.get(flow).map_or(0.0, |f| f.start_s);
        let started = |(t_s, x): (&f64, &f32)| if *t_s > start_s { *x } else { f32::NAN };
        self.run.series.t_s.iter().zip(&series.goodput_mbps).map(started).collect()
    }

    /// The published goodput of a flow.
    fn published_mbps(&self, flow: usize) -> Option<f64> {
        let published = self.context.published.as_ref()?;
        published.goodput_mbps.get(flow).copied().flatten().filter(|x| x.is_finite())
    }
}

/// Replaces the characters that XML does not allow and HTML discourages.
fn printable(text: String) -> String {
    let illegal =
        |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}');
    if text.contains(illegal) { text.replace(illegal, "\u{fffd}") } else { text }
}

/// A label such as "bbr1, simulated" or "bbr1 + cubic, kernel".
fn default_label(run: &Run) -> String {
    let mut names: Vec<&str> = run.summary.flows.iter().map(|flow| flow.cc.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    format!("{}, {}", names.join(" + "), place(&run.summary.on))
}

/// The place of a run for readers.
fn place(on: &str) -> &str {
    if on == "sim" { "simulated" } else { on }
}
