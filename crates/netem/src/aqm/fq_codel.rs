//! FQ-CoDel, fair queueing with controlled delay (RFC 8290), as in Linux (net/sched/sch_fq_codel.c).
//!
//! Connections are hashed to buckets, each a queue under CoDel. Deficit round robin serves the buckets: in a
//! turn a bucket may send a quantum of bytes. A bucket that was empty is served before buckets that were not,
//! for one turn, so sparse connections hardly wait.

use fairpace_scenario::Random;

use super::codel::{Control, Head};
use super::ring::{DropReason, Sink, Waiting};
use crate::packet::Packet;
use crate::time::Nanos;
use fairpace_scenario::{FqCodel, Limit};

/// Least bytes of a turn: with less, buckets would be passed over repeatedly for one packet.
const LEAST_QUANTUM: u32 = 256;
/// Most packets of the longest queue that are dropped at once when the buffer is full, but no more than half
/// of the queue: finding the longest queue costs more than dropping.
const BATCH: u32 = 64;
/// Index that marks the end of a list.
const NIL: u32 = u32::MAX;

/// All buckets of FQ-CoDel.
#[derive(Debug, Clone)]
pub(super) struct FqCodelQueue<T> {
    settings: FqCodel,
    limit: Limit,
    /// Seed of the hash, which decides which connections share a bucket.
    perturbation: u64,
    buckets: Vec<Bucket>,
    /// Buckets that were empty; their turns come before those of the other buckets.
    new: Turns,
    old: Turns,
    packets: Slab<T>,
    total: Total,
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    queue: Queue,
    control: Control,
    deficit: i64,
    /// The next bucket in its list, if the bucket is in one.
    next: u32,
    has_turns: bool,
}

/// Backlog of all buckets.
#[derive(Debug, Clone, Default)]
struct Total {
    bytes: u64,
    pkts: usize,
}

impl<T: Copy> FqCodelQueue<T> {
    pub(super) fn new(settings: FqCodel, limit: Limit, mut random: Random) -> Self {
        let quantum_bytes = settings.quantum_bytes.max(LEAST_QUANTUM);
        let bucket = Bucket { next: NIL, ..Bucket::default() };
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

    /// The bucket of a connection. Flow and connection take the place of the addresses and ports that Linux
    /// hashes. The direction is not hashed: no flow's data and ACKs share a link.
    #[inline]
    fn bucket_of(&self, flow: u32, connection: u32) -> u32 {
        let key = u64::from(connection) << 32 | u64::from(flow);
        Random::new(self.perturbation ^ key).below(self.buckets.len() as u64) as u32
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        let index = self.bucket_of(packet.flow, packet.connection);
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
            // A new bucket that has emptied waits for one round of the old ones before it can be new again.
            // Otherwise a flow of single packets would starve them.
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

/// The queue of a bucket, for its CoDel.
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

    /// The backlog of all buckets, as in Linux: while other queues are long, the last packet of a short queue
    /// can be dropped, too.
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.total.bytes
    }
}

/// A list of buckets, linked through the buckets.
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

/// Packets of all queues in one piece of memory, as large as the largest backlog so far. Each queue is a
/// linked list in it.
#[derive(Debug, Clone)]
struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// The list of unused nodes.
    free: u32,
}

#[derive(Debug, Clone)]
struct Node<T> {
    waiting: Waiting<T>,
    next: u32,
}

/// A queue in a [`Slab`].
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

#[cfg(test)]
mod tests {
    use super::super::testing::Recorded;
    use super::*;
    use crate::time::MS;
    use fairpace_results::observer::EcnField;
    use fairpace_scenario::Codel;

    /// Settings with which CoDel never drops.
    const PATIENT: Codel = Codel {
        target_ns: Nanos::MAX,
        interval_ns: Nanos::MAX,
        ecn: false,
        ce_threshold_ns: None,
        ce_threshold_l4s: false,
    };
    const RFC: Codel = Codel { target_ns: 5 * MS, interval_ns: 100 * MS, ..PATIENT };
    const MANY: Limit = Limit::Packets(u64::MAX);

    fn queue(codel: Codel, limit: Limit) -> FqCodelQueue<u32> {
        FqCodelQueue::new(FqCodel { codel, buckets: 1024, quantum_bytes: 1514 }, limit, Random::new(1))
    }

