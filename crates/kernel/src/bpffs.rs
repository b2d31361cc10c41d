//! The BPF file system. What is pinned there stays in the kernel when the program that loaded it ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::Error;

/// Where Linux distributions mount it.
const ROOT: &str = "/sys/fs/bpf";
/// Our pins: one link per loaded algorithm, named as in the kernel.
const PINS: &str = "/sys/fs/bpf/fairpace";

/// How often a pin is tried: each time, another process may remove the directory with its own last pin.
const ATTEMPTS: u32 = 10;

/// The pin of the link of this kernel name.
pub(crate) fn pin_path(name: &str) -> PathBuf {
    Path::new(PINS).join(name)
}

pub(crate) fn is_mounted() -> bool {
    statfs(ROOT).is_ok_and(|s| s.filesystem_type() == BPF_FS_MAGIC)
}

/// Pins with `pin`, which gets the path, in a directory that exists then. [`unpin`] in another thread or
/// process removes the directory with the last pin, possibly just before this one is there.
pub(crate) fn pin(name: &str, mut pin: impl FnMut(&Path) -> io::Result<()>) -> Result<(), Error> {
    let path = pin_path(name);
    let mut attempt = || {
        prepare()?;
        pin(&path).map_err(|cause| Error::Bpffs { path: path.clone(), cause })
    };
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(Error::Bpffs { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    attempt()
}

/// Makes the pin directory, and mounts the file system if it is not mounted.
fn prepare() -> Result<(), Error> {
    let failed = |path: &str, cause: io::Error| Error::Bpffs { path: path.into(), cause };
    if !is_mounted() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RELATIME;
        mount(Some("bpf"), ROOT, Some("bpf"), flags, Some("mode=700")).map_err(|e| failed(ROOT, e.into()))?;
    }
    fs::create_dir_all(PINS).map_err(|e| failed(PINS, e))
}

/// Removes a pin, and the directory with the last one.
pub(crate) fn unpin(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(|cause| Error::Bpffs { path: path.into(), cause })?;
    let _ = fs::remove_dir(PINS); // intended to fail while other pins are there
    Ok(())
}

/// The names that are pinned.
pub(crate) fn pins() -> Result<Vec<String>, Error> {
    if !is_mounted() {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(PINS) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(Error::Bpffs { path: PINS.into(), cause }),
    };
    Ok(entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_goes_away_before_the_pin_is_made_again() {
        if let Err(e) = crate::Features::probe().require() {
            return fairpace_test_support::skip(&e.to_string());
        }
        let mut calls = 0;
        let pinned = pin("nothing", |path| {
            calls += 1;
            assert_eq!(path, Path::new("/sys/fs/bpf/fairpace/nothing"));
            if calls < 3 { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
        });
        assert!(pinned.is_ok() && calls == 3, "{pinned:?} after {calls} calls");
        for (kind, attempts) in [(io::ErrorKind::PermissionDenied, 1), (io::ErrorKind::NotFound, ATTEMPTS)] {
            let mut calls = 0;
            let refused = pin("nothing", |_| {
                calls += 1;
                Err(kind.into())
            });
            assert!(
                matches!(&refused, Err(Error::Bpffs { cause, .. }) if cause.kind() == kind),
                "{refused:?}"
            );
            assert_eq!(calls, attempts, "{kind}");
        }
        let _ = fs::remove_dir(PINS); // stays while it has pins of another test
    }
}
