//! The switches of a receiver: ECN echo, GRO, rwnd, artificial ACK delay.

use std::sync::Arc;

use fairpace_tcp::{Ack, Ecn, EcnField, MSS_BYTES, Receiver, ReceiverConfig, Segment, Window};

type Nanos = u64;
// in nanoseconds
const US: Nanos = 1_000;
const MS: Nanos = 1_000_000;

/// Linux with a constant rwnd: while it opens, more ACKs are not delayed.
fn linux() -> ReceiverConfig {
    ReceiverConfig { window: Window::Fixed(10_000_000), ..ReceiverConfig::default() }
}

fn packet(seq: u64) -> Segment {
    Segment { seq, ..Segment::default() }
}

fn syn(requests_ecn: bool) -> Segment {
    Segment { seq: Segment::SYN, cwr: requests_ecn, ..Segment::default() }
}

/// A receiver and all that it has sent.
struct Host {
    receiver: Receiver,
    acks: Vec<(Nanos, Ack)>,
}

impl Host {
    /// Past the handshake and the quick ACKs: it waits for packet 16.
    fn settled(config: ReceiverConfig, segment: Segment) -> Host {
        let gro_ns = config.gro_ns;
        let mut host = Host { receiver: Receiver::new(config), acks: Vec::new() };
        host.receiver.on_segment(0, syn(true), &mut host.acks);
        for seq in 0..16 {
            host.arrives(seq * (gro_ns + 1), Segment { seq, ..segment });
        }
        host.timers_until(100 * MS);
        assert_eq!(host.receiver.rcv_nxt(), 16);
        host.acks.clear();
        host
    }

    fn arrives(&mut self, now: Nanos, segment: Segment) -> u64 {
        self.timers_until(now.saturating_sub(1));
        self.receiver.on_segment(now, segment, &mut self.acks)
    }

    fn timers_until(&mut self, now: Nanos) {
        while let Some(at) = self.receiver.next_timer().filter(|at| *at <= now) {
            self.receiver.on_timer(at, &mut self.acks);
        }
    }

    /// The ACKs since the last call: time, cumulative ACK, ECE.
    fn said(&mut self) -> Vec<(Nanos, u64, bool)> {
        self.acks.drain(..).map(|(at, a)| (at, a.next, a.ece)).collect()
    }
}

fn capable(seq: u64) -> Segment {
    Segment { ecn: EcnField::Ect0, ..packet(seq) }
}

fn marked(seq: u64) -> Segment {
    Segment { ecn: EcnField::Ce, ..packet(seq) }
}

fn ecn(ecn: Ecn) -> ReceiverConfig {
    ReceiverConfig { ecn, ..linux() }
}

#[test]
fn a_receiver_agrees_to_ecn_if_it_uses_ecn_and_the_first_syn_requests_it() {
    for (config, requests) in
        [(Ecn::Off, true), (Ecn::Classic, true), (Ecn::Dctcp, true), (Ecn::Classic, false)]
    {
        let (mut receiver, mut acks) = (Receiver::new(ecn(config)), Vec::new());
        receiver.on_segment(0, syn(requests), &mut acks);
        receiver.on_segment(0, syn(false), &mut acks);
        receiver.on_segment(0, marked(0), &mut acks);
        let agrees = requests && config != Ecn::Off;
        assert!(acks.iter().all(|(_, a)| a.ece == agrees), "{config:?} {requests}");
    }
}

#[test]
fn every_ack_from_a_mark_until_cwr_echoes_it() {
    let mut h = Host::settled(ecn(Ecn::Classic), capable(0));
    h.arrives(200 * MS, marked(16));
    h.arrives(201 * MS, capable(17));
    h.arrives(202 * MS, capable(18));
    h.arrives(203 * MS, capable(19));
    h.arrives(204 * MS, capable(20));
    // the first two at once, as the sender's window may be small; then every second packet
    assert_eq!(
        h.said(),
        [(200 * MS, 17, true), (201 * MS, 18, true), (203 * MS, 20, true)],
        "RFC 3168 section 6.1.3"
    );
    h.arrives(205 * MS, Segment { cwr: true, ..capable(21) });
    h.arrives(206 * MS, capable(22));
    assert_eq!(h.said(), [(205 * MS, 22, false)], "CWR is acknowledged at once, and ends the echo");
    // CWR and a new mark on one packet: the mark is news
    h.arrives(207 * MS, Segment { cwr: true, ..marked(23) });
    assert_eq!(h.said(), [(207 * MS, 24, true)]);
}

