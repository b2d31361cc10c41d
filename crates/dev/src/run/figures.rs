//! Figures of papers: runs figures, records their results, and writes their pages.

mod pages;
mod real;
mod show;

use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::expected_packets;
use fairpace_papers::figure::Stack;
use fairpace_papers::judge::Rule;
use fairpace_papers::kept;
use fairpace_papers::load::{self, Folder};
use fairpace_papers::plan::Plan;
use fairpace_papers::record::{Measured, Record};
use fairpace_papers::results;
use fairpace_papers::sheet::Sheet;
use fairpace_scenario::{Scenario, Target};

use super::{Call, Experiment, Store, store};
use crate::args::RunArgs;
pub(crate) use pages::pages;

/// The folder of all papers, and the figures that were chosen.
pub(super) struct Figures {
    root: PathBuf,
    folders: Vec<Folder>,
    /// Name of the chosen paper or figure: "bbq-ma2017" or "bbq-ma2017/fig05"; empty for all.
    chosen: String,
}

/// A figure to run with one stack.
struct Work<'a> {
    sheet: &'a Sheet,
    stack: &'a Stack,
    plan: Plan,
}

/// A figure that was run, with its results.
struct Finished<'a> {
    sheet: &'a Sheet,
    stack: &'a Stack,
    measured: Measured,
}

impl Figures {
    /// Reads the figures of a folder, or of a file in it: the file of a figure, of a paper, or of all papers.
    /// `None` if it is no such folder.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let is_named = path.ends_with("figure.toml") || path.ends_with("paper.toml");
        let folder = if is_named { path.parent().unwrap_or(path) } else { path };
        let has_paper = |folder: &Path| folder.join("paper.toml").is_file();
        let below = folder.read_dir().into_iter().flatten().flatten();
        let depth = match folder.join("figure.toml").is_file() {
            true => 2,
            false if has_paper(folder) => 1,
            false if below.map(|entry| entry.path()).any(|path| has_paper(&path)) => 0,
            false => return Ok(None),
        };
        let failed = |error| Failure::file("cannot read", folder, &error, "name a folder of figures");
        let folder = std::path::absolute(folder).map_err(failed)?;
        let root = folder.ancestors().nth(depth).unwrap_or(&folder);
        let chosen = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy().into_owned();
        // as the user names it, where that is shorter
        let here = std::env::current_dir().map_err(failed)?;
        let root = root.strip_prefix(&here).unwrap_or(root).to_owned();
        Ok(Some(Self { folders: load::papers(&root)?, root, chosen }))
    }

    fn sheets(&self) -> impl Iterator<Item = &Sheet> {
        let all = self.folders.iter().flat_map(|folder| &folder.sheets);
        all.filter(|sheet| [sheet.name().as_str(), &sheet.paper, ""].contains(&self.chosen.as_str()))
    }

    /// Reads all runs of a figure, and records the results.
    fn finish<'a>(
        &self,
        work: Work<'a>,
        kernel: Option<&KernelHost>,
        args: &RunArgs,
    ) -> Result<Finished<'a>, Failure> {
        let Work { sheet, stack, plan } = work;
        let on = if kernel.is_some() { Target::Testbed } else { Target::Simulator };
        let kept = |scenario: &Scenario| store_on(kernel, &self.root, scenario).get(scenario, on);
        let outcomes = plan
            .outcomes(kept)
            .map_err(|message| Failure::new(Exit::Internal, format!("{}: {message}", sheet.name()), ""))?;
        let rule = if args.short { Rule::Mean } else { Rule::Interval };
        let measured = results::measured(sheet, stack, on, rule, &outcomes, plan.hash(), COMMIT);
        if args.write && !args.short {
            let mut record = Record::load(&self.root, sheet)?;
            record.add(measured.clone());
            record.store(&self.root, sheet)?;
        }
        Ok(Finished { sheet, stack, measured })
    }

    /// Checks that each recorded number is of the present scenarios, measures and bounds, and that each
    /// figure has a number.
    fn check(&self) -> Result<(), Failure> {
        for sheet in self.sheets() {
            let stale = kept::stale(&self.root, sheet)?;
            let record = Record::load(&self.root, sheet)?;
            let missing = sheet.stacks.iter().find(|stack| record.at(stack, Target::Simulator).is_none());
            let message = match (stale, missing) {
                (0, None) => continue,
                (0, Some(stack)) => format!("{} is not measured", record.name_on(stack)),
                (n, _) => format!("{} has {n} numbers on record of other scenarios or bounds", sheet.name()),
            };
            let help = format!("fairpace-dev run {}/{} --write", self.root.display(), sheet.name());
            return Err(Failure::new(Exit::Internal, message, help));
        }
        Ok(())
    }

    /// Records the verdicts of the short versions. Verdicts of figures that were not run stay.
    fn record_short(&self, finished: &[Finished<'_>]) -> Result<(), Failure> {
        let path = results::short_path(&self.root);
        let failed =
            |error| Failure::file("cannot use", &path, &error, "remove it if it is broken, or name a copy");
        let mut short = match self.chosen.is_empty() {
            true => results::Short::new(),
            false => results::load_short(&self.root).map_err(failed)?,
        };
        short.extend(finished.iter().map(|done| {
            let name = done.sheet.name_on(done.stack);
            (name, results::Quick::of(&done.sheet.figure, &done.measured))
        }));
        results::store_short(&self.root, &short).map_err(failed)
    }
}

