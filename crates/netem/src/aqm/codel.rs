//! CoDel, controlled delay (RFC 8289), with Linux's extensions (include/net/codel_impl.h): marks in place of
//! drops, and `ce_threshold`.
//!
//! CoDel measures the time that a packet has waited when it is dequeued. When this time has not been below
//! the target for a whole interval, a packet is dropped, and further packets at distances of interval /
//! sqrt(n), until a packet has waited less.

use super::ring::{DropReason, MTU_BYTES, Ring, Sink, Waiting, mark};
use crate::packet::Packet;
use crate::time::Nanos;
use fairpace_results::observer::EcnField;
use fairpace_scenario::{Codel, Limit};

/// The queue that CoDel dequeues from.
pub(super) trait Head<T> {
    fn pop(&mut self) -> Option<Waiting<T>>;
    /// The backlog in bytes. If less than one full packet waits, nothing is dropped.
    fn backlog_bytes(&self) -> u64;
}

impl<T> Head<T> for Ring<T> {
    #[inline]
    fn pop(&mut self) -> Option<Waiting<T>> {
        Ring::pop(self)
    }

    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Number of intervals without drops after which the count of the last drops is forgotten.
const MEMORY_INTERVALS: u64 = 16;

/// The state of CoDel for one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Control {
    /// Time when the delay will have been above the target for an interval; `None`: the delay is below the
    /// target.
    due: Option<Nanos>,
    dropping: bool,
    /// Time when the next drop is due, or would have been.
    drop_next: Nanos,
    /// Number of drops since dropping began, added to the count at the begin.
    count: u32,
    /// Value of `count` when dropping began.
    began_with: u32,
}

impl Control {
    /// Dequeues the next packet that is not dropped.
    pub(super) fn dequeue<T>(
        &mut self,
        now: Nanos,
        settings: &Codel,
        queue: &mut impl Head<T>,
        sink: &mut impl Sink<T>,
    ) -> Option<Waiting<T>> {
        let Some((mut head, mut is_over)) = self.next(now, settings, queue) else {
            self.dropping = false;
            return None;
        };
        let mut is_marked = false;
        if !self.dropping && is_over {
            is_marked = settings.ecn && mark(&mut head.packet, sink);
            self.begin(now, settings);
            if !is_marked {
                sink.dropped(head.packet, DropReason::Early);
                head = self.next(now, settings, queue)?.0;
            }
        } else if self.dropping {
            self.dropping = is_over;
            while self.dropping && now >= self.drop_next && !is_marked {
                self.count = self.count.saturating_add(1);
                is_marked = settings.ecn && mark(&mut head.packet, sink);
                if !is_marked {
                    sink.dropped(head.packet, DropReason::Early);
                    let next = self.next(now, settings, queue);
                    self.dropping = next.as_ref().is_some_and(|n| n.1);
                    (head, is_over) = next?;
                }
                if is_over {
                    self.drop_next = self.after(self.drop_next, settings);
                }
            }
        }
        let waited = now - head.since;
        let is_eligible = !settings.ce_threshold_l4s || head.packet.ecn == EcnField::Ect1;
        if !is_marked && is_eligible && settings.ce_threshold_ns.is_some_and(|most| waited > most) {
            mark(&mut head.packet, sink);
        }
        Some(head)
    }

    /// Dequeues a packet and returns whether the delay has been above the target for an interval: the RFC's
    /// `dodequeue`.
    #[inline]
    fn next<T>(
        &mut self,
        now: Nanos,
        settings: &Codel,
        queue: &mut impl Head<T>,
    ) -> Option<(Waiting<T>, bool)> {
        let Some(head) = queue.pop() else {
            self.due = None;
            return None;
        };
        if now - head.since < settings.target_ns || queue.backlog_bytes() <= MTU_BYTES {
            self.due = None;
            return Some((head, false));
        }
        let due = *self.due.get_or_insert(now.saturating_add(settings.interval_ns));
        Some((head, now >= due))
    }