#[test]
fn an_accurate_receiver_counts_marks_and_acknowledges_the_first_and_every_second_at_once() {
    let counts = |h: &mut Host| -> Vec<_> {
        h.acks.drain(..).map(|(at, ack)| (at / MS, ack.next, ack.ce_pkts, ack.ece)).collect()
    };
    let mut h = Host::settled(ecn(Ecn::Accurate), capable(0));
    h.arrives(200 * MS, capable(16));
    assert_eq!(counts(&mut h), [], "a delayed ACK");
    // RFC 9768, section 3.2.2.5.1: a change to CE triggers an ACK
    h.arrives(201 * MS, marked(17));
    assert_eq!(counts(&mut h), [(201, 18, 1, false)]);
    // and so does each second packet with CE, also if a duplicate is one of them
    h.arrives(202 * MS, marked(18));
    assert_eq!(counts(&mut h), []);
    h.arrives(203 * MS, marked(19));
    assert_eq!(counts(&mut h), [(203, 20, 3, false)]);
    h.arrives(204 * MS, marked(20));
    // no change to a packet without CE triggers one, but the second packet does
    h.arrives(205 * MS, capable(21));
    assert_eq!(counts(&mut h), [(205, 22, 4, false)]);
    h.arrives(206 * MS, capable(22));
    assert_eq!(counts(&mut h), []);
    h.timers_until(400 * MS);
    assert_eq!(counts(&mut h), [(248, 23, 4, false)], "the count stays on every ACK");
}

#[test]
fn an_accurate_receiver_counts_each_packet_that_gro_has_joined() {
    let config = ReceiverConfig { gro_ns: MS, ..ecn(Ecn::L4s) };
    let mut h = Host::settled(config, capable(0));
    for seq in 16..21 {
        h.arrives(200 * MS, marked(seq));
    }
    h.arrives(200 * MS, capable(21));
    h.timers_until(300 * MS);
    let counts: Vec<_> = h.acks.iter().map(|(_, ack)| (ack.next, ack.ce_pkts)).collect();
    assert_eq!(counts[0], (21, 5), "packets with another ECN field are not joined");
    assert!(counts[1..].iter().all(|(_, ce_pkts)| *ce_pkts == 5), "{counts:?}");
}

/// RFC 8257 section 3.2, the state machine of figure 1.
#[test]
fn a_dctcp_echo_never_mixes_marked_and_unmarked_packets() {
    let mut h = Host::settled(ecn(Ecn::Dctcp), capable(0));
    h.arrives(200 * MS, capable(16));
    assert_eq!(h.said(), []);
    // a change: the delayed ACK goes first, without an echo, then this packet's with it
    h.arrives(201 * MS, marked(17));
    assert_eq!(h.said(), [(201 * MS, 17, false), (201 * MS, 18, true)]);
    // no change: delayed ACKs as ever
    h.arrives(202 * MS, marked(18));
    h.arrives(203 * MS, marked(19));
    assert_eq!(h.said(), [(203 * MS, 20, true)]);
    // a change when nothing is delayed
    h.arrives(204 * MS, capable(20));
    assert_eq!(h.said(), [(204 * MS, 21, false)]);
    h.arrives(205 * MS, capable(21));
    h.arrives(206 * MS, capable(22));
    assert_eq!(h.said(), [(206 * MS, 23, false)]);
}

#[test]
fn a_retransmission_does_not_end_a_dctcp_echo() {
    let mut h = Host::settled(ecn(Ecn::Dctcp), capable(0));
    h.arrives(200 * MS, marked(16));
    h.said();
    h.arrives(201 * MS, packet(17)); // not ECN-capable
    h.arrives(202 * MS, marked(18));
    assert!(h.said().iter().all(|(.., ece)| *ece));
}