/// Prepares the kernel of a place for these figures; `None`: they are simulated. A record has one place for
/// real flows, with the kernel that ran them last.
fn open_kernel(works: &[Work<'_>], place: Place, call: Call<'_>) -> Result<Option<KernelHost>, Failure> {
    if place == Place::Simulator {
        return Ok(None);
    }
    let scenarios: Vec<_> = works.iter().flat_map(|work| work.plan.scenarios()).cloned().collect();
    let series = call.args.kernel.as_deref();
    KernelHost::open(place, series, &scenarios, call.signals, call.global.quiet).map(Some)
}

/// The store for a run of this scenario: in virtual time a result depends on the kernel, too.
fn store_on(kernel: Option<&KernelHost>, root: &Path, scenario: &Scenario) -> Store {
    let store = store(root, scenario);
    match kernel {
        Some(KernelHost::Virtual(kernel)) => store.with(kernel.description()),
        Some(KernelHost::Running) | None => store,
    }
}

impl Experiment for Figures {
    fn records_short(&self) -> bool {
        true
    }

    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure> {
        let Call { args, global, .. } = call;
        let place = args.on.unwrap_or(Place::Simulator);
        let on = place.target();
        if args.check {
            return self.check();
        }
        let on_bases = self.sheets().flat_map(|sheet| sheet.stacks.iter().map(move |stack| (sheet, stack)));
        let works = on_bases
            .map(|(sheet, stack)| Ok(Work { sheet, stack, plan: Plan::of(sheet, stack, on, args.short)? }));
        let mut works = works.collect::<Result<Vec<Work<'_>>, Failure>>()?;
        // a stack that the testbed's hosts cannot have is not measured there
        works.retain(|work| work.stack.set.is_empty() || !work.plan.cases.is_empty());
        // cheap figures first: an interruption then leaves the most figures on record
        works.sort_by_cached_key(|work| {
            work.plan.scenarios().map(|of| expected_packets(of) as u64).sum::<u64>()
        });
        let marked = if args.write { Some(pages::open(&self.root)?) } else { None };
        let kernel = open_kernel(&works, place, call)?;
        let kernel = kernel.as_ref();
        let done = match kernel {
            None => call.simulate(works.iter().flat_map(|work| work.plan.scenarios()), &self.root, |run| run),
            Some(kernel) => real::measure(&works, kernel, &self.root, call),
        };
        // finished figures are shown even if others failed
        let mut finished = Vec::new();
        for work in works {
            if work.plan.scenarios().all(|scenario| store_on(kernel, &self.root, scenario).has(scenario, on))
            {
                let done = self.finish(work, kernel, args)?;
                if !global.quiet {
                    note(&show::line(&done));
                }
                finished.push(done);
            }
        }
        match marked {
            Some(_) if args.short => self.record_short(&finished)?,
            Some(marked) => pages::write(&self.root, &self.folders, marked, &finished)?,
            None => {}
        }
        done?;
        show::finished(&finished, on, global, out)
    }
}
