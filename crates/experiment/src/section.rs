//! A section: a folder of criteria that belong together, such as those for a section of RFC 9743.

use std::path::{Path, PathBuf};

use fairpace_scenario::Invalid;
use serde::{Deserialize, Serialize};

use crate::source::{Source, paths_in, text};

/// Words for errors of a file of criteria: what the file is, and where such files are.
pub(crate) const ABOUT: (&str, &str) =
    ("criterion", "criteria are a folder with a TOML file for each criterion, such as evaluation/level");
/// Name of the file that makes a folder a section.
pub(crate) const FILE: &str = "section.toml";

/// A section, as the `section.toml` of a folder declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Name of the folder: "5.1-alone".
    #[serde(skip_deserializing)]
    pub name: String,
    /// Title of the section, a few words: "5.1 Single algorithm".
    #[serde(deserialize_with = "text")]
    pub title: String,
    /// What the criteria of the section have in common, and their source.
    #[serde(deserialize_with = "text")]
    pub about: String,
    /// Whether the criteria of the section are counted apart: not in the totals of other sections.
    #[serde(default)]
    pub apart: bool,
}

impl Section {
    /// The section of a folder; `None` if the folder has no `section.toml`.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, Invalid> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Self { name, ..Source::read(&path, ABOUT.0, ABOUT.1)?.parse()? }))
    }
}

/// The subfolders of a folder that are sections, in the order of their names.
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, Invalid> {
    let mut sections = paths_in(folder, ABOUT.0, ABOUT.1)?;
    sections.retain(|path| path.join(FILE).is_file());
    Ok(sections)
}
