//! A scenario's path as elements and routes. Drivers add a clock and the hosts.

use crate::elements::delay_line::DelayLine;
use crate::elements::element::{Element, Pushed};
use crate::elements::link::Link;
use crate::elements::loss::Loss;
use crate::elements::propagation::Propagation;
use crate::elements::selective_drop::{Payload, SelectiveDrop};
use crate::meters::completions::Ideal;
use crate::packet::Packet;
use crate::purpose::Purpose;
use crate::time::Nanos;

/// All elements of a scenario, and the hops that each flow's packets take through them.
#[derive(Debug, Clone)]
pub struct Network<T> {
    /// The elements. Links come first, in the scenario's order: the index of a link is the index of its
    /// element.
    pub elements: Vec<Element<T>>,
    /// The path of each flow, in the scenario's order.
    pub paths: Vec<Path>,
    pub(crate) links: usize,
}

/// A flow's path: the hops both ways, and the part behind them that belongs to this flow alone.
#[derive(Debug, Clone)]
pub struct Path {
    /// Elements that data packets take after one another, from the sending host on.
    pub forward: Vec<u32>,
    /// Elements that ACKs take, from the receiving host on.
    pub back: Vec<u32>,
    /// Propagation of the links on `back`, ns.
    pub back_links_ns: Nanos,
    /// Time for which the receiver delays its ACKs. The simulator's TCP model delays ACKs by itself.
    pub(crate) ack_delay: Propagation,
    /// The part of the path behind the last hop, both ways.
    pub own: OwnPath,
    /// The least times that the path allows transfers.
    pub ideal: Ideal,
}

/// The last part of a path both ways: it belongs to one flow and keeps the order of packets.
///
/// The times of a packet here depend only on when this flow's packets enter. A driver can compute them when
/// the packet leaves the last hop, as the simulator does, or [make elements of
/// them](Network::with_own_paths).
#[derive(Debug, Clone)]
pub struct OwnPath {
    /// Propagation from the last hop to the receiver.
    pub(crate) to_receiver: Propagation,
    /// Propagation, jitter and aggregation from the last hop of the ACKs, or the receiver, to the sender.
    pub(crate) to_sender: Propagation,
    /// Time from the arrival of an ACK to its processing by the sending host.
    pub(crate) host: Propagation,
    pub(crate) ack_loss: Loss,
}

/// The direction in which a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// The direction from the sender to the receiver.
    #[default]
    Forward,
    /// The direction from the receiver to the sender.
    Back,
}

/// The next hop of a packet, which its payload holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hop {
    /// Place in [`Path::forward`] or [`Path::back`].
    pub index: u16,
    /// The direction: it selects the list.
    pub direction: Direction,
}

impl Hop {
    /// Returns the first hop of this direction.
    #[must_use]
    pub const fn first(direction: Direction) -> Self {
        Hop { index: 0, direction }
    }
}

impl<T: Payload> Network<T> {
    /// Returns the element of this hop of a flow; `None`: the flow's hops end here.
    #[inline]
    pub fn element_at(&self, flow: u32, hop: Hop) -> Option<usize> {
        let path = &self.paths[flow as usize];
        let hops = match hop.direction {
            Direction::Forward => &path.forward,
            Direction::Back => &path.back,
        };
        hops.get(usize::from(hop.index)).map(|element| *element as usize)
    }

    /// Pushes a packet into an element. A duplicate counts for the link that it left.
    #[inline]
    pub fn push(&mut self, element: usize, now: Nanos, packet: Packet<T>) -> Pushed {
        let pushed = self.elements[element].push(now, packet);
        if pushed == Pushed::Duplicated {
            self.count_duplicate(element, now);
        }
        pushed
    }

    #[cold]
    fn count_duplicate(&mut self, element: usize, now: Nanos) {
        let Element::Duplication(duplication) = &self.elements[element] else { return };
        let link = duplication.link();
        if let Element::Link(link) = &mut self.elements[link] {
            link.duplicated(now);
        }
    }

    /// Replaces the part of each path that belongs to one flow alone with elements behind the flow's hops. A
    /// constant delay has no state that flows could affect, so flows with equal delays share one element.
    /// `Path::own` stays, for [`OwnPath::return_delay_ns`] only.
    #[must_use]
    pub fn with_own_paths(mut self) -> Self {
        let Network { elements, paths, .. } = &mut self;
        let mut shared = Vec::new();
        for Path { forward, back, ack_delay, own, .. } in paths {
            forward.extend(delay_line(elements, &mut shared, &own.to_receiver));
            let ack_delay = delay_line(elements, &mut shared, ack_delay);
            back.splice(0..0, ack_delay);
            back.extend(delay_line(elements, &mut shared, &own.to_sender));
            if own.ack_loss.is_possible() {
                back.push(add(elements, Element::Loss(own.ack_loss.clone())));
            }
            back.extend(delay_line(elements, &mut shared, &own.host));
        }
        self
    }

