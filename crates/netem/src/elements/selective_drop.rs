//! Drops of packets before the first link, by their number: `drop = ["data 9-10", "syn 1"]`.

use fairpace_results::DropSummary;
use fairpace_scenario::{Dropped, Drops, PacketKind};

use crate::time::Nanos;

/// Content of a packet, as far as drops by number depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// A packet that is not counted: an ACK from the sender of data, a reset.
    #[default]
    Other,
    /// A SYN of the sender of data.
    Syn,
    /// A SYN-ACK.
    SynAck,
    /// A pure ACK of the receiver of data.
    Ack,
    /// A packet with data.
    Data {
        /// Place of the first byte in all data of the connection, in units of [`Payload::segment_length`].
        begin: u64,
        /// Length of the data in the unit of `begin`; at least 1.
        length: u32,
    },
}

/// Functions that elements need of the payload that a driver gives packets.
pub trait Payload: Copy {
    /// Length of a full segment of this flow in the unit of [`Content::Data`]: 1 if the driver numbers
    /// packets, the MSS if it numbers bytes.
    fn segment_length(flow: &fairpace_scenario::Flow) -> u64;

    /// The content of the packet.
    fn content(&self) -> Content;
}

/// An element that drops packets of one connection in one direction by their number.
///
/// Data is numbered by its place in all that the connection sends: a packet that begins in the N-th full
/// segment is number N. A packet is new if it ends behind all data before it; else it is a retransmission.
#[derive(Debug, Clone)]
pub struct SelectiveDrop {
    ranges: Vec<Range>,
    segment_length: u64,
    /// End of all data so far, and the last segment.
    data_end: u64,
    data_segments: u64,
    /// Numbers of SYNs, SYN-ACKs and ACKs so far.
    syns: u64,
    syn_acks: u64,
    acks: u64,
    window: (Nanos, Nanos),
    /// Number of data packets and SYNs dropped in the measurement window.
    dropped_pkts: u64,
}

/// A range of packets that are dropped.
#[derive(Debug, Clone)]
struct Range {
    what: Dropped,
    /// Packets of the range that have been retransmitted, with `twice`. One bit each: whole words.
    again: Box<[u64]>,
}

/// Number of bits in a word of [`Range::again`].
const WORD_BITS: u64 = 64;

impl Range {
    fn new(what: Dropped) -> Self {
        let pkts = if what.twice { what.last - what.first + 1 } else { 0 };
        Range { what, again: vec![0; pkts.div_ceil(WORD_BITS) as usize].into() }
    }

    /// Returns the place of a packet's bit: word, and bit within it.
    fn bit(&self, number: u64) -> (usize, u64) {
        let index = number - self.what.first;
        ((index / WORD_BITS) as usize, 1 << (index % WORD_BITS))
    }

    fn was_retransmitted(&self, number: u64) -> bool {
        let (word, bit) = self.bit(number);
        self.again.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Records a retransmission. True: the first retransmission of the packet, which is to be dropped.
    fn is_first_retransmission(&mut self, number: u64) -> bool {
        let (word, bit) = self.bit(number);
        let Some(bits) = self.again.get_mut(word) else { return false };
        let is_first = *bits & bit == 0;
        *bits |= bit;
        is_first
    }
}

impl SelectiveDrop {
    /// Kinds of packets that the sender of data sends.
    pub const FORWARD: [PacketKind; 2] = [PacketKind::Syn, PacketKind::Data];
    /// Kinds of packets that the receiver of data sends.
    pub const BACK: [PacketKind; 2] = [PacketKind::SynAck, PacketKind::Ack];

    /// Returns an element for the packets of `drops` that have these kinds, the kinds of one direction;
    /// `None`: there are no such packets. `segment_length`: see [`Payload::segment_length`].
    pub fn new(
        drops: &Drops,
        kinds: [PacketKind; 2],
        segment_length: u64,
        window: (Nanos, Nanos),
    ) -> Option<Self> {
        let ranges = drops.iter().filter(|dropped| kinds.contains(&dropped.kind));
        let ranges: Vec<Range> = ranges.copied().map(Range::new).collect();
        (!ranges.is_empty()).then_some(SelectiveDrop {
            ranges,
            segment_length: segment_length.max(1),
            data_end: 0,
            data_segments: 0,
            syns: 0,
            syn_acks: 0,
            acks: 0,
            window,
            dropped_pkts: 0,
        })
    }

    /// Returns whether this packet, which comes at `now`, is dropped.
    pub fn drops(&mut self, now: Nanos, content: Content) -> bool {
        let is_dropped = match content {
            Content::Other => return false,
            Content::Data { begin, length } => self.drops_data(begin, length),
            Content::Syn => {
                self.syns += 1;
                self.has(PacketKind::Syn, self.syns)
            }
            Content::SynAck => {
                self.syn_acks += 1;
                return self.has(PacketKind::SynAck, self.syn_acks);
            }
            Content::Ack => {
                self.acks += 1;
                return self.has(PacketKind::Ack, self.acks);
            }
        };
        let (from, to) = self.window;
        self.dropped_pkts += u64::from(is_dropped && (from..to).contains(&now));
        is_dropped
    }

    fn drops_data(&mut self, begin: u64, length: u32) -> bool {
        let number = begin / self.segment_length + 1;
        let end = begin + u64::from(length);
        if end > self.data_end {
            self.data_end = end;
            self.data_segments = number;
            return self.has(PacketKind::Data, number);
        }
        self.find(PacketKind::Data, number).is_some_and(|range| range.is_first_retransmission(number))
    }

    fn has(&mut self, kind: PacketKind, number: u64) -> bool {
        self.find(kind, number).is_some()
    }

