//! The flows: real TCP connections that send what their applications have, as fast as they may, and receivers that count and
//! discard.
//!
//! One thread writes for all senders, one reads for all receivers. Flow `i` sends from port
//! `FIRST_PORT + i`, which is how the emulator and the receiver know it. A flow begins with its handshake.

use crate::clock::Clock;
use crate::feed::Feed;
use crate::namespace::End;
use crate::{Error, sockopt, waiter};
use fairpace_netem::{FlowMeter, Nanos, SECOND};
use fairpace_scenario::{Ecn, Flow, Writes};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, setsockopt,
    sockopt as opt,
};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
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
/// An application that pauses takes back what it has not written. What the socket holds it cannot take back, so such a socket holds
/// no more than this beyond what is sent, and is written to in pieces of this size.
const UNSENT_BYTES: u32 = 16 << 10;
/// How soon the threads see a request to stop.
const STOP_CHECK_MS: u8 = 50;
/// The listening socket's mark among the receiver's events.
const LISTENER: u64 = u64::MAX;
/// Events taken per wait.
const EVENTS: usize = 64;

/// Whether connections ask for ECN, in the namespace of the thread that opens it: an open file stays with its namespace.
const ECN_SETTING: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// What the senders' namespace holds for them.
pub(crate) struct Sockets {
    fds: Vec<OwnedFd>,
    /// [`ECN_SETTING`].
    ecn: File,
}

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

/// The sockets of all flows, to be opened in the sender's namespace: each flow, and the kernel's name of its congestion
/// control.
///
/// # Errors
/// [`Error::UnknownCongestionControl`], [`Error::Setup`].
pub(crate) fn open_senders(flows: &[(&Flow, &str)]) -> Result<Sockets, Error> {
    let setup = |cause: io::Error| Error::setup("open the senders' sockets")(cause);
    let open = |(i, (flow, control)): (usize, &(&Flow, &str))| {
        let fd = new_socket().map_err(|errno| setup(errno.into()))?;
        setsockopt(&fd, opt::TcpCongestion, &OsString::from(control)).map_err(|errno| match errno {
            Errno::ENOENT | Errno::EINVAL => unknown_control(&flow.name, control),
            _ => setup(errno.into()),
        })?;
        if pauses(flow) {
            sockopt::limit_unsent(fd.as_fd(), UNSENT_BYTES).map_err(setup)?;
        }
        let local = SockaddrIn::from(SocketAddrV4::new(End::Sender.address(), FIRST_PORT + i as u16));
        socket::bind(fd.as_raw_fd(), &local).map_err(|errno| setup(errno.into()))?;
        Ok(fd)
    };
    let fds = flows.iter().enumerate().map(open).collect::<Result<_, Error>>()?;
    let ecn = File::options().write(true).open(ECN_SETTING).map_err(Error::setup("set net.ipv4.tcp_ecn"))?;
    Ok(Sockets { fds, ecn })
}

/// Does its application take back what it could have written?
fn pauses(flow: &Flow) -> bool {
    matches!(flow.traffic.writes, Writes::OnOff { .. })
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
    ecn: File,
    stopped: Vec<AtomicBool>,
    epoll: Epoll,
}

