//! The way of each flow's packets: through which elements they go, one after the other.
//!
//! A way is a list of stops. A packet carries the number of its next stop, so that an element may be shared by flows that part behind
//! it: what leaves it goes on where its own way leads.

use crate::Error;
use crate::emulator::Load;
use fairpace_netem::build::{self, nanos};
use fairpace_netem::{Delay, Detour, Duplicate, Line, Link, Loss, Nanos, Purpose, Random, Scatter, Schedule};
use fairpace_scenario::{Flow, Route, Scenario};

/// What is next on a packet's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A link with its queue.
    Link(usize),
    /// Propagation.
    Delay(usize),
    /// Propagation on which packets overtake each other.
    Scatter(usize),
    /// Some packets go on twice, behind the link of this place.
    Duplicate(usize),
    /// Some packets take a longer way.
    Detour(usize),
    /// Some packets are lost.
    Loss(usize),
    /// The receiving host: data leaves the emulator.
    Receiver,
    /// The sending host: ACKs do.
    Sender,
}

/// All elements, and who goes through which.
pub(crate) struct Ways {
    stops: Vec<Stop>,
    of_flow: Vec<Way>,
    pub(crate) links: Vec<Link<Load>>,
    pub(crate) delays: Vec<Delay<Load>>,
    pub(crate) scatters: Vec<Scatter<Load>>,
    pub(crate) detours: Vec<Detour<Load>>,
    duplicates: Vec<Duplicate>,
    losses: Vec<Loss>,
    /// What a packet passes behind each link.
    behind_link: Vec<Vec<Stop>>,
    /// The delay of those of `delays` that do nothing but delay: flows with equal delays share one.
    plain: Vec<(Nanos, usize)>,
}

/// One flow's.
#[derive(Debug, Clone)]
struct Way {
    /// The first stops of data and of ACKs.
    data: u32,
    acks: u32,
    /// Propagation from the receiver to the sender: for the RTT that a data packet meets.
    back_ns: Nanos,
}

impl Ways {
    /// The ways of a scenario: the elements of the simulator, and the same faults for the same seed.
    ///
    /// # Errors
    /// [`Error::Link`] for a link that cannot be.
    pub(crate) fn new(scenario: &Scenario, schedule: Schedule) -> Result<Self, Error> {
        let link = |(i, asked): (u32, &fairpace_scenario::Link)| {
            build::link(scenario, i, schedule)
                .map_err(|reason| Error::Link { link: asked.name.clone(), what: reason.to_string() })
        };
        let (detours, detour_of_flow) = build::detours(scenario);
        let mut ways = Ways {
            stops: Vec::new(),
            of_flow: Vec::new(),
            links: (0..).zip(&scenario.links).map(link).collect::<Result<_, _>>()?,
            delays: Vec::new(),
            scatters: Vec::new(),
            detours,
            duplicates: Vec::new(),
            losses: Vec::new(),
            behind_link: Vec::new(),
            plain: Vec::new(),
        };
        for index in 0..scenario.links.len() as u32 {
            let behind = ways.behind(scenario, index);
            ways.behind_link.push(behind);
        }
        for ((index, route), detour) in (0..).zip(&scenario.routes()).zip(detour_of_flow) {
            ways.add(scenario, index, route, detour);
        }
        Ok(ways)
    }

    /// Where a flow's data packet begins.
    pub(crate) fn data(&self, flow: u32) -> u32 {
        self.of_flow[flow as usize].data
    }

    /// Where a flow's ACK begins.
    pub(crate) fn acks(&self, flow: u32) -> u32 {
        self.of_flow[flow as usize].acks
    }

    pub(crate) fn stop(&self, number: u32) -> Stop {
        self.stops[number as usize]
    }

    /// See [`Way::back_ns`].
    pub(crate) fn back_ns(&self, flow: u32) -> Nanos {
        self.of_flow[flow as usize].back_ns
    }

    /// Does this loss take the packet that comes by?
    pub(crate) fn loses(&mut self, loss: usize) -> bool {
        self.losses[loss].takes()
    }

    /// Does the packet that comes by behind a link go on twice?
    pub(crate) fn doubles(&mut self, link: usize) -> bool {
        self.duplicates[link].doubles()
    }

    /// Flows that there are.
    pub(crate) fn flows(&self) -> u32 {
        self.of_flow.len() as u32
    }

