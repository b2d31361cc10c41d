//! An entry `[[flow]]` of the scenario: one flow, or a workload of many that come and go.

use fairpace_cc::{Algorithm, Params};
use fairpace_netem::build::nanos;
use fairpace_netem::{
    FlowMeter, Ideal, Nanos, Pattern, Purpose, Random, SECOND, Schedule, Source, Transfers,
};
use fairpace_scenario::{self as scenario, Arrivals, Cc, Scenario, Sizes, View, Window, Writes};
use fairpace_tcp::{self as tcp, HEADER_BYTES, MSS_BYTES, ReceiverConfig, SenderConfig};

use crate::Error;
use crate::host_view::Setup;
use crate::queue::NEVER;
use crate::route::Route;

/// What the connections of an entry share. What every packet asks for comes first, in this order: of hundreds of flows each cache line
/// of it is one to wait for.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) counts: Counts,
    /// When the run ends: what arrives later is computed, but not part of it.
    pub(crate) run_ends: Nanos,
    /// Propagation on the way back that is not the route's own: the lines of `back`.
    pub(crate) back_lines_ns: Nanos,
    pub(crate) index: u32,
    pub(crate) way: Way,
    /// Links that its ACKs take, and those that its data take.
    pub(crate) back: Vec<u32>,
    pub(crate) meter: FlowMeter,
    pub(crate) forward: Vec<u32>,
    /// Flows or answers of finite size.
    pub(crate) transfers: Transfers,
    ideal: Ideal,
    /// Where its packets wait before the first link, and where some wait behind the last one.
    pub(crate) access: Option<usize>,
    pub(crate) detour: Option<usize>,
    pub(crate) workload: Option<Workload>,
    pub(crate) connection: Template,
}

/// How the engine takes an entry's packets to their receivers. It changes nothing but the time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// An event after the other, through elements that have their own.
    ByEvents,
    /// When they are sent: one link, a FIFO, and nothing between it and either end.
    AtOnce,
    /// The same, but a window's packets in a row, see [`Windows`](crate::windows::Windows).
    InWindow,
}

/// Packets of any kind, in both directions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Entered the path, or came into being on it as a duplicate.
    pub(crate) entered_pkts: u64,
    /// Reached the host they were for.
    pub(crate) arrived_pkts: u64,
    pub(crate) dropped_pkts: u64,
    /// Of those that arrived, data.
    pub(crate) data_pkts: u64,
}

/// What a connection of the entry begins as.
pub(crate) struct Template {
    pub(crate) sender: SenderConfig,
    pub(crate) receiver: ReceiverConfig,
    pub(crate) setup: Setup,
    pub(crate) route: Route,
    pub(crate) pattern: Pattern,
    /// Answers of so many bytes, and the time from one to the next request.
    pub(crate) responses: Option<(u64, Nanos)>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) start: Nanos,
    pub(crate) stop: Nanos,
}

/// Flows that arrive at random.
pub(crate) struct Workload {
    mean_gap_ns: f64,
    sizes: Sizes,
    random: Random,
    /// When the next flow arrives.
    pub(crate) next: Nanos,
    /// Flows so far.
    pub(crate) arrived: u64,
    /// Places of connections that are over.
    pub(crate) free: Vec<u32>,
}

impl Workload {
    fn new(arrivals: &Arrivals, mut random: Random, start: Nanos) -> Self {
        let mean_gap_ns = SECOND as f64 * 1e3 / arrivals.per_s_milli.max(1) as f64;
        let next = start.saturating_add(exponential(&mut random, mean_gap_ns));
        Workload { mean_gap_ns, sizes: arrivals.sizes.clone(), random, next, arrived: 0, free: Vec::new() }
    }

    /// The flow that is due arrives: what it sends, and what seeds its own randomness. Books the next one, if that is before `stop`.
    pub(crate) fn take(&mut self, stop: Nanos) -> (u64, u64) {
        let bytes = size(&self.sizes, &mut self.random);
        let seed = self.random.next_u64();
        let next = self.next.saturating_add(exponential(&mut self.random, self.mean_gap_ns));
        self.next = if next < stop { next } else { NEVER };
        self.arrived += 1;
        (bytes, seed)
    }
}

