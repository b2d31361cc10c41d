//! Moving sockets to another algorithm, in network namespaces of these tests: by the kernel's iterator and by
//! the descriptors of processes.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use fairpace_kernel::{
    LoadOptions, Move, Moved, Namespace, Walk, default, list, load, move_sockets, restore_default,
    set_default, users,
};
use nix::libc;

use crate::support::{
    Unload, connect, enter_own_namespace, eventually, has_kernel, listener, params, select, selected, suffix,
    transfer,
};

/// Bytes.
const MB: usize = 1 << 20;
const BOTH: [Walk; 2] = [Walk::Iterator, Walk::Descriptors];

/// A network namespace of its own with an algorithm that is loaded under a name of its own.
struct Host {
    ours: Unload,
    namespace: [Namespace; 1],
}

impl Host {
    fn new() -> Host {
        enter_own_namespace();
        let options = LoadOptions { suffix: suffix(), pin: true };
        let loaded = load(&params("reno"), &options).unwrap_or_else(|e| panic!("{e}"));
        let namespace = Namespace::at("/proc/thread-self/ns/net".as_ref()).expect("/proc");
        Host { ours: Unload(loaded.kernel_name().to_owned()), namespace: [namespace] }
    }

    fn ours(&self) -> &str {
        &self.ours.0
    }

    fn run(&self, walk: Walk, to: &str, frees: bool) -> Moved {
        let plan = Move { from: &[self.ours(), "fp_other"], to, frees };
        move_sockets(&plan, walk, &self.namespace).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The same where nothing may fail: how many sockets were moved.
    fn moves(&self, walk: Walk) -> usize {
        let Moved { moved, listeners_moved, listeners_left, failures } = self.run(walk, "cubic", false);
        assert!(failures.is_empty() && listeners_left.is_empty(), "{failures:?} {listeners_left:?}");
        assert_eq!(listeners_moved, 0);
        moved
    }

    /// Sockets with a state of ours.
    fn used(&self) -> usize {
        let mut entries = list().expect("root may");
        entries.retain(|entry| entry.name == self.ours());
        users(&entries).expect("root may").iter().map(|users| users.total()).sum()
    }
}

/// A connection to a listener that is not accepted yet.
fn connected_to(listener: &TcpListener) -> TcpStream {
    TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens")
}

/// The algorithm of what a listener accepts.
fn accepted_by(listener: &TcpListener) -> String {
    let _other = connected_to(listener);
    selected(&listener.accept().expect("it connects").0)
}

#[test]
fn live_sockets_and_listeners_that_chose_are_moved_and_lose_nothing() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    for walk in BOTH {
        let listener = listener();
        let (mut sender, mut receiver) = connect(&listener, host.ours());
        select(&receiver, "reno");
        transfer(&mut sender, &mut receiver, MB);
        let refused = host.run(walk, "fp_nonesuch", false);
        assert_eq!(refused.moved, 0, "{walk:?}");
        let said: Vec<String> = refused.failures.iter().map(ToString::to_string).collect();
        assert_eq!(selected(&sender), host.ours());
        assert!(said.iter().any(|line| line.starts_with("2 sockets of ")), "{walk:?}: {said:?}");

        assert_eq!(host.moves(walk), 2, "{walk:?}: the sender and the listener");
        let all = [selected(&sender), selected(&receiver), selected(&listener), accepted_by(&listener)];
        assert_eq!(all, ["cubic", "reno", "cubic", "cubic"], "{walk:?}");
        transfer(&mut sender, &mut receiver, MB);
        assert_eq!(host.moves(walk), 0, "{walk:?}");
    }
}

