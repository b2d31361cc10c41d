//! The BPF file system. An object that is pinned there stays in the kernel when the program that loaded it
//! ends.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libbpf_rs::Link;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::Error;
use crate::error::system_error;

/// Path at which Linux distributions mount the BPF file system.
const ROOT: &str = "/sys/fs/bpf";
/// Directory of the pins of this library: one link per loaded algorithm, named as in the kernel.
const PINS: &str = "/sys/fs/bpf/fairpace";
/// Mode of this directory: only root may open a pin, since opening allows unloading, whatever the umask is.
const MODE: u32 = 0o700;
/// Longest time for which another process may hold the lock. Loading all algorithms takes some seconds.
const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// The right to change pins, which one process at a time has; a killed process loses it.
///
/// The right is a lock on the root of the file system, which exists as long as the file system does.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read")] Flock<File>);

impl Lock {
    /// Waits for the lock. `None`: the file system is not mounted, so nothing is pinned.
    pub(crate) fn take() -> Result<Option<Lock>, Error> {
        Lock::take_unless(&|| false)
    }

    /// Waits for the lock until `stop` returns true.
    pub(crate) fn take_unless(stop: &dyn Fn() -> bool) -> Result<Option<Lock>, Error> {
        if !is_mounted() {
            return Ok(None);
        }
        let lock = Lock::of_root(stop)?;
        check_owner()?;
        Ok(Some(lock))
    }

    /// Locks the present directory at [`ROOT`]: the file system, or the directory that it will be mounted on.
    fn of_root(stop: &dyn Fn() -> bool) -> Result<Lock, Error> {
        let deadline = Instant::now() + LOCK_LIMIT;
        let mut root = File::open(ROOT).map_err(|cause| match cause.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::NotPermitted { missing: vec!["the right to open /sys/fs/bpf"] }
            }
            _ => failed(ROOT, cause),
        })?;
        loop {
            match Flock::lock(root, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Lock(lock)),
                Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) if Instant::now() < deadline => root = back,
                Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => {
                    return Err(Error::Locked { limit: LOCK_LIMIT });
                }
                Err((_, error)) => return Err(failed(ROOT, error.into())),
            }
            if stop() {
                return Err(Error::Interrupted);
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Mounts the file system if it is not mounted, and waits for the lock until `stop` returns true.
    pub(crate) fn take_mounting(stop: &dyn Fn() -> bool) -> Result<Lock, Error> {
        // one process mounts: a second mount would hide the pins of the first
        let _below = if is_mounted() { None } else { Some(Lock::of_root(stop)?) };
        if !is_mounted() {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RELATIME;
            mount(Some("bpf"), ROOT, Some("bpf"), flags, Some("mode=700"))
                .map_err(|error| failed(ROOT, error.into()))?;
        }
        Lock::take_unless(stop)?.ok_or_else(|| failed(ROOT, io::ErrorKind::NotFound.into()))
    }
}

/// Returns an error of this file system.
pub(crate) fn failed(path: impl Into<PathBuf>, cause: io::Error) -> Error {
    Error::Bpffs { path: path.into(), cause }
}

/// Returns the pin of the link of this kernel name, or a directory of pins.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(PINS).join(name)
}

/// Fails if users other than root can change the pins: they could make root unload other objects.
fn check_owner() -> Result<(), Error> {
    let found = match fs::symlink_metadata(PINS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|cause| failed(PINS, cause))?,
    };
    let is_roots = found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
    if is_roots { Ok(()) } else { Err(Error::Untrusted { path: PINS.into() }) }
}

/// Opens a pinned link. Another kind of object is an error: libbpf would take it for a link.
pub(crate) fn open_link(path: &Path) -> Result<Link, Error> {
    let link = Link::open(path).map_err(|error| failed(path, system_error(error)))?;
    let info = format!("/proc/self/fdinfo/{}", link.as_fd().as_raw_fd());
    let info = fs::read_to_string(&info).map_err(|cause| failed(info, cause))?;
    if info.lines().any(|line| line.starts_with("link_id:")) {
        return Ok(link);
    }
    Err(failed(path, io::Error::other("it is not the pin of a BPF link")))
}

pub(crate) fn is_mounted() -> bool {
    statfs(ROOT).is_ok_and(|s| s.filesystem_type() == BPF_FS_MAGIC)
}

/// Returns whether this process may open the directory at [`ROOT`], which locking requires.
pub(crate) fn may_open() -> bool {
    File::open(ROOT).map_or_else(|error| error.kind() != io::ErrorKind::PermissionDenied, |_| true)
}

/// Makes a directory for pins, with its parents.
pub(crate) fn make_directory(name: &str) -> Result<PathBuf, Error> {
    let path = path(name);
    DirBuilder::new().recursive(true).mode(MODE).create(&path).map_err(|cause| failed(&path, cause))?;
    // as an earlier version, or another umask, may have made it
    fs::set_permissions(PINS, Permissions::from_mode(MODE)).map_err(|cause| failed(PINS, cause))?;
    Ok(path)
}

/// Removes the directory of pins if it is empty.
pub(crate) fn remove_if_empty() {
    let _ = fs::remove_dir(PINS); // intended to fail while pins are there
}

/// Returns the names of the pins in a directory; none if it does not exist. `""` is the directory of all
/// pins.
pub(crate) fn pins(directory: &str) -> Result<Vec<String>, Error> {
    let path = path(directory);
    let entries = match fs::read_dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|cause| failed(&path, cause))?,
    };
    let is_pin = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok().filter(is_pin)?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}
