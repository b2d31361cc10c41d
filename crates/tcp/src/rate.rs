//! Delivery rate samples (draft-ietf-ccwg-bbr, section 4.1; Linux: tcp_rate.c).
//!
//! A sample is the amount of data that was delivered between sending a packet and its acknowledgment. The
//! rate is the lower of the send rate and the ACK rate over that time, so that bursts of packets or ACKs are
//! not mistaken for bandwidth.

/// The state of the connection when a packet was last sent. There is one snapshot per burst in flight, so its
/// other times are 32-bit differences from the time of sending: up to 71 minutes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Time when the packet was sent.
    pub(crate) sent_us: u64,
    /// Time since the first packet of the sample's send interval was sent.
    pub(crate) since_first_us: u32,
    /// Time since `delivered_pkts` last grew.
    pub(crate) since_delivered_us: u32,
    /// Number of packets delivered until then.
    pub(crate) delivered_pkts: u32,
    /// Number of packets ever marked lost until then.
    pub(crate) lost_pkts: u32,
    /// Number of packets in flight just after the packet was sent, itself included.
    pub(crate) inflight_pkts: u32,
    /// Number of packets delivered with a mark (`delivered_ce_pkts`) in the low bits, [`APP_LIMITED`] above.
    pub(crate) marked: u32,
}

/// Mask of a snapshot's count of marks, which wraps, as in Linux (tcp_skb_cb: 20 bits).
const MARKS_MASK: u32 = (1 << 20) - 1;
/// Flag of a snapshot for a packet that was sent while the sender was application-limited.
const APP_LIMITED: u32 = 1 << 31;

impl Snapshot {
    /// True if the packet was sent in an application-limited period.
    #[inline]
    pub(crate) fn app_limited(&self) -> bool {
        self.marked & APP_LIMITED != 0
    }

    /// Number of packets delivered with a mark since the snapshot; `delivered_ce_pkts` is the count now.
    #[inline]
    pub(crate) fn marks_since(&self, delivered_ce_pkts: u32) -> u32 {
        delivered_ce_pkts.wrapping_sub(self.marked) & MARKS_MASK
    }
}

// Half a cache line: a longer snapshot measured slower with hundreds of connections.
const _: () = assert!(size_of::<Snapshot>() == 32);

/// Returns `later - earlier` in the 32 bits of a snapshot.
fn between_us(earlier: u64, later: u64) -> u32 {
    u32::try_from(later.saturating_sub(earlier)).unwrap_or(u32::MAX)
}

/// The connection's state for rate samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rate {
    /// Number of packets acknowledged or SACKed so far; wraps.
    pub(crate) delivered_pkts: u32,
    /// Number of packets delivered by an ACK with ECE; wraps.
    pub(crate) delivered_ce_pkts: u32,
    /// Time when `delivered_pkts` last grew.
    pub(crate) delivered_us: u64,
    first_sent_us: u64,
    /// Value of `delivered_pkts` up to which samples are application-limited; 0: samples are not
    /// application-limited.
    pub(crate) app_limited_until: u32,
}

/// The sampled packet: among the packets that an ACK delivers, the packet that was sent last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reference {
    snapshot: Option<Snapshot>,
    pub(crate) seq: u64,
}

impl Reference {
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }
}

/// A delivery rate sample. Fields are `None` if the ACK delivered no packet; the interval also if it is
/// shorter than the minimum RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    pub(crate) delivered_pkts: Option<u32>,
    pub(crate) interval_us: Option<u64>,
    pub(crate) prior_delivered_pkts: u32,
    pub(crate) is_app_limited: bool,
}

impl Rate {
    /// Returns the snapshot of a packet sent now; `first`: no other packet is outstanding. The scoreboard
    /// sets the fields on losses and packets in flight.
    pub(crate) fn on_send(&mut self, sent_us: u64, first: bool) -> Snapshot {
        if first {
            self.first_sent_us = sent_us;
            self.delivered_us = sent_us;
        }
        Snapshot {
            sent_us,
            since_first_us: between_us(self.first_sent_us, sent_us),
            since_delivered_us: between_us(self.delivered_us, sent_us),
            delivered_pkts: self.delivered_pkts,
            lost_pkts: 0,
            inflight_pkts: 0,
            marked: self.delivered_ce_pkts & MARKS_MASK
                | if self.app_limited_until != 0 { APP_LIMITED } else { 0 },
        }
    }

