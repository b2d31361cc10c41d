//! A flow: `[[flow]]` declares one connection or a workload of many.

use std::time::Duration;

use fairpace_cc::Algorithm;

use crate::cc::Cc;
use crate::drops::Drops;
use crate::field::words;
use crate::hosts::{Receiving, Sending};
use crate::impairments::{Distribution, JitterShape, Reorder, Steps};
use crate::key::{DAY, Kind, MOST_DROPS, MOST_FLOWS, MOST_HOPS, Relation, S, SHARE, TIME};
use crate::quantity::{Dimension, WHOLE_PPB};
use crate::row::{Access, Row, field, option, within};
use crate::traffic::{Arrivals, Traffic};
use crate::value::Value;

/// A flow of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Name of the flow in results.
    pub name: String,
    /// The congestion control, with the parameters that `set` gives it.
    pub cc: Cc,
    /// Base RTT: the round-trip time of the path without queueing and transmission.
    pub rtt: Duration,
    /// The links that the flow's data takes, by name and in order; `None`: from node to node if the flow has
    /// `ends`, else all links that no flow's `reverse` names, in the order of the file.
    /// [`Scenario::routes`](crate::Scenario::routes) resolves it.
    pub route: Option<Vec<String>>,
    /// The links that the flow's ACKs take, by name and in order; empty: the ACKs meet no queue.
    pub reverse: Vec<String>,
    /// The nodes that the flow's data goes from and to, over the links with the least sum of delays.
    pub ends: Option<(String, String)>,
    /// Propagation from the sender to the first link: part of `rtt`, as are the delays of the links' lines.
    /// Half of the rest lies behind the last link, half on the way back.
    pub access_delay: Duration,
    /// Settings of the sending host beside the algorithm.
    pub sending: Sending,
    /// Settings of the receiving host: how it acknowledges.
    pub receiving: Receiving,
    /// The arrivals of a workload; `None` if the flow is no workload.
    pub arrivals: Option<Arrivals>,
    /// Time when the flow starts.
    pub start: Duration,
    /// Time when the flow stops, if before the end of the run.
    pub stop: Option<Duration>,
    /// Later values of `rtt`, as by changes of the route.
    pub rtt_at: Steps<Duration>,
    /// Share of the flow's ACKs that are lost at random, billionths.
    pub ack_loss_ppb: u64,
    /// Largest extra delay of an ACK, or standard deviation of its delay, by `ack_jitter_shape`. ACKs keep
    /// their order.
    pub ack_jitter: Duration,
    /// The distribution and the correlation of the jitter of ACKs.
    pub ack_jitter_shape: JitterShape,
    /// Aggregation: ACKs are held back and arrive together at multiples of this time; 0: ACKs are not held
    /// back.
    pub ack_aggregation: Duration,
    /// Share of the sending host's TSO bursts that are lost whole before the first link, billionths.
    pub tso_loss_ppb: u64,
    /// Packets that are dropped before the first link, by their number.
    pub drop: Drops,
    /// Reordering: data packets that others overtake.
    pub reorder: Option<Reorder>,
    /// Largest processing delay of an ACK at the sending host. The delay is uniform from 0 to this, and ACKs
    /// keep their order.
    pub host_jitter: Duration,
    /// Traffic of the flow's application: its data, and when it is written.
    pub traffic: Traffic,
    /// The barrier at which the flow's requests wait: the next request of each of its flows comes when all
    /// have their response.
    pub barrier: Option<String>,
    /// The view of the flow's algorithm in the simulator.
    pub view: View,
}

impl Flow {
    /// Returns a flow that has data from the start to the end of the run, over a path that does nothing but
    /// delay.
    #[must_use]
    pub fn new(name: impl Into<String>, cc: impl Into<Cc>, rtt: Duration) -> Self {
        Self {
            name: name.into(),
            cc: cc.into(),
            rtt,
            route: None,
            reverse: Vec::new(),
            ends: None,
            access_delay: Duration::ZERO,
            sending: Sending::default(),
            receiving: Receiving::default(),
            arrivals: None,
            start: Duration::ZERO,
            stop: None,
            rtt_at: Vec::new(),
            ack_loss_ppb: 0,
            ack_jitter: Duration::ZERO,
            ack_jitter_shape: JitterShape::default(),
            ack_aggregation: Duration::ZERO,
            tso_loss_ppb: 0,
            drop: Drops::default(),
            reorder: None,
            host_jitter: Duration::ZERO,
            traffic: Traffic::default(),
            barrier: None,
            view: View::default(),
        }
    }

