//! Flows with cwnds that their ACKs clock, over one FIFO, in continuous time: the equations of steering
//! with their true delays, and without packets, bursts, loss or drains.
//!
//! A flow sends whatever its cwnd lets it. The bottleneck is beside the senders; behind it a packet takes
//! the whole base RTT. Once a round the flow knows the mean queueing delay of the round and a mean of what
//! was delivered, and steers.

use std::collections::VecDeque;

use super::Level;

/// Part of the newest round in the mean of the delivered rate.
const RATE_WEIGHT: f64 = 0.25;
/// W changes by at most this part in a round.
const CHANGE_MOST: f64 = 0.25;
/// Steps per shortest base RTT. With twice as many the mean queueing delay changes by less than a hundredth
/// (tested below).
const STEPS_PER_RTT: f64 = 50.0;

/// Parts of what is in flight at the start, at most.
const FIRST_ROUND_STEPS_MOST: f64 = 10_000.0;

/// What is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The level of all flows.
    pub level: Level,
    /// Gain of steering.
    pub gain: f64,
    /// Packets per second of the link.
    pub capacity: f64,
    /// The base RTT of each flow, seconds.
    pub rtts_s: Vec<f64>,
    /// The rate of each flow at the start, packets per second. The queue begins with the level of the equal
    /// share, or with what these rates exceed the capacity by in a round.
    pub rates: Vec<f64>,
    /// By how much each flow takes its base RTT to be too high, seconds.
    pub errors_s: Vec<f64>,
    /// Simulated time, seconds.
    pub duration_s: f64,
}

/// The state at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Time since the start, seconds.
    pub time_s: f64,
    /// Queueing delay, seconds.
    pub queue_s: f64,
    /// What each flow had delivered in its last round, per second.
    pub rates: Vec<f64>,
}

/// A part of what a flow sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// When its ACK comes.
    acked_at_s: f64,
    /// All that the flow had sent up to here, packets.
    sent: f64,
    queue_s: f64,
}

#[derive(Debug)]
struct Flow {
    rtt_s: f64,
    error_s: f64,
    window: f64,
    rate: f64,
    round_rate: f64,
    sent: f64,
    acked: f64,
    newest_acked: Sent,
    unacked: VecDeque<Sent>,
    round_ends_at: f64,
    round_began_s: f64,
    round_began_acked: f64,
    queue_sum_s: f64,
    queue_count: f64,
}

impl Flow {
    /// Takes the ACKs up to now.
    fn acknowledge(&mut self, now_s: f64) {
        while let Some(sent) = self.unacked.front().filter(|sent| sent.acked_at_s <= now_s).copied() {
            self.unacked.pop_front();
            self.newest_acked = sent;
            self.queue_sum_s += sent.queue_s;
            self.queue_count += 1.0;
        }
        let Sent { acked_at_s, sent, .. } = self.newest_acked;
        let part = self
            .unacked
            .front()
            .map_or(0.0, |next| (now_s - acked_at_s) / (next.acked_at_s - acked_at_s) * (next.sent - sent));
        self.acked = self.acked.max(sent + part);
    }

    /// Ends a round, if it is over, and steers.
    fn steer(&mut self, now_s: f64, setting: &Setting) {
        if self.acked < self.round_ends_at || now_s <= self.round_began_s || self.queue_count == 0.0 {
            return;
        }
        self.round_rate = (self.acked - self.round_began_acked) / (now_s - self.round_began_s);
        self.rate += RATE_WEIGHT * (self.round_rate - self.rate);
        let seen_s = (self.queue_sum_s / self.queue_count - self.error_s).max(0.0);
        let level_s = setting.level.delay_s(self.rate);
        let change = setting.gain * (level_s - seen_s) / (self.rtt_s + self.error_s + level_s);
        self.window *= 1.0 + change.clamp(-CHANGE_MOST, CHANGE_MOST);
        self.round_ends_at = self.sent;
        (self.round_began_s, self.round_began_acked) = (now_s, self.acked);
        (self.queue_sum_s, self.queue_count) = (0.0, 0.0);
    }
}

/// An iterator over the simulation: a point after every step.
#[derive(Debug)]
pub struct Simulation {
    setting: Setting,
    flows: Vec<Flow>,
    step_s: f64,
    step: u64,
    backlog: f64,
}

