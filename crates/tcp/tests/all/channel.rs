//! Sender and receiver over a path that loses, reorders and duplicates packets: all data arrives, and
//! no packet is counted twice. (In debug builds the scoreboard recounts its marks every few ACKs.)

use std::collections::BTreeMap;

use fairpace_cc::{Algorithm, Controller, Params};
use fairpace_tcp::{Ack, Ecn, EcnField, Receiver, ReceiverConfig, Segment, Sender, Sending, Window};
use fairpace_test_support::Random;
use proptest::prelude::*;

/// Nanoseconds.
const MS: u64 = 1_000_000;
/// Nanoseconds.
const MONTH: u64 = 30 * 86_400_000 * MS;

/// From 0 to 100.
fn percent(random: &mut Random) -> f64 {
    random.unit() * 100.0
}

#[derive(Debug, Clone, Copy)]
struct Path {
    rtt_ms: u64,
    loss: f64,
    ack_loss: f64,
    duplication: f64,
    jitter_ms: u64,
    /// Of the packets that may be marked, per cent.
    marks: f64,
    seed: u64,
}

struct Outcome {
    finished: bool,
    retransmitted: u64,
    lost: u64,
    timeouts: u64,
    took_ms: u64,
    /// Packets that the receiver had room for at the end.
    rwnd_pkts: u32,
}

/// Sends `pkts` packets over the path, for a month at most: with the RTO at its bound of two minutes heavy
/// loss of data and ACKs takes long, but it must end.
fn transfer(cc: &str, pkts: u64, path: Path) -> Outcome {
    transfer_between(cc, pkts, path, Sending::default(), ReceiverConfig::linux(path.rtt_ms * MS))
}

/// Segments and ACKs on their way, by the time of their arrival and a number that distinguishes those of one
/// time.
struct Channel {
    path: Path,
    random: Random,
    data: BTreeMap<(u64, u64), Segment>,
    acks: BTreeMap<(u64, u64), Ack>,
    id: u64,
    lost: u64,
}

impl Channel {
    fn new(path: Path) -> Channel {
        let random = Random::new(path.seed);
        Channel { path, random, data: BTreeMap::new(), acks: BTreeMap::new(), id: 0, lost: 0 }
    }

    fn send(&mut self, now: u64, mut segment: Segment) {
        let Path { rtt_ms, loss, duplication, jitter_ms, marks, .. } = self.path;
        if segment.ecn != EcnField::NotEct && percent(&mut self.random) < marks {
            segment.ecn = EcnField::Ce;
        }
        let copies = 1 + u64::from(percent(&mut self.random) < duplication);
        for _ in 0..copies {
            self.id += 1;
            let at = now + rtt_ms * MS / 2 + self.random.bits() % (jitter_ms * MS + 1);
            if percent(&mut self.random) < loss {
                self.lost += 1;
            } else {
                self.data.insert((at, self.id), segment);
            }
        }
    }

    fn send_ack(&mut self, leaves: u64, ack: Ack) {
        self.id += 1;
        if percent(&mut self.random) >= self.path.ack_loss {
            self.acks.insert((leaves + self.path.rtt_ms * MS / 2, self.id), ack);
        }
    }

    /// When the next segment or ACK arrives.
    fn next(&self) -> Option<u64> {
        let data = self.data.keys().next().map(|(at, _)| *at);
        data.into_iter().chain(self.acks.keys().next().map(|(at, _)| *at)).min()
    }
}

/// What has arrived by now.
fn arrived<T>(on_their_way: &mut BTreeMap<(u64, u64), T>, now: u64) -> Option<T> {
    on_their_way.first_entry().filter(|entry| entry.key().0 <= now).map(|entry| entry.remove())
}

