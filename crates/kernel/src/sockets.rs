//! The sockets that use loaded algorithms: counted, and moved to another algorithm.
//!
//! The BPF iterator over the socket storage of an algorithm counts them. The BPF iterator over TCP sockets
//! moves them; it also visits sockets without a process. [`move_sockets`] is its only user, and uses it only
//! if [`Walk`] says so: `tcp_iterator.rs` has the versions of Linux that it can panic.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{Link, MapType};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

use crate::descriptors::{Listing, Socket, Target, open_in_processes, process_name};
use crate::iterators::{Iterator, configure, field, read};
use crate::{Entry, Error, Namespace, Walk, features, list};

/// Size of `struct socket_record` of the object, bytes.
const RECORD: usize = 16;
/// KIND_LISTENER of the object: a listener that never chose and was moved.
const LISTENER: u32 = 1;
/// KIND_LISTENER_LEFT of the object: a listener that never chose and was not moved.
const LISTENER_LEFT: u32 = 2;
/// Size of a name in the kernel, bytes: TCP_CA_NAME_MAX (include/net/tcp.h).
const NAME_BYTES: usize = 16;
/// Most names that can be moved at once: MOVE_FROM_NAMES_MAX of the object.
const MOST_NAMES: usize = 64;
/// Most passes over all sockets. The iterator of kernels before 6.17 can miss sockets while others open and
/// close, and so can a walk through `/proc`. So passes repeat until a pass finds no socket to move; each
/// further pass is needed more rarely than the pass before.
const PASSES: usize = 10;
/// The state of a socket that is neither connected nor listening (include/net/tcp_states.h).
const TCP_CLOSE: u8 = 7;
/// The state of a listener.
const TCP_LISTEN: u8 = 10;

/// The sockets of a loaded algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    /// Id of the algorithm's struct_ops map ([`Entry::map_id`]): an algorithm that was replaced has two.
    pub map_id: u32,
    /// Number of sockets by the inode of their network namespace (`/proc/self/ns/net`).
    pub sockets: BTreeMap<u32, usize>,
}

impl Users {
    /// Number of sockets in all network namespaces.
    pub fn total(&self) -> usize {
        self.sockets.values().sum()
    }
}

/// Counts the sockets of these algorithms, in all network namespaces. Sockets without a connection, such as
/// listening ones, have no state, and are not counted.
///
/// # Errors
/// The kernel does not let BPF objects be listed or iterators be loaded.
pub fn users(entries: &[Entry]) -> Result<Vec<Users>, Error> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    features::require_walk()?;
    let iterator = Iterator::load("users", |_| Ok(()))?;
    let mut all = Vec::new();
    for entry in entries {
        let mut sockets = BTreeMap::new();
        if let Some(storage) = list::sibling(entry, |map| map.ty == MapType::SkStorage)? {
            let link = iterator.attach(|program| program.attach_iter(storage.as_fd()))?;
            for record in read::<RECORD>(&link)? {
                *sockets.entry(u32::from_ne_bytes(field(&record, 0))).or_insert(0) += 1;
            }
        }
        all.push(Users { map_id: entry.map_id, sockets });
    }
    Ok(all)
}

/// A plan to move sockets: their present algorithms, and the algorithm that they get.
///
/// A listener that never chose an algorithm gives accepted sockets the default of its network namespace,
/// whatever its own algorithm is (`tcp_ca_openreq_child`, net/ipv4/tcp_cong.c). To move it makes its
/// algorithm its choice, which nothing takes back.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    /// Kernel names of the algorithms that the sockets have now.
    pub from: &'a [&'a str],
    /// Kernel name of the algorithm that the sockets get, which the kernel must offer. A socket that never
    /// chose and has no connection gets the default of its network namespace, unless that is one of `from`.
    pub to: &'a str,
    /// True if listeners that never chose are moved, too. They keep the old algorithm's state in the kernel
    /// until they close, though no packet is sent by it.
    pub frees: bool,
}

/// The result of [`move_sockets`].
#[derive(Debug, Default)]
pub struct Moved {
    /// Number of sockets that now have another algorithm.
    pub moved: usize,
    /// Number of listeners among them that never chose: sockets that they accept do not follow the default
    /// any more.
    pub listeners_moved: usize,
    /// Number of listeners that never chose and were not moved, by their algorithm.
    pub listeners_left: BTreeMap<String, usize>,
    /// Sockets that could not be moved, and places that could not be searched.
    pub failures: Vec<Error>,
}