#[test]
fn gro_makes_one_ack_of_packets_that_follow_closely() {
    let mut h = Host::settled(ReceiverConfig { gro_ns: 50 * US, ..linux() }, packet(0));
    let at = 200 * MS;
    for i in 0..6 {
        assert_eq!(h.arrives(at + i * 10 * US, packet(16 + i)), 0, "held");
    }
    // 50 us after the first: one ACK for all six, the last of which just made it
    h.timers_until(at + MS);
    assert_eq!(h.said(), [(at + 50 * US, 22, false)]);
    // a lone packet's ACK is delayed from when it is received
    h.arrives(300 * MS, packet(22));
    h.timers_until(400 * MS);
    assert_eq!(h.said(), [(342 * MS + 50 * US, 23, false)]);
}

/// Linux: tcp_gro_receive.
#[test]
fn a_psh_ends_what_gro_merges() {
    let mut h = Host::settled(ReceiverConfig { gro_ns: MS, ..linux() }, packet(0));
    let push = |seq| Segment { push: true, ..packet(seq) };
    assert_eq!([packet(16), packet(17), push(18)].map(|p| h.arrives(200 * MS, p)), [0, 0, 3]);
    assert_eq!(h.said(), [(200 * MS, 19, false)]);
    // one that follows none is not held, and its ACK leaves when the application has read
    assert_eq!(h.arrives(210 * MS, push(19)), 1);
    h.timers_until(211 * MS);
    assert_eq!(h.said(), [(210 * MS + 60 * US, 20, false)]);
}

#[test]
fn gro_holds_64_kb_at_most() {
    let mut h = Host::settled(ReceiverConfig { gro_ns: MS, ..linux() }, packet(0));
    let available: Vec<u64> = (16..116).map(|seq| h.arrives(200 * MS, packet(seq))).collect();
    // 45 packets of 1448 bytes, as seen with tcpdump on Linux: "length 65160"
    assert_eq!(available.iter().filter(|n| **n > 0).copied().collect::<Vec<_>>(), [45, 45]);
    assert_eq!(h.said(), [(200 * MS, 61, false), (200 * MS, 106, false)]);
}

#[test]
fn of_longer_packets_gro_holds_and_windows_admit_fewer() {
    let config = ReceiverConfig { gro_ns: MS, mss_bytes: 8948, window: Window::Fixed(100_000), ..linux() };
    let mut h = Host::settled(config, packet(0));
    let available: Vec<u64> = (16..36).map(|seq| h.arrives(200 * MS, packet(seq))).collect();
    assert_eq!(available.iter().filter(|n| **n > 0).copied().collect::<Vec<_>>(), [7, 7], "in 64 KiB");
    assert!(h.acks.iter().all(|(_, ack)| ack.rwnd_pkts == 11), "in 100 kB");
}

#[test]
fn a_packet_that_gro_cannot_merge_ends_the_merged_packet() {
    let config = ReceiverConfig { gro_ns: MS, ..ecn(Ecn::Dctcp) };
    let others = [
        ("a gap", capable(20)),
        ("a mark", marked(18)),
        ("another timestamp", Segment { sent: 5 * MS, ..capable(18) }),
        ("another echo", Segment { echo_ms: 5, ..capable(18) }),
        ("CWR", Segment { cwr: true, ..capable(18) }),
    ];
    for (why, other) in others {
        let mut h = Host::settled(config.clone(), capable(0));
        assert_eq!(h.arrives(200 * MS, capable(16)), 0);
        assert_eq!(h.arrives(200 * MS, capable(17)), 0);
        let available = h.arrives(200 * MS, other);
        assert!(available >= 2, "{why}");
        assert_eq!(h.said()[0], (200 * MS, 18, false), "{why}");
    }
}