    /// Counts packets as delivered; `ece`: the ACK has ECE (Linux: tcp_count_delivered).
    #[inline]
    pub(crate) fn count(&mut self, pkts: u32, ece: bool) {
        self.delivered_pkts = self.delivered_pkts.wrapping_add(pkts);
        if ece {
            self.delivered_ce_pkts = self.delivered_ce_pkts.wrapping_add(pkts);
        }
    }

    /// Records the delivery of a packet. It becomes the reference if it was sent after the current reference.
    pub(crate) fn on_delivered(&mut self, reference: &mut Reference, snapshot: &Snapshot, seq: u64) {
        let newer = match reference.snapshot {
            None => true,
            Some(_) => (snapshot.sent_us, seq) > (self.first_sent_us, reference.seq),
        };
        if newer {
            *reference = Reference { snapshot: Some(*snapshot), seq };
            self.first_sent_us = snapshot.sent_us;
        }
    }

    /// Records the delivery of a packet that was sent after all packets delivered before.
    #[inline]
    pub(crate) fn advance(&mut self, snapshot: &Snapshot) {
        self.first_sent_us = snapshot.sent_us;
    }

    /// Ends an ACK that newly delivered `acked` packets (already in `delivered_pkts`).
    #[inline]
    pub(crate) fn end_ack(&mut self, now_us: u64, acked: u32) {
        if self.app_limited_until != 0 && after(self.delivered_pkts, self.app_limited_until) {
            self.app_limited_until = 0;
        }
        if acked > 0 {
            self.delivered_us = now_us;
        }
    }

    /// Ends an ACK as [`Rate::end_ack`] does, and returns the sample.
    pub(crate) fn sample(
        &mut self,
        now_us: u64,
        acked: u32,
        reference: &Reference,
        min_rtt_us: u64,
    ) -> Sample {
        match reference.snapshot() {
            Some(sent) => self.sample_of(now_us, acked, sent, min_rtt_us),
            None => {
                self.end_ack(now_us, acked);
                Sample::default()
            }
        }
    }

    /// Ends an ACK, and returns the sample from the snapshot `s` of the sampled packet.
    #[inline]
    pub(crate) fn sample_of(&mut self, now_us: u64, acked: u32, s: &Snapshot, min_rtt_us: u64) -> Sample {
        self.end_ack(now_us, acked);
        let send_us = u64::from(s.since_first_us);
        let ack_us = (now_us + u64::from(s.since_delivered_us)).saturating_sub(s.sent_us);
        let interval_us = send_us.max(ack_us);
        Sample {
            delivered_pkts: Some(self.delivered_pkts.wrapping_sub(s.delivered_pkts)),
            interval_us: (interval_us >= min_rtt_us).then_some(interval_us),
            prior_delivered_pkts: s.delivered_pkts,
            is_app_limited: s.app_limited(),
        }
    }
}