/// Gives the sockets of some algorithms in these network namespaces another algorithm.
///
/// # Errors
/// Too many or too long names. Other failures are in [`Moved::failures`].
pub fn move_sockets(plan: &Move<'_>, walk: Walk, namespaces: &[Namespace]) -> Result<Moved, Error> {
    let config = plan.config()?;
    let mut moved = Moved::default();
    if walk == Walk::Iterator {
        match Mover::load(plan, &config) {
            Ok(mover) => namespaces.iter().for_each(|namespace| mover.run_in(namespace, &mut moved)),
            Err(error) => moved.failures.push(error),
        }
    }
    // also where the iterator has been: it does not see sockets that are neither connected nor listening
    let inodes: BTreeSet<u32> = namespaces.iter().map(|namespace| namespace.inode).collect();
    if let Err(error) = ByDescriptors::new(plan, walk, &inodes).run(&mut moved) {
        moved.failures.push(error);
    }
    Ok(moved)
}

impl Moved {
    fn leave(&mut self, name: &str) {
        *self.listeners_left.entry(name.to_owned()).or_default() += 1;
    }
}

impl Move<'_> {
    /// Returns `struct move_config` of the object.
    fn config(&self) -> Result<Vec<u8>, Error> {
        if self.from.len() > MOST_NAMES {
            return Err(Error::BadName { name: self.from.join(", ") });
        }
        let mut config = [self.from.len() as u32, u32::from(self.frees)].map(u32::to_ne_bytes).concat();
        let empty = std::iter::repeat_n("", MOST_NAMES - self.from.len());
        for name in self.from.iter().copied().chain(empty).chain([self.to]) {
            if name.len() >= NAME_BYTES {
                return Err(Error::BadName { name: name.to_owned() });
            }
            let mut bytes = [0; NAME_BYTES];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            config.extend(bytes);
        }
        Ok(config)
    }
}

/// Moves sockets by the iterator over TCP sockets.
struct Mover<'a> {
    plan: &'a Move<'a>,
    _iterator: Iterator,
    link: Link,
}

impl<'a> Mover<'a> {
    fn load(plan: &'a Move<'a>, config: &[u8]) -> Result<Mover<'a>, Error> {
        let iterator = Iterator::load("move", |open| configure(open, config))?;
        let link = iterator.attach_to_all()?;
        Ok(Mover { plan, _iterator: iterator, link })
    }

    /// Moves the sockets of a network namespace. Sockets that were moved before an error stay moved.
    fn run_in(&self, namespace: &Namespace, all: &mut Moved) {
        match namespace.enter(|| self.run(all)) {
            Ok(Ok((_, 0))) => {}
            Ok(Ok((errno, sockets))) => all.failures.push(Error::NotMoved {
                sockets,
                of: namespace.to_string(),
                cause: io::Error::from_raw_os_error(errno),
            }),
            Ok(Err(error)) | Err(error) => all.failures.push(error),
        }
    }

    /// Moves the sockets of the calling thread's network namespace. Returns, for the last pass, the error
    /// number of a socket that could not be moved, and the number of such sockets.
    fn run(&self, all: &mut Moved) -> Result<(i32, usize), Error> {
        let (mut errno, mut refused, mut left) = (0, 0, Vec::new());
        for _ in 0..PASSES {
            (errno, refused) = (0, 0);
            left.clear();
            let before = all.moved;
            for record in read::<RECORD>(&self.link)? {
                let kind = u32::from_ne_bytes(field(&record, 4));
                let from = u32::from_ne_bytes(field(&record, 8)) as usize;
                let error = i32::from_ne_bytes(field(&record, 12));
                match (kind, error) {
                    (LISTENER_LEFT, _) => left.extend(self.plan.from.get(from)),
                    (_, 0) => {
                        all.moved += 1;
                        all.listeners_moved += usize::from(kind == LISTENER);
                    }
                    _ => (errno, refused) = (-error, refused + 1),
                }
            }
            if all.moved == before {
                break;
            }
        }
        left.into_iter().for_each(|name| all.leave(name));
        Ok((errno, refused))
    }
}

/// Moves sockets by the descriptors of processes.
struct ByDescriptors<'a> {
    plan: &'a Move<'a>,
    /// True if no other walk has visited these sockets.
    alone: bool,
    namespaces: &'a BTreeSet<u32>,
}

/// The action on a socket.
#[derive(Debug, PartialEq, Eq)]
enum Task<'a> {
    /// No action: the plan does not include the socket.
    Nothing,
    /// The socket is a listener that never chose, and is not moved.
    Leave,
    /// The socket gets this algorithm.
    Give(&'a str),
}

/// The reason why a socket could not be moved.
struct Refusal {
    of: String,
    cause: io::Error,
}

