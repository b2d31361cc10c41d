//! Reads `reproduction/`: papers in a fixed order, each with its figures in the order of its `paper.toml`.

use std::path::{Path, PathBuf};

use fairpace_experiment::{Source, paths_in};
use fairpace_scenario::{Invalid, Problem};

use crate::check;
use crate::figure::{Figure, Paper};
use crate::runs;
use crate::sheet::{Sheet, WHERE};

/// The folders of the papers, in the order of their years; the open questions come last.
pub const PAPERS: [&str; 6] = [
    "bbr-cardwell2016",
    "bbq-ma2017",
    "improved-bbr-zhang2018",
    "queueing-model-tao2018",
    "bbrv3-startup-mahmud2025",
    QUESTIONS,
];

/// The folder of open questions, which the authors of the papers did not answer: each of its figures is a
/// question.
pub const QUESTIONS: &str = "open-questions";

/// Name of the folder with the results of figures, beside the folders of papers.
pub const RESULTS: &str = "results";

/// A paper, as read from its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// Name of the folder: "bbq-ma2017".
    pub id: String,
    /// The content of `paper.toml`.
    pub paper: Paper,
    /// The figures, in the order of `paper.toml`.
    pub sheets: Vec<Sheet>,
}

/// Reads all papers that exist below `root`.
///
/// # Errors
/// Returns the problems of the first wrong paper or figure, each with its place.
pub fn papers(root: &Path) -> Result<Vec<Folder>, Invalid> {
    let dirs = directories(root)?;
    let strange = dirs.iter().find(|dir| *dir != RESULTS && !PAPERS.contains(&dir.as_str()));
    if let Some(strange) = strange {
        let known = PAPERS.join(", ");
        let message = format!("`{strange}` is not one of the papers");
        let problem = Problem::of("folder", "unknown-paper", "", message, format!("they are {known}"));
        return Err(Invalid { problems: vec![problem.in_file(root.display().to_string())] });
    }
    let present = PAPERS.iter().filter(|paper| dirs.iter().any(|dir| dir == *paper));
    present.map(|paper| folder(root, paper)).collect()
}

fn folder(root: &Path, id: &str) -> Result<Folder, Invalid> {
    let dir = root.join(id);
    let source = Source::read(&dir.join("paper.toml"), "paper", WHERE)?;
    let paper: Paper = source.parse()?;
    let dirs = directories(&dir)?;
    for (number, name) in (1..).zip(&paper.figures) {
        let key = format!("figures.{number}");
        let wrong = |message: String| Err(source.invalid("impossible", &key, message, ""));
        if paper.figures[..number - 1].contains(name) {
            return wrong(format!("`{name}` is there twice"));
        }
        if !dirs.contains(name) {
            return wrong(format!("there is no folder `{name}`"));
        }
    }
    check::stacks(&paper, &source)?;
    // a folder with scenarios that several figures share has no figure.toml
    let is_other =
        |name: &&String| !paper.figures.contains(name) && dir.join(name).join("figure.toml").exists();
    let figures = paper.figures.iter().chain(dirs.iter().filter(is_other));
    let sheets = figures.map(|name| sheet(&dir, id, name, &paper)).collect::<Result<_, _>>()?;
    Ok(Folder { id: id.to_owned(), paper, sheets })
}

fn sheet(dir: &Path, of: &str, id: &str, paper: &Paper) -> Result<Sheet, Invalid> {
    let dir = dir.join(id);
    let source = Source::read(&dir.join("figure.toml"), "figure", WHERE)?;
    let mut figure: Figure = source.parse()?;
    runs::expand(&mut figure.runs);
    let stacks = figure.stacks(paper);
    let hosts = paper.hosts.set.clone();
    let sheet = Sheet { paper: of.to_owned(), id: id.to_owned(), dir, figure, stacks, hosts, source };
    check::figure(&sheet, paper)?;
    Ok(sheet)
}

/// Names of the subfolders of a folder, sorted, without hidden ones.
fn directories(dir: &Path) -> Result<Vec<String>, Invalid> {
    let help = "run it at the top of a checkout of Fairpace, or name the folder with --dir";
    let folders = paths_in(dir, "folder", help)?.into_iter().filter(|path| path.is_dir());
    let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(folders.filter_map(name).filter(|name| !name.starts_with('.')).collect())
}
