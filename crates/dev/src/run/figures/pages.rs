//! The pages of papers: REPRODUCTION.md, a page with a picture for each paper, and the gallery.

use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::new_file;
use fairpace_papers::load::{self, Folder};
use fairpace_papers::record::{PaperRecords, Record};
use fairpace_papers::{front, gallery, page, values};
use fairpace_scenario::Target;

use super::Finished;
use crate::marked_page::{MarkedPage, Page};

/// Name of the gallery's file in the folder of the papers.
const GALLERY: &str = "gallery.html";

const PAGE: Page = Page { command: "docs", title: "Reproduction" };

/// The pages that are generated from the records only.
pub(crate) struct Pages {
    /// The page REPRODUCTION.md.
    pub(crate) front: MarkedPage,
    /// The generated part of REPRODUCTION.md.
    pub(crate) tables: String,
    /// The page of each paper, and the picture of its values: path and text.
    pub(crate) papers: Vec<(PathBuf, String)>,
}

/// Generates the pages of the papers below a folder from their records; writes no file.
pub(crate) fn pages(root: &Path) -> Result<Pages, Failure> {
    of_records(root, MarkedPage::read(&beside(root), PAGE)?, &load::papers(root)?)
}

/// Opens REPRODUCTION.md beside the folder, so that an unusable page is an error before a long run.
pub(super) fn open(root: &Path) -> Result<MarkedPage, Failure> {
    MarkedPage::open(&beside(root), PAGE)
}

fn beside(root: &Path) -> PathBuf {
    root.parent().unwrap_or(Path::new("")).join("REPRODUCTION.md")
}

fn of_records(root: &Path, front: MarkedPage, folders: &[Folder]) -> Result<Pages, Failure> {
    let papers = folders.iter().map(|folder| {
        let records =
            folder.sheets.iter().map(|sheet| Record::load(root, sheet)).collect::<Result<_, _>>()?;
        Ok(PaperRecords { id: folder.id.clone(), paper: folder.paper.clone(), records })
    });
    let papers = papers.collect::<Result<Vec<PaperRecords>, Failure>>()?;
    let mut files = Vec::new();
    for paper in &papers {
        let folder = root.join(&paper.id);
        files.push((folder.join("README.md"), page::page(paper)));
        files.extend(values::values(paper).map(|picture| (folder.join(page::VALUES), picture)));
    }
    Ok(Pages { front, tables: front::tables(&papers), papers: files })
}

/// Writes the pages, the pictures of questions that were simulated, and a gallery of the figures that were
/// run.
pub(super) fn write(
    root: &Path,
    folders: &[Folder],
    marked: MarkedPage,
    finished: &[Finished<'_>],
) -> Result<(), Failure> {
    let pages = of_records(root, marked, folders)?;
    pages.front.write(&pages.tables)?;
    let drawn = drawn(root, folders, finished)?;
    let mut files = pages.papers;
    files.push((root.join(GALLERY), gallery::page(&drawn)));
    for record in drawn.iter().filter(|paper| paper.id == load::QUESTIONS).flat_map(|paper| &paper.records) {
        if record.stacks.first().is_some_and(|stack| record.at(stack, Target::Simulator).is_some()) {
            let pictures = (1..).zip(gallery::files(record));
            files.extend(pictures.map(|(number, picture)| {
                (root.join(&record.paper).join(page::picture(&record.id, number)), picture)
            }));
        }
    }
    files.iter().try_for_each(|(path, text)| {
        let another = "run it in a copy of the checkout that can be written to";
        new_file::write(path, text).map_err(|error| Failure::file("cannot write", path, &error, another))
    })
}

/// The records of the figures that were run, with the pictures of this run.
fn drawn(root: &Path, folders: &[Folder], finished: &[Finished<'_>]) -> Result<Vec<PaperRecords>, Failure> {
    let mut papers = Vec::new();
    for folder in folders {
        let mut records = Vec::new();
        for sheet in &folder.sheets {
            let done: Vec<_> = finished.iter().filter(|done| done.sheet.name() == sheet.name()).collect();
            if !done.is_empty() {
                let mut record = Record::load(root, sheet)?;
                done.iter().for_each(|done| record.add(done.measured.clone()));
                records.push(record);
            }
        }
        if !records.is_empty() {
            papers.push(PaperRecords { id: folder.id.clone(), paper: folder.paper.clone(), records });
        }
    }
    Ok(papers)
}
