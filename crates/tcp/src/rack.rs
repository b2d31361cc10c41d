//! RACK: a packet is lost when one sent sufficiently later has been delivered (RFC 8985; Linux: tcp_recovery.c).

use crate::rate::after;

/// Recoveries that a widened reordering window outlives, RFC 8985 section 6.2 step 4.
const REO_WND_PERSIST: u32 = 16;
/// Quarters of the minimum RTT that the window may grow to.
const REO_WND_STEPS_MAX: u64 = 255;

#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// The delivered packet that was sent last: when, and its number.
    delivered: (u64, u64),
    rtt_us: u64,
    /// Something was delivered since the last look for losses.
    pub(crate) advanced: bool,
    reo_wnd_steps: u64,
    pub(crate) reo_wnd_persist: u32,
    pub(crate) dsack_seen: bool,
    /// `delivered_pkts` when the window was last widened.
    last_delivered: u32,
    /// Reordering has been seen on this connection.
    pub(crate) reordering_seen: bool,
}

/// What decides how long to wait for packets that arrive out of order.
pub(crate) struct Situation {
    pub(crate) in_recovery: bool,
    pub(crate) dupthresh_reached: bool,
    pub(crate) min_rtt_us: u64,
    pub(crate) srtt_us: u64,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Rack {
            delivered: (0, 0),
            rtt_us: 0,
            advanced: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            dsack_seen: false,
            last_delivered: 0,
            reordering_seen: false,
        }
    }

    pub(crate) fn delivered(&self) -> (u64, u64) {
        self.delivered
    }

    /// A packet was delivered. One that was sent again less than a minimum RTT ago is taken for the original.
    pub(crate) fn on_delivered(
        &mut self,
        now_us: u64,
        sent_us: u64,
        seq: u64,
        resent: bool,
        min_rtt_us: u64,
    ) {
        let rtt_us = now_us.saturating_sub(sent_us);
        if resent && rtt_us < min_rtt_us {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        self.delivered = self.delivered.max((sent_us, seq));
    }

    /// Age from which a packet sent before the last one delivered is lost.
    pub(crate) fn age_us(&self, s: &Situation) -> u64 {
        self.rtt_us + self.reo_wnd_us(s)
    }

    /// The RTT of the last delivery alone, for timeouts.
    pub(crate) fn rtt_us(&self) -> u64 {
        self.rtt_us
    }

    fn reo_wnd_us(&self, s: &Situation) -> u64 {
        if !self.reordering_seen && (s.in_recovery || s.dupthresh_reached) {
            return 0;
        }
        (s.min_rtt_us / 4 * self.reo_wnd_steps).min(s.srtt_us)
    }

    /// Widens the window at most once per round in which a D-SACK told of a needless retransmission.
    pub(crate) fn update_reo_wnd(&mut self, sample_prior_delivered: Option<u32>, delivered_pkts: u32) {
        let Some(prior_delivered) = sample_prior_delivered else { return };
        if after(self.last_delivered, prior_delivered) {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.reo_wnd_steps = (self.reo_wnd_steps + 1).min(REO_WND_STEPS_MAX);
            self.dsack_seen = false;
            self.last_delivered = delivered_pkts;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 1;
        }
    }

    pub(crate) fn persist_longer(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }
}
