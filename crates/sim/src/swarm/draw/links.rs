//! Random links: rates, traces and shapers, queues, lines, policers and losses.

use std::time::Duration;

use fairpace_scenario::quantity::PACKET_BYTES;
use fairpace_scenario::{
    Burst, BurstLength, Cellular, Codel, DualPi2, FqCodel, Handover, Limit, Line, Link, Loss, Pie, Policer,
    Queue, Red, RedRules, Trace, WHOLE_PPB,
};

use super::{Draw, Feature, PACKET_BITS};

impl Draw {
    pub(super) fn link(&mut self, index: usize) -> Link {
        let rate_bps = self.near(self.rate_bps);
        let buffer = self.buffer(rate_bps);
        let plain = Link {
            buffer,
            queue: if self.uses(Feature::Queues) { self.queue(buffer.bytes()) } else { Queue::Fifo },
            line: self.line(),
            policer: self.uses(Feature::Policer).then(|| Policer {
                rate_bps: self.near(rate_bps),
                burst_bytes: self.magnitude((PACKET_BYTES, 500_000)),
            }),
            loss: if self.uses(Feature::Loss) { self.loss() } else { Loss::default() },
            ..Link::new(format!("l{index}"), rate_bps, 0)
        };
        if self.uses(Feature::Trace) {
            let trace = self.trace(rate_bps);
            return Link { rate_bps: trace.mean_bps(), trace: Some(trace), ..plain };
        }
        if self.uses(Feature::Shaper) {
            return Link { burst_bytes: Some(self.magnitude((PACKET_BYTES, 500_000))), ..plain };
        }
        if self.uses(Feature::Handovers) {
            let handover = self.handover(&plain);
            return Link { handover: Some(handover), ..plain };
        }
        let changes = self.uses(Feature::RateSteps);
        let rate_at = if changes || self.uses(Feature::Outage) {
            self.steps(|draw| if draw.uses(Feature::Outage) { 0 } else { draw.near(rate_bps) })
        } else {
            Vec::new()
        };
        Link { rate_at, ..plain }
    }

    /// Makes a link of a constant rate cellular, in one scenario of 24. This is drawn last, so that it
    /// changes no other draw of a seed.
    pub(super) fn cellular(&mut self, links: &mut [Link]) {
        if self.random.below(24) > 0 {
            return;
        }
        let varies =
            |link: &Link| link.trace.is_some() || link.handover.is_some() || !link.rate_at.is_empty();
        let Some(link) = links.iter_mut().find(|link| !varies(link) && link.burst_bytes.is_none()) else {
            return;
        };
        let spread_ppb = self.magnitude((10_000_000, 3_000_000_000));
        let memory = self.time_us((10_000, 10_000_000));
        let has_outages = self.flip();
        let mut outage = || has_outages.then(|| self.time_us((100_000, 2_000_000)));
        let (outage, outage_every) = (outage(), outage());
        link.cellular = Some(Cellular { spread_ppb, memory, outage, outage_every });
    }

    /// Draws handovers at which at least the rate may change.
    fn handover(&mut self, link: &Link) -> Handover {
        let every = self.time_us((1_000_000, 60_000_000));
        let can_delay = !link.line.reorders && link.line.wifi_jitter.is_none();
        Handover {
            every,
            rate_bps: Some(self.magnitude((link.rate_bps / 4, link.rate_bps)).max(1_000)),
            delay: if can_delay && self.flip() { self.time_us((1, 100_000)) } else { Duration::ZERO },
            outage: if self.flip() { self.time_us((1, 900_000)) } else { Duration::ZERO },
        }
    }

    /// Draws a rate from a quarter to four times of `rate_bps`.
    fn near(&mut self, rate_bps: u64) -> u64 {
        self.magnitude((rate_bps / 4, rate_bps * 4))
    }

    /// Draws a buffer from a packet to two seconds.
    fn buffer(&mut self, rate_bps: u64) -> Limit {
        let most = (rate_bps / 4).max(2 * PACKET_BYTES);
        let least = if self.uses(Feature::TinyBuffer) { PACKET_BYTES } else { (10 * PACKET_BYTES).min(most) };
        let bytes = self.magnitude((least, most));
        if self.uses(Feature::PacketLimit) {
            Limit::Packets(bytes / PACKET_BYTES)
        } else {
            Limit::Bytes(bytes)
        }
    }

