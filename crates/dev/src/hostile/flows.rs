//! Flows of hostile headers on the running kernel, between two hosts of their own, and what must hold: every
//! flow goes on, and nothing is left.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use fairpace_kernel::{Counters, LoadOptions, Object, Testing, load_object, load_testing};
use nix::libc;
use nix::sys::socket::{
    setsockopt,
    sockopt::{Linger, RcvBuf, TcpCongestion},
};
use serde::{Deserialize, Serialize};

use super::probe::{self, Probe};
use crate::soak::path::{self, RECEIVER, Receiver, SECOND_LINK, tc};

/// Where the receiver listens, in a network namespace of its own.
const PORT: u16 = 7801;
/// Bytes of a thread's stack.
const STACK: usize = 128 * 1024;
/// How often each flow is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A look that comes later than this says nothing about a flow: the machine was busy.
const LATE: Duration = Duration::from_millis(150);
/// A path whose newest echo is older stands still: it has 10 ms, and its queue 130 ms.
const OLD: Duration = Duration::from_millis(250);
/// What a flow that lost nothing delivers a packet in, or in two RTTs if that is longer.
const PAUSE: Duration = Duration::from_millis(500);
/// A receive buffer, bytes: half of it is the window. What 50 flows have in flight then is 0.13 s of the
/// link.
const RECEIVE_BUFFER: usize = 16 * 1024;
/// The link's buffer in the first half of a run, which holds what all flows have in flight, and in the
/// second, where they lose packets: bytes for tbf, packets for netem.
const BUFFERS: [(&str, &str); 2] = [("16mb", "100000"), ("60kb", "40")];
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// What one algorithm did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Packets that all flows delivered.
    pub delivered_pkts: u64,
    /// The largest cwnd that was seen.
    pub cwnd_most_pkts: u32,
    /// Pauses in which a flow delivered nothing although nothing was lost, or for longer than a timeout
    /// takes.
    pub stalls: Vec<String>,
    /// The algorithm, or a pin of it, is still there after it was unloaded.
    pub left: bool,
    /// Looks that say nothing about a flow: they came late, or the path stood still.
    pub late: u64,
    /// What the kernel counted.
    pub fallbacks: u64,
    /// The same.
    pub heals: u64,
    /// The same.
    pub clamps: u64,
}

/// Two hosts with a slow link between them. The thread that made it is the sender's, with all that it starts.
pub struct Hosts {
    receiver: Receiver,
    queue: Option<Queue>,
}

/// What makes the link slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// A rate and a delay.
    Netem,
    /// A rate.
    Tbf,
}

impl Queue {
    fn change(self, receiver: &Receiver, verb: &str, buffer: (&str, &str)) -> io::Result<()> {
        let rest = match self {
            Self::Netem => format!("netem rate 50mbit delay 10ms limit {}", buffer.1),
            Self::Tbf => format!("tbf rate 50mbit burst 16kb limit {}", buffer.0),
        };
        receiver.enter(|| tc(&format!("qdisc {verb} dev {SECOND_LINK} root {rest}")))
    }
}

impl Hosts {
    /// Moves this thread to the sender's host.
    ///
    /// # Errors
    /// A namespace cannot be made, or there is no `ip`.
    pub fn enter() -> io::Result<Hosts> {
        let receiver = path::enter()?;
        receiver.enter(serve)?;
        let has = |queue: &Queue| queue.change(&receiver, "add", BUFFERS[0]).is_ok();
        let is_behind = path::second_link(&receiver, "u32 0 0").is_ok();
        let queue = [Queue::Netem, Queue::Tbf].into_iter().filter(|_| is_behind).find(has);
        Ok(Hosts { receiver, queue })
    }

