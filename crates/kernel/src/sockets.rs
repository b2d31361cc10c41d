//! The sockets that use loaded algorithms: counted, and moved to another algorithm. By BPF iterators
//! (`cc/bpf/socket_iterators.bpf.c`), which also see sockets without a process.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::AsFd;

use libbpf_rs::{Iter, Link, MapType, ObjectBuilder, OpenObject};

use crate::object::{bad_object, tool};
use crate::{Entry, Error, Features, features, list, log};

/// The embedded object.
const OBJECT: &str = "socket_iterators";
/// Bytes of `struct socket_record` of the object.
const RECORD: usize = 12;
/// Bytes of a name in the kernel: TCP_CA_NAME_MAX (include/net/tcp.h).
const NAME_BYTES: usize = 16;
/// Names that can be moved at once: MOVE_FROM_NAMES_MAX of the object.
const MOST_NAMES: usize = 64;
/// Passes over all sockets. An iterator of kernels before 6.17 can miss sockets while others open and close,
/// so passes repeat until one finds none; each pass that is needed is rarer than the one before it.
const PASSES: usize = 10;

/// The sockets of one loaded algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    /// Id of its struct_ops map ([`Entry::map_id`]): an algorithm that was replaced has two.
    pub map_id: u32,
    /// Number of sockets by the inode of their network namespace (`/proc/self/ns/net`).
    pub sockets: BTreeMap<u32, usize>,
}

impl Users {
    /// Sockets in all network namespaces.
    pub fn total(&self) -> usize {
        self.sockets.values().sum()
    }
}

/// Counts the sockets of these algorithms, in all network namespaces. Listening sockets have no state, and
/// are not counted.
///
/// # Errors
/// The kernel does not let BPF objects be listed or iterators be loaded.
pub fn users(entries: &[Entry]) -> Result<Vec<Users>, Error> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    features::require_walk()?;
    let object = load("users", |_| Ok(()))?;
    let program = object.progs_mut().find(|p| p.name() == "users").ok_or_else(|| lacks("its program"))?;
    let what = || format!("{OBJECT}: reading the sockets of an algorithm");
    let mut all = Vec::new();
    for entry in entries {
        let mut sockets = BTreeMap::new();
        if let Some(storage) = list::sibling(entry, |map| map.ty == MapType::SkStorage)? {
            let link = program.attach_iter(storage.as_fd()).map_err(Error::bpf(what()))?;
            for record in read(&link)? {
                *sockets.entry(record.namespace_inode).or_insert(0) += 1;
            }
        }
        all.push(Users { map_id: entry.map_id, sockets });
    }
    Ok(all)
}

/// Gives the sockets of some algorithms another one. Loaded once, it can run in several network namespaces.
#[derive(Debug)]
pub struct Mover {
    _object: libbpf_rs::Object,
    link: Link,
}

/// What a [`Mover`] did in one network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Sockets that now have the other algorithm.
    pub moved: usize,
    /// Sockets that the last pass could not move.
    pub refused: usize,
    /// The error number of the last refusal; 0: there was none.
    pub errno: i32,
}

impl Mover {
    /// From any of `from` to `to`, which must be offered by the kernel. Names are those of the kernel.
    ///
    /// # Errors
    /// Too many or too long names, or the kernel does not load the iterator.
    pub fn new(from: &[&str], to: &str) -> Result<Mover, Error> {
        if from.len() > MOST_NAMES {
            return Err(Error::BadName { name: from.join(", ") });
        }
        let mut config = (from.len() as u64).to_ne_bytes().to_vec();
        let empty = std::iter::repeat_n("", MOST_NAMES - from.len());
        for name in from.iter().copied().chain(empty).chain([to]) {
            if name.len() >= NAME_BYTES {
                return Err(Error::BadName { name: name.to_owned() });
            }
            let mut bytes = [0; NAME_BYTES];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            config.extend(bytes);
        }
        let object = load("move", |open| {
            let map = open.maps_mut().find(|m| m.name().to_string_lossy().ends_with(".config"));
            let mut map = map.ok_or_else(|| lacks("its configuration"))?;
            let value = map.initial_value_mut().filter(|value| value.len() == config.len());
            value.ok_or_else(|| lacks("its configuration"))?.copy_from_slice(&config);
            Ok(())
        })?;
        let link = {
            let program = object.progs_mut().find(|p| p.name() == "move");
            let program = program.ok_or_else(|| lacks("its program"))?;
            let options = libbpf_rs::IterOpts::None;
            program.attach_iter_with_opts(options).map_err(Error::bpf(format!("{OBJECT}: attaching")))?
        };
        Ok(Mover { _object: object, link })
    }

    /// Moves the sockets of the calling thread's network namespace, listening ones included.
    ///
    /// # Errors
    /// The kernel does not run the iterator. Sockets that were moved before stay moved.
    pub fn run(&self) -> Result<Moved, Error> {
        let mut all = Moved::default();
        for _ in 0..PASSES {
            let records = read(&self.link)?;
            let refused = records.iter().filter(|record| record.error != 0);
            all.errno = refused.clone().next_back().map_or(0, |record| -record.error);
            all.refused = refused.count();
            let moved = records.len() - all.refused;
            all.moved += moved;
            if moved == 0 {
                break;
            }
        }
        Ok(all)
    }
}

/// `struct socket_record` of the object.
#[derive(Debug, Clone, Copy)]
struct Record {
    namespace_inode: u32,
    error: i32,
}

fn read(link: &Link) -> Result<Vec<Record>, Error> {
    let what = || format!("{OBJECT}: reading");
    let io_error = |cause: io::Error| Error::Bpf { what: what(), cause, log: String::new() };
    let mut bytes = Vec::new();
    Iter::new(link).map_err(Error::bpf(what()))?.read_to_end(&mut bytes).map_err(io_error)?;
    let word = |record: &[u8], at: usize| record.get(at..at + 4)?.first_chunk().copied();
    let record = |bytes: &[u8]| {
        Some(Record {
            namespace_inode: u32::from_ne_bytes(word(bytes, 0)?),
            error: i32::from_ne_bytes(word(bytes, 8)?),
        })
    };
    Ok(bytes.chunks_exact(RECORD).filter_map(record).collect())
}

/// Loads one of the object's programs.
fn load(
    program: &str,
    configure: impl FnOnce(&mut OpenObject) -> Result<(), Error>,
) -> Result<libbpf_rs::Object, Error> {
    let features = Features::probe();
    features.require()?;
    let (result, log) = log::with_log(|| {
        let opening = Error::bpf(format!("opening {OBJECT}"));
        let mut open = ObjectBuilder::default().open_memory(tool(OBJECT)?).map_err(opening)?;
        for mut other in open.progs_mut().filter(|p| p.name() != program) {
            other.set_autoload(false);
        }
        configure(&mut open)?;
        open.load().map_err(Error::bpf(format!("loading {OBJECT} into the kernel")))
    });
    result.map_err(|error| log::explain(error, &log, OBJECT, true, &features.release))
}

fn lacks(what: &'static str) -> Error {
    bad_object(OBJECT, what)
}
