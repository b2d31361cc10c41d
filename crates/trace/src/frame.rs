//! Headers of packets as on the wire: Ethernet, IPv4, TCP; of datagrams UDP and RTP. The payload is all
//! zeros. The payload is not written, but lengths and checksums include it.

use etherparse::{
    EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement as Opt, TcpOptions,
    UdpHeader,
};
use fairpace_results::observer::{Ack, ConnectionId, Content, EcnField, Packet};

/// Headers of a data packet, bytes: Ethernet, IPv4, TCP with timestamps.
const DATA_HEADER_BYTES: u32 = 14 + 20 + 32;
/// The longest headers, bytes: Ethernet, IPv4, TCP with 40 bytes of options (RFC 9293).
pub(crate) const MOST_BYTES: u32 = 14 + 20 + 60;

/// Headers of a datagram below RTP, bytes: Ethernet, IPv4, UDP.
const UDP_HEADER_BYTES: u32 = 14 + 20 + 8;
/// Length of RTP's header without extensions, bytes (RFC 3550, section 5.1).
const RTP_HEADER_BYTES: usize = 12;
/// First byte of RTP's header: version 2, without padding, extension and sources (RFC 3550, section 5.1).
const RTP_VERSION_2: u8 = 2 << 6;
/// The first of the dynamic payload types (RFC 3551).
const RTP_PAYLOAD_TYPE: u8 = 96;
/// RTP's clock of video, ticks per second (RFC 3551).
const RTP_CLOCK_HZ: u64 = 90_000;

/// Window scale, a shift: the largest of RFC 7323, section 2.3.
const WINDOW_SCALE: u8 = 14;
/// The window of a receiver without a limit, in units of 2^14 bytes: 1 GiB.
const FULL_WINDOW: u16 = u16::MAX;
/// The timestamp option and its padding, bytes (RFC 7323): the MSS option does not count options (RFC 9293,
/// section 3.7.1).
const TIMESTAMPS_BYTES: u32 = 12;
/// Time to live of packets: Linux's default, IPDEFTTL.
const TIME_TO_LIVE: u8 = 64;

/// Zeros for the payload of the longest IPv4 packet.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Values that a packet's headers depend on, besides the packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) mss_bytes: u32,
    /// True if the connection negotiates ECN.
    pub(crate) ecn: bool,
    /// True if the connection negotiates accurate ECN.
    pub(crate) accurate_ecn: bool,
    /// The last timestamp of the other end, ms.
    pub(crate) echo_ms: u32,
}

/// Addresses and ports of a connection: sender, receiver. Addresses follow from the flow, ports from the
/// connection.
struct Ends {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
}

impl Ends {
    /// Returns the addresses and ports. Senders are in 10.0.0.0/9, receivers in 10.128.0.0/9. A flow has 2^16
    /// - 1024 connections per port of the receiver.
    fn of(connection: ConnectionId) -> Self {
        /// Number of ports above the well-known and the lowest registered ports.
        const PORTS: u32 = (1 << 16) - 1024;
        let [_, a, b, c] = connection.flow.to_be_bytes();
        let port = 1024 + connection.index % PORTS;
        let service = 5001 + connection.index / PORTS;
        Ends { addresses: [[10, a & 0x7f, b, c], [10, a | 0x80, b, c]], ports: [port as u16, service as u16] }
    }
}

/// Returns the sequence number of a segment's first byte; the SYN has 0.
fn first_byte(seq: u64, mss_bytes: u32) -> u32 {
    (seq.wrapping_mul(u64::from(mss_bytes)) as u32).wrapping_add(1)
}

/// Returns the headers of a packet, and its length on the wire in bytes.
pub(crate) fn of_packet(packet: &Packet, context: Context) -> (Vec<u8>, u32) {
    match packet.content {
        Content::Datagram { number } => of_datagram(packet, number),
        Content::Ack(ack) => of_ack(packet.connection, &ack, packet.ecn, packet.sent_ns, context),
        Content::Syn => {
            let mut tcp = tcp(packet.connection, true);
            tcp.syn = true;
            (tcp.ece, tcp.cwr, tcp.ns) = (context.ecn, context.ecn, context.accurate_ecn);
            tcp.window_size = FULL_WINDOW;
            tcp.options = syn_options(timestamp(packet.sent_ns), 0, context.mss_bytes);
            frame(packet.connection, true, tcp, EcnField::NotEct, 0)
        }
        Content::HandshakeAck => of_segment(packet, 0, [false, false], context),
        Content::Data { seq, cwr, push } => of_segment(packet, seq, [cwr, push], context),
    }
}

