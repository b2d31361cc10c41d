//! Connections that send data, one transfer after the other, and check that all of it arrives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use fairpace_scenario::Random;
use nix::libc;
use nix::sys::socket::{
    Backlog, getsockopt, listen, setsockopt,
    sockopt::{Linger, TcpCongestion},
};

use super::path::{RECEIVER, Receiver};
use super::{SoakRecord, below};

/// The TCP port of the receiver, in a network namespace of its own.
pub const PORT: u16 = 7800;
/// Bytes of a thread's stack; there are thousands of threads.
const STACK: usize = 128 * 1024;
/// Bytes of one read.
const CHUNK: usize = 16 * 1024;
/// Least and greatest number of bytes of a transfer.
const BYTES: (usize, usize) = (64 * 1024, 1024 * 1024);
/// Bytes of the pool whose parts are transferred. No two parts begin alike.
const POOL: usize = 4 * 1024 * 1024;
/// Time without data after which a transfer counts as lost. A retransmission timeout doubles from 200 ms.
const SILENCE: Duration = Duration::from_secs(60);
/// Average number of transfers of which one selects an algorithm itself, instead of taking the default.
const SELECTS: usize = 2;

/// The connections, from [`Traffic::start`] to [`Traffic::finish`].
#[derive(Default)]
pub(super) struct Traffic {
    /// Names in the kernel that sockets may select; the operator updates them.
    pub(super) offered: Arc<Mutex<Vec<String>>>,
    /// Number of transfers that arrived.
    pub(super) transfers: Arc<AtomicU64>,
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    senders: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    bytes: u64,
    by_algorithm: BTreeMap<String, u64>,
    failures: Vec<String>,
}

impl Traffic {
    pub(super) fn start(connections: usize, seed: u64, receiver: &Receiver) -> io::Result<Traffic> {
        receiver.enter(|| serve(RECEIVER))?;
        let mut traffic = Traffic::default();
        for number in 0..connections {
            let (offered, transfers) = (traffic.offered.clone(), traffic.transfers.clone());
            let (seen, stop) = (traffic.seen.clone(), traffic.stop.clone());
            let mut random = Random::new(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let result = transfer(&mut random, &offered);
                    let mut seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    match result {
                        Ok((algorithm, bytes)) => {
                            seen.bytes += bytes;
                            *seen.by_algorithm.entry(without_suffix(&algorithm)).or_default() += 1;
                            transfers.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            seen.failures.push(format!("connection {number}: {error}"));
                            break;
                        }
                    }
                }
            };
            traffic.senders.push(Builder::new().stack_size(STACK).spawn(work)?);
        }
        Ok(traffic)
    }

    /// Waits until the transfers under way have ended, for a limited time.
    pub(super) fn finish(self, limit: Duration, record: &mut SoakRecord) {
        self.stop.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + limit;
        while self.senders.iter().any(|sender| !sender.is_finished()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        let stuck = self.senders.iter().filter(|sender| !sender.is_finished()).count();
        if stuck > 0 {
            record.failures.push(format!("{stuck} transfers did not end within {} s", limit.as_secs()));
        }
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        record.transfers = self.transfers.load(Ordering::Relaxed);
        record.bytes = seen.bytes;
        record.transfers_by_algorithm = std::mem::take(&mut seen.by_algorithm);
        record.failures.append(&mut seen.failures);
    }
}

/// A kernel name without its suffix: `fp_bbr3_1a2b` is counted as `fp_bbr3`.
fn without_suffix(name: &str) -> String {
    let end = name.strip_prefix("fp_").and_then(|rest| rest.find('_')).map(|at| at + 3);
    name[..end.unwrap_or(name.len())].to_owned()
}