/// The same between hosts of any kind.
fn transfer_between(cc: &str, pkts: u64, path: Path, sending: Sending, receiving: ReceiverConfig) -> Outcome {
    let params = Params::defaults(Algorithm::by_name(cc).unwrap());
    // with many losses, the usual number of SYNs might not do
    let sending = Sending { syn_retries: 127, ..sending };
    let mut sender = Sender::<Controller>::new(sending, 7, params);
    let mut receiver = Receiver::new(receiving);
    let mut channel = Channel::new(path);
    let (mut wire, mut available, mut rwnd_pkts, mut now) = (Vec::<Segment>::new(), 0, 0, 0);
    sender.connect(0, &mut wire);
    sender.write(0, pkts, &mut wire);
    loop {
        wire.drain(..).for_each(|segment| channel.send(now, segment));
        let outcome = Outcome {
            finished: false,
            retransmitted: sender.stats().retransmitted_pkts,
            lost: channel.lost,
            timeouts: sender.stats().timeouts,
            took_ms: now / MS,
            rwnd_pkts,
        };
        if sender.is_idle() {
            return Outcome { finished: available == pkts && receiver.rcv_nxt() == pkts, ..outcome };
        }
        let times = [channel.next(), sender.next_timer(), receiver.next_timer()];
        let Some(next) = times.into_iter().flatten().min() else { return outcome }; // stalled
        now = next.max(now);
        if now > MONTH {
            return outcome;
        }
        let mut answers: Vec<(u64, Ack)> = Vec::new();
        while let Some(segment) = arrived(&mut channel.data, now) {
            available += receiver.on_segment(now, segment, &mut answers);
        }
        if receiver.next_timer().is_some_and(|t| t <= now) {
            available += receiver.on_timer(now, &mut answers);
        }
        for (leaves, ack) in answers {
            rwnd_pkts = ack.rwnd_pkts;
            channel.send_ack(leaves, ack);
        }
        while let Some(ack) = arrived(&mut channel.acks, now) {
            sender.on_ack(now, &ack, &mut wire);
        }
        if sender.next_timer().is_some_and(|t| t <= now) {
            sender.on_timer(now, &mut wire);
        }
    }
}

/// Loses nothing, keeps the order.
const CLEAN: Path =
    Path { rtt_ms: 20, loss: 0.0, ack_loss: 0.0, duplication: 0.0, jitter_ms: 0, marks: 0.0, seed: 1 };

#[test]
fn a_clean_path_needs_no_retransmission() {
    for cc in ["reno", "cubic", "bbr1"] {
        let o = transfer(cc, 2000, CLEAN);
        assert!(
            o.finished && o.retransmitted == 0 && o.timeouts == 0,
            "{cc}: {} retransmitted",
            o.retransmitted
        );
    }
}

#[test]
fn only_lost_packets_are_retransmitted() {
    for cc in ["reno", "cubic", "bbr1"] {
        let o = transfer(cc, 20_000, Path { loss: 1.0, ..CLEAN });
        assert!(o.finished, "{cc}");
        // a tail loss probe or a timeout may add a few
        assert!(
            o.retransmitted >= o.lost && o.retransmitted <= o.lost + o.lost / 20 + 5,
            "{cc}: {} lost, {} retransmitted",
            o.lost,
            o.retransmitted
        );
    }
}

#[test]
fn sack_recovers_one_percent_of_loss_without_timeouts_in_a_large_window() {
    let o = transfer("bbr1", 20_000, Path { loss: 1.0, ..CLEAN });
    assert!(o.finished && o.timeouts <= 1, "{} timeouts in {} ms", o.timeouts, o.took_ms);
}

#[test]
fn duplicates_from_the_network_cause_no_retransmissions() {
    let o = transfer("reno", 5000, Path { duplication: 10.0, ..CLEAN });
    assert!(o.finished && o.retransmitted == 0, "{} retransmitted", o.retransmitted);
}

#[test]
fn half_of_all_acks_may_be_lost() {
    let o = transfer("cubic", 5000, Path { ack_loss: 50.0, ..CLEAN });
    assert!(o.finished && o.timeouts <= 2, "{} timeouts", o.timeouts);
}

#[test]
fn autotuning_costs_a_bulk_flow_at_most_two_rounds_and_ends_at_its_bound() {
    let path = Path { rtt_ms: 50, ..CLEAN };
    let with = |window| {
        let receiving = ReceiverConfig { window, ..ReceiverConfig::linux(50 * MS) };
        transfer_between("cubic", 20_000, path, Sending::default(), receiving)
    };
    let ample = with(Window::Ample);
    let tuned = with(Window::Autotuned(64_000_000));
    assert!(ample.finished && tuned.finished);
    // two round trips at most
    assert!(tuned.took_ms <= ample.took_ms + 100, "{} ms, {} ms", tuned.took_ms, ample.took_ms);
    let small = with(Window::Autotuned(1_000_000));
    assert_eq!(small.rwnd_pkts, 1_000_000 / 1448);
    // a window per round trip
    let rounds = 20_000 / u64::from(small.rwnd_pkts);
    assert!(small.took_ms > rounds * 50 && small.took_ms < (rounds + 12) * 50, "{} ms", small.took_ms);
}

