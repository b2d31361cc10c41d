//! Random scenarios: each seed always gives the same scenario.
//!
//! Each scenario may use a random half of all features, because a feature can hide the faults of another
//! (Groce et al., "Swarm testing", ISSTA 2012). Work is bounded: in the whole run the links can carry at most
//! some 500,000 packets.

use std::time::Duration;

use fairpace_cc::{Algorithm, Unit};
use fairpace_scenario::quantity::PACKET_BYTES;
use fairpace_scenario::{
    Arrivals, Cc, Flow, Invalid, Limit, Link, Media, Random, Reorder, Scenario, Sizes, Steps, Target,
    Traffic, WHOLE_PPB, Writes,
};

mod hosts;
mod later;
mod links;

/// Range of the number of full-sized packets that the links may carry in total.
const BUDGET_PKTS: (u64, u64) = (5_000, 500_000);
/// Range of the rate that the rates of links are near to, bits per second.
const RATE_BPS: (u64, u64) = (200_000, 300_000_000);
/// Range of the length of a run, us.
const DURATION_US: (u64, u64) = (300_000, 60_000_000);
/// Range of round-trip times beside the delays of links, us.
const RTT_US: (u64, u64) = (20, 300_000);
/// The length of a full-sized packet with its Ethernet header, bits.
const PACKET_BITS: u64 = PACKET_BYTES * 8;
/// Largest value of an algorithm's parameters in packets: a sender may try as many packets at once.
const MOST_PKTS: u32 = 5_000;

/// A feature that a scenario may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    Nodes,
    Routes,
    Reverse,
    LineDelay,
    LineJitter,
    Duplicates,
    Trace,
    Shaper,
    RateSteps,
    Outage,
    Policer,
    Loss,
    Queues,
    PacketLimit,
    TinyBuffer,
    RttSteps,
    AckLoss,
    AckJitter,
    AckAggregation,
    HostJitter,
    Reordering,
    Window,
    Receiver,
    Sender,
    Ecn,
    Pacing,
    Parameters,
    KernelView,
    Access,
    Size,
    Traffic,
    Workload,
    StartStop,
    Media,
    Wifi,
    Handovers,
    Mtu,
    Drops,
}

/// Draws the parts of a scenario.
struct Draw {
    random: Random,
    features: u64,
    /// Rate that the rates of links are near to, bits per second.
    rate_bps: u64,
    duration: Duration,
}

impl Draw {
    /// Returns whether the feature is in use here. In a scenario that may have it, it is in use in one place
    /// of three.
    fn uses(&mut self, feature: Feature) -> bool {
        self.features >> (feature as u64) & 1 == 1 && self.random.below(3) == 0
    }

    fn flip(&mut self) -> bool {
        self.random.below(2) == 0
    }

    /// Draws a number, uniform, both ends included.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.random.below((most - least).saturating_add(1).max(1))
    }

    /// Draws a number with equal probability for each order of magnitude; both ends included. `least` is at
    /// least 1.
    fn magnitude(&mut self, (least, most): (u64, u64)) -> u64 {
        let exponent = self.random.unit() * (most as f64 / least as f64).ln();
        ((least as f64 * exponent.exp()) as u64).clamp(least, most)
    }

    fn time_us(&mut self, range: (u64, u64)) -> Duration {
        Duration::from_micros(self.magnitude(range))
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.random.below(items.len() as u64) as usize].clone()
    }

    /// Draws between one and three later values, at times within the run.
    fn steps<T>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> Steps<T> {
        let end = self.duration.as_nanos() as u64;
        let mut at: Vec<u64> = (0..self.between(1, 3)).map(|_| self.between(1, end)).collect();
        at.sort_unstable();
        at.dedup();
        at.into_iter().map(|at| (Duration::from_nanos(at), value(self))).collect()
    }

    /// Draws a share, billionths: mostly a few percent, seldom up to `most_percent`.
    fn share_ppb(&mut self, most_percent: u64) -> u64 {
        self.magnitude((10_000, most_percent * WHOLE_PPB / 100))
    }
}

