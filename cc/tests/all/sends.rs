//! The ring of what packets knew when they were sent (cc/lib/sends.h), held against a connection that
//! remembers it on every packet.

use fairpace_cc::{KernelSends, View};

/// Bytes per packet.
const MSS: u32 = 1000;
// Entries of the ring, and entries per cwnd, as in sends.h.
const ENTRIES: u32 = 128;
const PER_WINDOW: u32 = 64;

/// What a packet knew when it was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Packet {
    end_seq: u32,
    inflight_pkts: u32,
    lost_pkts: u32,
    delivered_pkts: u32,
    retransmitted: bool,
}

/// A connection of which each packet remembers, and the ring that has to find out.
struct Connection {
    ring: KernelSends,
    view: View,
    sent: Vec<Packet>,
}

impl Connection {
    /// Counters begin shortly before they wrap.
    fn new(cwnd_pkts: u32) -> Connection {
        let start = u32::MAX - 50;
        let view = View {
            mss_bytes: MSS,
            cwnd_pkts,
            delivered_pkts: start,
            lost_pkts: start,
            snd_una: start,
            snd_nxt: start,
            ..View::default()
        };
        Connection { ring: KernelSends::new(&view), view, sent: Vec::new() }
    }

    fn send(&mut self, pkts: u32) {
        for _ in 0..pkts {
            self.view.snd_nxt = self.view.snd_nxt.wrapping_add(MSS);
            self.remember(self.view.snd_nxt, false);
        }
    }

    fn resend(&mut self, end_seq: u32) {
        self.remember(end_seq, true);
    }

    fn remember(&mut self, end_seq: u32, retransmitted: bool) {
        self.view.inflight_pkts += 1;
        let View { inflight_pkts, lost_pkts, delivered_pkts, .. } = self.view;
        self.sent.push(Packet { end_seq, inflight_pkts, lost_pkts, delivered_pkts, retransmitted });
    }

    /// An ACK for `acked` packets by which `lost` others are marked lost.
    fn ack(&mut self, acked: u32, lost: u32) {
        let before = self.view;
        self.view.delivered_pkts = before.delivered_pkts.wrapping_add(acked);
        self.view.lost_pkts = before.lost_pkts.wrapping_add(lost);
        self.view.inflight_pkts -= acked + lost;
        self.ring.note(&self.view, before.delivered_pkts, before.lost_pkts, before.inflight_pkts);
    }

    /// What the ring says that a packet, acknowledged just now, knew: in flight, lost by then.
    fn reported(&self, packet: &Packet) -> (u32, u32) {
        let delivered = self.view.delivered_pkts.wrapping_sub(packet.delivered_pkts);
        let mut view = View {
            sample_end_seq: packet.end_seq,
            sample_prior_delivered_pkts: packet.delivered_pkts,
            sample_delivered_pkts: delivered as i32,
            ..self.view
        };
        self.ring.sample(&mut view, packet.retransmitted);
        (view.sample_inflight_pkts, view.lost_pkts.wrapping_sub(view.sample_lost_pkts))
    }

    fn assert_exact(&self, packet: &Packet) {
        assert_eq!(self.reported(packet), (packet.inflight_pkts, packet.lost_pkts), "{packet:?}");
    }
}

#[test]
fn while_each_ack_has_an_entry_every_packet_is_known_exactly() {
    let mut c = Connection::new(PER_WINDOW - 1);
    c.send(40);
    for round in 0..ENTRIES - 2 {
        c.ack(1 + round % 3, u32::from(round % 7 == 0));
        c.send(1 + round % 4);
    }
    c.ack(1, 0);
    for packet in &c.sent {
        c.assert_exact(packet);
    }
}

#[test]
fn retransmissions_before_new_data_are_counted_in_and_found_themselves() {
    let mut c = Connection::new(20);
    c.send(20);
    let first = c.sent[0].end_seq;
    c.ack(3, 2);
    c.resend(first);
    let second = first.wrapping_add(MSS);
    c.resend(second);
    c.send(2);
    c.ack(2, 0);
    let [.., again, last, new, newest] = &c.sent[..] else { panic!() };
    assert_eq!((again.end_seq, last.end_seq), (first, second));
    for packet in [last, new, newest] {
        c.assert_exact(packet);
    }
    // the order of the two is unknown: both are taken for the last
    assert_eq!(c.reported(again), (last.inflight_pkts, last.lost_pkts));
}

