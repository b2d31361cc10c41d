//! The handshake of a script's connection, and what the two ends agree on. The sender of `fairpace-tcp` opens
//! connections only. As a server it is told of the SYN as if it had sent one, and of the ACK of the SYN-ACK as
//! if that were a SYN-ACK: the times, and so the RTT, are the same.

use fairpace_tcp::{Ack, Ecn, Receiver, ReceiverConfig, Segment, Sender, Sending};

use crate::endpoint::{Endpoint, Refusal, Stage};
use crate::script::{Packet, TcpOption};
use crate::setup::Setup;
use crate::tuned::{Mutant, Tuned, TunedParams};

/// The MSS of a SYN without the option, bytes: RFC 9293, section 3.7.1.
const DEFAULT_MSS: u32 = 536;
/// The least MSS that Linux accepts, bytes (TCP_MIN_SND_MSS).
const LEAST_MSS: u32 = 48;
/// Length of the timestamp option, bytes.
const TIMESTAMP_BYTES: u32 = 12;
/// Headers within the MTU with which `fairpace-tcp` computes the MSS, bytes.
const HEADERS_BYTES: u32 = 52;
/// The largest shift of the window (RFC 7323).
const MOST_WSCALE: u32 = 14;
/// RTO of the fault [`Mutant::DoubleRto`] above the RTT, ms.
const DOUBLED_RTO_MS: u64 = 500;

/// The peer, as far as the script says before it runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peer {
    /// Options of its SYN or SYN-ACK.
    pub(crate) options: Vec<TcpOption>,
    /// True if its SYN-ACK agrees to ECN.
    pub(crate) agrees_to_ecn: bool,
    /// Initial sequence numbers in the script: the peer's and the stack's.
    pub(crate) isn: u32,
    pub(crate) local_isn: u32,
    /// Where its segments begin and end, bytes, in order: packet `n` lies between `n` and `n + 1`.
    pub(crate) bounds: Vec<u64>,
    /// True if a segment spans several of these: it is received as one.
    pub(crate) jumbo: bool,
}

/// What both ends agree on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreed {
    /// Payload of a full segment, bytes.
    pub(crate) mss: u32,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// The shift of the peer's window, if both ends scale.
    pub(crate) wscale: Option<u32>,
    /// True if the SYN requests ECN, or the SYN-ACK agrees to it.
    pub(crate) ecn: bool,
}

impl Agreed {
    /// Returns what a host agrees on with a peer that has these options.
    fn on(setup: &Setup, options: &[TcpOption], ecn: bool) -> Result<Agreed, Refusal> {
        let (local_mss, _) = setup.announced();
        let peer_mss = options.iter().find_map(|option| match option {
            TcpOption::Mss(mss) => Some(*mss),
            _ => None,
        });
        let timestamps = options.iter().any(|option| matches!(option, TcpOption::Timestamp { .. }));
        let timestamps = timestamps && setup.timestamps;
        let wscale = options.iter().find_map(|option| match option {
            TcpOption::Wscale(shift) => Some((*shift).min(MOST_WSCALE)),
            _ => None,
        });
        let mss = peer_mss.unwrap_or(DEFAULT_MSS).min(local_mss);
        if mss < LEAST_MSS {
            return Err(format!("an MSS of {mss} bytes"));
        }
        let mss = mss - if timestamps { TIMESTAMP_BYTES } else { 0 };
        let sack = setup.sending.sack && options.contains(&TcpOption::SackOk);
        Ok(Agreed { mss, sack, timestamps, wscale, ecn })
    }

    /// Returns a sender and a receiver with these settings.
    pub(crate) fn ends(
        &self,
        setup: &Setup,
        mutant: Option<Mutant>,
        jumbo: bool,
    ) -> (Sender<Tuned>, Receiver) {
        let mut sending = Sending {
            mtu_bytes: self.mss + HEADERS_BYTES,
            sack: self.sack,
            rack: setup.sending.rack && self.sack,
            tlp: setup.sending.tlp && self.sack,
            ecn: if self.ecn { Ecn::Classic } else { Ecn::Off },
            ..setup.sending
        };
        let mut params = TunedParams {
            params: setup.params.clone(),
            min_burst_pkts: setup.min_tso_segs,
            held_below: None,
        };
        match mutant {
            Some(Mutant::NoPrr) => sending.prr = false,
            Some(Mutant::NoLimitedTransmit) => params.held_below = Some(u32::from(!self.sack)),
            Some(Mutant::DoubleRto) => sending.rto_min = std::time::Duration::from_millis(DOUBLED_RTO_MS),
            None => {}
        }
        let receiving = ReceiverConfig {
            sack: self.sack,
            ecn: sending.ecn,
            mss_bytes: self.mss.max(1),
            gro_ns: u64::from(jumbo),
            syn_ack_retries: setup.synack_retries,
            ..ReceiverConfig::default()
        };
        (Sender::new(sending, 1, params), Receiver::new(receiving))
    }

    /// The options of the SYN, or of the SYN-ACK.
    pub(crate) fn syn_options(&self, setup: &Setup, syn_ack: bool) -> Vec<TcpOption> {
        let (mss, wscale) = setup.announced();
        let (sack, timestamps, scales) = match syn_ack {
            true => (self.sack, self.timestamps, self.wscale.is_some()),
            false => (setup.sending.sack, setup.timestamps, true),
        };
        let mut options = vec![TcpOption::Mss(mss)];
        options.extend(sack.then_some(TcpOption::SackOk));
        options.extend(timestamps.then_some(TcpOption::Timestamp { val: 0, ecr: 0 }));
        options.extend(scales.then_some(TcpOption::Wscale(wscale)));
        options
    }
}

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