/// `tcp_ca_openreq_child`: what such a listener accepts has the default of the moment, whatever it has
/// itself.
#[test]
fn a_listener_that_never_chose_is_left_alone_and_follows_the_default() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    let other = default().expect("it is there");
    for walk in BOTH {
        set_default("reno").expect("the kernel's own");
        set_default(host.ours()).expect("any user may");
        let listener = listener();
        let mut sender = connected_to(&listener);
        let (mut receiver, _) = listener.accept().expect("it connects");
        transfer(&mut sender, &mut receiver, MB);
        assert_eq!([selected(&listener), selected(&sender)], [host.ours(); 2]);

        restore_default().expect("reno is offered").expect("the default was ours");
        let Moved { moved, listeners_moved, listeners_left, failures } = host.run(walk, "cubic", false);
        assert!(failures.is_empty(), "{failures:?}");
        assert_eq!((moved, listeners_moved), (2, 0), "{walk:?}: both ends of the connection");
        assert_eq!(listeners_left.into_iter().collect::<Vec<_>>(), [(host.ours().to_owned(), 1)], "{walk:?}");
        assert_eq!([selected(&sender), selected(&receiver)], ["cubic", "cubic"]);
        assert_eq!(accepted_by(&listener), "reno", "{walk:?}: the default that came back");
        set_default(&other).expect("it was the default");
        assert_eq!(accepted_by(&listener), other, "{walk:?}: and the next one");

        // freed, it has the default of that time for ever
        set_default("reno").expect("the kernel's own");
        let Moved { moved, listeners_moved, listeners_left, failures } = host.run(walk, "cubic", true);
        assert!(failures.is_empty() && listeners_left.is_empty(), "{failures:?} {listeners_left:?}");
        assert_eq!((moved, listeners_moved, selected(&listener)), (1, 1, "reno".to_owned()), "{walk:?}");
        set_default(&other).expect("it was the default");
        assert_eq!(accepted_by(&listener), "reno", "{walk:?}: it does not follow any more");
    }
}

/// A socket that is neither connected nor listening is in no list of the kernel.
#[test]
fn a_socket_that_is_not_connected_is_moved_in_both_ways() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    for walk in BOTH {
        let address = nix::sys::socket::SockaddrIn::new(127, 0, 0, 1, 0);
        let bound = tcp_socket(libc::IPPROTO_TCP).expect("TCP");
        nix::sys::socket::bind(bound.as_raw_fd(), &address).expect("a port is free");
        select(&bound, host.ours());
        let fresh = tcp_socket(libc::IPPROTO_TCP).expect("TCP");
        select(&fresh, host.ours());
        assert_eq!(host.moves(walk), 2, "{walk:?}");
        assert_eq!([selected(&bound), selected(&fresh)], ["cubic", "cubic"], "{walk:?}");
    }
}

fn tcp_socket(protocol: i32) -> std::io::Result<OwnedFd> {
    // SAFETY: socket(2) has numbers as arguments
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, protocol) };
    // SAFETY: it is new, and ours
    if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// What `panic` says that it misses where the iterator cannot be used, and how the rest is known.
#[test]
fn descriptors_miss_what_no_process_has_open_and_the_count_of_users_shows_it() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    let listener = listener();
    select(&listener, host.ours());
    let waiting = connected_to(&listener);
    let (mut orphan, peer) = connect(&listener, host.ours()); // accepts the first, so connects again
    drop(waiting);
    drop(orphan.write_all(b"a"));
    drop((orphan, peer));
    let reader = connected_to(&listener);
    let (mut writer, _) = listener.accept().expect("it connects");
    // more than the reader's window: it is closed with data that is not sent
    writer.set_nonblocking(true).expect("it is ours");
    while writer.write(&[0; 64 * 1024]).is_ok() {}
    drop(writer);
    let _not_accepted = connected_to(&listener);
    eventually("the orphan and the connection that waits remain", || host.used() == 2);
    assert_eq!(host.moves(Walk::Descriptors), 1, "the listener");
    assert_eq!((selected(&listener), host.used()), ("cubic".to_owned(), 2));
    assert_eq!(host.moves(Walk::Iterator), 2);
    assert_eq!(host.used(), 0);
    drop(reader);
}

