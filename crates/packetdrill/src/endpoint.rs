//! The stack of a script: a sender and a receiver of `fairpace-tcp` as one end of a connection. This file has
//! what both of them share: sequence numbers in bytes, options, the ACK of data that leaves, the window in
//! bytes, and the FIN of an idle connection. `shake.rs` has the handshake, `segment.rs` what arrives.

use std::collections::VecDeque;

use fairpace_tcp::{Ack, Block, EcnField, Nanos, Receiver, Segment, Sender};

use crate::agreed::{Agreed, Peer, Refusal};
use crate::script::TcpOption;
use crate::setup::Setup;

use crate::tuned::{Mutant, Tuned};

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Closed,
    Listening,
    SynReceived,
    SynSent,
    Established,
    /// A RST has ended it.
    Reset,
}

/// A packet that the stack has sent. Sequence numbers count bytes; the SYN has 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at: Nanos,
    /// The letters of packetdrill, as in `P.`.
    pub(crate) flags: String,
    pub(crate) seq: u64,
    pub(crate) len: u64,
    pub(crate) ack: Option<u64>,
    pub(crate) ecn: EcnField,
    pub(crate) options: Vec<TcpOption>,
    /// Whether the PSH flag is compared: Linux's depends on how data lies in its buffers. It pushes in the
    /// middle of a write when half of the largest window is written (forced_push), and a retransmission
    /// keeps or loses the flag with the cuts that SACKs have made.
    pub(crate) any_push: AnyPush,
}

/// Whether a PSH is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnyPush {
    /// It is.
    No,
    /// The stack may send none where the script expects one: data that was written follows.
    Missing,
    /// It is not: a retransmission.
    Yes,
}

/// Times and counts that `tcp_info` has beside those of the sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clocks {
    pub(crate) established: Nanos,
    pub(crate) data_sent: Nanos,
    pub(crate) data_received: Nanos,
    pub(crate) ack_received: Nanos,
    /// Time with data to send or to be acknowledged, and the part of it in which rwnd stopped the sender.
    pub(crate) busy: Nanos,
    pub(crate) rwnd_limited: Nanos,
    /// The state since `counted`.
    is_busy: bool,
    is_rwnd_limited: bool,
    counted: Nanos,
    pub(crate) segs_in: u64,
    pub(crate) data_segs_in: u64,
}

/// The peer's window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    pub(crate) bytes: u64,
    /// Where it ends by the last ACK, packets.
    pub(crate) end: u64,
    /// Changes with each window that differs, up if it is larger: without SACK, such an ACK is no duplicate.
    pub(crate) changes: u8,
    /// Since when a window of nothing has stopped the sender.
    closed: Option<Nanos>,
    /// True if a packet has left that the window no longer has room for.
    exceeded: bool,
}

/// The FIN in each direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fins {
    /// Time when our FIN left.
    pub(crate) sent: Option<Nanos>,
    pub(crate) acknowledged: bool,
    pub(crate) received: bool,
}

/// One end of a connection.
pub(crate) struct Endpoint {
    pub(crate) setup: Setup,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) stage: Stage,
    pub(crate) passive: bool,
    pub(crate) agreed: Agreed,
    pub(crate) sender: Sender<Tuned>,
    pub(crate) receiver: Receiver,
    /// The SYN or SYN-ACK of the peer, and both initial sequence numbers of the script.
    pub(crate) peer: Peer,
    /// Pairs of a timestamp in the script and the time of the packet that carried it, ms.
    pub(crate) timestamps: Vec<(u32, u32)>,
    pub(crate) out: VecDeque<Sent>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) acks: Vec<(Nanos, Ack)>,
    /// What the peer has SACKed above its last ACK.
    pub(crate) sacked: Vec<Block>,
    /// Number of packets sent for the first time.
    sent_pkts: u64,
    /// Bytes of a write that are less than a packet.
    part: u64,
    /// The last ACK number sent, and the ECE of the last ACK.
    last_ack: u64,
    ece: bool,
    pub(crate) window: Window,
    pub(crate) fins: Fins,
    pub(crate) clocks: Clocks,
    pub(crate) now: Nanos,
}

impl Endpoint {
    /// Returns the end of a connection with this peer.
    pub(crate) fn new(setup: Setup, mutant: Option<Mutant>, peer: Peer, now: Nanos) -> Self {
        let agreed = Agreed::default();
        let (sender, receiver) = agreed.ends(&setup, mutant, peer.jumbo);
        Endpoint {
            setup,
            mutant,
            stage: Stage::Closed,
            passive: false,
            agreed,
            sender,
            receiver,
            peer,
            timestamps: Vec::new(),
            out: VecDeque::new(),
            segments: Vec::new(),
            acks: Vec::new(),
            sacked: Vec::new(),
            sent_pkts: 0,
            part: 0,
            last_ack: 0,
            ece: false,
            window: Window::default(),
            fins: Fins::default(),
            clocks: Clocks::default(),
            now,
        }
    }

