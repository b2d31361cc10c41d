//! What the tests on the real kernel share: whether there is one, a network namespace, a TCP transfer.

pub(crate) mod pair;
pub(crate) mod streams;

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use fairpace_cc::{Algorithm, Params};
use fairpace_kernel::{Features, LoadOptions, Loaded, Object, Testing, load, load_testing, unload};
use fairpace_test_support::skip;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

/// Whether this machine can load algorithms; if not, the test is reported as skipped.
pub(crate) fn has_kernel() -> bool {
    let features = Features::probe();
    if let Err(error) = features.require() {
        skip(&error.to_string());
    }
    features.require().is_ok()
}

/// A suffix that no other test or process has at the moment: tests run side by side. Without a dot, which
/// the name of a pin cannot have.
pub(crate) fn suffix() -> String {
    LoadOptions::unique().suffix.replace('.', "_")
}

/// Loads with defaults under a name of its own; leaves the kernel when dropped.
pub(crate) fn load_transient(name: &str) -> Loaded {
    load(&params(name), &LoadOptions::unique()).unwrap_or_else(|e| panic!("{e}"))
}

/// The same of an object that behaves differently.
pub(crate) fn load_as(name: &str, testing: Testing) -> Loaded {
    let object = Object::listed(&params(name)).unwrap_or_else(|e| panic!("{e}"));
    load_testing(&object, &LoadOptions::unique(), testing).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn params(name: &str) -> Params {
    Params::defaults(Algorithm::by_name(name).expect("it exists"))
}

/// Moves the calling thread, and those that it starts, into a network namespace of their own with a loopback
/// device; it goes away with the last of them.
pub(crate) fn enter_own_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).expect("unshare");
    let status = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
    assert!(status.success(), "ip link set lo up");
}

/// A connection within this namespace whose sending side uses a congestion control from its first packet.
pub(crate) fn connect(listener: &TcpListener, congestion_control: &str) -> (TcpStream, TcpStream) {
    // set on the listener, it holds for the sockets that it accepts
    select(listener, congestion_control);
    let receiver = TcpStream::connect(listener.local_addr().expect("bound")).expect("connect");
    let (sender, _) = listener.accept().expect("accept");
    (sender, receiver)
}

pub(crate) fn listener() -> TcpListener {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("bind")
}

pub(crate) fn select(socket: &impl std::os::fd::AsFd, congestion_control: &str) {
    setsockopt(socket, TcpCongestion, &OsString::from(congestion_control)).expect("TCP_CONGESTION");
}

/// Unloads when dropped, also when a test fails.
pub(crate) struct Unload(pub(crate) String);

impl Drop for Unload {
    fn drop(&mut self) {
        let _ = unload(&self.0);
    }
}

/// The algorithm that a socket has.
pub(crate) fn selected(socket: &impl std::os::fd::AsFd) -> String {
    getsockopt(socket, TcpCongestion)
        .expect("TCP_CONGESTION")
        .to_string_lossy()
        .trim_end_matches('\0')
        .to_owned()
}

/// Bytes that differ from place to place, so that lost, doubled or swapped data shows.
fn pattern(at: usize) -> u8 {
    (at.wrapping_mul(0x9e37_79b1) >> 13) as u8
}

/// Sends `bytes` through the connection and checks each of them on the other side.
pub(crate) fn transfer(sender: &mut TcpStream, receiver: &mut TcpStream, bytes: usize) {
    let data: Vec<u8> = (0..bytes).map(pattern).collect();
    receiver.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
    thread::scope(|scope| {
        scope.spawn(|| sender.write_all(&data).expect("write"));
        let mut received = vec![0; bytes];
        receiver.read_exact(&mut received).expect("all data arrives in time");
        assert!(received == data, "data was changed on the way");
    });
}

pub(crate) fn available() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("sysctl");
    text.split_whitespace().map(str::to_owned).collect()
}

/// Waits for something that the kernel does in its own time.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within 20 s");
        thread::sleep(Duration::from_millis(10));
    }
}
