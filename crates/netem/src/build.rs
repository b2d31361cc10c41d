//! Elements and paths from the settings of a scenario: equal for every driver, packet by packet for equal
//! seeds.

use fairpace_scenario::{self as scenario, Queue, Reorder, Scenario, ns};

use crate::aqm::Discipline;
use crate::elements::aqm_queue::AqmQueue;
use crate::elements::burst_loss::BurstLoss;
use crate::elements::delay_line::DelayLine;
use crate::elements::duplication::Duplication;
use crate::elements::element::Element;
use crate::elements::fifo::Fifo;
use crate::elements::jitter::Jitter;
use crate::elements::link::Link;
use crate::elements::loss::{ImpossibleLoss, Loss};
use crate::elements::outages::Outages;
use crate::elements::policer::Policer;
use crate::elements::propagation::Propagation;
use crate::elements::reordering::Reordering;
use crate::elements::reordering_line::ReorderingLine;
use crate::elements::selective_drop::{Payload, SelectiveDrop};
use crate::elements::transmitter::Transmitter;
use crate::handover::{delay_steps, rate_steps};
use crate::meters::completions::Ideal;
use crate::meters::schedule::Schedule;
use crate::network::{self, Network, OwnPath, Path};
use crate::purpose::Purpose;

/// Returns the times at which a scenario's run is measured.
pub fn schedule(scenario: &Scenario) -> Schedule {
    let window = (ns(scenario.window.0), ns(scenario.window.1));
    Schedule { window, interval: ns(scenario.interval).max(1), end: ns(scenario.duration) }
}

/// Returns a link with its policer, its queue and its random loss.
///
/// `rtt_ns` is the longest RTT of the flows that take the link.
fn link<T: Copy>(
    scenario: &Scenario,
    index: u32,
    rtt_ns: u64,
    schedule: Schedule,
) -> Result<Link<T>, ImpossibleLoss> {
    let settings = &scenario.links[index as usize];
    let (transmitter, flows) = (transmitter(scenario, index as usize), scenario.flows.len());
    let random = Purpose::Discipline.stream(scenario.seed, index);
    let outages = (settings.outages == scenario::Outages::Lose)
        .then(|| Outages::of(&rate_steps(scenario, index as usize)));
    let fifo = |transmitter| {
        let fifo = Fifo::new(transmitter, settings.buffer, flows, schedule);
        outages.iter().cloned().fold(fifo, Fifo::with_outages)
    };
    let link = match settings.queue {
        Queue::Fifo => Link::new(fifo(transmitter)),
        Queue::Step(above) => Link::new(fifo(transmitter).with_marking_above(above)),
        Queue::Red(red) if transmitter.is_wire() => Link::new(fifo(transmitter).with_red(red, random)),
        queue => match Discipline::new(queue, settings.rate_bps, settings.buffer, random) {
            Some(discipline) => {
                let queue = AqmQueue::new(discipline, transmitter, flows, schedule);
                Link::with_aqm(outages.iter().cloned().fold(queue, AqmQueue::with_outages))
            }
            None => Link::new(fifo(transmitter)),
        },
    };
    let random = Purpose::LinkLoss.stream(scenario.seed, index);
    let long_ns = Loss::long_burst_ns(rtt_ns);
    let loss = match &settings.loss_at.rows[..] {
        [] => Loss::new(settings.loss.ppb, settings.loss.burst, long_ns, random)?,
        _ => Loss::in_steps(settings.loss.ppb, settings.loss_at.rows.clone(), random),
    };
    let link = link.with_loss(loss);
    Ok(match settings.policer {
        Some(policer) => link.with_policer(Policer::new(policer.rate_bps, policer.burst_bytes)),
        None => link,
    })
}

fn transmitter(scenario: &Scenario, index: usize) -> Transmitter {
    let settings = &scenario.links[index];
    match (&settings.trace, settings.burst_bytes) {
        (Some(trace), _) => Transmitter::trace(trace.opportunities_ms.clone()),
        (None, Some(burst_bytes)) => Transmitter::bucket(settings.rate_bps, burst_bytes),
        (None, None) => {
            let steps = rate_steps(scenario, index);
            Transmitter::wire_with_rates(settings.rate_bps, &steps)
        }
    }
}

