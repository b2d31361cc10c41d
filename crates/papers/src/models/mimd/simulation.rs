//! Two flows of the two-phase model at one queue, in continuous time.
//!
//! A flow sends at its gain times its estimate, up to the limit of its cwnd: min(g C, 2 C T / (T + D)). Data
//! above the capacity waits in the queue, and the length of the queue over the capacity is D. Each flow gets
//! a share of the capacity in proportion to its sending rate. A flow has a sample, its mean throughput, a
//! round trip T + D later, and its estimate is the largest of ten rounds (the paper's footnote). Gains follow
//! a cycle of eight rounds. With the adaptive gain, alpha is D / T of the cruising rounds of the last cycle.
//!
//! The simulation leaves out STARTUP, PROBE_RTT, packets and ACK aggregation. It also leaves out that a FIFO
//! delivers data in the order of its arrival, a queueing delay after it was sent.

use super::adaptive_alpha;
use crate::models::fluid::MaxOfRounds;

/// The settings of a simulation of the two-phase model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Base RTT of each flow, seconds, above 0.
    pub rtts_s: [f64; 2],
    /// Capacity, in the unit of all rates, above 0.
    pub capacity: f64,
    /// Bandwidth estimate of each flow at the start, above 0.
    pub rates: [f64; 2],
    /// Pacing gain of the first phase; the gain of the second phase is 2 minus this.
    pub gain: f64,
    /// Cwnd in estimated bandwidth-delay products.
    pub cwnd_gain: f64,
    /// Whether the gain of the first phase is 1 plus alpha instead of `gain`.
    pub adaptive: bool,
    /// Length of the maximum filter in rounds, from 1.
    pub filter_rounds: u32,
    /// The number of rounds by which the second flow's cycle is behind the first's, so that they do not probe
    /// at the same time.
    pub offset: u32,
    /// Simulated time, seconds.
    pub duration_s: f64,
}

/// The state of the simulation at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Queueing delay, seconds.
    pub delay_s: f64,
    /// Bandwidth estimate of each flow.
    pub estimates: [f64; 2],
    /// Throughput of each flow.
    pub rates: [f64; 2],
    /// Gain of each flow in the first phase, in excess of 1.
    pub alphas: [f64; 2],
    /// Data sent by both flows since the start.
    pub sent: f64,
    /// Data delivered for both flows since the start. The queue is `sent` minus `delivered`.
    pub delivered: f64,
}

#[derive(Debug)]
struct Flow {
    rtt_s: f64,
    estimate: f64,
    alpha: f64,
    filter: MaxOfRounds,
    round: u64,
    phase: u64,
    began_s: f64,
    ends_s: f64,
    delivered: f64,
    cruising_delay: f64,
    cruising_s: f64,
}

impl Flow {
    fn gain(&self) -> f64 {
        match self.phase {
            0 => 1.0 + self.alpha,
            1 => 1.0 - self.alpha,
            _ => 1.0,
        }
    }

    fn demand(&self, delay_s: f64, cwnd_gain: f64) -> f64 {
        let by_cwnd = cwnd_gain * self.estimate * self.rtt_s / (self.rtt_s + delay_s);
        by_cwnd.min(self.gain() * self.estimate)
    }

    fn end_round(&mut self, now_s: f64, delay_s: f64, adaptive: bool) {
        self.round += 1;
        self.phase = (self.phase + 1) % 8;
        let length_s = now_s - self.began_s;
        self.estimate = self.filter.update(self.round, self.delivered / length_s);
        self.delivered = 0.0;
        if adaptive && self.phase == 0 && self.cruising_s > 0.0 {
            self.alpha = adaptive_alpha(self.rtt_s, self.cruising_delay / self.cruising_s);
        }
        if self.phase == 0 {
            (self.cruising_delay, self.cruising_s) = (0.0, 0.0);
        }
        self.began_s = now_s;
        self.ends_s = now_s + self.rtt_s + delay_s;
    }
}