    /// Returns a flow to compare others with: every setting that does not have to be given is at its default.
    pub(crate) fn any() -> Self {
        let cc = Algorithm::all().next().map_or_else(|| Cc::Kernel(String::new()), Cc::from);
        Self::new("", cc, Duration::ZERO)
    }
}

/// The view that an algorithm gets in the simulator of packets that were sent, and of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// Everything that the sender knows.
    #[default]
    Exact,
    /// The values that a stock Linux kernel reports.
    Kernel,
}

words!(View { Exact = "exact", Kernel = "kernel" });

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Flow>] = &[
    Row::flow("name", Kind::Text, field!(Flow, name),
        "Name in results. The flows of a group are called `NAME-1`, `NAME-2`, ...")
        .range(1, 64).or("the RTT, such as `10ms`; `10ms-2` for the second of that name"),
    Row::flow("cc", Kind::Algorithm, field!(Flow, cc),
        "Congestion control: an algorithm of [algorithms.md](algorithms.md), or the path of a \
         [header of your own](../own-algorithm.md), which ends with `.h`; or a variant of either with other \
         parameters, `bbr3:beta=0.5`. On the testbed also `kernel:NAME`, \
         one of the kernel's own. `none`: the frames of `media_rate` over UDP, whatever the \
         network does; keys of TCP have no effect.")
        .range(1, 4096).simulator_only_if(&["none"]),
    Row::flow("rtt", TIME, field!(Flow, rtt),
        "Round-trip time of the path, without queueing and transmission.")
        .range(10_000, 10 * S),
    Row::flow("route", Kind::Links, field!(Flow, route), "The links that its data takes, in order.")
        .range(1, MOST_HOPS).or("all links that no flow's `reverse` names, in the order of the file"),
    Row::flow("from", Kind::Text, option!(Flow, ends: 0),
        "In place of `route`: the node that its data leaves from. It takes the links with the least `delay` \
         in all; of several such routes the one with the fewest links; of these the one whose links come \
         first in the file.")
        .range(1, 64).or("no node").example("\"a\"").related(&[Relation::Needs("to")]),
    Row::flow("to", Kind::Text, option!(Flow, ends: 1), "The node that its data goes to.")
        .range(1, 64).or("no node").example("\"b\"").related(&[Relation::Needs("from")]),
    Row::flow("reverse", Kind::Links, field!(Flow, reverse), "The links that its ACKs take, in order.")
        .range(0, MOST_HOPS).or("none: its ACKs meet no queue"),
    Row::flow("access_delay", TIME, field!(Flow, access_delay),
        "Propagation delay from the sender to the first link: part of `rtt`, as the `delay` of links is. \
         Half of what is left is behind the last link, half on the way back.")
        .range(0, 10 * S).optional(),
    Row::flow("start", TIME, field!(Flow, start), "When it starts.")
        .range(0, DAY).optional().always_printed(),
    Row::flow("stop", TIME, field!(Flow, stop), "When it stops.").range(0, DAY).or("the run's end"),
];

/// Keys of requests. The canonical form prints this key after those of the traffic.
#[rustfmt::skip]
pub(crate) const BARRIER_KEYS: &[Row<Flow>] = &[
    Row::flow("barrier", Kind::Text, field!(Flow, barrier),
        "Flows with the same barrier are asked in rounds, as the servers of an incast: the next request of \
         each follows `think` after the last of their responses of this round has arrived. A flow that has \
         stopped or failed is not waited for.")
        .range(1, 64).or("a flow waits for no other").example("\"read\"")
        .related(&[Relation::Needs("response")]),
];

/// Keys of the RTT. The canonical form prints this key after `receive_buffer_max`. The order is part of the
/// hash.
#[rustfmt::skip]
pub(crate) const RTT_KEYS: &[Row<Flow>] = &[
    Row::flow("rtt_at", Kind::Steps(Dimension::Time), field!(Flow, rtt_at),
        "Later round-trip times, as by a change of the route. Packets keep their order.")
        .range(10_000, 10 * S).or("the RTT never changes"),
];

