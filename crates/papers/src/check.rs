//! Checks of a figure's file that need no scenario.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use fairpace_experiment::{Source, Wrong};
use fairpace_scenario::{Invalid, Set};

use crate::figure::{
    Along, Claim, Figure, Is, Kind, Line, Measure, Paper, Plot, RunPlan, Shape, Take, Value,
};
use crate::sheet::Sheet;

/// Permitted numbers of seeds; more seeds would take days.
const SEEDS: RangeInclusive<u32> = 1..=1000;
/// Permitted repeats on the kernel, where a run takes its simulated time.
const REPEATS: RangeInclusive<u32> = 1..=10;
/// Permitted numbers of simultaneous runs on the kernel. A run at 100 Mbit/s takes more than half of a core,
/// a run at 128 kbit/s hardly any.
const AT_A_TIME: RangeInclusive<u32> = 1..=40;

/// Returns every problem of a figure's file, in the order of the kinds of its parts.
pub(crate) fn figure(sheet: &Sheet, paper: &Paper) -> Result<(), Invalid> {
    let figure = &sheet.figure;
    let mut check = Check { sheet, figure, wrong: Wrong::new(&sheet.source) };
    check.top();
    check.no_stack(paper);
    figure.runs.iter().enumerate().for_each(|(index, run)| check.run(index, run));
    (1..).zip(&figure.values).for_each(|(number, value)| check.value(&format!("value.{number}"), value));
    (1..).zip(&figure.shapes).for_each(|(number, shape)| check.shape(&format!("shape.{number}"), shape));
    for (number, Claim { quote, why }) in (1..).zip(&figure.claims) {
        for (name, text) in [("quote", quote), ("why", why)] {
            let help = "quote the paper, and say why no check tests it";
            check.wrong.said(&format!("claim.{number}.{name}"), text, help);
        }
    }
    (1..).zip(&figure.plots).for_each(|(number, plot)| check.plot(&format!("plot.{number}"), plot));
    check.wrong.none()
}

/// Returns the problems of the hosts and stacks that a paper declares.
pub(crate) fn stacks(paper: &Paper, source: &Source) -> Result<(), Invalid> {
    let mut wrong = Wrong::new(source);
    sets(&paper.hosts.set, "hosts.set", &mut wrong);
    if !paper.hosts.is_empty() {
        wrong.said("hosts.why", &paper.hosts.why, "say how it is known");
    }
    for (index, stack) in paper.stacks.iter().enumerate() {
        let key = format!("stack.{}", index + 1);
        for (name, words) in [("name", &stack.name), ("title", &stack.title), ("why", &stack.why)] {
            wrong.said(&format!("{key}.{name}"), words, "write it");
        }
        let is_new = paper.stacks[..index].iter().all(|other| other.name != stack.name);
        let (at, message) = (format!("{key}.name"), format!("two stacks are called `{}`", stack.name));
        wrong.unless(is_new, "duplicate-name", &at, message, "give each stack its own name");
        let message = format!("`{}` is stack {} and sets {} keys", stack.name, index + 1, stack.set.len());
        let help = "the first stack is the scenarios as they are; each other one sets something";
        wrong.unless((index == 0) == stack.set.is_empty(), "impossible", &key, message, help);
        sets(&stack.set, &format!("{key}.set"), &mut wrong);
    }
    wrong.none()
}

/// Adds a problem for each text that is not of the form `KEY=VALUE`.
fn sets(sets: &[String], key: &str, wrong: &mut Wrong<'_>) {
    for (number, set) in (1..).zip(sets) {
        if let Err(error) = set.parse::<Set>() {
            wrong.add("syntax", &format!("{key}.{number}"), error, "");
        }
    }
}

/// Adds a problem if a number is outside its range.
fn within(range: RangeInclusive<u32>, number: u32, key: &str, message: &str, wrong: &mut Wrong<'_>) {
    let help = format!("{} to {}", range.start(), range.end());
    wrong.unless(range.contains(&number), "out-of-range", key, message, help);
}

/// Whether a measure of a run with a sweep must name a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Named,
    NamedOrAll,
    All,
}

struct Check<'a> {
    sheet: &'a Sheet,
    figure: &'a Figure,
    wrong: Wrong<'a>,
}

