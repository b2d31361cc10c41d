//! What the two ends of a script's connection agree on, and the sender and receiver that follow from it.

use fairpace_tcp::{Ecn, Receiver, ReceiverConfig, Sender, Sending};

use crate::script::TcpOption;
use crate::setup::Setup;
use crate::tuned::{Mutant, Tuned, TunedParams};

/// What the stack cannot do, in words that follow "the simulated stack has not: ".
pub(crate) type Refusal = String;

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
    pub(crate) fn on(setup: &Setup, options: &[TcpOption], ecn: bool) -> Result<Agreed, Refusal> {
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
        let mut params =
            TunedParams { params: setup.params, min_burst_pkts: setup.min_tso_segs, held_below: None };
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
