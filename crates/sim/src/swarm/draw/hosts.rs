//! Random settings of hosts: every field of `Sending` and `Receiving`, impairments of ACKs, and drops before
//! the first link.

use std::time::Duration;

use fairpace_scenario::{Dropped, Drops, Ecn, Flow, PacketKind, Receiving, Sending, View, Window};

use super::{Draw, Feature};

impl Draw {
    pub(super) fn hosts(&mut self, flow: Flow) -> Flow {
        Flow {
            sending: self.sending(),
            receiving: self.receiving(),
            ack_loss_ppb: if self.uses(Feature::AckLoss) { self.share_ppb(60) } else { 0 },
            ack_jitter: self.some_time(Feature::AckJitter, (1, 50_000)),
            ack_aggregation: self.some_time(Feature::AckAggregation, (10, 50_000)),
            host_jitter: self.some_time(Feature::HostJitter, (1, 10_000)),
            view: if self.uses(Feature::KernelView) { View::Kernel } else { View::Exact },
            ..flow
        }
    }

    /// Draws up to three ranges of packets of each kind, most of them soon after the start.
    pub(super) fn drops(&mut self) -> Drops {
        let mut entries = Vec::new();
        for kind in PacketKind::ALL {
            let mut next = 1;
            for _ in 0..self.random.below(4) {
                let first = next + self.magnitude((1, 300)) - 1;
                let last = first + self.magnitude((1, 20)) - 1;
                let twice = kind == PacketKind::Data && self.flip();
                entries.push(Dropped { kind, first, last, twice }.to_string());
                next = last + 1;
            }
        }
        Drops::parse(&entries).expect("the ranges are disjoint")
    }

    /// Draws a time; zero where the feature is not used.
    pub(super) fn some_time(&mut self, feature: Feature, range: (u64, u64)) -> Duration {
        if self.uses(feature) { self.time_us(range) } else { Duration::ZERO }
    }

    #[expect(clippy::needless_update, reason = "a new key need not be drawn")]
    fn sending(&mut self) -> Sending {
        let usual = Sending::default();
        let mut kept = || !self.uses(Feature::Sender);
        let (sack, rack, tlp, frto) = (kept(), kept(), kept(), kept());
        let (undo, prr, idle_restart, tso) = (kept(), kept(), kept(), kept());
        let initial_cwnd_pkts =
            if kept() { usual.initial_cwnd_pkts } else { self.magnitude((1, 1_000)) as u32 };
        let ways = [Ecn::Classic, Ecn::Dctcp, Ecn::Accurate, Ecn::L4s];
        let ecn = if self.uses(Feature::Ecn) { self.one_of(&ways) } else { Ecn::Off };
        let accecn_option = !ecn.is_accurate() || self.flip();
        let pacing = self.uses(Feature::Pacing).then(|| self.flip());
        let mut kept = || !self.uses(Feature::Sender);
        let (rto_min_kept, syns_kept) = (kept(), kept());
        let mut number = |usual, range| if syns_kept { usual } else { self.magnitude(range) as u32 };
        let syn_retries = number(usual.syn_retries, (1, 127));
        let syn_linear_timeouts = number(usual.syn_linear_timeouts, (1, 127));
        let rto_min = if rto_min_kept { usual.rto_min } else { self.time_us((1, 10_000_000)) };
        Sending {
            ecn,
            accecn_option,
            sack,
            rack,
            tlp,
            frto,
            undo,
            prr,
            idle_restart,
            tso,
            pacing,
            initial_cwnd_pkts,
            rto_min,
            syn_retries,
            syn_linear_timeouts,
            // drawn with the links
            mtu_bytes: usual.mtu_bytes,
            ..usual
        }
    }

    #[expect(clippy::needless_update, reason = "a new key need not be drawn")]
    fn receiving(&mut self) -> Receiving {
        let window = if !self.uses(Feature::Window) {
            Window::Ample
        } else if self.flip() {
            Window::Fixed(self.magnitude((1448, 10_000_000)))
        } else {
            Window::Autotuned(self.magnitude((1 << 16, 10_000_000)))
        };
        let delayed_ack = !self.uses(Feature::Receiver);
        // `ack_every` has no effect without delayed ACKs
        let lazy = delayed_ack && self.uses(Feature::Receiver);
        Receiving {
            window,
            ack_every: if lazy { self.magnitude((1, 1_000)) as u32 } else { 2 },
            psh_ack: !self.uses(Feature::Receiver),
            delayed_ack,
            sack_compression: !self.uses(Feature::Receiver),
            gro: self.some_time(Feature::Receiver, (1, 20_000)),
            ack_delay: self.some_time(Feature::Receiver, (1, 100_000)),
            ack_delay_at: if self.uses(Feature::Receiver) {
                self.steps(|draw| draw.some_time(Feature::Receiver, (1, 100_000)))
            } else {
                Vec::new()
            },
            syn_ack_retries: if self.uses(Feature::Receiver) { self.magnitude((1, 255)) as u32 } else { 5 },
            ..Receiving::default()
        }
    }
}
