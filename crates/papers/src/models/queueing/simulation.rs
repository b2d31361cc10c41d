//! The model in continuous time, event by event, as in the paper's own simulation.
//!
//! A flow's inflight is the data that it has sent during its last RTT, integrated exactly over its past
//! rates. When a round trip of a flow ends, equation 6 gives a sample. The flow's rate becomes the maximum of
//! the samples of its last rounds, times its gain (equation 1). The paper gives neither the length of the
//! maximum nor whether the gains apply. Ten rounds (as in BBR) and no gains (as in its closed forms)
//! reproduce most of its figures and are the defaults. Section IV-A has samples "upon each arrival", while
//! the equations have one per round trip; one is the default.

use std::collections::VecDeque;

use crate::models::fluid::{MaxOfRounds, littles_delay};

/// The settings of a simulation of the queueing model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// RTT of flow 0, seconds, above 0.
    pub rtt0_s: f64,
    /// RTT of flow 1 over the RTT of flow 0, from 1.
    pub ratio: f64,
    /// Capacity, in the unit of all rates, above 0.
    pub capacity: f64,
    /// Rate of each flow at the start and before, above 0.
    pub rates: [f64; 2],
    /// Length of the maximum filter in rounds. 0, and 1 with one sample per round, mean no filter.
    pub filter_rounds: u32,
    /// Samples of each flow per round trip, from 1, at equal distances.
    pub samples_per_round: u32,
    /// Gain of every eighth round; the gain of the next round is 2 minus this. 1 means no gain.
    pub gain: f64,
    /// The phase of the cycle of eight in which each flow starts. The paper's is 2, the third phase.
    pub phases: [u32; 2],
    /// Whether shares follow from throughput, by Little's law with a common queueing delay, instead of from
    /// equation 6.
    pub little: bool,
    /// Simulated time, seconds.
    pub duration_s: f64,
}

/// The state of both flows after an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Bandwidth estimates: the maxima of flow 0 and 1.
    pub estimates: [f64; 2],
    /// Sending rates: estimates times gains.
    pub rates: [f64; 2],
    /// Throughput of each flow: by equation 6, or by Little's law.
    pub throughput: [f64; 2],
    /// Data sent by each flow since the start.
    pub sent: [f64; 2],
}

impl Point {
    /// Flow 0's part of the throughput: its share of the bandwidth.
    #[must_use]
    pub fn share0(&self) -> f64 {
        self.throughput[0] / (self.throughput[0] + self.throughput[1])
    }
}

/// A past rate, with the time at which it began.
#[derive(Debug, Clone, Copy)]
struct Segment {
    from_s: f64,
    rate: f64,
}

#[derive(Debug)]
struct Flow {
    rtt_s: f64,
    phase: u32,
    samples_per_round: u64,
    /// Number of samples up to now.
    samples: u64,
    filter: MaxOfRounds,
    estimate: f64,
    /// The rates of the last RTT. The last of them is the present rate.
    past: VecDeque<Segment>,
    sent: f64,
}

impl Flow {
    fn next_s(&self) -> f64 {
        (self.samples + 1) as f64 * self.rtt_s / self.samples_per_round as f64
    }

    fn rate(&self) -> f64 {
        self.past.back().map_or(0.0, |segment| segment.rate)
    }

    /// Data sent between `from_s` and `now_s`.
    fn sent_since(&self, from_s: f64, now_s: f64) -> f64 {
        let mut end = now_s;
        let mut sum = 0.0;
        for segment in self.past.iter().rev() {
            let start = segment.from_s.max(from_s);
            sum += (end - start).max(0.0) * segment.rate;
            end = start;
            if segment.from_s <= from_s {
                break;
            }
        }
        sum
    }

    /// Inflight: the data that the flow sent during the last RTT.
    fn inflight(&self, now_s: f64) -> f64 {
        self.sent_since(now_s - self.rtt_s, now_s)
    }

    /// Adds a sample, which may end a round.
    fn take(&mut self, now_s: f64, sample: f64, gain: f64) {
        self.samples += 1;
        let round = self.samples / self.samples_per_round;
        self.estimate = self.filter.update(round, sample);
        let phase = (round + u64::from(self.phase)) % 8;
        let gain = match phase {
            0 => gain,
            1 => 2.0 - gain,
            _ => 1.0,
        };
        let rate = self.estimate * gain;
        if rate != self.rate() {
            self.past.push_back(Segment { from_s: now_s, rate });
        }
        let horizon = now_s - self.rtt_s;
        while self.past.get(1).is_some_and(|next| next.from_s <= horizon) {
            self.past.pop_front();
        }
    }
}