/// Error: a scenario that has no network. A scenario that has been checked has a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImpossibleNetwork {
    /// The settings of a link's random loss contradict each other.
    #[error("link \"{link}\": {reason}; `Scenario::sealed` says what to write")]
    Loss {
        /// The link's name.
        link: String,
        /// The contradiction between the settings.
        reason: ImpossibleLoss,
    },
    /// A flow's route is invalid or missing.
    #[error("flow \"{flow}\" has no valid route; `Scenario::sealed` says what to write")]
    Route {
        /// The flow's name.
        flow: String,
    },
    /// The measurement window ends before it begins, or is empty.
    #[error("nothing is in the measurement window; `Scenario::sealed` says what to write")]
    Window,
}

/// Returns the elements and paths of a scenario. No other function wires them.
///
/// Elements are in this order: links; for each link the elements behind it (duplication, propagation); for
/// each flow the elements that drop its packets by their number or its bursts, its access line and its
/// reordering. Results of the simulator depend on the order, since it processes simultaneous events in this
/// order.
///
/// # Errors
/// A scenario that has not been checked and has no network.
pub fn network<T: Payload>(scenario: &Scenario, schedule: Schedule) -> Result<Network<T>, ImpossibleNetwork> {
    if schedule.window.0 >= schedule.window.1 {
        return Err(ImpossibleNetwork::Window);
    }
    let mut elements = links(scenario, schedule)?;
    let links = elements.len();
    let behind_links: Vec<_> = (0..links).map(|link| behind_link(scenario, link, &mut elements)).collect();
    let pass = |links: &[u32]| {
        let hops = links.iter().flat_map(|link| [&[*link], &behind_links[*link as usize][..]].concat());
        hops.collect::<Vec<u32>>()
    };
    let mut paths = Vec::with_capacity(scenario.flows.len());
    for ((index, flow), route) in (0..).zip(&scenario.flows).zip(scenario.routes()) {
        if route.forward.is_empty() {
            return Err(ImpossibleNetwork::Route { flow: flow.name.clone() });
        }
        let mut drop = |kinds| {
            let drop = SelectiveDrop::new(&flow.drop, kinds, T::segment_length(flow), schedule.window)?;
            Some(network::add(&mut elements, Element::SelectiveDrop(Box::new(drop))))
        };
        let mut forward: Vec<u32> = drop(SelectiveDrop::FORWARD).into_iter().collect();
        let back: Vec<u32> = drop(SelectiveDrop::BACK).into_iter().chain(pass(&route.back)).collect();
        if flow.tso_loss_ppb > 0 {
            let random = Purpose::BurstLoss.stream(scenario.seed, index);
            let loss = Element::BurstLoss(BurstLoss::new(flow.tso_loss_ppb, random));
            forward.push(network::add(&mut elements, loss));
        }
        if route.access_ns > 0 {
            let line = DelayLine::new(Propagation::new(route.access_ns));
            forward.push(network::add(&mut elements, Element::DelayLine(line)));
        }
        forward.extend(pass(&route.forward));
        if let Some(Reorder { ppb, delay }) = flow.reorder {
            let random = Purpose::Reordering.stream(scenario.seed, index);
            let reordering = Reordering::new(ppb, ns(delay), random);
            forward.push(network::add(&mut elements, Element::Reordering(reordering)));
        }
        let delay_ns = |link: &u32| ns(scenario.links[*link as usize].line.delay);
        paths.push(Path {
            forward,
            back,
            back_links_ns: route.back.iter().map(delay_ns).sum(),
            ack_delay: ack_delay(&flow.receiving),
            own: own_path(scenario, index, &route),
            ideal: ideal(scenario, flow, &route),
        });
    }
    Ok(Network { elements, paths, links })
}

/// Returns, for each link, the longest RTT of the flows whose data or ACKs take the link.
fn longest_rtts_ns(scenario: &Scenario) -> Vec<u64> {
    let mut longest_ns = vec![0; scenario.links.len()];
    for (flow, route) in scenario.flows.iter().zip(scenario.routes()) {
        let rtts = flow.rtt_at.iter().map(|(_, rtt)| *rtt).chain([flow.rtt]);
        let rtt_ns = rtts.max().map_or(0, ns);
        for link in route.forward.iter().chain(&route.back) {
            longest_ns[*link as usize] = rtt_ns.max(longest_ns[*link as usize]);
        }
    }
    longest_ns
}

