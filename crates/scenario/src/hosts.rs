//! What can be switched on a sending and a receiving host. The defaults are Linux's.

use std::sync::Arc;
use std::time::Duration;

use crate::links::Delays;

/// Does the connection use ECN, and how does the receiver tell?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// No.
    #[default]
    Off,
    /// RFC 3168: ECE on every ACK from a mark until CWR; a mark is answered like a loss, once per round trip.
    Classic,
    /// RFC 8257: ECE on an ACK tells exactly whether what it acknowledges was marked.
    Dctcp,
}

impl Ecn {
    /// The names of all of them, as they are written.
    pub(crate) const NAMES: &[&str] = &["off", "classic", "dctcp"];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [Ecn::Off, Ecn::Classic, Ecn::Dctcp].into_iter().find(|ecn| ecn.name() == name)
    }
}

/// What a sender does beside its algorithm. `Default` is Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// ECN, which both ends take part in.
    pub ecn: Ecn,
    /// Selective acknowledgments, RFC 2018, which both ends take part in. Without: NewReno, RFC 6582, and neither RACK nor TLP.
    pub sack: bool,
    /// Losses are found by time, RFC 8985. Without: by three duplicates, RFC 6675.
    pub rack: bool,
    /// Tail loss probes, RFC 8985.
    pub tlp: bool,
    /// Detection of needless timeouts, RFC 5682.
    pub frto: bool,
    /// Reductions that turn out to have been needless are taken back.
    pub undo: bool,
    /// Proportional rate reduction, RFC 9937, for algorithms that leave reductions to the host. Without: cwnd falls at once (RFC 5681).
    pub prr: bool,
    /// cwnd decays while nothing is sent, RFC 2861.
    pub idle_restart: bool,
    /// Bursts of several packets leave as one, sized by the pacing rate. Without: packet by packet.
    pub tso: bool,
    /// Paces, whether or not the algorithm asks for it (as with the fq queue discipline); `None`: if it asks.
    pub pacing: Option<bool>,
    /// Initial window, packets.
    pub initial_cwnd_pkts: u32,
}

impl Default for Sending {
    fn default() -> Self {
        Sending {
            ecn: Ecn::Off,
            sack: true,
            rack: true,
            tlp: true,
            frto: true,
            undo: true,
            prr: true,
            idle_restart: true,
            tso: true,
            pacing: None,
            initial_cwnd_pkts: 10,
        }
    }
}

/// How much a receiver lets its sender have outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// Always enough.
    #[default]
    Ample,
    /// So many bytes of payload.
    Fixed(u64),
    /// Linux's autotuning: from 64 kB up to so many bytes of payload.
    Autotuned(u64),
}

/// How a receiver acknowledges. `Default` is Linux on a host without GRO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// What the sender may have outstanding.
    pub window: Window,
    /// Full packets per ACK.
    pub ack_every: u32,
    /// Waits for `ack_every` packets at all, for up to 40 ms and more; without: an ACK at once for each.
    pub delayed_ack: bool,
    /// Holds SACKs back for up to 1 ms after three duplicate ACKs.
    pub sack_compression: bool,
    /// Packets of a flow that arrive within this time of the first of them are received as one, up to 64 kB (GRO).
    pub gro: Duration,
    /// Holds every ACK back for so long, to make its path seem longer than it is.
    pub ack_delay: Duration,
    /// Later values of `ack_delay`.
    pub ack_delay_at: Delays,
}

impl Default for Receiving {
    fn default() -> Self {
        Receiving {
            window: Window::Ample,
            ack_every: 2,
            delayed_ack: true,
            sack_compression: true,
            gro: Duration::ZERO,
            ack_delay: Duration::ZERO,
            ack_delay_at: Vec::new(),
        }
    }
}

/// Flows that come and go: an entry with this is not one flow but a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    /// New flows per second on average, thousandths; arrivals are a Poisson process.
    pub per_s_milli: u64,
    /// What each of them sends.
    pub sizes: Sizes,
}

/// A distribution of sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Its name, or its file's, as it was written.
    pub name: String,
    /// Bytes, and the share of sizes up to there in billionths: both grow, the last share is the whole. Between two points sizes are
    /// spread evenly; the first point's share has the first point's size.
    pub cdf: Arc<[(u64, u64)]>,
}
