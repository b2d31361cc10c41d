//! Flows of hostile headers on the running kernel, between two hosts of their own. Every flow must go on, and
//! nothing may be left in the kernel.

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

/// Port on which the receiver listens, in a network namespace of its own.
const PORT: u16 = 7801;
/// Bytes of a thread's stack.
const STACK: usize = 128 * 1024;
/// Interval at which each flow is checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Lateness from which a check is not judged, because the machine was busy.
const LATE: Duration = Duration::from_millis(150);
/// Time within which the receiver accepts a connection, even on an emulated machine.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(10);
/// Age of the newest echo from which the path counts as stalled: the path has 10 ms, and its queue 130 ms.
const OLD: Duration = Duration::from_millis(250);
/// Time within which a flow that lost nothing delivers a packet; two RTTs if that is longer.
const PAUSE: Duration = Duration::from_millis(500);
/// Receive buffer of a flow, bytes: half of it is the window. 50 flows then have 0.13 s of the link in
/// flight.
const RECEIVE_BUFFER: usize = 16 * 1024;
/// Buffer of the link, in bytes for tbf and in packets for netem. In the first half of a run it holds the
/// inflight of all flows; in the second half the flows lose packets.
const BUFFERS: [(&str, &str); 2] = [("16mb", "100000"), ("60kb", "40")];

/// The result of the flows of an algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Number of packets that all flows delivered.
    pub delivered_pkts: u64,
    /// The largest observed cwnd, packets.
    pub cwnd_most_pkts: u32,
    /// Stalls: pauses in which a flow delivered nothing although nothing was lost, or that are longer than a
    /// timeout.
    pub stalls: Vec<String>,
    /// Number of pauses as long as a stall in which a flow sent, but the full queue dropped every packet of
    /// it.
    pub all_dropped: u64,
    /// Whether the algorithm, or a pin of it, still exists after it was unloaded.
    pub left: bool,
    /// Number of checks that are not judged: they were late, or the path was stalled.
    pub late: u64,
    /// Number of fallbacks that the kernel counted.
    pub fallbacks: u64,
    /// Number of healed values that the kernel counted.
    pub heals: u64,
    /// Number of clamped decisions that the kernel counted.
    pub clamps: u64,
}

/// Two hosts with a slow link between them. The thread that created them is on the sender's host, with all
/// processes that it starts.
pub struct Hosts {
    receiver: Receiver,
    /// The receiver's end of each connection, in their order.
    accepted: mpsc::Receiver<TcpStream>,
    queue: Option<Queue>,
}

/// The queueing discipline that makes the link slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// netem, with a rate and a delay.
    Netem,
    /// tbf, with a rate.
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
    /// Returns an error if a namespace cannot be created, or if there is no `ip`.
    pub fn enter() -> io::Result<Hosts> {
        let receiver = path::enter()?;
        let accepted = receiver.enter(serve)?;
        let has = |queue: &Queue| queue.change(&receiver, "add", BUFFERS[0]).is_ok();
        let is_behind = path::second_link(&receiver, "u32 0 0").is_ok();
        let queue = [Queue::Netem, Queue::Tbf].into_iter().filter(|_| is_behind).find(has);
        Ok(Hosts { receiver, accepted, queue })
    }

    /// Description of the link, for a report.
    #[must_use]
    pub fn link(&self) -> &'static str {
        match self.queue {
            Some(Queue::Netem) => "50 Mbit/s and 10 ms (netem)",
            Some(Queue::Tbf) => "50 Mbit/s (tbf)",
            None => "as fast as the machine: no tc, no way behind the link, or neither netem nor tbf",
        }
    }

    /// Runs flows of an algorithm, half of the time with a long buffer, then with a short one.
    ///
    /// # Errors
    /// Returns an error if the algorithm cannot be loaded, or if a socket cannot be created.
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

    /// Opens connections that have data to send until they are closed.
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

/// Whether the kernel no longer has a name; it removes a name from its list with a delay.
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

/// Checks the connections for a time, and closes them. If packets `can_be_lost`, a pause may be a timeout,
/// which is known only at its end.
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

/// The state of both ends of a connection.
#[derive(Clone, Copy)]
struct Seen {
    sender: libc::tcp_info,
    /// Number of data packets that have reached the receiver.
    arrived: u32,
}

impl Seen {
    fn of(connection: &Connection) -> io::Result<Seen> {
        // the receiver first: what it has not got was sent before or is counted as sent below
        let arrived = tcp_info(&connection.accepted)?.tcpi_data_segs_in;
        Ok(Seen { sender: tcp_info(&connection.socket)?, arrived })
    }
}

/// The result of a check of a flow.
enum Look {
    GoesOn,
    /// A pause in which the flow sends, and the queue dropped all of its packets: reported once for each
    /// pause.
    AllDropped,
    /// A stall: reported once for each pause.
    Stalled(String),
}

/// The state of a connection since it last delivered data.
struct Flow {
    since: Instant,
    /// The last time at which the flow was seen to have sent a packet.
    sent: Instant,
    sent_pkts: u32,
    seen: Seen,
    /// The longest RTT and timeout since then.
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

    /// Checks whether the flow delivers as much as the path permits. If a full queue drops all of its
    /// packets, the judged pause is the one in sending.
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

/// Address of the receiver.
fn address() -> io::Result<SocketAddrV4> {
    Ok(SocketAddrV4::new(RECEIVER.parse().map_err(io::Error::other)?, PORT))
}

/// Starts to accept connections, to echo datagrams, and to discard arriving data. Returns the connections
/// through a channel.
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

    /// The state of both ends after packets were sent and arrived, none of which was delivered.
    #[expect(unsafe_code, reason = "libc's tcp_info has no default")]
    fn seen(sent: u32, arrived: u32) -> Seen {
        // SAFETY: any bytes are a tcp_info
        let mut sender: libc::tcp_info = unsafe { std::mem::zeroed() };
        (sender.tcpi_data_segs_out, sender.tcpi_unacked, sender.tcpi_rto) = (sent, 5, 200_000);
        Seen { sender, arrived }
    }

    /// Counts the pauses of a flow that sends ten packets a second for `sending_ms` of 3 s: pauses in which
    /// all packets were dropped, and stalls.
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
