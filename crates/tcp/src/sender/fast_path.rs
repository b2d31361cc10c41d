//! The fast path for ACKs of new data in state Open without SACKs, losses and marks. It is the code of
//! `ack.rs` and `recovery.rs` without the cases that cannot occur in this state. A test sends every ACK
//! through the slow path and compares.

use fairpace_cc::{CaState, Event, Kind, View};

use super::Sender;
use super::congestion::signed;
use crate::control::Control;
use crate::scoreboard::Transmission;
use crate::time::{Nanos, US};
use crate::wire::Ack;

impl<C: Control> Sender<C> {
    /// True if the ACK is of new data, and no packet is SACKed, lost, retransmitted, marked or probed.
    /// Without SACK the window field matters, too.
    #[inline]
    pub(super) fn is_fast_path(&self, ack: &Ack) -> bool {
        #[cfg(test)]
        if tests::SLOW_PATH.get() {
            return false;
        }
        self.ca_state == CaState::Open
            && self.config.sack
            && self.board.is_clean()
            && ack.next > self.board.una()
            && ack.blocks[0].is_empty()
            && self.recovery.probe.is_none()
            && !(ack.ece && self.ecn.is_on())
            && !self.has_new_marks(ack)
    }

    /// Processes an ACK of all packets below `next`. Only the first and the last packet matter.
    #[inline]
    pub(super) fn process_ack_fast(&mut self, now: Nanos, next: u64) {
        let now_us = now / US;
        let una = self.board.una();
        let prior_inflight_pkts = self.board.packets_out();
        let first_us = self.board.snapshot(una).sent_us;
        let last = self.board.snapshot(next - 1);
        let acked = (next - una) as u32;
        let (oldest_us, rtt_us) = (now_us.saturating_sub(first_us), now_us.saturating_sub(last.sent_us));

        self.recovery.timeouts_in_a_row = 0;
        self.rate.count(acked, false);
        self.rate.advance(&last);
        let sent = Transmission { sent_us: last.sent_us, seq: next - 1 };
        self.rack.on_delivered(now_us, sent, false, self.rtt.min_us());
        self.board.ack_clean(next);
        self.rtt.sample_min(now, rtt_us);
        self.rtt.sample(oldest_us, next, self.board.nxt());
        self.rack.update_reo_wnd(Some(last.delivered_pkts), self.rate.delivered_pkts);
        self.set_timer(now);
        if self.kind == Kind::GrowsCwnd {
            self.grow_fast(now, acked, rtt_us);
            return;
        }
        let sample = self.rate.sample_of(now_us, acked, &last, self.rtt.min_us());
        let view = View {
            is_app_limited: sample.is_app_limited,
            sample_delivered_pkts: signed(sample.delivered_pkts),
            sample_interval_us: signed(sample.interval_us),
            rtt_us: signed(Some(rtt_us)),
            sample_prior_delivered_pkts: last.delivered_pkts,
            prior_inflight_pkts,
            acked_pkts: acked,
            sample_inflight_pkts: last.inflight_pkts,
            sample_lost_pkts: self.board.lost_pkts().wrapping_sub(last.lost_pkts),
            sample_delivered_ce_pkts: last.marks_since(self.rate.delivered_ce_pkts),
            sample_end_seq: self.sequence_number(next),
            ..self.view(now)
        };
        self.call_on_ack(&view);
    }

    /// Reports the RTT sample, then calls the algorithm for growth. Both calls get the same view.
    #[inline]
    fn grow_fast(&mut self, now: Nanos, acked: u32, rtt_us: u64) {
        let mut view = View { acked_pkts: acked, rtt_us: signed(Some(rtt_us)), ..self.view(now) };
        self.notify_with(Event::Sample, &view);
        self.rate.end_ack(now / US, acked);
        view.rtt_us = -1;
        view.delivered_us = self.rate.delivered_us;
        view.app_limited = self.rate.app_limited_until != 0;
        view.cwnd_pkts = self.cwnd;
        view.ssthresh_pkts = self.ssthresh;
        view.pacing_rate_Bps = self.pacer.rate_Bps;
        self.call_on_ack(&view);
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
    use crate::{Receiver, ReceiverConfig, Segment, SenderStats, Sending, Wire};

    thread_local! {
        pub(super) static SLOW_PATH: Cell<bool> = const { Cell::new(false) };
    }

    /// A link that takes `packet_ns` per packet, with a short buffer, 10 ms from either end.
    struct Bottleneck {
        now: Nanos,
        free_at: Nanos,
        packet_ns: Nanos,
        in_flight: VecDeque<(Nanos, Segment)>,
        sent: Vec<(Nanos, u64)>,
    }

    impl Wire for Bottleneck {
        fn send(&mut self, segment: Segment) {
            self.sent.push((self.now, segment.seq));
            if self.free_at < self.now + 40 * self.packet_ns {
                self.free_at = self.free_at.max(self.now) + self.packet_ns;
                self.in_flight.push_back((self.free_at + 10_000_000, segment));
            }
        }
    }

    /// Returns all packets sent in two seconds with their times, and a hash of the sender's state after each
    /// ACK. The application writes `chunk` packets every 50 ms.
    fn run(cc: &str, packet_ns: Nanos, chunk: u64, slow_path: bool) -> (Vec<(Nanos, u64)>, SenderStats, u64) {
        SLOW_PATH.set(slow_path);
        let params = Params::defaults(Algorithm::by_name(cc).unwrap());
        let mut sender = Sender::<Controller>::new(Sending::default(), 0, params);
        let mut receiver = Receiver::new(ReceiverConfig::linux(20_000_000));
        let mut wire =
            Bottleneck { now: 0, free_at: 0, packet_ns, in_flight: VecDeque::new(), sent: Vec::new() };
        let mut acks: Vec<(Nanos, Ack)> = Vec::new();
        let (mut write, mut memory) = (0, DefaultHasher::new());
        sender.connect(0, &mut wire);
        while wire.now < 2_000_000_000 {
            let arrival = wire.in_flight.front().map_or(Nanos::MAX, |(at, _)| *at);
            let ack = acks.first().map_or(Nanos::MAX, |(at, _)| *at + 10_000_000);
            let receiving = receiver.next_timer().unwrap_or(Nanos::MAX);
            let sending = sender.next_timer().unwrap_or(Nanos::MAX);
            wire.now = arrival.min(ack).min(receiving).min(sending).min(write);
            if arrival == wire.now {
                let (_, segment) = wire.in_flight.pop_front().unwrap();
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
        fn fast_path_and_slow_path_give_the_same_result(
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
