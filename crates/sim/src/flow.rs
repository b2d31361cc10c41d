//! A flow of the scenario: the configuration of its connections, its meters, and its workload if it is one.

use fairpace_cc::{Algorithm, Params};
use fairpace_netem::{
    FlowMeter, Frames, Ideal, MediaMeter, Nanos, OwnPath, Path, Pattern, Purpose, Schedule, Source, Transfers,
};
use fairpace_scenario::{self as scenario, Cc, Random, Scenario, View, Writes, ns};
use fairpace_tcp::{HEADER_BYTES, ReceiverConfig, Sending};

use crate::error::Error;
use crate::event_queue::NEVER;
use crate::header::DATAGRAM_HEADER_BYTES;
use crate::host_view::AlgorithmConfig;
use crate::round::Round;
use crate::workload::Workload;

/// The configuration and meters that the connections of a flow share. The fields are in the order in which
/// packets read them, see docs/decisions/0004-repr-c-field-order.md.
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) counts: Counts,
    /// Time when the run ends. Packets that arrive later are computed, but not measured.
    pub(crate) run_ends: Nanos,
    /// Propagation of the links that the flow's ACKs take.
    pub(crate) back_links_ns: Nanos,
    pub(crate) index: u32,
    /// Payload of a full packet, bytes. 16 bits are enough for any MTU, and keep the first fields together.
    mss_bytes: u16,
    /// True if the flow's ACKs take links.
    pub(crate) acks_take_links: bool,
    /// True if the flow's frames travel in datagrams, without a connection.
    pub(crate) has_datagrams: bool,
    /// Meter of the flow's audio or video, if it has any.
    pub(crate) media: Option<Box<MediaMeter>>,
    pub(crate) meter: FlowMeter,
    /// Connections or responses of finite size.
    pub(crate) transfers: Transfers,
    /// Number of connections that have failed.
    pub(crate) failed: u64,
    ideal: Ideal,
    pub(crate) workload: Option<Workload>,
    /// The flow's place in a round of its barrier, if it has one.
    pub(crate) round: Round,
    pub(crate) connection: ConnectionConfig,
}

/// Numbers of packets of any kind, in both directions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Number of packets that entered the network, or were created in it as a duplicate.
    pub(crate) entered_pkts: u64,
    /// Number of packets that reached their host.
    pub(crate) arrived_pkts: u64,
    pub(crate) dropped_pkts: u64,
    /// Number of data packets among those that arrived.
    pub(crate) data_pkts: u64,
}

/// The configuration of a flow's connections.
pub(crate) struct ConnectionConfig {
    pub(crate) sender: Sending,
    pub(crate) receiver: ReceiverConfig,
    pub(crate) algorithm: AlgorithmConfig,
    pub(crate) path: OwnPath,
    pub(crate) pattern: Pattern,
    /// Random numbers for the sizes of the flow's frames.
    pub(crate) frames: Random,
    /// The size of a response in bytes, and the time from a response to the next request.
    pub(crate) responses: Option<(u64, Nanos)>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) start: Nanos,
    pub(crate) stop: Nanos,
}