    /// The links, in the scenario's order.
    pub fn links(&self) -> impl Iterator<Item = &Link<T>> + Clone {
        self.elements.iter().take(self.links).filter_map(|element| match element {
            Element::Link(link) => Some(&**link),
            _ => None,
        })
    }

    /// The links, in the scenario's order, to change them.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut Link<T>> {
        self.elements.iter_mut().take(self.links).filter_map(|element| match element {
            Element::Link(link) => Some(&mut **link),
            _ => None,
        })
    }

    /// The elements that drop packets of a flow by their number: data and SYNs, then SYN-ACKs and ACKs.
    pub fn selective_drops(&self, flow: u32) -> impl Iterator<Item = &SelectiveDrop> {
        let Path { forward, back, .. } = &self.paths[flow as usize];
        let elements = forward.iter().chain(back).map(|element| &self.elements[*element as usize]);
        elements.filter_map(|element| match element {
            Element::SelectiveDrop(drop) => Some(&**drop),
            _ => None,
        })
    }

    /// Number of links: the elements below this index.
    pub fn link_count(&self) -> usize {
        self.links
    }

    /// The links of a flow's data, by index.
    pub fn data_links(&self, flow: u32) -> impl Iterator<Item = usize> + Clone {
        let hops = self.paths[flow as usize].forward.iter().map(|element| *element as usize);
        hops.filter(|element| *element < self.links)
    }
}

/// Returns the delay line for a propagation; `None` if the propagation takes no time. `shared` has the lines
/// of constant delays by their delay.
fn delay_line<T>(
    elements: &mut Vec<Element<T>>,
    shared: &mut Vec<(Nanos, u32)>,
    propagation: &Propagation,
) -> Option<u32> {
    let delay_ns = match propagation.constant_delay_ns() {
        Some(0) => return None,
        None => return Some(add(elements, Element::DelayLine(DelayLine::new(propagation.clone())))),
        Some(delay_ns) => delay_ns,
    };
    let known = shared.iter().find(|(ns, _)| *ns == delay_ns).map(|(_, element)| *element);
    Some(known.unwrap_or_else(|| {
        let element = add(elements, Element::DelayLine(DelayLine::new(propagation.clone())));
        shared.push((delay_ns, element));
        element
    }))
}

/// Adds an element and returns its index.
pub(crate) fn add<T>(elements: &mut Vec<Element<T>>, element: Element<T>) -> u32 {
    elements.push(element);
    elements.len() as u32 - 1
}

impl OwnPath {
    /// Returns the time when a packet that leaves the last hop at `now` reaches the receiver. Times must not
    /// go back.
    #[inline]
    pub fn arrival(&mut self, now: Nanos) -> Nanos {
        self.to_receiver.enter(now)
    }

    /// Returns the time when the sender processes an ACK that leaves the receiver, or its last hop, at `now`;
    /// `None`: the ACK is lost.
    #[inline]
    pub fn ack_arrival(&mut self, now: Nanos) -> Option<Nanos> {
        let arrives = self.to_sender.enter(now);
        if self.ack_loss.loses(arrives) { None } else { Some(self.host.enter(arrives)) }
    }

    /// Propagation back to the sender in force at `now`, ns.
    #[inline]
    pub fn return_delay_ns(&self, now: Nanos) -> Nanos {
        self.to_sender.delay_at(now)
    }

    /// The shortest time of any packet from the last hop to the receiver, ns.
    pub fn least_to_receiver_ns(&self) -> Nanos {
        self.to_receiver.least_ns()
    }

