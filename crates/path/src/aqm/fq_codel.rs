//! Fair queueing with controlled delay: RFC 8290, as Linux has it (net/sched/sch_fq_codel.c).
//!
//! Flows are hashed to buckets, each a queue under CoDel. Buckets take turns by deficit round robin: a turn is worth a quantum of
//! bytes. A bucket that was empty goes before those that were not, for one turn, so a sparse flow hardly waits.

use super::codel::{Codel, Control, Head};
use super::{DropReason, Sink, Waiting};
use crate::{Limit, Nanos, Packet, Random};

/// Settings of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel {
    /// What runs in each bucket.
    pub codel: Codel,
    /// Buckets that flows are hashed to; 0 is taken as 1.
    pub buckets: u32,
    /// Bytes that a bucket may send in its turn; less than 256 is taken as 256, as by Linux.
    pub quantum_bytes: u32,
}

/// A turn is worth at least this: with less, buckets would be passed over again and again for one packet.
const LEAST_QUANTUM: u32 = 256;
/// When there is no room, up to so many packets of the longest queue go at once, but no more than half of it: looking for the
/// longest costs more than dropping.
const BATCH: u32 = 64;
/// The end of a list.
const NIL: u32 = u32::MAX;

/// All buckets.
#[derive(Debug, Clone)]
pub(super) struct FqCodelQueue<T> {
    settings: FqCodel,
    limit: Limit,
    /// Which flows share a bucket depends on this.
    perturbation: u64,
    buckets: Vec<Bucket>,
    /// Buckets in the order of their turns: those that were empty go first.
    new: Turns,
    old: Turns,
    packets: Slab<T>,
    total: Total,
}

#[derive(Debug, Clone)]
struct Bucket {
    queue: Queue,
    control: Control,
    deficit: i64,
    /// The next bucket in its list, if it is in one.
    next: u32,
    has_turns: bool,
}

/// What waits in all buckets.
#[derive(Debug, Clone, Default)]
struct Total {
    bytes: u64,
    pkts: usize,
}

impl<T: Copy> FqCodelQueue<T> {
    pub(super) fn new(settings: FqCodel, limit: Limit, mut random: Random) -> Self {
        let quantum_bytes = settings.quantum_bytes.max(LEAST_QUANTUM);
        let bucket = Bucket {
            queue: Queue::default(),
            control: Control::default(),
            deficit: 0,
            next: NIL,
            has_turns: false,
        };
        FqCodelQueue {
            settings: FqCodel { quantum_bytes, ..settings },
            limit,
            perturbation: random.next_u64(),
            buckets: vec![bucket; settings.buckets.max(1) as usize],
            new: Turns::default(),
            old: Turns::default(),
            packets: Slab::default(),
            total: Total::default(),
        }
    }

    /// The bucket of a flow.
    #[inline]
    fn bucket_of(&self, flow: u32) -> u32 {
        Random::new(self.perturbation ^ u64::from(flow)).below(self.buckets.len() as u64) as u32
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        let index = self.bucket_of(packet.flow);
        let bucket = &mut self.buckets[index as usize];
        self.packets.push(&mut bucket.queue, Waiting { since: now, packet });
        self.total.bytes += u64::from(packet.bytes);
        self.total.pkts += 1;
        if !bucket.has_turns {
            bucket.has_turns = true;
            bucket.deficit = i64::from(self.settings.quantum_bytes);
            self.new.push(&mut self.buckets, index);
        }
        let pkts = self.total.pkts as u64;
        if pkts > 1 && self.limit.is_exceeded_by(self.total.bytes, pkts) {
            self.make_room(sink);
        }
        Ok(())
    }

