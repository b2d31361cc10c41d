//! Conversions from the types of the engine to the types of `fairpace_results::observer`.

use fairpace_netem::{EcnField, Fate, Nanos, Packet, Transit};
use fairpace_results::observer::{self, ConnectionId, Content, LinkEvent, Observer, SenderState};
use fairpace_tcp::{Ack, Segment, Sender};

use crate::header::{Header, Kind};
use crate::host_view::HostView;

/// Returns an ACK as an observer gets it.
pub(crate) fn ack(ack: &Ack) -> observer::Ack {
    observer::Ack {
        syn: ack.syn,
        rst: ack.next == Ack::RST,
        next: ack.next,
        blocks: ack.blocks.map(|b| (b.start, b.end)),
        ece: ack.ece,
        ce_pkts: ack.ce_pkts,
        echo_ms: ack.echo_ms,
        rwnd_pkts: if ack.rwnd_pkts == u32::MAX { u64::MAX } else { ack.rwnd_pkts.into() },
    }
}

/// Returns a segment as an observer gets it.
pub(crate) fn segment(&Segment { seq, cwr, push, .. }: &Segment) -> Content {
    match seq {
        Segment::SYN => Content::Syn,
        Segment::ACK => Content::HandshakeAck,
        _ => Content::Data { seq, cwr, push },
    }
}

/// Returns a packet as an observer gets it. `carried` is the ACK that it carries; `None`: the packet is data.
pub(crate) fn packet(packet: &Packet<Header>, carried: Option<&Ack>) -> observer::Packet {
    let connection = ConnectionId { flow: packet.flow, index: packet.connection };
    let content = match carried {
        Some(carried) => Content::Ack(ack(carried)),
        None if packet.payload.kind == Kind::Datagram => {
            Content::Datagram { number: packet.payload.segment.seq }
        }
        None => segment(&packet.payload.segment),
    };
    observer::Packet {
        connection,
        bytes: packet.bytes,
        ecn: packet.ecn,
        sent_ns: packet.payload.left(),
        content,
    }
}

/// Reports the events of a packet that takes a link on the fast path and came to it with `before` in its ECN
/// field. `transit` is its departure; `None`: the packet was refused.
#[cold]
pub(crate) fn transit<O: Observer>(
    observer: &mut O,
    now: Nanos,
    link: u32,
    before: EcnField,
    sent: &Packet<Header>,
    transit: Option<&Transit>,
) {
    let left = packet(sent, None);
    let came = observer::Packet { ecn: before, ..left };
    match transit {
        None => observer.packet(now, link, LinkEvent::Refused, &came),
        Some(Transit { at, fate, .. }) => {
            observer.packet(now, link, LinkEvent::Enqueued, &came);
            leaves(observer, *at, link, before == EcnField::Ce, *fate, &left);
        }
    }
}

/// Reports the events of a packet that leaves a link. `arrived_ce`: the packet came to the link with CE.
pub(crate) fn leaves<O: Observer>(
    observer: &mut O,
    at: Nanos,
    link: u32,
    arrived_ce: bool,
    fate: Fate,
    left: &observer::Packet,
) {
    if left.ecn == EcnField::Ce && !arrived_ce {
        observer.packet(at, link, LinkEvent::Marked, left);
    }
    let event = match fate {
        Fate::Delivered => LinkEvent::Departed,
        Fate::Lost => LinkEvent::Lost,
        Fate::Dropped => LinkEvent::Dropped,
    };
    observer.packet(at, link, event, left);
}

/// Returns the state of a sender as an observer gets it.
pub(crate) fn sender(sender: &Sender<HostView>) -> SenderState {
    let observed = sender.observe();
    let stats = sender.stats();
    let rate = sender.pacing_rate_Bps();
    SenderState {
        phase: observed.map_or(-1, |o| o.phase as i8),
        ca_state: sender.ca_state() as u8,
        cwnd_pkts: sender.cwnd_pkts(),
        ssthresh_pkts: match sender.ssthresh_pkts() {
            fairpace_cc::INFINITE => u32::MAX,
            n => n,
        },
        inflight_pkts: sender.inflight_pkts(),
        pacing_rate_Bps: (sender.is_paced() && rate != fairpace_cc::NO_RATE).then_some(rate),
        bw_Bps: observed.map_or(0, |o| o.bw_Bps),
        min_rtt_us: observed.and_then(|o| o.min_rtt_us),
        srtt_us: sender.srtt_us(),
        pacing_gain_256: observed.map_or(0, |o| o.pacing_gain_256),
        cwnd_gain_256: observed.map_or(0, |o| o.cwnd_gain_256),
        sent_pkts: stats.sent_pkts,
        retransmitted_pkts: stats.retransmitted_pkts,
        timeouts: stats.timeouts,
        undos: stats.undos,
    }
}
