//! Routes: the links that each flow takes, and the division of its RTT over its path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::Duration;

use crate::fault::{Fault, impossible};
use crate::key::{MOST_HOPS, Section};
use crate::quantity::{ETHERNET_BYTES, Limit, PACKET_BYTES, ns, show_time};
use crate::{Flow, Invalid, Link, Scenario};

/// A flow's path. The flow's RTT is `access_ns`, the delays of the lines behind the links of both routes,
/// `behind_ns` and `back_ns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The links that the flow's data takes, as places in [`Scenario::links`], in order; at least one link.
    pub forward: Vec<u32>,
    /// The links that the flow's ACKs take, in order; may be empty.
    pub back: Vec<u32>,
    /// Propagation from the sender to the first link, ns.
    pub access_ns: u64,
    /// Propagation from the last link's line to the receiver, ns.
    pub behind_ns: u64,
    /// Propagation from the receiver to the sender beside the lines of `back`, ns. If the RTT is divided by
    /// two, the odd nanosecond is in this part.
    pub back_ns: u64,
    /// Later values of `behind_ns`: each a time and the value that holds from then on, ns.
    pub behind_at_ns: Vec<(u64, u64)>,
    /// Later values of `back_ns`, at the times of `behind_at_ns`.
    pub back_at_ns: Vec<(u64, u64)>,
}

/// The pair of the route and the reverse route of a flow.
type Both = (Vec<u32>, Vec<u32>);

impl Scenario {
    /// Every flow's path, in the order of the flows. In an unchecked scenario, a flow with an invalid route
    /// has an empty route, and a delay that would be negative is 0.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        Resolver::new(self)
            .all()
            .zip(&self.flows)
            .map(|(routes, flow)| self.divided(flow, routes.unwrap_or_default()))
            .collect()
    }

    fn divided(&self, flow: &Flow, (forward, back): Both) -> Route {
        let fixed = self.fixed_ns(flow, &forward, &back);
        let behind = |rtt: Duration| ns(rtt).saturating_sub(fixed) / 2;
        let back_of = |rtt: Duration| ns(rtt).saturating_sub(fixed) - behind(rtt);
        Route {
            access_ns: ns(flow.access_delay),
            behind_ns: behind(flow.rtt),
            back_ns: back_of(flow.rtt),
            behind_at_ns: flow.rtt_at.iter().map(|(at, rtt)| (ns(*at), behind(*rtt))).collect(),
            back_at_ns: flow.rtt_at.iter().map(|(at, rtt)| (ns(*at), back_of(*rtt))).collect(),
            forward,
            back,
        }
    }

    /// Returns the part of a flow's RTT that does not change with the RTT: access delay and lines.
    fn fixed_ns(&self, flow: &Flow, forward: &[u32], back: &[u32]) -> u64 {
        self.lines_ns(forward).saturating_add(self.lines_ns(back)).saturating_add(ns(flow.access_delay))
    }

    fn lines_ns(&self, route: &[u32]) -> u64 {
        let delays = route.iter().map(|link| ns(self.links[*link as usize].line.delay));
        delays.fold(0, u64::saturating_add)
    }
}

/// Returns the faults of the routes of a scenario.
pub(crate) fn faults(scenario: &Scenario) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, (routes, flow)) in Resolver::new(scenario).all().zip(&scenario.flows).enumerate() {
        match routes {
            Err(wrong) => faults.push(Fault { index, ..wrong }),
            Ok((forward, back)) => {
                faults.extend(too_short(scenario, index, flow, &forward, &back));
                faults.extend(too_small(scenario, index, flow, &forward));
            }
        }
        // each needs a search over all links; reading would not show more
        if faults.len() >= Invalid::MOST {
            break;
        }
    }
    faults
}

/// Returns the fault of a link on the route that lets no full packet of the flow pass. The ranges of the
/// links' keys exclude this for packets of the default MTU.
fn too_small(scenario: &Scenario, index: usize, flow: &Flow, forward: &[u32]) -> Option<Fault> {
    let mtu_bytes = flow.sending.mtu_bytes;
    let packet_bytes = u64::from(mtu_bytes) + ETHERNET_BYTES;
    if packet_bytes <= PACKET_BYTES {
        return None;
    }
    let too_small_key = |link: &Link| {
        let buffer = match link.buffer {
            Limit::Bytes(bytes) => Some(("buffer", bytes)),
            Limit::Packets(_) => None,
        };
        let policer = link.policer.as_ref().map(|policer| ("policer_burst", policer.burst_bytes));
        let burst = link.burst_bytes.map(|bytes| ("burst", bytes));
        [buffer, burst, policer].into_iter().flatten().find(|(_, bytes)| *bytes < packet_bytes)
    };
    let links = forward.iter().map(|link| &scenario.links[*link as usize]);
    let (link, (key, bytes)) = links.filter_map(|link| Some((link, too_small_key(link)?))).next()?;
    let message = format!(
        "a full packet has {packet_bytes} bytes on the wire, but the `{key}` of link `{}` is {bytes}: none \
         would pass",
        link.name
    );
    let help = format!("write a smaller `mtu`, or a `{key}` of {packet_bytes} bytes at least");
    Some(impossible(Section::Flow, index, "mtu", message, help))
}

