//! A figure with its file, and places in that file.

use std::path::PathBuf;

use fairpace_experiment::Source;

use crate::figure::{Figure, Stack};

/// A figure with its file, as read from its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Name of the paper's folder.
    pub paper: String,
    /// Name of the figure's own folder: "fig05".
    pub id: String,
    /// Path of the figure's folder.
    pub dir: PathBuf,
    /// The content of `figure.toml`.
    pub figure: Figure,
    /// The stacks of the paper with which the figure is run: at least the first.
    pub stacks: Vec<Stack>,
    /// Settings of the figure's simulated runs with every stack.
    pub(crate) hosts: Vec<String>,
    /// The text of `figure.toml`.
    pub source: Source,
}

impl Sheet {
    /// Name of the figure: "bbq-ma2017/fig05".
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.paper, self.id)
    }

    /// Name of the figure with one stack: "bbq-ma2017/fig05", and for another stack than the first
    /// "bbq-ma2017/fig05 on single".
    #[must_use]
    pub fn name_on(&self, stack: &Stack) -> String {
        name_on(&self.paper, &self.id, &self.stacks, stack)
    }

    /// Path of a file that the figure names: beside `figure.toml`, or below the paper's folder.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let beside = Some(self.dir.join(name));
        let below = self.dir.parent().map(|paper| paper.join(name));
        [beside, below].into_iter().flatten().find(|path| path.is_file())
    }
}

/// Name of a figure of a paper on one of the paper's stacks.
pub(crate) fn name_on(paper: &str, figure: &str, stacks: &[Stack], stack: &Stack) -> String {
    let on = if stacks.first() == Some(stack) { String::new() } else { format!(" on {}", stack.name) };
    format!("{paper}/{figure}{on}")
}

/// Help for errors: where the files of papers are.
pub(crate) const WHERE: &str =
    "a paper has a paper.toml, and a folder with a figure.toml for every figure that it names";
