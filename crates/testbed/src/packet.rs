//! The headers of a packet, as far as the emulator needs them: ports, sequence number, flags, payload length,
//! ECN field (RFC 791, RFC 9293, RFC 3168).

use fairpace_netem::EcnField;

/// Length of an Ethernet header: two addresses and a type. The testbed's TUN devices carry IP packets without
/// it, but a link's rate and buffer count whole frames, as in the simulator.
pub(crate) const ETHERNET_HEADER_BYTES: u32 = 14;

/// IANA's number of TCP.
const TCP: u8 = 6;

/// The TCP/IPv4 header fields that the emulator uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// Sequence number of the packet's first byte.
    pub(crate) sequence: u32,
    pub(crate) is_syn: bool,
    pub(crate) is_reset: bool,
    /// Number of bytes of TCP payload.
    pub(crate) payload_bytes: u16,
    pub(crate) ecn: EcnField,
}

// The ECN field is in the second byte's low bits.
const ECN_AT: usize = 1;
const ECN_BITS: u8 = 0b11;
/// The codepoint CE: congestion experienced.
const CE: u8 = 0b11;
/// The codepoint ECT(0): ECN-capable, RFC 3168.
const ECT_0: u8 = 0b10;
/// The codepoint ECT(1): L4S, RFC 9331.
const ECT_1: u8 = 0b01;
/// Flags of TCP (RFC 9293, section 3.1).
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
/// Offset of the IPv4 header checksum.
const CHECKSUM_AT: usize = 10;

/// Sets the ECN field of an IPv4 packet and updates the checksum incrementally (RFC 1624, equation 3).
pub(crate) fn set_ecn(packet: &mut [u8], field: EcnField) {
    let [first, second, .., high, low] = &mut packet[..CHECKSUM_AT + 2] else { return };
    let word = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
    let before = word(*first, *second);
    *second = *second & !ECN_BITS | codepoint(field);
    let sum = (!word(*high, *low) & 0xffff) + (!before & 0xffff) + word(*first, *second);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    [*high, *low] = (!folded as u16).to_be_bytes();
}

/// Reads the headers of an unfragmented TCP/IPv4 packet; `None` for any other packet.
pub(crate) fn parse(packet: &[u8]) -> Option<Header> {
    let be16 = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let first = *packet.first()?;
    let ip_header = usize::from(first & 0x0f) * 4;
    // The 13 low bits are the fragment offset: only the first fragment has ports.
    if first >> 4 != 4 || ip_header < 20 || *packet.get(9)? != TCP || be16(6)? & 0x1fff != 0 {
        return None;
    }
    let total = usize::from(be16(2)?);
    let tcp_header = usize::from(packet.get(ip_header + 12)? >> 4) * 4;
    if total > packet.len() || tcp_header < 20 {
        return None;
    }
    let sequence = packet.get(ip_header + 4..ip_header + 8)?.try_into().ok()?;
    let flags = packet.get(ip_header + 13)?;
    Some(Header {
        source_port: be16(ip_header)?,
        destination_port: be16(ip_header + 2)?,
        sequence: u32::from_be_bytes(sequence),
        is_syn: flags & SYN != 0,
        is_reset: flags & RST != 0,
        payload_bytes: u16::try_from(total.checked_sub(ip_header + tcp_header)?).ok()?,
        ecn: match packet.get(ECN_AT)? & ECN_BITS {
            0 => EcnField::NotEct,
            ECT_1 => EcnField::Ect1,
            CE => EcnField::Ce,
            _ => EcnField::Ect0,
        },
    })
}

fn codepoint(field: EcnField) -> u8 {
    match field {
        EcnField::NotEct => 0,
        EcnField::Ect0 => ECT_0,
        EcnField::Ect1 => ECT_1,
        EcnField::Ce => CE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a TCP segment with 12 bytes of TCP options and `payload` bytes of data.
    fn segment(source: u16, destination: u16, payload: usize) -> Vec<u8> {
        let mut p = vec![0u8; 20 + 32 + payload];
        p[0] = 0x45;
        let total = p.len() as u16;
        p[2..4].copy_from_slice(&total.to_be_bytes());
        p[6] = 0x40; // don't fragment
        p[9] = TCP;
        p[20..22].copy_from_slice(&source.to_be_bytes());
        p[22..24].copy_from_slice(&destination.to_be_bytes());
        p[24..28].copy_from_slice(&0x0102_0304u32.to_be_bytes());
        p[32] = 8 << 4;
        p
    }

    #[test]
    fn a_data_segment_is_distinguished_from_an_ack() {
        let data = parse(&segment(10_000, 5001, 1448));
        let expected = Header {
            source_port: 10_000,
            destination_port: 5001,
            sequence: 0x0102_0304,
            is_syn: false,
            is_reset: false,
            payload_bytes: 1448,
            ecn: EcnField::NotEct,
        };
        assert_eq!(data, Some(expected));
        assert_eq!(parse(&segment(5001, 10_000, 0)).map(|h| h.payload_bytes), Some(0));
    }

    #[test]
    fn flags_are_read() {
        for (flags, is_syn, is_reset) in
            [(0x02, true, false), (0x12, true, false), (0x14, false, true), (0x18, false, false)]
        {
            let mut p = segment(1, 2, 0);
            p[33] = flags;
            assert_eq!(parse(&p).map(|h| (h.is_syn, h.is_reset)), Some((is_syn, is_reset)));
        }
    }

    #[test]
    fn incomplete_and_foreign_packets_are_refused() {
        let good = segment(1, 2, 10);
        for length in 0..good.len() {
            assert_eq!(parse(&good[..length]), None, "truncated to {length} bytes");
        }
        let changed = |at: usize, value: u8| {
            let mut p = good.clone();
            p[at] = value;
            parse(&p)
        };
        assert_eq!(changed(0, 0x65), None, "IPv6");
        assert_eq!(changed(0, 0x44), None, "IP header shorter than its fixed part");
        assert_eq!(changed(9, 17), None, "UDP");
        assert_eq!(changed(7, 1), None, "a later fragment");
        assert_eq!(changed(32, 4 << 4), None, "TCP header shorter than its fixed part");
    }

    /// Returns the header checksum of RFC 791 over a header of 20 bytes; 0 when it is right.
    fn checksum(packet: &[u8]) -> u16 {
        let words = packet[..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    }

    #[test]
    fn a_new_ecn_field_keeps_the_checksum_valid() {
        // identification and codepoint vary, so that all carries of the sum occur
        for id in 0..=u16::MAX {
            let mut p = segment(10_000, 5001, 0);
            p[1] = if id % 2 == 0 { 0b10 } else { 0b01 };
            p[4..6].copy_from_slice(&id.to_be_bytes());
            let sum = checksum(&p);
            p[10..12].copy_from_slice(&sum.to_be_bytes());
            let field = if id % 2 == 0 { EcnField::Ect0 } else { EcnField::Ect1 };
            assert_eq!(parse(&p).map(|h| h.ecn), Some(field));
            for field in [EcnField::Ect1, EcnField::Ce] {
                set_ecn(&mut p, field);
                assert_eq!((parse(&p).map(|h| h.ecn), checksum(&p)), (Some(field), 0), "{id}");
            }
        }
    }
}
