//! Keys that are drawn last, so that what each seed draws of the others stays.

use std::time::Duration;

use fairpace_scenario::{
    Cc, Distribution, Flow, JitterShape, Link, Outages, TimeTable, Traffic, WHOLE_PPB, Writes, ns,
};

use super::Draw;

impl Draw {
    /// Draws loss that changes, outages that lose, loss of bursts, writes and barriers, in one scenario of
    /// two.
    pub(super) fn later(&mut self, links: &mut [Link], flows: &mut [Flow]) {
        if self.flip() {
            return;
        }
        for link in links {
            if self.random.below(3) == 0 {
                self.later_of_link(link);
            }
        }
        for flow in flows {
            if self.random.below(3) == 0 {
                self.later_of_flow(flow);
            }
        }
    }

    fn later_of_link(&mut self, link: &mut Link) {
        let steps = link.rate_at.iter().any(|(_, rate_bps)| *rate_bps == 0);
        let handovers = link.handover.is_some_and(|handover| !handover.outage.is_zero());
        if (steps || handovers) && link.trace.is_none() && link.burst_bytes.is_none() {
            link.outages = Outages::Lose;
        }
        if !link.line.jitter.is_zero() {
            link.line.jitter_shape = self.jitter_shape();
        }
        if link.loss.burst.is_none() {
            let shares = self.steps(|draw| draw.random.below(WHOLE_PPB / 5));
            link.loss_at = TimeTable::inline(in_ns(&shares));
            if link.loss.ppb == 0 && self.flip() {
                link.loss_at.file = "drawn.loss".to_owned();
            }
        }
    }

    fn jitter_shape(&mut self) -> JitterShape {
        let distribution = self.one_of(&[Distribution::Uniform, Distribution::Normal]);
        let correlation_ppb = if self.flip() { 0 } else { self.random.below(WHOLE_PPB * 99 / 100) };
        JitterShape { distribution, correlation_ppb }
    }

    fn later_of_flow(&mut self, flow: &mut Flow) {
        if !flow.ack_jitter.is_zero() {
            flow.ack_jitter_shape = self.jitter_shape();
        }
        if self.flip() {
            flow.tso_loss_ppb = self.share_ppb(20);
        }
        if let Writes::Responses { .. } = flow.traffic.writes {
            flow.barrier = Some(self.one_of(&["a", "b"]).to_owned());
        }
        let is_plain = flow.traffic == Traffic::default() && flow.arrivals.is_none();
        if is_plain && flow.cc != Cc::Uncontrolled {
            let writes = self.steps(|draw| draw.magnitude((1, 1_000_000)));
            let mut table = TimeTable::inline(in_ns(&writes));
            if self.flip() {
                table.file = "drawn.writes".to_owned();
            }
            flow.traffic.writes = Writes::Scheduled(table);
        }
    }
}

fn in_ns(steps: &[(Duration, u64)]) -> Vec<(u64, u64)> {
    steps.iter().map(|(at, value)| (ns(*at), *value)).collect()
}
