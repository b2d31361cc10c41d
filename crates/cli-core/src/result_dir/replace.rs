//! Replaces an earlier result by a finished one.
//!
//! If the file system permits it, two directories are exchanged in one step (`RENAME_EXCHANGE`). A mount
//! point, such as a container's volume, cannot be renamed; in it the files are replaced one by one, under a
//! journal, and a result that is being replaced has no manifest.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, CWD, RenameFlags, access, renameat_with};
use rustix::io::Errno;

use super::manifest::{self, Foreign, Found, Manifest};
use super::staging::{self, EARLIER, Staging, TRIAL};

/// Journal for two directories that are exchanged.
const EXCHANGE: &str = "exchange";
/// Journal for files that are replaced one by one.
const ONE_BY_ONE: &str = "one by one";

/// Place of a result after it was moved.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The result is at its target.
    InPlace,
    /// The result is at another path, since files of another origin are at the target. Those files are
    /// unchanged.
    Elsewhere(PathBuf, Foreign),
    /// The result is at its target. Files of the earlier result are still at this path, since they cannot be
    /// removed.
    WithRemains(PathBuf, io::Error),
    /// The result is at another path, since the system refuses to move it to the target. The target is
    /// unchanged.
    Refused(PathBuf, io::Error),
}

/// Exchanges the new directory with `target`, and removes the earlier result. The earlier content is checked
/// after it has been moved aside, so that no process can change it between check and removal.
pub(super) fn exchange(staging: Staging, target: &Path) -> io::Result<Outcome> {
    let new = staging.new_dir();
    loop {
        match renameat_with(CWD, &new, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {
                sync_parent(target)?;
                staging.discard()?;
                return Ok(Outcome::InPlace);
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        write_synced(&staging.journal(), EXCHANGE)?;
        match renameat_with(CWD, &new, CWD, target, RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => {
                fs::remove_file(staging.journal())?; // it has gone: the simple case after all
                continue;
            }
            // a lower layer of overlayfs, a directory of another user in a sticky one
            Err(Errno::XDEV | Errno::PERM | Errno::ACCESS | Errno::BUSY | Errno::INVAL) => {
                fs::remove_file(staging.journal())?;
                return into_target(staging, target);
            }
            other => other?,
        }
        sync_parent(target)?;
        match remove_if_ours(&new) {
            Ok(None) => {}
            Ok(Some(foreign)) => {
                renameat_with(CWD, &new, CWD, target, RenameFlags::EXCHANGE)?;
                fs::remove_file(staging.journal())?;
                let kept = move_beside(&new, target)?;
                staging.discard()?;
                return Ok(Outcome::Elsewhere(kept, foreign));
            }
            Err(error) => return Ok(Outcome::WithRemains(new, error)),
        }
        staging.discard()?;
        return Ok(Outcome::InPlace);
    }
}

/// Fills a target that cannot be moved file by file, from a staging directory in it.
pub(super) fn into_target(staging: Staging, target: &Path) -> io::Result<Outcome> {
    if let Err(error) = access(target, Access::WRITE_OK) {
        let kept = move_beside(&staging.new_dir(), target)?;
        staging.discard()?;
        return Ok(Outcome::Refused(kept, error.into()));
    }
    one_by_one(staging.moved_into(target)?, target)
}

/// Moves the new files into `target`, which also contains the staging directory.
pub(super) fn one_by_one(staging: Staging, target: &Path) -> io::Result<Outcome> {
    let earlier = match manifest::look(target, staging.path().file_name().map(Path::new))? {
        Found::Empty => None,
        Found::Result(manifest) => Some(manifest),
        Found::Foreign(foreign) => {
            let kept = move_beside(&staging.new_dir(), &target.join("result"))?;
            staging.discard()?;
            return Ok(Outcome::Elsewhere(kept, foreign));
        }
    };
    if let Some(manifest) = earlier {
        write_synced(&staging.path().join(EARLIER), &manifest.to_json()?)?;
    }
    write_synced(&staging.journal(), ONE_BY_ONE)?;
    finish(&staging)?;
    staging.discard()?;
    Ok(Outcome::InPlace)
}

/// Finishes or removes the staging directories that killed processes left in `parent`. Returns the paths that
/// hold files of another origin and are therefore kept.
pub(super) fn clean(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for staging in staging::leftovers(parent)? {
        // what cannot be removed is no reason not to write another result
        if !recover(&staging).unwrap_or(false) {
            kept.push(staging.path().to_owned());
        }
    }
    Ok(kept)
}

/// Finishes or removes a staging directory that a killed process left; `false` if it contains files of
/// another origin.
fn recover(staging: &Staging) -> io::Result<bool> {
    match fs::read_to_string(staging.journal()) {
        Ok(journal) if journal == ONE_BY_ONE => finish(staging)?,
        Ok(_) => match remove_if_ours(&staging.new_dir()) {
            Ok(None) => {}
            Ok(Some(_)) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return remove_tree(staging.path()).map(|()| true);
        }
        Err(error) => return Err(error),
    }
    fs::remove_file(staging.journal())?;
    fs::remove_dir(staging.path())?;
    Ok(true)
}

/// The part of [`one_by_one`] that can be repeated from the start after any interruption.
fn finish(staging: &Staging) -> io::Result<()> {
    let Some(target) = staging.path().parent() else { return Err(ErrorKind::NotFound.into()) };
    let new = staging.new_dir();
    let place = new.join(manifest::NAME);
    if let Some(manifest) = Manifest::read(&new)? {
        remove_earlier(staging, target, &manifest)?;
        for path in manifest.paths() {
            if new.join(path).exists() {
                let to = target.join(path);
                fs::create_dir_all(to.parent().unwrap_or(target))?;
                rename_new(&new.join(path), &to)?;
            }
        }
        sync(target)?;
        // the last one: it makes the files a result
        rename_new(&place, &target.join(manifest::NAME))?;
        sync(target)?;
    }
    if new.exists() {
        remove_tree(&new)?; // directories without files
    }
    match fs::remove_file(staging.path().join(EARLIER)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the files of the earlier result, the manifest first: without a manifest, the remaining files are
/// not a result.
fn remove_earlier(staging: &Staging, target: &Path, new: &Manifest) -> io::Result<()> {
    let Some(earlier) = Manifest::read_file(&staging.path().join(EARLIER))? else { return Ok(()) };
    if Manifest::read(target)?.is_some_and(|there| there == earlier) {
        fs::remove_file(target.join(manifest::NAME))?;
    }
    for path in earlier.paths() {
        // a new file that has been moved there already may be equal to the earlier one
        let is_new = new.lists(path) && !staging.new_dir().join(path).exists();
        if !is_new && earlier.is_unchanged(target, path).unwrap_or(false) {
            fs::remove_file(target.join(path))?;
        }
    }
    remove_empty_parents(target, &earlier);
    Ok(())
}

/// Removes a directory if it holds a result of ours and no other file; otherwise keeps it and returns the
/// reason.
fn remove_if_ours(dir: &Path) -> io::Result<Option<Foreign>> {
    if !fs::symlink_metadata(dir)?.is_dir() {
        let why = "is not a directory";
        return Ok(Some(Foreign { path: PathBuf::new(), why }));
    }
    match manifest::look(dir, None)? {
        Found::Foreign(foreign) => return Ok(Some(foreign)),
        Found::Empty => {}
        Found::Result(manifest) => {
            for path in manifest.paths() {
                match fs::remove_file(dir.join(path)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            remove_empty_parents(dir, &manifest);
            fs::remove_file(dir.join(manifest::NAME))?;
        }
    }
    fs::remove_dir(dir)?;
    Ok(None)
}

/// Removes the directories of a manifest's files, if they are empty.
fn remove_empty_parents(dir: &Path, manifest: &Manifest) {
    let mut parents: Vec<&Path> = manifest.paths().flat_map(|path| path.ancestors().skip(1)).collect();
    parents.sort_by_key(|parent| std::cmp::Reverse(parent.components().count()));
    parents.dedup();
    for parent in parents.into_iter().filter(|parent| !parent.as_os_str().is_empty()) {
        let _ = fs::remove_dir(dir.join(parent)); // one that holds another file stays
    }
}

/// Moves a directory to the first free name of `target-2`, `target-3` and so on.
fn move_beside(dir: &Path, target: &Path) -> io::Result<PathBuf> {
    let mut number = 2u64;
    loop {
        let mut name = target.as_os_str().to_owned();
        name.push(format!("-{number}"));
        let beside = PathBuf::from(name);
        match renameat_with(CWD, dir, CWD, &beside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => number += 1,
            other => return other.map(|()| beside).map_err(io::Error::from),
        }
    }
}

/// Whether two directories can be exchanged in `dir`; some file systems cannot.
pub(super) fn can_exchange(dir: &Path) -> io::Result<bool> {
    let [one, other] = TRIAL.map(|name| dir.join(name));
    fs::create_dir(&one)?;
    fs::create_dir(&other)?;
    let result = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
    fs::remove_dir(&one)?;
    fs::remove_dir(&other)?;
    Ok(result.is_ok())
}

/// Moves a file to a name that is free. Where the file system does not support `RENAME_NOREPLACE`, a check
/// precedes the move.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST.into()),
        other => other.map_err(io::Error::from),
    }
}

/// Removes a directory of ours, which has no journal.
fn remove_tree(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync(parent.unwrap_or(Path::new(".")))
}
