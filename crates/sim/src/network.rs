//! From a scenario to links, lines and entries: who is prompt, and where packets are held between links and hosts.

use fairpace_netem::build::{self, nanos};
use fairpace_netem::{Delay, Duplicate, Line, Link, Nanos, Purpose, Random, Scatter, Schedule};
use fairpace_scenario::{self as scenario, Scenario};

use crate::Error;
use crate::engine::{Holder, Place, Then};
use crate::entry::{Entry, Way};
use crate::parcel::Parcel;

/// The parts of an engine.
pub(crate) struct Plan {
    pub(crate) links: Vec<Link<Parcel>>,
    pub(crate) lines: Vec<Line>,
    /// A link is prompt if its queue knows all departures on arrival and everybody on it is on the way to a receiver: then a
    /// packet's arrival is computed when it comes to the link, and neither its departure nor its arrival is an event.
    pub(crate) prompt: Vec<bool>,
    pub(crate) holders: Vec<Holder>,
    pub(crate) line_holders: Vec<Option<usize>>,
    pub(crate) duplicates: Vec<Duplicate>,
    pub(crate) entries: Vec<Entry>,
}

/// Everything that a run needs.
pub(crate) fn plan(scenario: &Scenario, schedule: Schedule, patient: bool) -> Result<Plan, Error> {
    let routes = scenario.routes();
    let stream = |purpose, i: usize| Random::stream(scenario.seed, purpose, i as u32);
    let links = (0..).zip(&scenario.links).map(|(i, asked)| {
        build::link(scenario, i, schedule).map_err(|reason| Error::Loss { link: asked.name.clone(), reason })
    });
    let links: Vec<Link<Parcel>> = links.collect::<Result<_, _>>()?;
    let entries = (0..).zip(&routes).map(|(i, route)| Entry::new(scenario, i, route, schedule));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    let mut plan = Plan {
        prompt: (0..links.len()).map(|i| !patient && is_prompt(scenario, &routes, &links, i)).collect(),
        lines: (0..).zip(&scenario.links).map(|(i, link)| line(scenario.seed, i, &link.line)).collect(),
        line_holders: vec![None; links.len()],
        duplicates: (0..links.len())
            .map(|i| Duplicate::new(scenario.links[i].line.duplicate_ppb, stream(Purpose::Duplication, i)))
            .collect(),
        links,
        holders: Vec::new(),
        entries: Vec::new(),
    };
    for (i, asked) in scenario.links.iter().enumerate() {
        if !plan.prompt[i] && asked.line != scenario::Line::default() {
            let (delay, jitter) = (nanos(asked.line.delay), nanos(asked.line.jitter));
            let place = match asked.line.reorders {
                true => Place::Scatter(Scatter::new(delay, jitter, stream(Purpose::LineJitter, i))),
                false => Place::Line(Delay::new(plan.lines[i].clone())),
            };
            plan.line_holders[i] = Some(plan.hold(Holder { place, then: Then::Advance }));
        }
    }
    let (detours, of_flow) = build::detours(scenario);
    let mut detours = detours.into_iter();
    for ((entry, route), detour) in entries.iter_mut().zip(&routes).zip(of_flow) {
        if route.access_ns > 0 {
            let place = Place::Line(Delay::new(Line::new(route.access_ns)));
            entry.access = Some(plan.hold(Holder { place, then: Then::Enter }));
        }
        if let Some(detour) = detour.and_then(|_| detours.next()) {
            entry.detour = Some(plan.hold(Holder { place: Place::Detour(detour), then: Then::Deliver }));
        }
        if entry.access.is_none() && route.forward.len() == 1 && plan.prompt[route.forward[0] as usize] {
            entry.way = Way::AtOnce;
        }
    }
    plan.entries = entries;
    Ok(plan)
}

impl Plan {
    /// Has all entries run in [`Windows`](crate::windows::Windows) if their flows meet in FIFOs only and nothing else is an event. Then
    /// returns the lookahead: how long it takes at least until flows feel what a FIFO does to a packet.
    pub(crate) fn run_in_windows(&mut self, scenario: &Scenario) -> Option<Nanos> {
        let is_plain =
            |entry: &Entry| entry.way == Way::AtOnce && entry.back.is_empty() && entry.workload.is_none();
        if !self.entries.iter().all(is_plain) {
            return None;
        }
        let ways = self.entries.iter().zip(scenario.routes()).map(|(entry, route)| {
            let line = &scenario.links[entry.forward[0] as usize].line;
            let later = route.behind_at_ns.iter().map(|(_, behind)| *behind);
            nanos(line.delay) + later.fold(route.behind_ns, Nanos::min)
        });
        let lookahead = ways.min().filter(|ns| *ns > 0)?;
        self.entries.iter_mut().for_each(|entry| entry.way = Way::InWindow);
        Some(lookahead)
    }

    fn hold(&mut self, holder: Holder) -> usize {
        self.holders.push(holder);
        self.holders.len() - 1
    }
}

fn is_prompt(scenario: &Scenario, routes: &[scenario::Route], links: &[Link<Parcel>], i: usize) -> bool {
    let here = i as u32;
    let line = &scenario.links[i].line;
    let ends_here = routes.iter().zip(&scenario.flows).all(|(route, flow)| {
        let passes = route.forward.contains(&here) || route.back.contains(&here);
        let is_last = route.forward.last() == Some(&here) && !route.back.contains(&here);
        // connections of a workload share a meter, which wants its times in order: what GRO holds would be told too early
        let is_held = flow.arrivals.is_some() && !flow.receiving.gro.is_zero();
        !passes || (is_last && flow.reorder.is_none() && !is_held)
    });
    links[i].is_prompt() && !line.reorders && line.duplicate_ppb == 0 && ends_here
}

/// The line behind a link.
fn line(seed: u64, index: u32, asked: &scenario::Line) -> Line {
    let random = Random::stream(seed, Purpose::LineJitter, index);
    Line::new(nanos(asked.delay)).with_jitter(nanos(asked.jitter), 0, random)
}