impl Refusal {
    fn hidden() -> Refusal {
        Refusal { of: "processes".to_owned(), cause: io::Error::other("/proc does not show the descriptor") }
    }
}

impl<'a> ByDescriptors<'a> {
    fn new(plan: &'a Move<'a>, walk: Walk, namespaces: &'a BTreeSet<u32>) -> Self {
        ByDescriptors { plan, alone: walk == Walk::Descriptors, namespaces }
    }

    fn task<'b>(&self, socket: &'b Socket) -> Task<'b>
    where
        'a: 'b,
    {
        let is_ours = |name: &str| self.plan.from.contains(&name);
        match socket.protocol {
            _ if !self.namespaces.contains(&socket.namespace_inode) => Task::Nothing,
            // its algorithm is that of its connections, which the iterator has moved
            libc::IPPROTO_MPTCP if self.alone && socket.state != TCP_LISTEN => Task::Give(self.plan.to),
            libc::IPPROTO_TCP if is_ours(&socket.name) => match socket.state {
                TCP_LISTEN if socket.never_chose && !self.plan.frees => Task::Leave,
                TCP_LISTEN | TCP_CLOSE if socket.never_chose && !is_ours(&socket.assumed) => {
                    Task::Give(&socket.assumed)
                }
                _ => Task::Give(self.plan.to),
            },
            _ => Task::Nothing,
        }
    }

    fn run(&self, all: &mut Moved) -> Result<(), Error> {
        let listing = Listing::load()?;
        let mut refused = BTreeMap::new();
        for _ in 0..PASSES {
            let sockets = listing.read()?;
            let (before, last) = (all.moved, refused);
            refused = self.pass(&sockets, all);
            // a socket that was closed meanwhile is not refused twice
            if all.moved == before && refused.keys().all(|inode| last.contains_key(inode)) {
                let is_left = |socket: &&Socket| self.task(socket) == Task::Leave;
                // else the iterator has counted them
                if self.alone {
                    sockets.values().filter(is_left).for_each(|socket| all.leave(&socket.name));
                }
                break;
            }
        }
        let mut by_reason: BTreeMap<(String, String), (usize, io::Error)> = BTreeMap::new();
        for Refusal { of, cause } in refused.into_values() {
            by_reason.entry((of, cause.to_string())).or_insert((0, cause)).0 += 1;
        }
        let failure = |((of, _), (sockets, cause))| Error::NotMoved { sockets, of, cause };
        all.failures.extend(by_reason.into_iter().map(failure));
        Ok(())
    }

    /// Runs a pass and returns the sockets that could not be moved, by their inode.
    fn pass(&self, sockets: &BTreeMap<u64, Socket>, all: &mut Moved) -> BTreeMap<u64, Refusal> {
        let is_meant = |(inode, socket): (&u64, &Socket)| match self.task(socket) {
            Task::Give(_) => Some((*inode, Refusal::hidden())),
            _ => None,
        };
        let mut refused: BTreeMap<u64, Refusal> = sockets.iter().filter_map(is_meant).collect();
        if refused.is_empty() {
            return refused;
        }
        for descriptor in open_in_processes().0 {
            let Target::Socket(inode) = descriptor.target else { continue };
            let (Some(socket), true) = (sockets.get(&inode), refused.contains_key(&inode)) else { continue };
            let Task::Give(to) = self.task(socket) else { continue };
            match descriptor.take().and_then(|taken| taken.map(|taken| self.give(&taken, to)).transpose()) {
                Ok(None) => {} // closed since: the next pass looks again
                Ok(Some(was_meant)) => {
                    refused.remove(&inode);
                    all.moved += usize::from(was_meant);
                    let never_chose = socket.never_chose && socket.state == TCP_LISTEN;
                    all.listeners_moved += usize::from(was_meant && never_chose);
                }
                // another process may have it, too, that can be traced
                Err(cause) => {
                    refused.insert(inode, Refusal { of: process_name(descriptor.process), cause });
                }
            }
        }
        refused
    }

    /// Gives a socket the algorithm `to`. Returns true if the socket still had an algorithm of the plan, and
    /// got the other one.
    fn give(&self, socket: &OwnedFd, to: &str) -> io::Result<bool> {
        let now = getsockopt(socket, TcpCongestion)?;
        let now = now.to_string_lossy();
        if !self.plan.from.contains(&now.trim_end_matches('\0')) {
            return Ok(false);
        }
        match setsockopt(socket, TcpCongestion, &OsString::from(to)) {
            Ok(()) => Ok(true),
            // of a kernel that looks for a module: there is none
            Err(Errno::ENOENT) => Err(io::Error::other(format!("the kernel offers no {to}"))),
            Err(error) => Err(error.into()),
        }
    }
}