    fn packet(flow: u32, bytes: u32, payload: u32) -> Packet<u32> {
        Packet { flow, connection: 0, bytes, ecn: EcnField::NotEct, payload }
    }

    /// Returns flows with a bucket each.
    fn apart(queue: &FqCodelQueue<u32>, n: usize) -> Vec<u32> {
        let mut flows: Vec<u32> = Vec::new();
        for flow in 0.. {
            if flows.len() == n {
                break;
            }
            if flows.iter().all(|f| queue.bucket_of(*f, 0) != queue.bucket_of(flow, 0)) {
                flows.push(flow);
            }
        }
        flows
    }

    #[test]
    fn backlogged_flows_share_bytes_whatever_their_packets() {
        let mut q = queue(PATIENT, MANY);
        let flows = apart(&q, 3);
        let (sizes, mut recorded) = ([300, 1514, 9000], Recorded::default());
        for (flow, bytes) in flows.iter().zip(sizes) {
            (0..20_000_000 / bytes)
                .for_each(|i| q.enqueue(0, packet(*flow, bytes, i), &mut recorded).unwrap());
        }
        let mut sent = [0i64; 3];
        while sent.iter().sum::<i64>() < 50_000_000 {
            let taken = q.dequeue(MS, &mut recorded).unwrap().packet;
            let who = flows.iter().position(|f| *f == taken.flow).unwrap();
            sent[who] += i64::from(taken.bytes);
            // a deficit lies between minus a packet and a quantum
            let apart = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            assert!(apart <= 2 * 1514 + 9000, "{sent:?}");
        }
        assert_eq!(recorded, Recorded::default());
    }

    #[test]
    fn a_flow_that_was_idle_is_served_next() {
        let mut q = queue(PATIENT, MANY);
        let flows = apart(&q, 11);
        let mut recorded = Recorded::default();
        for i in 0..1000 {
            flows[..10].iter().for_each(|f| q.enqueue(0, packet(*f, 1514, i), &mut recorded).unwrap());
        }
        (0..100).for_each(|_| assert!(q.dequeue(0, &mut recorded).is_some()));
        q.enqueue(MS, packet(flows[10], 100, 0), &mut recorded).unwrap();
        assert_eq!(q.dequeue(MS, &mut recorded).unwrap().packet.flow, flows[10]);
        // as long as it comes no more often than once in a round of the others
        for i in 0..50 {
            (0..12).for_each(|_| assert_ne!(q.dequeue(MS, &mut recorded).unwrap().packet.flow, flows[10]));
            q.enqueue(MS, packet(flows[10], 1514, i), &mut recorded).unwrap();
            assert_eq!(q.dequeue(MS, &mut recorded).unwrap().packet.flow, flows[10]);
        }
        // A packet that comes again at once waits for its turn behind the ten, but no longer: otherwise it
        // would starve them.
        let mut between = [0; 20];
        for n in &mut between {
            q.enqueue(MS, packet(flows[10], 1514, 0), &mut recorded).unwrap();
            while q.dequeue(MS, &mut recorded).unwrap().packet.flow != flows[10] {
                *n += 1;
            }
        }
        assert!(between[0] <= 10 && between[1..].iter().all(|n| *n == 10), "{between:?}");
    }

    #[test]
    fn a_new_bucket_that_has_emptied_is_not_new_before_its_next_turn() {
        let mut q = queue(PATIENT, MANY);
        let flows = apart(&q, 11);
        let mut recorded = Recorded::default();
        for i in 0..100 {
            flows[..10].iter().for_each(|f| q.enqueue(0, packet(*f, 1514, i), &mut recorded).unwrap());
        }
        let mut next = |q: &mut FqCodelQueue<u32>| q.dequeue(0, &mut recorded).unwrap().packet.flow;
        (0..50).for_each(|_| assert_ne!(next(&mut q), flows[10]));
        let sparse = packet(flows[10], 40, 0);
        q.enqueue(0, sparse, &mut Recorded::default()).unwrap();
        assert_eq!(next(&mut q), flows[10]);
        assert_ne!(next(&mut q), flows[10]);
        q.enqueue(0, sparse, &mut Recorded::default()).unwrap();
        let between = (0..).take_while(|_| next(&mut q) != flows[10]).count();
        assert!((1..=10).contains(&between), "{between}");
    }

