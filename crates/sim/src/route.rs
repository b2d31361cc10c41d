//! A flow's own part of the path: from the last link to its receiver, and back to its sender.

use fairpace_path::build::nanos;
use fairpace_path::{Line, Loss, Nanos, Purpose, Random};
use fairpace_scenario::Scenario;

pub(crate) struct Route {
    /// From the last link to the receiver: half of the RTT.
    forward: Line,
    /// From the receiver to the sending host: the other half, and what happens to ACKs.
    back: Line,
    /// From the arrival of an ACK to when the host gets round to it.
    host: Line,
    ack_loss: Loss,
}

impl Route {
    pub(crate) fn new(scenario: &Scenario, index: u32) -> Self {
        let flow = &scenario.flows[index as usize];
        let rtt_ns = nanos(flow.rtt);
        // half of each RTT; the odd nanosecond belongs to the way back
        let line = |part: fn(Nanos) -> Nanos| {
            let steps = flow.rtt_at.iter().map(|(at, rtt)| (nanos(*at), part(nanos(*rtt))));
            Line::new(part(rtt_ns)).with_delays(steps.collect())
        };
        let random = |purpose| Random::stream(scenario.seed, purpose, index);
        Route {
            forward: line(|rtt| rtt / 2),
            back: line(|rtt| rtt - rtt / 2).with_jitter(
                nanos(flow.ack_jitter),
                nanos(flow.ack_aggregation),
                random(Purpose::AckJitter),
            ),
            host: Line::new(0).with_jitter(nanos(flow.host_jitter), 0, random(Purpose::HostJitter)),
            ack_loss: Loss::independent(flow.ack_loss_ppb, random(Purpose::AckLoss)),
        }
    }

    /// When what leaves the last link now reaches the receiver.
    #[inline]
    pub(crate) fn forward(&mut self, now: Nanos) -> Nanos {
        self.forward.exit(now)
    }

    /// An ACK leaves the receiver; when the sender gets round to it, if it ever does.
    #[inline]
    pub(crate) fn return_ack(&mut self, now: Nanos) -> Option<Nanos> {
        let arrives = self.back.exit(now);
        if self.ack_loss.takes() { None } else { Some(self.host.exit(arrives)) }
    }

    /// Propagation from the receiver to the sender.
    #[inline]
    pub(crate) fn back_ns(&mut self, now: Nanos) -> Nanos {
        self.back.delay_at(now)
    }
}
