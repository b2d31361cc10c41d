//! `fairpace reproduce`: the papers' figures, run and held against what the papers report.

mod execute;
mod show;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fairpace_reproduce::load::{self, Folder, Sheet};
use fairpace_reproduce::plan::Plan;
use fairpace_reproduce::record::{On, PaperRecords, Record};
use fairpace_reproduce::{gallery, index, pages as questions, results};

use crate::args::{Global, Place, ReproduceArgs};
use crate::failure::{Exit, Failure};
use crate::monitor::{Signals, expected_packets};
use crate::output::Output;
use crate::target::{Page, Target};
use execute::{Finished, Work};

/// In the folder of the papers.
const GALLERY: &str = "gallery.html";

const PAGE: Page = Page { command: "reproduce", title: "Reproduction" };

pub(crate) fn run(
    args: &ReproduceArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let folders = load::papers(&args.dir)?;
    let chosen = chosen(&folders, &args.figures)?;
    if args.list {
        let records = current(&args.dir, &folders)?;
        return show::list(&records, &chosen, global, out);
    }
    if args.page {
        return pages(args, Target::open(&page(&args.dir), PAGE)?, &folders);
    }
    let mut works = chosen
        .into_iter()
        .map(|sheet| Ok(Work { sheet, plan: Plan::of(sheet, on(args.on), args.short)? }))
        .collect::<Result<Vec<Work<'_>>, Failure>>()?;
    // what is soon finished first: an interruption then leaves the most figures on record
    works.sort_by_cached_key(|work| work.plan.scenarios().map(|of| expected_packets(of) as u64).sum::<u64>());
    // told before a long run, not after it
    let target = if args.short { None } else { Some(Target::open(&page(&args.dir), PAGE)?) };
    let finished = execute::all(&works, args, global, signals);
    // what is finished is shown, also when the rest is not
    if let Some(target) = target {
        pages(args, target, &folders)?;
    }
    let finished = finished.map_err(|failure| match failure.is_interruption() {
        true => failure.helped("what was finished is kept: the same command goes on from there"),
        false => failure,
    })?;
    if args.short {
        record_short(args, &finished)?;
    }
    show::finished(&finished, on(args.on), global, out)
}

/// Writes REPRODUCTION.md, the gallery, and a page for each question.
fn pages(args: &ReproduceArgs, target: Target, folders: &[Folder]) -> Result<(), Failure> {
    let records = current(&args.dir, folders)?;
    target.write(&index::tables(&records))?;
    let path = args.dir.join(GALLERY);
    results::write_page(&path, &gallery::page(&records)).map_err(|error| unusable(&path, &error))?;
    let root = args.dir.join(load::QUESTIONS);
    questions::pages(&records).iter().try_for_each(|page| question(&root, page))
}

/// Writes a question's page with its pictures, and removes pictures that it has no more.
fn question(root: &Path, page: &questions::Page) -> Result<(), Failure> {
    let dir = root.join(&page.id);
    for (name, text) in &page.files {
        let path = dir.join(name);
        results::write_page(&path, text).map_err(|error| unusable(&path, &error))?;
    }
    let failed = |error| unusable(&dir, &error);
    for entry in std::fs::read_dir(&dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let is_picture = name.to_string_lossy().starts_with(questions::PICTURE);
        if is_picture && !page.files.iter().any(|(file, _)| name == **file) {
            std::fs::remove_file(dir.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// The quick versions' verdicts. Those of figures that were not asked for stay.
fn record_short(args: &ReproduceArgs, finished: &[Finished<'_>]) -> Result<(), Failure> {
    let failed = |error| unusable(&results::short_path(&args.dir), &error);
    let mut short = match args.figures.is_empty() {
        true => results::Short::new(),
        false => results::load_short(&args.dir).map_err(failed)?,
    };
    short.extend(finished.iter().map(|done| (done.sheet.name(), done.measured.verdict)));
    results::store_short(&args.dir, &short).map_err(failed)
}

/// All that is on record of the figures as they are now. What was measured of other scenarios is left out.
fn current(root: &Path, folders: &[Folder]) -> Result<Vec<PaperRecords>, Failure> {
    let mut papers = Vec::new();
    for folder in folders {
        let mut records = Vec::new();
        for sheet in &folder.sheets {
            let path = results::path(root, sheet);
            let mut record = Record::load(root, sheet).map_err(|error| unusable(&path, &error))?;
            for place in [Place::Sim, Place::Kernel] {
                if record.on(on(place)).is_some() {
                    let hash = Plan::of(sheet, on(place), false)?.hash();
                    record.measured.retain(|of| of.on != on(place) || of.scenarios_hash == hash);
                }
            }
            records.push(record);
        }
        papers.push(PaperRecords { id: folder.id.clone(), paper: folder.paper.clone(), records });
    }
    Ok(papers)
}

/// REPRODUCTION.md is beside the folder.
fn page(root: &Path) -> PathBuf {
    root.parent().unwrap_or(Path::new("")).join("REPRODUCTION.md")
}

const fn on(place: Place) -> On {
    match place {
        Place::Sim => On::Sim,
        Place::Kernel => On::Kernel,
    }
}

/// The figures that were asked for, in their order; without any, all.
fn chosen<'a>(folders: &'a [Folder], asked: &[String]) -> Result<Vec<&'a Sheet>, Failure> {
    let all = || folders.iter().flat_map(|folder| &folder.sheets);
    let means =
        |asked: &str, sheet: &Sheet| asked.trim_end_matches('/') == sheet.paper || asked == sheet.name();
    for asked in asked {
        if !all().any(|sheet| means(asked, sheet)) {
            let names: HashSet<String> =
                all().flat_map(|sheet| [sheet.paper.clone(), sheet.name()]).collect();
            let meant = fairpace_scenario::keys::nearest(asked, names.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}`fairpace reproduce --list` lists all");
            return Err(Failure::told(Exit::Usage, format!("there is no paper or figure `{asked}`"), help));
        }
    }
    let wanted = |sheet: &&Sheet| asked.is_empty() || asked.iter().any(|asked| means(asked, sheet));
    Ok(all().filter(wanted).collect())
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::told(
        Exit::Output,
        format!("{} cannot be used: {error}", path.display()),
        "remove it if it is broken; or name a folder that you may write to with --dir",
    )
}
