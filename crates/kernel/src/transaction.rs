//! Changes of pins that happen all or not at all, whatever interrupts the process.
//!
//! A change collects its pins in a directory of its own. Renaming that directory is the commit. The change
//! then completes: loaded pins move to their place, unloaded ones are removed. The next process that takes
//! the lock ([`repair`]) undoes a change without commit and completes a change with commit.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;

use crate::Error;
use crate::bpffs::{self, Lock, failed};
use crate::names;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Unload,
}

impl Kind {
    /// The directory of a change before and after its commit: longer than any name of a congestion control.
    const fn directories(self) -> [&'static str; 2] {
        match self {
            Kind::Load => ["fairpace_loading", "fairpace_load_done"],
            Kind::Unload => ["fairpace_unloading", "fairpace_unloaded"],
        }
    }

    /// Undoes a change: removes the collected pins.
    fn undo(self) -> Result<Vec<String>, Error> {
        let [directory, _] = self.directories();
        match self {
            Kind::Load => drain(directory, |_, pin| release(pin)),
            Kind::Unload => drain(directory, |name, pin| rename(pin, &bpffs::path(name))),
        }
    }

    /// Completes a committed change.
    fn complete(self) -> Result<Vec<String>, Error> {
        let [_, directory] = self.directories();
        match self {
            Kind::Load => drain(directory, |name, pin| rename(pin, &bpffs::path(name))),
            Kind::Unload => drain(directory, |_, pin| release(pin)),
        }
    }
}

/// A repair of an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Kernel names of the change's algorithms.
    pub names: Vec<String>,
    /// The action of the repair.
    pub action: Action,
}

/// Repairs of an interrupted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// An interrupted load was undone: none of its names is loaded.
    LoadUndone,
    /// An interrupted load was completed: all of its names are loaded.
    LoadCompleted,
    /// An interrupted unload was undone: all of its names are loaded.
    UnloadUndone,
    /// An interrupted unload was completed: none of its names is loaded.
    UnloadCompleted,
    /// A pin whose link is detached was removed.
    PinRemoved,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.join(", ");
        match self.action {
            Action::LoadUndone => write!(f, "an interrupted load of {names} was taken back"),
            Action::LoadCompleted => write!(f, "an interrupted load of {names} was completed"),
            Action::UnloadUndone => write!(f, "an interrupted unload of {names} was taken back"),
            Action::UnloadCompleted => write!(f, "an interrupted unload of {names} was completed"),
            Action::PinRemoved => {
                write!(f, "the pin of {names}, which an interrupted unload had left, was removed")
            }
        }
    }
}

/// A change that is being made. If it is dropped before its commit, it is undone.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    kind: Kind,
    is_committed: bool,
    _lock: &'a Lock,
}

impl<'a> Change<'a> {
    pub(crate) fn begin(kind: Kind, lock: &'a Lock) -> Result<Change<'a>, Error> {
        let [directory, _] = kind.directories();
        bpffs::make_directory(directory)?;
        Ok(Change { kind, is_committed: false, _lock: lock })
    }

    /// Returns the place of the pin of this name before the commit.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let [directory, _] = self.kind.directories();
        bpffs::path(directory).join(name)
    }

    /// Commits the change, which is never undone from here on. The next operation completes parts that cannot
    /// be completed now.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        let [before, after] = self.kind.directories();
        rename(&bpffs::path(before), &bpffs::path(after))?;
        self.is_committed = true;
        let _ = self.kind.complete();
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            // the next operation repairs what fails here
            let undone = self.kind.undo().unwrap_or_default();
            if self.kind == Kind::Load {
                wait_for(&undone);
            }
        }
        bpffs::remove_if_empty();
    }
}

/// Undoes or completes the changes that interrupted processes have left.
///
/// [`crate::load`], [`crate::unload`] and [`crate::list`] do so by themselves. A program that reports the
/// repairs calls this first.
///
/// `stop` is asked while another process holds the lock.
///
/// # Errors
/// The BPF file system cannot be changed, another process holds its lock for too long, or `stop` returned
/// true ([`Error::Interrupted`]).
pub fn repair(stop: &dyn Fn() -> bool) -> Result<Vec<Repair>, Error> {
    Lock::take_unless(stop)?.map_or_else(|| Ok(Vec::new()), |lock| repair_locked(&lock))
}

pub(crate) fn repair_locked(_: &Lock) -> Result<Vec<Repair>, Error> {
    let mut repairs = Vec::new();
    let mut note = |names: Vec<String>, action| {
        if !names.is_empty() {
            repairs.push(Repair { names, action });
        }
    };
    note(Kind::Load.undo()?, Action::LoadUndone);
    note(Kind::Load.complete()?, Action::LoadCompleted);
    note(Kind::Unload.undo()?, Action::UnloadUndone);
    note(Kind::Unload.complete()?, Action::UnloadCompleted);
    note(remove_dead()?, Action::PinRemoved);
    bpffs::remove_if_empty();
    for repair in &repairs {
        if matches!(repair.action, Action::LoadUndone | Action::UnloadCompleted | Action::PinRemoved) {
            wait_for(&repair.names);
        }
    }
    Ok(repairs)
}

/// Waits until the kernel no longer offers these names. A name that stays is reported when it is loaded next.
fn wait_for(names: &[String]) {
    for name in names {
        let _ = names::wait_until_gone(name);
    }
}

