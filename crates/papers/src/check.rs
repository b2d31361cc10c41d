//! What can be wrong with a figure before any scenario is read.

use std::collections::HashSet;

use fairpace_scenario::{Problem, Set};

use crate::figure::{
    Along, Claim, Figure, Is, Kind, Line, Measure, Paper, Plot, RunPlan, Shape, Take, Value,
};
use crate::sheet::{Sheet, Text};

/// More seeds than anybody waits for.
const MOST_SEEDS: u32 = 1000;
/// Runs on the kernel take as long as they last.
const MOST_REPEATS: u32 = 10;
/// A run at 100 Mbit/s takes more than half of a core, one at 128 kbit/s hardly anything.
const MOST_AT_A_TIME: u32 = 40;

/// Everything that is wrong, in the order of the file's kinds of parts.
pub(crate) fn problems(sheet: &Sheet, paper: &Paper) -> Vec<Problem> {
    let mut check = Check { sheet, problems: Vec::new() };
    check.top();
    check.no_base(paper);
    sheet.figure.runs.iter().enumerate().for_each(|(index, run)| check.run(index, run));
    sheet.figure.values.iter().enumerate().for_each(|(index, value)| check.value(index, value));
    sheet.figure.shapes.iter().enumerate().for_each(|(index, shape)| check.shape(index, shape));
    sheet.figure.claims.iter().enumerate().for_each(|(index, claim)| check.claim(index, claim));
    sheet.figure.plots.iter().enumerate().for_each(|(index, plot)| check.plot(index, plot));
    check.problems
}

/// What is wrong with the hosts and bases that a paper declares.
pub(crate) fn bases(paper: &Paper, text: &Text) -> Vec<Problem> {
    let mut problems = sets("hosts", &paper.hosts.set, text);
    if !paper.hosts.is_empty() && paper.hosts.why.trim().is_empty() {
        let help = "say how it is known".into();
        problems.push(text.problem("paper", "missing-key", "hosts.why", "`why` is empty".into(), help));
    }
    for (index, base) in paper.bases.iter().enumerate() {
        let key = format!("base.{}", index + 1);
        let mut wrong = |kind, key: &str, message: String, help: &str| {
            problems.push(text.problem("paper", kind, key, message, help.into()));
        };
        for (name, words) in [("name", &base.name), ("title", &base.title), ("why", &base.why)] {
            if words.trim().is_empty() {
                wrong("missing-key", &format!("{key}.{name}"), format!("`{name}` is empty"), "write it");
            }
        }
        if paper.bases[..index].iter().any(|other| other.name == base.name) {
            let message = format!("two bases are called `{}`", base.name);
            wrong("duplicate-name", &format!("{key}.name"), message, "give each base its own name");
        }
        if (index == 0) != base.set.is_empty() {
            let help = "the first base is the scenarios as they are; each other one sets something";
            let message = format!("`{}` is base {} and sets {} keys", base.name, index + 1, base.set.len());
            wrong("impossible", &key, message, help);
        }
        problems.extend(sets(&key, &base.set, text));
    }
    problems
}

/// What is no `KEY=VALUE` of `key.set`.
fn sets(key: &str, sets: &[String], text: &Text) -> Vec<Problem> {
    let wrong = |(number, set): (usize, &String)| {
        let error = set.parse::<Set>().err()?;
        let key = format!("{key}.set.{number}");
        Some(text.problem("paper", "syntax", &key, error.to_string(), String::new()))
    };
    (1..).zip(sets).filter_map(wrong).collect()
}

/// Whether a measure of a sweeping run must say at which point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Named,
    NamedOrAll,
    All,
}

