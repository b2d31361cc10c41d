//! Internal: only Fairpace's own crates use it. It boots a Linux kernel in virtual time, in which this
//! program runs scenarios on the testbed.
//!
//! The clock of the guest counts the instructions that it executes, and jumps to the next timer when the
//! guest is idle. So the load of the host delays the result and does not change it: a run is a function of
//! scenario, seed, kernel and program. The crate is neither a testbed nor a simulator, and it measures
//! nothing: the guest calls what `guest::serve` gets. It needs neither root nor KVM, and no file system of
//! the host is visible in the guest.
//!
//! - [`Machine::find`]: QEMU, a kernel of the cache, and the initramfs with this program.
//! - [`Machine::boot`]: the kernel boots once, and its state is kept when the guest is ready.
//! - [`Booted::run`]: each run continues from that state, so runs do not depend on each other.
//! - [`guest::serve`]: the other side, the first process of the guest.
//!
//! Host and guest exchange everything by port I/O (`ports.rs`): an instruction that reads or writes a port
//! ends before the next one begins, at the same instruction each time. An interrupt would come at a time of
//! the host.

mod archive;
mod error;
pub mod guest;
mod image;
mod kernel;
mod machine;
mod message;
mod monitor;
mod ports;
mod qemu;

pub use error::Error;
pub use kernel::Kernel;
pub use machine::{Booted, Machine};
pub use message::{Job, Refusal};

/// What there is of the parts of a machine, as text.
///
/// # Errors
/// [`Error::NoQemu`], [`Error::NoKernel`], [`Error::Processor`].
pub fn available() -> Result<String, Error> {
    machine::parts(None).map(|(version, kernel)| format!("qemu {version}, Linux {}", kernel.version()))
}
