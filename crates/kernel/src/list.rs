//! Lists the loaded algorithms, as the kernel reports them, and unloads them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use fairpace_cc::Algorithm;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfo, MapInfoIter, ProgInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, ProgramType};

use crate::bpffs::{self, Lock};
use crate::transaction::{self, Change, Kind};
use crate::{Error, Holder, btf, features, names};

/// Prefix of the kernel names of all algorithms that this library loads.
const OURS: &str = "fp_";
/// State of a registered struct_ops without a link: enum bpf_struct_ops_state, the first field of its value.
const STATE_INUSE: u32 = 1;
/// Offset of the parameters in `struct cc_config` of cc/bpf/object.bpf.c: behind two words.
const PARAMETERS_AT: usize = 8;

/// A congestion control in the kernel that is a BPF struct_ops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name by which sockets select the algorithm.
    pub name: String,
    /// The listed algorithm, by the name of its struct_ops map; `None` for any other algorithm.
    pub algorithm: Option<Algorithm>,
    /// The state of the algorithm.
    pub status: Status,
    /// Id of the algorithm's struct_ops map.
    pub map_id: u32,
}

/// The state of a BPF congestion control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Sockets can select the algorithm; it stays until [`unload`].
    Pinned(PathBuf),
    /// Sockets can select the algorithm as long as the process that loaded it lives, or as a pin exists that
    /// this mount namespace does not show.
    Held {
        /// Id of the algorithm's link.
        link_id: u32,
    },
    /// Sockets can select the algorithm; a kernel before 6.4 does not know its process. It stays until that
    /// process, or [`unload`], unregisters it.
    Registered,
    /// The algorithm is unloaded: no socket can select it, but some still use it until they close.
    Draining,
}

/// Returns all congestion controls that are BPF struct_ops, by name.
///
/// # Errors
/// No BTF, or no CAP_SYS_ADMIN outside of any user namespace, which a walk through all BPF objects needs.
pub fn list() -> Result<Vec<Entry>, Error> {
    features::require_walk()?;
    let lock = Lock::take()?;
    if let Some(lock) = &lock {
        transaction::repair_locked(lock)?;
    }
    list_now()
}

/// Returns all congestion controls without a lock: for a caller that has the lock, or that only needs the
/// holder of a name.
pub(crate) fn list_now() -> Result<Vec<Entry>, Error> {
    let Some(layout) = Layout::of_kernel()? else { return Ok(Vec::new()) };
    let offered = names::available()?;
    let links: BTreeMap<u32, u32> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(ops) => Some((ops.map_id, link.id)),
            _ => None,
        })
        .collect();
    let pins = pinned_links()?;
    let mut entries = Vec::new();
    for info in MapInfoIter::default().filter(|m| m.ty == MapType::StructOps) {
        // a map can be gone by now; one with another value type is another kind of struct_ops
        let Some(value) = MapHandle::from_map_id(info.id).ok().and_then(|m| value(&m)) else { continue };
        if info.btf_vmlinux_value_type_id != layout.type_id {
            continue;
        }
        let Some((name, state)) = layout.read(&value) else { continue };
        let link_id = links.get(&info.id).copied();
        let pin = link_id.and_then(|id| pins.get(&id));
        let status = match (pin, link_id, state) {
            (Some(path), ..) => Status::Pinned(path.clone()),
            (None, Some(link_id), _) => Status::Held { link_id },
            (None, None, STATE_INUSE) => Status::Registered,
            (None, None, _) => Status::Draining,
        };
        let algorithm = algorithm_of(&info.name);
        entries.push(Entry { name, algorithm, status, map_id: info.id });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name).then(a.map_id.cmp(&b.map_id)));
    check_complete(&entries, &offered)?;
    Ok(entries)
}

/// Checks that a walk was complete: libbpf-rs ends a walk at any error, without a message. A name of this
/// library that the kernel offered before the walk and still offers has an object that the walk must have
/// met.
fn check_complete(entries: &[Entry], offered: &[String]) -> Result<(), Error> {
    let is_unseen = |name: &&String| name.starts_with(OURS) && !entries.iter().any(|e| e.name == **name);
    let unseen: Vec<&String> = offered.iter().filter(is_unseen).collect();
    if unseen.is_empty() || names::available()?.iter().all(|name| !unseen.contains(&name)) {
        return Ok(());
    }
    Err(Error::NotPermitted {
        missing: vec!["the right to see all BPF objects (seccomp, a security module)"],
    })
}