#[test]
fn a_connection_of_multipath_tcp_is_moved_in_both_ways() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    let Ok(listening) = tcp_socket(libc::IPPROTO_MPTCP) else { return };
    let address = nix::sys::socket::SockaddrIn::new(127, 0, 0, 1, 0);
    nix::sys::socket::bind(listening.as_raw_fd(), &address).expect("a port is free");
    nix::sys::socket::listen(&listening, nix::sys::socket::Backlog::new(8).expect("few")).expect("bound");
    let listening = TcpListener::from(listening);
    for walk in BOTH {
        let connecting = tcp_socket(libc::IPPROTO_MPTCP).expect("MPTCP");
        let SocketAddr::V4(to) = listening.local_addr().expect("bound") else { panic!("it is IPv4") };
        nix::sys::socket::connect(connecting.as_raw_fd(), &nix::sys::socket::SockaddrIn::from(to))
            .expect("it listens");
        let _accepted = listening.accept().expect("it connects");
        select(&connecting, host.ours());
        assert_eq!(host.used(), 1);
        assert_eq!(host.moves(walk), 1, "{walk:?}");
        assert_eq!((selected(&connecting), host.used()), ("cubic".to_owned(), 0), "{walk:?}");
    }
}

/// The right to trace is taken from this thread only.
#[test]
fn a_process_that_may_not_be_traced_is_named() {
    if !has_kernel() {
        return;
    }
    let host = Host::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    select(&listener, host.ours());
    let child = hold(&listener);
    drop(listener);
    without_the_right_to_trace(|| {
        let Moved { moved, failures, .. } = host.run(Walk::Descriptors, "cubic", false);
        let said: Vec<String> = failures.iter().map(ToString::to_string).collect();
        assert_eq!(moved, 0, "{said:?}");
        let [said] = &said[..] else { panic!("{said:?}") };
        let shown = "1 sockets of processes keep their algorithm: /proc does not show the descriptor";
        let named = format!("1 sockets of process {} (sleep) keep their algorithm: ", child.0.id());
        assert!(said == shown || said.starts_with(&named), "{said}");
    });
    assert_eq!(host.moves(Walk::Descriptors), 1, "with the right");
}

/// A process, ended when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A process of another user that has a copy of the socket.
fn hold(socket: &TcpListener) -> Ended {
    let number = socket.as_raw_fd();
    let mut sleep = Command::new("sleep");
    sleep.arg("60").uid(65_534).gid(65_534);
    // SAFETY: dup(2) may be called between fork and exec; the copy stays open over exec
    unsafe {
        sleep.pre_exec(move || match libc::dup(number) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    Ended(sleep.spawn().expect("sleep"))
}

/// Does something without CAP_SYS_PTRACE and the rights to read all files of /proc, and has them again then.
fn without_the_right_to_trace(work: impl FnOnce()) {
    const VERSION_3: u32 = 0x2008_0522; // _LINUX_CAPABILITY_VERSION_3 of linux/capability.h
    const CAP_SYS_PTRACE: u32 = 19; // linux/capability.h
    let mut header = [VERSION_3, 0];
    // effective, permitted and inheritable, of the first 32 capabilities and of the others
    let mut all = [0u32; 6];
    // SAFETY: both have the size that this version has
    let call = |number, header: &mut [u32; 2], sets: &mut [u32; 6]| unsafe {
        assert_eq!(libc::syscall(number, header.as_mut_ptr(), sets.as_mut_ptr()), 0);
    };
    call(libc::SYS_capget, &mut header, &mut all);
    let mut fewer = all;
    fewer[0] &= !(1 << CAP_SYS_PTRACE);
    call(libc::SYS_capset, &mut header, &mut fewer);
    work();
    call(libc::SYS_capset, &mut header, &mut all);
}
