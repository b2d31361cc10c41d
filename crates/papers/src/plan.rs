//! The plan of a figure: scenarios with their seeds, models with their arguments, tables with their filters.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairpace_experiment::Wrong;
use fairpace_results::Run;
use fairpace_scenario::quantity::parse_time;
use fairpace_scenario::{Invalid, Problem, Random, Scenario, Set, Target};
use sha2::{Digest, Sha256};

use crate::figure::{Arguments, Figure, Measure, Point, RunPlan, Stack};
use crate::measure::Outcome;
use crate::paths;
use crate::sheet::Sheet;
use crate::source::Planned;
use crate::table::Rows;
use crate::tables::Tables;

/// The plan of a figure in one place: everything that is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The cases, in the figure's order of runs and points.
    pub cases: Vec<Case>,
}

/// A run at a point of its sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Index into [`Figure::runs`].
    pub run: usize,
    /// Index of the sweep point; 0 without a sweep.
    pub point: usize,
    /// The scenarios, model or table of the case.
    pub source: Planned,
}

impl Plan {
    /// Plans the runs of `sheet` with one stack for a target; `short`: those of its quick version. The plan
    /// is empty if the target cannot show the figure, for example because a stack sets a key that the testbed
    /// does not have.
    ///
    /// # Errors
    /// Returns the problems of its scenarios, arguments, or the paths of its measures.
    pub fn of(sheet: &Sheet, stack: &Stack, target: Target, short: bool) -> Result<Self, Invalid> {
        let changes = Changes::of(sheet, stack, target, short);
        let (mut cases, mut tables) = (Vec::new(), HashMap::new());
        for (index, run) in sheet.figure.runs.iter().enumerate() {
            let is_scenario = !run.scenario.is_empty();
            let is_cell = target == Target::Testbed && !run.table.is_empty();
            if !changes.runs(run, is_scenario || is_cell) {
                continue;
            }
            for (number, point) in points(run).filter(|(_, point)| changes.includes(*point)) {
                let key = match point {
                    None => format!("run.{}", index + 1),
                    Some(_) => format!("run.{}.sweep.point.{}", index + 1, number + 1),
                };
                let own = run.set.iter().chain(point.into_iter().flat_map(|point| &point.set));
                let builder = Builder { sheet, target, key: &key };
                let source = match (is_scenario, is_cell) {
                    (true, _) => builder.scenarios(run, own, &changes).map(Planned::Runs),
                    (_, true) => builder.cell(run, own, &changes),
                    _ => other(sheet, stack, run, own, &key, &mut tables),
                };
                if target == Target::Testbed && source.as_ref().is_err_and(|wrong| lacks(stack, wrong)) {
                    return Ok(Self { cases: Vec::new() });
                }
                let source = source?;
                cases.push(Case { run: index, point: number, source });
            }
        }
        let plan = Self { cases };
        plan.with_paths(sheet, measures(&sheet.figure))
    }

    /// Iterates over all scenarios of the plan, in order.
    pub fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.cases.iter().flat_map(|case| case.source.runs())
    }

    /// The outcomes of all cases. `run` finds the finished run of a scenario.
    ///
    /// # Errors
    /// Returns a message if a run is missing, or if a model refuses its arguments.
    pub fn outcomes(&self, run: impl Fn(&Scenario) -> Option<Run>) -> Result<Vec<Outcome>, String> {
        let outcome =
            |case: &Case| Ok(Outcome { run: case.run, point: case.point, gave: case.source.gave(&run)? });
        self.cases.iter().map(outcome).collect()
    }

    /// SHA-256 over everything that the plan runs, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut sum = Sha256::new();
        for case in &self.cases {
            sum.update(format!("{} {}\n", case.run, case.point));
            sum.update(case.source.identity(|digest| format!("{digest:02x?}")));
        }
        sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The first case of a run. Its scenario has the same names as those of the other cases.
    fn first(&self, run: &str, figure: &Figure) -> Option<&Case> {
        self.cases.iter().find(|case| figure.runs.get(case.run).is_some_and(|plan| plan.name == run))
    }

    /// Returns the plan if the paths of these measures exist in it. Each measure has its key in the file.
    pub(crate) fn with_paths(
        self,
        sheet: &Sheet,
        measures: impl Iterator<Item = (String, Measure)>,
    ) -> Result<Self, Invalid> {
        let mut wrong = Wrong::new(&sheet.source);
        for (key, measure) in measures {
            let parts = [
                (key.clone(), Some(&measure)),
                (format!("{key}.over"), measure.over.as_deref()),
                (format!("{key}.plus"), measure.plus.as_deref()),
            ];
            for (key, measure) in parts {
                let Some(measure) = measure else { continue };
                let Some(case) = self.first(&measure.run, &sheet.figure) else { continue };
                if let Err((message, help)) = paths::check(measure, &case.source) {
                    wrong.add("unknown-path", &format!("{key}.of"), message, help);
                }
            }
        }
        wrong.none().map(|()| self)
    }
}