/// Returns the headers of a segment after the SYN, and its length on the wire in bytes.
fn of_segment(packet: &Packet, seq: u64, [cwr, push]: [bool; 2], context: Context) -> (Vec<u8>, u32) {
    let payload = packet.bytes.saturating_sub(DATA_HEADER_BYTES);
    let mut tcp = tcp(packet.connection, true);
    (tcp.ack, tcp.psh, tcp.cwr) = (true, push, cwr);
    tcp.sequence_number = first_byte(seq, context.mss_bytes);
    tcp.acknowledgment_number = 1;
    tcp.window_size = FULL_WINDOW;
    tcp.options =
        options(&[Opt::Noop, Opt::Noop, Opt::Timestamp(timestamp(packet.sent_ns), context.echo_ms)]);
    frame(packet.connection, true, tcp, packet.ecn, payload)
}

/// Returns the headers of a part of a frame, and its length on the wire in bytes.
fn of_datagram(packet: &Packet, number: u64) -> (Vec<u8>, u32) {
    let Ends { addresses: [sender, receiver], ports: [from, to] } = Ends::of(packet.connection);
    let ticks = u128::from(packet.sent_ns) * u128::from(RTP_CLOCK_HZ) / 1_000_000_000;
    let mut payload = vec![RTP_VERSION_2, RTP_PAYLOAD_TYPE];
    payload.extend_from_slice(&(number as u16).to_be_bytes());
    payload.extend_from_slice(&(ticks as u32).to_be_bytes());
    payload.extend_from_slice(&packet.connection.flow.to_be_bytes());
    // with its zeros, for the checksum
    let length = packet.bytes.saturating_sub(UDP_HEADER_BYTES) as usize;
    payload.resize(length.clamp(RTP_HEADER_BYTES, usize::from(u16::MAX) - 80), 0);
    let udp_bytes = (UdpHeader::LEN + payload.len()) as u16;
    let mut ip =
        Ipv4Header::new(udp_bytes, TIME_TO_LIVE, IpNumber::UDP, sender, receiver).unwrap_or_default();
    ip.dont_fragment = true;
    ip.ecn = ip_ecn(packet.ecn);
    ip.header_checksum = ip.calc_header_checksum();
    let mut udp = UdpHeader { source_port: from, destination_port: to, length: udp_bytes, checksum: 0 };
    udp.checksum = udp.calc_checksum_ipv4(&ip, &payload).unwrap_or(0);
    let mut bytes = ethernet(true).to_bytes().to_vec();
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&udp.to_bytes());
    let on_wire = (bytes.len() + payload.len()) as u32;
    bytes.extend_from_slice(&payload[..RTP_HEADER_BYTES]);
    (bytes, on_wire)
}

