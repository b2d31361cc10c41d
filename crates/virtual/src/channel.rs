//! The guest's side of the channel to the host. It needs no interrupt, which would come at a time of the
//! host.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use crate::message::JOB;
use crate::ports;

/// The device of `uml/host.c`: a read or a write ends before the guest proceeds.
const DEVICE: &str = "/dev/fairpace";

/// The channel.
pub(crate) enum Channel {
    /// Of QEMU: port I/O.
    Ports,
    /// Of User-mode Linux.
    Device(File),
}

/// Where what is written is among the kernel's messages.
const MESSAGES: &str = "/dev/kmsg";

/// Makes the kernel's messages the standard error of this process: User-mode Linux has no console, and an
/// error of the host ends with these messages.
fn speak_to_kernel() -> io::Result<()> {
    let messages = OpenOptions::new().write(true).open(MESSAGES)?;
    // SAFETY: both are descriptors of this process.
    match unsafe { libc::dup2(messages.as_raw_fd(), libc::STDERR_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Channel {
    /// Opens the one that the machine has.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn open() -> io::Result<Self> {
        match OpenOptions::new().read(true).write(true).open(DEVICE) {
            Ok(device) => speak_to_kernel().map(|()| Self::Device(device)),
            Err(_) => ports::open().map(|()| Self::Ports),
        }
    }

    /// Writes to the host.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        match self {
            Self::Ports => ports::write(bytes),
            // if the host has no room for it, it sees a line that has no end
            Self::Device(device) => drop(device.write_all(bytes)),
        }
    }

    /// Waits for a job of the host, and reads it.
    pub(crate) fn job(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Ports => {
                // the host saves the machine here: what follows is the same for all runs but for the job
                ports::pause();
                keep_busy()?;
                Ok(ports::file(JOB).unwrap_or_default())
            }
            Self::Device(device) => {
                let mut job = Vec::new();
                device.read_to_end(&mut job).map(|_| job)
            }
        }
    }
}

/// Keeps the processor busy when nothing else is to do, with instructions that do nothing.
///
/// A processor that halts is stopped in one thread of QEMU, and the clock jumps in another one. If that one
/// comes first, as it does in one of thirty runs beside load, the jump is too far by the instructions that
/// are not counted yet.
fn keep_busy() -> io::Result<()> {
    let spin = || {
        // SAFETY: the parameter is valid, and is only read.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &libc::sched_param { sched_priority: 0 }) };
        ports::spin()
    };
    std::thread::Builder::new().name("idle".to_owned()).spawn(spin).map(drop)
}