    fn queue(&mut self, buffer_bytes: u64) -> Queue {
        match self.random.below(7) {
            0 if buffer_bytes > PACKET_BYTES => {
                let above = self.magnitude((1, buffer_bytes - 1));
                let packets = self.uses(Feature::PacketLimit) && above >= PACKET_BYTES;
                Queue::Step(if packets { Limit::Packets(above / PACKET_BYTES) } else { Limit::Bytes(above) })
            }
            1 => Queue::Red(self.red(RedRules::Linux, buffer_bytes)),
            2 => Queue::Red(self.red(RedRules::Floyd { gentle: false }, buffer_bytes)),
            3 => Queue::Codel(self.codel()),
            4 => {
                let (buckets, quantum_bytes) = (self.magnitude((1, 65_536)), self.magnitude((256, 100_000)));
                let codel = self.codel();
                Queue::FqCodel(FqCodel {
                    codel,
                    buckets: buckets as u32,
                    quantum_bytes: quantum_bytes as u32,
                })
            }
            5 => Queue::Pie(Pie {
                target_ns: self.time_ns((1, 100_000)),
                update_ns: self.time_ns((100, 100_000)),
                ecn: self.flip(),
            }),
            _ => Queue::DualPi2(self.dualpi2()),
        }
    }

    fn red(&mut self, rules: RedRules, buffer_bytes: u64) -> Red {
        let ecn = self.flip();
        let rules = match rules {
            RedRules::Linux => RedRules::Linux,
            RedRules::Floyd { .. } => RedRules::Floyd { gentle: self.flip() },
        };
        if self.flip() {
            return Red { ecn, ..Red::before(rules, buffer_bytes) };
        }
        let max_bytes = self.magnitude((2, buffer_bytes));
        let min_bytes = self.magnitude((1, max_bytes - 1));
        Red { ecn, max_ppb: self.share_ppb(100), ..Red::between(rules, min_bytes, max_bytes) }
    }

    fn dualpi2(&mut self) -> DualPi2 {
        let target_ns = self.time_ns((1, 100_000));
        let usual = DualPi2 { target_ns, ..DualPi2::default() };
        if self.flip() {
            return usual;
        }
        DualPi2 {
            update_ns: self.flip().then(|| self.time_ns((1_000, 100_000))),
            rtt_max_ns: self.time_ns((1_000, 1_000_000)),
            coupling: self.magnitude((1, 10)) as u32,
            ramp_from_ns: self.time_ns((0, 10_000)),
            ramp_range_ns: self.time_ns((0, 10_000)),
            classic_share_ppb: self.share_ppb(100),
            ..usual
        }
    }

    fn codel(&mut self) -> Codel {
        let usual = Codel { ecn: self.flip(), ..Codel::default() };
        if self.flip() {
            return usual;
        }
        let target_ns = self.time_ns((1, 100_000));
        let interval_ns = target_ns + self.time_ns((1, 500_000));
        let ce_threshold_ns = self.flip().then(|| self.time_ns((1, 100_000)));
        let ce_threshold_l4s = ce_threshold_ns.is_some() && self.flip();
        Codel { target_ns, interval_ns, ce_threshold_ns, ce_threshold_l4s, ..usual }
    }

    /// Draws a time in ns: a number of microseconds in this range.
    fn time_ns(&mut self, range_us: (u64, u64)) -> u64 {
        self.time_us(range_us).as_nanos() as u64
    }

    fn line(&mut self) -> Line {
        let jitter = self.some_time(Feature::LineJitter, (1, 50_000));
        let is_wifi = jitter.is_zero() && self.uses(Feature::Wifi);
        Line {
            delay: self.some_time(Feature::LineDelay, (1, 50_000)),
            jitter,
            reorders: !jitter.is_zero() && self.flip(),
            duplicate_ppb: if self.uses(Feature::Duplicates) { self.share_ppb(100) } else { 0 },
            wifi_jitter: is_wifi.then(|| self.time_us((1_000, 91_000))),
            ..Line::default()
        }
    }

    fn loss(&mut self) -> Loss {
        let ppb = self.share_ppb(40);
        if self.flip() {
            return Loss { ppb, burst: None };
        }
        // bursts that are short enough to leave a packet between them
        let within = self.between(WHOLE_PPB / 2, WHOLE_PPB);
        let outside_ppb = if self.flip() { 0 } else { self.random.below(ppb) };
        let length = match self.flip() {
            true => BurstLength::Pkts(self.magnitude((4, 200))),
            false => BurstLength::Time(self.time_us((1, 500_000))),
        };
        let burst = Burst { length, inside_ppb: within, outside_ppb };
        Loss { ppb, burst: Some(burst) }
    }

    /// Draws opportunities of about this rate, in clusters, over a period of up to a second.
    fn trace(&mut self, rate_bps: u64) -> Trace {
        let period_ms = self.magnitude((20, 1_000));
        let count = (rate_bps * period_ms / 1_000 / PACKET_BITS).clamp(1, 5_000);
        let mut at: Vec<u64> = (0..count).map(|_| self.random.below(period_ms + 1)).collect();
        if self.flip() {
            let step = self.between(2, 20);
            at.iter_mut().for_each(|ms| *ms -= *ms % step);
        }
        at.push(period_ms);
        at.sort_unstable();
        let text: String = at.iter().map(|ms| format!("{ms}\n")).collect();
        Trace::read("drawn.trace", &text).expect("times grow to the period")
    }
}