    /// The next byte that the stack expects, with the SYN and the FIN.
    pub(crate) fn rcv_nxt(&self) -> u64 {
        let next = self.receiver.rcv_nxt() as usize;
        self.peer.bounds.get(next).copied().unwrap_or(1) + u64::from(self.fins.received)
    }

    /// The first byte of packet `pkt`, or the end of the packets before.
    pub(crate) fn byte(&self, pkt: u64) -> u64 {
        1 + pkt * u64::from(self.agreed.mss)
    }

    /// The byte after all that was sent.
    pub(crate) fn snd_nxt(&self) -> u64 {
        self.byte(self.sender.info().snd_nxt) + u64::from(self.fins.sent.is_some())
    }

    /// Moves the clock to `to`, and runs the timers on the way, or only up to the first packet that leaves.
    ///
    /// # Errors
    /// Returns a timer of Linux that the stack has not.
    pub(crate) fn advance(&mut self, to: Nanos, until_sent: bool) -> Result<(), Refusal> {
        while !until_sent || self.out.is_empty() {
            let sender = self.sender.next_timer().filter(|_| self.runs_sender()).unwrap_or(Nanos::MAX);
            let receiver = self.receiver.next_timer().filter(|_| self.runs_receiver()).unwrap_or(Nanos::MAX);
            let next = sender.min(receiver).max(self.now);
            if next > to {
                self.now = self.now.max(to);
                self.note_limits();
                return self.check_timers();
            }
            self.now = next;
            self.check_timers()?;
            if receiver <= sender {
                self.receiver.on_timer(next, &mut self.acks);
            } else {
                self.sender.on_timer(next, &mut self.segments);
            }
            self.collect(true)?;
        }
        Ok(())
    }

    fn runs_sender(&self) -> bool {
        matches!(self.stage, Stage::SynReceived | Stage::SynSent | Stage::Established)
    }

    fn runs_receiver(&self) -> bool {
        matches!(self.stage, Stage::SynReceived | Stage::Established)
    }

    /// The persist timer and the timer of a FIN are Linux's only.
    fn check_timers(&self) -> Result<(), Refusal> {
        let rto = self.sender.info().rto_us * 1_000;
        let due = |since: Option<Nanos>| since.is_some_and(|since| self.now > since + rto);
        if due(self.window.closed) {
            return Err("probes of a window of zero (the persist timer)".to_owned());
        }
        if due(self.fins.sent) && !self.fins.acknowledged {
            return Err("the retransmission of a FIN".to_owned());
        }
        Ok(())
    }

    /// Takes what sender and receiver have sent. `by_timer`: no segment has arrived, so an ACK with nothing
    /// new is one that data has already carried.
    pub(crate) fn collect(&mut self, by_timer: bool) -> Result<(), Refusal> {
        let segments = std::mem::take(&mut self.segments);
        let acks = std::mem::take(&mut self.acks);
        let carried = segments.iter().any(Segment::is_data);
        if let Some((_, ack)) = acks.last() {
            self.ece = ack.ece && !ack.syn;
        }
        for (at, ack) in acks {
            self.take_ack(at, &ack, by_timer, carried);
        }
        for segment in segments {
            self.take_segment(&segment);
        }
        self.note_limits();
        if self.would_send_part() {
            let (part, mss) = (self.part, self.agreed.mss);
            return Err(format!("half segments: {part} bytes at the end of a write, with an MSS of {mss}"));
        }
        if self.window.exceeded { Err("a window that shrinks".to_owned()) } else { Ok(()) }
    }

    fn take_ack(&mut self, at: Nanos, ack: &Ack, by_timer: bool, carried: bool) {
        if ack.syn {
            if self.passive {
                let flags = if ack.ece { "SE." } else { "S." };
                self.send(at, flags.to_owned(), (0, 0), Some(1), self.agreed.syn_options(&self.setup, true));
            }
            return;
        }
        if ack.next == Ack::RST {
            self.send(at, "R".to_owned(), (self.snd_nxt(), 0), None, Vec::new());
            return;
        }
        let number = self.rcv_nxt();
        if ack.blocks[0].is_empty() && (carried || (by_timer && number == self.last_ack)) {
            return; // data carries it, or has carried it
        }
        let flags = if ack.ece { "E." } else { "." };
        let sacks = self.sacks(&ack.blocks);
        self.send(at, flags.to_owned(), (self.snd_nxt(), 0), Some(number), sacks);
    }

    fn sacks(&self, blocks: &[Block]) -> Vec<TcpOption> {
        let byte = |pkt: u64| self.peer.bounds.get(pkt as usize).copied().unwrap_or(0) as u32;
        let known = blocks.iter().filter(|block| !block.is_empty());
        let blocks: Vec<(u32, u32)> = known.map(|block| (byte(block.start), byte(block.end))).collect();
        if blocks.is_empty() { Vec::new() } else { vec![TcpOption::Sack(blocks)] }
    }