impl Senders {
    pub(crate) fn new(Sockets { fds: sockets, ecn }: Sockets) -> Result<Self, Error> {
        let stopped = sockets.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Senders { sockets, ecn, stopped, epoll: new_epoll()? })
    }

    pub(crate) fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.sockets[flow].as_fd()
    }

    /// Begins the handshake, which asks for ECN or does not. (The receiver's side takes part in what it is asked for: the
    /// kernel's default.)
    pub(crate) fn start(&self, flow: usize, ecn: Ecn) -> io::Result<()> {
        let fd = &self.sockets[flow];
        // read by the kernel as the SYN is made, within connect()
        self.ecn.write_all_at(if ecn == Ecn::Off { b"0" } else { b"1" }, 0)?;
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

    /// Writes what the flows' applications have until `stop` is set. `Err` names the flow that broke down.
    pub(crate) fn write(
        &self,
        flows: &[Flow],
        clock: Clock,
        stop: &AtomicBool,
    ) -> Result<(), (usize, io::Error)> {
        waiter::prioritise_flows();
        let mut writers: Vec<Writer> = flows.iter().map(Writer::new).collect();
        let mut events = [EpollEvent::empty(); EVENTS];
        // Those whose application has nothing, and when it may have more: few, as few scenarios have any.
        let mut idle: Vec<(Nanos, usize)> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            let next = idle.iter().map(|(at, _)| *at).min().unwrap_or(Nanos::MAX);
            for event in ready(&self.epoll, &mut events, next.saturating_sub(now)).map_err(|e| (0, e))? {
                let flow = event.data() as usize;
                if let Some(until) = self.fill(flow, &mut writers[flow], clock).map_err(|e| (flow, e))? {
                    self.listen(flow, EpollFlags::empty()).map_err(|e| (flow, e))?;
                    idle.push((until, flow));
                }
            }
            let now = clock.now();
            for (_, flow) in idle.extract_if(.., |(at, _)| *at <= now) {
                self.listen(flow, EpollFlags::EPOLLOUT).map_err(|e| (flow, e))?;
            }
        }
        Ok(())
    }

    /// Writes once. `Some`: the application has nothing before then.
    fn fill(&self, flow: usize, writer: &mut Writer, clock: Clock) -> io::Result<Option<Nanos>> {
        let ready = writer.feed.ready(clock.now());
        if ready == 0 {
            return Ok(Some(writer.feed.next()));
        }
        let piece = usize::try_from(ready).unwrap_or(usize::MAX).min(writer.most);
        match socket::send(self.sockets[flow].as_raw_fd(), &CHUNK[..piece], MsgFlags::MSG_NOSIGNAL) {
            Ok(taken) => writer.feed.took(taken as u64),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            // Stopped between the event and now.
            Err(_) if self.stopped[flow].load(Ordering::SeqCst) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(None)
    }

    /// Waits for this of a flow from now on, unless it has stopped.
    fn listen(&self, flow: usize, what: EpollFlags) -> io::Result<()> {
        let mut event = EpollEvent::new(what, flow as u64);
        match self.epoll.modify(&self.sockets[flow], &mut event) {
            Err(Errno::ENOENT) if self.stopped[flow].load(Ordering::SeqCst) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// One flow's application.
struct Writer {
    feed: Feed,
    /// Bytes per write.
    most: usize,
}

impl Writer {
    fn new(flow: &Flow) -> Self {
        Writer { feed: Feed::new(flow), most: if pauses(flow) { UNSENT_BYTES as usize } else { CHUNK_BYTES } }
    }
}

/// What a receiver knows of one flow.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Goodput.
    pub(crate) meter: FlowMeter,
    /// When all of a flow of finite size had arrived.
    pub(crate) completed: Option<Nanos>,
    left_bytes: Option<u64>,
}

impl Received {
    /// Nothing yet, of all that the application has.
    pub(crate) fn new(meter: FlowMeter, size_bytes: Option<u64>) -> Self {
        Received { meter, completed: None, left_bytes: size_bytes }
    }

    fn read(&mut self, now: Nanos, bytes: u64) {
        self.meter.goodput(now, bytes);
        let Some(left) = &mut self.left_bytes else { return };
        *left = left.saturating_sub(bytes);
        if *left == 0 && self.completed.is_none() {
            self.completed = Some(now);
        }
    }
}

/// Accepts, reads and counts until `stop` is set; `flows` has one record per flow and is returned.
pub(crate) fn receive(
    listener: &OwnedFd,
    mut flows: Vec<Received>,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Vec<Received>, Error> {
    waiter::prioritise_flows();
    let broken = |e: io::Error| Error::setup("receive")(e);
    let epoll = new_epoll()?;
    let mut connections: Vec<Option<OwnedFd>> = flows.iter().map(|_| None).collect();
    epoll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).map_err(|e| broken(e.into()))?;
    let mut events = [EpollEvent::empty(); EVENTS];
    while !stop.load(Ordering::Relaxed) {
        for event in ready(&epoll, &mut events, Nanos::MAX).map_err(broken)? {
            if event.data() == LISTENER {
                accept(listener, &epoll, &mut connections).map_err(broken)?;
                continue;
            }
            let flow = event.data() as usize;
            let Some(Some(fd)) = connections.get(flow) else { continue };
            match sockopt::discard(fd.as_fd(), CHUNK_BYTES) {
                Ok(bytes @ 1..) => flows[flow].read(clock.now(), bytes as u64),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                // The end of a flow: its sender stopped, or aborted.
                Ok(0) | Err(_) => connections[flow] = None,
            }
        }
    }
    Ok(flows)
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

/// Waits for events, but not for long, and not beyond a time from now.
fn ready<'a>(epoll: &Epoll, events: &'a mut [EpollEvent], most: Nanos) -> io::Result<&'a [EpollEvent]> {
    // rounded up: who wakes too early has nothing to do
    let ms = u8::try_from(most.div_ceil(SECOND / 1000)).unwrap_or(u8::MAX).min(STOP_CHECK_MS);
    match epoll.wait(events, EpollTimeout::from(ms)) {
        Ok(n) => Ok(&events[..n]),
        Err(Errno::EINTR) => Ok(&[]),
        Err(errno) => Err(errno.into()),
    }
}
