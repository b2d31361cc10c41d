//! Probe of the path: a datagram every few milliseconds, and its echo, show whether the path carries packets.
//!
//! An emulated machine on a busy host stalls for seconds, and its flows stall with any algorithm. A datagram,
//! which no algorithm delays, then has no echo either.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Interval between two datagrams.
const EVERY: Duration = Duration::from_millis(20);
/// Time within which the thread that waits for echoes notices that it must end.
const WAIT: Duration = Duration::from_millis(100);

/// A probe that sends datagrams until it is dropped.
pub(super) struct Probe {
    begun: Instant,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Time at which the newest datagram that has an echo was sent, ns after `begun`.
    answered_ns: AtomicU64,
    is_over: AtomicBool,
}

impl Probe {
    /// Starts to send from the network namespace of the calling thread.
    ///
    /// # Errors
    /// Returns an error if a socket or thread cannot be created.
    pub(super) fn start(receiver: SocketAddrV4) -> io::Result<Probe> {
        let begun = Instant::now();
        let shared = Arc::new(Shared::default());
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(receiver)?;
        socket.set_read_timeout(Some(WAIT))?;
        let (sender, of_sender) = (socket.try_clone()?, Arc::clone(&shared));
        let send = move || {
            while !of_sender.is_over.load(Ordering::Relaxed) {
                // one that is lost is like one that is late
                let _ = sender.send(&(begun.elapsed().as_nanos() as u64).to_ne_bytes());
                thread::sleep(EVERY);
            }
        };
        let of_reader = Arc::clone(&shared);
        let read = move || {
            let mut sent_ns = [0; 8];
            while !of_reader.is_over.load(Ordering::Relaxed) {
                if matches!(socket.recv(&mut sent_ns), Ok(8)) {
                    of_reader.answered_ns.fetch_max(u64::from_ne_bytes(sent_ns), Ordering::Relaxed);
                }
            }
        };
        let mut probe = Probe { begun, shared, threads: Vec::new() };
        probe.threads.push(Builder::new().spawn(send)?);
        probe.threads.push(Builder::new().spawn(read)?);
        Ok(probe)
    }

    /// Age of the newest datagram that has an echo.
    pub(super) fn age(&self) -> Duration {
        let answered = Duration::from_nanos(self.shared.answered_ns.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(answered)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Starts to echo datagrams.
pub(super) fn echo(address: SocketAddrV4) -> io::Result<()> {
    let socket = UdpSocket::bind(address)?;
    let echo = move || {
        let mut bytes = [0; 8];
        loop {
            if let Ok((length, from)) = socket.recv_from(&mut bytes) {
                let _ = socket.send_to(&bytes[..length], from);
            }
        }
    };
    Builder::new().spawn(echo).map(drop)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_path_that_answers_has_a_young_echo_and_one_that_does_not_an_old_one() {
        let free = |socket: io::Result<UdpSocket>| socket.unwrap().local_addr().unwrap().port();
        let address = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let silent = address(free(UdpSocket::bind("127.0.0.1:0")));
        let answering = address(free(UdpSocket::bind("127.0.0.1:0")));
        echo(answering).unwrap();
        // the silent one first: an echo that comes at once is then younger in any case
        let (unanswered, answered) = (Probe::start(silent).unwrap(), Probe::start(answering).unwrap());
        let begun = Instant::now();
        while answered.shared.answered_ns.load(Ordering::Relaxed) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "no echo arrives");
            thread::sleep(EVERY);
        }
        assert!(answered.age() < unanswered.age());
        assert!(unanswered.age() >= begun.elapsed());
    }
}