/// Returns the scenario of a seed. Seeds have up to 63 bits, as in scenario files.
///
/// # Errors
/// A defect of this file: its scenarios should be valid.
pub fn scenario(seed: u64) -> Result<Scenario, Invalid> {
    let mut random = Random::new(seed);
    let features = random.next_u64();
    let mut draw = Draw { random, features, rate_bps: 0, duration: Duration::ZERO };
    draw.rate_bps = draw.magnitude(RATE_BPS);
    let count = draw.between(1, 5);
    let budget_bits = draw.magnitude(BUDGET_PKTS) * PACKET_BITS;
    // The links are up to four times as fast as the rate. If the budget is exceeded, the run becomes shorter
    // or the links slower.
    let most_bits = |of: u64| (budget_bits / (2 * count)).saturating_mul(1_000_000) / of;
    draw.duration = draw.time_us(DURATION_US);
    if draw.flip() {
        draw.rate_bps = draw.rate_bps.min(most_bits(draw.duration.as_micros() as u64)).max(RATE_BPS.0);
    }
    let longest = Duration::from_micros(most_bits(draw.rate_bps));
    draw.duration = draw.duration.min(longest).max(Duration::from_millis(100));
    let mut links: Vec<Link> = (0..count).map(|index| draw.link(index as usize)).collect();
    let mut flows = draw.flows(&mut links);
    let (from, to) = draw.window();
    let interval = draw.duration / draw.between(3, 60) as u32;
    draw.later(&mut links, &mut flows);
    draw.cellular(&mut links);
    Scenario {
        title: format!("swarm {seed}"),
        why: String::new(),
        seed,
        duration: draw.duration,
        window: (from, to),
        interval: interval.max(Duration::from_micros(100)),
        links,
        flows,
        hash: String::new(),
    }
    .sealed(Target::Simulator)
}

/// The largest MTU that a scenario may have, bytes.
const LARGEST_MTU_BYTES: u64 = 9_000;
/// An Ethernet header, bytes.
const ETHERNET_BYTES: u64 = 14;

/// Returns the largest MTU, bytes, whose packets fit into all buffers and token buckets.
fn most_mtu_bytes(links: &[Link]) -> u64 {
    let holds_bytes = |link: &Link| {
        let buffer = if let Limit::Bytes(bytes) = link.buffer { bytes } else { u64::MAX };
        let policer = link.policer.as_ref().map_or(u64::MAX, |policer| policer.burst_bytes);
        buffer.min(policer).min(link.burst_bytes.unwrap_or(u64::MAX))
    };
    links.iter().map(holds_bytes).fold(LARGEST_MTU_BYTES + ETHERNET_BYTES, u64::min) - ETHERNET_BYTES
}

impl Draw {
    fn window(&mut self) -> (Duration, Duration) {
        let end = self.duration.as_nanos() as u64;
        if self.flip() {
            return (Duration::ZERO, self.duration);
        }
        let from = self.random.below(end - 1);
        (Duration::from_nanos(from), Duration::from_nanos(self.between(from + 1, end)))
    }

    /// Draws all flows; links may get nodes, or be left to ACKs.
    fn flows(&mut self, links: &mut Vec<Link>) -> Vec<Flow> {
        let count = self.magnitude((1, 12)) as usize;
        let nodes = self.uses(Feature::Nodes);
        if nodes {
            for (index, link) in links.iter_mut().enumerate() {
                link.ends = Some((format!("n{index}"), format!("n{}", index + 1)));
            }
            if self.uses(Feature::Reverse) {
                let back = Link {
                    ends: Some((format!("n{}", links.len()), "n0".to_owned())),
                    name: "back".to_owned(),
                    ..self.link(links.len())
                };
                links.push(back);
            }
        }
        let mut flows: Vec<Flow> = (0..count)
            .map(|index| {
                let any = Algorithm::all().next().expect("there is an algorithm");
                let flow = Flow::new(format!("f{index}"), any, Duration::ZERO);
                let flow = if nodes { self.ends(flow, links) } else { self.way(flow, links) };
                self.flow(flow, links)
            })
            .collect();
        // without a route, a flow takes the links that no ACKs take: there must be one
        let is_for_acks = |link: &Link| flows.iter().any(|flow| flow.reverse.contains(&link.name));
        if links.iter().all(is_for_acks) {
            let all: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
            let unsaid = flows.iter_mut().filter(|flow| flow.route.is_none() && flow.ends.is_none());
            unsaid.for_each(|flow| flow.route = Some(all.clone()));
        }
        flows
    }