/// Returns the parameters that a loaded algorithm has, as C holds them (`Params::as_bytes`). `None`: the
/// algorithm was loaded by a version that keeps them elsewhere, or is no longer loaded.
///
/// # Errors
/// The kernel does not let the algorithm's map be read.
pub fn parameters(entry: &Entry) -> Result<Option<Vec<u8>>, Error> {
    let is_config = |map: &MapInfo| map.name.to_string_lossy().ends_with(".config");
    let Some(map) = sibling(entry, is_config)? else { return Ok(None) };
    let what = || format!("reading the parameters of {}", entry.name);
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(Error::bpf(what()))?;
    Ok(value.and_then(|value| value.get(PARAMETERS_AT..).map(<[u8]>::to_vec)))
}

/// Returns another map of the same object, which was loaded with the same types (BTF). `None`: there is no
/// such map any more.
pub(crate) fn sibling(entry: &Entry, wanted: impl Fn(&MapInfo) -> bool) -> Result<Option<MapHandle>, Error> {
    let all: Vec<MapInfo> = MapInfoIter::default().collect();
    let Some(own) = all.iter().find(|map| map.id == entry.map_id && map.btf_id != 0) else { return Ok(None) };
    let Some(found) = all.iter().find(|map| map.btf_id == own.btf_id && wanted(map)) else { return Ok(None) };
    match MapHandle::from_map_id(found.id) {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::bpf(format!("opening a map of {}", entry.name))(error)),
    }
}

/// Unloads an algorithm from the kernel. Sockets that use it go on using it until they close. `name` is the
/// kernel's name, or an algorithm's.
///
/// # Errors
/// No algorithm of this name is loaded, or it was not loaded to stay ([`crate::LoadOptions::pin`]).
pub fn unload(name: &str) -> Result<(), Error> {
    unload_all(&[name], &|| false)
}

/// Unloads several algorithms from the kernel, all or none of them, also if the process is killed meanwhile:
/// the next operation completes or undoes the unload ([`crate::repair`]). Before Linux 6.4, which has no
/// links for struct_ops, a killed process leaves the algorithms that it had not reached.
///
/// `stop` is called while another process holds the lock.
///
/// # Errors
/// The errors of [`unload`], for the first name that cannot be unloaded, and [`Error::Interrupted`] if `stop`
/// returned true: then nothing is unloaded. [`Error::StillThere`]: all algorithms are unloaded, and the
/// kernel still offers one of them.
pub fn unload_all(names: &[&str], stop: &dyn Fn() -> bool) -> Result<(), Error> {
    features::require_walk()?;
    let lock = Lock::take_unless(stop)?;
    if let Some(lock) = &lock {
        transaction::repair_locked(lock)?;
    }
    let entries = list_now()?;
    let mut chosen: Vec<&Entry> = names.iter().map(|name| find(name, &entries)).collect::<Result<_, _>>()?;
    // "reno" and "fp_reno" are one
    chosen.sort_by_key(|entry| entry.map_id);
    chosen.dedup_by_key(|entry| entry.map_id);
    let is_pinned = |entry: &&Entry| matches!(entry.status, Status::Pinned(_));
    if let Some(lock) = lock.as_ref().filter(|_| chosen.iter().any(is_pinned)) {
        let change = Change::begin(Kind::Unload, lock)?;
        for entry in &chosen {
            if let Status::Pinned(path) = &entry.status {
                let aside = change.path(&entry.name);
                fs::rename(path, &aside).map_err(|cause| bpffs::failed(path, cause))?;
            }
        }
        change.commit()?;
    }
    for entry in chosen.iter().filter(|entry| entry.status == Status::Registered) {
        unregister(entry)?;
    }
    chosen.iter().try_for_each(|entry| names::wait_until_gone(&entry.name))
}

/// Returns the loaded algorithm of this name, if it can be unloaded.
fn find<'a>(name: &str, entries: &'a [Entry]) -> Result<&'a Entry, Error> {
    let live = || entries.iter().filter(|e| e.status != Status::Draining);
    let found = live().find(|e| e.name == name).or_else(|| {
        // `mine`, or the path by which this process has loaded it
        let name = Algorithm::by_name(name).map_or(name, |algorithm| algorithm.name());
        live().find(|e| e.name.strip_prefix(OURS) == Some(name))
    });
    let Some(entry) = found else {
        let loaded = live().map(|e| e.name.clone()).collect();
        return Err(Error::NotLoaded { name: name.to_owned(), loaded });
    };
    match &entry.status {
        Status::Pinned(_) => Ok(entry),
        Status::Registered if entry.name.starts_with(OURS) => Ok(entry),
        _ => Err(Error::NotOurs { name: entry.name.clone(), holder: entry.holder() }),
    }
}

