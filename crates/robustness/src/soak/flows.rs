//! Connections of one algorithm that send checked data without a pause, and their state in the kernel.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use nix::libc;
use nix::sys::socket::{
    setsockopt,
    sockopt::{Linger, TcpCongestion},
};

use super::path::RECEIVER;
use super::traffic::{connected, send};
use crate::machine::tcp_info;

/// Bytes of a thread's stack; there are hundreds of threads.
const STACK: usize = 128 * 1024;
/// Nice value of senders, which use the whole emulated processor; the thread that checks them has priority.
const NICE: libc::c_int = 10;
/// Bytes of one transfer. Between two transfers a sender waits for the answer, for one round trip.
const BYTES: usize = 256 * 1024;

/// The connections, from [`Flows::start`] to [`Flows::finish`].
pub(super) struct Flows {
    sockets: Vec<TcpStream>,
    senders: Vec<JoinHandle<(u64, Option<io::Error>)>>,
    stop: Arc<AtomicBool>,
}

impl Flows {
    /// Connects from this host, and sends with this algorithm of the kernel.
    pub(super) fn start(connections: usize, algorithm: &str) -> io::Result<Flows> {
        let connected: Vec<TcpStream> =
            (0..connections).map(|_| connect(algorithm)).collect::<Result<_, _>>()?;
        let mut flows = Flows { sockets: Vec::new(), senders: Vec::new(), stop: Arc::default() };
        for mut socket in connected {
            flows.sockets.push(socket.try_clone()?);
            let stop = Arc::clone(&flows.stop);
            let work = move || {
                // SAFETY: it takes numbers only; of this thread, not of the process
                unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
                let mut sent = 0;
                while !stop.load(Ordering::Relaxed) {
                    match send(&mut socket, 0, BYTES) {
                        Ok(_) => sent += BYTES as u64,
                        Err(_) if stop.load(Ordering::Relaxed) => break,
                        Err(error) => return (sent, Some(error)),
                    }
                }
                (sent, None)
            };
            flows.senders.push(Builder::new().stack_size(STACK).spawn(work)?);
        }
        Ok(flows)
    }

    /// Iterates over the present state of each connection in the kernel.
    pub(super) fn sample(&self) -> impl Iterator<Item = io::Result<libc::tcp_info>> {
        self.sockets.iter().map(tcp_info)
    }

    /// Ends all connections. Returns the bytes of whole transfers, and the errors before.
    pub(super) fn finish(self) -> (u64, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        for socket in &self.sockets {
            let _ = socket.shutdown(Shutdown::Both); // one that is gone needs no end
        }
        drop(self.sockets);
        let ended = self.senders.into_iter().map(|sender| {
            sender.join().unwrap_or_else(|_| (0, Some(io::Error::other("the thread of a sender panicked"))))
        });
        let (mut bytes, mut failures) = (0, Vec::new());
        for (sent, error) in ended {
            bytes += sent;
            failures.extend(error.map(|error| error.to_string()));
        }
        (bytes, failures)
    }
}

fn connect(algorithm: &str) -> io::Result<TcpStream> {
    let socket = connected(RECEIVER)?;
    setsockopt(&socket, TcpCongestion, &OsString::from(algorithm))?;
    // what is not sent at the end is discarded
    setsockopt(&socket, Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    Ok(socket)
}

/// Counters of TCP on this host.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostCounters {
    /// Number of fast recoveries that began.
    pub(super) recoveries: u64,
    /// Number of reductions that were undone.
    pub(super) undos: u64,
}

impl HostCounters {
    pub(super) fn read() -> io::Result<HostCounters> {
        Ok(HostCounters::of(&fs::read_to_string("/proc/thread-self/net/netstat")?))
    }

    fn of(netstat: &str) -> HostCounters {
        let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let sum = |of: &[&str]| {
            let pairs = names.split_whitespace().zip(values.split_whitespace());
            let found = pairs.filter(|(name, _)| of.contains(name));
            found.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
        };
        HostCounters {
            recoveries: sum(&["TCPSackRecovery", "TCPRenoRecovery"]),
            undos: sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
        }
    }

    pub(super) fn since(self, before: HostCounters) -> HostCounters {
        HostCounters {
            recoveries: self.recoveries.saturating_sub(before.recoveries),
            undos: self.undos.saturating_sub(before.undos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_host_are_found_by_name() {
        let netstat = "TcpExt: SyncookiesSent TCPSackRecovery TCPFullUndo TCPDSACKUndo TCPDSACKUndone\n\
                       TcpExt: 1 20 300 4000 50000\nIpExt: TCPFullUndo\nIpExt: 7\n";
        assert_eq!(HostCounters::of(netstat), HostCounters { recoveries: 20, undos: 4300 });
        assert_eq!(HostCounters::of(""), HostCounters::default());
    }
}