    #[test]
    fn an_overload_harms_only_its_own_flow() {
        let mut q = queue(RFC, Limit::Packets(1000));
        let flows = apart(&q, 2);
        let (mut recorded, mut waits) = (Recorded::default(), Vec::new());
        // a packet leaves each millisecond; one flow sends three, the other one in 4 ms
        for ms in 0..20_000 {
            (0..3).for_each(|i| q.enqueue(ms * MS, packet(flows[0], 1514, i), &mut recorded).unwrap());
            if ms % 4 == 0 {
                q.enqueue(ms * MS, packet(flows[1], 1514, 0), &mut recorded).unwrap();
            }
            let taken = q.dequeue(ms * MS, &mut recorded).unwrap();
            if taken.packet.flow == flows[1] {
                waits.push(ms * MS - taken.since);
            }
        }
        assert!(recorded.dropped.len() > 30_000);
        assert!(recorded.dropped.iter().all(|d| d.0.flow == flows[0]));
        assert!(waits.len() >= 4999 && waits.iter().all(|w| *w <= MS), "{:?}", waits.iter().max());
    }

    #[test]
    fn the_longest_queue_is_dropped_from_in_batches() {
        let mut q = queue(PATIENT, Limit::Packets(1000));
        let flows = apart(&q, 3);
        let mut recorded = Recorded::default();
        // 100 packets of 100 bytes, 900 of 1000
        (0..100).for_each(|i| q.enqueue(0, packet(flows[0], 100, i), &mut recorded).unwrap());
        (0..900).for_each(|i| q.enqueue(0, packet(flows[1], 1000, i), &mut recorded).unwrap());
        assert_eq!((q.len(), recorded.dropped.len()), (1000, 0));
        q.enqueue(0, packet(flows[2], 50, 0), &mut recorded).unwrap();
        let dropped: Vec<_> = recorded.dropped.iter().map(|d| (d.0.flow, d.0.payload, d.1)).collect();
        let heads: Vec<_> = (0..64).map(|i| (flows[1], i, DropReason::Full)).collect();
        assert_eq!(dropped, heads, "64 from the head of the longest");
        // of a short queue no more than half goes
        let mut q = queue(PATIENT, Limit::Bytes(10_000));
        let mut recorded = Recorded::default();
        (0..10).for_each(|i| q.enqueue(0, packet(flows[1], 1000, i), &mut recorded).unwrap());
        q.enqueue(0, packet(flows[0], 40, 0), &mut recorded).unwrap();
        assert_eq!(recorded.dropped.len(), 5);
        assert_eq!(q.backlog_bytes(), 5040);
    }

    #[test]
    fn drops_of_a_full_buffer_count_for_codel() {
        let mut q = queue(RFC, Limit::Packets(1000));
        let mut recorded = Recorded::default();
        (0..1001).for_each(|i| q.enqueue(0, packet(0, 1514, i), &mut recorded).unwrap());
        assert_eq!(recorded.dropped.len(), 64);
        // it enters dropping with these 64 as its last count: the second drop is interval / 8 after the first
        let mut drops = Vec::new();
        for now in (1..300).map(|ms| ms * MS) {
            let mut recorded = Recorded::default();
            q.dequeue(now, &mut recorded);
            drops.extend(recorded.dropped.iter().map(|_| now));
        }
        assert_eq!(drops[..2], [105 * MS, 118 * MS], "{drops:?}");
    }

    #[test]
    fn a_bucket_has_its_own_codel() {
        let mut q = queue(Codel { ecn: true, ..RFC }, MANY);
        let flows = apart(&q, 2);
        let mut recorded = Recorded::default();
        (0..5000).for_each(|i| q.enqueue(0, packet(flows[0], 1514, i), &mut recorded).unwrap());
        for ms in 1..1000 {
            q.enqueue(ms * MS, Packet { ecn: EcnField::Ect0, ..packet(flows[1], 1514, 0) }, &mut recorded)
                .unwrap();
            q.dequeue(ms * MS, &mut recorded);
            q.dequeue(ms * MS, &mut recorded);
        }
        assert!(recorded.dropped.len() > 20 && recorded.dropped.iter().all(|d| d.0.flow == flows[0]));
        assert_eq!(recorded.marked, []);
    }

