//! Tests of the times when a receiver sends ACKs, and of their content.

use crate::time::Nanos;
use crate::wire::{Ack, Segment};
use crate::{Receiver, ReceiverConfig, Window};

/// A millisecond, ns.
const MS: Nanos = 1_000_000;

/// Returns a receiver past its quick ACKs: it waits for packet 22. While rwnd opens, with the first six
/// packets, the count of 16 does not fall (as measured on Linux 6.18).
fn receiver() -> Receiver {
    settled(ReceiverConfig::linux(50 * MS), 22)
}

/// Returns a receiver past its quick ACKs with an rwnd that never opens: it waits for packet 16.
fn constant() -> Receiver {
    settled(ReceiverConfig { window: Window::Fixed(10_000_000), ..ReceiverConfig::linux(50 * MS) }, 16)
}

fn settled(config: ReceiverConfig, quick: u64) -> Receiver {
    let mut r = Receiver::new(config);
    for seq in 0..quick {
        let ack = answer(&mut r, 0, Segment { seq, ..Segment::default() });
        assert_eq!(ack.map(|a| a.next), Some(seq + 1), "the first {quick} ACKs are quick");
    }
    r
}

/// Returns the ACK that the receiver sends in answer to a segment.
fn answer(r: &mut Receiver, now: Nanos, segment: Segment) -> Option<Ack> {
    let mut acks = Vec::new();
    r.on_segment(now, segment, &mut acks);
    only(acks)
}

/// Returns the only ACK, which left at once; `None`: no ACK left.
fn only(mut acks: Vec<(Nanos, Ack)>) -> Option<Ack> {
    assert!(acks.len() <= 1, "{acks:?}");
    acks.pop().map(|(_, ack)| ack)
}

/// Returns the time of the receiver's timer, and the ACK that it sends then.
fn timer(r: &mut Receiver) -> (Nanos, Option<Ack>) {
    let (now, mut acks) = (r.next_timer().expect("a timer is armed"), Vec::new());
    r.on_timer(now, &mut acks);
    (now, only(acks))
}

fn segment(seq: u64) -> Segment {
    Segment { seq, sent: seq * MS, ..Segment::default() }
}

fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
    ack.blocks.iter().filter(|b| !b.is_empty()).map(|b| (b.start, b.end)).collect()
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut r = receiver();
    for seq in 22..32 {
        let ack = answer(&mut r, seq * MS, segment(seq));
        assert_eq!(ack.map(|a| a.next), (seq % 2 == 1).then_some(seq + 1));
    }
}

/// Acknowledges the end of a burst early, as seen on Linux 6.18 after pairs of quick ACKs: an odd packet at
/// the end of a burst waited 58 us, not 40 ms.
#[test]
fn the_end_of_a_burst_is_acknowledged_when_the_application_has_read_it() {
    let mut r = receiver();
    assert_eq!(answer(&mut r, 100 * MS, Segment { push: true, ..segment(22) }), None);
    let (at, ack) = timer(&mut r);
    assert_eq!((at - 100 * MS, ack.map(|a| a.next)), (60_000, Some(23)));
    // that is no ACK that came late: the next lone one waits as long as before
    assert_eq!(answer(&mut r, 110 * MS, segment(23)), None);
    assert_eq!((timer(&mut r).0 - 110 * MS) / MS, 42);
    // a second segment before that: its ACK is the ordinary one
    answer(&mut r, 200 * MS, segment(24));
    let ack = answer(&mut r, 200 * MS, Segment { push: true, ..segment(25) });
    assert_eq!((ack.map(|a| a.next), r.next_timer()), (Some(26), None));
}

#[test]
fn before_linux_6_7_and_with_rarer_acks_a_psh_is_like_any_other_segment() {
    let linux = || ReceiverConfig::linux(50 * MS);
    for config in [ReceiverConfig { psh_ack: false, ..linux() }, ReceiverConfig { ack_every: 3, ..linux() }] {
        let mut r = settled(config, 22);
        assert_eq!(answer(&mut r, 100 * MS, Segment { push: true, ..segment(22) }), None);
        assert_eq!((timer(&mut r).0 - 100 * MS) / MS, 42);
    }
}

#[test]
fn a_lone_segment_is_acknowledged_after_40_ms_by_a_timer_of_jiffies() {
    let mut r = receiver();
    assert_eq!(answer(&mut r, 100 * MS, segment(22)), None);
    let (at, ack) = timer(&mut r);
    assert_eq!((at, ack.map(|a| (a.next, a.echo_ms))), (142 * MS, Some((23, 22))));
    assert_eq!(r.next_timer(), None);
}

/// Follows tcp_event_data_recv of Linux. The receiver has no RTT sample, so its RTO is 1 s.
#[test]
fn a_long_gap_ends_with_quick_acks_and_a_short_one_does_not() {
    for (gap_ms, quick) in [(990, false), (1010, true)] {
        let mut r = constant();
        assert_eq!(answer(&mut r, gap_ms * MS, segment(16)).is_some(), quick);
        let acks = (17..47).filter(|seq| answer(&mut r, (gap_ms + 1) * MS, segment(*seq)).is_some()).count();
        assert_eq!(acks, if quick { 15 + 7 } else { 15 }, "16 at once, then each second");
    }
}

