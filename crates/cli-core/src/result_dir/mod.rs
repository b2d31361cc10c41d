//! `--out DIR`: all files of a result appear at once or not at all, and no file of another origin is touched.
//!
//! The files are written to a directory beside DIR (`staging`), synced, and moved to DIR in one step
//! (`replace`). A result has a `manifest.json` with the hash of each file (`manifest`). An earlier result is
//! replaced only if it holds the files of its manifest, unchanged, and no others; this is checked at the time
//! of replacement, not only before the run.

mod manifest;
mod replace;
mod staging;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, access, statx};

use crate::failure::{Exit, Failure};
use crate::output::note;
use manifest::{Foreign, Found, Manifest};
use replace::Outcome;
use staging::Staging;

/// A file of a result: its path in the directory, and the function that writes its content.
pub struct Item<'a> {
    path: String,
    content: Content<'a>,
}

type Content<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> Item<'a> {
    /// A file with this text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::written(path, move |file| file.write_all(text.as_bytes()))
    }

    /// A file that `content` writes, so that its text need not be in memory in full.
    pub fn written(
        path: impl Into<String>,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'a,
    ) -> Self {
        Self { path: path.into(), content: Box::new(content) }
    }
}

/// A directory that a result may be written to.
#[derive(Debug)]
pub struct ResultDir {
    target: PathBuf,
    /// The staging directory; `None` once the result is written.
    staging: Option<Staging>,
    /// How the result is put in its place.
    way: Way,
    /// Directories that were created for the result, outermost first. They are removed if they stay empty.
    made: Vec<PathBuf>,
}

/// How the result is put in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Two directories are exchanged.
    Exchange,
    /// Files are moved one by one, because the target is a mount point, or its file system cannot exchange
    /// directories.
    OneByOne,
}

impl ResultDir {
    /// Checks, before a long run, that a result can be written to `path`, and removes the files that killed
    /// processes left there.
    ///
    /// # Errors
    /// Returns an error if `path` holds files of another origin, or cannot be written to ([`Exit::Output`]).
    pub fn prepare(path: &Path) -> Result<Self, Failure> {
        // "results/" and "results" are the same
        let name = path.file_name().ok_or_else(|| refused(path, "it is not the path of a directory"))?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let target = parent.join(name);
        let mut made = Vec::new();
        Self::try_prepare(&target, &parent, &mut made).map_err(|error| {
            made.iter().rev().for_each(|dir| drop(fs::remove_dir(dir)));
            error.into_failure(path)
        })
    }

    fn try_prepare(target: &Path, parent: &Path, made: &mut Vec<PathBuf>) -> Result<Self, Unusable> {
        // first, since in a directory that does not exist the system finds no fault with a name
        make_parents(parent, made)?;
        let there = match fs::symlink_metadata(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            other => {
                if !other?.is_dir() {
                    return Err(Unusable::NotADirectory);
                }
                // a directory that may not be written to cannot be moved either
                access(target, Access::WRITE_OK).map_err(io::Error::from)?;
                true
            }
        };
        let fixed = there && (is_mount_point(target)? || access(parent, Access::WRITE_OK).is_err());
        let mut way = if fixed { Way::OneByOne } else { Way::Exchange };
        let folder = |way| if way == Way::OneByOne { target } else { parent };
        left(replace::clean(folder(way))?);
        if there && way == Way::Exchange {
            left(replace::clean(target)?); // of a run that found that it cannot be exchanged
        }
        if there && let Found::Foreign(foreign) = manifest::look(target, None)? {
            return Err(Unusable::Foreign(foreign));
        }
        let mut staging = Staging::create(folder(way))?;
        if way == Way::Exchange && !replace::can_exchange(staging.path())? {
            staging.discard()?;
            if !there {
                fs::create_dir(target)?;
                made.push(target.to_owned());
            }
            way = Way::OneByOne;
            staging = Staging::create(target)?;
        }
        Ok(Self { target: target.to_owned(), staging: Some(staging), way, made: std::mem::take(made) })
    }

    /// Path of the directory for files that are written during a run. [`write`](Self::write) moves them into
    /// place with all other files.
    #[must_use]
    pub fn staged(&self) -> PathBuf {
        self.staging.as_ref().map(Staging::new_dir).unwrap_or_default()
    }

