//! The files of the repository, and the violations that checks find in them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::mask::{Masked, mask};

/// A file of the repository.
pub(crate) struct File {
    /// Path of the file relative to the root of the repository, with slashes.
    pub(crate) path: String,
    /// Text of the file; empty for a file that is not text.
    pub(crate) text: String,
    pub(crate) size_bytes: usize,
    masked: OnceCell<Masked>,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> File {
        let size_bytes = text.len();
        File { path: path.into(), text: text.into(), size_bytes, masked: OnceCell::new() }
    }

    /// A file with this content, of any kind.
    pub(crate) fn of_bytes(path: &str, bytes: Vec<u8>) -> File {
        let size_bytes = bytes.len();
        File { size_bytes, ..File::new(path, &String::from_utf8(bytes).unwrap_or_default()) }
    }

    /// The code of a source file without comments and literals.
    pub(crate) fn masked(&self) -> &Masked {
        self.masked.get_or_init(|| mask(&self.text, self.is_rust()))
    }

    /// The extension: the part after the last dot of the path.
    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    pub(crate) fn is_c(&self) -> bool {
        matches!(self.extension(), "c" | "h" | "def")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.extension() == "md"
    }
}

/// A violation: a place that breaks a rule.
pub(crate) struct Violation {
    /// Name of the check that found it.
    pub(crate) check: &'static str,
    pub(crate) path: String,
    /// Number of the line, from 1 on.
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(check: &'static str, file: &File, line: usize, what: String) -> Violation {
        Violation { check, path: file.path.clone(), line, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.check, self.what)
    }
}

/// All files that git tracks or would track; every file below `root` if git does not answer.
pub(crate) fn files(root: &Path) -> Vec<File> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output();
    let mut names = BTreeSet::new();
    match listed {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            names.extend(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned));
        }
        _ => walk(root, "", &mut names),
    }
    // what is deleted and not yet committed is left out
    let read = |path: String| Some(File::of_bytes(&path, fs::read(root.join(&path)).ok()?));
    names.into_iter().filter_map(read).collect()
}

/// Adds the files below a folder, without build directories and hidden files.
fn walk(root: &Path, below: &str, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.path().is_dir() && name != "target" && !name.starts_with('.') {
            walk(root, &path, names);
        } else if entry.path().is_file() {
            names.insert(path);
        }
    }
}
