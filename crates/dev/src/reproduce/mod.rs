//! `fairpace-dev reproduce`: runs the experiments of the papers and compares the results with theirs.

mod execute;
mod show;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::progress::expected_packets;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::load::{self, Folder};
use fairpace_papers::plan::Plan;
use fairpace_papers::record::{PaperRecords, Record};
use fairpace_papers::sheet::Sheet;
use fairpace_papers::{gallery, index, pages as questions, results};

use crate::args::ReproduceArgs;
use crate::marked_page::{MarkedPage, Page};
use crate::written;
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
        reword(&args.dir, &folders)?;
        let pages = pages(&args.dir)?;
        write(&args.dir, &pages)?;
        let gallery = args.dir.join(GALLERY);
        let questions = pages.questions.iter().filter(|(_, text)| text.is_some());
        let written: Vec<&Path> = [pages.index.path(), &gallery]
            .into_iter()
            .chain(questions.map(|(path, _)| path.as_path()))
            .collect();
        return written::report(&written, global, out);
    }
    let on_bases = chosen.into_iter().flat_map(|sheet| sheet.bases.iter().map(move |base| (sheet, base)));
    let mut works = on_bases
        .map(|(sheet, base)| Ok(Work { sheet, base, plan: Plan::of(sheet, base, args.on, args.short)? }))
        .collect::<Result<Vec<Work<'_>>, Failure>>()?;
    // a base that the testbed's hosts cannot have is not measured there
    works.retain(|work| work.base.set.is_empty() || !work.plan.cases.is_empty());
    // cheap figures first: an interruption then leaves the most figures on record
    works.sort_by_cached_key(|work| work.plan.scenarios().map(|of| expected_packets(of) as u64).sum::<u64>());
    // an unusable page is an error before the long run
    let marked = if args.short { None } else { Some(MarkedPage::open(&page_of(&args.dir), PAGE)?) };
    let finished = execute::all(&works, args, global, signals);
    // finished figures are shown even if others failed
    if let Some(marked) = marked {
        write(&args.dir, &pages_of(&args.dir, marked, &folders)?)?;
    }
    let finished = finished.map_err(|failure| match failure.is_interruption() {
        true => failure.with_help("finished runs are kept: the same command goes on from there"),
        false => failure,
    })?;
    if args.short {
        record_short(args, &finished)?;
    }
    show::finished(&finished, args.on, global, out)
}

/// The pages that are generated from the records.
pub(crate) struct Pages {
    /// REPRODUCTION.md.
    pub(crate) index: MarkedPage,
    /// Its generated part.
    pub(crate) tables: String,
    /// Files of the open questions' pages; without a text, a picture that has to be removed.
    pub(crate) questions: Vec<(PathBuf, Option<String>)>,
    gallery: String,
}

/// Generates the pages of the papers below a folder from their records; writes nothing.
pub(crate) fn pages(root: &Path) -> Result<Pages, Failure> {
    pages_of(root, MarkedPage::read(&page_of(root), PAGE)?, &load::papers(root)?)
}

fn pages_of(root: &Path, index: MarkedPage, folders: &[Folder]) -> Result<Pages, Failure> {
    let records = current(root, folders)?;
    let mut files = Vec::new();
    for page in questions::pages(&records) {
        let dir = root.join(load::QUESTIONS).join(&page.id);
        for name in
            pictures(&dir)?.into_iter().filter(|name| !page.files.iter().any(|(file, _)| file == name))
        {
            files.push((dir.join(name), None));
        }
        files.extend(page.files.into_iter().map(|(name, text)| (dir.join(name), Some(text))));
    }
    let (tables, gallery) = (index::tables(&records), gallery::page(&records));
    Ok(Pages { index, tables, questions: files, gallery })
}

