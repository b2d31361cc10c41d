//! The state of a simulation: the event queue, the network, the flows and their connections.

use fairpace_netem::{Network, Packet, Schedule, build};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_scenario::{Random, Scenario};

use crate::connection::Connection;
use crate::error::Error;
use crate::event_queue::{EventQueue, NEVER};
use crate::fast_path::FastPath;
use crate::flow::Flow;
use crate::header::Header;
use crate::round;

/// The event queue's index of the measurement boundaries. The elements follow, then the workloads, then the
/// connections. Of events at one time, the event with the lowest index comes first.
pub(crate) const BOUNDARIES: usize = 0;
/// The event queue's index of the first element.
pub(crate) const FIRST_ELEMENT: usize = 1;
/// Value of [`FirstLink::index`] where the first hop of the flow's data is no link with a fast path.
pub(crate) const NO_LINK: u32 = u32::MAX;

/// The entry of a flow's data into the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstLink {
    /// The link with a fast path that is the first hop, or [`NO_LINK`].
    pub(crate) index: u32,
    /// Length of a full packet, bytes: links need it where the flow itself is not in the cache.
    pub(crate) data_bytes: u32,
}

/// The state that events read and change.
pub(crate) struct Simulation<O> {
    pub(crate) queue: EventQueue,
    pub(crate) network: Network<Header>,
    pub(crate) fast_path: FastPath,
    pub(crate) flows: Vec<Flow>,
    /// Indices of the flows that are workloads.
    pub(crate) workloads: Vec<usize>,
    /// Connections by slot: one per flow that is not a workload, in the order of flows, then the connections
    /// of workloads.
    pub(crate) connections: Vec<Connection>,
    /// The flow of each slot. Every event reads this field and the next, so they are apart from the rest.
    pub(crate) flow_of: Vec<u32>,
    /// The flows of each barrier, by index.
    pub(crate) barriers: Vec<Vec<u32>>,
    /// The first link of each flow.
    pub(crate) first_links: Vec<FirstLink>,
    pub(crate) schedule: Schedule,
    pub(crate) first_workload: usize,
    pub(crate) first_connection: usize,
    /// Packets that hosts have just sent, for their first hop.
    pub(crate) packets: Vec<Packet<Header>>,
    pub(crate) observer: O,
}

impl<O: Observer> Simulation<O> {
    /// Returns a simulation at the start of a scenario. With `per_hop` no link has a fast path, which changes
    /// only the time that the simulation takes.
    pub(crate) fn new(scenario: &Scenario, observer: O, per_hop: bool) -> Result<Self, Error> {
        for (what, is_empty) in [("links", scenario.links.is_empty()), ("flows", scenario.flows.is_empty())] {
            if is_empty {
                return Err(Error::Empty { what });
            }
        }
        let schedule = build::schedule(scenario);
        let network: Network<Header> = build::network(scenario, schedule)?;
        let barriers = round::barriers(scenario);
        // a response that completes a round has an effect on other flows, so it must arrive in its time
        let fast_path = FastPath::new(&network, scenario, per_hop || !barriers.is_empty());
        let flows: Vec<Flow> = (0..)
            .zip(&network.paths)
            .map(|(i, path)| Flow::new(scenario, i, path, schedule))
            .collect::<Result<_, Error>>()?;
        let workloads: Vec<usize> = (0..flows.len()).filter(|i| flows[*i].workload.is_some()).collect();
        let connections = connections(&flows, scenario.seed);
        let first_workload = FIRST_ELEMENT + network.elements.len();
        let first_connection = first_workload + workloads.len();
        let mut queue = EventQueue::new(first_connection + connections.len());
        for (i, flow) in workloads.iter().enumerate() {
            queue.set(first_workload + i, flows[*flow].workload.as_ref().map_or(NEVER, |w| w.next));
        }
        for (slot, connection) in connections.iter().enumerate() {
            queue.set(first_connection + slot, connection.next_event());
        }
        let first_link = |flow: usize| FirstLink {
            index: fast_path.first_link(&network, flow).unwrap_or(NO_LINK),
            data_bytes: flows[flow].data_bytes(),
        };
        Ok(Simulation {
            queue,
            flow_of: connections.iter().map(|connection| connection.slot.id.flow).collect(),
            first_links: (0..flows.len()).map(first_link).collect(),
            barriers,
            network,
            fast_path,
            flows,
            workloads,
            connections,
            schedule,
            first_workload,
            first_connection,
            packets: Vec::new(),
            observer,
        })
    }

    /// Checks in debug builds that each packet that entered the network has arrived, was dropped, or is in
    /// it.
    pub(crate) fn check_conservation(&self) {
        if cfg!(debug_assertions) {
            let total = |count: fn(&Flow) -> u64| self.flows.iter().map(count).sum::<u64>();
            let inside = self.network.elements.iter().map(|element| element.len() as u64).sum::<u64>();
            let gone = total(|f| f.counts.arrived_pkts) + total(|f| f.counts.dropped_pkts);
            let entered = total(|f| f.counts.entered_pkts);
            assert_eq!(entered, gone + inside, "a packet was lost or invented");
        }
    }
}

/// Returns the connections of the flows that are no workloads. Every flow, workload or not, draws a seed, so
/// that the kind of a flow does not change other flows.
fn connections(flows: &[Flow], seed: u64) -> Vec<Connection> {
    let mut random = Random::new(seed);
    let mut connections = Vec::new();
    for flow in flows {
        let random = random.next_u32();
        if flow.workload.is_none() {
            let id = ConnectionId { flow: flow.index, index: 0 };
            let (slot, config) = (connections.len() as u32, &flow.connection);
            connections.push(Connection::new(flow, id, slot, config.start, config.size_bytes, random));
        }
    }
    connections
}
