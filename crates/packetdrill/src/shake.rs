//! The handshake of a script's connection. The sender of `fairpace-tcp` opens connections only. For a server
//! the SYN that arrives is taken for one that it has sent, and the ACK of the SYN-ACK for a SYN-ACK: the
//! times, and so the RTT, are the same.

use fairpace_tcp::{Ack, Segment};

use crate::agreed::{Agreed, Refusal};
use crate::endpoint::{Endpoint, Stage};
use crate::script::{Packet, TcpOption};

impl Endpoint {
    fn start(&mut self, options: &[TcpOption], ecn: bool, passive: bool) -> Result<(), Refusal> {
        self.agreed = Agreed::on(&self.setup, options, ecn)?;
        self.passive = passive;
        if passive {
            self.setup.sending.syn_linear_timeouts = 0;
            self.setup.sending.syn_retries = self.setup.synack_retries;
        }
        (self.sender, self.receiver) = self.agreed.ends(&self.setup, self.mutant, self.peer.jumbo);
        Ok(())
    }

    /// Opens the connection.
    pub(crate) fn connect(&mut self) -> Result<(), Refusal> {
        if self.stage != Stage::Closed {
            return Err("a second connection".to_owned());
        }
        if self.setup.ecn == 3 {
            return Err("the handshake of accurate ECN (tcp_ecn=3)".to_owned());
        }
        let requests_ecn = matches!(self.setup.ecn, 1 | 4);
        let options = self.peer.options.clone();
        self.start(&options, requests_ecn, false)?;
        let agrees = requests_ecn && self.peer.agrees_to_ecn;
        let syn = Segment { seq: Segment::SYN, sent: self.now, cwr: agrees, ..Segment::default() };
        self.receiver.on_segment(self.now, syn, &mut self.acks);
        self.acks.clear(); // the peer has it from the script
        self.stage = Stage::SynSent;
        self.sender.connect(self.now, &mut self.segments);
        self.collect(false)
    }

    /// Processes a SYN that arrives.
    pub(crate) fn on_syn(&mut self, packet: &Packet) -> Result<(), Refusal> {
        if packet.len > 0 {
            return Err("fast open: data on a SYN".to_owned());
        }
        let requests_ecn = packet.has('E') && packet.has('W');
        if packet.has('A') {
            return Err("the handshake of accurate ECN".to_owned());
        }
        match self.stage {
            Stage::Listening => {
                let options = packet.options.clone().unwrap_or_default();
                self.start(&options, requests_ecn && self.setup.ecn > 0, true)?;
                self.sender.connect(self.now, &mut self.segments);
                self.segments.clear(); // the SYN is the peer's
            }
            Stage::SynReceived => {}
            Stage::SynSent => return Err("a simultaneous open".to_owned()),
            _ => return Err("a SYN on this connection".to_owned()),
        }
        let cwr = self.agreed.ecn;
        let syn = Segment { seq: Segment::SYN, sent: self.now, cwr, ..Segment::default() };
        self.receiver.on_segment(self.now, syn, &mut self.acks);
        self.stage = Stage::SynReceived;
        self.collect(false)
    }

    /// Processes a SYN-ACK, or as a server the ACK of our SYN-ACK.
    pub(crate) fn on_syn_ack(&mut self, packet: &Packet) -> Result<(), Refusal> {
        if packet.has('A') {
            return Err("the handshake of accurate ECN".to_owned());
        }
        let done = Segment { seq: Segment::ACK, sent: self.now, ..Segment::default() };
        self.receiver.on_segment(self.now, done, &mut self.acks);
        self.note_window(packet, 0);
        let ece = match self.passive {
            true => self.agreed.ecn,
            false => packet.has('E') && !packet.has('W') && self.agreed.ecn,
        };
        let ack = Ack { syn: true, ece, ..self.ack_of(packet, 0) };
        if self.stage != Stage::Established {
            let clocks = &mut self.clocks;
            clocks.established = self.now;
            (clocks.data_sent, clocks.data_received) = (self.now, self.now);
            self.stage = Stage::Established;
        }
        self.clocks.ack_received = self.now;
        self.sender.on_ack(self.now, &ack, &mut self.segments);
        if self.sender.has_failed() {
            self.stage = Stage::Reset;
        }
        self.collect(false)
    }
}