    /// Returns the range with this packet. Ranges are in order and disjoint.
    fn find(&mut self, kind: PacketKind, number: u64) -> Option<&mut Range> {
        let at = self.ranges.partition_point(|range| (range.what.kind, range.what.last) < (kind, number));
        let range = self.ranges.get_mut(at)?;
        (range.what.kind == kind && range.what.first <= number).then_some(range)
    }

    /// Number of data packets and SYNs that were dropped in the measurement window.
    pub fn dropped_pkts(&self) -> u64 {
        self.dropped_pkts
    }

    /// Adds the packets that have been dropped, and those that have not been sent, to `summary`.
    pub fn report(&self, summary: &mut DropSummary) {
        for range in &self.ranges {
            let what = range.what;
            let sent = match what.kind {
                PacketKind::Syn => self.syns,
                PacketKind::SynAck => self.syn_acks,
                PacketKind::Data => self.data_segments,
                PacketKind::Ack => self.acks,
            };
            let last_sent = what.last.min(sent);
            let mut first = what.first;
            while first <= last_sent {
                // as far as all of them fared alike
                let again = what.twice && range.was_retransmitted(first);
                let alike = |number: &u64| !what.twice || range.was_retransmitted(*number) == again;
                let last = (first..=last_sent).take_while(alike).last().unwrap_or(first);
                let part = Dropped { first, last, ..what };
                summary.dropped.push(Dropped { twice: again, ..part }.to_string());
                if what.twice && !again {
                    summary.never_sent.push(part.to_string());
                }
                first = last + 1;
            }
            if first <= what.last {
                summary.never_sent.push(Dropped { first, ..what }.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    const WINDOW: (Nanos, Nanos) = (10, SECOND);

    fn forward(entries: &[&str], segment_length: u64) -> SelectiveDrop {
        let drops = Drops::parse(entries).unwrap();
        SelectiveDrop::new(&drops, SelectiveDrop::FORWARD, segment_length, WINDOW).unwrap()
    }

    fn data(begin: u64) -> Content {
        Content::Data { begin, length: 1 }
    }

    fn summary(drop: &SelectiveDrop) -> (Vec<String>, Vec<String>) {
        let mut summary = DropSummary::default();
        drop.report(&mut summary);
        (summary.dropped, summary.never_sent)
    }

    fn texts(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn a_segment_is_dropped_when_it_is_new_and_with_twice_once_more() {
        let mut drop = forward(&["data 2-3", "data 5-6 twice", "data 9 twice"], 1);
        let sent = [0, 1, 2, 3, 4, 5, 1, 4, 4, 5, 1];
        let lost = sent.map(|begin| drop.drops(20, data(begin)));
        assert_eq!(lost, [false, true, true, false, true, true, false, true, false, true, false]);
        assert_eq!(drop.dropped_pkts(), 6);
        let expected = (texts(&["data 2-3", "data 5-6 twice"]), texts(&["data 9 twice"]));
        assert_eq!(summary(&drop), expected);
    }

    #[test]
    fn what_was_sent_once_lacks_its_retransmission() {
        let mut drop = forward(&["data 1-200 twice"], 1);
        (0..150).for_each(|begin| assert!(drop.drops(20, data(begin))));
        [64, 65, 149].into_iter().for_each(|begin| assert!(drop.drops(20, data(begin))));
        let dropped = ["data 1-64", "data 65-66 twice", "data 67-149", "data 150 twice"];
        let never_sent = ["data 1-64 twice", "data 67-149 twice", "data 151-200 twice"];
        assert_eq!(summary(&drop), (texts(&dropped), texts(&never_sent)));
    }

    #[test]
    fn by_bytes_a_packet_has_the_number_of_the_segment_that_it_begins_in() {
        let mut drop = forward(&["data 2", "data 4 twice"], 1448);
        let mut drops = |begin, length| drop.drops(20, Content::Data { begin, length });
        assert!(!drops(0, 1448));
        // the second segment in two packets
        assert!(drops(1448, 700) && drops(2148, 748));
        assert!(!drops(1448, 1448), "a retransmission");
        // longer than the rest of its segment: it begins in the third
        assert!(!drops(2896, 1448) && !drops(2896, 1448));
        // the last packet of a transfer is short
        assert!(drops(4344, 10) && drops(4344, 10) && !drops(4344, 10));
        assert_eq!(summary(&drop), (texts(&["data 2", "data 4 twice"]), Vec::new()));
    }

    #[test]
    fn kinds_are_counted_by_themselves_and_only_in_their_direction() {
        let drops = Drops::parse(&["syn 2", "synack 1", "ack 2-3"]).unwrap();
        let of = |kinds| SelectiveDrop::new(&drops, kinds, 1, WINDOW).unwrap();
        let (mut there, mut back) = (of(SelectiveDrop::FORWARD), of(SelectiveDrop::BACK));
        let syns = [Content::Syn, Content::Other, data(0), Content::Syn, Content::Syn];
        assert_eq!(syns.map(|content| there.drops(5, content)), [false, false, false, true, false]);
        let acks = [Content::SynAck, Content::SynAck, Content::Ack, Content::Other, Content::Ack];
        assert_eq!(acks.map(|content| back.drops(20, content)), [true, false, false, false, true]);
        assert_eq!(summary(&there), (texts(&["syn 2"]), Vec::new()));
        assert_eq!(summary(&back), (texts(&["synack 1", "ack 2"]), texts(&["ack 3"])));
        // the SYN came before the window; ACKs are not counted, as on links
        assert_eq!((there.dropped_pkts(), back.dropped_pkts()), (0, 0));
        let only_back = Drops::parse(&["ack 1"]).unwrap();
        assert!(SelectiveDrop::new(&only_back, SelectiveDrop::FORWARD, 1, WINDOW).is_none());
    }
}
