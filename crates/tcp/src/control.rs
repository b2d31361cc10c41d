//! The seam between a sender and its congestion control algorithm.

use fairpace_cc::{Controller, Decision, Event, Kind, Observation, Params, View};

/// A congestion control algorithm as a sender drives it: the contract of `cc/contract/contract.h`.
pub trait Control: Sized {
    /// What it needs to start.
    type Params;

    /// Who decides about the window in recovery.
    fn kind(params: &Self::Params) -> Kind;

    /// Whether it wants [`Event::Lost`] and [`Event::ProbeRepaired`].
    fn tracks_sends(params: &Self::Params) -> bool;

    /// Starts on a connection that has just been established.
    fn start(params: &Self::Params, view: &View, decision: &mut Decision) -> Self;

    /// One ACK.
    fn on_ack(&mut self, view: &View, decision: &mut Decision);

    /// Anything else.
    fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision);

    /// What an onlooker may see.
    fn observe(&self) -> Observation;
}

impl Control for Controller {
    type Params = Params;

    fn kind(params: &Params) -> Kind {
        params.algorithm().kind()
    }

    fn tracks_sends(params: &Params) -> bool {
        params.algorithm().tracks_sends()
    }

    fn start(params: &Params, view: &View, decision: &mut Decision) -> Self {
        Controller::new(params, view, decision)
    }

    #[inline]
    fn on_ack(&mut self, view: &View, decision: &mut Decision) {
        Controller::on_ack(self, view, decision);
    }

    #[inline]
    fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision) {
        Controller::on_event(self, event, view, decision);
    }

    fn observe(&self) -> Observation {
        Controller::observe(self)
    }
}
