//! Flows of hostile headers on the running kernel, between two hosts of their own, and what must hold: every
//! flow goes on, and nothing is left.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::mpsc;
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
use crate::machine::{offered, tcp_info};
use crate::soak::path::{self, RECEIVER, Receiver, SECOND_LINK, tc};

/// Where the receiver listens, in a network namespace of its own.
const PORT: u16 = 7801;
/// Bytes of a thread's stack.
const STACK: usize = 128 * 1024;
/// How often each flow is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A look that comes later than this says nothing about a flow: the machine was busy.
const LATE: Duration = Duration::from_millis(150);
/// What the receiver takes to accept a connection, at most, on an emulated machine.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(10);
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
    /// Pauses as long as a stall in which a flow went on sending and the full queue dropped every packet of
    /// it: the receiver got none.
    pub all_dropped: u64,
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
    /// The receiver's end of each connection, in their order.
    accepted: mpsc::Receiver<TcpStream>,
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
        let accepted = receiver.enter(serve)?;
        let has = |queue: &Queue| queue.change(&receiver, "add", BUFFERS[0]).is_ok();
        let is_behind = path::second_link(&receiver, "u32 0 0").is_ok();
        let queue = [Queue::Netem, Queue::Tbf].into_iter().filter(|_| is_behind).find(has);
        Ok(Hosts { receiver, accepted, queue })
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
            watch(&self.open(&name, flows)?, half > 0, time / BUFFERS.len() as u32, &mut outcome)?;
        }
        let Counters { fallbacks, heals, clamps } = loaded.counters()?;
        (outcome.fallbacks, outcome.heals, outcome.clamps) = (fallbacks, heals, clamps.total());
        drop(loaded);
        outcome.left = !is_gone(&name);
        Ok(outcome)
    }

    /// Connections that have data to send until they are closed.
    fn open(&self, name: &str, flows: usize) -> io::Result<Vec<Connection>> {
        let connections = (0..flows).map(|flow| self.connect(name, flow)).collect::<io::Result<Vec<_>>>()?;
        // all connect before the first sends: an emulated machine has no time for both
        for Connection { socket, .. } in &connections {
            let mut writer = socket.try_clone()?;
            Builder::new().stack_size(STACK).spawn(move || {
                let bytes = [0; 16 * 1024];
                while writer.write_all(&bytes).is_ok() {}
            })?;
        }
        Ok(connections)
    }

    fn connect(&self, name: &str, flow: usize) -> io::Result<Connection> {
        let failed = |why: &dyn Display| io::Error::other(format!("flow {flow} does not connect: {why}"));
        let socket = TcpStream::connect((RECEIVER, PORT)).map_err(|error| failed(&error))?;
        setsockopt(&socket, TcpCongestion, &OsString::from(name))?;
        // what is not sent goes away with the socket
        setsockopt(&socket, Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        let accepted = self.accepted.recv_timeout(ACCEPTED_WITHIN).map_err(|error| failed(&error))?;
        if accepted.peer_addr()? != socket.local_addr()? {
            return Err(failed(&"the receiver has accepted another one"));
        }
        Ok(Connection { socket, accepted })
    }
}

/// Both ends of a connection.
struct Connection {
    socket: TcpStream,
    accepted: TcpStream,
}

/// The kernel takes a name out of its list a little later.
fn is_gone(name: &str) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        if !offered().iter().any(|offered| offered == name) {
            return true;
        }
        thread::sleep(LOOK_EVERY);
    }
    false
}

