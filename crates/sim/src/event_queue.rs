//! The event queue: a tournament tree of the next times of all sources of events.
//!
//! Each source has one entry, which is replaced, never inserted or removed: an update goes from the entry's
//! group to the root and stops at the first group that does not change. A group is a cache line. Among equal
//! times the lower index wins, so the order of events is a function of the scenario alone.

use fairpace_netem::Nanos;

/// The time of a source that has no event.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// Number of entries per group: the times and indices of four entries fill a cache line.
const WIDTH: usize = 4;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Group {
    times: [Nanos; WIDTH],
    index: [u32; WIDTH],
}

impl Group {
    const EMPTY: Group = Group { times: [NEVER; WIDTH], index: [0; WIDTH] };

    #[inline]
    fn winner(&self) -> (Nanos, u32) {
        let Group { times, index } = self;
        let earlier = |a: (Nanos, u32), b: (Nanos, u32)| if b.0 < a.0 { b } else { a };
        let first = earlier((times[0], index[0]), (times[1], index[1]));
        earlier(first, earlier((times[2], index[2]), (times[3], index[3])))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    first: (Nanos, u32),
    /// Level after level: the groups of all sources, the groups of their winners, and so on to the root.
    groups: Vec<Group>,
    /// Number of groups of the first level.
    first_level: usize,
}

impl EventQueue {
    /// Returns a queue for `sources` sources, without events.
    pub(crate) fn new(sources: usize) -> Self {
        let first_level = sources.div_ceil(WIDTH).max(1);
        let (mut all, mut level) = (first_level, first_level);
        while level > 1 {
            level = level.div_ceil(WIDTH);
            all += level;
        }
        let mut queue = EventQueue { first: (NEVER, 0), groups: vec![Group::EMPTY; all], first_level };
        for (group, first) in queue.groups.iter_mut().zip((0..).step_by(WIDTH)).take(first_level) {
            group.index = [first, first + 1, first + 2, first + 3];
        }
        queue.build();
        queue
    }

    /// Computes all levels above the first.
    fn build(&mut self) {
        let (mut from, mut level) = (0, self.first_level);
        while level > 1 {
            for i in 0..level {
                let (time, index) = self.groups[from + i].winner();
                let next = &mut self.groups[from + level + i / WIDTH];
                (next.times[i % WIDTH], next.index[i % WIDTH]) = (time, index);
            }
            (from, level) = (from + level, level.div_ceil(WIDTH));
        }
        self.first = self.groups[from].winner();
    }

    /// Makes room for `sources` sources. The room doubles, so that growth by single sources costs little.
    pub(crate) fn grow(&mut self, sources: usize) {
        if sources <= self.first_level * WIDTH {
            return;
        }
        let mut larger = EventQueue::new(sources.next_power_of_two());
        larger.groups[..self.first_level].copy_from_slice(&self.groups[..self.first_level]);
        larger.build();
        *self = larger;
    }

    /// The earliest time, and the index of its source.
    #[inline]
    pub(crate) fn first(&self) -> (Nanos, usize) {
        (self.first.0, self.first.1 as usize)
    }

    /// Sets the next time of a source.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, at: Nanos) {
        let (mut from, mut level, mut place) = (0, self.first_level, source);
        let (mut time, mut index) = (at, source as u32);
        loop {
            let group = &mut self.groups[from + place / WIDTH];
            let of = place % WIDTH;
            if group.times[of] == time && group.index[of] == index {
                return; // the same as before, and so is all that follows
            }
            (group.times[of], group.index[of]) = (time, index);
            (time, index) = group.winner();
            if level == 1 {
                break;
            }
            (from, level, place) = (from + level, level.div_ceil(WIDTH), place / WIDTH);
        }
        self.first = (time, index);
    }

    /// Sets the next time of a source if it is earlier than the current one.
    #[inline]
    pub(crate) fn set_earlier(&mut self, source: usize, at: Nanos) {
        if at < self.groups[source / WIDTH].times[source % WIDTH] {
            self.set(source, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_to_the_lower_index() {
        let mut q = EventQueue::new(5);
        for i in [4, 2, 3] {
            q.set(i, 7);
        }
        assert_eq!(q.first(), (7, 2));
        q.set(2, NEVER);
        assert_eq!(q.first(), (7, 3));
        q.set(0, 7);
        assert_eq!(q.first(), (7, 0));
    }

    #[test]
    fn a_queue_of_one_element_works() {
        let mut q = EventQueue::new(1);
        assert_eq!(q.first(), (NEVER, 0));
        q.set(0, 3);
        assert_eq!(q.first(), (3, 0));
    }

    #[test]
    fn a_growing_queue_keeps_its_entries() {
        let mut q = EventQueue::new(1);
        for i in 1..100usize {
            q.set(i - 1, 1000 - i as Nanos);
            q.grow(i + 1);
            assert_eq!(q.first(), (1000 - i as Nanos, i - 1));
        }
    }

    proptest! {
        #[test]
        fn the_first_is_always_the_minimum(
            n in 1usize..70,
            sets in prop::collection::vec((0usize..70, 0u64..50), 1..200),
        ) {
            let mut q = EventQueue::new(n);
            let mut times = vec![NEVER; n];
            for (i, at) in sets {
                if at % 3 == 0 {
                    q.set_earlier(i % n, at);
                    times[i % n] = at.min(times[i % n]);
                } else {
                    q.set(i % n, at);
                    times[i % n] = at;
                }
                let least = times.iter().copied().zip(0..).min().unwrap();
                prop_assert_eq!(q.first(), least);
            }
        }
    }
}
