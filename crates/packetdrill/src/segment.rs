//! What arrives on a connection: ACKs and data, from bytes of the script to packets of the model.

use fairpace_tcp::{Ack, Block, EcnField, Nanos, Segment};

use crate::agreed::Refusal;
use crate::endpoint::{Endpoint, Stage};
use crate::script::{Packet, TcpOption};

/// Most SACK blocks of an ACK of the model.
const BLOCKS: usize = 3;
/// Half of the sequence space: numbers further back are taken to lie before.
const HALF: u32 = 1 << 31;

impl Endpoint {
    /// Processes a packet of the peer.
    ///
    /// # Errors
    /// Returns what the stack has not.
    pub(crate) fn on_packet(&mut self, packet: &Packet) -> Result<(), Refusal> {
        self.clocks.segs_in += 1;
        self.clocks.data_segs_in += u64::from(packet.len > 0);
        if packet.has('S') && !packet.has('.') {
            return self.on_syn(packet);
        }
        if packet.has('R') {
            return self.on_rst();
        }
        match (self.stage, packet.has('S')) {
            (Stage::SynSent, true) | (Stage::Established, true) if !self.passive => {
                return self.on_syn_ack(packet);
            }
            (Stage::SynReceived, false) => self.on_syn_ack(packet)?,
            (Stage::Established, false) => {}
            (Stage::Reset, _) => return Ok(()),
            _ => return Err("a packet before its connection".to_owned()),
        }
        self.on_established(packet)
    }

    fn on_rst(&mut self) -> Result<(), Refusal> {
        let rst = Ack { next: Ack::RST, ..Ack::default() };
        if self.stage == Stage::Established {
            self.sender.on_ack(self.now, &rst, &mut self.segments);
        }
        self.stage = Stage::Reset;
        self.collect(false)
    }

    fn on_established(&mut self, packet: &Packet) -> Result<(), Refusal> {
        if packet.has('U') || packet.urg {
            return Err("urgent data".to_owned());
        }
        if !packet.has('.') {
            return Ok(()); // dropped (Linux: tcp_rcv_established)
        }
        let is_over = self.fins.acknowledged && self.fins.received;
        if is_over || (self.fins.sent.is_some() && packet.len > 0) {
            return Err("a packet for a socket that is closed".to_owned());
        }
        if packet.len > 0 {
            self.on_data(packet)?;
        }
        if packet.has('F') {
            self.on_fin(packet);
        }
        let Some(number) = packet.ack else { return self.collect(false) };
        let number = self.local(number);
        let next = self.packet_number(number, "ACK")?;
        let prior = self.window.bytes;
        self.note_window(packet, next);
        let is_dup = next == self.sender.snd_una() && self.window.bytes == prior;
        if packet.len > 0 && is_dup && !self.agreed.sack {
            return self.collect(false); // a duplicate has no data: RFC 5681, section 2
        }
        let mut ack = self.ack_of(packet, next);
        ack.blocks = self.blocks(packet)?;
        self.check_reneging(&ack)?;
        self.clocks.ack_received = self.now;
        self.sender.on_ack(self.now, &ack, &mut self.segments);
        self.collect(false)
    }

    /// The offset of a sequence number of ours from the initial one. Numbers before it are 0.
    pub(crate) fn local(&self, number: u32) -> u64 {
        offset(number, self.peer.local_isn)
    }

    /// The offset of a sequence number of the peer.
    pub(crate) fn remote(&self, number: u32) -> u64 {
        offset(number, self.peer.isn)
    }

    /// The packet that begins at a byte of ours. Our FIN is one byte after all packets.
    fn packet_number(&mut self, byte: u64, what: &str) -> Result<u64, Refusal> {
        let end = self.byte(self.sender.info().written);
        let of_fin = self.fins.sent.is_some() && byte == end + 1;
        self.fins.acknowledged |= of_fin;
        let (past, mss) = (byte.min(end).saturating_sub(1), u64::from(self.agreed.mss));
        if past % mss != 0 {
            return Err(format!("half segments: {what} {byte} is no multiple of the MSS of {mss}"));
        }
        // an ACK of what was never sent stays one
        Ok(past / mss + u64::from(byte > end && !of_fin))
    }

