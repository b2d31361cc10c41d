//! Reads `reproduction/`: papers in a fixed order, each with its figures in the order of its `paper.toml`.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fairpace_scenario::{Invalid, Problem};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::check;
use crate::figure::{Figure, Paper};

/// The papers, in the order of their years; what their authors left open comes last.
pub const PAPERS: [&str; 6] = [
    "bbr-cardwell2016",
    "bbq-ma2017",
    "improved-bbr-zhang2018",
    "queueing-model-tao2018",
    "bbrv3-startup-mahmud2025",
    QUESTIONS,
];

/// The folder of what the authors left open: each of its figures is a question.
pub const QUESTIONS: &str = "open-questions";

/// Where figures' results lie, beside the papers.
pub const RESULTS: &str = "results";

/// A paper as its folder has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// Its name: "bbq-ma2017".
    pub id: String,
    /// What `paper.toml` says.
    pub paper: Paper,
    /// Its figures, in the order that `paper.toml` names.
    pub sheets: Vec<Sheet>,
}

/// A figure as its folder has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Folder of the paper.
    pub paper: String,
    /// Its own folder: "fig05".
    pub id: String,
    /// Path of that folder.
    pub dir: PathBuf,
    /// What `figure.toml` says.
    pub figure: Figure,
    text: Text,
}

impl Sheet {
    /// "bbq-ma2017/fig05".
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.paper, self.id)
    }

    /// A file that the figure names: beside `figure.toml`, or below the paper's folder.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let beside = Some(self.dir.join(name));
        let below = self.dir.parent().map(|paper| paper.join(name));
        [beside, below].into_iter().flatten().find(|path| path.is_file())
    }

    /// A problem at a key: `value.2.measure.run`, lists by numbers from 1.
    #[must_use]
    pub fn problem(
        &self,
        kind: &'static str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        self.text.problem("figure", kind, key, message.into(), help.into())
    }

    /// Whether the file itself has a key, rather than its default.
    pub(crate) fn says(&self, key: &str) -> bool {
        let document = DeTable::parse(&self.text.text).ok();
        document.is_some_and(|document| place(document.get_ref(), key).1)
    }
}

/// A TOML file.
#[derive(Debug, Clone, PartialEq)]
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn problem(
        &self,
        about: &'static str,
        kind: &'static str,
        key: &str,
        message: String,
        help: String,
    ) -> Problem {
        let document = DeTable::parse(&self.text).ok();
        let span = document.map_or(0..0, |document| place(document.get_ref(), key).0);
        Problem::of(about, kind, key, message, help).within(&self.name, &self.text, span)
    }

    fn read(path: &Path, about: &'static str) -> Result<Self, Invalid> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read it: {error}");
            let help =
                "a paper has a paper.toml, and a folder with a figure.toml for every figure that it names";
            one(Problem::of(about, "file", "", message, help).in_file(&name))
        })?;
        Ok(Self { name, text })
    }

    fn parse<T: DeserializeOwned>(&self, about: &'static str) -> Result<T, Invalid> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim().to_owned();
            let kind = match message.split('`').next().unwrap_or_default().trim() {
                "unknown field" => "unknown-key",
                "missing field" => "missing-key",
                _ => "syntax",
            };
            let span = error.span().unwrap_or(0..0);
            let written = self.text.get(span.clone()).unwrap_or_default();
            let key = if kind == "unknown-key" { written } else { "" };
            let help = "crates/reproduce/src/figure.rs explains every key";
            one(Problem::of(about, kind, key, message, help).within(&self.name, &self.text, span))
        })
    }
}

/// Where a key is, or the nearest thing around it; and whether it is there.
fn place(document: &DeTable<'_>, key: &str) -> (Range<usize>, bool) {
    let mut span = 0..0;
    let mut value: Option<&DeValue<'_>> = None;
    for step in key.split('.').filter(|step| !step.is_empty()) {
        let found = match value {
            None => document.get(step),
            Some(DeValue::Table(table)) => table.get(step),
            Some(DeValue::Array(items)) => {
                step.parse::<usize>().ok().and_then(|n| items.get(n.checked_sub(1)?))
            }
            Some(_) => None,
        };
        let Some(found) = found else { return (span, false) };
        span = found.span();
        value = Some(found.get_ref());
    }
    (span, value.is_some())
}

/// Reads all papers that are there.
///
/// # Errors
/// Everything that is wrong with the files of the first wrong paper or figure, each with its place.
pub fn papers(root: &Path) -> Result<Vec<Folder>, Invalid> {
    let dirs = directories(root)?;
    let strange = dirs.iter().find(|dir| *dir != RESULTS && !PAPERS.contains(&dir.as_str()));
    if let Some(strange) = strange {
        let known = PAPERS.join(", ");
        let message = format!("`{strange}` is not one of the papers");
        return Err(one(Problem::of("folder", "unknown-paper", "", message, format!("they are {known}"))
            .in_file(root.display().to_string())));
    }
    let present = PAPERS.iter().filter(|paper| dirs.iter().any(|dir| dir == *paper));
    present.map(|paper| folder(root, paper)).collect()
}

fn folder(root: &Path, id: &str) -> Result<Folder, Invalid> {
    let dir = root.join(id);
    let text = Text::read(&dir.join("paper.toml"), "paper")?;
    let paper: Paper = text.parse("paper")?;
    let dirs = directories(&dir)?;
    for (number, name) in (1..).zip(&paper.figures) {
        let key = format!("figures.{number}");
        let wrong = |message| Err(one(text.problem("paper", "impossible", &key, message, String::new())));
        if paper.figures[..number - 1].contains(name) {
            return wrong(format!("`{name}` is there twice"));
        }
        if !dirs.contains(name) {
            return wrong(format!("there is no folder `{name}`"));
        }
    }
    // a folder with scenarios that several figures share has no figure.toml
    let is_figure = |name: &&String| dir.join(name).join("figure.toml").exists();
    if let Some(left_out) = dirs.iter().filter(is_figure).find(|name| !paper.figures.contains(name)) {
        let message = format!("the folder `{left_out}` is not among them");
        return Err(one(text.problem("paper", "impossible", "figures", message, "name every figure".into())));
    }
    let sheets = paper.figures.iter().map(|name| sheet(&dir, id, name)).collect::<Result<_, _>>()?;
    Ok(Folder { id: id.to_owned(), paper, sheets })
}

fn sheet(dir: &Path, paper: &str, id: &str) -> Result<Sheet, Invalid> {
    let dir = dir.join(id);
    let text = Text::read(&dir.join("figure.toml"), "figure")?;
    let figure: Figure = text.parse("figure")?;
    let sheet = Sheet { paper: paper.to_owned(), id: id.to_owned(), dir, figure, text };
    let problems = check::problems(&sheet);
    if problems.is_empty() { Ok(sheet) } else { Err(Invalid { problems }) }
}

/// Names of the folders in a folder, sorted; hidden ones left out.
fn directories(dir: &Path) -> Result<Vec<String>, Invalid> {
    let name = || dir.display().to_string();
    let unreadable = |error: std::io::Error| {
        let help = "run it at the top of a checkout of Fairpace, or name the folder with --dir";
        let message = format!("cannot read the folder: {error}");
        one(Problem::of("folder", "file", "", message, help).in_file(name()))
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn one(problem: Problem) -> Invalid {
    Invalid { problems: vec![problem] }
}