/// Returns the headers of an ACK, and its length on the wire in bytes.
pub(crate) fn of_ack(
    connection: ConnectionId,
    ack: &Ack,
    ecn: EcnField,
    sent_ns: u64,
    context: Context,
) -> (Vec<u8>, u32) {
    let mut tcp = tcp(connection, false);
    if ack.rst {
        // Linux: tcp_v4_send_reset answers a segment with ACK by its acknowledgment number
        (tcp.rst, tcp.sequence_number) = (true, 1);
        return frame(connection, false, tcp, ecn, 0);
    }
    (tcp.ack, tcp.syn) = (true, ack.syn);
    if context.accurate_ecn {
        // AE (the flag was NS), CWR, ECE: RFC 9768, sections 3.1.1, 3.2.1 and 3.2.2. A SYN that arrived
        // Not-ECT is answered with 0b010; ACE then counts from 5. The AccECN option is not in captures.
        let ace = if ack.syn { 0b010 } else { ack.ce_pkts.wrapping_add(5) };
        (tcp.ns, tcp.cwr, tcp.ece) = (ace & 4 != 0, ace & 2 != 0, ace & 1 != 0);
    } else {
        tcp.ece = if ack.syn { context.ecn } else { ack.ece };
    }
    tcp.window_size = FULL_WINDOW;
    if ack.syn {
        tcp.acknowledgment_number = 1;
        tcp.options = syn_options(timestamp(sent_ns), ack.echo_ms, context.mss_bytes);
        return frame(connection, false, tcp, ecn, 0);
    }
    tcp.sequence_number = 1;
    tcp.acknowledgment_number = first_byte(ack.next, context.mss_bytes);
    if ack.rwnd_pkts != u64::MAX {
        let bytes = ack.rwnd_pkts.saturating_mul(u64::from(context.mss_bytes));
        tcp.window_size = u16::try_from(bytes >> WINDOW_SCALE).unwrap_or(FULL_WINDOW);
    }
    let edge =
        |(start, end): (u64, u64)| (first_byte(start, context.mss_bytes), first_byte(end, context.mss_bytes));
    let mut blocks = ack.blocks.iter().filter(|(start, end)| start < end).map(|block| edge(*block));
    let mut elements = vec![Opt::Noop, Opt::Noop, Opt::Timestamp(timestamp(sent_ns), ack.echo_ms)];
    if let Some(first) = blocks.next() {
        let more = [blocks.next(), blocks.next(), None];
        elements.extend([Opt::Noop, Opt::Noop, Opt::SelectiveAcknowledgement(first, more)]);
    }
    tcp.options = options(&elements);
    frame(connection, false, tcp, ecn, 0)
}

/// Returns a TCP timestamp: as in Linux, in milliseconds.
pub(crate) fn timestamp(at_ns: u64) -> u32 {
    (at_ns / 1_000_000) as u32
}

fn tcp(connection: ConnectionId, forward: bool) -> TcpHeader {
    let [source, destination] = Ends::of(connection).ports;
    let [source, destination] = if forward { [source, destination] } else { [destination, source] };
    TcpHeader::new(source, destination, 0, 0)
}

/// Returns the options of a SYN in Linux's order (tcp_syn_options).
fn syn_options(timestamp: u32, echo: u32, mss_bytes: u32) -> TcpOptions {
    let advertised = u16::try_from(mss_bytes + TIMESTAMPS_BYTES).unwrap_or(u16::MAX);
    options(&[
        Opt::MaximumSegmentSize(advertised),
        Opt::SelectiveAcknowledgementPermitted,
        Opt::Timestamp(timestamp, echo),
        Opt::Noop,
        Opt::WindowScale(WINDOW_SCALE),
    ])
}

/// Returns TCP options: at most 12 bytes of timestamps and 28 of SACK blocks, so always within the 40 bytes
/// that TCP allows.
fn options(elements: &[Opt]) -> TcpOptions {
    TcpOptions::try_from_elements(elements).unwrap_or_default()
}

fn frame(
    connection: ConnectionId,
    forward: bool,
    mut tcp: TcpHeader,
    ecn: EcnField,
    payload: u32,
) -> (Vec<u8>, u32) {
    let [sender, receiver] = Ends::of(connection).addresses;
    let (source, destination) = if forward { (sender, receiver) } else { (receiver, sender) };
    let payload = &ZEROS[..(payload as usize).min(usize::from(u16::MAX) - 80)];
    // `payload` is cut so that neither the checksum nor the length can overflow
    tcp.checksum = tcp.calc_checksum_ipv4_raw(source, destination, payload).unwrap_or(0);
    let length = tcp.header_len_u16() + payload.len() as u16;
    let mut ip =
        Ipv4Header::new(length, TIME_TO_LIVE, IpNumber::TCP, source, destination).unwrap_or_default();
    ip.dont_fragment = true;
    ip.ecn = ip_ecn(ecn);
    ip.header_checksum = ip.calc_header_checksum();
    let mut bytes = Vec::with_capacity(MOST_BYTES as usize);
    bytes.extend_from_slice(&ethernet(forward).to_bytes());
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&tcp.to_bytes());
    let on_wire = bytes.len() as u32 + payload.len() as u32;
    (bytes, on_wire)
}