impl Check<'_> {
    fn top(&mut self) {
        let Figure { title, source, setup, expect, kernel, no_kernel, short, .. } = self.figure;
        let wrong = &mut self.wrong;
        for (key, text) in [("title", title), ("source", source), ("setup", setup), ("expect", expect)] {
            wrong.said(key, text, "say it in a sentence");
        }
        let says = [kernel.is_some(), !no_kernel.trim().is_empty()];
        let message = "it does not say how real flows show it, nor why they cannot";
        let help = "write a [kernel] section, or `no_kernel` with the reason";
        wrong.unless(says != [false; 2], "missing-key", "", message, help);
        let message = "it says both how real flows show it and why they cannot";
        let help = "write one of `kernel` and `no_kernel`";
        wrong.unless(says != [true; 2], "impossible", "no_kernel", message, help);
        if let Some(kernel) = kernel {
            let message = "these are not runs of anybody's patience";
            within(REPEATS, kernel.repeats, "kernel.repeats", message, wrong);
            let message = "none would run, or all would be disturbed";
            within(AT_A_TIME, kernel.at_a_time, "kernel.at_a_time", message, wrong);
            for (number, name) in (1..).zip(&kernel.runs) {
                self.known_run(name, &format!("kernel.runs.{number}"));
            }
            self.known_points(&kernel.at, "kernel.at");
            sets(&kernel.set, "kernel.set", &mut self.wrong);
        }
        self.known_points(&short.at, "short.at");
        sets(&short.set, "short.set", &mut self.wrong);
    }

    fn no_stack(&mut self, paper: &Paper) {
        let others: Vec<&str> = paper.stacks.iter().skip(1).map(|stack| stack.name.as_str()).collect();
        for (name, why) in &self.figure.no_stack {
            let key = format!("no_stack.{name}");
            let message = format!("the paper has no stack `{name}` to leave out");
            let help = format!("after the first, they are {}", others.join(", "));
            self.wrong.unless(others.contains(&name.as_str()), "unknown-stack", &key, message, help);
            let says_why = !why.trim().is_empty();
            self.wrong.unless(says_why, "missing-key", &key, "it does not say why", "give the reason");
        }
    }

    fn known_run(&mut self, name: &str, key: &str) {
        let names: Vec<&str> = self.figure.runs.iter().map(|run| run.name.as_str()).collect();
        let (message, help) =
            (format!("there is no run `{name}`"), format!("its runs are {}", names.join(", ")));
        self.wrong.unless(names.contains(&name), "unknown-run", key, message, help);
    }

    fn known_points(&mut self, points: &[String], key: &str) {
        let known: HashSet<&str> = self.figure.runs.iter().flat_map(points_of).collect();
        for (number, at) in (1..).zip(points) {
            let (key, message) = (format!("{key}.{number}"), format!("no run's sweep has a point `{at}`"));
            let is_known = known.contains(at.as_str());
            self.wrong.unless(is_known, "unknown-point", &key, message, "name points as sweeps do");
        }
    }

    fn run(&mut self, index: usize, run: &RunPlan) {
        let (key, name, runs, wrong) =
            (format!("run.{}", index + 1), &run.name, &self.figure.runs, &mut self.wrong);
        let is_new = runs[..index].iter().all(|other| other.name != *name);
        let (at, message) = (format!("{key}.name"), format!("two runs are called `{name}`"));
        wrong.unless(is_new, "duplicate-name", &at, message, "give each run its own name");
        let sources = [&run.scenario, &run.model, &run.table].into_iter().filter(|of| !of.is_empty()).count();
        let message = format!("run `{name}` must have one source");
        wrong.unless(
            sources == 1,
            "missing-key",
            &key,
            message,
            "write one of `scenario`, `model` and `table`",
        );
        for (name, file) in [("scenario", &run.scenario), ("table", &run.table)] {
            let is_there = file.is_empty() || self.sheet.file(file).is_some();
            let (at, message) = (format!("{key}.{name}"), format!("there is no file `{file}`"));
            let help = "write its path from this folder or from the paper's folder";
            wrong.unless(is_there, "file", &at, message, help);
        }
        within(SEEDS, run.seeds, &format!("{key}.seeds"), &format!("{} seeds", run.seeds), wrong);
        sets(&run.set, &format!("{key}.set"), wrong);
        let is_last = !run.beside || runs[index + 1..].iter().all(|later| later.beside);
        let message = format!("run `{name}` is not in the paper, but a run of the paper follows");
        let at = format!("{key}.beside");
        wrong.unless(is_last, "impossible", &at, message, "write such runs after all others");
        let Some(sweep) = &run.sweep else { return };
        let (at, has_points) = (format!("{key}.sweep"), !sweep.points.is_empty());
        wrong.unless(has_points, "missing-key", &at, "the sweep has no point", "add a point");
        for (index, point) in sweep.points.iter().enumerate() {
            let at = format!("{key}.sweep.point.{}", index + 1);
            let is_new = sweep.points[..index].iter().all(|other| other.at != point.at);
            let message = format!("the point's name `{}` is empty or taken", point.at);
            let is_named = is_new && !point.at.is_empty();
            wrong.unless(is_named, "duplicate-name", &format!("{at}.at"), message, "give each its own name");
            sets(&point.set, &format!("{at}.set"), wrong);
        }
    }

    fn value(&mut self, key: &str, value: &Value) {
        let measure = format!("{key}.measure");
        self.measure(&value.measure, &measure, At::Named);
        self.of_the_paper(&value.measure, &measure);
        let has_quote = !value.quote.trim().is_empty();
        let help = "quote the sentence of the paper that reports the value";
        let at = format!("{key}.quote");
        self.wrong.unless(has_quote, "missing-key", &at, "the value has no source", help);
        let (at, help) = (format!("{key}.is"), "write one of about, below and above");
        let message = "only the sides of a shape can be apart";
        self.wrong.unless(value.is != Is::Apart, "impossible", &at, message, help);
        let is_named = |name| self.sheet.source.has(&format!("{key}.{name}"));
        let has_tolerance = ["tolerance", "tolerance_ratio"].into_iter().any(is_named);
        self.no_slack(key, has_tolerance && value.is != Is::About);
        let message = format!("`{}` has no tolerance", value.what);
        let help = "write `tolerance` in the value's unit, or `tolerance_ratio`";
        self.wrong.unless(has_tolerance || value.is != Is::About, "missing-key", key, message, help);
        let has_room = value.tolerance != 0.0 || value.tolerance_ratio != 0.0;
        self.reason(key, &value.what, has_room, &value.tolerance_why);
        for (number, cause) in (1..).zip(&value.causes) {
            let key = format!("{key}.cause.{number}");
            let at = format!("{key}.measure");
            self.measure(&cause.measure, &at, At::Named);
            self.wrong.said(&format!("{key}.what"), &cause.what, "say what the run changes");
            let is_other = cause.measure != value.measure;
            let help = "measure a run that changes the suspected cause";
            self.wrong.unless(is_other, "impossible", &at, "it is the measure of the value", help);
        }
        let is_sound = |number: f64| number.is_finite() && number >= 0.0;
        let are_sound = [value.tolerance, value.tolerance_ratio].into_iter().all(is_sound);
        let message = "the published value and its tolerances must be finite, tolerances not negative";
        self.wrong.unless(are_sound && value.published.is_finite(), "out-of-range", key, message, "");
    }

    fn shape(&mut self, key: &str, shape: &Shape) {
        let [measure, than] = ["measure", "than"].map(|name| format!("{key}.{name}"));
        self.of_the_paper(&shape.measure, &measure);
        shape.than.iter().for_each(|of| self.of_the_paper(of, &than));
        let message = format!("`{}` must have a source, or be ours", shape.what);
        let help = "quote the sentence of the paper that states it, or write `ours = true`";
        let has_source = shape.quote.trim().is_empty() == shape.ours;
        self.wrong.unless(has_source, "missing-key", key, message, help);
        let has_room = shape.tolerance_ratio != 0.0;
        let is_exact = match shape.along {
            Some(along) => along != Along::Level,
            None => matches!(shape.is, Is::Above | Is::Below),
        };
        self.no_slack(key, is_exact && has_room);
        self.reason(key, &shape.what, has_room, &shape.tolerance_why);
        let is_sound = shape.tolerance_ratio >= 0.0
            && [shape.tolerance_ratio, shape.factor].iter().all(|x| x.is_finite());
        let message = "factor and tolerance must be finite, the tolerance not negative";
        self.wrong.unless(is_sound, "out-of-range", key, message, "");
        if shape.along.is_none() {
            self.measure(&shape.measure, &measure, At::Named);
            return shape.than.iter().for_each(|of| self.measure(of, &than, At::Named));
        }
        self.measure(&shape.measure, &measure, At::All);
        let message = "what goes along a sweep is compared to nothing";
        self.wrong.unless(shape.than.is_none(), "impossible", &than, message, "leave `than` out, or `along`");
    }

    /// Checks that a tolerance has a reason, and that a reason has a tolerance.
    fn reason(&mut self, key: &str, what: &str, has_room: bool, why: &str) {
        let has_reason = !why.trim().is_empty();
        let message = format!("`{what}` has a tolerance without a reason");
        let help = "say in `tolerance_why` what makes the published number so uncertain";
        self.wrong.unless(has_reason || !has_room, "missing-key", key, message, help);
        let message = format!("`{what}` has a reason for a tolerance, and no tolerance");
        self.wrong.unless(has_room || !has_reason, "impossible", key, message, "leave `tolerance_why` out");
    }

    fn no_slack(&mut self, key: &str, has_slack: bool) {
        let message = "a bound or a direction has no tolerance: it holds or does not";
        self.wrong.unless(!has_slack, "impossible", key, message, "leave the tolerance out");
    }

    fn plot(&mut self, key: &str, plot: &Plot) {
        let has_lines = !plot.lines.is_empty();
        self.wrong.unless(has_lines, "missing-key", key, "the picture has no line", "add a [[plot.line]]");
        let at = match plot.kind {
            Kind::Sweep | Kind::Bars | Kind::Cdf => At::NamedOrAll,
            Kind::Time | Kind::Phase => At::Named,
        };
        for (number, line) in (1..).zip(&plot.lines) {
            let key = format!("{key}.line.{number}");
            let measure = format!("{key}.measure");
            self.measure(&line.measure, &measure, at);
            self.only_over_time(&line.measure, &measure, plot.kind == Kind::Time);
            let is_beside = |line: &Line| self.figure.is_beside(&line.measure);
            let is_last = !is_beside(line) || plot.lines[number..].iter().all(is_beside);
            let message = format!("`{}` is not in the paper, but a line of the paper follows", line.label);
            self.wrong.unless(is_last, "impossible", &key, message, "write such lines after all others");
            let message = "a line of a phase picture, and no other, has `against`: what goes to the right";
            let is_right = (plot.kind == Kind::Phase) != line.against.is_empty();
            self.wrong.unless(is_right, "impossible", &key, message, "");
        }
    }

    /// Checks that a judged measure uses only runs that are in the paper.
    fn of_the_paper(&mut self, measure: &Measure, key: &str) {
        let message = format!("run `{}` is not in the paper, so it decides no verdict", measure.run);
        let help = "show it as a line of a picture, or remove `beside` from the run";
        let is_of_paper = !self.figure.is_run_beside(&measure.run);
        self.wrong.unless(is_of_paper, "impossible", &format!("{key}.run"), message, help);
        measure.over.iter().for_each(|over| self.of_the_paper(over, &format!("{key}.over")));
        self.only_over_time(measure, key, false);
    }

    fn only_over_time(&mut self, measure: &Measure, key: &str, is_over_time: bool) {
        let message = "only a picture over time has `later_s`, `plus` and `mean_s`";
        let is_right = is_over_time || !measure.is_over_time();
        self.wrong.unless(is_right, "impossible", key, message, "leave them out");
    }

    fn measure(&mut self, measure: &Measure, key: &str, at: At) {
        let Some(run) = self.figure.runs.iter().find(|run| run.name == measure.run) else {
            return self.known_run(&measure.run, &format!("{key}.run"));
        };
        let points: Vec<&str> = points_of(run).collect();
        let (name, place, all) = (&run.name, &*format!("{key}.at"), points.join(", "));
        let wrong = &mut self.wrong;
        match (points.is_empty(), measure.at.as_str(), at) {
            (true, "", At::All) => wrong.add("impossible", place, format!("run `{name}` has no sweep"), ""),
            (false, "", At::Named) => {
                let message = format!("run `{name}` has a sweep");
                wrong.add("missing-key", key, message, format!("write `at`, one of {all}"));
            }
            (_, "", _) => {}
            (true, point, _) => {
                let message = format!("run `{name}` has no sweep, so no point `{point}`");
                wrong.add("unknown-point", place, message, "leave `at` out");
            }
            (false, _, At::All) => {
                wrong.add("impossible", place, "it goes along the whole sweep", "leave `at` out");
            }
            (false, point, _) => {
                let (message, help) =
                    (format!("run `{name}` has no point `{point}`"), format!("they are {all}"));
                wrong.unless(points.contains(&point), "unknown-point", place, message, help);
            }
        }
        let needs_level = matches!(measure.take, Some(Take::TimeAbove | Take::TimeBelow));
        let has_level = !needs_level || self.sheet.source.has(&format!("{key}.level"));
        let message = "a time needs a `level` to be reached";
        wrong.unless(has_level, "missing-key", key, message, "write `level`");
        let is_span = measure.to_s == 0.0 || measure.to_s > measure.from_s;
        wrong.unless(is_span, "impossible", &format!("{key}.to_s"), "it ends before it begins", "");
        let is_sound = |span: f64| span.is_finite() && span >= 0.0;
        let are_sound = [measure.later_s, measure.mean_s].into_iter().all(is_sound);
        let message = "`later_s` and `mean_s` are finite and not negative";
        wrong.unless(are_sound, "out-of-range", key, message, "");
        measure.plus.iter().for_each(|plus| self.measure(plus, &format!("{key}.plus"), at));
        // without `at` it is at the point of what it divides
        let at = if measure.at.is_empty() && at == At::Named { At::Named } else { At::NamedOrAll };
        measure.over.iter().for_each(|over| self.measure(over, &format!("{key}.over"), at));
    }
}

fn points_of(run: &RunPlan) -> impl Iterator<Item = &str> {
    run.points().iter().map(|point| point.at.as_str())
}
