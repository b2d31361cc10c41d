//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation; Linux: tcp_rate).
//!
//! A sample says how much was delivered between the time that a packet was sent and the time that it was
//! acknowledged. The rate is the slower of the rate of sending and the rate of ACKs over that time, so neither
//! a burst of sending nor a burst of ACKs is mistaken for bandwidth.

/// What a packet remembers of the connection from when it was last sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// When the packet was sent.
    pub(crate) sent_us: u64,
    /// When the packet that opened the current window of sending was sent.
    pub(crate) first_sent_us: u64,
    /// When `delivered_pkts` had last grown.
    pub(crate) delivered_us: u64,
    pub(crate) delivered_pkts: u32,
    pub(crate) app_limited: bool,
}

/// The connection's side of the estimate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rate {
    /// Acknowledged or SACKed so far; wraps.
    pub(crate) delivered_pkts: u32,
    pub(crate) delivered_us: u64,
    first_sent_us: u64,
    /// Samples are limited by the application until `delivered_pkts` has passed this; 0: they are not.
    pub(crate) app_limited_until: u32,
}

/// The packet of an ACK that was sent last, from which the sample is taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reference {
    snapshot: Option<Snapshot>,
    seq: u64,
}

impl Reference {
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }
}

/// A sample; `None` where there was no reference, or the interval is shorter than any RTT has ever been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    pub(crate) delivered_pkts: Option<u32>,
    pub(crate) interval_us: Option<u64>,
    pub(crate) prior_delivered_pkts: u32,
    pub(crate) is_app_limited: bool,
}

impl Rate {
    /// What a packet sent now remembers; `first` when nothing else is outstanding.
    pub(crate) fn on_send(&mut self, sent_us: u64, first: bool) -> Snapshot {
        if first {
            self.first_sent_us = sent_us;
            self.delivered_us = sent_us;
        }
        Snapshot {
            sent_us,
            first_sent_us: self.first_sent_us,
            delivered_us: self.delivered_us,
            delivered_pkts: self.delivered_pkts,
            app_limited: self.app_limited_until != 0,
        }
    }

    /// A packet was delivered: it becomes the reference if it was sent after what is.
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

    /// Ends an ACK that newly delivered `acked` packets (already in `delivered_pkts`).
    pub(crate) fn sample(
        &mut self,
        now_us: u64,
        acked: u32,
        reference: &Reference,
        min_rtt_us: u64,
    ) -> Sample {
        if self.app_limited_until != 0 && after(self.delivered_pkts, self.app_limited_until) {
            self.app_limited_until = 0;
        }
        if acked > 0 {
            self.delivered_us = now_us;
        }
        let Some(s) = reference.snapshot() else { return Sample::default() };
        let send_us = s.sent_us - s.first_sent_us.min(s.sent_us);
        let ack_us = now_us - s.delivered_us.min(now_us);
        let interval_us = send_us.max(ack_us);
        Sample {
            delivered_pkts: Some(self.delivered_pkts.wrapping_sub(s.delivered_pkts)),
            interval_us: (interval_us >= min_rtt_us).then_some(interval_us),
            prior_delivered_pkts: s.delivered_pkts,
            is_app_limited: s.app_limited,
        }
    }
}

/// Order of wrapping counters.
pub(crate) fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}