/// True if the wrapping counter `a` is after `b`.
pub(crate) fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packet i at `send(i)` and acknowledges each packet at `ack(i)`, in order of time; returns all
    /// samples.
    fn samples(pkts: u64, send: impl Fn(u64) -> u64, ack: impl Fn(u64) -> u64) -> Vec<Sample> {
        let (mut rate, mut snapshots, mut samples) = (Rate::default(), Vec::new(), Vec::new());
        let (mut sent, mut acked) = (0, 0);
        while acked < pkts {
            if sent < pkts && (sent == acked || send(sent) < ack(acked)) {
                snapshots.push(rate.on_send(send(sent), sent == acked));
                sent += 1;
                continue;
            }
            let (now, mut reference, first) = (ack(acked), Reference::default(), acked);
            while acked < sent && ack(acked) == now {
                rate.delivered_pkts += 1;
                rate.on_delivered(&mut reference, &snapshots[acked as usize], acked);
                acked += 1;
            }
            samples.push(rate.sample(now, (acked - first) as u32, &reference, 1));
        }
        samples
    }

    /// Returns the rate of a sample: packets per millisecond, times 1000.
    fn per_s(s: &Sample) -> u64 {
        u64::from(s.delivered_pkts.unwrap()) * 1_000_000 / s.interval_us.unwrap()
    }

    #[test]
    fn a_full_pipe_without_queue_samples_the_bottleneck() {
        // 10 packets per ms, RTT 10 ms, 100 in flight
        let s = samples(1000, |i| i * 100, |i| i * 100 + 10_000);
        for s in &s[100..] {
            assert_eq!((s.delivered_pkts, s.interval_us), (Some(100), Some(10_000)));
        }
    }

    #[test]
    fn a_queue_lengthens_the_sample_but_does_not_change_the_rate() {
        // 50 packets queued: RTT 15 ms, 150 in flight
        let s = samples(1000, |i| i * 100, |i| i * 100 + 15_000);
        for s in &s[150..] {
            assert_eq!((s.delivered_pkts, s.interval_us), (Some(150), Some(15_000)));
        }
    }

    #[test]
    fn sending_at_twice_the_rate_still_samples_the_bottleneck() {
        // 20 packets per ms offered to a link of 10 per ms
        let s = samples(400, |i| i * 50, |i| 10_000 + i * 100);
        for s in &s[250..] {
            assert_eq!(per_s(s), 10_000, "{s:?}");
        }
    }

    #[test]
    fn acks_that_were_held_back_do_not_inflate_the_rate() {
        // ACKs of each 5 ms come at once: the rate is bounded by that of sending
        let s = samples(2000, |i| i * 100, |i| (i * 100 + 10_000).next_multiple_of(5_000));
        assert!(s[10..].iter().all(|s| per_s(s) <= 10_100), "{:?}", s.iter().map(per_s).max());
        assert!(s[10..].iter().any(|s| per_s(s) >= 9_900));
    }

    #[test]
    fn the_very_first_packet_gives_a_sample() {
        let s = samples(1, |_| 0, |_| 10_000);
        assert_eq!(
            (s[0].delivered_pkts, s[0].interval_us, s[0].prior_delivered_pkts),
            (Some(1), Some(10_000), 0)
        );
    }

    #[test]
    fn an_idle_gap_is_not_part_of_the_next_sample() {
        // ten packets, a second of silence, ten packets
        let gap = |i: u64| if i < 10 { i * 100 } else { 1_000_000 + i * 100 };
        let s = samples(20, gap, |i| gap(i) + 10_000);
        assert_eq!(s[10].interval_us, Some(10_000));
    }

    #[test]
    fn an_interval_shorter_than_any_rtt_is_no_sample() {
        let mut rate = Rate::default();
        let snapshot = rate.on_send(1000, true);
        let mut reference = Reference::default();
        rate.delivered_pkts += 1;
        rate.on_delivered(&mut reference, &snapshot, 0);
        let s = rate.sample(1000 + 9_999, 1, &reference, 10_000);
        assert_eq!((s.delivered_pkts, s.interval_us), (Some(1), None));
    }

    #[test]
    fn samples_are_marked_until_the_app_limited_bubble_has_passed() {
        let mut rate = Rate { app_limited_until: 2, ..Rate::default() };
        for (seq, limited) in [(0, true), (1, true), (2, true), (3, false)] {
            let snapshot = rate.on_send(seq * 10, false);
            assert_eq!(snapshot.app_limited(), limited, "packet {seq}");
            let mut reference = Reference::default();
            rate.delivered_pkts += 1;
            rate.on_delivered(&mut reference, &snapshot, seq);
            assert_eq!(rate.sample(seq * 10 + 5, 1, &reference, 1).is_app_limited, limited);
        }
    }

    #[test]
    fn order_of_counters_survives_wrapping() {
        assert!(after(1, 0) && !after(0, 0) && !after(0, 1));
        assert!(after(3, u32::MAX - 3) && !after(u32::MAX - 3, 3));
    }
}
