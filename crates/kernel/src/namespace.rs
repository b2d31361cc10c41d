//! The network namespaces of this machine. Each has a default congestion control of its own; what is loaded
//! is offered in all of them.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::Error;

/// Where `ip netns`, Docker and Podman (as root) mount the namespaces that they make.
const MOUNTED: [&str; 3] = ["/run/netns", "/run/docker/netns", "/var/run/netns"];
const OWN: &str = "/proc/self/ns/net";

/// A network namespace, open as long as the value lives.
#[derive(Debug)]
pub struct Namespace {
    /// Its inode, which names it as long as it exists.
    pub inode: u32,
    /// Where it was found: a file below `/run/netns`, or a process that is in it.
    pub found_at: PathBuf,
    file: File,
}

impl Namespace {
    /// The one of this process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn own() -> Result<Namespace, Error> {
        Namespace::at(Path::new(OWN)).map_err(|cause| Error::Io { path: OWN.into(), cause })
    }

    fn at(path: &Path) -> std::io::Result<Namespace> {
        let file = File::open(path)?;
        let inode = file.metadata()?.ino() as u32; // 32 bits in the kernel: struct ns_common
        Ok(Namespace { inode, found_at: path.to_owned(), file })
    }

    /// Does something in it, in a thread that ends with the work.
    ///
    /// # Errors
    /// This process may not enter it: that takes CAP_SYS_ADMIN there and here.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let inside = || {
            setns(&self.file, CloneFlags::CLONE_NEWNET)
                .map_err(|error| Error::Io { path: self.found_at.clone(), cause: error.into() })?;
            Ok(work())
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// All network namespaces that a process is in or that are mounted where `ip netns` and container engines
/// mount them, the one of this process first. One that only an open file keeps is not found.
///
/// # Errors
/// There is no `/proc`.
pub fn namespaces() -> Result<Vec<Namespace>, Error> {
    let mut all = vec![Namespace::own()?];
    let mut add = |path: &Path| {
        // gone since, or not a namespace
        let Ok(found) = Namespace::at(path) else { return };
        if is_network_namespace(path) && all.iter().all(|known| known.inode != found.inode) {
            all.push(found);
        }
    };
    for folder in MOUNTED {
        let mut paths: Vec<PathBuf> = entries(Path::new(folder));
        paths.sort();
        paths.iter().for_each(|path| add(path));
    }
    let mut processes: Vec<(u32, PathBuf)> = entries(Path::new("/proc"))
        .into_iter()
        .filter_map(|path| Some((path.file_name()?.to_str()?.parse().ok()?, path.join("ns/net"))))
        .collect();
    processes.sort();
    processes.iter().for_each(|(_, path)| add(path));
    Ok(all)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.flatten().map(|entry| entry.path()).collect())
}

/// A file below `/run/netns` on which nothing is mounted is left behind by a tool that was killed.
fn is_network_namespace(path: &Path) -> bool {
    use nix::sys::statfs::{NSFS_MAGIC, statfs};
    statfs(path).is_ok_and(|found| found.filesystem_type() == NSFS_MAGIC)
}