    /// Draws from the random streams of another connection from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.to_sender.reseed(seed ^ Purpose::AckJitter as u64);
        self.host.reseed(seed ^ Purpose::HostJitter as u64);
        self.ack_loss.reseed(seed ^ Purpose::AckLoss as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairpace_results::observer::EcnField;
    use fairpace_scenario::{Cc, Flow, Line, Link as LinkSettings, Scenario};
    use proptest::prelude::*;

    use super::*;
    use crate::build;
    use crate::elements::selective_drop::Content;
    use crate::meters::schedule::Schedule;
    use crate::time::{MS, SECOND};

    /// Implements [`Payload`] for packets without content.
    macro_rules! payload {
        ($($type:ty),*) => {
            $(impl Payload for $type {
                fn segment_length(_flow: &Flow) -> u64 {
                    1
                }
                fn content(&self) -> Content {
                    Content::Other
                }
            })*
        };
    }
    payload!((), u32);

    const SCHEDULE: Schedule = Schedule { window: (0, SECOND), interval: SECOND, end: SECOND };

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn scenario(flows: Vec<Flow>) -> Scenario {
        let link = |name: &str| LinkSettings::new(name, 1_000_000, 10_000);
        Scenario {
            title: "t".into(),
            why: String::new(),
            seed: 1,
            duration: ms(1000),
            window: (ms(0), ms(1000)),
            interval: ms(100),
            links: vec![link("a"), link("b"), link("back")],
            flows,
            hash: String::new(),
        }
    }

    fn flow(rtt: u64) -> Flow {
        Flow { reverse: vec!["back".into()], ..Flow::new("f", "bbr1".parse::<Cc>().unwrap(), ms(rtt)) }
    }

    fn network(scenario: &Scenario) -> Network<()> {
        build::network(scenario, SCHEDULE).unwrap()
    }

    /// Returns each hop's kind, with the delay of a packet that is pushed at 0 if the element is a delay
    /// line, or the link's index.
    fn hops(network: &Network<()>, hops: &[u32]) -> Vec<(&'static str, Nanos)> {
        let packet = Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload: () };
        let kind = |hop: &u32| match &network.elements[*hop as usize] {
            Element::Link(_) => ("link", Nanos::from(*hop)),
            Element::DelayLine(line) => ("delay", line.clone().push(0, packet)),
            Element::ReorderingLine(_) => ("reordering line", 0),
            Element::Reordering(_) => ("reordering", 0),
            Element::Duplication(duplication) => ("duplication of", duplication.link() as Nanos),
            Element::Loss(_) => ("loss", 0),
            Element::BurstLoss(_) => ("burst loss", 0),
            Element::SelectiveDrop(_) => ("drop", 0),
        };
        hops.iter().map(kind).collect()
    }

    #[test]
    fn data_and_acks_pass_their_links_and_their_halves_of_the_rtt() {
        let network = network(&scenario(vec![flow(10)])).with_own_paths();
        let path = &network.paths[0];
        assert_eq!(hops(&network, &path.forward), [("link", 0), ("link", 1), ("delay", 5 * MS)]);
        assert_eq!(hops(&network, &path.back), [("link", 2), ("delay", 5 * MS)]);
        assert_eq!(path.back_links_ns + path.own.return_delay_ns(0), 5 * MS);
        assert_eq!((network.links().count(), network.data_links(0).collect::<Vec<_>>()), (3, vec![0, 1]));
    }

    #[test]
    fn access_lines_and_link_lines_are_part_of_the_rtt() {
        let route = Some(vec!["b".into()]);
        let flow = Flow { route, reverse: Vec::new(), access_delay: ms(1), ..flow(10) };
        let mut scenario = scenario(vec![flow]);
        scenario.links[1].line.delay = ms(2);
        let network = network(&scenario).with_own_paths();
        let forward = [("delay", MS), ("link", 1), ("delay", 2 * MS), ("delay", 3_500_000)];
        assert_eq!(hops(&network, &network.paths[0].forward), forward);
        assert_eq!(hops(&network, &network.paths[0].back), [("delay", 3_500_000)]);
    }

    #[test]
    fn flows_share_what_is_behind_a_link() {
        let mut scenario = scenario(vec![flow(10), flow(20)]);
        scenario.links[0].line = Line { jitter: ms(1), reorders: true, duplicate_ppb: 1, ..Line::default() };
        scenario.links[1].line.delay = ms(1);
        let network = network(&scenario);
        let both = [("link", 0), ("duplication of", 0), ("reordering line", 0), ("link", 1), ("delay", MS)];
        assert_eq!(hops(&network, &network.paths[0].forward), both);
        assert_eq!(network.paths[0].forward, network.paths[1].forward);
    }

    #[test]
    fn equal_delays_share_an_element_and_jitter_loss_and_steps_have_their_own() {
        let jittered = Flow { ack_jitter: ms(1), ack_loss_ppb: 1, ..flow(10) };
        let stepped = Flow { rtt_at: vec![(ms(100), ms(30))], reverse: Vec::new(), ..flow(10) };
        let network = network(&scenario(vec![flow(10), flow(10), jittered, stepped])).with_own_paths();
        let last = |flow: usize| network.paths[flow].forward.last();
        assert_eq!(network.paths[0].back, network.paths[1].back);
        assert!(last(0) == last(1) && last(0) == last(2) && last(0) != last(3));
        assert_ne!(network.paths[0].back, network.paths[2].back);
        assert_eq!(hops(&network, &network.paths[2].back).last(), Some(&("loss", 0)));
    }