impl Entry {
    fn holder(&self) -> Holder {
        match &self.status {
            Status::Pinned(path) => Holder::Pinned(path.clone()),
            Status::Held { link_id } => Holder::Process { map_id: self.map_id, link_id: *link_id },
            Status::Registered | Status::Draining => Holder::Registered { map_id: self.map_id },
        }
    }
}

/// Returns the holder of a name that the kernel offers.
pub(crate) fn holder(name: &str) -> Holder {
    let Ok(entries) = features::require_walk().and_then(|()| list_now()) else { return Holder::Unknown };
    let entry = entries.into_iter().find(|e| e.name == name && e.status != Status::Draining);
    entry.map_or(Holder::Kernel, |e| e.holder())
}

/// Unregisters an algorithm on a kernel before links (6.4): deletes the map's only element.
fn unregister(entry: &Entry) -> Result<(), Error> {
    let what = || format!("unregistering {}", entry.name);
    let map = MapHandle::from_map_id(entry.map_id).map_err(Error::bpf(what()))?;
    map.delete(&0u32.to_ne_bytes()).map_err(Error::bpf(what()))
}

/// Returns the path of each pinned link by its id.
fn pinned_links() -> Result<BTreeMap<u32, PathBuf>, Error> {
    let mut links = BTreeMap::new();
    for name in bpffs::pins("")? {
        let path = bpffs::path(&name);
        // a pin can be gone by now, or be another kind of object
        if let Some(info) = bpffs::open_link(&path).ok().and_then(|link| link.info().ok()) {
            links.insert(info.id, path);
        }
    }
    Ok(links)
}

/// Returns the listed algorithm of a struct_ops map, which keeps the algorithm's kernel name whatever the
/// suffix. A name with a suffix is ambiguous: `fp_bbr1_drain` could be bbr1.
fn algorithm_of(map: &OsStr) -> Option<Algorithm> {
    // also a header of the user, if this process has loaded it
    let algorithm = Algorithm::by_name(map.to_str()?.strip_prefix(OURS)?).ok()?;
    (map == algorithm.kernel_name()).then_some(algorithm)
}

fn value(map: &MapHandle) -> Option<Vec<u8>> {
    map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Offsets of name and state in the value of a struct_ops map of this kernel.
struct Layout {
    type_id: u32,
    state_at: usize,
    name_at: usize,
}

impl Layout {
    /// Reads the layout of this kernel. `None`: it has no congestion controls in BPF.
    fn of_kernel() -> Result<Option<Layout>, Error> {
        let kernel = features::kernel_btf()?;
        let value = "bpf_struct_ops_tcp_congestion_ops";
        let Some(type_id) = btf::id(&kernel, value) else { return Ok(None) };
        let layout = || {
            let data_at = btf::offset(&kernel, value, "data")?;
            Some(Layout {
                type_id,
                // refcnt and state are direct members before 6.9, then a struct of their own at the start
                state_at: btf::offset(&kernel, value, "state")
                    .or_else(|| btf::offset(&kernel, "bpf_struct_ops_common_value", "state"))?,
                name_at: data_at + btf::offset(&kernel, "tcp_congestion_ops", "name")?,
            })
        };
        layout().map(Some).ok_or_else(|| Error::Unsupported {
            release: features::release(),
            what: "its congestion controls in BPF have fields with other names".into(),
            remedy: "use a newer version of this program, which knows that kernel".into(),
        })
    }

    fn read(&self, value: &[u8]) -> Option<(String, u32)> {
        let name = value.get(self.name_at..self.name_at + 16)?;
        let name = name.split(|&b| b == 0).next()?;
        let state = value.get(self.state_at..self.state_at + 4)?.first_chunk().copied()?;
        Some((String::from_utf8_lossy(name).into_owned(), u32::from_ne_bytes(state)))
    }
}

/// Returns the names of all loaded sock_ops programs, whoever loaded them: such a program may select the
/// congestion control of sockets.
///
/// # Errors
/// This process may not list the kernel's BPF objects.
pub fn sock_ops() -> Result<Vec<String>, Error> {
    features::require_walk()?;
    let mut names: Vec<String> = ProgInfoIter::default()
        .filter(|program| program.ty == ProgramType::SockOps)
        .map(|program| program.name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}
