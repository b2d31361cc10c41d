//! The default congestion control of a network namespace (`net.ipv4.tcp_congestion_control`), and the default
//! before an algorithm of this library.
//!
//! The former default is in a BPF map that is pinned beside the loaded algorithms, by the cookie of the
//! namespace. The map is gone after a reboot, as the default itself is, and no file can differ from the
//! kernel.

use std::fs;
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use nix::libc;

use crate::bpffs::{self, Lock};
use crate::error::system_error;
use crate::{Error, names};

/// Prefix of the kernel names of all algorithms that this library loads.
const OURS: &str = "fp_";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Name of the map's pin; longer than any name of a congestion control with `fp_`.
const PIN: &str = "former_defaults";
/// Size of a name in the kernel, bytes: TCP_CA_NAME_MAX (include/net/tcp.h).
const NAME_BYTES: usize = 16;
/// Most network namespaces in which the default can be changed: a machine with many containers has some
/// hundreds.
const MOST_NAMESPACES: u32 = 16_384;
/// Replacements of a default that is not known or no longer offered: Linux's own choice, and the algorithm
/// that every kernel has.
const FALLBACKS: [&str; 2] = ["cubic", "reno"];

/// A change of the default of a network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultChange {
    /// The default before.
    pub before: String,
    /// The default now, as the kernel says.
    pub after: String,
    /// The former default, if it is neither known nor offered any more, and `after` replaces it.
    pub instead_of: Option<String>,
}

/// Returns the default of the calling thread's network namespace.
///
/// # Errors
/// There is no `/proc/sys/net`.
pub fn default() -> Result<String, Error> {
    let text = fs::read_to_string(DEFAULT).map_err(|cause| Error::Io { path: DEFAULT.into(), cause })?;
    Ok(text.trim().to_owned())
}

/// Returns whether `name` is the kernel name of an algorithm of this library.
pub fn is_ours(name: &str) -> bool {
    name.starts_with(OURS)
}

/// Makes `name` the default of the calling thread's network namespace, and reads it back. The default before
/// an algorithm of this library is stored for [`restore_default`].
///
/// # Errors
/// The kernel does not offer the name, or not in this namespace, or this process may not set it. The default
/// is unchanged then.
pub fn set_default(name: &str) -> Result<DefaultChange, Error> {
    names::check(name, false)?;
    let lock = if is_ours(name) { Some(Lock::take_mounting(&|| false)?) } else { Lock::take()? };
    let before = default()?;
    let cookie = cookie()?;
    if is_ours(name) {
        if !is_ours(&before) {
            remember(cookie, &before)?;
        }
        // a failure leaves an entry that the next change corrects
        write(name)?;
    } else {
        write(name)?;
        forget(lock.as_ref(), cookie)?;
    }
    Ok(DefaultChange { before, after: default()?, instead_of: None })
}

/// Restores the default that the calling thread's network namespace had before an algorithm of this library.
/// `None`: its default is no such algorithm.
///
/// # Errors
/// Neither the former default nor CUBIC nor Reno can be set.
pub fn restore_default() -> Result<Option<DefaultChange>, Error> {
    let lock = Lock::take()?;
    let cookie = cookie()?;
    let before = default()?;
    if !is_ours(&before) {
        forget(lock.as_ref(), cookie)?;
        return Ok(None);
    }
    let former = remembered(cookie)?;
    let mut last = Err(Error::NotOffered { name: String::new(), offered: Vec::new() });
    for name in former.iter().map(String::as_str).chain(FALLBACKS) {
        last = write(name);
        if !last.as_ref().is_err_and(is_refused) {
            break;
        }
    }
    last?;
    let after = default()?;
    forget(lock.as_ref(), cookie)?;
    let is_former = former.as_deref() == Some(after.as_str());
    let instead_of = (!is_former).then(|| former.unwrap_or_default());
    Ok(Some(DefaultChange { before, after, instead_of }))
}

