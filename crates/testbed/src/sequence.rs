//! The place of a packet's data in all data that the flow sends.

use fairpace_netem::{Content, Direction};

use crate::packet::Header;

/// The sequence space of one direction of a connection. TCP's numbers wrap after 4 GB; places here do not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SequenceSpace {
    /// The sequence number of the first byte of data.
    first: u32,
    /// The end of all data so far, bytes.
    end: u64,
}

impl SequenceSpace {
    /// Returns the content of a packet of the flow that travels in this direction.
    pub(crate) fn content(&mut self, header: &Header, way: Direction) -> Content {
        if header.is_reset {
            return Content::Other;
        }
        match (way, header.is_syn) {
            (Direction::Forward, true) => {
                // a SYN takes one number (RFC 9293, section 3.4)
                self.first = header.sequence.wrapping_add(1);
                Content::Syn
            }
            (Direction::Back, true) => Content::SynAck,
            (Direction::Back, false) if header.payload_bytes == 0 => Content::Ack,
            (Direction::Forward, false) if header.payload_bytes > 0 => self.data(header),
            _ => Content::Other,
        }
    }

    /// Returns whether a packet with data has passed.
    pub(crate) fn has_data(&self) -> bool {
        self.end > 0
    }

    /// Returns the place with this number that is nearest to the end of all data: within 2 GB of it.
    pub(crate) fn place(&self, number: u32) -> u64 {
        let offset = number.wrapping_sub(self.first);
        let ahead = offset.wrapping_sub(self.end as u32) as i32;
        self.end.saturating_add_signed(ahead.into())
    }

    fn data(&mut self, header: &Header) -> Content {
        let begin = self.place(header.sequence);
        let length = u32::from(header.payload_bytes);
        self.end = self.end.max(begin + u64::from(length));
        Content::Data { begin, length }
    }
}

#[cfg(test)]
mod tests {
    use fairpace_netem::EcnField;

    use super::*;

    fn header(sequence: u32, payload_bytes: u16) -> Header {
        Header {
            source_port: 1,
            destination_port: 2,
            sequence,
            is_syn: false,
            is_reset: false,
            payload_bytes,
            ecn: EcnField::NotEct,
        }
    }

    #[test]
    fn data_is_placed_from_the_number_of_the_syn_on() {
        let mut space = SequenceSpace::default();
        // the first byte has the number 0
        let syn = Header { is_syn: true, ..header(u32::MAX, 0) };
        assert_eq!(space.content(&syn, Direction::Forward), Content::Syn);
        let mut at = |sequence| match space.content(&header(sequence, 1448), Direction::Forward) {
            Content::Data { begin, length: 1448 } => begin,
            other => panic!("{other:?}"),
        };
        assert_eq!((at(0), at(1448), at(0)), (0, 1448, 0));
        // on through 6 GB: the numbers wrap, and a retransmission is placed behind the wrap, too
        let mut last = 0;
        for place in (1..).map(|n| n * 1_000_000_000u64).take_while(|place| *place < 6_000_000_000) {
            last = at(place as u32);
            assert_eq!(last, place);
        }
        assert_eq!(at((last - 100_000) as u32), last - 100_000);
    }

    #[test]
    fn packets_have_a_content_by_flags_payload_and_direction() {
        let syn = Header { is_syn: true, ..header(9, 0) };
        let reset = Header { is_reset: true, ..header(9, 0) };
        let data = Content::Data { begin: 0, length: 5 };
        let cases = [
            (syn, Content::Syn, Content::SynAck),
            (header(10, 0), Content::Other, Content::Ack),
            (header(10, 5), data, Content::Other),
            (reset, Content::Other, Content::Other),
        ];
        let mut space = SequenceSpace::default();
        for (header, forward, back) in cases {
            let seen = [Direction::Forward, Direction::Back].map(|way| space.content(&header, way));
            assert_eq!(seen, [forward, back], "{header:?}");
        }
    }
}