/// Looks at the connections for a time, and closes them. Where packets `can_be_lost` a pause may be a
/// timeout, which nothing shows before it is over.
fn watch(
    connections: &[Connection],
    can_be_lost: bool,
    time: Duration,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let begun = Instant::now();
    let new = |connection| Ok(Flow::new(begun, Seen::of(connection)?, can_be_lost));
    let mut flows = connections.iter().map(new).collect::<io::Result<Vec<_>>>()?;
    let probe = Probe::start(address()?)?;
    let mut last = begun;
    while begun.elapsed() < time {
        thread::sleep(LOOK_EVERY);
        let now = Instant::now();
        let is_late = now - last > LATE || probe.age() > OLD;
        outcome.late += u64::from(is_late);
        for (number, (connection, flow)) in connections.iter().zip(&mut flows).enumerate() {
            let seen = Seen::of(connection)?;
            outcome.cwnd_most_pkts = outcome.cwnd_most_pkts.max(seen.sender.tcpi_snd_cwnd);
            match flow.look(now, &seen) {
                _ if is_late => flow.restart(now, &seen),
                Look::GoesOn => {}
                Look::AllDropped => outcome.all_dropped += 1,
                Look::Stalled(how) => outcome.stalls.push(format!("flow {number}: {how}")),
            }
        }
        // not the time now: a machine that stood still during this look makes the next one late
        last = now;
    }
    for (Connection { socket, .. }, flow) in connections.iter().zip(&flows) {
        outcome.delivered_pkts += u64::from(flow.seen.sender.tcpi_delivered);
        // a writer that is blocked ends with an error
        let _ = socket.shutdown(Shutdown::Both);
    }
    Ok(())
}

/// What both ends of a connection say.
#[derive(Clone, Copy)]
struct Seen {
    sender: libc::tcp_info,
    /// Data packets that have reached the receiver.
    arrived: u32,
}

impl Seen {
    fn of(connection: &Connection) -> io::Result<Seen> {
        // the receiver first: what it has not got was sent before or is counted as sent below
        let arrived = tcp_info(&connection.accepted)?.tcpi_data_segs_in;
        Ok(Seen { sender: tcp_info(&connection.socket)?, arrived })
    }
}

/// What a look at a flow shows.
enum Look {
    GoesOn,
    /// A pause in which it sends, and the queue has dropped all of it: once for each.
    AllDropped,
    /// A stall, once for each pause.
    Stalled(String),
}

/// What is known of a connection since it last delivered something.
struct Flow {
    since: Instant,
    /// The last time that it was seen to have sent a packet.
    sent: Instant,
    sent_pkts: u32,
    seen: Seen,
    /// The longest RTT and timeout meanwhile.
    srtt: Duration,
    timeout: Duration,
    can_be_lost: bool,
    has_lost: bool,
    all_dropped: bool,
    has_stalled: bool,
}

impl Flow {
    fn new(now: Instant, seen: Seen, can_be_lost: bool) -> Flow {
        Flow {
            since: now,
            sent: now,
            sent_pkts: seen.sender.tcpi_data_segs_out,
            seen,
            srtt: Duration::ZERO,
            timeout: Duration::ZERO,
            can_be_lost,
            has_lost: can_be_lost,
            all_dropped: false,
            has_stalled: false,
        }
    }

    fn restart(&mut self, now: Instant, seen: &Seen) {
        *self = Flow::new(now, *seen, self.can_be_lost);
    }

    /// Whether it delivers what the path lets through. Where a full queue drops all of its packets, the pause
    /// that counts is the one in sending.
    fn look(&mut self, now: Instant, seen: &Seen) -> Look {
        let Seen { sender, arrived } = seen;
        let has_data = sender.tcpi_unacked > 0 || sender.tcpi_notsent_bytes > 0;
        if sender.tcpi_delivered != self.seen.sender.tcpi_delivered || !has_data {
            self.restart(now, seen);
            return Look::GoesOn;
        }
        let us = |us: u32| Duration::from_micros(us.into());
        self.srtt = self.srtt.max(us(sender.tcpi_rtt));
        self.has_lost |= sender.tcpi_lost > 0
            || sender.tcpi_retrans > 0
            || sender.tcpi_ca_state != 0
            || sender.tcpi_total_retrans != self.seen.sender.tcpi_total_retrans;
        // the timeout in force has doubled with each retransmission that was lost, too
        self.timeout = self.timeout.max(us(sender.tcpi_rto));
        if sender.tcpi_data_segs_out != self.sent_pkts {
            (self.sent, self.sent_pkts) = (now, sender.tcpi_data_segs_out);
        }
        let allowed =
            PAUSE.max(2 * self.srtt) + if self.has_lost { 2 * self.timeout } else { Duration::ZERO };
        if self.has_stalled || now - self.since <= allowed {
            return Look::GoesOn;
        }
        if self.can_be_lost && *arrived == self.seen.arrived && now - self.sent <= allowed {
            let was_known = std::mem::replace(&mut self.all_dropped, true);
            return if was_known { Look::GoesOn } else { Look::AllDropped };
        }
        self.has_stalled = true;
        Look::Stalled(format!(
            "nothing delivered for {} ms, {} packets sent meanwhile, the last {} ms ago, {} arrived: \
             RTT {} ms, cwnd {}, {} B/s, state {}, {} in flight, {} lost",
            (now - self.since).as_millis(),
            sender.tcpi_data_segs_out.wrapping_sub(self.seen.sender.tcpi_data_segs_out),
            sender.tcpi_last_data_sent,
            arrived.wrapping_sub(self.seen.arrived),
            self.srtt.as_millis(),
            sender.tcpi_snd_cwnd,
            sender.tcpi_pacing_rate,
            sender.tcpi_ca_state,
            sender.tcpi_unacked,
            sender.tcpi_lost
        ))
    }
}

