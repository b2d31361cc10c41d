//! Conversions from the types of the engine to those of `fairpace_results::observer`.

use fairpace_netem::{Ecn, Fate, Nanos, Packet, Passed};
use fairpace_results::observer::{self, ConnectionId, Content, EcnField, LinkEvent, Observer, SenderState};
use fairpace_tcp::{Ack, Segment, Sender};

use crate::host_view::HostView;
use crate::parcel::Parcel;

fn field(ecn: Ecn) -> EcnField {
    match ecn {
        Ecn::NotCapable => EcnField::NotEct,
        Ecn::Capable => EcnField::Ect0,
        Ecn::Marked => EcnField::Ce,
    }
}

/// An ACK.
pub(crate) fn ack(ack: &Ack) -> observer::Ack {
    observer::Ack {
        syn: ack.syn,
        next: ack.next,
        blocks: ack.blocks.map(|b| (b.start, b.end)),
        ece: ack.ece,
        echo_ms: ack.echo_ms,
        rwnd_pkts: if ack.rwnd_pkts == u32::MAX { u64::MAX } else { ack.rwnd_pkts.into() },
    }
}

/// A packet; `carried` is the ACK that it carries, without it is data.
pub(crate) fn packet(packet: &Packet<Parcel>, carried: Option<&Ack>) -> observer::Packet {
    let connection = ConnectionId { flow: packet.flow, index: packet.connection };
    let Segment { seq, cwr, .. } = packet.payload.segment;
    let content = match carried {
        Some(carried) => Content::Ack(ack(carried)),
        None if seq == Segment::SYN => Content::Syn,
        None => Content::Data { seq, cwr },
    };
    observer::Packet {
        connection,
        bytes: packet.bytes,
        ecn: field(packet.ecn),
        sent_ns: packet.payload.left(),
        content,
    }
}

/// A packet came to its last link, and what becomes of it is known.
#[cold]
pub(crate) fn passed<T: Observer>(
    observer: &mut T,
    now: Nanos,
    link: u32,
    sent: &Packet<Parcel>,
    passed: Option<&Passed>,
) {
    let told = packet(sent, None);
    let Some(passed) = passed else {
        observer.packet(now, link, LinkEvent::Refused, &told);
        return;
    };
    observer.packet(now, link, LinkEvent::Enqueued, &told);
    if sent.ecn == Ecn::Marked {
        observer.packet(now, link, LinkEvent::Marked, &told);
    }
    let leaves = if passed.fate == Fate::Lost { LinkEvent::Lost } else { LinkEvent::Departed };
    observer.packet(passed.at, link, leaves, &told);
}

/// A sender.
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