    /// What the link is, for a report.
    #[must_use]
    pub fn link(&self) -> &'static str {
        match self.queue {
            Some(Queue::Netem) => "50 Mbit/s and 10 ms (netem)",
            Some(Queue::Tbf) => "50 Mbit/s (tbf)",
            None => "as fast as the machine: no tc, no way behind the link, or neither netem nor tbf",
        }
    }

    /// Runs flows of an algorithm, the first half of the time with a long buffer, then with a short one.
    ///
    /// # Errors
    /// It cannot be loaded, or a socket cannot be made.
    pub fn run(
        &self,
        object: &Object,
        testing: Option<Testing>,
        flows: usize,
        time: Duration,
    ) -> Result<Outcome, Box<dyn std::error::Error>> {
        let options = LoadOptions::unique();
        let loaded = match testing {
            None => load_object(object, &options)?,
            Some(testing) => load_testing(object, &options, testing)?,
        };
        let name = loaded.kernel_name().to_owned();
        let mut outcome = Outcome::default();
        for (half, buffer) in BUFFERS.into_iter().enumerate() {
            if let Some(queue) = self.queue {
                queue.change(&self.receiver, "replace", buffer)?;
            }
            watch(&open(&name, flows)?, half > 0, time / BUFFERS.len() as u32, &mut outcome)?;
        }
        let Counters { fallbacks, heals, clamps } = loaded.counters()?;
        (outcome.fallbacks, outcome.heals, outcome.clamps) = (fallbacks, heals, clamps.total());
        drop(loaded);
        outcome.left = !is_gone(&name);
        Ok(outcome)
    }
}

/// The kernel takes a name out of its list a little later.
fn is_gone(name: &str) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let offered = fs::read_to_string(AVAILABLE).unwrap_or_default();
        if !offered.split_whitespace().any(|offered| offered == name) {
            return true;
        }
        thread::sleep(LOOK_EVERY);
    }
    false
}