impl Simulation {
    /// The state at time 0.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self::with_steps(setting, STEPS_PER_RTT)
    }

    /// Distance of two points, seconds.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        self.step_s
    }

    fn with_steps(setting: Setting, per_rtt: f64) -> Self {
        let shortest = setting.rtts_s.iter().copied().fold(f64::INFINITY, f64::min);
        let step_s = shortest / per_rtt;
        let queue_s = setting.level.delay_s(setting.capacity / setting.rtts_s.len() as f64);
        let backlog = queue_s * setting.capacity;
        let flows = setting.rtts_s.iter().zip(&setting.rates).zip(&setting.errors_s);
        let flows = flows.map(|((rtt, rate), error)| begin(*rtt, *rate, *error, queue_s, step_s)).collect();
        Self { setting, flows, step_s, step: 0, backlog }
    }

    fn advance(&mut self) {
        self.step += 1;
        let now_s = self.step as f64 * self.step_s;
        let mut arrived = 0.0;
        for flow in &mut self.flows {
            flow.acknowledge(now_s);
            flow.steer(now_s, &self.setting);
            let sending = (flow.window - (flow.sent - flow.acked)).max(0.0);
            flow.sent += sending;
            arrived += sending;
        }
        self.backlog = (self.backlog + arrived - self.setting.capacity * self.step_s).max(0.0);
        let queue_s = self.backlog / self.setting.capacity;
        for flow in &mut self.flows {
            // a FIFO keeps the order, also where the fluid of one step would overtake that of the one before
            let earliest = flow.unacked.back().map_or(0.0, |sent| sent.acked_at_s + 1e-3 * self.step_s);
            let acked_at_s = (now_s + queue_s + flow.rtt_s).max(earliest);
            flow.unacked.push_back(Sent { acked_at_s, sent: flow.sent, queue_s });
        }
    }
}

/// A flow that has sent evenly for one round.
fn begin(rtt_s: f64, rate: f64, error_s: f64, queue_s: f64, step_s: f64) -> Flow {
    let round_s = rtt_s + queue_s;
    let window = rate * round_s;
    let steps = (round_s / step_s).ceil().min(FIRST_ROUND_STEPS_MOST) as u32;
    let sent_at = |index: u32| {
        let part = f64::from(index) / f64::from(steps);
        Sent { acked_at_s: part * round_s, sent: part * window, queue_s }
    };
    Flow {
        rtt_s,
        error_s,
        window,
        rate,
        round_rate: rate,
        sent: window,
        acked: 0.0,
        newest_acked: sent_at(0),
        unacked: (1..=steps).map(sent_at).collect(),
        round_ends_at: window,
        round_began_s: 0.0,
        round_began_acked: 0.0,
        queue_sum_s: 0.0,
        queue_count: 0.0,
    }
}

impl Iterator for Simulation {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        let time_s = self.step as f64 * self.step_s;
        // this also ends a simulation whose time does not advance
        if time_s > self.setting.duration_s || self.step_s.partial_cmp(&0.0).is_none_or(|order| order.is_le())
        {
            return None;
        }
        self.advance();
        let rates = self.flows.iter().map(|flow| flow.round_rate).collect();
        Some(Point { time_s, queue_s: self.backlog / self.setting.capacity, rates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_step_gives_the_same_queue() {
        let setting = Setting {
            level: Level { reference_s: 2.25e-3, reference_rate: 4096.0, exponent: 0.5 },
            gain: 0.25,
            capacity: 8000.0,
            rtts_s: vec![0.01, 0.03],
            rates: vec![6000.0, 2000.0],
            errors_s: vec![0.0; 2],
            duration_s: 5.0,
        };
        let mean = |steps| {
            let points: Vec<_> = Simulation::with_steps(setting.clone(), steps).collect();
            points.iter().map(|point| point.queue_s).sum::<f64>() / points.len() as f64
        };
        let (coarse, fine) = (mean(STEPS_PER_RTT), mean(2.0 * STEPS_PER_RTT));
        assert!((coarse / fine - 1.0).abs() < 0.01, "{coarse} and {fine}");
    }
}
