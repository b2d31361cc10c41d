//! The network namespaces of this machine. Each namespace has a default congestion control of its own; loaded
//! algorithms are offered in all namespaces.
//!
//! The kernel has no list of them. One lives as long as a thread is in it, a mount shows it, or a descriptor
//! leads to it: one of the namespace itself, of a socket, of a TUN device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};

use crate::Error;
use crate::descriptors::{
    self, Descriptor, Listing, Target, namespace_inode, namespace_of, numbers, of_process, process_name,
};

const OWN: &str = "/proc/self/ns/net";
/// Number of passes in which sockets are searched for whose network namespace is not known: a namespace can
/// appear and disappear meanwhile.
const PASSES: usize = 3;

/// A network namespace, open as long as the value lives.
#[derive(Debug)]
pub struct Namespace {
    /// Inode of the namespace, which names it as long as it exists.
    pub inode: u32,
    /// Path at which the namespace was found: its mount, a process or thread that is in it, or a descriptor.
    pub found_at: PathBuf,
    file: File,
}

impl Namespace {
    /// Returns the network namespace of this process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn own() -> Result<Namespace, Error> {
        Namespace::at(Path::new(OWN)).map_err(|cause| Error::Io { path: OWN.into(), cause })
    }

    /// Returns the network namespace that a file leads to, such as `/run/netns/NAME` or `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// The file cannot be opened, or is not a file of a namespace.
    pub fn at(path: &Path) -> io::Result<Namespace> {
        Namespace::from_file(File::open(path)?, path.to_owned())
    }

    fn from_file(file: File, found_at: PathBuf) -> io::Result<Namespace> {
        // a file below /run/netns on which nothing is mounted is left behind by a tool that was killed
        if fstatfs(&file)?.filesystem_type() != NSFS_MAGIC {
            return Err(io::Error::other("it is no namespace"));
        }
        let inode = file.metadata()?.ino() as u32; // 32 bits in the kernel: struct ns_common
        Ok(Namespace { inode, found_at, file })
    }

    /// Runs `work` in the namespace, in a thread that ends with the work.
    ///
    /// # Errors
    /// This process may not enter the namespace: this requires CAP_SYS_ADMIN there and here.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let inside = || {
            setns(&self.file, CloneFlags::CLONE_NEWNET)
                .map_err(|error| Error::Io { path: self.found_at.clone(), cause: error.into() })?;
            Ok(work())
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// Shows the process that leads to the namespace, or its path.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.found_at;
        if path == Path::new(OWN) {
            return write!(f, "this network namespace");
        }
        let mut below = path.strip_prefix("/proc").unwrap_or(Path::new("")).components();
        let process = below.next().and_then(|name| name.as_os_str().to_str()?.parse().ok()).map(process_name);
        match (process, below.next().and_then(|name| name.as_os_str().to_str())) {
            (Some(process), Some("ns" | "task")) => write!(f, "the network namespace of {process}"),
            (Some(process), Some("fd")) => {
                write!(f, "the network namespace that a descriptor of {process} keeps")
            }
            (Some(process), Some("root")) => {
                let mounted = below.as_path().display();
                write!(f, "the network namespace /{mounted} in the mount namespace of {process}")
            }
            _ => write!(f, "the network namespace {}", path.display()),
        }
    }
}

/// The network namespaces of this machine, and the places that may have others.
#[derive(Debug, Default)]
pub struct Namespaces {
    /// The namespaces that were found, first that of this process.
    pub found: Vec<Namespace>,
    /// The namespaces that exist and cannot be opened, each with the reason.
    pub closed: Vec<String>,
    /// The places that could not be searched, with the reason: a namespace that only they lead to is not
    /// found.
    pub unseen: Vec<String>,
}

/// Finds the network namespaces of this machine, by processes and their threads, by the mounts of all mount
/// namespaces, and by descriptors of processes.
///
/// # Errors
/// There is no `/proc`.
pub fn namespaces() -> Result<Namespaces, Error> {
    let mut all = Namespaces { found: vec![Namespace::own()?], ..Namespaces::default() };
    all.add_mounted(Path::new("/proc/self"), None);
    all.add_those_of_processes();
    all.add_those_of_descriptors();
    Ok(all)
}

