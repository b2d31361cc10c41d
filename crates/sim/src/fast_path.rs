//! The fast path: a packet's departure from its last link, its arrival and the receiver's ACK are computed
//! when it enters the link.
//!
//! The fast paths follow from the built network, and from the flows that are workloads with GRO. A link has a
//! fast path if its queue knows all departures on arrival (a FIFO, or RED, which decides on arrival) and its
//! packets go straight to their receivers: no other hop follows but a line that keeps the order. The receiver
//! then runs ahead of time. No other packet can reach it before, since the line keeps the order.

use fairpace_netem::{Element, Fate, Link, Nanos, Network, Packet, Propagation, Transit};
use fairpace_results::observer::Observer;
use fairpace_scenario::Scenario;

use crate::event_queue::NEVER;
use crate::flow::Flow;
use crate::header::{Header, arriving};
use crate::observe;
use crate::receiver_side::ReceiverSide;
use crate::slot::Slot;

/// The links that have a fast path, and the propagation behind them.
pub(crate) struct FastPath {
    has: Vec<bool>,
    /// The propagation behind each link; 0 ns where the network has no delay line.
    pub(crate) behind: Vec<Propagation>,
}

/// A link with a fast path and the propagation behind it.
pub(crate) struct FastLink<'a> {
    pub(crate) index: u32,
    pub(crate) link: &'a mut Link<Header>,
    pub(crate) behind: &'a mut Propagation,
}

impl FastPath {
    /// Returns the fast paths of a network; no paths with `per_hop`.
    pub(crate) fn new(network: &Network<Header>, scenario: &Scenario, per_hop: bool) -> Self {
        let ends = |link| if per_hop { None } else { ends_at(network, scenario, link) };
        let ends: Vec<Option<Propagation>> = (0..network.link_count()).map(ends).collect();
        FastPath {
            has: ends.iter().map(Option::is_some).collect(),
            behind: ends.into_iter().map(|behind| behind.unwrap_or_else(|| Propagation::new(0))).collect(),
        }
    }

    /// Returns whether the element of this index has a fast path.
    #[inline]
    pub(crate) fn has(&self, element: usize) -> bool {
        self.has.get(element).is_some_and(|has| *has)
    }

    /// Returns the link with a fast path that is the first hop of a flow's data.
    pub(crate) fn first_link(&self, network: &Network<Header>, flow: usize) -> Option<u32> {
        network.paths[flow].forward.first().copied().filter(|element| self.has(*element as usize))
    }

    /// Returns the fast path of this link.
    #[inline]
    pub(crate) fn link<'a>(
        &'a mut self,
        network: &'a mut Network<Header>,
        link: usize,
    ) -> Option<FastLink<'a>> {
        match &mut network.elements[link] {
            Element::Link(element) => {
                Some(FastLink { index: link as u32, link: element, behind: &mut self.behind[link] })
            }
            _ => {
                debug_assert!(false, "element {link} is no link: its packets would vanish");
                None
            }
        }
    }
}

/// Returns the propagation behind a link that has a fast path.
fn ends_at(network: &Network<Header>, scenario: &Scenario, link: usize) -> Option<Propagation> {
    let Element::Link(element) = &network.elements[link] else { return None };
    if !element.has_fast_path() {
        return None;
    }
    let here = link as u32;
    let mut propagation = Propagation::new(0);
    for (path, flow) in network.paths.iter().zip(&scenario.flows) {
        if path.back.contains(&here) {
            return None;
        }
        let Some(hop) = path.forward.iter().position(|element| *element == here) else { continue };
        propagation = match path.forward[hop + 1..] {
            [] => Propagation::new(0),
            [behind] => match &network.elements[behind as usize] {
                Element::DelayLine(behind) => behind.propagation().clone(),
                _ => return None,
            },
            _ => return None,
        };
        // The connections of a workload share a meter, which needs its times in order. What GRO holds would
        // reach it too early.
        if flow.arrivals.is_some() && !flow.receiving.gro.is_zero() {
            return None;
        }
    }
    Some(propagation)
}

impl FastLink<'_> {
    /// Carries a packet over the link to its receiver.
    #[inline]
    pub(crate) fn carry<O: Observer>(
        &mut self,
        now: Nanos,
        mut packet: Packet<Header>,
        flow: &mut Flow,
        slot: &mut Slot,
        receiver_side: &mut ReceiverSide,
        observer: &mut O,
    ) {
        match self.transit(now, &mut packet, observer) {
            // A link that is down for good never delivers it: it counts as arrived, for the balance of
            // packets.
            Some(Transit { at: NEVER, .. }) => flow.counts.arrived_pkts += 1,
            Some(Transit { at, fate: Fate::Delivered, .. }) => {
                let arrives = self.behind.enter(at);
                let (segment, left) = (arriving(&packet), packet.payload.left());
                receiver_side.receive(slot, arrives, segment, left, flow, observer);
            }
            _ => flow.counts.dropped_pkts += 1,
        }
    }

    /// Carries a packet whose connection is over, so that no receiver takes it.
    #[cold]
    pub(crate) fn carry_stray<O: Observer>(
        &mut self,
        now: Nanos,
        mut packet: Packet<Header>,
        flow: &mut Flow,
        observer: &mut O,
    ) {
        match self.transit(now, &mut packet, observer) {
            Some(Transit { at, fate: Fate::Delivered, .. }) => {
                // the jitter behind the link is drawn for every packet, and those after it do not overtake
                if at != NEVER {
                    self.behind.enter(at);
                }
                flow.counts.arrived_pkts += 1;
            }
            _ => flow.counts.dropped_pkts += 1,
        }
    }

    #[inline]
    fn transit<O: Observer>(
        &mut self,
        now: Nanos,
        packet: &mut Packet<Header>,
        observer: &mut O,
    ) -> Option<Transit> {
        let before = packet.ecn;
        let transit = self.link.transit(now, packet);
        if O::ON {
            observe::transit(observer, now, self.index, before, packet, transit.as_ref());
        }
        transit
    }
}