    /// Drops from the head of the longest queue.
    #[cold]
    fn make_room(&mut self, sink: &mut impl Sink<T>) {
        let Some(longest) = self.buckets.iter_mut().rev().max_by_key(|b| b.queue.bytes) else { return };
        let keeps = longest.queue.bytes - longest.queue.bytes / 2;
        let mut pkts = 0;
        while pkts < BATCH && (pkts == 0 || longest.queue.bytes > keeps) {
            let mut head =
                InBucket { queue: &mut longest.queue, packets: &mut self.packets, total: &mut self.total };
            let Some(waiting) = head.pop() else { break };
            sink.dropped(waiting.packet, DropReason::Full);
            pkts += 1;
        }
        longest.control.overflowed(pkts);
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, sink: &mut impl Sink<T>) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let turns = if is_new { &mut self.new } else { &mut self.old };
            let index = turns.first()?;
            let bucket = &mut self.buckets[index as usize];
            if bucket.deficit <= 0 {
                bucket.deficit += i64::from(self.settings.quantum_bytes);
                turns.pop(&mut self.buckets);
                self.old.push(&mut self.buckets, index);
                continue;
            }
            let Bucket { queue, control, .. } = bucket;
            let mut head = InBucket { queue, packets: &mut self.packets, total: &mut self.total };
            if let Some(taken) = control.dequeue(now, &self.settings.codel, &mut head, sink) {
                bucket.deficit -= i64::from(taken.packet.bytes);
                return Some(taken);
            }
            turns.pop(&mut self.buckets);
            // A new bucket that has emptied waits for one round of the old ones before it may be new again: otherwise a flow of
            // single packets would starve them.
            if is_new && !self.old.is_empty() {
                self.old.push(&mut self.buckets, index);
            } else {
                self.buckets[index as usize].has_turns = false;
            }
        }
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.total.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.total.pkts
    }
}

/// A bucket's queue, for its CoDel.
struct InBucket<'a, T> {
    queue: &'a mut Queue,
    packets: &'a mut Slab<T>,
    total: &'a mut Total,
}

impl<T: Copy> Head<T> for InBucket<'_, T> {
    #[inline]
    fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop(self.queue)?;
        self.total.bytes -= u64::from(waiting.packet.bytes);
        self.total.pkts -= 1;
        Some(waiting)
    }

    /// Of all buckets, as on Linux: while others are long, the last packet of a short one can be dropped too.
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.total.bytes
    }
}

/// A list of buckets, linked through them.
#[derive(Debug, Clone, Copy)]
struct Turns {
    head: u32,
    tail: u32,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { head: NIL, tail: NIL }
    }
}

impl Turns {
    fn is_empty(&self) -> bool {
        self.head == NIL
    }

    #[inline]
    fn first(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    #[inline]
    fn push(&mut self, buckets: &mut [Bucket], index: u32) {
        buckets[index as usize].next = NIL;
        match self.head {
            NIL => self.head = index,
            _ => buckets[self.tail as usize].next = index,
        }
        self.tail = index;
    }

    #[inline]
    fn pop(&mut self, buckets: &mut [Bucket]) {
        self.head = buckets[self.head as usize].next;
    }
}

/// Packets of all queues in one piece of memory, as large as the most that ever waited. Each queue is linked through it.
#[derive(Debug, Clone)]
struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// Nodes that are not used.
    free: u32,
}

#[derive(Debug, Clone)]
struct Node<T> {
    waiting: Waiting<T>,
    next: u32,
}

/// One queue in a [`Slab`].
#[derive(Debug, Clone)]
struct Queue {
    head: u32,
    tail: u32,
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { head: NIL, tail: NIL, bytes: 0 }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { nodes: Vec::new(), free: NIL }
    }
}

impl<T: Copy> Slab<T> {
    #[inline]
    fn push(&mut self, queue: &mut Queue, waiting: Waiting<T>) {
        queue.bytes += u64::from(waiting.packet.bytes);
        let node = Node { waiting, next: NIL };
        let index = self.free;
        let index = if index == NIL {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        match queue.head {
            NIL => queue.head = index,
            _ => self.nodes[queue.tail as usize].next = index,
        }
        queue.tail = index;
    }

    #[inline]
    fn pop(&mut self, queue: &mut Queue) -> Option<Waiting<T>> {
        let index = queue.head;
        let node = self.nodes.get_mut(index as usize)?;
        let waiting = node.waiting;
        queue.head = node.next;
        queue.bytes -= u64::from(waiting.packet.bytes);
        node.next = self.free;
        self.free = index;
        Some(waiting)
    }
}
