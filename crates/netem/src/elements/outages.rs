//! Outages that lose packets.

use crate::time::Nanos;

/// The outages of a link: a packet that arrives during one is dropped, and a packet whose transmission one
/// interrupts is lost. The rest of such a packet still takes its time when the link is back, like a frame
/// that a radio has begun.
#[derive(Debug, Clone)]
pub struct Outages {
    /// Begin and end of each outage, in order.
    spans: Vec<(Nanos, Nanos)>,
    /// Number of outages that ended before the last arrival, and before the last departure.
    arrived: usize,
    departed: usize,
}

impl Outages {
    /// Returns the outages of a link with these rates, each a time and the rate from then on.
    pub fn of(steps: &[(Nanos, u64)]) -> Self {
        let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
        for (at, rate_bps) in steps {
            match spans.last_mut().filter(|span| span.1 == Nanos::MAX) {
                Some(open) if *rate_bps > 0 => open.1 = *at,
                None if *rate_bps == 0 => spans.push((*at, Nanos::MAX)),
                _ => {}
            }
        }
        Outages { spans, arrived: 0, departed: 0 }
    }

    /// Returns whether a packet that arrives at `now` is dropped. Times must not go back.
    pub fn refuses(&mut self, now: Nanos) -> bool {
        while self.spans.get(self.arrived).is_some_and(|span| span.1 <= now) {
            self.arrived += 1;
        }
        self.spans.get(self.arrived).is_some_and(|span| span.0 <= now)
    }

    /// Returns whether an outage interrupts the transmission of a packet, which lasts from `starts` to
    /// `departs`. Times must not go back.
    pub fn cuts(&mut self, starts: Nanos, departs: Nanos) -> bool {
        while self.spans.get(self.departed).is_some_and(|span| span.1 <= starts) {
            self.departed += 1;
        }
        self.spans.get(self.departed).is_some_and(|span| starts < span.0 && span.0 < departs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_dropped_and_the_packet_in_transmission_is_lost() {
        let mut outages = Outages::of(&[(5, 7), (10, 0), (12, 0), (20, 5), (30, 6), (40, 0)]);
        let refused = [0, 9, 10, 19, 20, 39, 40, 1_000].map(|now| outages.refuses(now));
        assert_eq!(refused, [false, false, true, true, false, false, true, true]);
        let spans = [(0, 9), (9, 10), (9, 21), (10, 22), (22, 30), (39, Nanos::MAX)];
        let cut = spans.map(|(starts, departs)| outages.cuts(starts, departs));
        assert_eq!(cut, [false, false, true, false, false, true]);
    }
}