    /// Routes a flow from node to node along the chain of links.
    fn ends(&mut self, flow: Flow, links: &[Link]) -> Flow {
        let back = links.last().filter(|link| link.name == "back");
        let last = links.len() - usize::from(back.is_some());
        let from = self.random.below(last as u64) as usize;
        let to = self.between(from as u64 + 1, last as u64) as usize;
        let reverse = match back {
            Some(back) if self.flip() => vec![back.name.clone()],
            _ => Vec::new(),
        };
        // the link back closes the ring only for who goes all the way
        let (from, to) = if reverse.is_empty() { (from, to) } else { (0, last) };
        Flow { ends: Some((format!("n{from}"), format!("n{to}"))), reverse, ..flow }
    }

    /// Routes a flow over some of the links in any order, and its ACKs over others.
    fn way(&mut self, flow: Flow, links: &[Link]) -> Flow {
        if links.len() == 1 || !self.uses(Feature::Routes) {
            let route = links.iter().map(|link| link.name.clone()).collect();
            return Flow { route: self.flip().then_some(route), ..flow };
        }
        let mut names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
        for i in (1..names.len()).rev() {
            names.swap(i, self.random.below(i as u64 + 1) as usize);
        }
        let taken = self.between(1, names.len() as u64) as usize;
        let left = names.split_off(taken);
        let back = if self.uses(Feature::Reverse) { self.random.below(left.len() as u64 + 1) } else { 0 };
        Flow { route: Some(names), reverse: left.into_iter().take(back as usize).collect(), ..flow }
    }

    /// Draws all settings of a flow but its route.
    fn flow(&mut self, way: Flow, links: &[Link]) -> Flow {
        let mut cc = self.algorithm();
        let access_delay =
            if self.uses(Feature::Access) { self.time_us((1, 30_000)) } else { Duration::ZERO };
        // more than its own way may take: every link's delay
        let fixed = access_delay + links.iter().map(|link| link.line.delay).sum::<Duration>();
        let rtt = fixed + self.time_us(RTT_US);
        let rtt_at = if self.uses(Feature::RttSteps) {
            self.steps(|draw| fixed + draw.time_us(RTT_US))
        } else {
            Vec::new()
        };
        let (start, stop) = self.life();
        let arrivals = self.uses(Feature::Workload).then(|| self.arrivals());
        let traffic = if arrivals.is_some() { Traffic::default() } else { self.traffic() };
        if matches!(traffic.writes, Writes::Frames(_)) && self.flip() {
            cc = Cc::Uncontrolled;
        }
        let reorder = self
            .uses(Feature::Reordering)
            .then(|| Reorder { ppb: self.share_ppb(50), delay: self.time_us((1, 100_000)) });
        let flow = Flow { cc, access_delay, rtt, rtt_at, start, stop, arrivals, traffic, reorder, ..way };
        let mut flow = self.hosts(flow);
        if self.uses(Feature::Mtu) {
            flow.sending.mtu_bytes = self.magnitude((576, most_mtu_bytes(links))) as u32;
        }
        if flow.arrivals.is_none() && self.uses(Feature::Drops) {
            flow.drop = self.drops();
        }
        flow
    }

