//! A type for all parts of a path, with static dispatch.

use crate::elements::burst_loss::BurstLoss;
use crate::elements::delay_line::DelayLine;
use crate::elements::duplication::Duplication;
use crate::elements::link::Link;
use crate::elements::loss::Loss;
use crate::elements::reordering::Reordering;
use crate::elements::reordering_line::ReorderingLine;
use crate::elements::selective_drop::{Payload, SelectiveDrop};
use crate::packet::{Departed, Packet};
use crate::time::Nanos;

/// A part of a path that packets pass.
///
/// A packet is [pushed](Element::push); a packet that the element holds back is [polled](Element::poll) when
/// [`next_event`](Element::next_event) says so. Times never go back, and every packet due before `now` is
/// polled before a packet is pushed at `now`.
///
/// `repr(u8)`: with a tag of its own a match costs four instructions; with a tag that is encoded in the
/// fields of a variant it costs eleven.
#[derive(Debug, Clone)]
#[repr(u8)]
pub enum Element<T> {
    /// A transmitter behind a queue. Boxed, since a link is ten times as large as the other elements.
    Link(Box<Link<T>>),
    /// A line with propagation that keeps the order.
    DelayLine(DelayLine<T>),
    /// A line with jitter that does not keep the order.
    ReorderingLine(ReorderingLine<T>),
    /// An element that delays a share of the packets, which the others overtake.
    Reordering(Reordering<T>),
    /// An element that copies a share of the packets that leave a link.
    Duplication(Duplication),
    /// An element that loses a share of the packets.
    Loss(Loss),
    /// An element that loses a share of the bursts.
    BurstLoss(BurstLoss),
    /// An element that drops packets by their number. Boxed, since it is larger than other elements.
    SelectiveDrop(Box<SelectiveDrop>),
}

/// The decision of an element on a packet that is pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The element holds the packet until it is polled.
    Held,
    /// The element lets the packet go on at once.
    Passed,
    /// The element lets the packet go on at once, and a copy with it.
    Duplicated,
    /// The element drops or loses the packet.
    Dropped,
}

/// Applies drops by number. Not inlined: most scenarios have no such drops.
#[cold]
fn select<T: Payload>(drop: &mut SelectiveDrop, now: Nanos, packet: &Packet<T>) -> Pushed {
    match drop.drops(now, packet.payload.content()) {
        true => Pushed::Dropped,
        false => Pushed::Passed,
    }
}

impl<T: Payload> Element<T> {
    /// Takes a packet.
    #[inline]
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Pushed {
        match self {
            Element::Link(link) => match link.push(now, packet) {
                Ok(()) => Pushed::Held,
                Err(_) => Pushed::Dropped,
            },
            Element::DelayLine(line) => {
                line.push(now, packet);
                Pushed::Held
            }
            Element::ReorderingLine(line) => {
                line.push(now, packet);
                Pushed::Held
            }
            Element::Reordering(reordering) => match reordering.push(now, packet) {
                Ok(()) => Pushed::Held,
                Err(_) => Pushed::Passed,
            },
            Element::Duplication(duplication) => match duplication.duplicates() {
                true => Pushed::Duplicated,
                false => Pushed::Passed,
            },
            Element::Loss(loss) => match loss.loses(now) {
                true => Pushed::Dropped,
                false => Pushed::Passed,
            },
            Element::BurstLoss(loss) => match loss.loses(now, packet.connection, packet.bytes) {
                true => Pushed::Dropped,
                false => Pushed::Passed,
            },
            Element::SelectiveDrop(drop) => select(drop, now, &packet),
        }
    }

    /// The time to poll next; `Nanos::MAX`: the element holds no packet.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match self {
            Element::Link(link) => link.next_event(),
            Element::DelayLine(line) => line.next_event(),
            Element::ReorderingLine(line) => line.next_event(),
            Element::Reordering(reordering) => reordering.next_event(),
            Element::Duplication(_)
            | Element::Loss(_)
            | Element::BurstLoss(_)
            | Element::SelectiveDrop(_) => None,
        }
        .unwrap_or(Nanos::MAX)
    }

    /// Returns the next packet that has left by `now`, or that a link has dropped; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        match self {
            Element::Link(link) => link.poll(now),
            Element::DelayLine(line) => line.poll(now),
            Element::ReorderingLine(line) => line.poll(now),
            Element::Reordering(reordering) => reordering.poll(now),
            Element::Duplication(_)
            | Element::Loss(_)
            | Element::BurstLoss(_)
            | Element::SelectiveDrop(_) => None,
        }
    }

    /// Number of packets that were pushed and not yet polled.
    pub fn len(&self) -> usize {
        match self {
            Element::Link(link) => link.len(),
            Element::DelayLine(line) => line.len(),
            Element::ReorderingLine(line) => line.len(),
            Element::Reordering(reordering) => reordering.len(),
            Element::Duplication(_)
            | Element::Loss(_)
            | Element::BurstLoss(_)
            | Element::SelectiveDrop(_) => 0,
        }
    }

    /// True if there are no such packets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