/// Keys of the ACKs. The canonical form prints these keys after `reorder_delay`. The order is part of the
/// hash.
#[rustfmt::skip]
pub(crate) const ACK_KEYS: &[Row<Flow>] = &[
    Row::flow("ack_jitter", TIME, field!(Flow, ack_jitter),
        "Extra delay of each ACK, uniformly random from 0 to this, or by `ack_jitter_distribution`; ACKs \
         keep their order.")
        .range(0, 10 * S).optional(),
    Row::flow("ack_jitter_distribution", Kind::Choice(Distribution::NAMES),
        field!(Flow, ack_jitter_shape.distribution),
        "`normal`: the time of an ACK from the receiver, or its last link, to the sender is the mean, and \
         `ack_jitter` the standard deviation. As `jitter_distribution` of a link.")
        .optional().related(&[Relation::Needs("ack_jitter")]),
    Row::flow("ack_jitter_correlation", SHARE, field!(Flow, ack_jitter_shape.correlation_ppb),
        "Part of the jitter that an ACK takes over from the ACK before. As `jitter_correlation` of a link.")
        .range(0, 990_000_000).optional().example("\"25%\"").related(&[Relation::Needs("ack_jitter")]),
    Row::flow("ack_aggregation", TIME, field!(Flow, ack_aggregation),
        "ACKs are held back and come together at multiples of this time, as over Wi-Fi or a cellular uplink.")
        .range(0, 10 * S).optional(),
    Row::flow("host_jitter", TIME, field!(Flow, host_jitter),
        "Processing delay of each ACK at the sending host, uniformly random from 0 to this and in order: the \
         noise of real hosts.")
        .range(0, 10 * S).optional().simulator_only(),
    Row::flow("ack_loss", SHARE, field!(Flow, ack_loss_ppb),
        "Share of the flow's ACKs that are lost at random.")
        .range(0, WHOLE_PPB).optional(),
    Row::flow("tso_loss", SHARE, field!(Flow, tso_loss_ppb),
        "Share of the sender's bursts that are lost whole before the first link, as by the full queue of a \
         network card or of virtio, which drops an skb of up to 64 kB. A burst is what a connection sends at \
         one time, up to 64 kB of it: with `tso = false` and pacing a single packet.")
        .range(0, WHOLE_PPB).optional().simulator_only(),
    Row::flow("drop", Kind::Drops, field!(Flow, drop),
        "Packets that vanish between their host and the first link, each counted from 1 in the order of \
         sending: `data 9` is the ninth full segment of new data, `data 9-10` are two, `data 40 twice` is \
         also the first retransmission of this segment, be it a tail loss probe; `ack 3` is the receiver's \
         third pure ACK, `syn 2` the second SYN, `synack 1` the first SYN-ACK. On the testbed `data N` is \
         what begins in the N-th full segment of the sequence space, 1448 bytes with an `mtu` of 1500. Each \
         flow of a `count` loses its own. What is never sent is named in the results \
         ([json.md](json.md#dropped-packets)).")
        .range(0, MOST_DROPS).or("no packet").related(&[Relation::Excludes("arrivals")]),
];

/// Last keys of a flow. The canonical form prints the first two of these keys last; the order is part of the
/// hash. Only the reader uses the others.
#[rustfmt::skip]
pub(crate) const LAST_KEYS: &[Row<Flow>] = &[
    Row::flow("set", Kind::Parameters, SET,
        "Parameters of the algorithm, as in `set = { alpha = \"3ms\" }`; [algorithms.md](algorithms.md) \
         lists them.")
        .or("the algorithm's defaults"),
    Row::flow("view", Kind::Choice(View::NAMES), field!(Flow, view),
        "What the simulator reports to an algorithm that uses what was in flight when each packet was sent \
         (BBRv2 and BBRv3): all that the sender knows, or no more than a stock Linux `kernel` reports. The \
         testbed's kernel always reports the latter.")
        .optional(),
    Row::flow("count", Kind::Integer, Access::NONE, "Number of such flows: a group.")
        .range(1, MOST_FLOWS).or("1"),
    Row::flow("stagger", TIME, Access::NONE, "In a group, each flow starts this much after the one before.")
        .range(0, DAY).or("0s"),
];

within!(Flow {
    traffic: Traffic,
    arrivals: Option<Arrivals>,
    receiving: Receiving,
    reorder: Option<Reorder>,
    sending: Sending,
});

/// Access to `set`, whose parameters are set with `cc`.
const SET: Access<Flow> = Access {
    get: |flow| Some(flow.cc.settings()).filter(|set| !set.is_empty()).map(|set| Value::Table(set.to_vec())),
    set: |_, _, _| {},
};
