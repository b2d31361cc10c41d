//! The directory of one invocation: its entries before the run, and their state after it.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;

use super::case::{Act, Entry};

/// Creates the entries.
pub(super) fn make(root: &Path, entries: &[(PathBuf, Entry)]) -> io::Result<()> {
    for (path, entry) in entries {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match entry {
            Entry::File(content) => fs::write(&path, content)?,
            Entry::Locked(content) => {
                fs::write(&path, content)?;
                fs::set_permissions(&path, Permissions::from_mode(0o000))?;
            }
            Entry::Dir => fs::create_dir_all(&path)?,
            Entry::LockedDir => {
                fs::create_dir_all(&path)?;
                fs::set_permissions(&path, Permissions::from_mode(0o555))?;
            }
            Entry::Link(target) => symlink(target, &path)?,
            Entry::Fifo => nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?,
        }
    }
    Ok(())
}

/// Performs an event in which the user creates a file. If the program has already created an entry at the
/// path, nothing happens.
pub(super) fn act(root: &Path, act: &Act) -> Option<(PathBuf, Entry)> {
    match act {
        Act::Signal(_) => None,
        Act::Link(path, target) => {
            symlink(target, root.join(path)).ok()?;
            Some((path.clone(), Entry::Link(target.clone())))
        }
        Act::Write(path, content) => {
            let whole = root.join(path);
            if let Some(parent) = whole.parent() {
                fs::create_dir_all(parent).ok()?;
            }
            let mut file = fs::File::create_new(&whole).ok()?;
            io::Write::write_all(&mut file, content).ok()?;
            Some((path.clone(), Entry::File(content.clone())))
        }
    }
}

/// Gives all entries to a user.
pub(super) fn give(root: &Path, user: u32) -> io::Result<()> {
    for path in listing(root) {
        lchown(root.join(path), Some(user), Some(user))?;
    }
    lchown(root, Some(user), Some(user))
}

/// All paths below the directory, without following links.
pub(super) fn listing(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(root.join(&dir)) else { continue };
        for entry in entries.flatten() {
            let path = dir.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

/// Descriptions of the user's entries that are changed or gone.
pub(super) fn lost(root: &Path, entries: &[(PathBuf, Entry)]) -> Vec<String> {
    let is_kept = |path: &Path, entry: &Entry| match entry {
        Entry::File(content) => {
            let is_file = fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
            is_file && fs::read(path).is_ok_and(|there| there == *content)
        }
        Entry::Link(target) => fs::read_link(path).is_ok_and(|there| there == Path::new(target)),
        Entry::Dir | Entry::LockedDir => path.is_dir(),
        Entry::Locked(_) | Entry::Fifo => fs::symlink_metadata(path).is_ok(),
    };
    let gone = entries.iter().filter(|(path, entry)| !is_kept(&root.join(path), entry));
    gone.map(|(path, _)| path.to_string_lossy().into_owned()).collect()
}

/// Removes a directory with its content, even if its owner may not write to it.
pub(super) fn remove(root: &Path) {
    if fs::remove_dir_all(root).is_ok() {
        return;
    }
    for path in listing(root) {
        let path = root.join(path);
        if path.is_dir() && !path.is_symlink() {
            let _ = fs::set_permissions(&path, Permissions::from_mode(0o700)); // its removal shows whether
        }
    }
    let _ = fs::remove_dir_all(root); // the session's directory goes away, too
}
