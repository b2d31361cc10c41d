//! The flows: real TCP connections that send as fast as they may and receivers that count and discard.
//!
//! One thread writes for all senders, one reads for all receivers. Flow `i` sends from port
//! `FIRST_PORT + i`, which is how the emulator and the receiver know it. A flow begins with its handshake.

use crate::clock::Clock;
use crate::namespace::End;
use crate::{Error, sockopt, waiter};
use fairpace_path::FlowMeter;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, setsockopt,
    sockopt as opt,
};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Source port of the first flow; the others follow.
pub(crate) const FIRST_PORT: u16 = 10_000;
/// The flows that fit behind [`FIRST_PORT`].
pub(crate) const MAX_FLOWS: usize = u16::MAX as usize - FIRST_PORT as usize;
/// Where the receiver listens.
const RECEIVER_PORT: u16 = 5001;
/// One write or read at most: large enough to make system calls rare, small enough to serve the flows in
/// turn.
const CHUNK_BYTES: usize = 256 << 10;
static CHUNK: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// How soon the threads see a request to stop.
const STOP_CHECK_MS: u8 = 50;
/// The listening socket's mark among the receiver's events.
const LISTENER: u64 = u64::MAX;
/// Events taken per wait.
const EVENTS: usize = 64;

fn new_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket::socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)?;
    abort_on_close(fd.as_fd())?;
    Ok(fd)
}

/// See [`crate::namespace`]: nothing may outlive the process.
fn abort_on_close(fd: BorrowedFd<'_>) -> nix::Result<()> {
    setsockopt(&fd, opt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })
}

/// The sockets of all flows, to be opened in the sender's namespace: `(flow's name, kernel's name of its
/// congestion control)`.
///
/// # Errors
/// [`Error::UnknownCongestionControl`], [`Error::Setup`].
pub(crate) fn open_senders(flows: &[(&str, &str)]) -> Result<Vec<OwnedFd>, Error> {
    let setup = |errno: Errno| Error::setup("open the senders' sockets")(errno.into());
    let open = |(i, (flow, control)): (usize, &(&str, &str))| {
        let fd = new_socket().map_err(setup)?;
        setsockopt(&fd, opt::TcpCongestion, &OsString::from(control)).map_err(|errno| match errno {
            Errno::ENOENT | Errno::EINVAL => unknown_control(flow, control),
            _ => setup(errno),
        })?;
        let local = SockaddrIn::from(SocketAddrV4::new(End::Sender.address(), FIRST_PORT + i as u16));
        socket::bind(fd.as_raw_fd(), &local).map_err(setup)?;
        Ok(fd)
    };
    flows.iter().enumerate().map(open).collect()
}

fn unknown_control(flow: &str, name: &str) -> Error {
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    Error::UnknownCongestionControl {
        flow: flow.to_owned(),
        name: name.to_owned(),
        available: available.unwrap_or_default().trim().to_owned(),
    }
}

/// The listening socket, to be opened in the receiver's namespace.
///
/// # Errors
/// [`Error::Setup`].
pub(crate) fn open_listener() -> Result<OwnedFd, Error> {
    let listen = || {
        let fd = new_socket()?;
        socket::bind(fd.as_raw_fd(), &SockaddrIn::from(receiver()))?;
        socket::listen(&fd, Backlog::MAXCONN)?;
        Ok::<_, Errno>(fd)
    };
    listen().map_err(|errno| Error::setup("open the receiver's socket")(errno.into()))
}

fn receiver() -> SocketAddrV4 {
    SocketAddrV4::new(End::Receiver.address(), RECEIVER_PORT)
}

/// All senders. Started and stopped by the run's own thread, written to by [`Senders::write`] on another.
pub(crate) struct Senders {
    sockets: Vec<OwnedFd>,
    stopped: Vec<AtomicBool>,
    epoll: Epoll,
}