    /// Notes the window of a packet that acknowledges all packets before `next`. That of a SYN is not scaled.
    pub(crate) fn note_window(&mut self, packet: &Packet, next: u64) {
        let Some(win) = packet.win else { return };
        let shift = if packet.has('S') { 0 } else { self.agreed.wscale.unwrap_or(0) };
        let (bytes, prior) = (u64::from(win) << shift, self.window.bytes);
        let change = match bytes.cmp(&prior) {
            std::cmp::Ordering::Less => u8::MAX,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        self.window.changes = self.window.changes.wrapping_add(change);
        self.window.bytes = bytes;
        self.window.end = next.max(self.sender.snd_una()) + bytes / u64::from(self.agreed.mss);
    }

    /// The ACK of a packet, without SACK blocks.
    pub(crate) fn ack_of(&self, packet: &Packet, next: u64) -> Ack {
        let timestamp = packet.options.iter().flatten().find_map(|option| match option {
            TcpOption::Timestamp { val, ecr } if self.agreed.timestamps => Some((*val, *ecr)),
            _ => None,
        });
        let (sent_ms, echo_ms) = match timestamp {
            Some((val, ecr)) => (val, self.echo_ms(ecr)),
            // A time to come gives no RTT sample, and no sign that a packet was delayed: the same as no
            // timestamp in Linux.
            None => (0, ms(self.now).wrapping_add(1)),
        };
        let rwnd_pkts = (self.window.bytes / u64::from(self.agreed.mss)).min(u64::from(u32::MAX - 1)) as u32;
        let window = if self.agreed.sack { 0 } else { self.window.changes };
        Ack { next, echo_ms, sent_ms, rwnd_pkts, window, ece: packet.has('E'), ..Ack::default() }
    }

    /// The time of the packet whose timestamp the script echoes, ms: one that it has named, or as many
    /// milliseconds from one as the script's numbers.
    fn echo_ms(&self, ecr: u32) -> u32 {
        let named = self.timestamps.iter().rev().find(|(val, _)| *val == ecr);
        let base = named.or(self.timestamps.last()).copied().unwrap_or((ecr, ms(self.now)));
        base.1.wrapping_add(ecr.wrapping_sub(base.0))
    }

    fn blocks(&mut self, packet: &Packet) -> Result<[Block; BLOCKS], Refusal> {
        let mut blocks = [Block::NONE; BLOCKS];
        let written = packet.options.iter().flatten().find_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks),
            _ => None,
        });
        let written = written.map_or(&[][..], Vec::as_slice);
        if written.len() > BLOCKS {
            return Err("a fourth SACK block".to_owned());
        }
        for (block, (start, end)) in blocks.iter_mut().zip(written) {
            let [start, end] = [start, end].map(|number| self.local(*number));
            block.start = self.packet_number(start, "SACK block")?;
            block.end = self.packet_number(end, "SACK block")?;
        }
        Ok(blocks)
    }

    /// Refuses an ACK that asks for a packet which this or an earlier ACK has SACKed: the model's sender has
    /// no way back (Linux: tcp_check_sack_reneging).
    fn check_reneging(&mut self, ack: &Ack) -> Result<(), Refusal> {
        if ack.next > self.sender.info().snd_nxt {
            return Ok(()); // of what was never sent: ignored as a whole
        }
        let asked = ack.next.max(self.sender.snd_una());
        self.sacked.extend(ack.blocks.iter().filter(|block| !block.is_empty()));
        self.sacked.retain(|block| block.end > asked);
        match self.sacked.iter().any(|block| block.start <= asked) {
            true => Err("a receiver that reneges: its ACK asks for a packet that it has SACKed".to_owned()),
            false => Ok(()),
        }
    }

    fn on_data(&mut self, packet: &Packet) -> Result<(), Refusal> {
        let (start, end) = (self.remote(packet.seq), self.remote(packet.seq) + u64::from(packet.len));
        let place = |byte: u64| self.peer.bounds.binary_search(&byte).ok();
        let (Some(first), Some(last)) = (place(start), place(end)) else {
            return Err(format!("data at {start} of the peer, which is outside of what it sends"));
        };
        if self.fins.received {
            return Err("data after a FIN".to_owned());
        }
        for seq in first..last {
            let segment = Segment {
                seq: seq as u64,
                sent: self.now,
                echo_ms: ms(self.now),
                ecn: ecn_field(packet),
                cwr: packet.has('W'),
                push: packet.has('P') && seq + 1 == last,
            };
            self.receiver.on_segment(self.now, segment, &mut self.acks);
        }
        if self.peer.jumbo {
            self.receiver.on_timer(self.now + 1, &mut self.acks); // all of it has arrived
        }
        self.clocks.data_received = self.now;
        Ok(())
    }

    /// Acknowledges a FIN that arrives in order, at once (Linux: tcp_fin).
    fn on_fin(&mut self, packet: &Packet) {
        if self.remote(packet.seq) + u64::from(packet.len) + u64::from(self.fins.received) != self.rcv_nxt() {
            return;
        }
        self.acks.clear();
        self.fins.received = true;
        let own = packet.ack.map_or(0, |number| self.local(number));
        self.fins.acknowledged |= self.fins.sent.is_some() && own == self.snd_nxt();
        let (seq, ack) = (self.snd_nxt(), Some(self.rcv_nxt()));
        self.send(self.now, ".".to_owned(), (seq, 0), ack, Vec::new());
    }
}

fn offset(number: u32, isn: u32) -> u64 {
    let distance = number.wrapping_sub(isn);
    if distance < HALF { u64::from(distance) } else { 0 }
}

fn ms(at: Nanos) -> u32 {
    (at / 1_000_000) as u32
}

/// The ECN field that the script gives a packet.
pub(crate) fn ecn_field(packet: &Packet) -> EcnField {
    match packet.ip.first().map(String::as_str) {
        Some("ect0") => EcnField::Ect0,
        Some("ect1") => EcnField::Ect1,
        Some("ce") => EcnField::Ce,
        _ => EcnField::NotEct,
    }
}
