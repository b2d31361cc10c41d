//! `--out DIR`: all files of a result appear at once or not at all.
//!
//! They are written to a directory beside DIR, synced, and moved to DIR in one step. An earlier result is
//! exchanged for the new one in one step, too. A directory that holds anything else is never touched.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::{Exit, Failure};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use tempfile::TempDir;

/// The format that every summary names; a `summary.json` without it is not a result of fairpace.
const MARK: &str = "fairpace.summary/";
/// The files of a result; a directory with other files is not a result.
const FILES: [&str; 7] =
    ["summary.json", "series.csv", "scenario.toml", "report.html", "headline.svg", "repeat.json", "runs.csv"];

/// Extensions of files with names from the scenario: files that it names, and traces.
const KINDS: [&str; 5] = ["trace", "cdf", "parquet", "sqlog", "pcapng"];

/// A file of a result: its path in the directory and its content.
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) content: String,
}

impl Item {
    pub(crate) fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into() }
    }
}

/// A directory that results may be written to.
#[derive(Debug)]
pub(crate) struct OutDir {
    path: PathBuf,
    parent: PathBuf,
    /// Directories that were created for it, outermost first. They are removed if they stay empty.
    made: Vec<PathBuf>,
    /// The directory of files that are written before [`OutDir::write`].
    staged: Option<TempDir>,
}

impl OutDir {
    /// Checks, before a long run, that results can be written to `path`.
    pub(crate) fn prepare(path: &Path) -> Result<Self, Failure> {
        match fs::symlink_metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(refused(path, "it exists and is not a directory"));
            }
            Ok(_) if !is_empty_or_result(path).map_err(|error| failed(path, &error))? => {
                return Err(refused(path, "it holds files that are not a result of fairpace"));
            }
            _ => {}
        }
        let unusable = || refused(path, "it is not the path of a directory");
        // "results/" and "results" are the same
        let name = path.file_name().ok_or_else(unusable)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut out = Self { path: parent.join(name), parent, made: Vec::new(), staged: None };
        out.make_parents().and_then(|()| out.temporary().map(drop)).map_err(|error| failed(path, &error))?;
        Ok(out)
    }

    fn make_parents(&mut self) -> io::Result<()> {
        let missing: Vec<_> =
            self.parent.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).collect();
        let missing: Vec<_> = missing.into_iter().rev().map(Path::to_owned).collect();
        for dir in missing {
            fs::create_dir(&dir)?;
            self.made.push(dir);
        }
        Ok(())
    }

    fn temporary(&self) -> io::Result<TempDir> {
        // 0777 minus the umask, as for any new directory
        tempfile::Builder::new()
            .prefix(".fairpace-")
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(&self.parent)
    }

    /// A directory for files that are written while a run goes on. They come into place with all others, or
    /// go with this.
    pub(crate) fn stage(&mut self) -> Result<&Path, Failure> {
        if self.staged.is_none() {
            self.staged = Some(self.temporary().map_err(|error| failed(&self.path, &error))?);
        }
        Ok(self.staged.as_ref().map_or(Path::new(""), TempDir::path))
    }

    /// Writes the files and moves them into place.
    pub(crate) fn write(mut self, items: &[Item]) -> Result<(), Failure> {
        let staged = self.staged.take();
        self.try_write(staged, items).map_err(|error| failed(&self.path, &error))?;
        self.made.clear();
        Ok(())
    }

    fn try_write(&self, staged: Option<TempDir>, items: &[Item]) -> io::Result<()> {
        let temporary = staged.map_or_else(|| self.temporary(), Ok)?;
        for entry in fs::read_dir(temporary.path())? {
            File::open(entry?.path())?.sync_all()?;
        }
        for item in items {
            let path = temporary.path().join(&item.path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::create_new(&path)?;
            file.write_all(item.content.as_bytes())?;
            file.sync_all()?;
        }
        File::open(temporary.path())?.sync_all()?;
        if self.path.exists() {
            // the earlier result is now in the temporary directory, which is removed
            exchange(temporary.path(), &self.path)
        } else {
            fs::rename(temporary.path(), &self.path)?;
            let _ = temporary.keep();
            Ok(())
        }
    }
}

impl Drop for OutDir {
    fn drop(&mut self) {
        self.staged.take(); // it is inside of the created directories
        for dir in self.made.iter().rev() {
            // fails if another program has put a file there, which stays
            let _ = fs::remove_dir(dir);
        }
    }
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE).map_err(io::Error::from)
}

/// An empty directory, or one with a summary of ours and nothing but files of a result in it and in its
/// subdirectories.
fn is_empty_or_result(path: &Path) -> io::Result<bool> {
    let mut has_summary = false;
    let mut is_empty = true;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        is_empty = false;
        let ours = match entry.file_type()? {
            kind if kind.is_dir() => is_empty_or_result(&entry.path())?,
            kind => kind.is_file() && is_ours(&entry.file_name()),
        };
        if !ours {
            return Ok(false);
        }
        if entry.file_name() == "summary.json" {
            has_summary = fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(MARK));
        }
    }
    Ok(is_empty || has_summary)
}

/// Whether a file is part of a result, or named by its scenario.
fn is_ours(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    let is_kind = |kind: &&str| extension.is_some_and(|extension| extension == *kind);
    FILES.iter().any(|ours| name == *ours) || KINDS.iter().any(is_kind)
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(
        Exit::Output,
        format!("results cannot be written to {}: {why}", path.display()),
        "name a new or empty directory, or one with an earlier result, which is then replaced",
    )
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    let another = "name another directory; nothing was left there";
    Failure::file("results cannot be written to", path, error, another)
}