impl Namespaces {
    fn knows(&self, inode: u32) -> bool {
        self.found.iter().any(|known| known.inode == inode)
    }

    fn add(&mut self, namespace: io::Result<Namespace>) {
        // an error: gone since, or not a namespace
        if let Ok(namespace) = namespace
            && !self.knows(namespace.inode)
        {
            self.found.push(namespace);
        }
    }

    /// Adds the namespace of a link of `/proc`, and opens it only if it is not known.
    fn add_link(&mut self, path: &Path) -> io::Result<()> {
        let link = fs::read_link(path)?;
        if link.to_str().and_then(namespace_inode).is_some_and(|inode| !self.knows(inode)) {
            self.add(Namespace::at(path));
        }
        Ok(())
    }

    /// Adds the namespaces that are mounted where a process sees them, as `ip netns` and container engines
    /// do. `root`: the root of that process, if it is not the root of this process.
    fn add_mounted(&mut self, process: &Path, root: Option<&Path>) {
        let mounts = fs::read(process.join("mountinfo")).unwrap_or_default();
        for place in mounts.split(|&byte| byte == b'\n').filter_map(mounted_namespace) {
            let seen = match root {
                Some(root) => root.join(place.strip_prefix("/").unwrap_or(&place)),
                None => place,
            };
            self.add(Namespace::at(&seen));
        }
    }

    fn add_those_of_processes(&mut self) {
        let own_mounts = fs::read_link("/proc/self/ns/mnt").ok();
        let mut mounts: BTreeSet<PathBuf> = own_mounts.into_iter().collect();
        let (mut elsewhere, mut hidden) = (Vec::new(), Vec::new());
        for process in descriptors::processes() {
            let of = of_process(process);
            match self.add_link(&of.join("ns/net")) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => hidden.push(process),
                Err(_) => {} // ended since
                Ok(()) => {
                    if let Ok(link) = fs::read_link(of.join("ns/mnt"))
                        && mounts.insert(link)
                    {
                        elsewhere.push(of.clone());
                    }
                    for thread in numbers(&of.join("task")).into_iter().filter(|&thread| thread != process) {
                        let _ = self.add_link(&of.join("task").join(thread.to_string()).join("ns/net"));
                    }
                }
            }
        }
        for of in elsewhere {
            self.add_mounted(&of, Some(&of.join("root")));
        }
        self.hide("the network namespaces", &hidden);
    }

    fn add_those_of_descriptors(&mut self) {
        let (open, hidden) = descriptors::open_in_processes();
        self.hide("the descriptors", &hidden);
        for descriptor in &open {
            match descriptor.target {
                Target::Namespace(inode) if !self.knows(inode) => self.add(Namespace::at(&descriptor.path())),
                Target::Tun => match keeper(descriptor) {
                    Ok(namespace) => namespace.into_iter().for_each(|found| self.add(Ok(found))),
                    Err(error) => {
                        let process = process_name(descriptor.process);
                        self.unseen.push(format!("the TUN device that {process} has open: {error}"));
                    }
                },
                _ => {}
            }
        }
        self.add_those_of_sockets(open);
    }

    /// Adds the namespaces of sockets. A socket is copied only if its network namespace is not known.
    fn add_those_of_sockets(&mut self, open: Vec<Descriptor>) {
        if let Err(error) = self.try_sockets(open) {
            self.unseen.push(format!("the sockets of processes: {error}"));
        }
    }

    fn try_sockets(&mut self, mut open: Vec<Descriptor>) -> Result<(), Error> {
        let listing = Listing::load()?;
        let mut closed = BTreeMap::new();
        for pass in 0..PASSES {
            let sockets = listing.read()?;
            let unknown: BTreeSet<u32> = sockets.values().map(|socket| socket.namespace_inode).collect();
            let unknown: BTreeSet<u32> = unknown.into_iter().filter(|&inode| !self.knows(inode)).collect();
            closed.retain(|inode, _| unknown.contains(inode));
            if unknown.is_empty() {
                break;
            }
            if pass > 0 {
                open = descriptors::open_in_processes().0;
            }
            for inode in unknown {
                closed.entry(inode).or_insert_with(|| "no descriptor in /proc leads to it".to_owned());
            }
            for descriptor in &open {
                let Target::Socket(file) = descriptor.target else { continue };
                let Some(inode) = sockets.get(&file).map(|socket| socket.namespace_inode) else { continue };
                if !closed.contains_key(&inode) {
                    continue;
                }
                match keeper(descriptor) {
                    Ok(Some(namespace)) => {
                        closed.remove(&namespace.inode);
                        self.add(Ok(namespace));
                    }
                    Ok(None) => {}
                    Err(error) => {
                        closed.insert(inode, format!("{}: {error}", process_name(descriptor.process)));
                    }
                }
            }
        }
        let sentence = |(inode, why): (u32, String)| format!("net:[{inode}], in which a socket is: {why}");
        self.closed.extend(closed.into_iter().map(sentence));
        Ok(())
    }

    fn hide(&mut self, what: &str, processes: &[u32]) {
        if let Some(&first) = processes.first() {
            let others = match processes.len() {
                1 => String::new(),
                count => format!(" and {} other processes", count - 1),
            };
            self.unseen.push(format!("{what} of {}{others}: permission denied", process_name(first)));
        }
    }
}