#[test]
fn a_timeout_keeps_apart_what_was_sent_before_and_after_it() {
    let mut c = Connection::new(20);
    c.send(10);
    c.ack(2, 0);
    c.send(2);
    let (before, first) = (c.sent[11], c.sent[2].end_seq);
    // all that is in flight is marked lost, the first of it sent again
    c.view.lost_pkts = c.view.lost_pkts.wrapping_add(10);
    c.view.inflight_pkts = 0;
    c.ring.note_losses(&c.view);
    let mut lost_view = c.view;
    c.ring.lost(&mut lost_view, c.view.snd_nxt, false);
    assert_eq!(
        (lost_view.losses_pkts, lost_view.sample_inflight_pkts, lost_view.sample_lost_pkts),
        (10, 10, 10)
    );
    c.resend(first);
    let again = *c.sent.last().unwrap();
    c.ack(1, 0);
    c.assert_exact(&again);
    assert_eq!((again.inflight_pkts, again.lost_pkts), (1, c.view.lost_pkts));
    // a packet of before that arrives after all
    c.assert_exact(&before);
    assert_eq!(before.inflight_pkts, 10);
}

#[test]
fn losses_are_reported_with_the_flight_of_the_last_packet_lost() {
    let mut c = Connection::new(20);
    c.send(20);
    c.ack(4, 0);
    c.send(4);
    c.ack(3, 2);
    let lost = c.sent[21];
    let mut lost_view = c.view;
    c.ring.lost(&mut lost_view, lost.end_seq, false);
    assert_eq!((lost_view.losses_pkts, lost_view.sample_end_seq), (2, lost.end_seq));
    assert_eq!((lost_view.sample_inflight_pkts, lost_view.sample_lost_pkts), (lost.inflight_pkts, 2));
    assert_eq!(lost_view.sample_prior_delivered_pkts, lost.delivered_pkts);
    assert_eq!(lost_view.sample_delivered_pkts, -1);
    // a host that sees no other hole: the packet of the sample stands in
    c.view.lost_pkts = c.view.lost_pkts.wrapping_add(1);
    let sampled = c.sent[23];
    let mut lost_view = View {
        sample_end_seq: sampled.end_seq,
        sample_prior_delivered_pkts: sampled.delivered_pkts,
        ..c.view
    };
    c.ring.lost(&mut lost_view, lost.end_seq, false);
    assert_eq!((lost_view.losses_pkts, lost_view.sample_inflight_pkts), (1, sampled.inflight_pkts));
}

#[test]
fn a_window_of_many_packets_is_known_within_a_distance_between_entries() {
    let cwnd = 20_000;
    let mut c = Connection::new(cwnd);
    c.send(cwnd);
    for _ in 0..cwnd / 2 {
        c.ack(2, 0);
        c.send(3);
    }
    c.ack(2, 0);
    let bound = cwnd / PER_WINDOW + 3;
    for packet in c.sent.iter().step_by(97) {
        let (inflight_pkts, _) = c.reported(packet);
        assert_eq!(
            inflight_pkts, packet.inflight_pkts,
            "`delivered` shows the position within an entry: {packet:?}"
        );
        let mut lost = View { lost_pkts: c.view.lost_pkts.wrapping_add(1), ..c.view };
        c.ring.clone().lost(&mut lost, packet.end_seq, false);
        let error = lost.sample_inflight_pkts.abs_diff(packet.inflight_pkts);
        assert!(error < bound, "{error} packets off, at most {bound}: {packet:?}");
    }
}

#[test]
fn what_is_older_than_the_ring_is_estimated_without_memory() {
    let mut c = Connection::new(20);
    c.send(20);
    for _ in 0..2 * ENTRIES {
        c.ack(1, 0);
        c.send(1);
    }
    let (oldest, delivered) = (c.sent[0], c.view.delivered_pkts);
    let left = delivered.wrapping_sub(oldest.delivered_pkts);
    assert_eq!(c.reported(&oldest).0, left, "as many as have been delivered since");
    c.assert_exact(&c.sent[c.sent.len() - 20]);
}

#[test]
fn a_packet_from_before_the_algorithm_is_not_mistaken_for_one_after_it() {
    let mut c = Connection::new(20);
    c.view.inflight_pkts = 10;
    c.view.snd_nxt = c.view.snd_una.wrapping_add(10 * MSS);
    c.ring = KernelSends::new(&c.view);
    let old = Packet {
        end_seq: c.view.snd_nxt,
        inflight_pkts: 0,
        lost_pkts: 0,
        delivered_pkts: u32::MAX - 60,
        retransmitted: false,
    };
    c.ack(2, 0);
    assert_eq!(c.reported(&old).0, c.view.delivered_pkts.wrapping_sub(old.delivered_pkts));
}
