//! The algorithms of `cc/` in the running kernel, as eBPF struct_ops: no module, no patch, no reboot.
//!
//! [`Features::probe`] says what this kernel can do, [`load`] puts an algorithm in (any socket may then select
//! it by name), [`list`] says what is in, [`unload`] takes it out, also while sockets use it. [`Loaded::observe`]
//! looks at one socket's state. What is loaded is always asked of the kernel, never remembered here: others load
//! things too.
//!
//! This crate decides nothing about congestion: the algorithm is `cc/NAME.h`, what Linux and the contract say to
//! each other is `cc/bpf/`. It makes no sockets, chooses no defaults for the system and runs no daemon.

mod bpffs;
mod btf;
mod error;
mod features;
mod list;
mod load;
mod object;
mod observe;
mod replay;

pub use error::{Error, Holder};
pub use features::{Check, Features, Standing};
pub use list::{Entry, Status, list, unload};
pub use load::{LoadOptions, Loaded, Program, load};
pub use object::is_built;
pub use observe::Flow;
pub use replay::{Call, Replay};
