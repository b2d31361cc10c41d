//! Open descriptors of processes: sockets, and descriptors of network namespaces.
//!
//! The kernel's side is a BPF iterator that changes nothing (`descriptors` of
//! `cc/bpf/socket_iterators.bpf.c`): it reports the network namespace and the algorithm of each socket.
//! `/proc` says in which process the socket is. Only a socket that is needed is then taken (pidfd_getfd(2)),
//! since a process that receives a socket gives it its own classes of cgroup v1 (`__receive_sock`,
//! net/core/sock.c).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use libbpf_rs::Link;
use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::fstat;

use crate::Error;
use crate::iterators::{self, Iterator, field};

/// Size of `struct descriptor_record` of the object, bytes.
const RECORD: usize = 48;
/// The ioctl of a socket or TUN device that opens its network namespace (linux/sockios.h).
const SIOCGSKNS: libc::Ioctl = 0x894C;
/// Path to which a descriptor of a TUN device leads; the device keeps the network namespace in which it was
/// opened.
const TUN: &str = "/dev/net/tun";

/// A socket that a process has a descriptor of, as the kernel sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Socket {
    /// Inode of the socket's network namespace.
    pub(crate) namespace_inode: u32,
    /// Protocol: `IPPROTO_TCP`, `IPPROTO_MPTCP`; 0: any other, or no stream of IP.
    pub(crate) protocol: i32,
    /// State: `enum` of include/net/tcp_states.h.
    pub(crate) state: u8,
    /// TCP: true if neither setsockopt nor the socket's listener chose an algorithm.
    pub(crate) never_chose: bool,
    /// TCP: name of the socket's algorithm.
    pub(crate) name: String,
    /// The default of the socket's network namespace.
    pub(crate) assumed: String,
}

/// A list of the sockets of processes. Loaded once, it can be read several times.
pub(crate) struct Listing(Iterator, Link);

impl Listing {
    pub(crate) fn load() -> Result<Listing, Error> {
        let iterator = Iterator::load("descriptors", |_| Ok(()))?;
        let link = iterator.attach_to_all()?;
        Ok(Listing(iterator, link))
    }

    /// Returns the sockets of all processes, by the inode that `/proc/PID/fd` shows.
    pub(crate) fn read(&self) -> Result<BTreeMap<u64, Socket>, Error> {
        let Listing(_loaded, link) = self;
        Ok(iterators::read(link)?.iter().map(socket).collect())
    }
}

fn socket(record: &[u8; RECORD]) -> (u64, Socket) {
    let text = |bytes: [u8; 16]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let socket = Socket {
        namespace_inode: u32::from_ne_bytes(field(record, 8)),
        protocol: u16::from_ne_bytes(field(record, 12)).into(),
        state: record[14],
        never_chose: record[15] != 0,
        name: text(field(record, 16)),
        assumed: text(field(record, 32)),
    };
    (u64::from_ne_bytes(field(record, 0)), socket)
}

/// The kinds of open files that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A socket, by the inode of its file.
    Socket(u64),
    /// A network namespace, by its inode.
    Namespace(u32),
    /// A TUN device.
    Tun,
}

/// A descriptor of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) process: u32,
    number: RawFd,
    pub(crate) target: Target,
}

impl Descriptor {
    /// Returns the descriptor's file in `/proc`.
    pub(crate) fn path(&self) -> PathBuf {
        of_process(self.process).join("fd").join(self.number.to_string())
    }

    /// Returns a copy of the descriptor in this process. `None`: it has been closed, or leads to another
    /// file.
    pub(crate) fn take(&self) -> io::Result<Option<OwnedFd>> {
        let taken = match take(self.process, self.number) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EBADF)) => return Ok(None),
            other => other?,
        };
        match self.target {
            Target::Socket(inode) if fstat(&taken)?.st_ino != inode => Ok(None),
            _ => Ok(Some(taken)),
        }
    }
}

/// Returns the descriptors of all processes that lead to files that matter here, and the processes whose
/// descriptors this process may not see.
pub(crate) fn open_in_processes() -> (Vec<Descriptor>, Vec<u32>) {
    let (mut all, mut hidden) = (Vec::new(), Vec::new());
    for process in processes() {
        let entries = match fs::read_dir(of_process(process).join("fd")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                hidden.push(process);
                continue;
            }
            Err(_) => continue, // ended since
        };
        all.extend(entries.flatten().filter_map(|entry| {
            let target = target(&fs::read_link(entry.path()).ok()?)?;
            Some(Descriptor { process, number: entry.file_name().to_str()?.parse().ok()?, target })
        }));
    }
    (all, hidden)
}

fn target(link: &Path) -> Option<Target> {
    let text = link.to_str()?;
    if let Some(inode) = namespace_inode(text) {
        return Some(Target::Namespace(inode));
    }
    let socket = text.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
    socket.map(Target::Socket).or_else(|| (text == TUN).then_some(Target::Tun))
}

/// Returns the inode in `net:[4026531840]`, as links of `/proc` and the list of mounts name a network
/// namespace.
pub(crate) fn namespace_inode(text: &str) -> Option<u32> {
    text.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns the processes that `/proc` shows.
pub(crate) fn processes() -> Vec<u32> {
    numbers(Path::new("/proc"))
}

/// Returns the entries of a folder whose names are numbers, in their order.
pub(crate) fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    all.sort_unstable();
    all
}

pub(crate) fn of_process(process: u32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

/// Returns a text that names a process: its number and the name of its program.
pub(crate) fn process_name(process: u32) -> String {
    let command = fs::read_to_string(of_process(process).join("comm")).unwrap_or_default();
    format!("process {process} ({})", command.trim())
}

/// Copies a descriptor by pidfd_getfd(2), since Linux 5.6, which requires the right to trace the process.
fn take(process: u32, number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open has two numbers as arguments, and returns a descriptor or -1
    let process = unsafe { owned(libc::syscall(libc::SYS_pidfd_open, process, 0))? };
    // SAFETY: pidfd_getfd has three numbers as arguments, and returns a descriptor or -1
    unsafe { owned(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0)) }
}

/// Returns the network namespace of a socket or of a TUN device.
pub(crate) fn namespace_of(taken: &OwnedFd) -> io::Result<File> {
    // SAFETY: SIOCGSKNS has no argument, and returns a descriptor or -1
    let namespace = unsafe { owned(libc::ioctl(taken.as_raw_fd(), SIOCGSKNS).into())? };
    Ok(File::from(namespace))
}

/// Returns the descriptor that a system call made.
///
/// # Safety
/// `result` is the result of a system call that makes a descriptor or fails.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let number = RawFd::try_from(Errno::result(result)?).map_err(io::Error::other)?;
    // SAFETY: the caller says that the kernel has just made it for us
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_proc_are_read() {
        for (link, wanted) in [
            ("socket:[17]", Some(Target::Socket(17))),
            ("net:[4026531840]", Some(Target::Namespace(4_026_531_840))),
            ("/dev/net/tun", Some(Target::Tun)),
            ("mnt:[4026531841]", None),
            ("socket:17", None),
            ("/tmp/socket:[17]", None),
        ] {
            assert_eq!(target(Path::new(link)), wanted, "{link}");
        }
    }
}
