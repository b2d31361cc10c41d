//! Observation of real flows: an observer gets packets as the emulator reads them from their host, and ACKs
//! as it writes them to the sender. Segments are numbered as in the simulator.

use fairpace_results::observer::{Ack, Content};

use crate::packet;
use crate::sequence::SequenceSpace;

/// The TCP option that ends the options (RFC 9293, section 3.1).
const END: u8 = 0;
/// The TCP option that fills space (RFC 9293, section 3.1).
const PADDING: u8 = 1;
/// The TCP option with SACK blocks (RFC 2018).
const SACK: u8 = 5;
/// The TCP option with timestamps (RFC 7323).
const TIMESTAMPS: u8 = 8;
/// Length of a SACK block.
const BLOCK_BYTES: usize = 8;

/// Returns a packet of a sender; `None`: a reset, or the ACK of a request.
pub(crate) fn sent(
    header: &packet::Header,
    content: fairpace_netem::Content,
    space: &SequenceSpace,
    mss_bytes: u64,
) -> Option<Content> {
    match content {
        // requests follow the first data
        fairpace_netem::Content::Other if !header.is_reset && !space.has_data() => {
            Some(Content::HandshakeAck)
        }
        fairpace_netem::Content::Syn => Some(Content::Syn),
        fairpace_netem::Content::Data { begin, .. } => {
            Some(Content::Data { seq: begin / mss_bytes, cwr: false, push: false })
        }
        _ => None,
    }
}

/// Returns the ACK in a packet. Its window is left out: the header has it without the scale that both ends
/// agreed on.
pub(crate) fn ack(bytes: &[u8], space: &SequenceSpace, mss_bytes: u64) -> Option<Ack> {
    let header = packet::parse(bytes)?;
    let tcp = bytes.get(usize::from(bytes.first()? & 0x0f) * 4..)?;
    let be32 = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?));
    let segment = |number: u32| space.place(number) / mss_bytes;
    // the end of what is acknowledged: a last segment that is not full counts
    let end = |number: u32| space.place(number).div_ceil(mss_bytes);
    let mut ack = Ack {
        syn: header.is_syn,
        next: if header.is_syn { 0 } else { end(be32(&tcp[8..])?) },
        rwnd_pkts: u64::MAX,
        ..Ack::default()
    };
    let mut options = tcp.get(20..usize::from(tcp.get(12)? >> 4) * 4)?;
    while let [kind, rest @ ..] = options {
        options = match *kind {
            END => break,
            PADDING => rest,
            kind => {
                let length = usize::from(*rest.first()?);
                let value = options.get(2..length)?;
                match kind {
                    TIMESTAMPS => ack.echo_ms = be32(value.get(4..)?)?,
                    SACK => {
                        for (to, block) in ack.blocks.iter_mut().zip(value.chunks_exact(BLOCK_BYTES)) {
                            *to = (segment(be32(block)?), end(be32(&block[4..])?));
                        }
                    }
                    _ => {}
                }
                &options[length..]
            }
        };
    }
    Some(ack)
}

#[cfg(test)]
mod tests {
    use fairpace_netem::Direction;

    use super::*;

    /// Returns an ACK of the byte with this number, with timestamps and two SACK blocks.
    fn packet(acknowledged: u32, blocks: [(u32, u32); 2]) -> Vec<u8> {
        let mut options = vec![PADDING, PADDING, TIMESTAMPS, 10, 0, 0, 0, 1, 0, 0, 0, 77, PADDING, PADDING];
        options.extend([SACK, 18]);
        for (start, end) in blocks {
            options.extend(start.to_be_bytes());
            options.extend(end.to_be_bytes());
        }
        let mut p = vec![0; 40];
        p.extend(&options);
        let total = p.len() as u16;
        p[0] = 0x45;
        p[2..4].copy_from_slice(&total.to_be_bytes());
        p[9] = 6;
        p[28..32].copy_from_slice(&acknowledged.to_be_bytes());
        p[32] = ((20 + options.len()) / 4 * 16) as u8;
        p
    }

    #[test]
    fn an_ack_is_in_segments() {
        let mut space = SequenceSpace::default();
        let mut syn = packet(0, [(0, 0); 2]);
        syn[24..28].copy_from_slice(&(u32::MAX - 1).to_be_bytes());
        syn[33] = 0x02;
        let header = packet::parse(&syn).expect("a SYN");
        assert_eq!(space.content(&header, Direction::Forward), fairpace_netem::Content::Syn);
        // the first byte of data has the number u32::MAX
        let at = |segment: u32| u32::MAX.wrapping_add(1448 * segment);
        let ack = ack(&packet(at(3), [(at(5), at(7)), (at(9), at(10) - 100)]), &space, 1448);
        let expected = Ack {
            next: 3,
            blocks: [(5, 7), (9, 10), (0, 0)],
            echo_ms: 77,
            rwnd_pkts: u64::MAX,
            ..Ack::default()
        };
        assert_eq!(ack, Some(expected));
    }

    #[test]
    fn a_truncated_packet_is_none() {
        let whole = packet(1, [(2, 3), (4, 5)]);
        for length in 0..whole.len() {
            assert_eq!(ack(&whole[..length], &SequenceSpace::default(), 1448), None, "{length} bytes");
        }
    }
}