struct Check<'a> {
    sheet: &'a Sheet,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn add(&mut self, kind: &'static str, key: &str, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(self.sheet.problem(kind, key, message, help));
    }

    fn figure(&self) -> &Figure {
        &self.sheet.figure
    }

    fn top(&mut self) {
        let figure = self.sheet.figure.clone();
        let words = [("title", &figure.title), ("source", &figure.source), ("setup", &figure.setup)];
        for (key, text) in words.into_iter().chain([("expect", &figure.expect)]) {
            if text.trim().is_empty() {
                self.add("missing-key", key, format!("`{key}` is empty"), "say it in a sentence");
            }
        }
        match (&figure.kernel, figure.no_kernel.trim().is_empty()) {
            (None, true) => {
                let help = "write a [kernel] section, or `no_kernel` with the reason";
                self.add(
                    "missing-key",
                    "",
                    "it does not say how real flows show it, nor why they cannot",
                    help,
                );
            }
            (Some(_), false) => {
                let message = "it says both how real flows show it and why they cannot";
                self.add("impossible", "no_kernel", message, "write one of `kernel` and `no_kernel`");
            }
            _ => {}
        }
        if let Some(kernel) = &figure.kernel {
            if !(1..=MOST_REPEATS).contains(&kernel.repeats) {
                let help = format!("1 to {MOST_REPEATS}");
                self.add("out-of-range", "kernel.repeats", "these are not runs of anybody's patience", help);
            }
            if !(1..=MOST_AT_A_TIME).contains(&kernel.at_a_time) {
                let help = format!("1 to {MOST_AT_A_TIME}");
                self.add(
                    "out-of-range",
                    "kernel.at_a_time",
                    "none would run, or all would be disturbed",
                    help,
                );
            }
            for (number, name) in (1..).zip(&kernel.runs) {
                self.known_run(name, &format!("kernel.runs.{number}"));
            }
            self.known_points(&kernel.at, "kernel.at");
            self.sets(&kernel.set, "kernel.set");
        }
        self.known_points(&figure.short.at, "short.at");
        self.sets(&figure.short.set, "short.set");
    }

    fn no_base(&mut self, paper: &Paper) {
        let others: Vec<&str> = paper.bases.iter().skip(1).map(|base| base.name.as_str()).collect();
        for (name, why) in self.figure().no_base.clone() {
            let key = format!("no_base.{name}");
            if !others.contains(&name.as_str()) {
                let help = format!("after the first, they are {}", others.join(", "));
                self.add("unknown-base", &key, format!("the paper has no base `{name}` to leave out"), help);
            }
            if why.trim().is_empty() {
                self.add("missing-key", &key, "it does not say why", "give the reason");
            }
        }
    }

    fn known_run(&mut self, name: &str, key: &str) {
        let names: Vec<String> = self.figure().runs.iter().map(|run| run.name.clone()).collect();
        if !names.iter().any(|known| known == name) {
            let help = format!("its runs are {}", names.join(", "));
            self.add("unknown-run", key, format!("there is no run `{name}`"), help);
        }
    }

    fn known_points(&mut self, points: &[String], key: &str) {
        let known: HashSet<String> = self.figure().runs.iter().flat_map(points_of).collect();
        for (number, at) in (1..).zip(points) {
            if !known.contains(at) {
                let message = format!("no run's sweep has a point `{at}`");
                self.add("unknown-point", &format!("{key}.{number}"), message, "name points as sweeps do");
            }
        }
    }

    fn sets(&mut self, sets: &[String], key: &str) {
        for (number, set) in (1..).zip(sets) {
            if let Err(error) = set.parse::<Set>() {
                self.add("syntax", &format!("{key}.{number}"), error.to_string(), "");
            }
        }
    }

    fn run(&mut self, index: usize, run: &RunPlan) {
        let key = format!("run.{}", index + 1);
        if self.figure().runs[..index].iter().any(|other| other.name == run.name) {
            let message = format!("two runs are called `{}`", run.name);
            self.add("duplicate-name", &format!("{key}.name"), message, "give each run its own name");
        }
        let sources = [&run.scenario, &run.model, &run.table];
        if sources.iter().filter(|source| !source.is_empty()).count() != 1 {
            let help = "write one of `scenario`, `model` and `table`";
            self.add("missing-key", &key, format!("run `{}` must have one source", run.name), help);
        }
        for (name, file) in [("scenario", &run.scenario), ("table", &run.table)] {
            if !file.is_empty() && self.sheet.file(file).is_none() {
                let help = "write its path from this folder or from the paper's folder";
                self.add("file", &format!("{key}.{name}"), format!("there is no file `{file}`"), help);
            }
        }
        if !(1..=MOST_SEEDS).contains(&run.seeds) {
            let help = format!("1 to {MOST_SEEDS}");
            self.add("out-of-range", &format!("{key}.seeds"), format!("{} seeds", run.seeds), help);
        }
        self.sets(&run.set, &format!("{key}.set"));
        if run.beside && self.figure().runs[index + 1..].iter().any(|later| !later.beside) {
            let message = format!("run `{}` is not in the paper, but a run of the paper follows", run.name);
            self.add("impossible", &format!("{key}.beside"), message, "write such runs after all others");
        }
        let Some(sweep) = &run.sweep else { return };
        if sweep.points.is_empty() {
            self.add("missing-key", &format!("{key}.sweep"), "the sweep has no point", "add a point");
        }
        for (number, point) in (1..).zip(&sweep.points) {
            let key = format!("{key}.sweep.point.{number}");
            if sweep.points[..number - 1].iter().any(|other| other.at == point.at) || point.at.is_empty() {
                let message = format!("the point's name `{}` is empty or taken", point.at);
                self.add("duplicate-name", &format!("{key}.at"), message, "give each its own name");
            }
            self.sets(&point.set, &format!("{key}.set"));
        }
    }

    fn value(&mut self, index: usize, value: &Value) {
        let key = format!("value.{}", index + 1);
        self.measure(&value.measure, &format!("{key}.measure"), At::Named);
        self.of_the_paper(&value.measure, &format!("{key}.measure"));
        if value.quote.trim().is_empty() {
            let help = "quote the sentence of the paper that reports the value";
            self.add("missing-key", &format!("{key}.quote"), "the value has no source", help);
        }
        if value.is == Is::Apart {
            let help = "write one of about, below and above";
            self.add("impossible", &format!("{key}.is"), "only the sides of a shape can be apart", help);
        }
        let named = ["tolerance", "tolerance_ratio"].map(|name| self.sheet.says(&format!("{key}.{name}")));
        if value.is != Is::About && named != [false, false] {
            self.no_slack(&key);
        }
        if value.is == Is::About && named == [false, false] {
            let help = "write `tolerance` in the value's unit, or `tolerance_ratio`";
            self.add("missing-key", &key, format!("`{}` has no tolerance", value.what), help);
        }
        let has_room = value.tolerance != 0.0 || value.tolerance_ratio != 0.0;
        self.reason(&key, &value.what, has_room, &value.tolerance_why);
        self.causes(&key, value);
        let numbers = [value.tolerance, value.tolerance_ratio];
        if !value.published.is_finite() || numbers.iter().any(|number| !number.is_finite() || *number < 0.0) {
            let message = "the published value and its tolerances must be finite, tolerances not negative";
            self.add("out-of-range", &key, message, "");
        }
    }

    fn causes(&mut self, key: &str, value: &Value) {
        for (number, cause) in (1..).zip(&value.causes) {
            let key = format!("{key}.cause.{number}");
            self.measure(&cause.measure, &format!("{key}.measure"), At::Named);
            if cause.what.trim().is_empty() {
                self.add(
                    "missing-key",
                    &format!("{key}.what"),
                    "`what` is empty",
                    "say what the run changes",
                );
            }
            if cause.measure == value.measure {
                let help = "measure a run that changes the suspected cause";
                self.add("impossible", &format!("{key}.measure"), "it is the measure of the value", help);
            }
        }
    }

    fn shape(&mut self, index: usize, shape: &Shape) {
        let key = format!("shape.{}", index + 1);
        let measure = format!("{key}.measure");
        self.of_the_paper(&shape.measure, &measure);
        if let Some(than) = &shape.than {
            self.of_the_paper(than, &format!("{key}.than"));
        }
        if shape.quote.trim().is_empty() != shape.ours {
            let message = format!("`{}` must have a source, or be ours", shape.what);
            let help = "quote the sentence of the paper that states it, or write `ours = true`";
            self.add("missing-key", &key, message, help);
        }
        let is_direction = matches!(shape.along, Some(Along::Rises | Along::Falls));
        let is_bound = shape.along.is_none() && matches!(shape.is, Is::Above | Is::Below);
        if (is_direction || is_bound) && shape.tolerance_ratio != 0.0 {
            self.no_slack(&key);
        }
        self.reason(&key, &shape.what, shape.tolerance_ratio != 0.0, &shape.tolerance_why);
        let is_sound = shape.tolerance_ratio >= 0.0 && shape.tolerance_ratio.is_finite();
        if !is_sound || !shape.factor.is_finite() {
            let message = "factor and tolerance must be finite, the tolerance not negative";
            self.add("out-of-range", &key, message, "");
        }
        if shape.along.is_none() {
            self.measure(&shape.measure, &measure, At::Named);
            if let Some(than) = &shape.than {
                self.measure(than, &format!("{key}.than"), At::Named);
            }
            return;
        }
        self.measure(&shape.measure, &measure, At::All);
        if shape.than.is_some() {
            let help = "leave `than` out, or `along`";
            self.add(
                "impossible",
                &format!("{key}.than"),
                "what goes along a sweep is compared to nothing",
                help,
            );
        }
    }

    /// A tolerance has a reason, and a reason a tolerance.
    fn reason(&mut self, key: &str, what: &str, has_room: bool, why: &str) {
        if has_room && why.trim().is_empty() {
            let help = "say in `tolerance_why` what makes the published number so uncertain";
            self.add("missing-key", key, format!("`{what}` has a tolerance without a reason"), help);
        }
        if !has_room && !why.trim().is_empty() {
            let message = format!("`{what}` has a reason for a tolerance, and no tolerance");
            self.add("impossible", key, message, "leave `tolerance_why` out");
        }
    }

    fn no_slack(&mut self, key: &str) {
        let message = "a bound or a direction has no tolerance: it holds or does not";
        self.add("impossible", key, message, "leave the tolerance out");
    }

    fn claim(&mut self, index: usize, claim: &Claim) {
        let words = [("quote", &claim.quote), ("why", &claim.why)];
        for (name, _) in words.into_iter().filter(|(_, text)| text.trim().is_empty()) {
            let help = "quote the paper, and say why no check tests it";
            self.add(
                "missing-key",
                &format!("claim.{}.{name}", index + 1),
                format!("`{name}` is empty"),
                help,
            );
        }
    }

    fn plot(&mut self, index: usize, plot: &Plot) {
        let key = format!("plot.{}", index + 1);
        if plot.lines.is_empty() {
            self.add("missing-key", &key, "the picture has no line", "add a [[plot.line]]");
        }
        let at = match plot.kind {
            Kind::Sweep | Kind::Bars | Kind::Cdf => At::NamedOrAll,
            Kind::Time | Kind::Phase => At::Named,
        };
        for (number, line) in (1..).zip(&plot.lines) {
            let key = format!("{key}.line.{number}");
            self.measure(&line.measure, &format!("{key}.measure"), at);
            if plot.kind != Kind::Time && line.measure.is_over_time() {
                self.only_over_time(&format!("{key}.measure"));
            }
            let of_paper = |later: &Line| !self.figure().is_beside(&later.measure);
            if self.figure().is_beside(&line.measure) && plot.lines[number..].iter().any(of_paper) {
                let message =
                    format!("`{}` is not in the paper, but a line of the paper follows", line.label);
                self.add("impossible", &key, message, "write such lines after all others");
            }
            if (plot.kind == Kind::Phase) == line.against.is_empty() {
                let message =
                    "a line of a phase picture, and no other, has `against`: what goes to the right";
                self.add("impossible", &key, message, "");
            }
        }
    }

    /// What is judged is in the paper.
    fn of_the_paper(&mut self, measure: &Measure, key: &str) {
        if self.figure().is_run_beside(&measure.run) {
            let message = format!("run `{}` is not in the paper, so it decides no verdict", measure.run);
            let help = "show it as a line of a picture, or remove `beside` from the run";
            self.add("impossible", &format!("{key}.run"), message, help);
        }
        if let Some(over) = &measure.over {
            self.of_the_paper(over, &format!("{key}.over"));
        }
        if measure.is_over_time() {
            self.only_over_time(key);
        }
    }

    fn only_over_time(&mut self, key: &str) {
        let message = "only a picture over time has `later_s`, `plus` and `mean_s`";
        self.add("impossible", key, message, "leave them out");
    }

    fn measure(&mut self, measure: &Measure, key: &str, at: At) {
        let Some(run) = self.figure().runs.iter().find(|run| run.name == measure.run).cloned() else {
            return self.known_run(&measure.run, &format!("{key}.run"));
        };
        let points: Vec<String> = points_of(&run).collect();
        let place = format!("{key}.at");
        match (points.is_empty(), measure.at.as_str()) {
            (true, "") if at == At::All => {
                self.add("impossible", &place, format!("run `{}` has no sweep", run.name), "");
            }
            (true, "") => {}
            (true, point) => {
                let message = format!("run `{}` has no sweep, so no point `{point}`", run.name);
                self.add("unknown-point", &place, message, "leave `at` out");
            }
            (false, "") if at == At::Named => {
                let help = format!("write `at`, one of {}", points.join(", "));
                self.add("missing-key", key, format!("run `{}` has a sweep", run.name), help);
            }
            (false, "") => {}
            (false, _) if at == At::All => {
                self.add("impossible", &place, "it goes along the whole sweep", "leave `at` out");
            }
            (false, point) if !points.iter().any(|known| known == point) => {
                let help = format!("they are {}", points.join(", "));
                self.add("unknown-point", &place, format!("run `{}` has no point `{point}`", run.name), help);
            }
            (false, _) => {}
        }
        let needs_level = matches!(measure.take, Some(Take::TimeAbove | Take::TimeBelow));
        if needs_level && !self.sheet.says(&format!("{key}.level")) {
            self.add("missing-key", key, "a time needs a `level` to be reached", "write `level`");
        }
        if measure.to_s != 0.0 && measure.to_s <= measure.from_s {
            self.add("impossible", &format!("{key}.to_s"), "it ends before it begins", "");
        }
        let spans = [measure.later_s, measure.mean_s];
        if spans.iter().any(|span| !span.is_finite() || *span < 0.0) {
            self.add("out-of-range", key, "`later_s` and `mean_s` are finite and not negative", "");
        }
        if let Some(plus) = &measure.plus {
            self.measure(plus, &format!("{key}.plus"), at);
        }
        if let Some(over) = &measure.over {
            // without `at` it is at the point of what it divides
            let at = if measure.at.is_empty() && at == At::Named { At::Named } else { At::NamedOrAll };
            self.measure(over, &format!("{key}.over"), at);
        }
    }
}

fn points_of(run: &RunPlan) -> impl Iterator<Item = String> + '_ {
    run.sweep.iter().flat_map(|sweep| sweep.points.iter().map(|point| point.at.clone()))
}