#[test]
fn a_merged_packet_out_of_order_is_one_sack_and_a_repeated_one_is_one_d_sack() {
    let mut h = Host::settled(ReceiverConfig { gro_ns: MS, ..linux() }, packet(0));
    let blocks = |h: &mut Host| {
        let (_, ack) = h.acks.pop().expect("an ACK");
        assert!(h.acks.is_empty());
        (ack.next, ack.blocks.iter().filter(|b| !b.is_empty()).map(|b| (b.start, b.end)).collect::<Vec<_>>())
    };
    (20..24).for_each(|seq| assert_eq!(h.arrives(200 * MS, packet(seq)), 0));
    h.timers_until(210 * MS);
    assert_eq!(blocks(&mut h), (16, vec![(20, 24)]));
    (10..14).for_each(|seq| assert_eq!(h.arrives(220 * MS, packet(seq)), 0));
    h.timers_until(230 * MS);
    assert_eq!(blocks(&mut h), (16, vec![(10, 14), (20, 24)]));
    (16..20).for_each(|seq| assert_eq!(h.arrives(240 * MS, packet(seq)), 0));
    h.timers_until(250 * MS);
    assert_eq!(blocks(&mut h), (24, vec![]));
}

#[test]
fn acks_can_be_sent_for_every_packet_or_for_every_fourth() {
    for (config, every) in [
        (linux(), 2),
        (ReceiverConfig { delayed_ack: false, ..linux() }, 1),
        (ReceiverConfig { ack_every: 1, ..linux() }, 1),
        (ReceiverConfig { ack_every: 4, ..linux() }, 4),
    ] {
        let mut h = Host::settled(config, packet(0));
        (16..32).for_each(|seq| {
            h.arrives(200 * MS, packet(seq));
        });
        assert_eq!(h.said().len(), 16 / every);
    }
}

#[test]
fn without_sack_each_packet_out_of_order_makes_a_plain_duplicate_ack() {
    for sack in [true, false] {
        let mut h = Host::settled(ReceiverConfig { sack, ..linux() }, packet(0));
        (17..27).for_each(|seq| {
            h.arrives(200 * MS, packet(seq));
        });
        let plain = h.acks.iter().all(|(_, a)| a.blocks.iter().all(|b| b.is_empty()));
        assert_eq!((h.acks.len(), plain), if sack { (3, false) } else { (10, true) });
    }
}

#[test]
fn without_compression_each_packet_out_of_order_makes_an_ack() {
    let mut h = Host::settled(ReceiverConfig { sack_delay_ns: 0, ..linux() }, packet(0));
    (17..27).for_each(|seq| {
        h.arrives(200 * MS, packet(seq));
    });
    assert_eq!(h.acks.len(), 10);
}

/// The latency cheat of Ma et al. 2017, section III-C.
#[test]
fn delayed_acks_leave_in_order_whatever_the_schedule() {
    let steps: Arc<[(Nanos, Nanos)]> = Arc::new([(210 * MS, 0), (220 * MS, 30 * MS)]);
    let config = ReceiverConfig { ack_every: 1, ack_delay_ns: 20 * MS, ack_delay_at: steps, ..linux() };
    let mut h = Host::settled(config, packet(0));
    for (i, at) in [200, 205, 212, 219, 226].into_iter().enumerate() {
        h.arrives(at * MS, packet(16 + i as u64));
    }
    let left: Vec<_> = h.said().iter().map(|(at, next, _)| (at / MS, *next)).collect();
    // 212 ms: no delay any more, but the ACK of 205 ms is still there
    assert_eq!(left, [(220, 17), (225, 18), (225, 19), (225, 20), (256, 21)]);
}

#[test]
fn a_fixed_window_is_constant_and_of_one_packet_at_least() {
    for (bytes, pkts) in [(0, 1), (u64::from(MSS_BYTES) * 7 + 1, 7), (u64::MAX, u32::MAX)] {
        let mut h = Host::settled(ReceiverConfig { window: Window::Fixed(bytes), ..linux() }, packet(0));
        h.arrives(200 * MS, packet(17));
        h.arrives(200 * MS, packet(16));
        assert!(h.acks.iter().all(|(_, a)| a.rwnd_pkts == pkts));
    }
}