    fn add(&mut self, scenario: &Scenario, index: u32, route: &Route, detour: Option<usize>) {
        let flow = &scenario.flows[index as usize];
        let data = self.stops.len() as u32;
        self.propagate(route.access_ns, &[]);
        self.pass(&route.forward);
        self.stops.extend(detour.map(Stop::Detour));
        self.propagate(route.behind_ns, &route.behind_at_ns);
        self.stops.push(Stop::Receiver);
        let acks = self.stops.len() as u32;
        self.hold_acks(flow);
        self.pass(&route.back);
        self.return_acks(scenario, index, route);
        self.stops.push(Stop::Sender);
        let links_ns = route.back.iter().map(|link| nanos(scenario.links[*link as usize].line.delay));
        self.of_flow.push(Way { data, acks, back_ns: route.back_ns + links_ns.sum::<Nanos>() });
    }

    /// Links and the lines behind them.
    fn pass(&mut self, links: &[u32]) {
        for link in links {
            self.stops.push(Stop::Link(*link as usize));
            self.stops.extend_from_slice(&self.behind_link[*link as usize]);
        }
    }

    /// The elements of a link's line, which all that pass the link share.
    fn behind(&mut self, scenario: &Scenario, index: u32) -> Vec<Stop> {
        let line = &scenario.links[index as usize].line;
        let (delay, jitter) = (nanos(line.delay), nanos(line.jitter));
        let random = |purpose| Random::stream(scenario.seed, purpose, index);
        let mut stops = Vec::new();
        // one for each link, so that their places are the links'
        self.duplicates.push(Duplicate::new(line.duplicate_ppb, random(Purpose::Duplication)));
        if line.duplicate_ppb > 0 {
            stops.push(Stop::Duplicate(index as usize));
        }
        if line.reorders {
            stops.push(Stop::Scatter(self.scatters.len()));
            self.scatters.push(Scatter::new(delay, jitter, random(Purpose::LineJitter)));
        } else if jitter > 0 {
            let line = Line::new(delay).with_jitter(jitter, 0, random(Purpose::LineJitter));
            stops.push(self.own(line));
        } else if delay > 0 {
            stops.push(self.shared(delay));
        }
        stops
    }

    fn propagate(&mut self, delay: Nanos, steps: &[(Nanos, Nanos)]) {
        if !steps.is_empty() {
            let stop = self.own(Line::new(delay).with_delays(steps.to_vec()));
            self.stops.push(stop);
        } else if delay > 0 {
            let stop = self.shared(delay);
            self.stops.push(stop);
        }
    }

    /// A line that is found in one place only.
    fn own(&mut self, line: Line) -> Stop {
        self.delays.push(Delay::new(line));
        Stop::Delay(self.delays.len() - 1)
    }

    /// The line that does nothing but take so long.
    fn shared(&mut self, delay: Nanos) -> Stop {
        let known = self.plain.iter().find(|(ns, _)| *ns == delay).map(|(_, index)| *index);
        let index = known.unwrap_or_else(|| {
            self.delays.push(Delay::new(Line::new(delay)));
            self.plain.push((delay, self.delays.len() - 1));
            self.delays.len() - 1
        });
        Stop::Delay(index)
    }

    /// A receiver that makes its path seem longer than it is.
    fn hold_acks(&mut self, flow: &Flow) {
        let steps: Vec<_> =
            flow.receiving.ack_delay_at.iter().map(|(at, delay)| (nanos(*at), nanos(*delay))).collect();
        self.propagate(nanos(flow.receiving.ack_delay), &steps);
    }