/// From one event of a Poisson process to the next. The logarithm is libm's, which is the same on every machine.
fn exponential(random: &mut Random, mean_ns: f64) -> Nanos {
    let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (-libm::log(1.0 - unit) * mean_ns) as Nanos
}

/// A size by the inverse of the distribution function, evenly between its points.
fn size(sizes: &Sizes, random: &mut Random) -> u64 {
    let cdf = &sizes.cdf;
    let whole = cdf.last().map_or(1, |(_, share)| *share).max(1);
    let at = random.below(whole) + 1;
    let i = cdf.partition_point(|(_, share)| *share < at);
    let (bytes, share) = cdf.get(i).copied().unwrap_or((1, whole));
    let (from, before) = if i == 0 { (0, 0) } else { cdf[i - 1] };
    let part = u128::from(bytes - from) * u128::from(at - before) / u128::from((share - before).max(1));
    (from + part as u64).max(1)
}

impl Entry {
    pub(crate) fn new(
        scenario: &Scenario,
        index: u32,
        route: &scenario::Route,
        schedule: Schedule,
    ) -> Result<Self, Error> {
        let flow = &scenario.flows[index as usize];
        let start = nanos(flow.start);
        let workload = flow.arrivals.as_ref().map(|arrivals| {
            Workload::new(arrivals, Random::stream(scenario.seed, Purpose::Arrivals, index), start)
        });
        let line_ns = |i: &u32| nanos(scenario.links[*i as usize].line.delay);
        let (pattern, responses) = match flow.traffic.writes {
            Writes::Always => (Pattern::Always, None),
            Writes::OnOff { on, off } => (Pattern::OnOff { on: nanos(on), off: nanos(off) }, None),
            Writes::Paced { rate_bps, every } => (Pattern::Paced { rate_bps, every: nanos(every) }, None),
            Writes::Responses { bytes, think } => (Pattern::Always, Some((bytes, nanos(think)))),
        };
        Ok(Entry {
            index,
            meter: FlowMeter::new(schedule, scenario.flows.len()),
            transfers: Transfers::new(schedule.window),
            ideal: ideal(scenario, index, route),
            forward: route.forward.clone(),
            back: route.back.clone(),
            back_lines_ns: route.back.iter().map(line_ns).sum(),
            way: Way::ByEvents,
            access: None,
            detour: None,
            workload,
            counts: Counts::default(),
            run_ends: schedule.end,
            connection: Template {
                sender: sender_config(flow),
                receiver: receiver_config(flow),
                setup: Setup { params: params(flow)?, as_kernel: flow.view == View::Kernel },
                route: Route::new(scenario, index, route, 0),
                pattern,
                responses,
                size_bytes: flow.traffic.size_bytes,
                start,
                stop: flow.stop.map_or(NEVER, nanos),
            },
        })
    }

    /// A transfer of so many bytes that began at `began` is complete; `connects`: its time counts the handshake.
    pub(crate) fn completed(&mut self, began: Nanos, now: Nanos, bytes: u64, connects: bool) {
        let wire_bytes = pkts(bytes).max(1).saturating_mul(u64::from(MSS_BYTES + HEADER_BYTES));
        self.transfers.completed(began, now, self.ideal.ns(wire_bytes, connects));
    }

    /// What the application of a connection that starts then writes.
    pub(crate) fn source(&self, size_bytes: Option<u64>, start: Nanos) -> Source {
        let first = self.connection.responses.map(|(bytes, _)| bytes);
        Source::new(self.connection.pattern, first.or(size_bytes), start)
    }
}

/// The least that a route allows its transfers.
fn ideal(scenario: &Scenario, index: u32, route: &scenario::Route) -> Ideal {
    let links = || route.forward.iter().map(|i| &scenario.links[*i as usize]);
    let lines_ns: Nanos = links().map(|link| nanos(link.line.delay)).sum();
    Ideal {
        rtt_ns: nanos(scenario.flows[index as usize].rtt),
        one_way_ns: route.access_ns + lines_ns + route.behind_ns,
        narrowest_bps: links().map(scenario::Link::fastest_bps).min().unwrap_or(1).max(1),
    }
}