    fn take_segment(&mut self, segment: &Segment) {
        let at = segment.sent.max(self.now);
        if segment.seq == Segment::SYN {
            if !self.passive {
                let flags = if segment.cwr { "SEW" } else { "S" };
                self.send(at, flags.to_owned(), (0, 0), None, self.agreed.syn_options(&self.setup, false));
            }
            return;
        }
        let ack = Some(self.rcv_nxt());
        if segment.seq == Segment::ACK {
            if !self.passive {
                self.send(at, ".".to_owned(), (self.snd_nxt(), 0), ack, Vec::new());
            }
            return;
        }
        let mut flags = String::new();
        for (flag, is_set) in [('E', self.ece), ('W', segment.cwr), ('P', segment.push)] {
            flags.extend(is_set.then_some(flag));
        }
        flags.push('.');
        self.window.exceeded |= segment.seq >= self.window.end;
        let place = (self.byte(segment.seq), u64::from(self.agreed.mss));
        self.send(at, flags, place, ack, Vec::new());
        let any_push = match (segment.seq < self.sent_pkts, segment.seq + 1 < self.sender.info().written) {
            (true, _) => AnyPush::Yes,
            (false, true) => AnyPush::Missing,
            (false, false) => AnyPush::No,
        };
        self.sent_pkts = self.sent_pkts.max(segment.seq + 1);
        if let Some(sent) = self.out.back_mut() {
            (sent.ecn, sent.any_push) = (segment.ecn, any_push);
        }
        self.clocks.data_sent = at;
    }

    /// Queues a packet, with the timestamp option if both ends use it.
    pub(crate) fn send(
        &mut self,
        at: Nanos,
        flags: String,
        (seq, len): (u64, u64),
        ack: Option<u64>,
        mut options: Vec<TcpOption>,
    ) {
        let is_syn = flags.contains('S');
        if self.agreed.timestamps && !is_syn && ack.is_some() {
            options.insert(0, TcpOption::Timestamp { val: (at / 1_000_000) as u32, ecr: 0 });
        }
        if let Some(TcpOption::Timestamp { val, .. }) =
            options.iter_mut().find(|option| matches!(option, TcpOption::Timestamp { .. }))
        {
            *val = (at / 1_000_000) as u32;
        }
        self.last_ack = ack.unwrap_or(self.last_ack);
        let ecn = EcnField::NotEct;
        self.out.push_back(Sent { at, flags, seq, len, ack, ecn, options, any_push: AnyPush::No });
    }

    /// Takes `bytes` that the application writes. What is less than a packet waits.
    ///
    /// # Errors
    /// Returns half segments, when one would leave.
    pub(crate) fn write(&mut self, bytes: u64) -> Result<(), Refusal> {
        if self.fins.sent.is_some() {
            return Err("data after a FIN".to_owned());
        }
        let mss = u64::from(self.agreed.mss);
        let (pkts, part) = ((self.part + bytes) / mss, (self.part + bytes) % mss);
        self.part = part;
        match part {
            0 => self.sender.write(self.now, pkts, &mut self.segments),
            _ => self.sender.write_with_part(self.now, pkts, &mut self.segments),
        }
        self.collect(false)
    }

    /// True if Linux would send the part of a packet that waits (tcp_write_xmit).
    fn would_send_part(&self) -> bool {
        let info = self.sender.info();
        let has_room =
            self.sender.inflight_pkts() < self.sender.cwnd_pkts() && info.snd_nxt < self.window.end;
        self.part > 0 && info.snd_nxt == info.written && has_room
    }

    /// Closes an idle connection: a FIN leaves.
    ///
    /// # Errors
    /// Returns a close with data in flight or not sent.
    pub(crate) fn close(&mut self) -> Result<(), Refusal> {
        if matches!(self.stage, Stage::SynSent | Stage::SynReceived) {
            return Err("close before the end of the handshake".to_owned());
        }
        if self.stage != Stage::Established || self.fins.sent.is_some() {
            return Ok(());
        }
        if !self.sender.is_idle() || self.part > 0 {
            return Err("close before all data is acknowledged".to_owned());
        }
        let (seq, ack) = (self.snd_nxt(), Some(self.rcv_nxt()));
        self.send(self.now, "F.".to_owned(), (seq, 0), ack, Vec::new());
        self.fins.sent = Some(self.now);
        Ok(())
    }

    /// Counts the time for which the sender was busy and stopped by rwnd, and notes what stops it now.
    pub(crate) fn note_limits(&mut self) {
        let (info, clocks) = (self.sender.info(), &mut self.clocks);
        let elapsed = self.now - clocks.counted;
        clocks.busy += elapsed * u64::from(clocks.is_busy);
        clocks.rwnd_limited += elapsed * u64::from(clocks.is_rwnd_limited);
        clocks.counted = self.now;
        if self.stage != Stage::Established {
            return;
        }
        let unsent = info.written > info.snd_nxt;
        clocks.is_busy = unsent || info.packets_out > 0;
        clocks.is_rwnd_limited = unsent && info.snd_nxt >= self.window.end;
        let is_closed = clocks.is_rwnd_limited && info.packets_out == 0;
        self.window.closed = is_closed.then(|| self.window.closed.unwrap_or(self.now));
    }
}