    /// The way from the last link of the ACKs to the sender, and what happens to them there: as in the simulator.
    fn return_acks(&mut self, scenario: &Scenario, index: u32, route: &Route) {
        let flow = &scenario.flows[index as usize];
        let random = |purpose| Random::stream(scenario.seed, purpose, index);
        if flow.ack_jitter.is_zero() && flow.ack_aggregation.is_zero() {
            self.propagate(route.back_ns, &route.back_at_ns);
        } else {
            let line = Line::new(route.back_ns).with_delays(route.back_at_ns.clone());
            let (jitter, lump) = (nanos(flow.ack_jitter), nanos(flow.ack_aggregation));
            let stop = self.own(line.with_jitter(jitter, lump, random(Purpose::AckJitter)));
            self.stops.push(stop);
        }
        if flow.ack_loss_ppb > 0 {
            self.stops.push(Stop::Loss(self.losses.len()));
            self.losses.push(Loss::independent(flow.ack_loss_ppb, random(Purpose::AckLoss)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_netem::SECOND;
    use fairpace_scenario::Cc;
    use std::time::Duration;

    const SCHEDULE: Schedule = Schedule { window: (0, SECOND), interval: SECOND, end: SECOND };

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn scenario(flows: Vec<Flow>) -> Scenario {
        let link = |name: &str| fairpace_scenario::Link::new(name, 1_000_000, 10_000);
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

    /// The stops from one on, to the end of the way.
    fn from(ways: &Ways, first: u32) -> Vec<Stop> {
        let all = (first..).map(|n| ways.stop(n));
        let mut way: Vec<Stop> =
            all.take_while(|stop| !matches!(stop, Stop::Receiver | Stop::Sender)).collect();
        way.push(ways.stop(first + way.len() as u32));
        way
    }

    #[test]
    fn data_and_acks_pass_their_links_and_their_halves_of_the_rtt() {
        let ways = Ways::new(&scenario(vec![flow(10)]), SCHEDULE).unwrap();
        use Stop::*;
        assert_eq!(from(&ways, ways.data(0)), [Link(0), Link(1), Delay(0), Receiver]);
        assert_eq!(from(&ways, ways.acks(0)), [Link(2), Delay(0), Sender]);
        assert_eq!(ways.back_ns(0), 5_000_000);
    }

    #[test]
    fn a_route_leaves_links_out_and_lines_and_access_are_part_of_the_rtt() {
        let mut s = scenario(vec![Flow {
            route: Some(vec!["b".into()]),
            reverse: Vec::new(),
            access_delay: ms(1),
            ..flow(10)
        }]);
        s.links[1].line.delay = ms(2);
        let mut ways = Ways::new(&s, SCHEDULE).unwrap();
        use Stop::*;
        // the link's own line was made first
        assert_eq!(from(&ways, ways.data(0)), [Delay(1), Link(1), Delay(0), Delay(2), Receiver]);
        assert_eq!(from(&ways, ways.acks(0)), [Delay(2), Sender]);
        // 10 ms less 1 and 2, halved
        let packet = fairpace_netem::Packet {
            flow: 0,
            connection: 0,
            bytes: 1,
            ecn: Default::default(),
            payload: Load::default(),
        };
        let delays: Vec<Nanos> = ways.delays.iter_mut().map(|d| d.push(0, packet)).collect();
        assert_eq!(delays, [2_000_000, 1_000_000, 3_500_000]);
    }

    #[test]
    fn all_that_pass_a_link_share_its_line_with_all_that_happens_there() {
        let mut s = scenario(vec![flow(10), flow(20)]);
        s.links[0].line = fairpace_scenario::Line {
            jitter: ms(1),
            reorders: true,
            duplicate_ppb: 1,
            ..s.links[0].line.clone()
        };
        s.links[1].line.jitter = ms(1);
        let ways = Ways::new(&s, SCHEDULE).unwrap();
        use Stop::*;
        let both = [Link(0), Duplicate(0), Scatter(0), Link(1), Delay(0)];
        for index in [0, 1] {
            assert_eq!(from(&ways, ways.data(index))[..5], both);
        }
    }

    #[test]
    fn flows_with_equal_delays_share_them_and_others_have_their_own() {
        let jittered = Flow { ack_jitter: ms(1), ack_loss_ppb: 1, ..flow(10) };
        let ways = Ways::new(&scenario(vec![flow(10), flow(10), flow(20), jittered]), SCHEDULE).unwrap();
        assert_eq!(from(&ways, ways.data(0)), from(&ways, ways.data(1)));
        assert_eq!(ways.delays.len(), 3, "5 ms, 10 ms, and the jittered one");
        assert_eq!(from(&ways, ways.acks(3)), [Stop::Link(2), Stop::Delay(2), Stop::Loss(0), Stop::Sender]);
    }

    #[test]
    fn a_change_of_the_rtt_changes_both_halves() {
        let changing = Flow { rtt_at: vec![(ms(100), ms(30))], reverse: Vec::new(), ..flow(10) };
        let mut ways = Ways::new(&scenario(vec![changing]), SCHEDULE).unwrap();
        assert_eq!(ways.delays.len(), 2);
        let packet = fairpace_netem::Packet {
            flow: 0,
            connection: 0,
            bytes: 1,
            ecn: Default::default(),
            payload: Load::default(),
        };
        for delay in &mut ways.delays {
            assert_eq!(delay.push(0, packet), 5_000_000);
            assert_eq!(delay.push(100_000_000, packet), 115_000_000);
        }
    }
}