    /// Begins to drop. If the last drops were not long ago, their count is used again.
    fn begin(&mut self, now: Nanos, settings: &Codel) {
        let more = self.count.saturating_sub(self.began_with);
        let ago = now.saturating_sub(self.drop_next);
        let is_recent = ago < settings.interval_ns.saturating_mul(MEMORY_INTERVALS);
        self.count = if more > 1 && is_recent { more } else { 1 };
        self.began_with = self.count;
        self.drop_next = self.after(now, settings);
        self.dropping = true;
    }

    /// Returns the time of the next drop by the control law. Linux approximates the root; this function
    /// computes it exactly.
    fn after(&self, at: Nanos, settings: &Codel) -> Nanos {
        at.saturating_add((settings.interval_ns as f64 / f64::from(self.count).sqrt()) as Nanos)
    }

    /// Counts packets dropped for lack of room, as if CoDel had dropped them.
    pub(super) fn overflowed(&mut self, pkts: u32) {
        self.count = self.count.saturating_add(pkts);
    }
}

/// A queue under CoDel.
#[derive(Debug, Clone)]
pub(super) struct CodelQueue<T> {
    settings: Codel,
    ring: Ring<T>,
    control: Control,
}

impl<T> CodelQueue<T> {
    pub(super) fn new(settings: Codel, limit: Limit) -> Self {
        CodelQueue { settings, ring: Ring::new(limit), control: Control::default() }
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        _: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        if !self.ring.has_room(packet.bytes) {
            return Err((packet, DropReason::Full));
        }
        self.ring.push(now, packet);
        Ok(())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, sink: &mut impl Sink<T>) -> Option<Waiting<T>> {
        self.control.dequeue(now, &self.settings, &mut self.ring, sink)
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.ring.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Recorded, packet};
    use super::*;
    use crate::time::MS;

    const RFC: Codel = Codel {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        ecn: false,
        ce_threshold_ns: None,
        ce_threshold_l4s: false,
    };

    /// Returns a queue of `pkts` packets of 1000 bytes that have waited since 0.
    fn backlog(settings: Codel, pkts: u32, ecn: EcnField) -> CodelQueue<u32> {
        let mut queue = CodelQueue::new(settings, Limit::Packets(u64::MAX));
        let mut recorded = Recorded::default();
        for i in 0..pkts {
            queue.enqueue(0, Packet { ecn, ..packet(1000, i) }, &mut recorded).unwrap();
        }
        queue
    }

    /// Dequeues a packet every millisecond; returns the times when packets were dropped or marked.
    fn signals(queue: &mut CodelQueue<u32>, times_ms: std::ops::Range<u64>) -> Vec<Nanos> {
        let mut signals = Vec::new();
        for now in times_ms.map(|ms| ms * MS) {
            let mut recorded = Recorded::default();
            queue.dequeue(now, &mut recorded);
            signals.extend((0..recorded.dropped.len() + recorded.marked.len()).map(|_| now));
        }
        signals
    }

    /// Returns the expected times of drops: the first at `begin_ms`, then by the control law from `count` on,
    /// at the next dequeue.
    fn law(begin_ms: u64, count: u32, n: usize) -> Vec<Nanos> {
        let mut exact = (begin_ms * MS) as f64;
        let mut times = vec![begin_ms * MS];
        for i in (count..).take(n - 1) {
            exact += 100e6 / f64::from(i).sqrt();
            times.push((exact / 1e6).ceil() as u64 * MS);
        }
        times
    }

    #[test]
    fn drops_come_at_interval_over_the_root_of_their_number() {
        // above the target from 5 ms on, so for an interval at 105 ms
        let mut queue = backlog(RFC, 10_000, EcnField::NotEct);
        let seen = signals(&mut queue, 1..3000);
        assert!(seen.len() > 150, "{}", seen.len());
        assert_eq!(seen, law(105, 1, seen.len()));
    }

