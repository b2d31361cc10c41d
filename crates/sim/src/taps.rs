//! What the engine tells somebody who looks on, in their words.

use fairpace_netem::{Ecn, Fate, Nanos, Packet, Passed};
use fairpace_results::tap::{self, Content, EcnField, Happening, SenderState, Tap, Who};
use fairpace_tcp::{Ack, Segment, Sender};

use crate::host_view::HostView;
use crate::parcel::Parcel;

fn field(ecn: Ecn) -> EcnField {
    match ecn {
        Ecn::NotCapable => EcnField::NotCapable,
        Ecn::Capable => EcnField::Capable,
        Ecn::Marked => EcnField::Marked,
    }
}

/// An ACK.
pub(crate) fn ack(ack: &Ack) -> tap::Ack {
    tap::Ack {
        syn: ack.syn,
        next: ack.next,
        blocks: ack.blocks.map(|b| (b.start, b.end)),
        echoes_mark: ack.ece,
        echo_ms: ack.echo_ms,
        window_pkts: if ack.window_pkts == u32::MAX { u64::MAX } else { ack.window_pkts.into() },
    }
}

/// A packet; `carried` is the ACK that it carries, without it is data.
pub(crate) fn packet(packet: &Packet<Parcel>, carried: Option<&Ack>) -> tap::Packet {
    let who = Who { flow: packet.flow, connection: packet.connection };
    let Segment { seq, cwr, .. } = packet.payload.segment;
    let content = match carried {
        Some(carried) => Content::Ack(ack(carried)),
        None if seq == Segment::SYN => Content::Syn,
        None => Content::Data { number: seq, reduced: cwr },
    };
    tap::Packet { who, bytes: packet.bytes, ecn: field(packet.ecn), sent_ns: packet.payload.left(), content }
}

/// A packet came to its last link, and what becomes of it is known.
#[cold]
pub(crate) fn passed<T: Tap>(
    tap: &mut T,
    now: Nanos,
    link: u32,
    sent: &Packet<Parcel>,
    passed: Option<&Passed>,
) {
    let told = packet(sent, None);
    let Some(passed) = passed else {
        tap.packet(now, link, Happening::Refused, &told);
        return;
    };
    tap.packet(now, link, Happening::Enqueued, &told);
    if sent.ecn == Ecn::Marked {
        tap.packet(now, link, Happening::Marked, &told);
    }
    let leaves = if passed.fate == Fate::Lost { Happening::Lost } else { Happening::Departed };
    tap.packet(passed.at, link, leaves, &told);
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
        inflight_pkts: sender.in_flight_pkts(),
        pacing_rate_Bps: (sender.is_paced() && rate != fairpace_cc::NO_RATE).then_some(rate),
        bw_Bps: observed.map_or(0, |o| o.bw_Bps),
        min_rtt_us: observed.and_then(|o| o.min_rtt_us),
        srtt_us: sender.srtt_us(),
        pacing_gain_256: observed.map_or(0, |o| o.pacing_gain_256),
        cwnd_gain_256: observed.map_or(0, |o| o.cwnd_gain_256),
        sent_pkts: stats.sent_pkts,
        resent_pkts: stats.resent_pkts,
        timeouts: stats.timeouts,
        undos: stats.undos,
    }
}