impl Senders {
    pub(crate) fn new(sockets: Vec<OwnedFd>) -> Result<Self, Error> {
        let stopped = sockets.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Senders { sockets, stopped, epoll: new_epoll()? })
    }

    pub(crate) fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.sockets[flow].as_fd()
    }

    /// Begins the handshake.
    pub(crate) fn start(&self, flow: usize) -> io::Result<()> {
        let fd = &self.sockets[flow];
        match socket::connect(fd.as_raw_fd(), &SockaddrIn::from(receiver())) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLOUT, flow as u64))?;
        Ok(())
    }

    /// Ends a flow at once; what is on the path stays there.
    pub(crate) fn stop(&self, flow: usize) -> io::Result<()> {
        self.stopped[flow].store(true, Ordering::SeqCst);
        self.epoll.delete(&self.sockets[flow])?;
        sockopt::abort(self.sockets[flow].as_fd())
    }

    /// Keeps all connections full until `stop` is set. `Err` names the flow that broke down.
    pub(crate) fn write(&self, stop: &AtomicBool) -> Result<(), (usize, io::Error)> {
        waiter::prioritise_flows();
        let mut events = [EpollEvent::empty(); EVENTS];
        while !stop.load(Ordering::Relaxed) {
            for event in ready(&self.epoll, &mut events).map_err(|e| (0, e))? {
                let flow = event.data() as usize;
                self.fill(flow).map_err(|e| (flow, e))?;
            }
        }
        Ok(())
    }

    fn fill(&self, flow: usize) -> io::Result<()> {
        let fd = &self.sockets[flow];
        match socket::send(fd.as_raw_fd(), &CHUNK, MsgFlags::MSG_NOSIGNAL) {
            Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            // Stopped between the event and now.
            Err(_) if self.stopped[flow].load(Ordering::SeqCst) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Accepts, reads and counts until `stop` is set; `meters` has one record per flow and is returned.
pub(crate) fn receive(
    listener: &OwnedFd,
    mut meters: Vec<FlowMeter>,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Vec<FlowMeter>, Error> {
    waiter::prioritise_flows();
    let broken = |e: io::Error| Error::setup("receive")(e);
    let epoll = new_epoll()?;
    let mut connections: Vec<Option<OwnedFd>> = meters.iter().map(|_| None).collect();
    epoll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).map_err(|e| broken(e.into()))?;
    let mut events = [EpollEvent::empty(); EVENTS];
    while !stop.load(Ordering::Relaxed) {
        for event in ready(&epoll, &mut events).map_err(broken)? {
            if event.data() == LISTENER {
                accept(listener, &epoll, &mut connections).map_err(broken)?;
                continue;
            }
            let flow = event.data() as usize;
            let Some(Some(fd)) = connections.get(flow) else { continue };
            match sockopt::discard(fd.as_fd(), CHUNK_BYTES) {
                Ok(bytes @ 1..) => meters[flow].goodput(clock.now(), bytes as u64),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                // The end of a flow: its sender stopped, or aborted.
                Ok(0) | Err(_) => connections[flow] = None,
            }
        }
    }
    Ok(meters)
}

/// Accepts what waits; the source port says which flow it is.
fn accept(listener: &OwnedFd, epoll: &Epoll, connections: &mut [Option<OwnedFd>]) -> io::Result<()> {
    loop {
        let raw =
            match socket::accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
                Ok(raw) => raw,
                Err(Errno::EAGAIN | Errno::ECONNABORTED | Errno::EINTR) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
        // SAFETY: accept4 has just returned this descriptor, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        abort_on_close(fd.as_fd())?;
        // A connection that is gone already has no peer.
        let Ok(peer) = socket::getpeername::<SockaddrIn>(raw) else { continue };
        let flow = peer.port().checked_sub(FIRST_PORT).map(usize::from);
        if let Some((flow, place)) = flow.and_then(|f| Some((f, connections.get_mut(f)?))) {
            epoll.add(&fd, EpollEvent::new(EpollFlags::EPOLLIN, flow as u64))?;
            *place = Some(fd);
        }
    }
}

fn new_epoll() -> Result<Epoll, Error> {
    Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|errno| Error::setup("create an epoll")(errno.into()))
}

/// Waits for events, but not for long.
fn ready<'a>(epoll: &Epoll, events: &'a mut [EpollEvent]) -> io::Result<&'a [EpollEvent]> {
    match epoll.wait(events, EpollTimeout::from(STOP_CHECK_MS)) {
        Ok(n) => Ok(&events[..n]),
        Err(Errno::EINTR) => Ok(&[]),
        Err(errno) => Err(errno.into()),
    }
}