/// An iterator over the simulation: a point at the start, and one at each sample of a flow.
#[derive(Debug)]
pub struct Simulation {
    setting: Setting,
    flows: [Flow; 2],
    now_s: f64,
    begun: bool,
}

impl Simulation {
    /// The state at time 0. The initial rates also apply to all time before it.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let flow = |index: usize, rtt_s: f64| Flow {
            rtt_s,
            phase: setting.phases[index] % 8,
            samples_per_round: u64::from(setting.samples_per_round.max(1)),
            samples: 0,
            filter: MaxOfRounds::new(u64::from(setting.filter_rounds), setting.rates[index]),
            estimate: setting.rates[index],
            past: VecDeque::from([Segment { from_s: f64::NEG_INFINITY, rate: setting.rates[index] }]),
            sent: 0.0,
        };
        let flows = [flow(0, setting.rtt0_s), flow(1, setting.rtt0_s * setting.ratio)];
        Self { setting, flows, now_s: 0.0, begun: false }
    }

    fn point(&self, throughput: [f64; 2]) -> Point {
        let [f0, f1] = &self.flows;
        Point {
            time_s: self.now_s,
            estimates: [f0.estimate, f1.estimate],
            rates: [f0.rate(), f1.rate()],
            throughput,
            sent: [f0.sent, f1.sent],
        }
    }

    /// Throughput of both flows at a time: by equation 6, or by Little's law.
    fn throughput(&self, now_s: f64) -> [f64; 2] {
        let [b0, b1] = [self.flows[0].inflight(now_s), self.flows[1].inflight(now_s)];
        if self.setting.little {
            let [t0, t1] = [self.flows[0].rtt_s, self.flows[1].rtt_s];
            let delay = littles_delay(&[(b0, t0), (b1, t1)], self.setting.capacity);
            return [b0 / (t0 + delay), b1 / (t1 + delay)];
        }
        let of_both = b0 + b1;
        if of_both <= 0.0 {
            return [0.5 * self.setting.capacity; 2];
        }
        [b0 / of_both * self.setting.capacity, b1 / of_both * self.setting.capacity]
    }
}

impl Iterator for Simulation {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        if !self.begun {
            self.begun = true;
            return Some(self.point(self.throughput(0.0)));
        }
        let now_s = self.flows[0].next_s().min(self.flows[1].next_s());
        // this also ends a simulation whose time does not advance, such as one with an RTT of 0
        if now_s > self.setting.duration_s || now_s.partial_cmp(&self.now_s).is_none_or(|order| order.is_le())
        {
            return None;
        }
        let samples = self.throughput(now_s);
        for flow in &mut self.flows {
            flow.sent += flow.rate() * (now_s - self.now_s);
        }
        // samples whose times differ by rounding errors only are taken together
        let together = now_s + 1e-9 * self.setting.rtt0_s;
        for (flow, sample) in self.flows.iter_mut().zip(samples) {
            if flow.next_s() <= together {
                flow.take(now_s, sample, self.setting.gain);
            }
        }
        self.now_s = now_s;
        Some(self.point(samples))
    }
}

/// The first time at which flow 0's share is at or below `starved`, seconds; `None` if that does not happen.
#[must_use]
pub fn starved_at(setting: Setting, starved: f64) -> Option<f64> {
    Simulation::new(setting).find(|point| point.share0() <= starved).map(|point| point.time_s)
}

/// The largest ratio, to `precision`, at which flow 0 does not starve within the duration. The search is from
/// 1 to `most` and assumes that a larger ratio starves sooner. The result is `most` if no ratio up to there
/// starves the flow.
#[must_use]
pub fn largest_ratio(setting: Setting, starved: f64, most: f64, precision: f64) -> f64 {
    let starves = |ratio: f64| starved_at(Setting { ratio, ..setting }, starved).is_some();
    if starves(1.0) {
        return 1.0;
    }
    if !starves(most) {
        return most;
    }
    let (mut keeps, mut drained) = (1.0, most);
    // 60 halvings suffice for any precision of a double
    for _ in 0..60 {
        if drained - keeps <= precision {
            break;
        }
        let middle = 0.5 * (keeps + drained);
        if starves(middle) {
            drained = middle;
        } else {
            keeps = middle;
        }
    }
    keeps
}