/// Connections that have data to send until they are closed.
fn open(name: &str, flows: usize) -> io::Result<Vec<TcpStream>> {
    let open = |flow| {
        let socket = TcpStream::connect((RECEIVER, PORT))
            .map_err(|error| io::Error::other(format!("flow {flow} of {flows} does not connect: {error}")))?;
        setsockopt(&socket, TcpCongestion, &OsString::from(name))?;
        // what is not sent goes away with the socket
        setsockopt(&socket, Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        Ok(socket)
    };
    let sockets = (0..flows).map(open).collect::<io::Result<Vec<TcpStream>>>()?;
    // all connect before the first sends: an emulated machine has no time for both
    for socket in &sockets {
        let mut writer = socket.try_clone()?;
        Builder::new().stack_size(STACK).spawn(move || {
            let bytes = [0; 16 * 1024];
            while writer.write_all(&bytes).is_ok() {}
        })?;
    }
    Ok(sockets)
}

/// Looks at the connections for a time, and closes them. Where packets `can_be_lost` a pause may be a
/// timeout, which nothing shows before it is over.
fn watch(sockets: &[TcpStream], can_be_lost: bool, time: Duration, outcome: &mut Outcome) -> io::Result<()> {
    let begun = Instant::now();
    let new = |socket| Ok(Flow::new(begun, info(socket)?, can_be_lost));
    let mut flows = sockets.iter().map(new).collect::<io::Result<Vec<_>>>()?;
    let probe = Probe::start(address()?)?;
    let mut last = begun;
    while begun.elapsed() < time {
        thread::sleep(LOOK_EVERY);
        let now = Instant::now();
        let is_late = now - last > LATE || probe.age() > OLD;
        outcome.late += u64::from(is_late);
        for (number, (socket, flow)) in sockets.iter().zip(&mut flows).enumerate() {
            let seen = info(socket)?;
            outcome.cwnd_most_pkts = outcome.cwnd_most_pkts.max(seen.tcpi_snd_cwnd);
            match flow.look(now, &seen) {
                Some(stall) if !is_late => outcome.stalls.push(format!("flow {number}: {stall}")),
                _ => {}
            }
            if is_late {
                flow.restart(now, &seen);
            }
        }
        // not the time now: a machine that stood still during this look makes the next one late
        last = now;
    }
    for (socket, flow) in sockets.iter().zip(&flows) {
        outcome.delivered_pkts += u64::from(flow.seen.tcpi_delivered);
        // a writer that is blocked ends with an error
        let _ = socket.shutdown(Shutdown::Both);
    }
    Ok(())
}

/// What is known of a connection since it last delivered something.
struct Flow {
    since: Instant,
    seen: libc::tcp_info,
    /// The longest RTT and timeout meanwhile.
    srtt: Duration,
    timeout: Duration,
    can_be_lost: bool,
    has_lost: bool,
    has_stalled: bool,
}

impl Flow {
    fn new(now: Instant, seen: libc::tcp_info, can_be_lost: bool) -> Flow {
        Flow {
            since: now,
            seen,
            srtt: Duration::ZERO,
            timeout: Duration::ZERO,
            can_be_lost,
            has_lost: can_be_lost,
            has_stalled: false,
        }
    }

    fn restart(&mut self, now: Instant, seen: &libc::tcp_info) {
        *self = Flow::new(now, *seen, self.can_be_lost);
    }

    /// A stall, once for each pause.
    fn look(&mut self, now: Instant, seen: &libc::tcp_info) -> Option<String> {
        let has_data = seen.tcpi_unacked > 0 || seen.tcpi_notsent_bytes > 0;
        if seen.tcpi_delivered != self.seen.tcpi_delivered || !has_data {
            self.restart(now, seen);
            return None;
        }
        let us = |us: u32| Duration::from_micros(us.into());
        self.srtt = self.srtt.max(us(seen.tcpi_rtt));
        self.has_lost |= seen.tcpi_lost > 0
            || seen.tcpi_retrans > 0
            || seen.tcpi_ca_state != 0
            || seen.tcpi_total_retrans != self.seen.tcpi_total_retrans;
        // the timeout in force has doubled with each retransmission that was lost, too
        self.timeout = self.timeout.max(us(seen.tcpi_rto));
        let allowed =
            PAUSE.max(2 * self.srtt) + if self.has_lost { 2 * self.timeout } else { Duration::ZERO };
        let pause = now - self.since;
        if self.has_stalled || pause <= allowed {
            return None;
        }
        self.has_stalled = true;
        Some(format!(
            "nothing delivered for {} ms, {} packets sent meanwhile, the last {} ms ago: RTT {} ms, cwnd {}, \
             {} B/s, state {}, {} in flight, {} lost",
            pause.as_millis(),
            seen.tcpi_data_segs_out.wrapping_sub(self.seen.tcpi_data_segs_out),
            seen.tcpi_last_data_sent,
            self.srtt.as_millis(),
            seen.tcpi_snd_cwnd,
            seen.tcpi_pacing_rate,
            seen.tcpi_ca_state,
            seen.tcpi_unacked,
            seen.tcpi_lost
        ))
    }
}

/// `TCP_INFO`; what an older kernel does not have is 0.
#[expect(unsafe_code, reason = "nix has no TCP_INFO")]
fn info(socket: &TcpStream) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut bytes = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as it is given, and any bytes are a tcp_info
    let info = unsafe {
        let fd = socket.as_raw_fd();
        let result =
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &mut bytes);
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        info.assume_init()
    };
    Ok(info)
}

/// The receiver's.
fn address() -> io::Result<SocketAddrV4> {
    Ok(SocketAddrV4::new(RECEIVER.parse().map_err(io::Error::other)?, PORT))
}

/// Accepts connections, sends datagrams back and throws away what arrives, from now on.
fn serve() -> io::Result<()> {
    probe::echo(address()?)?;
    let listener = TcpListener::bind((RECEIVER, PORT))?;
    setsockopt(&listener, RcvBuf, &RECEIVE_BUFFER)?;
    let accept = move || {
        for mut socket in listener.incoming().flatten() {
            let _ = Builder::new().stack_size(STACK).spawn(move || {
                let mut bytes = [0; 16 * 1024];
                while socket.read(&mut bytes).is_ok_and(|bytes| bytes > 0) {}
            });
        }
    };
    Builder::new().spawn(accept).map(drop)
}