/// Performs one transfer; returns its algorithm at the end, and its bytes.
fn transfer(random: &mut Random, offered: &Mutex<Vec<String>>) -> io::Result<(String, u64)> {
    let bytes = BYTES.0 + below(random, BYTES.1 - BYTES.0);
    let from = below(random, POOL - bytes);
    let mut socket = connected(RECEIVER)?;
    if below(random, SELECTS) == 0 {
        let offered = offered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if !offered.is_empty() {
            // it may be gone by now: then the socket keeps the default
            let _ =
                setsockopt(&socket, TcpCongestion, &OsString::from(&offered[below(random, offered.len())]));
        }
    }
    let algorithm = send(&mut socket, from, bytes)?;
    // all has arrived; a reset leaves no port in TIME_WAIT, of which there would be more than ports
    setsockopt(&socket, Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    Ok((algorithm, bytes as u64))
}

/// Connects to [`serve`]. The connection fails if nothing happens on it for a minute.
///
/// # Errors
/// Returns an error if no server answers.
pub fn connected(address: &str) -> io::Result<TcpStream> {
    let socket = TcpStream::connect((address, PORT))?;
    socket.set_read_timeout(Some(SILENCE))?;
    socket.set_write_timeout(Some(SILENCE))?;
    Ok(socket)
}

/// Sends these bytes of the pool and waits until the receiver has compared them. Returns the socket's
/// algorithm.
///
/// # Errors
/// Returns an error if the connection ends, stalls, or carries other bytes than were sent.
pub fn send(socket: &mut TcpStream, from: usize, bytes: usize) -> io::Result<String> {
    let wanted = pool().get(from..from + bytes).ok_or(io::ErrorKind::InvalidInput)?;
    socket.write_all(&[from, bytes].map(|number| (number as u64).to_le_bytes()).concat())?;
    let mut right = [0; 8];
    let sent = socket.write_all(wanted).and_then(|()| socket.read_exact(&mut right));
    sent.map_err(|error| io::Error::other(format!("{bytes} bytes by {}: {error}", algorithm(socket))))?;
    if u64::from_le_bytes(right) != bytes as u64 {
        return Err(io::Error::other("data was changed on the way"));
    }
    Ok(algorithm(socket))
}

fn algorithm(socket: &TcpStream) -> String {
    let name = getsockopt(socket, TcpCongestion).unwrap_or_default();
    name.to_string_lossy().trim_end_matches('\0').to_owned()
}

/// Starts to receive at this address, in threads of its own.
///
/// # Errors
/// Returns an error if this host does not have the address, or if it is in use.
pub fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind((address, PORT))?;
    // the standard library's own lets 128 wait, and all connect at once
    listen(&listener, Backlog::MAXCONN)?;
    Builder::new().spawn(move || accept(&listener)).map(drop)
}

fn accept(listener: &TcpListener) {
    for socket in listener.incoming().flatten() {
        // a sender whose receiver ends early reports it
        let _ = Builder::new().stack_size(STACK).spawn(move || receive(socket));
    }
}

/// Compares each byte of a transfer, and answers with the number of correct bytes before the first wrong one.
/// Continues with the next transfer until the sender closes.
fn receive(mut socket: TcpStream) -> io::Result<()> {
    socket.set_read_timeout(Some(SILENCE))?;
    while compare(&mut socket)? {}
    Ok(())
}

/// Compares one transfer. Returns whether there may be another one.
fn compare(socket: &mut TcpStream) -> io::Result<bool> {
    let mut word = [0; 8];
    let mut number = || socket.read_exact(&mut word).map(|()| u64::from_le_bytes(word) as usize);
    let (from, bytes) = (number()?, number()?);
    let wanted = pool().get(from..from + bytes).ok_or(io::ErrorKind::InvalidData)?;
    let wanted_bytes = wanted.len();
    let mut buffer = vec![0; CHUNK];
    let mut right = 0;
    for wanted in wanted.chunks(CHUNK) {
        let part = &mut buffer[..wanted.len()];
        socket.read_exact(part)?;
        if part != wanted {
            break;
        }
        right += part.len();
    }
    socket.write_all(&(right as u64).to_le_bytes())?;
    Ok(right == wanted_bytes)
}

/// The pool: random bytes, the same on both sides.
fn pool() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let mut random = Random::new(1);
        (0..POOL / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_counted_by_algorithm_without_the_suffix_of_this_process() {
        assert_eq!(["fp_bbr3_1a2b", "cubic", "fp_reno"].map(without_suffix), ["fp_bbr3", "cubic", "fp_reno"]);
    }
}