/// A sender that doubles its flight each round trip of 100 ms, whose segments echo the ACKs of the round
/// before. Returns the window at the end of each round.
fn doubling(most_bytes: u64, rounds: u32) -> Vec<u32> {
    let config = ReceiverConfig { window: Window::Autotuned(most_bytes), ..linux() };
    let (mut receiver, mut acks) = (Receiver::new(config), Vec::new());
    receiver.on_segment(0, syn(false), &mut acks);
    let (mut seq, mut windows) = (0, Vec::new());
    for round in 0..rounds {
        let now = u64::from(round + 1) * 100 * MS;
        let echo_ms = (now / MS - 100) as u32;
        for _ in 0..10u64 << round {
            receiver.on_segment(now, Segment { echo_ms, ..packet(seq) }, &mut acks);
            seq += 1;
        }
        windows.push(acks.last().expect("an ACK").1.rwnd_pkts);
    }
    windows
}

/// As by Linux's own receiver, of packets that come one by one: "win 45" on the SYN-ACK, "win 56" on the
/// sixth ACK and all others. Between, the field is in units of 2048 bytes, rounded up (tcp_select_window).
#[test]
fn rwnd_opens_by_two_packets_at_a_time_and_these_acks_are_not_delayed() {
    let config = ReceiverConfig { window: Window::Autotuned(64_000_000), ..linux() };
    let mut h = Host { receiver: Receiver::new(config), acks: Vec::new() };
    h.receiver.on_segment(0, syn(false), &mut h.acks);
    (0..40).for_each(|seq| assert_eq!(h.arrives(100 * MS, packet(seq)), 1));
    let windows: Vec<u32> = h.acks.iter().map(|(_, ack)| ack.rwnd_pkts).collect();
    assert_eq!(windows[..8], [45, 48, 49, 52, 53, 55, 56, 56]);
    // 16 quick ACKs, and one more for each step: tcp_grow_window
    let acks: Vec<u64> = h.acks.iter().map(|(_, ack)| ack.next).collect();
    assert_eq!(acks[1..23], (1..=22).collect::<Vec<_>>());
    assert_eq!(acks[23..], [24, 26, 28, 30, 32, 34, 36, 38, 40]);
}

/// What is held out of order takes its part of the buffer.
#[test]
fn rwnd_opens_less_while_packets_are_held_out_of_order() {
    let opened = |sack: bool| {
        let config = ReceiverConfig { sack, window: Window::Autotuned(64_000_000), ..linux() };
        let mut h = Host { receiver: Receiver::new(config), acks: Vec::new() };
        h.receiver.on_segment(0, syn(false), &mut h.acks);
        (1..10).for_each(|seq| assert_eq!(h.arrives(100 * MS, packet(seq)), 0));
        h.acks.iter().map(|(_, ack)| ack.rwnd_pkts).collect::<Vec<_>>()
    };
    assert_eq!(opened(true)[..7], [45, 48, 49, 52, 53, 53, 53]);
    // without SACK an ACK with another rwnd were no duplicate
    assert_eq!(opened(false), [45; 10]);
}

#[test]
fn autotuning_starts_at_64_kb_and_stays_ahead_of_a_sender_that_doubles() {
    let windows = doubling(64_000_000, 11);
    // 128 KiB of memory, of which five eighths are payload, less the packet that is not read yet, in
    // multiples of 2048 bytes
    assert_eq!(windows[0], (131_072 * 5 / 8 - MSS_BYTES).next_multiple_of(2048) / MSS_BYTES);
    for (round, pair) in windows.windows(2).enumerate() {
        // the next flight fits, and the one after that as well once two rounds have been compared
        assert!(u64::from(pair[0]) >= 10 << (round + 1), "round {round}: {windows:?}");
        if round > 3 && pair[0] < 20_000 {
            assert!((1.9..2.1).contains(&(f64::from(pair[1]) / f64::from(pair[0]))), "{windows:?}");
        }
    }
}

#[test]
fn autotuning_ends_exactly_at_its_bound() {
    for bytes in [50_000, 1_000_000, 6_291_456] {
        let windows = doubling(bytes, 11);
        assert_eq!(u64::from(*windows.last().unwrap()), bytes / u64::from(MSS_BYTES));
    }
}