/// Iterates over all measures of a figure, each with its key in the file.
fn measures(figure: &Figure) -> impl Iterator<Item = (String, Measure)> {
    let mut all = Vec::new();
    for (number, value) in (1..).zip(&figure.values) {
        all.push((format!("value.{number}.measure"), value.measure.clone()));
        let causes = (1..).zip(&value.causes);
        all.extend(
            causes.map(|(cause, of)| (format!("value.{number}.cause.{cause}.measure"), of.measure.clone())),
        );
    }
    for (number, shape) in (1..).zip(&figure.shapes) {
        all.push((format!("shape.{number}.measure"), shape.measure.clone()));
        all.extend(shape.than.iter().map(|than| (format!("shape.{number}.than"), than.clone())));
    }
    for (number, plot) in (1..).zip(&figure.plots) {
        let lines = (1..).zip(&plot.lines);
        all.extend(
            lines.map(|(line, of)| (format!("plot.{number}.line.{line}.measure"), of.measure.clone())),
        );
    }
    all.into_iter()
}

/// The changes that the target and the quick version make.
struct Changes<'a> {
    runs: Vec<&'a [String]>,
    at: Vec<&'a [String]>,
    /// Settings of the paper's hosts and of the stack; they apply before those of a run.
    before: Vec<&'a String>,
    /// Settings that apply after those of a run.
    sets: Vec<&'a String>,
    /// Number of seeds in place of that of each run.
    seeds: Option<u32>,
    /// Whether the target can show the figure.
    possible: bool,
    short: bool,
}

impl<'a> Changes<'a> {
    fn of(sheet: &'a Sheet, stack: &'a Stack, target: Target, short: bool) -> Self {
        let figure = &sheet.figure;
        let kernel = figure.kernel.as_ref().filter(|_| target == Target::Testbed);
        let quick = Some(&figure.short).filter(|_| short);
        let at = kernel.map(|of| &of.at).into_iter().chain(quick.map(|of| &of.at));
        let sets = kernel.map(|of| &of.set).into_iter().chain(quick.map(|of| &of.set));
        // real hosts are as they are
        let hosts = sheet.hosts.iter().filter(|_| target == Target::Simulator);
        Self {
            runs: kernel.map(|of| &of.runs[..]).into_iter().collect(),
            at: at.map(|at| &at[..]).collect(),
            before: hosts.chain(&stack.set).collect(),
            sets: sets.flatten().collect(),
            seeds: quick.map(|_| 1).or(kernel.map(|of| of.repeats)),
            possible: target == Target::Simulator || kernel.is_some(),
            short,
        }
    }

    /// Whether a run is part of the plan. Models and tables cost nothing, and measurements may be compared to
    /// them. A run that is not in the paper decides no verdict, so the quick version leaves it out, and so do
    /// real flows unless the figure names it.
    fn runs(&self, run: &RunPlan, costs: bool) -> bool {
        let named = |names: &&[String]| names.contains(&run.name);
        let meant = |names: &&[String]| names.is_empty() || named(names);
        self.possible
            && match run.beside {
                true => !self.short && self.runs.iter().all(named),
                false => !costs || self.runs.iter().all(meant),
            }
    }

    fn includes(&self, point: Option<&Point>) -> bool {
        let named = |names: &&[String], at: &String| names.is_empty() || names.contains(at);
        point.is_none_or(|point| self.at.iter().all(|names| named(names, &point.at)))
    }
}

/// Whether the only problem is that the testbed does not have a key that a stack sets.
fn lacks(stack: &Stack, wrong: &Invalid) -> bool {
    let of_base = |problem: &Problem| problem.kind == "not-on-target" && problem.file.ends_with("--set");
    // the first problem names the run that cannot be built
    !stack.set.is_empty() && wrong.problems.len() > 1 && wrong.problems[1..].iter().all(of_base)
}

fn points(run: &RunPlan) -> impl Iterator<Item = (usize, Option<&Point>)> {
    let sweep = run.points().iter().map(Some);
    let once = run.sweep.is_none().then_some(None);
    sweep.chain(once).enumerate()
}

struct Builder<'a> {
    sheet: &'a Sheet,
    target: Target,
    /// Key of the run or point in the file.
    key: &'a str,
}

