//! Active queue management (RFC 7567): RED, CoDel, FQ-CoDel, PIE, DualPI2.
//!
//! A discipline decides on arrival and on departure which packets are dropped, which are marked, and which
//! packet is next. A discipline has no transmitter: [`AqmQueue`](crate::AqmQueue) puts the discipline in
//! front of a transmitter. Where an RFC and Linux differ, the file follows Linux and says so.

mod codel;
mod dualpi2;
mod fq_codel;
mod pie;
mod red;
mod ring;

pub use fairpace_scenario::{Codel, DualPi2, FqCodel, Pie, Queue, Red, RedRules};
pub(crate) use red::{Action, RedState};
pub use ring::{DropReason, Sink};

use fairpace_scenario::Random;

use crate::packet::Packet;
use crate::time::Nanos;
use codel::CodelQueue;
use dualpi2::DualPi2Queue;
use fairpace_scenario::Limit;
use fq_codel::FqCodelQueue;
use pie::PieQueue;
use red::RedQueue;
use ring::Waiting;

/// A queue under one of the disciplines.
///
/// The limit covers packets that wait. An empty queue accepts any packet, however small the limit.
#[derive(Debug, Clone)]
pub struct Discipline<T> {
    kind: Kind<T>,
}

#[derive(Debug, Clone)]
enum Kind<T> {
    Red(RedQueue<T>),
    Codel(CodelQueue<T>),
    FqCodel(FqCodelQueue<T>),
    Pie(PieQueue<T>),
    DualPi2(DualPi2Queue<T>),
}

/// Calls a method of the queue of any kind.
macro_rules! each {
    ($discipline:expr, $queue:ident => $what:expr) => {
        match $discipline {
            Kind::Red($queue) => $what,
            Kind::Codel($queue) => $what,
            Kind::FqCodel($queue) => $what,
            Kind::Pie($queue) => $what,
            Kind::DualPi2($queue) => $what,
        }
    };
}

impl<T: Copy> Discipline<T> {
    /// Returns an empty queue that holds up to `limit`, in front of a link of `rate_bps`; `None` if the queue
    /// is a FIFO. RED and PIE draw from `random`; FQ-CoDel takes the seed of its hash from it.
    pub fn new(queue: Queue, rate_bps: u64, limit: Limit, random: Random) -> Option<Self> {
        let kind = match queue {
            Queue::Fifo | Queue::Step(_) => return None,
            Queue::Red(settings) => Kind::Red(RedQueue::new(settings, rate_bps, limit, random)),
            Queue::Codel(settings) => Kind::Codel(CodelQueue::new(settings, limit)),
            Queue::FqCodel(settings) => Kind::FqCodel(FqCodelQueue::new(settings, limit, random)),
            Queue::Pie(settings) => Kind::Pie(PieQueue::new(settings, limit, random)),
            Queue::DualPi2(settings) => Kind::DualPi2(DualPi2Queue::new(settings, rate_bps, limit)),
        };
        Some(Discipline { kind })
    }

    /// Enqueues a packet. The discipline may drop other packets for it, or the packet itself later; `sink`
    /// gets the dropped packets. Times must not go back.
    ///
    /// # Errors
    /// The packet itself, and the reason for which it was dropped.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        each!(&mut self.kind, queue => queue.enqueue(now, packet, sink))
    }

    /// Dequeues the next packet at `now`, with its waiting time. Call it whenever the link is free, even if
    /// no packet waits: RED learns from the call that the link is idle.
    #[inline]
    pub fn dequeue(&mut self, now: Nanos, sink: &mut impl Sink<T>) -> Option<(Packet<T>, Nanos)> {
        let Waiting { since, packet } = each!(&mut self.kind, queue => queue.dequeue(now, sink))?;
        Some((packet, now - since))
    }

    /// Backlog in bytes.
    #[inline]
    pub fn backlog_bytes(&self) -> u64 {
        each!(&self.kind, queue => queue.backlog_bytes())
    }

    /// Backlog in packets.
    #[inline]
    pub fn len(&self) -> usize {
        each!(&self.kind, queue => queue.len())
    }

    /// True when no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod testing;
