//! RACK: a packet is lost if a packet sent sufficiently later was delivered (RFC 8985; Linux:
//! tcp_recovery.c).

use crate::rate::after;
use crate::scoreboard::Transmission;

/// Number of recoveries for which a widened reordering window stays, RFC 8985, section 6.2, step 4.
const REO_WND_PERSIST: u32 = 16;
/// The widest reordering window, in quarters of the minimum RTT (Linux: u8 reo_wnd_steps).
const REO_WND_STEPS_MAX: u64 = 255;

#[derive(Debug, Clone, Default)]
pub(crate) struct Rack {
    /// The delivered packet that was sent last.
    delivered: Transmission,
    /// RTT of the last delivery.
    rtt_us: u64,
    /// True if a packet was delivered since the last loss detection.
    pub(crate) advanced: bool,
    /// Width of the reordering window, in quarters of the minimum RTT.
    reo_wnd_steps: u64,
    /// Number of recoveries after which the window narrows again.
    pub(crate) reo_wnd_persist: u32,
    /// True if a D-SACK has reported a spurious retransmission since the window was last widened.
    pub(crate) dsack_seen: bool,
    /// Value of `delivered_pkts` when the window was last widened.
    last_delivered: u32,
    /// True if reordering was observed on this connection.
    pub(crate) reordering_seen: bool,
}

/// Inputs from which the reordering window follows.
pub(crate) struct ReoWndInput {
    pub(crate) in_recovery: bool,
    /// True if as many packets were SACKed as the duplicate-ACK threshold.
    pub(crate) dupthresh_reached: bool,
    pub(crate) min_rtt_us: u64,
    pub(crate) srtt_us: u64,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Rack { reo_wnd_steps: 1, ..Rack::default() }
    }

    /// The delivered packet that was sent last.
    pub(crate) fn delivered(&self) -> Transmission {
        self.delivered
    }

    /// Records the delivery of a packet. If it was retransmitted less than a minimum RTT ago, the original
    /// has arrived.
    pub(crate) fn on_delivered(
        &mut self,
        now_us: u64,
        sent: Transmission,
        retransmitted: bool,
        min_rtt_us: u64,
    ) {
        let rtt_us = now_us.saturating_sub(sent.sent_us);
        if retransmitted && rtt_us < min_rtt_us {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        self.delivered = self.delivered.max(sent);
    }

    /// The age from which a packet is lost that was sent before the last packet delivered.
    pub(crate) fn age_us(&self, s: &ReoWndInput) -> u64 {
        self.rtt_us + self.reo_wnd_us(s)
    }

    /// RTT of the last delivery, for timeouts.
    pub(crate) fn rtt_us(&self) -> u64 {
        self.rtt_us
    }

    fn reo_wnd_us(&self, s: &ReoWndInput) -> u64 {
        if !self.reordering_seen && (s.in_recovery || s.dupthresh_reached) {
            return 0;
        }
        (s.min_rtt_us / 4 * self.reo_wnd_steps).min(s.srtt_us)
    }

    /// Widens the reordering window once per round in which a D-SACK reported a spurious retransmission
    /// (Linux: tcp_rack_update_reo_wnd).
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

    /// Keeps a widened window for one recovery more.
    pub(crate) fn persist_longer(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }
}