/// Returns the fault of lines and access that take longer than the flow's RTT, at any time.
fn too_short(scenario: &Scenario, index: usize, flow: &Flow, forward: &[u32], back: &[u32]) -> Option<Fault> {
    let fixed = scenario.fixed_ns(flow, forward, back);
    let mut rtts =
        std::iter::once(("rtt", flow.rtt)).chain(flow.rtt_at.iter().map(|(_, rtt)| ("rtt_at", *rtt)));
    let (key, rtt) = rtts.find(|(_, rtt)| ns(*rtt) < fixed)?;
    let time = |ns| show_time(Duration::from_nanos(ns));
    let (name, rtt, fixed, access) = (&flow.name, show_time(rtt), time(fixed), show_time(flow.access_delay));
    let [links, acks] = [forward, back].map(|route| time(scenario.lines_ns(route)));
    let message = format!(
        "flow `{name}` has an RTT of {rtt}, but its path alone takes {fixed}: {access} to the first link, \
         {links} on its links, {acks} on those of its ACKs"
    );
    let help = format!("write at least \"{fixed}\", or shorter delays");
    Some(impossible(Section::Flow, index, key, message, help))
}

/// Returns a fault of the route of a flow whose index is not known yet.
fn wrong(key: &'static str, item: Option<usize>, message: String, help: impl Into<String>) -> Fault {
    Fault { item, ..impossible(Section::Flow, 0, key, message, help) }
}

struct Resolver<'s> {
    scenario: &'s Scenario,
    by_name: HashMap<&'s str, u32>,
    /// All links that no ACKs are sent over, in the order of the file.
    usual: Vec<u32>,
}

impl<'s> Resolver<'s> {
    fn new(scenario: &'s Scenario) -> Self {
        let reverse: HashSet<&str> =
            scenario.flows.iter().flat_map(|flow| &flow.reverse).map(String::as_str).collect();
        let links = || (0u32..).zip(&scenario.links);
        Resolver {
            scenario,
            by_name: links().map(|(index, link)| (link.name.as_str(), index)).collect(),
            usual: links().filter(|(_, l)| !reverse.contains(l.name.as_str())).map(|(i, _)| i).collect(),
        }
    }

    /// The routes of every flow.
    fn all(self) -> impl Iterator<Item = Result<Both, Fault>> {
        // a group's flows have one route: find it once
        let mut last: Option<(&Flow, Result<Both, Fault>)> = None;
        self.scenario.flows.iter().map(move |flow| {
            let alike = |like: &Flow| {
                (&like.route, &like.reverse, &like.ends) == (&flow.route, &flow.reverse, &flow.ends)
            };
            match &last {
                Some((like, routes)) if alike(like) => routes.clone(),
                _ => {
                    let routes = self.routes(flow);
                    last = Some((flow, routes.clone()));
                    routes
                }
            }
        })
    }

    fn routes(&self, flow: &Flow) -> Result<Both, Fault> {
        let forward = match (&flow.route, &flow.ends) {
            (Some(_), Some(_)) => {
                let message = "a flow has a `route` or goes `from` a node `to` another, not both".to_owned();
                return Err(wrong("route", None, message, "leave out the one or the other"));
            }
            (Some(names), None) => self.named("route", names)?,
            (None, Some((from, to))) => self.shortest(from, to)?,
            (None, None) => self.usual(&flow.reverse)?,
        };
        let back = self.named("reverse", &flow.reverse)?;
        if let Some(item) = back.iter().position(|link| forward.contains(link)) {
            let name = &flow.reverse[item];
            let message = format!("`{name}` is on the route and on the reverse route: a link leads one way");
            return Err(wrong("reverse", Some(item), message, "write another `[[link]]` for the ACKs"));
        }
        self.closed(&forward, &back)?;
        Ok((forward, back))
    }

    /// Returns the links of these names.
    fn named(&self, key: &'static str, names: &[String]) -> Result<Vec<u32>, Fault> {
        let mut route = Vec::with_capacity(names.len());
        for (item, name) in names.iter().enumerate() {
            let Some(link) = self.by_name.get(name.as_str()) else {
                let known: Vec<_> = self.scenario.links.iter().map(|link| link.name.as_str()).collect();
                let meant = fairpace_cc::nearest(name, known.iter().copied());
                let meant = meant.map(|guess| format!("did you mean `{guess}`? ")).unwrap_or_default();
                let known: Vec<_> = known.iter().take(20).map(|name| format!("`{name}`")).collect();
                let help = format!("{meant}This scenario has {}", known.join(", "));
                return Err(wrong(key, Some(item), format!("there is no link `{name}`"), help));
            };
            if route.contains(link) {
                let message = format!("`{name}` is twice on one `{key}`");
                return Err(wrong(key, Some(item), message, "leave it out, or write another link"));
            }
            route.push(*link);
        }
        if key == "route" && route.is_empty() {
            let message = "`route` names no link".to_owned();
            return Err(wrong(key, None, message, "name at least one, or leave `route` out for all links"));
        }
        self.connected(key, &route, true)?;
        Ok(route)
    }