impl Flow {
    /// Returns the flow of this index.
    pub(crate) fn new(
        scenario: &Scenario,
        index: u32,
        path: &Path,
        schedule: Schedule,
    ) -> Result<Self, Error> {
        let flow = &scenario.flows[index as usize];
        let start = ns(flow.start);
        let workload = flow
            .arrivals
            .as_ref()
            .map(|arrivals| Workload::new(arrivals, Purpose::Arrivals.stream(scenario.seed, index), start));
        let (pattern, responses) = match &flow.traffic.writes {
            Writes::Scheduled(table) => (Pattern::Scheduled(table.rows.clone()), None),
            Writes::Always => (Pattern::Always, None),
            Writes::OnOff { on, off } => (Pattern::OnOff { on: ns(*on), off: ns(*off) }, None),
            Writes::Paced { rate_bps, every } => {
                (Pattern::Paced { rate_bps: *rate_bps, every: ns(*every) }, None)
            }
            Writes::Responses { bytes, think } => (Pattern::Always, Some((*bytes, ns(*think)))),
            Writes::Frames(media) => (Pattern::Frames(Frames::new(*media)), None),
        };
        let media = match &flow.traffic.writes {
            Writes::Frames(media) => Some(Box::new(MediaMeter::new(media, schedule, scenario.flows.len()))),
            _ => None,
        };
        Ok(Flow {
            index,
            mss_bytes: u16::try_from(flow.sending.mss_bytes()).unwrap_or(u16::MAX),
            meter: FlowMeter::new(schedule, scenario.flows.len()),
            transfers: Transfers::new(schedule.window),
            failed: 0,
            ideal: path.ideal,
            back_links_ns: path.back_links_ns,
            acks_take_links: !path.back.is_empty(),
            has_datagrams: flow.cc == Cc::Uncontrolled,
            media,
            workload,
            round: if flow.barrier.is_some() { Round::Running } else { Round::None },
            counts: Counts::default(),
            run_ends: schedule.end,
            connection: ConnectionConfig {
                sender: flow.sending,
                receiver: ReceiverConfig::new(&flow.receiving, &flow.sending, flow.rtt),
                algorithm: AlgorithmConfig { params: params(flow)?, as_kernel: flow.view == View::Kernel },
                path: path.own.clone(),
                pattern,
                frames: Purpose::Frames.stream(scenario.seed, index),
                responses,
                size_bytes: size_bytes(flow),
                start,
                stop: flow.stop.map_or(NEVER, ns),
            },
        })
    }

    /// Records that a transfer of `bytes` that began at `began` is complete at `now`. With `connects` its
    /// time includes the handshake.
    pub(crate) fn completed(&mut self, began: Nanos, now: Nanos, bytes: u64, connects: bool) {
        let wire_bytes = self.pkts(bytes).max(1).saturating_mul(u64::from(self.data_bytes()));
        self.transfers.completed(began, now, self.ideal.ns(wire_bytes, connects));
    }

    /// Payload of a full packet, bytes.
    #[inline]
    pub(crate) fn mss_bytes(&self) -> u64 {
        u64::from(self.mss_bytes)
    }

    /// Length of a full packet on the wire, bytes.
    #[inline]
    pub(crate) fn data_bytes(&self) -> u32 {
        u32::from(self.mss_bytes) + HEADER_BYTES
    }

    /// Most bytes of a frame that a datagram carries.
    pub(crate) fn datagram_payload_bytes(&self) -> u64 {
        u64::from(self.data_bytes() - DATAGRAM_HEADER_BYTES)
    }

    /// Returns the number of packets for `bytes`, rounded up.
    pub(crate) fn pkts(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss_bytes())
    }

    /// Returns the application's source for a connection that starts at `start`.
    pub(crate) fn source(&self, size_bytes: Option<u64>, start: Nanos) -> Source {
        let first = self.connection.responses.map(|(bytes, _)| bytes);
        let source = Source::new(self.connection.pattern.clone(), first.or(size_bytes), start);
        source.with_random(self.connection.frames.clone())
    }
}

/// Returns how much a flow sends, if it ends: given writes have whole packets, since each begins one.
fn size_bytes(flow: &scenario::Flow) -> Option<u64> {
    let mss_bytes = u64::from(flow.sending.mss_bytes());
    match &flow.traffic.writes {
        Writes::Scheduled(table) => {
            Some(table.rows.iter().map(|row| row.1.next_multiple_of(mss_bytes)).sum())
        }
        _ => flow.traffic.size_bytes,
    }
}

/// Returns the algorithm of a flow with its parameters.
fn params(flow: &scenario::Flow) -> Result<Params, Error> {
    match &flow.cc {
        Cc::Ours(ours) => Ok(*ours.params()),
        // its sender never connects, so none runs
        Cc::Uncontrolled => {
            let any = Algorithm::all().next().ok_or(Error::Empty { what: "algorithms" })?;
            Ok(Params::defaults(any))
        }
        Cc::Kernel(_) => Err(Error::KernelOnly {
            flow: flow.name.clone(),
            cc: flow.cc.to_string(),
            known: Algorithm::all().map(Algorithm::name).collect(),
        }),
    }
}