/// In whole packets.
pub(crate) fn pkts(bytes: u64) -> u64 {
    bytes.div_ceil(u64::from(MSS_BYTES))
}

fn ecn(asked: scenario::Ecn) -> tcp::Ecn {
    match asked {
        scenario::Ecn::Off => tcp::Ecn::Off,
        scenario::Ecn::Classic => tcp::Ecn::Classic,
        scenario::Ecn::Dctcp => tcp::Ecn::Dctcp,
    }
}

fn sender_config(flow: &scenario::Flow) -> SenderConfig {
    let asked = flow.sending;
    SenderConfig {
        pacing: asked.pacing,
        tso: asked.tso,
        initial_cwnd_pkts: asked.initial_cwnd_pkts,
        idle_restart: asked.idle_restart,
        ecn: ecn(asked.ecn),
        sack: asked.sack,
        rack: asked.rack,
        tlp: asked.tlp,
        frto: asked.frto,
        undo: asked.undo,
        prr: asked.prr,
        ..SenderConfig::default()
    }
}

fn receiver_config(flow: &scenario::Flow) -> ReceiverConfig {
    let asked = &flow.receiving;
    let linux = ReceiverConfig::linux(nanos(flow.rtt));
    ReceiverConfig {
        window: match asked.window {
            Window::Ample => tcp::Window::Ample,
            Window::Fixed(bytes) => tcp::Window::Fixed(bytes),
            Window::Autotuned(bytes) => tcp::Window::Autotuned(bytes),
        },
        ack_every: asked.ack_every,
        delayed_ack: asked.delayed_ack,
        sack_delay_ns: if asked.sack_compression { linux.sack_delay_ns } else { 0 },
        sack: flow.sending.sack,
        ecn: ecn(flow.sending.ecn),
        gro_ns: nanos(asked.gro),
        ack_delay_ns: nanos(asked.ack_delay),
        ack_delay_at: asked.ack_delay_at.iter().map(|(at, delay)| (nanos(*at), nanos(*delay))).collect(),
        ..linux
    }
}

/// The algorithm of a flow with its parameters.
fn params(flow: &scenario::Flow) -> Result<Params, Error> {
    match &flow.cc {
        Cc::Ours(ours) => Ok(*ours.params()),
        Cc::Kernel(_) => Err(Error::KernelOnly {
            flow: flow.name.clone(),
            cc: flow.cc.to_string(),
            known: Algorithm::all().map(Algorithm::name).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(cdf: &[(u64, u64)]) -> Sizes {
        Sizes { name: "test".into(), cdf: cdf.into() }
    }

    #[test]
    fn sizes_follow_their_distribution() {
        // half of them up to 100 bytes, the rest evenly up to 1100: the mean is 50 / 2 + 600 / 2
        let sizes = sizes(&[(100, 500_000_000), (1_100, 1_000_000_000)]);
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..200_000).map(|_| size(&sizes, &mut random)).collect();
        let small = drawn.iter().filter(|n| **n <= 100).count() as f64 / 2e5;
        let mean = drawn.iter().sum::<u64>() as f64 / 2e5;
        assert!((small - 0.5).abs() < 0.005 && (mean - 325.0).abs() < 4.0, "{small} {mean}");
        assert!(drawn.iter().all(|n| (1..=1_100).contains(n)));
    }

    #[test]
    fn gaps_are_exponential() {
        let mut random = Random::new(2);
        let gaps: Vec<f64> = (0..200_000).map(|_| exponential(&mut random, 1e6) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / 2e5;
        // P(gap > mean) is 1/e; both within four standard deviations
        let long = gaps.iter().filter(|gap| **gap > 1e6).count() as f64 / 2e5;
        assert!((mean / 1e6 - 1.0).abs() < 4.0 / 447.0, "{mean}");
        assert!((long - (-1f64).exp()).abs() < 0.0044, "{long}");
    }
}