/// The receiver's.
fn address() -> io::Result<SocketAddrV4> {
    Ok(SocketAddrV4::new(RECEIVER.parse().map_err(io::Error::other)?, PORT))
}

/// Accepts connections, sends datagrams back and throws away what arrives, from now on. Hands on each
/// connection.
fn serve() -> io::Result<mpsc::Receiver<TcpStream>> {
    probe::echo(address()?)?;
    let listener = TcpListener::bind((RECEIVER, PORT))?;
    setsockopt(&listener, RcvBuf, &RECEIVE_BUFFER)?;
    let (accepted, receiver) = mpsc::channel();
    let accept = move || {
        for mut socket in listener.incoming().flatten() {
            let handed_on = socket.try_clone().is_ok_and(|clone| accepted.send(clone).is_ok());
            if !handed_on {
                continue;
            }
            let _ = Builder::new().stack_size(STACK).spawn(move || {
                let mut bytes = [0; 16 * 1024];
                while socket.read(&mut bytes).is_ok_and(|bytes| bytes > 0) {}
            });
        }
    };
    Builder::new().spawn(accept)?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both ends say after packets were sent and arrived, none of them delivered.
    #[expect(unsafe_code, reason = "libc's tcp_info has no default")]
    fn seen(sent: u32, arrived: u32) -> Seen {
        // SAFETY: any bytes are a tcp_info
        let mut sender: libc::tcp_info = unsafe { std::mem::zeroed() };
        (sender.tcpi_data_segs_out, sender.tcpi_unacked, sender.tcpi_rto) = (sent, 5, 200_000);
        Seen { sender, arrived }
    }

    /// Pauses of a flow that sends ten packets a second for `sending_ms` of 3 s: those in which all was
    /// dropped, and stalls.
    fn pauses(can_be_lost: bool, sending_ms: u32, arrived: u32) -> (usize, usize) {
        let begun = Instant::now();
        let mut flow = Flow::new(begun, seen(0, 0), can_be_lost);
        let looks = (0..3_000).step_by(20).map(|ms| {
            let arrived = if ms < 100 { 0 } else { arrived };
            flow.look(begun + Duration::from_millis(ms.into()), &seen(ms.min(sending_ms) / 100, arrived))
        });
        looks.fold((0, 0), |(dropped, stalls), look| match look {
            Look::GoesOn => (dropped, stalls),
            Look::AllDropped => (dropped + 1, stalls),
            Look::Stalled(_) => (dropped, stalls + 1),
        })
    }

    #[test]
    fn a_pause_is_a_stall_unless_a_short_queue_drops_all_of_a_flow_that_sends() {
        assert_eq!(pauses(true, 3_000, 0), (1, 0));
        assert_eq!(pauses(true, 3_000, 1), (0, 1), "one arrived, and was not delivered");
        assert_eq!(pauses(false, 3_000, 0), (0, 1), "a long queue drops nothing");
        assert_eq!(pauses(true, 500, 0), (1, 1), "it stops sending");
        assert_eq!(pauses(true, 0, 0), (0, 1));
    }
}