/// Returns the elements of the links.
fn links<T: Copy>(scenario: &Scenario, schedule: Schedule) -> Result<Vec<Element<T>>, ImpossibleNetwork> {
    let rtts_ns = longest_rtts_ns(scenario);
    let element = |((index, settings), rtt_ns): ((u32, &scenario::Link), u64)| match link(
        scenario, index, rtt_ns, schedule,
    ) {
        Ok(link) => Ok(Element::Link(Box::new(link))),
        Err(reason) => Err(ImpossibleNetwork::Loss { link: settings.name.clone(), reason }),
    };
    (0..).zip(&scenario.links).zip(rtts_ns).map(element).collect()
}

/// Adds the elements that every packet passes behind a link.
fn behind_link<T>(scenario: &Scenario, link: usize, elements: &mut Vec<Element<T>>) -> Vec<u32> {
    let settings = &scenario.links[link].line;
    let delays = delay_steps(scenario, link);
    if *settings == scenario::Line::default() && delays.is_empty() {
        return Vec::new();
    }
    let mut hops = Vec::new();
    let random = |purpose: Purpose| purpose.stream(scenario.seed, link as u32);
    if settings.duplicate_ppb > 0 {
        let duplication = Duplication::new(link, settings.duplicate_ppb, random(Purpose::Duplication));
        hops.push(network::add(elements, Element::Duplication(duplication)));
    }
    let (delay, jitter) = (ns(settings.delay), Jitter::new(ns(settings.jitter), settings.jitter_shape));
    let random = random(Purpose::LineJitter);
    let in_order = || Propagation::new(delay).with_delays(delays);
    let line = match (settings.reorders, settings.wifi_jitter) {
        (true, _) => Element::ReorderingLine(ReorderingLine::new(delay, jitter, random)),
        (false, None) => Element::DelayLine(DelayLine::new(in_order().with_jitter(jitter, 0, random))),
        (false, Some(mean)) => Element::DelayLine(DelayLine::new(in_order().with_wifi(ns(mean), random))),
    };
    hops.push(network::add(elements, line));
    hops
}

/// Returns the part of a path that belongs to one flow alone.
fn own_path(scenario: &Scenario, index: u32, route: &scenario::Route) -> OwnPath {
    let flow = &scenario.flows[index as usize];
    let random = |purpose: Purpose| purpose.stream(scenario.seed, index);
    let jitter = Jitter::new(ns(flow.ack_jitter), flow.ack_jitter_shape);
    let host_jitter = Jitter::new(ns(flow.host_jitter), scenario::JitterShape::default());
    OwnPath {
        to_receiver: Propagation::new(route.behind_ns).with_delays(route.behind_at_ns.clone()),
        to_sender: Propagation::new(route.back_ns).with_delays(route.back_at_ns.clone()).with_jitter(
            jitter,
            ns(flow.ack_aggregation),
            random(Purpose::AckJitter),
        ),
        host: Propagation::new(0).with_jitter(host_jitter, 0, random(Purpose::HostJitter)),
        ack_loss: Loss::independent(flow.ack_loss_ppb, random(Purpose::AckLoss)),
    }
}

/// Returns the least times that a flow's route allows its transfers.
fn ideal(scenario: &Scenario, flow: &scenario::Flow, route: &scenario::Route) -> Ideal {
    let links = || route.forward.iter().map(|link| &scenario.links[*link as usize]);
    let links_ns: u64 = links().map(|link| ns(link.line.delay)).sum();
    Ideal {
        rtt_ns: ns(flow.rtt),
        one_way_ns: route.access_ns + links_ns + route.behind_ns,
        narrowest_bps: links().map(scenario::Link::fastest_bps).min().unwrap_or(1).max(1),
    }
}

/// Returns the time for which a receiver delays its ACKs, so that the RTT seems longer.
fn ack_delay(receiving: &scenario::Receiving) -> Propagation {
    let steps = receiving.ack_delay_at.iter().map(|(at, delay)| (ns(*at), ns(*delay)));
    Propagation::new(ns(receiving.ack_delay)).with_delays(steps.collect())
}