/// Follows Linux: tcp_event_data_recv has ato / 2 + gap, tcp_delack_timer_handler doubles it, and
/// tcp_send_delayed_ack bounds it by the RTT, if that is known, and by 196 ms. The timer is in jiffies of 4
/// ms, and late by half a jiffy.
#[test]
fn the_delay_of_acks_follows_the_time_between_segments() {
    let delays = |rtt_ms: Option<u64>| {
        let mut r = constant();
        if let Some(rtt_ms) = rtt_ms {
            r.acks.start(0, Some(rtt_ms * 1000));
        }
        let (mut left, mut delays) = (0, Vec::new());
        for seq in 16..19 {
            let arrives = left + 30 * MS;
            assert_eq!(answer(&mut r, arrives, segment(seq)), None);
            left = timer(&mut r).0;
            delays.push((left - arrives) / MS);
        }
        // full speed: the delay falls by halves to 40 ms
        for seq in 19..40 {
            answer(&mut r, left + MS, segment(seq));
        }
        assert_eq!((timer(&mut r).0 - left) / MS, 43);
        delays
    };
    assert_eq!(delays(None), [54, 138, 198]);
    assert_eq!(delays(Some(60)), [54, 62, 62]);
}

#[test]
fn the_timestamp_of_the_first_unacknowledged_segment_is_echoed() {
    let mut r = receiver();
    assert_eq!(answer(&mut r, 0, segment(22)), None);
    assert_eq!(answer(&mut r, 0, segment(23)).map(|a| a.echo_ms), Some(22));
}

#[test]
fn out_of_order_segments_are_sacked_at_once_most_recent_first() {
    let mut r = receiver();
    let mut ack = |seq| answer(&mut r, 0, segment(seq)).unwrap();
    assert_eq!(blocks(&ack(24)), [(24, 25)]);
    assert_eq!(blocks(&ack(25)), [(24, 26)]);
    assert_eq!(blocks(&ack(28)), [(28, 29), (24, 26)]);
    assert_eq!(ack(22).next, 23);
    let filled = ack(23);
    assert_eq!((filled.next, blocks(&filled)), (26, vec![(28, 29)]));
}

#[test]
fn touching_blocks_merge_and_the_oldest_is_overwritten() {
    let mut r = Receiver::new(ReceiverConfig { sack_delay_ns: 0, ..ReceiverConfig::linux(50 * MS) });
    let mut ack = |seq| blocks(&answer(&mut r, 0, segment(seq)).unwrap());
    for seq in [2, 4, 6, 8] {
        ack(seq);
    }
    assert_eq!(ack(10), [(10, 11), (8, 9), (6, 7)]);
    assert_eq!(ack(9), [(8, 11), (6, 7), (4, 5)]);
    assert_eq!(ack(7), [(6, 11), (4, 5)]);
}

#[test]
fn the_last_hole_filled_is_acknowledged_at_once() {
    let mut r = receiver();
    answer(&mut r, 0, segment(23));
    let mut acks = Vec::new();
    assert_eq!(r.on_segment(0, segment(22), &mut acks), 2);
    assert_eq!(acks.len(), 1);
}

#[test]
fn duplicates_are_reported_below_and_above_the_cumulative_ack() {
    let mut r = receiver();
    assert_eq!(blocks(&answer(&mut r, 0, segment(3)).unwrap()), [(3, 4)]);
    answer(&mut r, 0, segment(26));
    let again = answer(&mut r, 0, segment(26)).unwrap();
    assert_eq!(blocks(&again), [(26, 27), (26, 27)]);
    let next = answer(&mut r, 0, segment(27)).unwrap();
    assert_eq!(blocks(&next), [(26, 28)], "a D-SACK is sent once");
}

#[test]
fn sacks_are_compressed_after_three_duplicate_acks() {
    let mut r = receiver();
    let sent: Vec<bool> = (26..36).map(|seq| answer(&mut r, 0, segment(seq)).is_some()).collect();
    // the first opens rwnd, so it is a quick ACK, and no duplicate that counts (Linux: tcp_grow_window)
    assert_eq!(sent, [true, true, true, true, false, false, false, false, false, false]);
    let (at, ack) = timer(&mut r);
    assert_eq!((at, ack.map(|a| blocks(&a))), (MS, Some(vec![(26, 36)])));
    let held = (36..36 + 44).filter(|seq| answer(&mut r, MS, segment(*seq)).is_none()).count();
    assert_eq!(held, 44);
    assert!(answer(&mut r, MS, segment(86)).is_some(), "44 at most are held back");
}

#[test]
fn a_syn_is_answered() {
    let mut r = Receiver::new(ReceiverConfig::linux(50 * MS));
    let ack = answer(&mut r, 7 * MS, Segment { seq: Segment::SYN, sent: 3 * MS, ..Segment::default() });
    assert_eq!(ack.map(|a| (a.syn, a.echo_ms, a.next)), Some((true, 3, 0)));
}
