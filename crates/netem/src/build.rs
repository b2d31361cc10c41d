//! From a scenario's values to elements: the same for every driver, packet by packet for the same seed.

use std::time::Duration;

use fairpace_scenario::{self as scenario, Queue, Reorder, Scenario};

use crate::aqm::{Aqm, Codel, Discipline, FqCodel, Pie, Red, RedRules};
use crate::{
    Burst, Detour, Fifo, Limit, Link, Loss, Nanos, NoSuchLoss, Policer, Purpose, Queued, Random, Schedule,
    Transmitter,
};

/// A scenario's time; what does not fit is never.
pub fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The schedule of a scenario's meters.
pub fn schedule(scenario: &Scenario) -> Schedule {
    let window = (nanos(scenario.window.0), nanos(scenario.window.1));
    Schedule { window, interval: nanos(scenario.interval).max(1), end: nanos(scenario.duration) }
}

/// The link of this index with everything that happens on it.
///
/// # Errors
/// When it asks for a random loss that cannot be.
pub fn link<T: Copy>(scenario: &Scenario, index: u32, schedule: Schedule) -> Result<Link<T>, NoSuchLoss> {
    let asked = &scenario.links[index as usize];
    let (transmitter, flows) = (transmitter(asked), scenario.flows.len());
    let random = Random::stream(scenario.seed, Purpose::Discipline, index);
    let fifo = |transmitter| Fifo::new(transmitter, limit(asked.buffer), flows, schedule);
    let link = match (aqm(asked), asked.queue) {
        (Some(Aqm::Red(red)), _) if transmitter.is_wire() => {
            Link::new(fifo(transmitter).with_red(red, random))
        }
        (Some(aqm), _) => {
            let discipline = Discipline::new(aqm, limit(asked.buffer), random);
            Link::managed(Queued::new(discipline, transmitter, flows, schedule))
        }
        (None, Queue::Step(above)) => Link::new(fifo(transmitter).with_marking_above(limit(above))),
        (None, _) => Link::new(fifo(transmitter)),
    };
    let random = Random::stream(scenario.seed, Purpose::LinkLoss, index);
    let burst = asked.loss.burst;
    let burst = burst.map(|b| Burst { pkts: b.pkts, inside_ppb: b.ppb, outside_ppb: b.outside_ppb });
    let link = link.with_loss(Loss::new(asked.loss.ppb, burst, random)?);
    Ok(match asked.policer {
        Some(policer) => link.with_policer(Policer::new(policer.rate_bps, policer.burst_bytes)),
        None => link,
    })
}

/// How this link's queue is managed; `None`: it is a FIFO, marking or not.
fn aqm(asked: &scenario::Link) -> Option<Aqm> {
    Some(match asked.queue {
        Queue::Fifo | Queue::Step(_) => return None,
        Queue::Red(red) => Aqm::Red(Red {
            rules: match red.rules {
                scenario::RedRules::Linux => RedRules::Linux,
                scenario::RedRules::Floyd => RedRules::Floyd { gentle: red.gentle },
            },
            min_bytes: red.min_bytes,
            max_bytes: red.max_bytes,
            max_ppb: red.max_ppb,
            burst_pkts: red.burst_pkts,
            rate_bps: asked.rate_bps,
            ecn: red.ecn,
        }),
        Queue::Codel(settings) => Aqm::Codel(codel(settings)),
        Queue::FqCodel(scenario::FqCodel { codel: settings, buckets, quantum_bytes }) => {
            Aqm::FqCodel(FqCodel { codel: codel(settings), buckets, quantum_bytes })
        }
        Queue::Pie(scenario::Pie { target, update, ecn }) => {
            Aqm::Pie(Pie { target_ns: nanos(target), update_ns: nanos(update), ecn })
        }
    })
}

fn codel(settings: scenario::Codel) -> Codel {
    let scenario::Codel { target, interval, ecn, ce_threshold } = settings;
    let (target_ns, interval_ns) = (nanos(target), nanos(interval));
    Codel { target_ns, interval_ns, ecn, ce_threshold_ns: ce_threshold.map(nanos) }
}

fn transmitter(asked: &scenario::Link) -> Transmitter {
    match (&asked.trace, asked.burst_bytes) {
        (Some(trace), _) => Transmitter::trace(trace.opportunities_ms.clone()),
        (None, Some(burst_bytes)) => Transmitter::bucket(asked.rate_bps, burst_bytes),
        (None, None) => {
            let steps: Vec<_> = asked.rate_at.iter().map(|(at, rate)| (nanos(*at), *rate)).collect();
            Transmitter::wire_with_rates(asked.rate_bps, &steps)
        }
    }
}

fn limit(asked: scenario::Limit) -> Limit {
    match asked {
        scenario::Limit::Bytes(bytes) => Limit::Bytes(bytes),
        scenario::Limit::Packets(pkts) => Limit::Packets(pkts),
    }
}

/// The detours of all flows that have one, and each flow's by index.
pub fn detours<T>(scenario: &Scenario) -> (Vec<Detour<T>>, Vec<Option<usize>>) {
    let (mut detours, mut of_flow) = (Vec::new(), Vec::new());
    for (index, flow) in (0..).zip(&scenario.flows) {
        of_flow.push(flow.reorder.map(|_| detours.len()));
        detours.extend(flow.reorder.map(|Reorder { ppb, delay }| {
            Detour::new(ppb, nanos(delay), Random::stream(scenario.seed, Purpose::Reordering, index))
        }));
    }
    (detours, of_flow)
}
