//! The flows: real TCP connections, whose senders write the data that their applications offer, and whose
//! receivers count and discard it.
//!
//! One thread writes for all senders, another thread reads for all receivers. Flow `i` sends from port
//! `FIRST_PORT + i`, by which the emulator and the receiver know it. A flow begins with its handshake.

use crate::application::{self, Application};
use crate::clock::Clock;
use crate::namespace::Side;
use crate::requests::Requests;
use crate::{Error, namespace, poller, sockopt};
use fairpace_netem::{FlowMeter, Nanos, SECOND};
use fairpace_scenario::{Ecn, Flow, Receiving, Sending, Window, Writes};
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Source port of the first flow; the others follow.
pub(crate) const FIRST_PORT: u16 = 10_000;
/// Most flows: the number of ports from [`FIRST_PORT`] on.
pub(crate) const MAX_FLOWS: usize = u16::MAX as usize - FIRST_PORT as usize;
/// The receiver's first listening port; others follow, one for each constant receive window.
const RECEIVER_PORT: u16 = 5001;
/// Most bytes of a write or read: large enough to make system calls rare, small enough to serve the flows in
/// turn.
const CHUNK_BYTES: usize = 256 << 10;
/// The data that every sender writes.
static CHUNK: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// A request for a response.
const REQUEST: &[u8] = &[0];
/// Most unsent data in the socket of an application that pauses, and most bytes of its writes. Such an
/// application withdraws data that it has not written, but not data that the socket holds.
const UNSENT_BYTES: u32 = 16 << 10;
/// Headers of IPv4 and TCP within an MTU, without TCP options: what the MSS excludes (RFC 6691).
const MSS_HEADERS_BYTES: u32 = 20 + 20;
/// Longest time until the threads notice a request to stop.
const STOP_CHECK_MS: u8 = 50;
/// The identifier of the first listening socket among the receiver's events; others follow. Flows have
/// smaller ones.
const FIRST_LISTENER: u64 = 1 << 32;
/// Most events per wait.
const EVENTS: usize = 64;

/// Setting by which connections ask for ECN, in the namespace of the thread that opens the file.
const ECN_SETTING: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// The senders' files in their namespace.
pub(crate) struct Sockets {
    fds: Vec<OwnedFd>,
    /// The open file [`ECN_SETTING`].
    ecn: File,
}

fn new_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket::socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)?;
    abort_on_close(fd.as_fd())?;
    Ok(fd)
}

/// Makes the socket abort on close. A closed socket must not outlive the process, see [`crate::namespace`].
fn abort_on_close(fd: BorrowedFd<'_>) -> nix::Result<()> {
    setsockopt(&fd, opt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })
}

/// Opens the sockets of all flows, in the sender's namespace. `flows` has each flow and the kernel's name of
/// its congestion control.
///
/// # Errors
/// [`Error::UnknownCongestionControl`], [`Error::Setup`].
pub(crate) fn open_senders(flows: &[(&Flow, &str)]) -> Result<Sockets, Error> {
    let setup = |cause: io::Error| Error::setup("open the senders' sockets")(cause);
    let usual = Sending::default();
    // the same for all: a scenario whose flows differ is refused
    let linear =
        flows.first().map_or(usual.syn_linear_timeouts, |(flow, _)| flow.sending.syn_linear_timeouts);
    namespace::set_ipv4("tcp_syn_linear_timeouts", linear.into(), usual.syn_linear_timeouts.into())?;
    let largest = flows.iter().map(|(flow, _)| mtu(flow)).max().unwrap_or_default();
    let open = |(i, (flow, control)): (usize, &(&Flow, &str))| {
        // a socket takes it when it is made
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        namespace::set_ipv4("tcp_rto_min_us", us(flow.sending.rto_min), us(usual.rto_min))?;
        let fd = new_socket().map_err(|errno| setup(errno.into()))?;
        sockopt::set_syn_retries(fd.as_fd(), flow.sending.syn_retries).map_err(setup)?;
        setsockopt(&fd, opt::TcpCongestion, &OsString::from(control)).map_err(|errno| match errno {
            Errno::ENOENT | Errno::EINVAL => unknown_control(&flow.name, control),
            _ => setup(errno.into()),
        })?;
        if flow.sending.mtu_bytes < largest.into() {
            let mss = flow.sending.mtu_bytes.saturating_sub(MSS_HEADERS_BYTES);
            setsockopt(&fd, opt::TcpMaxSeg, &mss).map_err(|errno| setup(errno.into()))?;
        }
        if pauses(flow) {
            sockopt::limit_unsent(fd.as_fd(), UNSENT_BYTES).map_err(setup)?;
        }
        if flow.sending.pacing == Some(true) {
            sockopt::pace(fd.as_fd()).map_err(setup)?;
        }
        let local = SockaddrIn::from(SocketAddrV4::new(Side::Sender.address(), FIRST_PORT + i as u16));
        socket::bind(fd.as_raw_fd(), &local).map_err(|errno| setup(errno.into()))?;
        Ok(fd)
    };
    let fds = flows.iter().enumerate().map(open).collect::<Result<_, Error>>()?;
    let ecn = File::options().write(true).open(ECN_SETTING).map_err(Error::setup("set net.ipv4.tcp_ecn"))?;
    Ok(Sockets { fds, ecn })
}

