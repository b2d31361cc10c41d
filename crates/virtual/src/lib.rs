//! Internal: only Fairpace's own crates use it. It boots a Linux kernel in virtual time, in which this
//! program runs scenarios on the testbed.
//!
//! The clock of the guest counts the instructions that it executes (QEMU), or stands still (User-mode Linux),
//! and jumps to the next timer when the guest is idle. So the load of the host delays the result and does not
//! change it: a run is a function of scenario, seed, kernel and program. The crate is neither a testbed nor a
//! simulator, and it measures nothing: the guest calls what `guest::serve` gets. It needs neither root nor
//! KVM, and no file system of the host is visible in the guest.
//!
//! - [`Machine::find`]: QEMU with a kernel of the cache, or User-mode Linux; and the initramfs with this
//!   program.
//! - [`Machine::boot`]: QEMU's kernel boots once, and its state is kept when the guest is ready.
//! - [`Booted::run`]: each run continues from that state, so runs do not depend on each other. User-mode
//!   Linux boots in each run.
//! - [`guest::serve`]: the other side, the first process of the guest.
//!
//! Host and guest exchange everything without interrupts (`channel.rs`), which would come at a time of the
//! host: by port I/O in QEMU (`ports.rs`), where an instruction that reads or writes a port ends before the
//! next one begins, and by a device of the kernel in User-mode Linux.

mod archive;
mod channel;
mod error;
pub mod guest;
mod image;
mod kernel;
mod machine;
mod message;
mod monitor;
mod ports;
mod process;
mod processor;
mod qemu;
mod uml;

pub use error::Error;
pub use kernel::Kernel;
pub use machine::{Booted, Emulator, Machine, Wanted};
pub use message::{Header, Job, Refusal};

/// Checks that the emulator and the kernel that are wanted are there.
///
/// # Errors
/// [`Error::NoQemu`], [`Error::NoKernel`], [`Error::NoUml`], [`Error::Processor`].
pub fn check(wanted: Wanted<'_>) -> Result<(), Error> {
    machine::check(wanted)
}

/// What there is of the parts of a machine, as text.
///
/// # Errors
/// [`Error::NoQemu`], [`Error::NoKernel`], [`Error::NoUml`], [`Error::Processor`].
pub fn available(emulator: Emulator) -> Result<String, Error> {
    machine::available(emulator)
}
