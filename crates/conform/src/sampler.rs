//! Delivery rate samples: draft-ietf-ccwg-bbr-06 section 4.1.2, in its terms.

use crate::protocol::Sample;

/// The state of the connection, C.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// `C.delivered`: bytes delivered so far.
    pub(crate) delivered_bytes: u64,
    /// `C.lost`: bytes declared lost so far.
    pub(crate) lost_bytes: u64,
    delivered_time_us: u64,
    first_send_time_us: u64,
    /// `C.app_limited`: 0, or the value of `C.delivered` that ends the application-limited phase.
    app_limited_bytes: u64,
}

/// The state of a packet, P.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) number: u64,
    pub(crate) send_time_us: u64,
    pub(crate) delivered_bytes: u64,
    delivered_time_us: u64,
    first_send_time_us: u64,
    lost_bytes: u64,
    tx_in_flight_bytes: u64,
    is_app_limited: bool,
}

/// The sample `RS` while the packets of an ACK are processed.
#[derive(Debug, Default)]
pub(crate) struct Acked {
    newest: Option<Packet>,
    ack_elapsed_us: u64,
}

impl Connection {
    /// Runs `OnPacketSent()`; `before_bytes` were in flight before the packet.
    pub(crate) fn on_sent(&mut self, now_us: u64, number: u64, before_bytes: u64, bytes: u64) -> Packet {
        if before_bytes == 0 {
            self.first_send_time_us = now_us;
            self.delivered_time_us = now_us;
        }
        Packet {
            number,
            send_time_us: now_us,
            delivered_bytes: self.delivered_bytes,
            delivered_time_us: self.delivered_time_us,
            first_send_time_us: self.first_send_time_us,
            lost_bytes: self.lost_bytes,
            tx_in_flight_bytes: before_bytes + bytes,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// Runs `UpdateRateSample()` for a packet of an ACK.
    pub(crate) fn on_delivered(&mut self, now_us: u64, packet: Packet, bytes: u64, acked: &mut Acked) {
        self.delivered_bytes += bytes;
        self.delivered_time_us = now_us;
        let order = |p: &Packet| (p.send_time_us, p.number);
        if acked.newest.is_none_or(|newest| order(&packet) > order(&newest)) {
            acked.ack_elapsed_us = now_us - packet.delivered_time_us;
            acked.newest = Some(packet);
            self.first_send_time_us = packet.send_time_us;
        }
    }

    /// Runs `GenerateRateSample()`, and returns the newest packet of the ACK, too. Like QUIC this transport
    /// knows which transmission was acknowledged, so no sample is too short to be true (section 4.1.3.5).
    pub(crate) fn sample(&mut self, acked: &Acked) -> (Sample, Option<Packet>) {
        if self.delivered_bytes > self.app_limited_bytes {
            self.app_limited_bytes = 0;
        }
        let totals = Sample {
            total_delivered_bytes: self.delivered_bytes,
            total_lost_bytes: self.lost_bytes,
            ..Sample::default()
        };
        let Some(packet) = acked.newest else { return (totals, None) };
        let send_elapsed_us = packet.send_time_us - packet.first_send_time_us;
        let sample = Sample {
            prior_delivered_bytes: packet.delivered_bytes,
            delivered_bytes: self.delivered_bytes - packet.delivered_bytes,
            interval_us: send_elapsed_us.max(acked.ack_elapsed_us),
            app_limited: packet.is_app_limited,
            tx_in_flight_bytes: packet.tx_in_flight_bytes,
            lost_bytes: self.lost_bytes - packet.lost_bytes,
            ..totals
        };
        (sample, Some(packet))
    }

    /// Runs `MarkConnectionAppLimited()`.
    pub(crate) fn mark_app_limited(&mut self, in_flight_bytes: u64) {
        self.app_limited_bytes = (self.delivered_bytes + in_flight_bytes).max(1);
    }

    /// Returns whether the connection is application-limited (`C.app_limited` is not 0).
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_bytes != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_was_delivered_over_the_longer_of_both_intervals() {
        let mut c = Connection::default();
        let first = c.on_sent(0, 0, 0, 1000);
        let second = c.on_sent(40, 1, 1000, 1000);
        let mut acked = Acked::default();
        c.on_delivered(100, first, 1000, &mut acked);
        let (sample, _) = c.sample(&acked);
        assert_eq!((sample.delivered_bytes, sample.interval_us), (1000, 100), "from the send to the ACK");
        let mut acked = Acked::default();
        c.on_delivered(105, second, 1000, &mut acked);
        let (sample, _) = c.sample(&acked);
        // both were delivered since the second was sent, in 105 us of ACKs; they were sent in 40
        assert_eq!((sample.delivered_bytes, sample.interval_us), (2000, 105));
    }

    #[test]
    fn aggregated_acks_do_not_show_a_rate_above_that_of_sending() {
        let mut c = Connection::default();
        let packets: Vec<Packet> = (0..10).map(|n| c.on_sent(n * 100, n, n * 1000, 1000)).collect();
        let mut acked = Acked::default();
        c.on_delivered(1000, packets[0], 1000, &mut acked);
        let later: Vec<Packet> = (10..20).map(|n| c.on_sent(1000 + (n - 9) * 100, n, 9000, 1000)).collect();
        let mut acked = Acked::default();
        for packet in packets[1..].iter().chain(&later) {
            c.on_delivered(2100, *packet, 1000, &mut acked);
        }
        let (sample, newest) = c.sample(&acked);
        assert_eq!(newest.map(|p| p.number), Some(19));
        assert_eq!((sample.delivered_bytes, sample.interval_us), (19_000, 2000), "1000 bytes in 100 us");
    }

    #[test]
    fn a_bubble_is_gone_when_what_was_in_flight_then_is_delivered() {
        let mut c = Connection::default();
        let first = c.on_sent(0, 0, 0, 1000);
        c.mark_app_limited(1000);
        let second = c.on_sent(50, 1, 1000, 1000);
        assert!(!first.is_app_limited && second.is_app_limited);
        for (packet, still) in [(first, true), (second, false)] {
            let mut acked = Acked::default();
            c.on_delivered(100, packet, 1000, &mut acked);
            c.sample(&acked);
            assert_eq!(c.is_app_limited(), still);
        }
    }
}