/// Returns the network namespace that a socket or a TUN device keeps. `None`: the descriptor has been closed.
fn keeper(descriptor: &Descriptor) -> io::Result<Option<Namespace>> {
    let Some(taken) = descriptor.take()? else { return Ok(None) };
    Namespace::from_file(namespace_of(&taken)?, descriptor.path()).map(Some)
}

/// Returns the path of a network namespace in a line of `mountinfo`: proc_pid_mountinfo(5). Bytes such as a
/// space are written as `\040`.
fn mounted_namespace(line: &[u8]) -> Option<PathBuf> {
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let [_, _, _, root, place, ..] = words[..] else { return None };
    namespace_inode(std::str::from_utf8(root).ok()?)?;
    let mut bytes = Vec::new();
    let mut rest = place;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = tail.first_chunk::<3>().filter(|_| first == b'\\');
        let code = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_namespace_is_found_in_any_line_and_its_escapes_are_read() {
        let line = |root: &str, place: &str| {
            format!("812 29 0:4 {root} {place} rw shared:1 - nsfs nsfs rw").into_bytes()
        };
        for (root, place, wanted) in [
            ("net:[4026532281]", "/run/netns/a", Some("/run/netns/a")),
            ("net:[4026532281]", "/run/netns/two\\040words\\134", Some("/run/netns/two words\\")),
            ("net:[4026532281]", "/run/x\\9", Some("/run/x\\9")),
            ("mnt:[4026532281]", "/run/netns/a", None),
            ("/", "/run", None),
        ] {
            let found = mounted_namespace(&line(root, place));
            assert_eq!(found.as_deref(), wanted.map(Path::new), "{root} {place}");
        }
        assert_eq!(mounted_namespace(b""), None);
    }

    #[test]
    fn a_namespace_is_named_by_what_leads_to_it() {
        let own = std::process::id();
        let name = |path: String| {
            let file = File::open(OWN).expect("/proc");
            Namespace::from_file(file, path.into()).expect("it is one").to_string()
        };
        let process = process_name(own);
        for (path, wanted) in [
            (OWN.to_owned(), "this network namespace".to_owned()),
            (format!("/proc/{own}/ns/net"), format!("the network namespace of {process}")),
            (format!("/proc/{own}/task/{own}/ns/net"), format!("the network namespace of {process}")),
            (
                format!("/proc/{own}/fd/7"),
                format!("the network namespace that a descriptor of {process} keeps"),
            ),
            (
                format!("/proc/{own}/root/run/netns/a"),
                format!("the network namespace /run/netns/a in the mount namespace of {process}"),
            ),
            ("/run/netns/a".to_owned(), "the network namespace /run/netns/a".to_owned()),
        ] {
            assert_eq!(name(path), wanted);
        }
    }
}
