//! Replaces a loaded algorithm: its code, its parameters, or both.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{Link, MapCore, MapType};

use crate::adapt::{self, Setup};
use crate::bpffs::{self, Lock};
use crate::list::list_now;
use crate::object::bad_object;
use crate::{Entry, Error, Features, LoadOptions, Object, Status, log, names, transaction};

/// Replaces a pinned algorithm of the same kernel name with an object, in one step: the name is offered at
/// every moment. New sockets get the new algorithm; sockets that use the old algorithm keep it until they
/// close, and [`list`](crate::list) shows it as [`Status::Draining`] until then.
///
/// A network namespace whose default is the old algorithm still gives it to new sockets, until the default is
/// set again ([`set_default`](crate::set_default)).
///
/// # Errors
/// The errors of [`load_object`](crate::load_object); [`Error::NotLoaded`] if no algorithm of this name is
/// pinned; [`Error::Unsupported`] before Linux 6.4, which has no links for struct_ops. The old algorithm
/// stays then.
pub fn replace(object: &Object, options: &LoadOptions) -> Result<(), Error> {
    let features = Features::probe();
    features.require_kernel()?;
    if !features.has_links() {
        return Err(Error::Unsupported {
            release: features.release,
            what: "it cannot replace a loaded algorithm".into(),
            remedy: "unload it and load it again, or boot 6.4 or later".into(),
        });
    }
    let name = names::with_suffix(&object.kernel_name, &options.suffix);
    names::check(&name, true)?;
    let lock = Lock::take()?;
    if let Some(lock) = &lock {
        transaction::repair_locked(lock)?;
    }
    let entries = list_now()?;
    let pinned = entries.iter().find_map(|entry| match entry {
        Entry { name: loaded, status: Status::Pinned(path), .. } if *loaded == name => Some(path),
        _ => None,
    });
    let Some(path) = pinned else {
        let loaded = |entry: &Entry| matches!(entry.status, Status::Pinned(_)).then(|| entry.name.clone());
        return Err(Error::NotLoaded { name, loaded: entries.iter().filter_map(loaded).collect() });
    };
    let link = bpffs::open_link(path)?;
    let setup = Setup { object, name: &name, testing: 0, replay: false };
    let mut loaded = adapt::load(&setup, &features)?;
    update(&link, &mut loaded, &name)
}

/// Gives a link the struct_ops of a loaded object.
///
/// libbpf has a call for this that takes only a link that it has made itself, not one that was pinned. The
/// struct_ops must have its value before the link can be given it, and libbpf writes the value when it
/// attaches. So this function attaches, which the kernel refuses since the name is taken, and then updates
/// the link.
fn update(link: &Link, object: &mut libbpf_rs::Object, name: &str) -> Result<(), Error> {
    let what = || format!("replacing {name}");
    let found = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    let mut ops = found.ok_or_else(|| bad_object(name, "its struct_ops"))?;
    let (attached, _) = log::with_log(|| ops.attach_struct_ops());
    match attached {
        Err(error) if error.kind() == libbpf_rs::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::bpf(what())(error)),
        // the name became free in this moment; the link goes at once
        Ok(_) => return Err(Error::NotLoaded { name: name.to_owned(), loaded: Vec::new() }),
    }
    let (link, map) = (link.as_fd().as_raw_fd(), ops.as_fd().as_raw_fd());
    // SAFETY: two descriptors that are open for the time of the call, and no options
    let result = unsafe { libbpf_sys::bpf_link_update(link, map, std::ptr::null()) };
    if result < 0 {
        let cause = io::Error::from_raw_os_error(-result);
        return Err(Error::Bpf { what: what(), cause, log: String::new() });
    }
    Ok(())
}