    #[test]
    fn marks_come_when_drops_would() {
        let mut queue = backlog(Codel { ecn: true, ..RFC }, 10_000, EcnField::Ect0);
        let seen = signals(&mut queue, 1..3000);
        assert_eq!(seen, law(105, 1, seen.len()));
        assert_eq!(queue.len(), 10_000 - 2999, "nothing was dropped");
        // packets that cannot be marked are dropped at the same times
        let mut queue = backlog(Codel { ecn: true, ..RFC }, 10_000, EcnField::NotEct);
        assert_eq!(signals(&mut queue, 1..3000), seen);
        assert_eq!(queue.len(), 10_000 - 2999 - seen.len());
    }

    #[test]
    fn several_drops_may_be_due_at_once() {
        // the next dequeue is only after 400 ms: at 205, 275.7, 333.4, 383.4, 428.2 and 469.0 ms drops were
        // due; the next is at 506.8
        let mut queue = backlog(RFC, 10_000, EcnField::NotEct);
        assert_eq!(signals(&mut queue, 1..106).len(), 1);
        assert_eq!(signals(&mut queue, 505..506).len(), 6);
        assert_eq!(signals(&mut queue, 506..508), [507 * MS]);
    }

    #[test]
    fn a_delay_below_the_target_ends_dropping() {
        let mut queue = backlog(RFC, 600, EcnField::NotEct);
        let seen = signals(&mut queue, 1..590);
        assert_eq!(queue.len(), 600 - 589 - seen.len());
        // the rest is dequeued and new packets come, which wait 4 ms each
        let mut recorded = Recorded::default();
        while queue.dequeue(590 * MS, &mut recorded).is_some() {}
        for ms in 600..2000 {
            queue.enqueue(ms * MS, packet(1000, 0), &mut recorded).unwrap();
            if ms >= 604 {
                queue.dequeue(ms * MS, &mut recorded).unwrap();
            }
        }
        assert_eq!(recorded.dropped.iter().filter(|d| d.0.payload == 0).count(), 0);
    }

    /// Drops until 600 ms, dequeues a packet below the target `calm_ms` later, then builds a backlog again;
    /// returns the times of the new drops.
    fn again(calm_ms: u64) -> Vec<Nanos> {
        let mut queue = backlog(RFC, 10_000, EcnField::NotEct);
        let first = signals(&mut queue, 1..600);
        assert_eq!(first.len(), 10, "counts from 1 to 10");
        let (mut recorded, calm) = (Recorded::default(), (600 + calm_ms) * MS);
        queue.ring.waiting.clear();
        queue.ring.bytes = 0;
        (0..10_000).for_each(|i| queue.enqueue(calm, packet(1000, i), &mut recorded).unwrap());
        signals(&mut queue, 600 + calm_ms..600 + calm_ms + 400)
    }

    #[test]
    fn dropping_resumes_with_the_last_count_if_that_is_recent() {
        // The calm packet is below the target, and the delay is above it 5 ms later. The last cycle counted
        // from 1 to 10, nine more: the next drop is interval / sqrt(9) after the first.
        let seen = again(10);
        assert_eq!(seen, law(600 + 10 + 105, 9, seen.len()));
        // the drop that would have been next was due at 607.2 ms; 16 intervals later, from 2207.2 ms on, it
        // is forgotten
        assert_eq!(again(1502)[..2], [2207 * MS, 2241 * MS]);
        assert_eq!(again(1503)[..2], [2208 * MS, 2308 * MS]);
    }

    #[test]
    fn nothing_is_dropped_below_one_full_packet_of_backlog() {
        // there are always two packets, each waits for 400 ms, and when one is dequeued the other one remains
        let drops = |bytes| {
            let (mut queue, mut recorded) = (CodelQueue::new(RFC, Limit::Packets(1000)), Recorded::default());
            queue.enqueue(0, packet(bytes, 0), &mut recorded).unwrap();
            for i in 1..100 {
                queue.enqueue(u64::from(i) * 200 * MS, packet(bytes, i), &mut recorded).unwrap();
                queue.dequeue((u64::from(i) + 1) * 200 * MS - 1, &mut recorded);
            }
            recorded.dropped.len()
        };
        assert_eq!(drops(1514), 0);
        assert!(drops(1515) > 0, "one byte more than a full packet");
    }

