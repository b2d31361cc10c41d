//! The short way for ACKs that only acknowledge the oldest packets, when all is well. It leaves out of `ack.rs` and
//! `recovery.rs` what cannot happen then, and nothing else: a test sends every ACK the long way and compares.

use fairpace_cc::{CaState, Event, Kind, View};

use super::Sender;
use super::congestion::{sequence_number, signed};
use crate::control::Control;
use crate::{Ack, Nanos, US};

impl<C: Control> Sender<C> {
    /// Nothing is SACKed, lost, sent again, marked or being probed, and the ACK is for new data.
    #[inline]
    pub(super) fn is_common(&self, ack: &Ack) -> bool {
        #[cfg(test)]
        if tests::LONG_WAY.get() {
            return false;
        }
        self.ca_state == CaState::Open
            && self.board.is_clean()
            && ack.next > self.board.una()
            && ack.blocks[0].is_empty()
            && self.recovery.probe.is_none()
            && !(ack.ece && self.ecn.on)
    }

    /// Only the first and the last of the packets up to `next` matter.
    #[inline]
    pub(super) fn take_common_ack(&mut self, now: Nanos, next: u64) {
        let now_us = now / US;
        let una = self.board.una();
        let prior_in_flight = self.board.packets_out();
        let first_us = self.board.snapshot(una).sent_us;
        let last = self.board.snapshot(next - 1);
        let acked = (next - una) as u32;
        let (oldest_us, rtt_us) = (now_us.saturating_sub(first_us), now_us.saturating_sub(last.sent_us));

        self.recovery.timeouts_in_a_row = 0;
        self.rate.count(acked, false);
        self.rate.advance(&last);
        self.rack.on_delivered(now_us, last.sent_us, next - 1, false, self.rtt.min_us());
        self.board.ack_clean(next);
        self.rtt.sample_min(now, rtt_us);
        self.rtt.sample(oldest_us, next, self.board.nxt());
        self.rack.update_reo_wnd(Some(last.delivered_pkts), self.rate.delivered_pkts);
        self.set_timer(now);
        if self.kind == Kind::GrowsCwnd {
            self.grow_on_common_ack(now, acked, rtt_us);
            return;
        }
        let sample = self.rate.sample_of(now_us, acked, &last, self.rtt.min_us());
        let view = View {
            is_app_limited: sample.is_app_limited,
            sample_delivered_pkts: signed(sample.delivered_pkts),
            sample_interval_us: signed(sample.interval_us),
            rtt_us: signed(Some(rtt_us)),
            sample_prior_delivered_pkts: last.delivered_pkts,
            prior_inflight_pkts: prior_in_flight,
            acked_pkts: acked,
            sample_inflight_pkts: last.inflight_pkts,
            sample_lost_pkts: self.board.lost_pkts().wrapping_sub(last.lost_pkts),
            sample_delivered_ce_pkts: last.marks_since(self.rate.delivered_ce_pkts),
            sample_end_seq: sequence_number(next),
            ..self.view(now)
        };
        self.let_control_act(&view);
    }

    /// The RTT sample first, then growth, both on one view.
    #[inline]
    fn grow_on_common_ack(&mut self, now: Nanos, acked: u32, rtt_us: u64) {
        let mut view = View { acked_pkts: acked, rtt_us: signed(Some(rtt_us)), ..self.view(now) };
        self.tell_with(Event::Sample, &view);
        self.rate.end_ack(now / US, acked);
        view.rtt_us = -1;
        view.delivered_us = self.rate.delivered_us;
        view.app_limited = self.rate.app_limited_until != 0;
        view.cwnd_pkts = self.cwnd;
        view.ssthresh_pkts = self.ssthresh;
        view.pacing_rate_Bps = self.pacer.rate_Bps;
        self.let_control_act(&view);
        self.cwnd_use.validated = now;
        self.set_default_pacing_rate();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::hash::{DefaultHasher, Hash, Hasher};

    use fairpace_cc::{Algorithm, Controller, Params};
    use proptest::prelude::*;

    use super::*;
    use crate::{Receiver, ReceiverConfig, Segment, SenderConfig, SenderStats, Wire};

    thread_local! {
        pub(super) static LONG_WAY: Cell<bool> = const { Cell::new(false) };
    }

    /// A link of a packet per `packet_ns` with a short buffer, 10 ms from either end.
    struct Bottleneck {
        now: Nanos,
        free_at: Nanos,
        packet_ns: Nanos,
        on_the_way: VecDeque<(Nanos, Segment)>,
        sent: Vec<(Nanos, u64)>,
    }

    impl Wire for Bottleneck {
        fn send(&mut self, segment: Segment) {
            self.sent.push((self.now, segment.seq));
            if self.free_at < self.now + 40 * self.packet_ns {
                self.free_at = self.free_at.max(self.now) + self.packet_ns;
                self.on_the_way.push_back((self.free_at + 10_000_000, segment));
            }
        }
    }

    /// Everything that is sent, and when, in two seconds, and after each ACK what the sender remembers. The application
    /// writes `chunk` packets every 50 ms.
    fn run(cc: &str, packet_ns: Nanos, chunk: u64, long_way: bool) -> (Vec<(Nanos, u64)>, SenderStats, u64) {
        LONG_WAY.set(long_way);
        let params = Params::defaults(Algorithm::by_name(cc).unwrap());
        let mut sender = Sender::<Controller>::new(SenderConfig::default(), params);
        let mut receiver = Receiver::new(ReceiverConfig::linux(20_000_000));
        let mut wire =
            Bottleneck { now: 0, free_at: 0, packet_ns, on_the_way: VecDeque::new(), sent: Vec::new() };
        let mut acks: Vec<(Nanos, Ack)> = Vec::new();
        let (mut write, mut memory) = (0, DefaultHasher::new());
        sender.connect(0, &mut wire);
        while wire.now < 2_000_000_000 {
            let arrival = wire.on_the_way.front().map_or(Nanos::MAX, |(at, _)| *at);
            let ack = acks.first().map_or(Nanos::MAX, |(at, _)| *at + 10_000_000);
            let receiving = receiver.next_timer().unwrap_or(Nanos::MAX);
            let sending = sender.next_timer().unwrap_or(Nanos::MAX);
            wire.now = arrival.min(ack).min(receiving).min(sending).min(write);
            if arrival == wire.now {
                let (_, segment) = wire.on_the_way.pop_front().unwrap();
                receiver.on_segment(wire.now, segment, &mut acks);
            } else if receiving == wire.now {
                receiver.on_timer(wire.now, &mut acks);
            } else if ack == wire.now {
                let (_, ack) = acks.remove(0);
                sender.on_ack(wire.now, &ack, &mut wire);
                let s = &sender;
                format!("{:?} {:?} {:?} {:?} {:?}", s.rate, s.rtt, s.rack, s.timer, s.recovery)
                    .hash(&mut memory);
            } else if sending == wire.now {
                sender.on_timer(wire.now, &mut wire);
            } else {
                write += 50_000_000;
                sender.write(wire.now, chunk, &mut wire);
            }
        }
        (wire.sent, *sender.stats(), memory.finish())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn the_short_way_and_the_long_way_lead_to_the_same(
            cc in prop::sample::select(vec!["reno", "cubic", "bbr1", "bbr3"]),
            packet_ns in 20_000u64..2_000_000,
            chunk in prop_oneof![1u64..300, Just(u64::MAX)],
        ) {
            let (short, long) = (run(cc, packet_ns, chunk, false), run(cc, packet_ns, chunk, true));
            prop_assert!(short.0.len() > 30);
            prop_assert_eq!(short, long);
        }
    }
}