/// The largest MTU of the flows, which their devices have.
pub(crate) fn largest_mtu(flows: &[Flow]) -> u16 {
    flows.iter().map(mtu).max().unwrap_or_default()
}

fn mtu(flow: &Flow) -> u16 {
    u16::try_from(flow.sending.mtu_bytes).unwrap_or(u16::MAX) // the range of the key ends below
}

/// Returns whether the application pauses, and withdraws data that it has not written.
pub(crate) fn pauses(flow: &Flow) -> bool {
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

/// The constant receive window of a flow; `None`: Linux tunes it.
fn constant_window(flow: &Flow) -> Option<u64> {
    match flow.receiving.window {
        Window::Fixed(bytes) => Some(bytes),
        Window::Ample | Window::Autotuned(_) => None,
    }
}

/// Returns the constant receive windows of the flows, each once. Each has a listening socket: what it accepts
/// has its receive buffer from the handshake on.
fn windows(flows: &[Flow]) -> Vec<Option<u64>> {
    let mut windows: Vec<_> = flows.iter().map(constant_window).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

/// Returns the port to which each flow connects.
fn ports(flows: &[Flow]) -> Vec<u16> {
    let windows = windows(flows);
    let place = |flow| windows.binary_search(&constant_window(flow)).unwrap_or_default();
    flows.iter().map(|flow| RECEIVER_PORT + place(flow) as u16).collect()
}

/// Opens the listening sockets, in the receiver's namespace.
///
/// # Errors
/// [`Error::Setup`].
pub(crate) fn open_listeners(flows: &[Flow]) -> Result<Vec<OwnedFd>, Error> {
    let usual = Receiving::default().syn_ack_retries;
    // the same for all: a scenario whose flows differ is refused
    let retries = flows.first().map_or(usual, |flow| flow.receiving.syn_ack_retries);
    namespace::set_ipv4("tcp_synack_retries", retries.into(), usual.into())?;
    let listen = |(place, window): (usize, Option<u64>)| {
        let fd = new_socket()?;
        if let Some(bytes) = window {
            sockopt::set_receive_buffer(fd.as_fd(), bytes)?;
        }
        socket::bind(fd.as_raw_fd(), &SockaddrIn::from(receiver(RECEIVER_PORT + place as u16)))?;
        socket::listen(&fd, Backlog::MAXCONN)?;
        Ok(fd)
    };
    let sockets: io::Result<_> = windows(flows).into_iter().enumerate().map(listen).collect();
    sockets.map_err(Error::setup("open the receiver's sockets"))
}

fn receiver(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Side::Receiver.address(), port)
}

/// All senders. The coordinator starts and stops them; [`Senders::write`] runs on another thread.
pub(crate) struct Senders {
    sockets: Vec<OwnedFd>,
    ecn: File,
    /// The port to which each flow connects.
    ports: Vec<u16>,
    /// Time when the application began its last transfer; [`Nanos::MAX`]: none.
    began: Vec<AtomicU64>,
    stopped: Vec<AtomicBool>,
    failed: Vec<AtomicBool>,
    epoll: Epoll,
}

impl Senders {
    pub(crate) fn new(Sockets { fds: sockets, ecn }: Sockets, flows: &[Flow]) -> Result<Self, Error> {
        let began = sockets.iter().map(|_| AtomicU64::new(Nanos::MAX)).collect();
        let none = || sockets.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Senders {
            ports: ports(flows),
            began,
            stopped: none(),
            failed: none(),
            sockets,
            ecn,
            epoll: new_epoll()?,
        })
    }

    /// True if the flow's connection has failed: its SYNs or its data were not answered, or it was reset.
    pub(crate) fn has_failed(&self, flow: usize) -> bool {
        self.failed[flow].load(Ordering::SeqCst)
    }

    /// True if the flow sends nothing any more: it was stopped, or its connection has failed.
    fn is_over(&self, flow: usize) -> bool {
        self.has_failed(flow) || self.stopped[flow].load(Ordering::SeqCst)
    }

    /// Time when the flow's application began its last transfer; [`Nanos::MAX`]: it has not begun one.
    pub(crate) fn began(&self, flow: usize) -> Nanos {
        self.began[flow].load(Ordering::SeqCst)
    }

    pub(crate) fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.sockets[flow].as_fd()
    }

    /// Begins the handshake, with or without a request for ECN. (The receiver accepts such requests: see
    /// [`namespace::create`].)
    pub(crate) fn start(&self, flow: usize, ecn: Ecn, now: Nanos) -> io::Result<()> {
        let fd = &self.sockets[flow];
        self.began[flow].store(now, Ordering::SeqCst);
        // the kernel reads this setting within connect(), when it makes the SYN
        let request = match ecn {
            Ecn::Off => b"0",
            Ecn::Classic | Ecn::Dctcp => b"1",
            Ecn::Accurate | Ecn::L4s => b"3",
        };
        self.ecn.write_all_at(request, 0)?;
        match socket::connect(fd.as_raw_fd(), &SockaddrIn::from(receiver(self.ports[flow]))) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLOUT, flow as u64))?;
        Ok(())
    }

    /// Ends a flow at once. Its packets on the path stay there.
    pub(crate) fn stop(&self, flow: usize) -> io::Result<()> {
        self.stopped[flow].store(true, Ordering::SeqCst);
        match self.epoll.delete(&self.sockets[flow]) {
            Err(Errno::ENOENT) if self.has_failed(flow) => return Ok(()),
            deleted => deleted?,
        }
        sockopt::abort(self.sockets[flow].as_fd())
    }

    /// Writes the data that the flows' applications offer, until `stop` is set. `Err` names the flow that
    /// failed.
    pub(crate) fn write(
        &self,
        flows: &[Flow],
        clock: Clock,
        stop: &AtomicBool,
    ) -> Result<(), (usize, io::Error)> {
        poller::prioritise_flows();
        let mut writers: Vec<Writer> = flows.iter().map(Writer::new).collect();
        let mut events = [EpollEvent::empty(); EVENTS];
        // Flows whose application offers nothing, and when it may offer more. They are few.
        let mut idle: Vec<(Nanos, usize)> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            let next = idle.iter().map(|(at, _)| *at).min().unwrap_or(Nanos::MAX);
            for event in ready(&self.epoll, &mut events, next.saturating_sub(now)).map_err(|e| (0, e))? {
                let flow = event.data() as usize;
                if event.events().intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
                    let error = socket::getsockopt(&self.sockets[flow], opt::SocketError);
                    let errno = Errno::from_raw(error.map_err(|e| (flow, e.into()))?);
                    self.end(flow, errno).map_err(|e| (flow, e))?;
                    continue;
                }
                let writer = &mut writers[flow];
                if event.events().contains(EpollFlags::EPOLLIN) {
                    self.answer(flow, writer, clock).map_err(|e| (flow, e))?;
                }
                if let Some(until) = self.fill(flow, writer, clock).map_err(|e| (flow, e))? {
                    self.listen(flow, writer.awaits).map_err(|e| (flow, e))?;
                    idle.extend((until < Nanos::MAX).then_some((until, flow)));
                }
            }
            let now = clock.now();
            for (_, flow) in idle.extract_if(.., |(at, _)| *at <= now) {
                self.listen(flow, EpollFlags::EPOLLOUT).map_err(|e| (flow, e))?;
            }
        }
        Ok(())
    }

    /// Reads requests and begins their responses.
    fn answer(&self, flow: usize, writer: &mut Writer, clock: Clock) -> io::Result<()> {
        match sockopt::discard(self.sockets[flow].as_fd(), CHUNK_BYTES) {
            // a request is a byte, and the next one follows its response
            Ok(1..) => {
                self.began[flow].store(clock.now(), Ordering::SeqCst);
                writer.application.write(writer.response_bytes);
                self.listen(flow, writer.awaits | EpollFlags::EPOLLOUT)
            }
            Ok(0) => Ok(()),
            Err(e) => match Errno::from_raw(e.raw_os_error().unwrap_or_default()) {
                Errno::EAGAIN | Errno::EINTR => Ok(()),
                errno => self.end(flow, errno),
            },
        }
    }

    /// Writes once. `Some`: the application offers no data before this time.
    fn fill(&self, flow: usize, writer: &mut Writer, clock: Clock) -> io::Result<Option<Nanos>> {
        let ready = writer.application.ready(clock.now());
        if ready == 0 {
            return Ok(Some(writer.application.next()));
        }
        let piece = usize::try_from(ready).unwrap_or(usize::MAX).min(writer.most);
        match socket::send(self.sockets[flow].as_raw_fd(), &CHUNK[..piece], MsgFlags::MSG_NOSIGNAL) {
            Ok(taken) => writer.application.took(taken as u64),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => self.end(flow, errno)?,
        }
        Ok(None)
    }

    /// Processes the end of a flow's connection: it was stopped since the event, it has failed, which is a
    /// result, or there is another error.
    fn end(&self, flow: usize, errno: Errno) -> io::Result<()> {
        match errno {
            _ if self.stopped[flow].load(Ordering::SeqCst) => Ok(()),
            Errno::ETIMEDOUT | Errno::ECONNRESET => {
                self.failed[flow].store(true, Ordering::SeqCst);
                Ok(self.epoll.delete(&self.sockets[flow])?)
            }
            other => Err(other.into()),
        }
    }

    /// Waits for `events` of a flow from now on, unless it has been stopped.
    fn listen(&self, flow: usize, what: EpollFlags) -> io::Result<()> {
        let mut event = EpollEvent::new(what, flow as u64);
        match self.epoll.modify(&self.sockets[flow], &mut event) {
            Err(Errno::ENOENT) if self.stopped[flow].load(Ordering::SeqCst) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// The writing side of a flow.
struct Writer {
    application: Application,
    /// Most bytes per write.
    most: usize,
    /// Length of a response; 0: the application gets no requests.
    response_bytes: u64,
    /// What a writer waits for that has nothing to write: requests, or nothing.
    awaits: EpollFlags,
}

impl Writer {
    fn new(flow: &Flow) -> Self {
        let response = application::response_bytes(flow);
        Writer {
            application: Application::new(flow),
            most: if pauses(flow) { UNSENT_BYTES as usize } else { CHUNK_BYTES },
            response_bytes: response.unwrap_or_default(),
            awaits: if response.is_some() { EpollFlags::EPOLLIN } else { EpollFlags::empty() },
        }
    }
}

/// The receiving side of a flow.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Meter of the goodput.
    pub(crate) meter: FlowMeter,
    /// Transfers: when the sender began each, and when it had arrived; `None`: it has not.
    pub(crate) transfers: Vec<(Nanos, Option<Nanos>)>,
    /// Length of a transfer; `None`: the flow has no transfers.
    transfer_bytes: Option<u64>,
    /// The part of the current transfer that has not arrived.
    left_bytes: u64,
    /// The kernel's name of the receiver's congestion control; `None`: the kernel's default.
    control: Option<OsString>,
    /// Largest receive window, bytes; `None`: it is not limited.
    most_window_bytes: Option<u64>,
}

impl Received {
    /// Returns the receiving side of a flow that has received nothing yet.
    pub(crate) fn new(meter: FlowMeter, flow: &Flow, control: Option<&str>) -> Self {
        let transfer_bytes = application::response_bytes(flow).or(flow.traffic.total_bytes());
        Received {
            meter,
            transfers: Vec::new(),
            transfer_bytes,
            left_bytes: transfer_bytes.unwrap_or_default(),
            control: control.map(OsString::from),
            most_window_bytes: match flow.receiving.window {
                Window::Ample => None,
                Window::Fixed(bytes) | Window::Autotuned(bytes) => Some(bytes),
            },
        }
    }

    /// Records that data has arrived, of a transfer that began at `began`. Returns true if it completes the
    /// transfer.
    fn read(&mut self, now: Nanos, bytes: u64, began: Nanos) -> bool {
        self.meter.goodput(now, bytes);
        let Some(transfer_bytes) = self.transfer_bytes else { return false };
        if self.left_bytes == 0 {
            self.left_bytes = transfer_bytes;
        }
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        if self.left_bytes == 0 {
            self.transfers.push((began, Some(now)));
        }
        self.left_bytes == 0
    }

    /// Records a transfer that began at `began`, if it is not complete at the end of the run.
    fn finish(&mut self, began: Nanos) {
        let is_known = self.transfers.last().is_some_and(|(last, _)| *last == began);
        if self.transfer_bytes.is_some() && began < Nanos::MAX && !is_known {
            self.transfers.push((began, None));
        }
    }
}

/// Accepts connections, reads and counts their data and sends requests, until `stop` is set. `flows` has one
/// record per flow and is returned.
pub(crate) fn receive(
    listeners: &[OwnedFd],
    senders: &Senders,
    mut flows: Vec<Received>,
    mut requests: Requests,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Vec<Received>, Error> {
    poller::prioritise_flows();
    let broken = |e: io::Error| Error::setup("receive")(e);
    let epoll = new_epoll()?;
    let mut connections: Vec<Option<OwnedFd>> = flows.iter().map(|_| None).collect();
    for (listener, place) in listeners.iter().zip(0..) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, FIRST_LISTENER + place);
        epoll.add(listener, event).map_err(|e| broken(e.into()))?;
    }
    let mut events = [EpollEvent::empty(); EVENTS];
    while !stop.load(Ordering::Relaxed) {
        let wait = requests.next().saturating_sub(clock.now());
        for event in ready(&epoll, &mut events, wait).map_err(broken)? {
            if let Some(place) = event.data().checked_sub(FIRST_LISTENER) {
                accept(&listeners[place as usize], &epoll, &mut connections, &flows).map_err(broken)?;
                continue;
            }
            let flow = event.data() as usize;
            let Some(Some(fd)) = connections.get(flow) else { continue };
            match sockopt::discard(fd.as_fd(), CHUNK_BYTES) {
                Ok(bytes @ 1..) => {
                    let now = clock.now();
                    if flows[flow].read(now, bytes as u64, senders.began(flow)) {
                        requests.response_arrived(flow, now);
                    }
                    if let Some(most) = flows[flow].most_window_bytes {
                        sockopt::limit_window(fd.as_fd(), most).map_err(broken)?;
                    }
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                // The flow has ended: its sender was stopped or aborted.
                Ok(0) | Err(_) => connections[flow] = None,
            }
        }
        let now = clock.now();
        requests.pass_barriers(now, |flow| senders.is_over(flow));
        for flow in requests.take_due(now) {
            if let Some(fd) = &connections[flow] {
                // refused if the connection has just ended
                let _ = socket::send(fd.as_raw_fd(), REQUEST, MsgFlags::MSG_NOSIGNAL);
            }
        }
    }
    for (flow, received) in flows.iter_mut().enumerate() {
        received.finish(senders.began(flow));
    }
    Ok(flows)
}

/// Accepts waiting connections. The source port identifies the flow.
fn accept(
    listener: &OwnedFd,
    epoll: &Epoll,
    connections: &mut [Option<OwnedFd>],
    flows: &[Received],
) -> io::Result<()> {
    loop {
        let raw =
            match socket::accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
                Ok(raw) => raw,
                Err(Errno::EAGAIN | Errno::ECONNABORTED | Errno::EINTR) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
        // SAFETY: accept4 has just returned this descriptor, which has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        abort_on_close(fd.as_fd())?;
        // A connection that has been aborted already has no peer.
        let Ok(peer) = socket::getpeername::<SockaddrIn>(raw) else { continue };
        let flow = peer.port().checked_sub(FIRST_PORT).map(usize::from);
        if let Some((flow, place)) = flow.and_then(|f| Some((f, connections.get_mut(f)?))) {
            if let Some(control) = &flows[flow].control {
                setsockopt(&fd, opt::TcpCongestion, control)?;
            }
            epoll.add(&fd, EpollEvent::new(EpollFlags::EPOLLIN, flow as u64))?;
            *place = Some(fd);
        }
    }
}

fn new_epoll() -> Result<Epoll, Error> {
    Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|errno| Error::setup("create an epoll")(errno.into()))
}

/// Waits for events, at most `most` ns and at most [`STOP_CHECK_MS`].
fn ready<'a>(epoll: &Epoll, events: &'a mut [EpollEvent], most: Nanos) -> io::Result<&'a [EpollEvent]> {
    // rounded up: a thread that wakes too early has nothing to do
    let ms = u8::try_from(most.div_ceil(SECOND / 1000)).unwrap_or(u8::MAX).min(STOP_CHECK_MS);
    match epoll.wait(events, EpollTimeout::from(ms)) {
        Ok(n) => Ok(&events[..n]),
        Err(Errno::EINTR) => Ok(&[]),
        Err(errno) => Err(errno.into()),
    }
}