    /// Returns every link that no ACKs take.
    fn usual(&self, reverse: &[String]) -> Result<Vec<u32>, Fault> {
        if self.usual.is_empty() {
            let message = "every link is on the `reverse` of a flow: none is left for data".to_owned();
            let key = if reverse.is_empty() { "route" } else { "reverse" };
            return Err(wrong(key, None, message, "write the flow's `route`, or one more `[[link]]`"));
        }
        self.connected("route", &self.usual, false)?;
        Ok(self.usual.clone())
    }

    fn link(&self, index: u32) -> &'s Link {
        &self.scenario.links[index as usize]
    }

    /// Checks that each link begins where the link before ends. Links without nodes fit anywhere.
    fn connected(&self, key: &'static str, route: &[u32], written: bool) -> Result<(), Fault> {
        if route.len() as u64 > MOST_HOPS {
            let most = format!("it may take at most {MOST_HOPS}, as an IP packet may");
            let message = format!("a flow would take {} links; {most}", route.len());
            return Err(wrong(key, None, message, "write a shorter `route`"));
        }
        for (item, pair) in route.windows(2).enumerate() {
            let (before, after) = (self.link(pair[0]), self.link(pair[1]));
            if let (Some((_, at)), Some((from, _))) = (&before.ends, &after.ends)
                && at != from
            {
                let help = if written {
                    "write links that follow each other"
                } else {
                    "without `route`, or `from` and `to`, a flow takes all links in the order of the file: \
                     write one of them"
                };
                let (before, after) = (&before.name, &after.name);
                let message = format!("`{before}` ends at `{at}`, but `{after}` begins at `{from}`");
                return Err(wrong(key, written.then_some(item + 1), message, help));
            }
        }
        Ok(())
    }

    /// Checks that the ACKs leave where the data arrives, and arrive where the data leaves.
    fn closed(&self, forward: &[u32], back: &[u32]) -> Result<(), Fault> {
        let node = |link: Option<&u32>, part: fn(&(String, String)) -> &String| {
            link.and_then(|link| self.link(*link).ends.as_ref()).map(part)
        };
        let meets = [
            ("begin", node(back.first(), |e| &e.0), "arrives", node(forward.last(), |e| &e.1)),
            ("end", node(back.last(), |e| &e.1), "leaves", node(forward.first(), |e| &e.0)),
        ];
        for (acks, at, data, wanted) in meets {
            if let (Some(at), Some(wanted)) = (at, wanted)
                && at != wanted
            {
                let message =
                    format!("the links of the ACKs {acks} at `{at}`, but the data {data} at `{wanted}`");
                let help = format!("write a `reverse` that {acks}s at `{wanted}`");
                return Err(wrong("reverse", None, message, help));
            }
        }
        Ok(())
    }

    /// Returns the route from node to node with the least delay; among equals with the fewest links; then
    /// with the links that come first in the file.
    fn shortest(&self, from: &'s str, to: &'s str) -> Result<Vec<u32>, Fault> {
        let mut leaving: HashMap<&str, Vec<(u32, &str)>> = HashMap::new();
        let mut nodes = HashSet::new();
        for (index, link) in (0u32..).zip(&self.scenario.links) {
            if let Some((a, b)) = &link.ends {
                leaving.entry(a).or_default().push((index, b));
                nodes.extend([a.as_str(), b.as_str()]);
            }
        }
        for (key, node) in [("from", from), ("to", to)] {
            if !nodes.contains(node) {
                const EXAMPLE: &str =
                    "name nodes that links have, as in `from = \"a\"` and `to = \"b\"` under `[[link]]`";
                let meant = fairpace_cc::nearest(node, nodes.iter().copied());
                let help = meant.map_or(EXAMPLE.to_owned(), |guess| format!("did you mean `{guess}`?"));
                return Err(wrong(key, None, format!("no link leads from or to a node `{node}`"), help));
            }
        }
        if from == to {
            let message = format!("data would go from `{from}` to itself");
            return Err(wrong("to", None, message, "write another node"));
        }
        let mut done = HashSet::new();
        // the order of these tuples is the order that the rule above requires
        let mut open = BinaryHeap::from([Reverse((0u64, 0u64, Vec::<u32>::new(), from))]);
        while let Some(Reverse((delay, hops, route, node))) = open.pop() {
            if node == to {
                self.connected("to", &route, false)?;
                return Ok(route);
            }
            if !done.insert(node) {
                continue;
            }
            for (index, next) in
                leaving.get(node).into_iter().flatten().filter(|(_, next)| !done.contains(next))
            {
                let delay = delay.saturating_add(ns(self.link(*index).line.delay));
                open.push(Reverse((delay, hops + 1, [&route[..], &[*index]].concat(), next)));
            }
        }
        let message = format!("no links lead from `{from}` to `{to}`");
        Err(wrong("to", None, message, "write the `[[link]]` that is missing; a link leads one way"))
    }
}
