//! When a receiver sends ACKs, and what they carry.

use crate::time::Nanos;
use crate::wire::{Ack, Segment};
use crate::{Receiver, ReceiverConfig};

/// A millisecond, ns.
const MS: Nanos = 1_000_000;

/// A receiver past its quick ACKs: it waits for packet 22. While rwnd opens, with the first six packets, the
/// count of 16 does not fall (as measured on Linux 6.18).
fn receiver() -> Receiver {
    let mut r = Receiver::new(ReceiverConfig::linux(50 * MS));
    for seq in 0..22 {
        let ack = answer(&mut r, 0, Segment { seq, ..Segment::default() });
        assert_eq!(ack.map(|a| a.next), Some(seq + 1), "the first 22 ACKs are quick");
    }
    r
}

/// What the receiver sends in answer to a segment.
fn answer(r: &mut Receiver, now: Nanos, segment: Segment) -> Option<Ack> {
    let mut acks = Vec::new();
    r.on_segment(now, segment, &mut acks);
    only(acks)
}

/// The one ACK that left, at once; `None`: none did.
fn only(mut acks: Vec<(Nanos, Ack)>) -> Option<Ack> {
    assert!(acks.len() <= 1, "{acks:?}");
    acks.pop().map(|(_, ack)| ack)
}

/// What it sends when its timer fires.
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

#[test]
fn a_lone_segment_is_acknowledged_after_40_ms_by_a_timer_of_jiffies() {
    let mut r = receiver();
    assert_eq!(answer(&mut r, 100 * MS, segment(22)), None);
    let (at, ack) = timer(&mut r);
    assert_eq!((at, ack.map(|a| (a.next, a.echo_ms))), (142 * MS, Some((23, 22))));
    assert_eq!(r.next_timer(), None);
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