fn ip_ecn(ecn: EcnField) -> IpEcn {
    match ecn {
        EcnField::NotEct => IpEcn::ZERO,
        EcnField::Ect0 => IpEcn::TWO,
        EcnField::Ect1 => IpEcn::ONE,
        EcnField::Ce => IpEcn::THREE,
    }
}

fn ethernet(forward: bool) -> Ethernet2Header {
    // locally administered addresses: the second bit of the first byte is set (IEEE 802)
    let mac = |last: u8| [2, 0, 0, 0, 0, last];
    let (source, destination) = if forward { (mac(1), mac(2)) } else { (mac(2), mac(1)) };
    Ethernet2Header { source, destination, ether_type: EtherType::IPV4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    const CONTEXT: Context = Context { mss_bytes: 1448, ecn: true, accurate_ecn: false, echo_ms: 7 };

    fn packet(content: Content, bytes: u32) -> Packet {
        let connection = ConnectionId { flow: 0x01_02_03, index: 70_000 };
        Packet { connection, bytes, ecn: EcnField::Ect0, sent_ns: 1_234_567_890, content }
    }

    /// Checks the fields with an independent parser: they are those of RFC 3550, section 5.1.
    #[test]
    fn a_part_of_a_frame_is_rtp_over_udp_with_checksums_that_hold() {
        let part = Packet { ecn: EcnField::NotEct, ..packet(Content::Datagram { number: 65_537 }, 200) };
        let (mut bytes, on_wire) = of_packet(&part, CONTEXT);
        assert_eq!((bytes.len(), on_wire), (14 + 20 + 8 + 12, 200));
        bytes.resize(on_wire as usize, 0);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4 header") };
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("no UDP header") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        let udp_header = udp.to_header();
        let sum = udp_header.calc_checksum_ipv4(&header, udp.payload()).unwrap();
        assert_eq!((udp_header.checksum, udp_header.length), (sum, 166));
        // version 2, type 96, number 65,537 mod 2^16, 90 kHz at 1.234 s, source 0x010203
        assert_eq!(udp.payload()[..4], [0x80, 96, 0, 1]);
        assert_eq!(udp.payload()[4..8], 111_111u32.to_be_bytes());
        assert_eq!(udp.payload()[8..12], [0, 1, 2, 3]);
    }

    #[test]
    fn a_data_packet_is_1514_bytes_with_checksums_that_hold() {
        let data = packet(Content::Data { seq: 3, cwr: true, push: true }, 1514);
        let (mut bytes, on_wire) = of_packet(&data, CONTEXT);
        assert_eq!((bytes.len(), on_wire), (66, 1514));
        bytes.resize(on_wire as usize, 0);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (sliced.net, sliced.transport)
        else {
            panic!("no TCP over IPv4")
        };
        let ip = ip.header().to_header();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!((ip.source, ip.destination), ([10, 1, 2, 3], [10, 129, 2, 3]));
        assert_eq!(ip.ecn, IpEcn::TWO);
        let header = tcp.to_header();
        assert_eq!(header.checksum, header.calc_checksum_ipv4(&ip, tcp.payload()).unwrap());
        assert_eq!((header.sequence_number, header.acknowledgment_number), (1 + 3 * 1448, 1));
        assert_eq!(
            (header.source_port, header.destination_port),
            (1024 + (70_000_u32 - 64_512) as u16, 5002)
        );
        assert!(header.cwr && header.psh && header.ack && !header.syn && !header.ece);
        let options: Vec<_> = header.options_iterator().map(Result::unwrap).collect();
        assert_eq!(options, [Opt::Noop, Opt::Noop, Opt::Timestamp(1234, 7)]);
    }

    /// A tunnel's MTU of 1280 leaves 1228 bytes, and an MSS of 1240 without options (RFC 6691).
    #[test]
    fn lengths_and_numbers_are_those_of_the_connections_mtu() {
        let context = Context { mss_bytes: 1228, ..CONTEXT };
        let tcp = |bytes: &[u8]| TcpHeader::from_slice(&bytes[34..]).unwrap().0;
        let mss = |bytes: &[u8]| tcp(bytes).options_iterator().next().unwrap().unwrap();
        let ack = |ack: Ack| of_ack(ConnectionId::default(), &ack, EcnField::NotEct, 0, context).0;
        let (data, on_wire) =
            of_packet(&packet(Content::Data { seq: 3, cwr: false, push: false }, 1294), context);
        assert_eq!((on_wire, tcp(&data).sequence_number), (1294, 1 + 3 * 1228));
        assert_eq!(mss(&of_packet(&packet(Content::Syn, 74), context).0), Opt::MaximumSegmentSize(1240));
        assert_eq!(mss(&ack(Ack { syn: true, ..Ack::default() })), Opt::MaximumSegmentSize(1240));
        // 100 packets are 122,800 bytes: 7 units of 2^14
        let acked = tcp(&ack(Ack { next: 10, rwnd_pkts: 100, ..Ack::default() }));
        assert_eq!((acked.acknowledgment_number, acked.window_size), (1 + 10 * 1228, 7));
    }

    #[test]
    fn a_handshake_negotiates_what_is_used() {
        let (syn, on_wire) = of_packet(&packet(Content::Syn, 74), CONTEXT);
        assert_eq!((syn.len(), on_wire), (74, 74));
        let (tcp, _) = TcpHeader::from_slice(&syn[34..]).unwrap();
        assert!(tcp.syn && !tcp.ack && tcp.ece && tcp.cwr && tcp.sequence_number == 0);
        let answer = Ack { syn: true, echo_ms: 1234, ..Ack::default() };
        let (syn_ack, _) = of_ack(ConnectionId::default(), &answer, EcnField::NotEct, 2_000_000_000, CONTEXT);
        let (tcp, _) = TcpHeader::from_slice(&syn_ack[34..]).unwrap();
        assert!(tcp.syn && tcp.ack && tcp.ece && !tcp.cwr && tcp.acknowledgment_number == 1);
        let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        assert!(options.contains(&Opt::Timestamp(2000, 1234)), "{options:?}");
        assert!(options.contains(&Opt::SelectiveAcknowledgementPermitted), "{options:?}");
    }

    #[test]
    fn accurate_ecn_is_negotiated_and_counts_in_three_flags() {
        let context = Context { accurate_ecn: true, ..CONTEXT };
        let ace = |bytes: &[u8]| {
            let (tcp, _) = TcpHeader::from_slice(&bytes[34..]).unwrap();
            (tcp.ns, tcp.cwr, tcp.ece)
        };
        assert_eq!(ace(&of_packet(&packet(Content::Syn, 74), context).0), (true, true, true));
        let of = |ack: Ack| ace(&of_ack(ConnectionId::default(), &ack, EcnField::NotEct, 0, context).0);
        assert_eq!(of(Ack { syn: true, ..Ack::default() }), (false, true, false));
        // no mark is 5, three marks are 0 again (RFC 9768, sections 3.2.1 and 3.2.2)
        assert_eq!(of(Ack::default()), (true, false, true));
        assert_eq!(of(Ack { ce_pkts: 3, ..Ack::default() }), (false, false, false));
    }

    #[test]
    fn an_ack_has_its_sack_blocks_and_its_window() {
        let ack = Ack {
            next: 10,
            blocks: [(12, 14), (20, 21), (0, 0)],
            ece: true,
            echo_ms: 5,
            rwnd_pkts: 100,
            ..Ack::default()
        };
        let (bytes, on_wire) = of_ack(ConnectionId::default(), &ack, EcnField::NotEct, 0, CONTEXT);
        assert_eq!(bytes.len(), 14 + 20 + 20 + 12 + 4 + 16);
        assert_eq!(on_wire, bytes.len() as u32);
        let (tcp, _) = TcpHeader::from_slice(&bytes[34..]).unwrap();
        assert_eq!(tcp.acknowledgment_number, 1 + 10 * 1448);
        assert_eq!(tcp.window_size, (144_800_u32 >> 14) as u16);
        assert!(tcp.ece && !tcp.syn);
        let sack = Opt::SelectiveAcknowledgement((17_377, 20_273), [Some((28_961, 30_409)), None, None]);
        assert!(tcp.options_iterator().any(|option| option == Ok(sack.clone())));
    }

    #[test]
    fn sequence_numbers_wrap_as_on_the_wire() {
        let number = (1_u64 << 32) / 1448 + 1;
        assert_eq!(first_byte(number, 1448), ((number * 1448 + 1) % (1 << 32)) as u32);
    }
}
