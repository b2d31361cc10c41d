//! The staging directory, in which a result is written: `.fairpace-PID-RANDOM`, with the files in `new` below
//! it.
//!
//! The process holds a lock on its staging directory. A directory without that lock is a leftover of a
//! process that was killed; the next command that writes to the same place finishes or removes it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Prefix of the names of staging directories.
const PREFIX: &str = ".fairpace-";
/// Length of the random part of a name, as tempfile makes it.
const RANDOM_LENGTH: usize = 6;
/// Name of the journal. It exists from just before old and new files are exchanged; from then on, files in
/// `new` may be of another origin.
pub(super) const JOURNAL: &str = "journal";
/// Name of the manifest of the earlier result, whose files are replaced one by one.
pub(super) const EARLIER: &str = "earlier.json";
/// Names of two directories with which a test before the run finds out whether directories can be exchanged.
pub(super) const TRIAL: [&str; 2] = ["one", "other"];
/// Name of the directory with the new files.
const NEW: &str = "new";

/// A staging directory that this process has locked.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    _lock: File,
}

impl Staging {
    /// Creates a staging directory in `parent`.
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        loop {
            let made = tempfile::Builder::new()
                .prefix(&format!("{PREFIX}{}-", std::process::id()))
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(parent)?
                .keep();
            // another process may take it for a leftover before it is locked, and remove it
            let held = Self::hold(&made).and_then(|held| match held {
                Some(staging) => fs::create_dir(staging.new_dir()).map(|()| Some(staging)),
                None => Ok(None),
            });
            match held {
                Ok(Some(staging)) => return Ok(staging),
                Ok(None) => {}
                Err(error) => {
                    let _ = fs::remove_dir(&made); // empty; the first error says more
                    return Err(error);
                }
            }
        }
    }

    /// Locks a staging directory; `None` if another process has locked it, or if it no longer exists.
    fn hold(path: &Path) -> io::Result<Option<Self>> {
        let lock = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other?,
        }
        let still = fs::metadata(path).is_ok_and(|now| lock.metadata().is_ok_and(|it| it.ino() == now.ino()));
        Ok(still.then(|| Self { path: path.to_owned(), _lock: lock }))
    }

    /// Path of the staging directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the directory for the new files.
    pub(super) fn new_dir(&self) -> PathBuf {
        self.path.join(NEW)
    }

    /// Path of the journal.
    pub(super) fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// Moves the staging directory into `dir`, whose files are replaced one by one.
    pub(super) fn moved_into(self, dir: &Path) -> io::Result<Self> {
        let path = dir.join(self.path.file_name().unwrap_or_default());
        fs::rename(&self.path, &path)?;
        Ok(Self { path, ..self })
    }

    /// Removes the staging directory. Before the journal exists, everything in it is ours.
    pub(super) fn discard(self) -> io::Result<()> {
        if self.journal().exists() {
            return fs::remove_file(self.journal()).and_then(|()| fs::remove_dir(&self.path));
        }
        fs::remove_dir_all(&self.path)
    }
}

/// The staging directories in `parent` that killed processes of this user left. This process locks them.
///
/// A directory of another user, or one that others may write to, is never a leftover, because what a
/// leftover's journal says is done.
pub(super) fn leftovers(parent: &Path) -> io::Result<Vec<Staging>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(is_name) || !is_ours(&entry.path()) {
            continue;
        }
        if let Ok(Some(staging)) = Staging::hold(&entry.path()) {
            found.push(staging);
        }
    }
    Ok(found)
}

/// Whether a name has the form `.fairpace-PID-RANDOM`.
fn is_name(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(pid, random)| pid.parse::<u32>().is_ok() && random.len() == RANDOM_LENGTH)
}

/// Whether this user made the directory for this purpose: no other user may write to it, and it holds no
/// other files.
fn is_ours(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            [NEW, JOURNAL, EARLIER].iter().chain(&TRIAL).any(|known| entry.file_name() == *known)
        })
    };
    found.is_dir()
        && found.uid() == geteuid().as_raw()
        && found.mode() & 0o077 == 0
        && fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_known))
}