    /// Pushes packets into an element when they arrive, and polls it before each and at the end.
    fn pass(element: &mut Element<u32>, arriving: Vec<(Nanos, u32)>) -> Vec<(Nanos, u32)> {
        let mut left = Vec::new();
        for (at, payload) in arriving {
            left.extend(std::iter::from_fn(|| element.poll(at)).map(|d| (d.at, d.packet.payload)));
            let packet = Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload };
            match element.push(at, packet) {
                Pushed::Passed => left.push((at, payload)),
                Pushed::Held | Pushed::Dropped => {}
                Pushed::Duplicated => unreachable!("nothing on an own path duplicates"),
            }
        }
        left.extend(std::iter::from_fn(|| element.poll(Nanos::MAX)).map(|d| (d.at, d.packet.payload)));
        left
    }

    /// Generates a flow whose own path has random delays, jitter, aggregation and loss, each in some cases.
    fn any_own_path() -> impl Strategy<Value = Flow> {
        let seldom =
            || prop::option::of(0u64..20_000_000).prop_map(|ns| Duration::from_nanos(ns.unwrap_or(0)));
        let steps = prop::collection::btree_map(1u64..200, 0u64..60, 0..4);
        let loss = prop::option::of(0u64..=1_000_000_000);
        let parts = (0u64..60, steps, loss, seldom(), seldom(), seldom());
        parts.prop_map(|(rtt, steps, loss, ack_jitter, ack_aggregation, host_jitter)| Flow {
            route: Some(vec!["a".into()]),
            reverse: Vec::new(),
            rtt_at: steps.into_iter().map(|(at, rtt)| (ms(at), ms(rtt))).collect(),
            ack_loss_ppb: loss.unwrap_or(0),
            ack_jitter,
            ack_aggregation,
            host_jitter,
            ..flow(rtt)
        })
    }

    proptest! {
        /// The simulator computes the times of an own path, the testbed has elements for it; the results
        /// agree.
        #[test]
        fn an_own_path_takes_as_long_by_its_elements_as_by_its_formula(
            flow in any_own_path(),
            seed in 0u64..1_000,
            gaps in prop::collection::vec(0u64..3_000_000, 1..200),
        ) {
            let scenario = Scenario { seed, ..scenario(vec![flow]) };
            let mut own = network(&scenario).paths[0].own.clone();
            let mut network = build::network::<u32>(&scenario, SCHEDULE).unwrap().with_own_paths();
            let entered = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) });
            let entered: Vec<(Nanos, u32)> = entered.zip(0..).collect();
            let arrivals: Vec<_> = entered.iter().map(|(at, number)| (own.arrival(*at), *number)).collect();
            let acks = entered.iter().filter_map(|(at, number)| Some((own.ack_arrival(*at)?, *number)));
            let acks: Vec<_> = acks.collect();
            let Path { forward, back, .. } = network.paths[0].clone();
            let mut over = |hops: &[u32]| {
                let pass = |packets, hop: &u32| pass(&mut network.elements[*hop as usize], packets);
                hops.iter().fold(entered.clone(), pass)
            };
            prop_assert_eq!(arrivals, over(&forward[1..]));
            prop_assert_eq!(acks, over(&back));
        }
    }

    #[test]
    fn the_return_delay_follows_the_rtt_also_where_elements_carry_the_acks() {
        let stepped = Flow { rtt_at: vec![(ms(100), ms(30)), (ms(200), ms(4))], ..flow(10) };
        let network = network(&scenario(vec![stepped])).with_own_paths();
        let delays = [0, 99, 100, 199, 200, 900].map(|at| network.paths[0].own.return_delay_ns(at * MS));
        assert_eq!(delays, [5 * MS, 5 * MS, 15 * MS, 15 * MS, 2 * MS, 2 * MS]);
    }

    #[test]
    fn a_duplicate_counts_for_its_link() {
        let mut scenario = scenario(vec![flow(10)]);
        scenario.links[0].line.duplicate_ppb = 1_000_000_000;
        let mut network = network(&scenario);
        let duplication = network.paths[0].forward[1] as usize;
        let packet = Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload: () };
        assert_eq!(network.push(duplication, 0, packet), Pushed::Duplicated);
        network.links_mut().for_each(|link| link.finish(SECOND));
        let duplicates: Vec<u64> = network.links().map(|link| link.summary("l").duplicates).collect();
        assert_eq!(duplicates, [1, 0, 0]);
    }
}
