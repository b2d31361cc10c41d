//! Counters of ACKs in the kernel, by a condition on the sender's state: the tracepoint `tcp:tcp_probe` fires
//! for every segment that a connection receives, before it is processed, and events of perf count the
//! segments that pass a filter.
//!
//! So no ACK is missed and none is recorded. The method works on every kernel since 4.16.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

use libbpf_rs::libbpf_sys::{PERF_FLAG_FD_CLOEXEC, PERF_TYPE_TRACEPOINT, perf_event_attr};
use nix::libc;
use nix::mount::{MsFlags, mount};

use super::traffic::PORT;

const TRACING: &str = "/sys/kernel/tracing";
/// File with the number by which perf identifies the tracepoint.
const PROBE_ID: &str = "/sys/kernel/tracing/events/tcp/tcp_probe/id";
/// Number of `PERF_EVENT_IOC_SET_FILTER` in linux/perf_event.h.
const SET_FILTER: libc::c_ulong = 0x4008_2406;
/// Number of `PERF_EVENT_IOC_ENABLE` in linux/perf_event.h.
const ENABLE: libc::c_ulong = 0x2400;

/// A counter of ACKs that meet a condition, for the senders of this soak, on all processors.
pub(super) struct AckCounter(Vec<fs::File>);

impl AckCounter {
    /// Starts a counter of all ACKs.
    pub(super) fn start() -> io::Result<AckCounter> {
        AckCounter::with(&format!("dport == {PORT}\0"))
    }

    /// Starts a counter of ACKs that meet a condition over the fields of `events/tcp/tcp_probe/format`:
    /// "snd_cwnd > 100".
    pub(super) fn start_of(condition: &str) -> io::Result<AckCounter> {
        AckCounter::with(&format!("dport == {PORT} && ({condition})\0"))
    }

    /// Starts a counter with this filter, which has the receiver's port, the peer of every sender, and ends
    /// with a zero byte.
    fn with(filter: &str) -> io::Result<AckCounter> {
        if !Path::new(PROBE_ID).exists() {
            mount(Some("tracefs"), TRACING, Some("tracefs"), MsFlags::empty(), None::<&str>)?;
        }
        let id = fs::read_to_string(PROBE_ID)?.trim().parse().map_err(io::Error::other)?;
        let processors = std::thread::available_parallelism()?.get();
        (0..processors as libc::c_int)
            .map(|cpu| event(id, cpu, filter))
            .collect::<Result<_, _>>()
            .map(AckCounter)
    }

    pub(super) fn count(&self) -> io::Result<u64> {
        let counts = self.0.iter().map(|mut event| {
            let mut count = [0; 8];
            event.read_exact(&mut count).map(|()| u64::from_ne_bytes(count))
        });
        counts.sum()
    }
}

/// Opens an event that counts on one processor from now on. `filter` ends with a zero byte.
fn event(id: u64, cpu: libc::c_int, filter: &str) -> io::Result<fs::File> {
    let mut attributes = perf_event_attr { type_: PERF_TYPE_TRACEPOINT, config: id, ..Default::default() };
    attributes.size = size_of_val(&attributes) as u32;
    attributes.set_disabled(1); // until it has its filter
    let (any_task, no_group, flags) = (-1, -1, PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the attributes are plain data of the size that they name
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, any_task, cpu, no_group, flags)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor, which has no other owner
    let event = unsafe { fs::File::from_raw_fd(fd as libc::c_int) };
    // SAFETY: the filter is a string that ends with a zero, and the second request takes no pointer
    let set = unsafe {
        libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) == 0
            && libc::ioctl(event.as_raw_fd(), ENABLE, 0) == 0
    };
    if set { Ok(event) } else { Err(io::Error::last_os_error()) }
}
