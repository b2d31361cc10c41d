//! A connection's own part of the path: behind the last link to its receiver, and back to its sender.

use fairpace_netem::build::nanos;
use fairpace_netem::{Line, Loss, Nanos, Purpose, Random};
use fairpace_scenario::{self as scenario, Scenario};

#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// From the last link's line to the receiver.
    behind: Line,
    /// From the last link on the way back, or the receiver, to the sending host, and what happens to ACKs.
    back: Line,
    /// From the arrival of an ACK to when the host gets round to it.
    host: Line,
    ack_loss: Loss,
}

impl Route {
    /// The route of a connection of the flow of this index; `stream` tells the connections of a workload apart.
    pub(crate) fn new(scenario: &Scenario, index: u32, route: &scenario::Route, stream: u64) -> Self {
        let flow = &scenario.flows[index as usize];
        let random = |purpose| Random::stream(scenario.seed ^ stream, purpose, index);
        Route {
            behind: Line::new(route.behind_ns).with_delays(route.behind_at_ns.clone()),
            back: Line::new(route.back_ns).with_delays(route.back_at_ns.clone()).with_jitter(
                nanos(flow.ack_jitter),
                nanos(flow.ack_aggregation),
                random(Purpose::AckJitter),
            ),
            host: Line::new(0).with_jitter(nanos(flow.host_jitter), 0, random(Purpose::HostJitter)),
            ack_loss: Loss::independent(flow.ack_loss_ppb, random(Purpose::AckLoss)),
        }
    }

    /// When what leaves the last link's line now reaches the receiver.
    #[inline]
    pub(crate) fn forward(&mut self, now: Nanos) -> Nanos {
        self.behind.exit(now)
    }

    /// An ACK leaves the receiver, or the last link on its way back; when the sender gets round to it, if it ever does.
    #[inline]
    pub(crate) fn return_ack(&mut self, now: Nanos) -> Option<Nanos> {
        let arrives = self.back.exit(now);
        if self.ack_loss.takes() { None } else { Some(self.host.exit(arrives)) }
    }

    /// Propagation on the way back beside the links, for what leaves the receiver then: at a time that may lie ahead.
    #[inline]
    pub(crate) fn back_ns(&self, now: Nanos) -> Nanos {
        self.back.delay_at(now)
    }

    /// The randomness of another connection.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.back.reseed(seed ^ Purpose::AckJitter as u64);
        self.host.reseed(seed ^ Purpose::HostJitter as u64);
        self.ack_loss.reseed(seed ^ Purpose::AckLoss as u64);
    }
}