    fn algorithm(&mut self) -> Cc {
        let all: Vec<Algorithm> = Algorithm::all().collect();
        let algorithm = self.one_of(&all);
        let mut cc = Cc::from(algorithm);
        for parameter in algorithm.parameters() {
            if !self.uses(Feature::Parameters) {
                continue;
            }
            // a larger value only makes the sender exceed any path
            let most = match parameter.unit {
                Unit::Pkts => parameter.most.min(MOST_PKTS),
                Unit::Bps => parameter.most.min(u32::try_from(self.rate_bps / 2).unwrap_or(u32::MAX)),
                _ => parameter.most,
            };
            let (least, most) = (u64::from(parameter.least), u64::from(most.max(parameter.least)));
            let usual = u64::from(parameter.default);
            let raw = match self.random.below(4) {
                0 => self.one_of(&[least, most]),
                1 => self.between(least, most),
                _ => self.between(usual / 2, usual.saturating_mul(2)).clamp(least, most),
            };
            let value = parameter.unit.format(raw as u32);
            cc.set(parameter.name, &value).expect("the value is in the range of the parameter");
        }
        cc
    }

    fn life(&mut self) -> (Duration, Option<Duration>) {
        if !self.uses(Feature::StartStop) {
            return (Duration::ZERO, None);
        }
        let end = self.duration.as_nanos() as u64;
        let start = self.random.below(end);
        let stop = self.flip().then(|| Duration::from_nanos(self.between(start + 1, end)));
        (Duration::from_nanos(start), stop)
    }

    fn traffic(&mut self) -> Traffic {
        if self.uses(Feature::Media) {
            return Traffic { size_bytes: None, writes: Writes::Frames(self.frames()) };
        }
        let size = if self.uses(Feature::Size) { Some(self.magnitude((1, 20_000_000))) } else { None };
        if !self.uses(Feature::Traffic) {
            return Traffic { size_bytes: size, writes: Writes::Always };
        }
        match self.random.below(3) {
            0 => {
                let (on, off) = (self.time_us((1_000, 3_000_000)), self.time_us((1_000, 3_000_000)));
                Traffic { size_bytes: None, writes: Writes::OnOff { on, off } }
            }
            1 => {
                let rate_bps = self.magnitude((1_000, 2 * self.rate_bps));
                let every = self.time_us((1_000, 3_000_000));
                Traffic { size_bytes: size, writes: Writes::Paced { rate_bps, every } }
            }
            _ => {
                let bytes = self.magnitude((1, 5_000_000));
                let think = if self.flip() { Duration::ZERO } else { self.time_us((1, 1_000_000)) };
                Traffic { size_bytes: None, writes: Writes::Responses { bytes, think } }
            }
        }
    }

    /// Draws an encoder of up to the rate.
    fn frames(&mut self) -> Media {
        let key_every = if self.flip() { 0 } else { self.magnitude((1, 10_000)) };
        Media {
            rate_bps: self.magnitude((1_000, self.rate_bps.min(100_000_000))),
            per_s_milli: self.magnitude((5_000, 1_000_000)),
            deviation_ppb: if self.flip() { 0 } else { self.share_ppb(100) },
            key_every,
            // without key frames their weight is not written
            key_weight: if key_every == 0 { Media::default().key_weight } else { self.between(1, 20) },
            deadline: self.time_us((1_000, 10_000_000)),
        }
    }

    /// Draws a workload of up to twice the rate, and up to a few thousand flows.
    fn arrivals(&mut self) -> Arrivals {
        let sizes = match self.random.below(4) {
            0 => self.sizes(),
            i => Sizes::BUILT_IN
                .get(i as usize - 1)
                .and_then(|name| Sizes::built_in(name))
                .unwrap_or_else(|| self.sizes()),
        };
        let most = (2 * self.rate_bps * 1_000 / 8 / sizes.mean_bytes().max(1))
            .min(5_000_000 / (self.duration.as_secs() + 1))
            .max(2);
        Arrivals { per_s_milli: self.magnitude((1, most)), sizes }
    }

    fn sizes(&mut self) -> Sizes {
        let (mut bytes, mut share) = (0, 0);
        let points = self.between(1, 8);
        let line = |i: u64| {
            bytes += self.magnitude((1, 300_000));
            share =
                if i == points { WHOLE_PPB } else { share + 1 + self.random.below((WHOLE_PPB - share) / 2) };
            format!("{bytes} {}.{:09}\n", share / WHOLE_PPB, share % WHOLE_PPB)
        };
        let text: String = (1..=points).map(line).collect();
        Sizes::read("drawn.cdf", &text).expect("sizes and shares grow, to the whole")
    }
}