/// Removes pins of links that are detached: an earlier version detached before it removed the pin.
fn remove_dead() -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for name in bpffs::pins("")? {
        let path = bpffs::path(&name);
        let info = bpffs::open_link(&path).ok().and_then(|link| link.info().ok());
        let is_dead =
            info.is_some_and(|info| matches!(info.info, LinkTypeInfo::StructOps(ops) if ops.map_id == 0));
        if is_dead {
            fs::remove_file(&path).map_err(|cause| failed(&path, cause))?;
            removed.push(name);
        }
    }
    Ok(removed)
}

/// Performs `with` on each pin of a directory and removes the directory. Returns the names.
fn drain(directory: &str, with: impl Fn(&str, &Path) -> Result<(), Error>) -> Result<Vec<String>, Error> {
    let path = bpffs::path(directory);
    if !path.exists() {
        return Ok(Vec::new()); // removing it would fail where nothing may be written
    }
    let names = bpffs::pins(directory)?;
    for name in &names {
        with(name, &path.join(name))?;
    }
    match fs::remove_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
        _ => Ok(names),
    }
}

/// Unloads an algorithm from the kernel. The link is detached first, where the kernel can do so (6.11): the
/// name is free at once, whoever else holds the link. Elsewhere the kernel detaches it when its last
/// descriptor is closed.
fn release(pin: &Path) -> Result<(), Error> {
    if let Ok(link) = bpffs::open_link(pin) {
        let _ = link.detach();
    }
    fs::remove_file(pin).map_err(|cause| failed(pin, cause))
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(|cause| failed(to, cause))
}

#[cfg(test)]
mod tests {
    use fairpace_cc::{Algorithm, Params};
    use nix::fcntl::{Flock, FlockArg};

    use super::*;
    use crate::{LoadOptions, Loaded, list, load, unload};

    /// Returns a pinned algorithm and its name, which no other algorithm has. `None` where nothing can be
    /// loaded.
    fn pinned(suffix: &str) -> Option<(Loaded, String)> {
        if let Err(error) = crate::Features::probe().require() {
            fairpace_test_support::skip(&error.to_string());
            return None;
        }
        let params = Params::defaults(Algorithm::by_name("reno").expect("it is listed"));
        let suffix = format!("_{suffix}{:x}", std::process::id() & 0xffff);
        let loaded = load(&params, &LoadOptions { suffix, pin: true }).expect("it loads");
        let name = loaded.kernel_name().to_owned();
        Some((loaded, name))
    }

    fn is_loaded(name: &str) -> bool {
        list().expect("root may list").iter().any(|entry| {
            entry.name == name
                && matches!(&entry.status, crate::Status::Pinned(path) if *path == bpffs::path(name))
        })
    }

    /// Leaves the pin of a name in a directory of a change, as a killed process does.
    fn interrupted(kind: Kind, is_committed: bool, name: &str) {
        let _lock = Lock::take().expect("free soon").expect("mounted");
        let directory = kind.directories()[usize::from(is_committed)];
        let to = bpffs::make_directory(directory).expect("root may").join(name);
        rename(&bpffs::path(name), &to).expect("root may");
    }

    #[test]
    fn an_interrupted_change_is_taken_back_before_its_commit_and_completed_behind_it() {
        let cases = [
            (Kind::Load, false, false),
            (Kind::Load, true, true),
            (Kind::Unload, false, true),
            (Kind::Unload, true, false),
        ];
        for (number, (kind, is_committed, is_there)) in cases.into_iter().enumerate() {
            let Some((loaded, name)) = pinned(&format!("t{number}")) else { return };
            drop(loaded);
            interrupted(kind, is_committed, &name);
            assert_eq!(is_loaded(&name), is_there, "{kind:?}, committed: {is_committed}");
            if is_there {
                unload(&name).expect("it is as if nothing had happened");
            } else {
                let (_, again) = pinned(&format!("t{number}")).expect("the name is free");
                unload(&again).expect("it is loaded");
            }
        }
    }

    #[test]
    fn a_pin_whose_link_is_detached_does_not_keep_the_name() {
        let Some((_, name)) = pinned("d") else { return };
        // as an earlier version did, and was killed behind that
        bpffs::open_link(&bpffs::path(&name)).expect("root may").detach().expect("since 6.11");
        let repairs = repair(&|| false).expect("root may");
        assert!(!bpffs::path(&name).exists(), "{repairs:?}");
        let ours = |repair: &&Repair| repair.names.contains(&name);
        let repaired = repairs.iter().find(ours).map(|repair| repair.action);
        // another test may have repaired it first
        assert!(matches!(repaired, Some(Action::PinRemoved) | None), "{repairs:?}");
        let (_, again) = pinned("d").expect("the name is free");
        unload(&again).expect("it is loaded");
    }

    #[test]
    fn a_pin_that_is_no_link_is_left_alone() {
        use libbpf_rs::{MapHandle, MapType};
        let Some((loaded, name)) = pinned("m") else { return };
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            ..Default::default()
        };
        let mut map =
            MapHandle::create(MapType::Array, Some("fp_test"), 4, 8, 1, &options).expect("root may");
        let pin = bpffs::path(&format!("map_{:x}", std::process::id()));
        map.pin(&pin).expect("root may");
        repair(&|| false).expect("root may");
        assert!(pin.exists() && is_loaded(&name));
        fs::remove_file(pin).expect("root may");
        drop(loaded);
        unload(&name).expect("it is loaded");
    }

    #[test]
    fn one_process_at_a_time_changes_pins() {
        let Some((_, name)) = pinned("l") else { return };
        let root = fs::File::open("/sys/fs/bpf").expect("mounted");
        let held = Flock::lock(root, FlockArg::LockExclusive).expect("no signal");
        let other = std::thread::spawn(move || unload(&name));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!other.is_finished(), "it waits");
        drop(held);
        other.join().expect("no panic").expect("it was loaded");
    }
}
