//! A section: criteria that belong together, such as those of a section of RFC 9743.

use std::path::{Path, PathBuf};
use std::{fs, io};

use fairpace_scenario::Invalid;
use serde::Serialize;
use toml::de::DeTable;

use crate::read::{Reader, Table};
use crate::source::{Source, unreadable};

/// The file that makes a folder a section.
pub(crate) const FILE: &str = "section.toml";

/// What `section.toml` of a folder says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// The folder's name: "5.1-alone".
    pub name: String,
    /// A few words: "5.1 Single algorithm".
    pub title: String,
    /// What its criteria have in common, and where they come from.
    pub about: String,
}

impl Section {
    /// The section of a folder; none without its file.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, Invalid> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let source = Source::read(&path)?;
        let document = DeTable::parse(&source.text).map_err(|error| {
            let message = format!("this is not TOML: {}", error.message());
            source.invalid(error.span().unwrap_or(0..0), "syntax", "", message, "")
        })?;
        let mut reader = Reader { source: &source, problems: Vec::new() };
        let top = Table { table: document.get_ref(), path: "", span: (0, 0) };
        reader.known(top, &["title", "about"]);
        let [title, about] = ["title", "about"].map(|key| reader.text(top, key));
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match (title, about) {
            (Some(title), Some(about)) if reader.problems.is_empty() => Ok(Some(Self { name, title, about })),
            _ => Err(Invalid { problems: reader.problems }),
        }
    }
}

/// The folders below a folder that are sections, in the order of their names.
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, Invalid> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, io::Error>>());
    let entries = entries.map_err(|error| unreadable(folder, &error))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut sections: Vec<PathBuf> = paths.filter(|path| path.join(FILE).is_file()).collect();
    sections.sort();
    Ok(sections)
}