    /// Writes the files and moves them into place.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written; then none is left. Returns an error, too, if files of
    /// another origin have appeared in the directory during the run; then the result is beside it, and the
    /// error names its path ([`Exit::Output`]).
    pub fn write(mut self, items: Vec<Item<'_>>) -> Result<(), Failure> {
        let Some(staging) = self.staging.take() else { return Ok(()) };
        if let Err(error) = complete(&staging.new_dir(), items) {
            let _ = staging.discard(); // the first error says more
            return Err(Unusable::Io(error).into_failure(&self.target));
        }
        self.made.clear();
        let kept = staging.new_dir();
        let outcome = match self.way {
            Way::Exchange => replace::exchange(staging, &self.target),
            Way::OneByOne => replace::one_by_one(staging, &self.target),
        };
        let target = self.target.display();
        match outcome {
            Ok(Outcome::InPlace) => Ok(()),
            Ok(Outcome::Elsewhere(path, foreign)) => Err(elsewhere(&self.target, &path, &foreign)),
            Ok(Outcome::WithRemains(path, error)) => {
                let left =
                    format!("files of the earlier one cannot be removed from {}: {error}", path.display());
                let message = format!("the result is in {target}, but {left}");
                Err(Failure::new(Exit::Output, message, "remove them"))
            }
            Ok(Outcome::Refused(path, error)) => {
                let kept = path.display();
                let message =
                    format!("the result is in {kept}, since it cannot be moved to {target}: {error}");
                Err(Failure::new(Exit::Output, message, "move it where you want it"))
            }
            Err(error) => Err(stuck(&self.target, &kept, &error)),
        }
    }
}

impl Drop for ResultDir {
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take() {
            let _ = staging.discard(); // nothing can be done in a destructor; the next start cleans
        }
        for dir in self.made.iter().rev() {
            let _ = fs::remove_dir(dir); // stays if another program has put a file there
        }
    }
}

/// Writes all files and their manifest, and syncs them.
fn complete(dir: &Path, items: Vec<Item<'_>>) -> io::Result<()> {
    for item in items {
        let path = dir.join(&item.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = BufWriter::new(File::create_new(&path)?);
        (item.content)(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    }
    let manifest = Manifest::of(dir)?;
    for path in manifest.paths() {
        File::open(dir.join(path))?.sync_all()?; // those that were written during the run
    }
    let mut file = File::create_new(dir.join(manifest::NAME))?;
    file.write_all(manifest.to_json()?.as_bytes())?;
    file.sync_all()?;
    File::open(dir)?.sync_all()
}

fn make_parents(parent: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<_> =
        parent.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        fs::create_dir(dir)?;
        made.push(dir.to_owned());
    }
    Ok(())
}

/// Whether a path is a mount point, of another file system or of another part of this one, so that it cannot
/// be renamed.
fn is_mount_point(path: &Path) -> io::Result<bool> {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Writes a note on leftovers that were not removed.
fn left(kept: Vec<PathBuf>) {
    for path in kept {
        note(&format!(
            "note: an interrupted fairpace has left {}, which holds files that it did not write or cannot \
             remove; look at them and remove it",
            path.display()
        ));
    }
}

/// The reason why a result cannot be written.
#[derive(Debug)]
enum Unusable {
    NotADirectory,
    Foreign(Foreign),
    Io(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Unusable {
    fn into_failure(self, path: &Path) -> Failure {
        match self {
            Self::NotADirectory => refused(path, "it exists and is not a directory"),
            Self::Foreign(foreign) => {
                refused(path, &format!("{} in it {}", foreign.path.display(), foreign.why))
            }
            Self::Io(error) => failed(path, &error),
        }
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    let message = format!("results cannot be written to {}: {why}", path.display());
    let help = "name a new or empty directory, or one with an earlier result, which is then replaced";
    Failure::new(Exit::Output, message, help)
}

fn elsewhere(target: &Path, kept: &Path, foreign: &Foreign) -> Failure {
    let Foreign { path, why } = foreign;
    let (what, kept) = (target.join(path), kept.display());
    let during = format!("during the run {} appeared or changed; it {why}", what.display());
    let help = format!("{} is as it was; move the result where you want it", target.display());
    Failure::new(Exit::Output, format!("the result is in {kept}: {during}"), help)
}

/// The failure that the system refuses to move the result to its place, although the check before the run
/// could write there.
fn stuck(target: &Path, kept: &Path, error: &io::Error) -> Failure {
    let message = format!("the result cannot be moved to {}: {error}", target.display());
    let then = "move them; the next command with this --out finishes or removes them";
    Failure::new(Exit::Output, message, format!("its files are in {}: {then}", kept.display()))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room on that file system, or name a directory on another one"
        }
        io::ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a directory that you may write to"
        }
        _ => "name another directory",
    };
    let message = format!("results cannot be written to {}: {error}", path.display());
    Failure::new(Exit::Output, message, format!("{help}; nothing was left there"))
}

#[cfg(test)]
mod tests;