impl Builder<'_> {
    fn scenarios<'s>(
        &self,
        run: &RunPlan,
        own: impl Iterator<Item = &'s String>,
        changes: &'s Changes<'_>,
    ) -> Result<Vec<Scenario>, Invalid> {
        let own: Vec<&String> = own.collect();
        let path = self.sheet.file(&run.scenario).ok_or_else(|| self.one("its scenario is gone"))?;
        let load = |of_seed: &[String]| {
            let before = changes.before.iter().copied().chain(own.iter().copied());
            let sets = self.sets(before.chain(changes.sets.iter().copied()).chain(of_seed))?;
            let scenario = fairpace_scenario::load(&path, &sets, self.target);
            scenario.map_err(|invalid| self.unbuildable(run, invalid))
        };
        let with_seed = |seed, scenario: &Scenario| {
            let mut scenario = Scenario { seed, ..scenario.clone() };
            if run.start_spread.is_empty() {
                return Ok(scenario);
            }
            let spread = parse_time(&run.start_spread).map_err(|error| self.one(&error.to_string()))?;
            let (mut random, most) = (Random::new(seed), spread.as_micros().max(1) as u64);
            let starts = scenario.flows.iter_mut().map(|flow| &mut flow.start);
            starts.for_each(|start| *start = Duration::from_micros(random.below(most)));
            scenario.sealed(self.target).map_err(|invalid| self.unbuildable(run, invalid))
        };
        let seeds = u64::from(changes.seeds.unwrap_or(run.seeds));
        if run.by_seed.is_empty() {
            let scenario = load(&[])?;
            let seeds = (0..seeds).map(|index| scenario.seed.wrapping_add(index));
            return seeds.map(|seed| with_seed(seed, &scenario)).collect();
        }
        let most = changes.seeds.map_or(run.by_seed.len(), |seeds| seeds as usize);
        let each = (0u64..).zip(&run.by_seed).take(most);
        let each = each.map(|(index, of_seed)| {
            let scenario = load(of_seed)?;
            let has_own = of_seed.iter().any(|set| set.starts_with("seed="));
            let seed = if has_own { scenario.seed } else { scenario.seed.wrapping_add(index) };
            with_seed(seed, &scenario)
        });
        each.collect()
    }

    /// The run that makes the row of a table that `own` selects, from the experiment that writes the table.
    fn cell<'s>(
        &self,
        run: &RunPlan,
        own: impl Iterator<Item = &'s String>,
        changes: &Changes<'_>,
    ) -> Result<Planned, Invalid> {
        let path = self.sheet.file(&run.table).ok_or_else(|| self.one("its table is gone"))?;
        let places: Vec<String> = own.cloned().collect();
        let experiment = Tables::of_csv_file(&path, &places)?;
        let cells = experiment.sheet.figure.runs.iter();
        let cells: Vec<_> = cells.flat_map(|run| points(run).map(move |point| (run, point))).collect();
        let [(run, (_, Some(point)))] = cells[..] else {
            let message = format!("run `{}` is of a table, and its columns do not name one run", run.name);
            let help = "name a value of each axis of the table, or leave the run out of `kernel.runs`";
            return Err(self.sheet.source.invalid("scenario", self.key, message, help));
        };
        let builder = Builder { sheet: &experiment.sheet, ..*self };
        let scenarios = builder.scenarios(run, run.set.iter().chain(&point.set), changes)?;
        Ok(Planned::Cell { columns: experiment.tables[0].columns.clone(), runs: scenarios })
    }

    fn sets<'s>(&self, sets: impl Iterator<Item = &'s String>) -> Result<Vec<Set>, Invalid> {
        let sets = sets.map(|set| set.parse::<Set>()).collect::<Result<_, _>>();
        sets.map_err(|error| self.one(&error.to_string()))
    }

    fn unbuildable(&self, run: &RunPlan, mut invalid: Invalid) -> Invalid {
        invalid.problems.insert(0, self.problem(&format!("run `{}` cannot be built", run.name)));
        invalid
    }

    fn problem(&self, message: &str) -> Problem {
        let help = "what is wrong with its scenario follows; `--set` is what the figure or the stack sets";
        self.sheet.source.problem("scenario", self.key, message, help)
    }

    fn one(&self, message: &str) -> Invalid {
        Invalid { problems: vec![self.problem(message)] }
    }
}

/// The source that is a model or a table; `tables` has the tables that were read before.
fn other<'s>(
    sheet: &Sheet,
    stack: &Stack,
    run: &RunPlan,
    own: impl Iterator<Item = &'s String>,
    key: &str,
    tables: &mut HashMap<PathBuf, Arc<Rows>>,
) -> Result<Planned, Invalid> {
    let wrong = |message: String, help: &str| sheet.source.invalid("wrong-argument", key, message, help);
    let mut pairs = BTreeMap::new();
    for set in own {
        let (name, value) = set.split_once('=').unwrap_or((set, ""));
        pairs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    if run.model.is_empty() {
        let name = run.table_on(stack);
        let help = "make it, or put the stack with the reason under `no_stack`";
        let path = sheet.file(&name).ok_or_else(|| wrong(format!("there is no table `{name}`"), help))?;
        let table = match tables.entry(path) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => {
                let rows = Rows::read(place.key()).map_err(|message| wrong(message, "repair the file"))?;
                place.insert(Arc::new(rows))
            }
        };
        return Ok(Planned::Table { table: Arc::clone(table), filters: pairs.into_iter().collect() });
    }
    let argument = |(name, value): (String, String)| match value.parse::<f64>() {
        Ok(number) => Ok((name, number)),
        Err(_) => Err(wrong(
            format!("argument `{name}` of the model `{}` is `{value}`", run.model),
            "a model's arguments are numbers",
        )),
    };
    let arguments: Arguments = pairs.into_iter().map(argument).collect::<Result<_, _>>()?;
    crate::models::checked(&run.model, &arguments).map_err(|error| wrong(error.to_string(), ""))?;
    Ok(Planned::Model((run.model.clone(), arguments)))
}