/// Returns the default that [`restore_default`] would restore in the calling thread's network namespace;
/// `None`: no former default is known.
///
/// # Errors
/// The map of former defaults cannot be read.
pub fn former_default() -> Result<Option<String>, Error> {
    remembered(cookie()?)
}

/// Returns whether another name could succeed. Outside the first network namespace the kernel accepts only
/// algorithms that any user may select; on many kernels CUBIC is not among them.
fn is_refused(error: &Error) -> bool {
    match error {
        Error::NotOffered { .. } => true,
        Error::Io { cause, .. } => cause.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// Writes the default. The kernel looks the name up, and loads a kernel module if it has to.
fn write(name: &str) -> Result<(), Error> {
    match fs::write(DEFAULT, name) {
        Ok(()) if default()? == name => Ok(()),
        Ok(()) => {
            Err(Error::Io { path: DEFAULT.into(), cause: io::Error::other("the kernel kept another name") })
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            Err(Error::NotOffered { name: name.to_owned(), offered: names::available()? })
        }
        Err(cause) => Err(Error::Io { path: DEFAULT.into(), cause }),
    }
}

/// Returns the number of the calling thread's network namespace, which no other namespace gets until a reboot
/// (SO_NETNS_COOKIE, Linux 5.14).
fn cookie() -> Result<u64, Error> {
    let failed =
        |cause| Error::Bpf { what: "asking for the network namespace".into(), cause, log: String::new() };
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
    let mut cookie = 0u64;
    let mut bytes = size_of::<u64>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel writes at most `bytes` bytes to `cookie`
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, (&raw mut cookie).cast(), &mut bytes)
    };
    if result == 0 { Ok(cookie) } else { Err(failed(io::Error::last_os_error())) }
}

/// Returns the map of former defaults, if it exists.
fn map() -> Result<Option<MapHandle>, Error> {
    let path = bpffs::path(PIN);
    match MapHandle::from_pinned_path(&path) {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(bpffs::failed(path, system_error(error))),
    }
}

fn remember(cookie: u64, name: &str) -> Result<(), Error> {
    let what = "remembering the default";
    let map = match map()? {
        Some(map) => map,
        None => {
            let options = libbpf_sys::bpf_map_create_opts {
                sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
                map_flags: libbpf_sys::BPF_F_NO_PREALLOC,
                ..Default::default()
            };
            let name = Some("fp_former");
            let (key, value) = (size_of::<u64>() as u32, NAME_BYTES as u32);
            let mut map = MapHandle::create(MapType::Hash, name, key, value, MOST_NAMESPACES, &options)
                .map_err(Error::bpf(what))?;
            let path = bpffs::make_directory("").map(|_| bpffs::path(PIN))?;
            map.pin(&path).map_err(|error| bpffs::failed(path, system_error(error)))?;
            map
        }
    };
    let mut value = [0; NAME_BYTES];
    value[..name.len()].copy_from_slice(name.as_bytes()); // at most 15 bytes: it is a name of the kernel
    map.update(&cookie.to_ne_bytes(), &value, MapFlags::ANY).map_err(Error::bpf(what))
}

fn remembered(cookie: u64) -> Result<Option<String>, Error> {
    let Some(map) = map()? else { return Ok(None) };
    let what = "looking up the former default";
    let value = map.lookup(&cookie.to_ne_bytes(), MapFlags::ANY).map_err(Error::bpf(what))?;
    let name = value.map(|bytes| bytes.into_iter().take_while(|&b| b != 0).collect());
    Ok(name.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Removes the former default of a namespace, and the map with its last entry. Without a lock there is no
/// map.
fn forget(lock: Option<&Lock>, cookie: u64) -> Result<(), Error> {
    let (Some(_), Some(map)) = (lock, map()?) else { return Ok(()) };
    match map.delete(&cookie.to_ne_bytes()) {
        Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
            return Err(Error::bpf("forgetting the former default")(error));
        }
        _ => {}
    }
    if map.keys().next().is_none() {
        let path = bpffs::path(PIN);
        fs::remove_file(&path).map_err(|cause| bpffs::failed(path, cause))?;
        bpffs::remove_if_empty();
    }
    Ok(())
}
