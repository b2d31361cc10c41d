//! Drains: during a drain a flow keeps only a part of its rate times its base RTT in flight.

use super::{Level, root};

/// Decrease of the queueing delay, seconds, in a drain of one flow with the share `share` of the rate, while
/// the other flows keep their windows. `kept` is the part of the rate times the base RTT that stays in
/// flight.
///
/// The flow takes `r (T + q) - kept r T` packets out of the network. They are `share ((1 - kept) T + q)`
/// seconds of the link, but the queue has only q.
#[must_use]
pub fn depth_s(share: f64, kept: f64, rtt_s: f64, queue_s: f64) -> f64 {
    (share * ((1.0 - kept) * rtt_s + queue_s)).min(queue_s)
}

/// The rate that a flow can keep if no other flow drains together with it. Such a flow observes only the part
/// of the queue that its own drain removes, so its equilibrium is where `f(r) = ((1 - kept) T + q) r / C`.
/// The function returns the equal share if that rate is not above it.
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
