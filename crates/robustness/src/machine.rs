//! Requirements of the three commands on the machine: the program that they start, threads whose namespaces
//! end with them, and the state of the kernel.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use fairpace_cli_core::failure::{Exit, Failure};
use nix::libc;

/// The file with the congestion controls that sockets of this network namespace can select.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Path of the program `fairpace`: the named one, or that beside the running program.
pub(crate) fn program(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let beside = || std::env::current_exe().unwrap_or_default().with_file_name("fairpace");
    let path = named.map_or_else(beside, Path::to_owned);
    if path.is_file() {
        return Ok(path);
    }
    let help = "build it (cargo build -p fairpace), or name another one with --program";
    Err(Failure::new(Exit::Usage, format!("there is no program {}", path.display()), help))
}

/// Performs work on a thread of its own. When the thread ends, the namespaces that it entered end, too.
pub fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Names of the congestion controls that the kernel offers.
#[must_use]
pub fn offered() -> Vec<String> {
    let names = fs::read_to_string(AVAILABLE).unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Reads `TCP_INFO` of a socket; a field that an older kernel does not have is 0.
#[expect(unsafe_code, reason = "nix has no TCP_INFO")]
pub(crate) fn tcp_info(socket: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info consists of integers, so any bytes are one
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    let (fd, place) = (socket.as_raw_fd(), (&raw mut info).cast());
    // SAFETY: the kernel writes at most `length` bytes to `info`
    let status = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut length) };
    if status == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}