#[test]
fn autotuning_does_not_grow_for_a_steady_flow() {
    let config = ReceiverConfig { window: Window::Autotuned(64_000_000), ..linux() };
    let (mut receiver, mut acks) = (Receiver::new(config), Vec::new());
    receiver.on_segment(0, syn(false), &mut acks);
    // 10 packets per round trip of 100 ms
    for seq in 0..1000u64 {
        let now = 100 * MS + seq * 10 * MS;
        let echo_ms = (now / MS - 100) as u32;
        receiver.on_segment(now, Segment { echo_ms, ..packet(seq) }, &mut acks);
    }
    // opens as far as the memory at the start allows, by two packets for each that arrives
    let windows: Vec<_> = acks[1..7].iter().map(|(_, a)| a.rwnd_pkts).collect();
    assert_eq!(windows, [48, 49, 52, 53, 55, 56]);
    assert!(acks[7..].iter().all(|(_, a)| a.rwnd_pkts == 56));
}

/// As measured on Linux 6.18, of a flow without loss: an ACK for each packet while rwnd opens.
#[test]
fn acks_are_not_delayed_while_rwnd_opens() {
    for window in [Window::Ample, Window::Autotuned(64_000_000)] {
        let mut host =
            Host { receiver: Receiver::new(ReceiverConfig { window, ..linux() }), acks: Vec::new() };
        host.receiver.on_segment(0, syn(false), &mut host.acks);
        let acks = |host: &mut Host, at: Nanos, pkts: std::ops::Range<u64>| {
            let echo_ms = ((at - 100 * MS) / MS) as u32;
            pkts.for_each(|seq| {
                host.arrives(at, Segment { echo_ms, ..packet(seq) });
            });
            host.said().len()
        };
        assert_eq!(acks(&mut host, 100 * MS, 0..10), 1 + 10, "the SYN-ACK, too");
        // 22 are quick, then every second
        assert_eq!(acks(&mut host, 200 * MS, 10..30), 12 + 4);
        // twice as much data in the second round as in the first: more memory from the next packet on
        assert_eq!(acks(&mut host, 300 * MS, 30..70), 25 + 7);
    }
}

#[test]
fn windows_of_data_give_the_rtt_where_timestamps_cannot() {
    let config = ReceiverConfig { window: Window::Autotuned(64_000_000), ..linux() };
    let (mut receiver, mut acks) = (Receiver::new(config), Vec::new());
    receiver.on_segment(0, syn(false), &mut acks);
    // a round trip of 0.2 ms, full windows: the timestamp clock stands still
    let mut seq = 0;
    for round in 0..8u64 {
        let now = 300 * US + round * 200 * US;
        for _ in 0..acks.last().expect("an ACK").1.rwnd_pkts.min(5000) {
            receiver.on_segment(now, packet(seq), &mut acks);
            seq += 1;
        }
    }
    assert!(acks.last().unwrap().1.rwnd_pkts > 1000, "{:?}", acks.last().unwrap().1.rwnd_pkts);
}

#[test]
fn a_receiver_that_was_reset_is_as_new() {
    let run = |receiver: &mut Receiver| {
        let mut acks = Vec::new();
        receiver.on_segment(0, syn(true), &mut acks);
        for (i, seq) in [0, 1, 2, 5, 3, 9, 7, 4, 4, 200, 6, 8, 300].into_iter().enumerate() {
            receiver.on_segment(i as u64 * MS, marked(seq), &mut acks);
        }
        while let Some(at) = receiver.next_timer() {
            receiver.on_timer(at, &mut acks);
        }
        acks
    };
    let window = Window::Autotuned(1_000_000);
    let config = ReceiverConfig { gro_ns: 10 * US, window, ..ecn(Ecn::Classic) };
    let mut old = Receiver::new(linux());
    run(&mut old);
    old.reset(config.clone());
    assert_eq!(run(&mut old), run(&mut Receiver::new(config)));
}