#[test]
fn newreno_and_rfc_6675_recover_from_a_loss_without_a_timeout() {
    for (sack, rack) in [(false, true), (true, false), (false, false)] {
        let sending = Sending { sack, rack, ..Sending::default() };
        let receiving = ReceiverConfig { sack, ..ReceiverConfig::linux(20 * MS) };
        let path = Path { loss: 0.1, ..CLEAN };
        let o = transfer_between("reno", 20_000, path, sending, receiving);
        assert!(o.finished && o.lost > 5 && o.timeouts <= 1, "{sack} {rack}: {} timeouts", o.timeouts);
        assert!(
            o.retransmitted <= o.lost + 2,
            "{sack} {rack}: {} lost, {} retransmitted",
            o.lost,
            o.retransmitted
        );
    }
}

#[test]
fn without_pacing_prr_or_tso_a_transfer_still_needs_no_retransmission() {
    for cc in ["reno", "bbr1"] {
        let sending = Sending { pacing: Some(false), prr: false, tso: false, ..Sending::default() };
        let o = transfer_between(cc, 2000, CLEAN, sending, ReceiverConfig::linux(20 * MS));
        assert!(o.finished && o.retransmitted == 0);
    }
}

/// Any switches, and a path that any of them may meet.
fn any_ends() -> impl Strategy<Value = (Sending, ReceiverConfig)> {
    let ecn = || prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp, Ecn::Accurate, Ecn::L4s]);
    let window = prop_oneof![
        Just(Window::Ample),
        (0u64..2_000_000).prop_map(Window::Fixed),
        (0u64..2_000_000).prop_map(Window::Autotuned)
    ];
    let sender = (any::<[bool; 9]>(), prop::option::of(any::<bool>()), 1u32..40, ecn(), 576u32..9001);
    let sender = sender.prop_map(
        |(
            [sack, rack, tlp, frto, undo, prr, idle_restart, tso, accecn_option],
            pacing,
            initial_cwnd_pkts,
            ecn,
            mtu_bytes,
        )| Sending {
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
            mtu_bytes,
            ..Sending::default()
        },
    );
    let receiver = (window, 1u32..6, any::<[bool; 3]>(), ecn(), 0u64..2 * MS, 0u64..100 * MS).prop_map(
        |(window, ack_every, [delayed_ack, compression, psh_ack], ecn, gro_ns, ack_delay_ns)| {
            ReceiverConfig {
                window,
                ack_every,
                psh_ack,
                delayed_ack,
                sack_delay_ns: if compression { MS } else { 0 },
                ecn,
                gro_ns,
                ack_delay_ns,
                ..ReceiverConfig::default()
            }
        },
    );
    (sender, receiver, any::<bool>()).prop_map(|(sender, receiver, both)| {
        let sack = sender.sack || both; // a sender may ignore SACKs, a receiver may not send any unasked
        (sender, ReceiverConfig { sack, mss_bytes: sender.mss_bytes(), ..receiver })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_over_any_path(
        cc in prop::sample::select(vec!["reno", "cubic", "bbr1", "bbq"]),
        pkts in 1u64..1500,
        rtt_ms in 1u64..200,
        loss in prop_oneof![Just(0.0), 0.0..5.0, 0.0..40.0],
        ack_loss in prop_oneof![Just(0.0), 0.0..40.0],
        duplication in prop_oneof![Just(0.0), 0.0..20.0],
        jitter_ms in prop_oneof![Just(0u64), 0u64..5, 0u64..100],
        seed in any::<u64>(),
    ) {
        let o = transfer(cc, pkts, Path { rtt_ms, loss, ack_loss, duplication, jitter_ms, marks: 0.0, seed });
        prop_assert!(o.finished, "stalled after {} ms, {} timeouts", o.took_ms, o.timeouts);
    }

    #[test]
    fn everything_arrives_between_any_two_hosts(
        cc in prop::sample::select(vec!["reno", "cubic", "bbr1", "bbr3"]),
        (sending, receiving) in any_ends(),
        pkts in 1u64..1000,
        rtt_ms in 1u64..200,
        loss in prop_oneof![Just(0.0), 0.0..5.0, 0.0..40.0],
        ack_loss in prop_oneof![Just(0.0), 0.0..40.0],
        duplication in prop_oneof![Just(0.0), 0.0..20.0],
        jitter_ms in prop_oneof![Just(0u64), 0u64..5, 0u64..100],
        marks in prop_oneof![Just(0.0), 0.0..100.0],
        seed in any::<u64>(),
    ) {
        let path = Path { rtt_ms, loss, ack_loss, duplication, jitter_ms, marks, seed };
        let o = transfer_between(cc, pkts, path, sending, receiving);
        prop_assert!(o.finished, "stalled after {} ms, {} timeouts", o.took_ms, o.timeouts);
    }
}