/// An iterator over the simulation: a point at the start and after every step of a fortieth of the shorter
/// RTT.
#[derive(Debug)]
pub struct Simulation {
    setting: Setting,
    flows: [Flow; 2],
    step: u64,
    step_s: f64,
    backlog: f64,
    sent: f64,
    delivered: f64,
    rates: [f64; 2],
}

/// Steps per RTT. With twice as many steps, shares change by less than a hundredth (a test of this file shows
/// it).
const STEPS_PER_RTT: f64 = 40.0;

impl Simulation {
    /// The state at time 0, with an empty queue.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self::with_steps(setting, STEPS_PER_RTT)
    }

    fn with_steps(setting: Setting, per_rtt: f64) -> Self {
        let flow = |index: usize, phase: u32| Flow {
            rtt_s: setting.rtts_s[index],
            estimate: setting.rates[index],
            alpha: setting.gain - 1.0,
            filter: MaxOfRounds::new(u64::from(setting.filter_rounds.max(1)), setting.rates[index]),
            round: 0,
            phase: u64::from(phase % 8),
            began_s: 0.0,
            ends_s: setting.rtts_s[index],
            delivered: 0.0,
            cruising_delay: 0.0,
            cruising_s: 0.0,
        };
        let flows = [flow(0, 0), flow(1, 8 - setting.offset % 8)];
        let rates = setting.rates;
        let step_s = setting.rtts_s[0].min(setting.rtts_s[1]) / per_rtt;
        Self { setting, flows, step: 0, step_s, backlog: 0.0, sent: 0.0, delivered: 0.0, rates }
    }

    fn point(&self) -> Point {
        let [f0, f1] = &self.flows;
        Point {
            time_s: self.step as f64 * self.step_s,
            delay_s: self.backlog / self.setting.capacity,
            estimates: [f0.estimate, f1.estimate],
            rates: self.rates,
            alphas: [f0.alpha, f1.alpha],
            sent: self.sent,
            delivered: self.delivered,
        }
    }

    fn advance(&mut self) {
        let Setting { capacity, cwnd_gain, adaptive, .. } = self.setting;
        let dt = self.step_s;
        let delay_s = self.backlog / capacity;
        let demands = [self.flows[0].demand(delay_s, cwnd_gain), self.flows[1].demand(delay_s, cwnd_gain)];
        let arriving = (demands[0] + demands[1]) * dt;
        let present = self.backlog + arriving;
        let leaving = present.min(capacity * dt);
        self.backlog = present - leaving; // nothing, to the last bit, when all of it leaves
        self.sent += arriving;
        self.delivered += leaving;
        self.step += 1;
        let now_s = self.step as f64 * dt;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let delivered = if arriving > 0.0 { leaving * demands[index] * dt / arriving } else { 0.0 };
            self.rates[index] = delivered / dt;
            flow.delivered += delivered;
            if flow.phase >= 2 {
                flow.cruising_delay += delay_s * dt;
                flow.cruising_s += dt;
            }
            // round to the nearest step
            if now_s + 0.5 * dt >= flow.ends_s {
                flow.end_round(now_s, self.backlog / capacity, adaptive);
            }
        }
    }
}

impl Iterator for Simulation {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        let is_over = self.step as f64 * self.step_s > self.setting.duration_s;
        // this also ends a simulation whose time does not advance
        if is_over || self.step_s.partial_cmp(&0.0).is_none_or(|order| order.is_le()) {
            return None;
        }
        let point = self.point();
        self.advance();
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_step_gives_the_same_shares() {
        for adaptive in [false, true] {
            let setting = Setting {
                rtts_s: [0.02, 0.04],
                capacity: 100.0,
                rates: [50.0, 50.0],
                gain: 1.25,
                cwnd_gain: 2.0,
                adaptive,
                filter_rounds: 10,
                offset: 3,
                duration_s: 10.0,
            };
            let share = |steps| {
                let last = Simulation::with_steps(setting, steps).last().unwrap();
                last.estimates[0] / (last.estimates[0] + last.estimates[1])
            };
            let (coarse, fine) = (share(STEPS_PER_RTT), share(2.0 * STEPS_PER_RTT));
            assert!((coarse - fine).abs() < 0.01, "{adaptive}: {coarse} and {fine}");
        }
    }
}
