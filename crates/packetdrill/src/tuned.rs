//! The algorithm of a script's connection: one of `fairpace-cc`, with the smallest burst that the script
//! sets; and the faults that show that scripts find a sender's mistakes.

use fairpace_cc::{CaState, Clamps, Controller, Decision, Event, Kind, Observation, Params, View};
use fairpace_tcp::Control;

/// A fault of the sender, by which scripts are judged: at least one must fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// cwnd falls to ssthresh at once in recovery (`Sending::prr` is false).
    NoPrr,
    /// The first two duplicate ACKs let no new packet leave (RFC 3042).
    NoLimitedTransmit,
    /// The RTO exceeds the RTT by 500 ms instead of 200 ms: twice the RTO on a path of 100 ms.
    DoubleRto,
}

impl Mutant {
    /// All faults, with their names.
    pub const ALL: [(&'static str, Mutant); 3] = [
        ("no-prr", Mutant::NoPrr),
        ("no-limited-transmit", Mutant::NoLimitedTransmit),
        ("double-rto", Mutant::DoubleRto),
    ];
}

/// Parameters of a [`Tuned`] algorithm.
#[derive(Debug, Clone)]
pub(crate) struct TunedParams {
    pub(crate) params: Params,
    /// Linux's tcp_min_tso_segs, if a script sets it.
    pub(crate) min_burst_pkts: Option<u32>,
    /// With [`Mutant::NoLimitedTransmit`]: the number of packets below those in flight to which cwnd falls on
    /// a duplicate ACK. The packet that the ACK reports is still in flight without SACK.
    pub(crate) held_below: Option<u32>,
}

/// An algorithm with the settings of a script.
#[derive(Clone)]
pub(crate) struct Tuned {
    inner: Controller,
    held_below: Option<u32>,
    /// The cwnd that a duplicate ACK has lowered.
    held: Option<u32>,
}

impl Tuned {
    /// Restores the cwnd that a duplicate ACK has lowered.
    fn released(&mut self, view: &View, decision: &mut Decision) -> View {
        let cwnd_pkts = self.held.take().unwrap_or(decision.cwnd_pkts);
        decision.cwnd_pkts = cwnd_pkts;
        View { cwnd_pkts, ..*view }
    }
}

impl Control for Tuned {
    type Params = TunedParams;

    fn kind(params: &TunedParams) -> Kind {
        Controller::kind(&params.params)
    }

    fn tracks_sends(params: &TunedParams) -> bool {
        Controller::tracks_sends(&params.params)
    }

    fn start(params: &TunedParams, view: &View, decision: &mut Decision) -> Self {
        let inner = Controller::start(&params.params, view, decision);
        decision.min_burst_pkts = params.min_burst_pkts.unwrap_or(decision.min_burst_pkts);
        Tuned { inner, held_below: params.held_below, held: None }
    }

    fn on_ack(&mut self, view: &View, decision: &mut Decision) {
        self.inner.on_ack(view, decision);
    }

    fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision) {
        let view = &self.released(view, decision);
        self.inner.on_event(event, view, decision);
        let duplicate = event == Event::Sample && view.acked_pkts == 0 && view.ca_state <= CaState::Disorder;
        if let Some(below) = self.held_below.filter(|_| duplicate) {
            self.held = Some(decision.cwnd_pkts);
            decision.cwnd_pkts = view.inflight_pkts.saturating_sub(below).max(1).min(decision.cwnd_pkts);
        }
    }

    fn observe(&self) -> Observation {
        self.inner.observe()
    }

    fn clamps(&self) -> Clamps {
        self.inner.clamps()
    }
}
