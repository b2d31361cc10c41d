//! From a scenario's values to elements of `fairpace-path`.

use fairpace_path::{Fifo, Link, Loss, Nanos, Pattern, Purpose, Random, Schedule, Source};
use fairpace_scenario::{Flow, Scenario, Writes};

use crate::Error;
use crate::flow::nanos;

/// The link of this index, and what its line does to packets.
pub(crate) fn link<T>(scenario: &Scenario, index: u32, schedule: Schedule) -> Result<Link<T>, Error> {
    let asked = &scenario.links[index as usize];
    let fifo = Fifo::new(asked.rate_bps, asked.buffer_bytes, scenario.flows.len(), schedule);
    let random = Random::stream(scenario.seed, Purpose::LinkLoss, index);
    let burst = asked.loss.burst.map(|b| (b.pkts, b.ppb));
    let loss = Loss::new(asked.loss.ppb, burst, random)
        .map_err(|reason| Error::Loss { link: asked.name.clone(), reason })?;
    Ok(Link::new(fifo).with_loss(loss))
}

/// What becomes of a flow's ACKs.
pub(crate) fn ack_loss(scenario: &Scenario, index: u32) -> Loss {
    let random = Random::stream(scenario.seed, Purpose::AckLoss, index);
    Loss::independent(scenario.flows[index as usize].ack_loss_ppb, random)
}

/// The flow's application.
pub(crate) fn source(flow: &Flow, start: Nanos) -> Source {
    let pattern = match flow.traffic.writes {
        Writes::Always => Pattern::Always,
        Writes::OnOff { on, off } => Pattern::OnOff { on: nanos(on), off: nanos(off) },
        Writes::Paced { rate_bps, every } => Pattern::Paced { rate_bps, every: nanos(every) },
    };
    Source::new(pattern, flow.traffic.size_bytes, start)
}
