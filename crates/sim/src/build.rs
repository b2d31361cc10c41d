//! From a scenario's values to elements of `fairpace-path`.

use fairpace_path::{Detour, Fifo, Link, Loss, Nanos, Pattern, Policer, Purpose, Random, Schedule, Source};
use fairpace_scenario::{Flow, Reorder, Scenario, Writes};

use crate::Error;
use crate::flow::nanos;

/// The link of this index with everything that happens on it.
pub(crate) fn link<T>(scenario: &Scenario, index: u32, schedule: Schedule) -> Result<Link<T>, Error> {
    let asked = &scenario.links[index as usize];
    let rates: Vec<_> = asked.rate_at.iter().map(|(at, rate)| (nanos(*at), *rate)).collect();
    let fifo =
        Fifo::new(asked.rate_bps, asked.buffer.bytes(), scenario.flows.len(), schedule).with_rates(&rates);
    let random = Random::stream(scenario.seed, Purpose::LinkLoss, index);
    let burst = asked.loss.burst.map(|b| (b.pkts, b.ppb));
    let loss = Loss::new(asked.loss.ppb, burst, random)
        .map_err(|reason| Error::Loss { link: asked.name.clone(), reason })?;
    let link = Link::new(fifo).with_loss(loss);
    Ok(match asked.policer {
        Some(policer) => link.with_policer(Policer::new(policer.rate_bps, policer.burst_bytes)),
        None => link,
    })
}

/// The detours of all flows that have one, and each flow's.
pub(crate) fn detours<T>(scenario: &Scenario) -> (Vec<Detour<T>>, Vec<Option<usize>>) {
    let (mut detours, mut of_flow) = (Vec::new(), Vec::new());
    for (index, flow) in (0..).zip(&scenario.flows) {
        of_flow.push(flow.reorder.map(|_| detours.len()));
        detours.extend(flow.reorder.map(|Reorder { ppb, delay }| {
            Detour::new(ppb, nanos(delay), Random::stream(scenario.seed, Purpose::Reordering, index))
        }));
    }
    (detours, of_flow)
}

/// The flow's application.
pub(crate) fn source(flow: &Flow, start: Nanos) -> Source {
    let pattern = match flow.traffic.writes {
        Writes::Always => Pattern::Always,
        Writes::OnOff { on, off } => Pattern::OnOff { on: nanos(on), off: nanos(off) },
        Writes::Responses { .. } => Pattern::Always,
        Writes::Paced { rate_bps, every } => Pattern::Paced { rate_bps, every: nanos(every) },
    };
    Source::new(pattern, flow.traffic.size_bytes, start)
}