    #[test]
    fn flows_and_connections_spread_over_all_buckets_and_collide_by_the_seed() {
        let collisions = |seed, key: fn(u32) -> (u32, u32)| {
            let settings = FqCodel { codel: RFC, buckets: 256, quantum_bytes: 1514 };
            let q = FqCodelQueue::<u32>::new(settings, MANY, Random::new(seed));
            let bucket = |n| q.bucket_of(key(n).0, key(n).1);
            let mut counts = vec![0u32; 256];
            (0..100_000).for_each(|n| counts[bucket(n) as usize] += 1);
            // a binomial's standard deviation is 20
            assert!(counts.iter().all(|n| n.abs_diff(391) < 100), "{counts:?}");
            (1..3000).filter(|n| bucket(*n) == bucket(0)).collect::<Vec<_>>()
        };
        let keys: [fn(u32) -> (u32, u32); 3] = [|n| (n, 0), |n| (7, n), |n| (n / 300, n % 300)];
        for key in keys {
            assert_eq!(collisions(1, key), collisions(1, key));
            let (one, two) = (collisions(1, key), collisions(2, key));
            assert!(!one.is_empty() && one.iter().filter(|n| two.contains(n)).count() < 3, "{one:?} {two:?}");
        }
    }

    #[test]
    fn connections_of_one_flow_take_turns() {
        let mut q = queue(PATIENT, MANY);
        let mut recorded = Recorded::default();
        let connections = [0, 1, 2].map(|connection| Packet { connection, ..packet(0, 1514, 0) });
        for (packet, n) in connections.iter().zip([10, 10, 1000]) {
            (0..n).for_each(|_| q.enqueue(0, *packet, &mut recorded).unwrap());
        }
        let mut sent = [0; 3];
        (0..30).for_each(|_| sent[q.dequeue(MS, &mut recorded).unwrap().packet.connection as usize] += 1);
        assert_eq!(sent, [10; 3]);
    }

    #[test]
    fn flows_in_one_bucket_share_its_queue() {
        let settings = FqCodel { codel: PATIENT, buckets: 1, quantum_bytes: 1514 };
        let mut q = FqCodelQueue::new(settings, MANY, Random::new(1));
        let mut recorded = Recorded::default();
        (0..100).for_each(|i| q.enqueue(0, packet(i % 7, 100 + i, i), &mut recorded).unwrap());
        let left = std::iter::from_fn(|| q.dequeue(0, &mut recorded)).map(|w| w.packet.payload);
        assert!(left.eq(0..100));
    }

    #[test]
    fn memory_is_reused() {
        let mut q = queue(PATIENT, MANY);
        let mut recorded = Recorded::default();
        for round in 0..1000 {
            (0..50).for_each(|i| q.enqueue(0, packet(i * 31 + round, 1000, i), &mut recorded).unwrap());
            (0..50).for_each(|_| assert!(q.dequeue(0, &mut recorded).is_some()));
            assert!(q.dequeue(0, &mut recorded).is_none());
        }
        assert_eq!(q.packets.nodes.len(), 50);
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        for (buckets, quantum_bytes, limit) in [
            (0, 0, Limit::Bytes(0)),
            (1, 1, Limit::Packets(0)),
            (65536, u32::MAX, Limit::Bytes(u64::MAX)),
            (3, 255, Limit::Packets(1)),
        ] {
            let settings = FqCodel { codel: RFC, buckets, quantum_bytes };
            let mut q = FqCodelQueue::new(settings, limit, Random::new(1));
            let mut recorded = Recorded::default();
            let mut left = 0;
            for i in 0..1000 {
                q.enqueue(u64::from(i), packet(i % 5, 65_535, i), &mut recorded).unwrap();
                left += usize::from(i % 3 == 0 && q.dequeue(u64::from(i), &mut recorded).is_some());
            }
            while q.dequeue(Nanos::MAX, &mut recorded).is_some() {
                left += 1;
            }
            assert_eq!(left + recorded.dropped.len(), 1000);
            assert_eq!((q.len(), q.backlog_bytes()), (0, 0));
        }
    }
}
