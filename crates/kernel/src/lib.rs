//! Loads congestion control algorithms into the running Linux kernel as eBPF struct_ops: no module, no patch,
//! no reboot.
//!
//! [`Features::probe`] checks the features of this kernel. [`load`] loads a listed algorithm, so that any
//! socket can select it by name; [`load_object`] loads an object that you compiled yourself. [`list`] reads
//! from the kernel the loaded algorithms, [`unload`] unloads an algorithm, also while sockets use it, and
//! [`Loaded::observe`] reads one socket's state.
//!
//! ```no_run
//! use std::{ffi::OsString, net::TcpStream};
//!
//! use fairpace_cc::{Algorithm, Params};
//! use fairpace_kernel::{Features, LoadOptions, load};
//! use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! Features::probe().require()?;
//! let params = Params::defaults(Algorithm::by_name("bbr3")?);
//! let loaded = load(&params, &LoadOptions::default())?;
//! let connection = TcpStream::connect("192.0.2.1:80")?;
//! setsockopt(&connection, TcpCongestion, &OsString::from(loaded.kernel_name()))?;
//! # Ok(())
//! # }
//! ```
//!
//! An object of your own: see [`Object::from_elf`].
//!
//! The objects of the listed algorithms are part of the package. Building it needs no clang, but a C
//! compiler, make, pkg-config, libelf and zlib with headers (libbpf-sys). All of it needs root and a kernel
//! from 6.1 on with BTF. The README lists where kernels differ.
//!
//! The crate makes no decisions about congestion: the algorithms are C headers in fairpace-cc, the conversion
//! between Linux and their contract is `cc/bpf/`. It opens no connections and runs no daemon; it changes the
//! default of a network namespace only by [`set_default`] and [`restore_default`].

mod adapt;
mod bpffs;
mod btf;
mod built_in;
mod check;
mod counters;
mod defaults;
mod descriptors;
mod echo;
mod error;
mod features;
mod iterators;
mod list;
mod load;
mod log;
mod names;
mod namespace;
mod object;
mod observe;
mod replace;
#[cfg(feature = "testing")]
mod replay;
mod sockets;
mod storage;
mod tcp_iterator;
mod transaction;

pub use built_in::BuiltIn;
pub use check::{Check, Standing};
pub use counters::{Counters, counters};
pub use defaults::{DefaultChange, default, former_default, is_ours, restore_default, set_default};
pub use echo::DctcpEcho;
pub use error::{Error, Holder};
pub use features::Features;
pub use list::{Entry, Status, list, parameters, sock_ops, unload, unload_all};
pub use load::{LoadOptions, Loaded, Program, load, load_object, load_objects};
#[cfg(feature = "testing")]
pub use load::{Testing, load_testing};
pub use namespace::{Namespace, Namespaces, namespaces};
#[cfg(feature = "testing")]
pub use object::is_built;
pub use object::{Object, ObjectParameter, compile_with, contained_objects};
pub use observe::Flow;
pub use replace::replace;
#[cfg(feature = "testing")]
pub use replay::{Call, Replay};
pub use sockets::{Move, Moved, Users, move_sockets, users};
pub use tcp_iterator::Walk;
pub use transaction::{Action, Repair, repair};
