//! The interface of a sender to its congestion control algorithm.

use fairpace_cc::{Clamps, Controller, Decision, Event, Kind, Observation, Params, View};

/// A congestion control algorithm: the contract of `cc/contract/contract.h` in Rust.
pub trait Control: Sized {
    /// Parameters that a connection starts with.
    type Params;

    /// Returns whether the algorithm or the host controls cwnd in recovery.
    fn kind(params: &Self::Params) -> Kind;

    /// True if the algorithm gets [`Event::Lost`] and [`Event::ProbeRepaired`].
    fn tracks_sends(params: &Self::Params) -> bool;

    /// Starts on a connection that was just established.
    fn start(params: &Self::Params, view: &View, decision: &mut Decision) -> Self;

    /// Processes an ACK.
    fn on_ack(&mut self, view: &View, decision: &mut Decision);

    /// Processes any other event.
    fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision);

    /// Returns the algorithm's state for observers.
    fn observe(&self) -> Observation;

    /// Returns counts of decisions that were outside the bounds of the contract. The sender gets decisions
    /// within the bounds.
    fn clamps(&self) -> Clamps;
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

    fn clamps(&self) -> Clamps {
        Controller::clamps(self)
    }
}