/// Names of the pictures in a question's folder.
fn pictures(dir: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| unusable(dir, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.starts_with(questions::PICTURE) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Writes REPRODUCTION.md, the gallery, and a page for each question.
fn write(root: &Path, pages: &Pages) -> Result<(), Failure> {
    pages.index.write(&pages.tables)?;
    let gallery = root.join(GALLERY);
    new_file::write(&gallery, &pages.gallery).map_err(|error| unusable(&gallery, &error))?;
    for (path, text) in &pages.questions {
        let written = match text {
            Some(text) => new_file::write(path, text),
            None => std::fs::remove_file(path),
        };
        written.map_err(|error| unusable(path, &error))?;
    }
    Ok(())
}

/// Records the verdicts of the short versions. Those of other figures stay.
fn record_short(args: &ReproduceArgs, finished: &[Finished<'_>]) -> Result<(), Failure> {
    let failed = |error| unusable(&results::short_path(&args.dir), &error);
    let mut short = match args.figures.is_empty() {
        true => results::Short::new(),
        false => results::load_short(&args.dir).map_err(failed)?,
    };
    short.extend(finished.iter().map(|done| {
        let name = done.sheet.name_on(done.base);
        (name, results::Quick::of(&done.sheet.figure, &done.measured))
    }));
    results::store_short(&args.dir, &short).map_err(failed)
}

/// Gives every record the words and tolerances that its figure's file has now.
fn reword(root: &Path, folders: &[Folder]) -> Result<(), Failure> {
    let mut sheets = folders.iter().flat_map(|folder| &folder.sheets);
    sheets.try_for_each(|sheet| {
        Record::reword(root, sheet).map_err(|error| unusable(&results::path(root, sheet), &error))
    })
}

/// The records of all figures. Measurements of scenarios that have changed since are left out.
fn current(root: &Path, folders: &[Folder]) -> Result<Vec<PaperRecords>, Failure> {
    let mut papers = Vec::new();
    for folder in folders {
        let mut records = Vec::new();
        for sheet in &folder.sheets {
            let path = results::path(root, sheet);
            let mut record = Record::load(root, sheet).map_err(|error| unusable(&path, &error))?;
            let mut measured = Vec::new();
            for of in record.measured {
                let base = sheet.bases.iter().find(|base| base.name == of.base);
                if let Some(base) = base
                    && Plan::of(sheet, base, of.on, false)?.hash() == of.scenarios_hash
                {
                    measured.push(of);
                }
            }
            record.measured = measured;
            records.push(record);
        }
        papers.push(PaperRecords { id: folder.id.clone(), paper: folder.paper.clone(), records });
    }
    Ok(papers)
}

/// REPRODUCTION.md is beside the folder.
fn page_of(root: &Path) -> PathBuf {
    root.parent().unwrap_or(Path::new("")).join("REPRODUCTION.md")
}

/// The named figures in their order; all if none is named.
fn chosen<'a>(folders: &'a [Folder], asked: &[String]) -> Result<Vec<&'a Sheet>, Failure> {
    let all = || folders.iter().flat_map(|folder| &folder.sheets);
    let means =
        |asked: &str, sheet: &Sheet| asked.trim_end_matches('/') == sheet.paper || asked == sheet.name();
    for asked in asked {
        if !all().any(|sheet| means(asked, sheet)) {
            let names: HashSet<String> =
                all().flat_map(|sheet| [sheet.paper.clone(), sheet.name()]).collect();
            let meant = fairpace_cc::nearest(asked, names.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}`fairpace-dev reproduce --list` lists all");
            return Err(Failure::new(Exit::Usage, format!("there is no paper or figure `{asked}`"), help));
        }
    }
    let wanted = |sheet: &&Sheet| asked.is_empty() || asked.iter().any(|asked| means(asked, sheet));
    Ok(all().filter(wanted).collect())
}

/// A file or folder of `reproduction/` that cannot be read or written.
fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    let another = "remove it if it is broken, or name a copy of the folder with --dir";
    Failure::file("cannot use", path, error, another)
}
