//! Drains: for the time of a drain a flow keeps only a part of its rate times its base RTT in flight.

use super::{Level, root};

/// How much the queueing delay falls in a drain of one flow with the share `share` of the rate, while the
/// others keep their windows, seconds. `kept` is what the drain leaves of the rate times the base RTT.
///
/// The flow takes `r (T + q) - kept r T` packets out of the network. They are `share ((1 - kept) T + q)`
/// seconds of the link, but the queue has only q.
#[must_use]
pub fn depth_s(share: f64, kept: f64, rtt_s: f64, queue_s: f64) -> f64 {
    (share * ((1.0 - kept) * rtt_s + queue_s)).min(queue_s)
}

/// The part of all flows whose drains together empty the queue.
#[must_use]
pub fn part_that_empties(kept: f64, rtt_s: f64, queue_s: f64) -> f64 {
    (queue_s / ((1.0 - kept) * rtt_s + queue_s)).min(1.0)
}

/// The rate that a flow can keep whose drains no other joins: it sees no more of the queue than its own drain
/// shows, so it is content where `f(r) = ((1 - kept) T + q) r / C`. At the equal share or below there is no
/// such advantage; the function then returns the equal share.
#[must_use]
pub fn kept_rate(level: &Level, capacity: f64, flows: f64, rtt_s: f64, kept: f64) -> f64 {
    let equal = capacity / flows;
    let queue_s = level.delay_s(equal);
    let missing = |rate: f64| level.delay_s(rate) - rate / capacity * ((1.0 - kept) * rtt_s + queue_s);
    if missing(equal) <= 0.0 {
        return equal;
    }
    root(equal, capacity.max(equal), missing)
}

/// A flow in [`Anchors`].
#[derive(Debug, Clone, Copy)]
struct Drainer {
    share: f64,
    next_s: f64,
    /// The lowest queue since its last drain, and when.
    lowest_s: f64,
    lowest_at_s: f64,
}

/// Flows that drain when `interval_s` has passed since the lowest queue that they saw. All see the same
/// queue, so the first deep drain is everyone's lowest, and everyone's next drain is at the same time.
#[derive(Debug, Clone)]
pub struct Anchors {
    flows: Vec<Drainer>,
    interval_s: f64,
    /// Depth of a drain of all flows, as a part of q: beyond 1 the queue is empty.
    depth: f64,
    /// Drains closer than this lower the queue together.
    together_s: f64,
}

impl Anchors {
    /// Flows of equal shares with the first drains at `starts_s`. `rtt_s` and `queue_s` give the depths.
    #[must_use]
    pub fn new(
        starts_s: &[f64],
        interval_s: f64,
        kept: f64,
        rtt_s: f64,
        queue_s: f64,
        length_s: f64,
    ) -> Self {
        let share = 1.0 / starts_s.len() as f64;
        let flow = |start: &f64| Drainer { share, next_s: *start, lowest_s: f64::INFINITY, lowest_at_s: 0.0 };
        let depth = ((1.0 - kept) * rtt_s + queue_s) / queue_s;
        Self { flows: starts_s.iter().map(flow).collect(), interval_s, depth, together_s: length_s }
    }

    /// The next time at which flows drain, and how many drain together then.
    pub fn step(&mut self) -> (f64, usize) {
        let at_s = self.flows.iter().map(|flow| flow.next_s).fold(f64::INFINITY, f64::min);
        let until_s = at_s + self.together_s;
        let drains = |flow: &Drainer| flow.next_s <= until_s;
        let share: f64 = self.flows.iter().filter(|flow| drains(flow)).map(|flow| flow.share).sum();
        let count = self.flows.iter().filter(|flow| drains(flow)).count();
        let left = (1.0 - share * self.depth).max(0.0);
        for flow in &mut self.flows {
            if flow.next_s <= until_s {
                flow.lowest_s = f64::INFINITY;
            }
            if left <= flow.lowest_s {
                (flow.lowest_s, flow.lowest_at_s) = (left, at_s);
            }
            flow.next_s = flow.lowest_at_s + self.interval_s;
        }
        (at_s, count)
    }
}