    #[test]
    fn ce_threshold_marks_packets_that_waited_longer() {
        let settings = Codel { ce_threshold_ns: Some(MS), target_ns: 1000 * MS, ..RFC };
        let mut queue = backlog(settings, 5, EcnField::Ect0);
        let mut recorded = Recorded::default();
        assert_eq!(queue.dequeue(MS, &mut recorded).map(|w| w.packet.ecn), Some(EcnField::Ect0));
        assert_eq!(queue.dequeue(MS + 1, &mut recorded).map(|w| w.packet.ecn), Some(EcnField::Ce));
        assert_eq!((recorded.marked.len(), recorded.dropped.len()), (1, 0));
        let mut queue = backlog(settings, 5, EcnField::NotEct);
        assert_eq!(queue.dequeue(9 * MS, &mut recorded).map(|w| w.packet.ecn), Some(EcnField::NotEct));
        assert_eq!((recorded.marked.len(), recorded.dropped.len()), (1, 0));
    }

    #[test]
    fn ce_threshold_can_be_for_l4s_only() {
        // Linux: ce_threshold_selector 0x1/0x3
        let settings =
            Codel { ce_threshold_ns: Some(MS), ce_threshold_l4s: true, target_ns: 1000 * MS, ..RFC };
        for (ecn, marks) in
            [(EcnField::NotEct, 0), (EcnField::Ect0, 0), (EcnField::Ect1, 3), (EcnField::Ce, 0)]
        {
            let (mut queue, mut recorded) = (backlog(settings, 3, ecn), Recorded::default());
            (2..5).for_each(|ms| assert!(queue.dequeue(ms * MS, &mut recorded).is_some()));
            assert_eq!((recorded.marked.len(), recorded.dropped.len()), (marks, 0), "{ecn:?}");
        }
    }

    #[test]
    fn a_packet_is_marked_once() {
        let settings = Codel { ecn: true, ce_threshold_ns: Some(0), ..RFC };
        let mut queue = backlog(settings, 1000, EcnField::Ect0);
        let mut recorded = Recorded::default();
        assert!((1..=500).all(|ms| queue.dequeue(ms * MS, &mut recorded).is_some()));
        assert_eq!(recorded.marked.len(), 500);
    }

    #[test]
    fn packets_beyond_the_limit_are_dropped_on_arrival() {
        let mut queue = CodelQueue::new(RFC, Limit::Packets(3));
        let mut recorded = Recorded::default();
        let fates: Vec<_> = (0..5).map(|i| queue.enqueue(0, packet(100, i), &mut recorded).err()).collect();
        assert_eq!(
            fates.iter().flatten().map(|f| (f.0.payload, f.1)).collect::<Vec<_>>(),
            [(3, DropReason::Full), (4, DropReason::Full)]
        );
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        let times = [0, 1, 5 * MS, Nanos::MAX];
        for target_ns in times {
            for interval_ns in times {
                for ce_threshold_ns in times.map(Some).into_iter().chain([None]) {
                    for ecn in [EcnField::NotEct, EcnField::Ect0] {
                        let settings = Codel { target_ns, interval_ns, ecn: true, ce_threshold_ns, ..RFC };
                        let mut queue = backlog(settings, 100, ecn);
                        let mut recorded = Recorded::default();
                        for now in [0, 1, 2, MS, 1 << 40, Nanos::MAX, Nanos::MAX] {
                            queue.dequeue(now, &mut recorded);
                        }
                        assert_eq!(queue.backlog_bytes(), 1000 * queue.len() as u64);
                    }
                }
            }
        }
    }
}
