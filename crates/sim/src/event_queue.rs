//! The event queue: the next time of every element, in a tournament of four.
//!
//! Each element has one entry, so an entry is replaced, never inserted or removed: a walk from its group to the last, which ends where
//! nothing changes. A group is a cache line. Among equal times the lower index wins, which makes the order of events a function of the
//! scenario alone.

use fairpace_netem::Nanos;

/// The time of an element that waits for nothing.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// Elements that play against each other, or winners of groups that do.
const WIDTH: usize = 4;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Group {
    times: [Nanos; WIDTH],
    who: [u32; WIDTH],
}

impl Group {
    const EMPTY: Group = Group { times: [NEVER; WIDTH], who: [0; WIDTH] };

    #[inline]
    fn winner(&self) -> (Nanos, u32) {
        let Group { times, who } = self;
        let earlier = |a: (Nanos, u32), b: (Nanos, u32)| if b.0 < a.0 { b } else { a };
        let first = earlier((times[0], who[0]), (times[1], who[1]));
        earlier(first, earlier((times[2], who[2]), (times[3], who[3])))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    first: (Nanos, u32),
    /// Round after round: the groups of elements, those of their winners, and so on to the last, which is alone.
    groups: Vec<Group>,
    /// Groups of the first round, and room for elements there.
    first_round: usize,
}

impl EventQueue {
    /// A queue for `elements` elements, all of which wait for nothing.
    pub(crate) fn new(elements: usize) -> Self {
        let first_round = elements.div_ceil(WIDTH).max(1);
        let (mut all, mut round) = (first_round, first_round);
        while round > 1 {
            round = round.div_ceil(WIDTH);
            all += round;
        }
        let mut queue = EventQueue { first: (NEVER, 0), groups: vec![Group::EMPTY; all], first_round };
        for (group, first) in queue.groups.iter_mut().zip((0..).step_by(WIDTH)).take(first_round) {
            group.who = [first, first + 1, first + 2, first + 3];
        }
        queue.play();
        queue
    }

    /// Plays all rounds after the first.
    fn play(&mut self) {
        let (mut from, mut round) = (0, self.first_round);
        while round > 1 {
            for i in 0..round {
                let (time, who) = self.groups[from + i].winner();
                let next = &mut self.groups[from + round + i / WIDTH];
                (next.times[i % WIDTH], next.who[i % WIDTH]) = (time, who);
            }
            (from, round) = (from + round, round.div_ceil(WIDTH));
        }
        self.first = self.groups[from].winner();
    }

    /// Room for so many elements; new ones wait for nothing. Doubles, so that growing one by one costs little.
    pub(crate) fn grow(&mut self, elements: usize) {
        if elements <= self.first_round * WIDTH {
            return;
        }
        let mut larger = EventQueue::new(elements.next_power_of_two());
        larger.groups[..self.first_round].copy_from_slice(&self.groups[..self.first_round]);
        larger.play();
        *self = larger;
    }

    /// The earliest time and whose it is.
    #[inline]
    pub(crate) fn first(&self) -> (Nanos, usize) {
        (self.first.0, self.first.1 as usize)
    }

    /// Sets the next time of an element.
    #[inline]
    pub(crate) fn set(&mut self, element: usize, at: Nanos) {
        let (mut from, mut round, mut place) = (0, self.first_round, element);
        let (mut time, mut who) = (at, element as u32);
        loop {
            let group = &mut self.groups[from + place / WIDTH];
            let of = place % WIDTH;
            if group.times[of] == time && group.who[of] == who {
                return; // the same as before, and so is all that follows
            }
            (group.times[of], group.who[of]) = (time, who);
            (time, who) = group.winner();
            if round == 1 {
                break;
            }
            (from, round, place) = (from + round, round.div_ceil(WIDTH), place / WIDTH);
        }
        self.first = (time, who);
    }

    /// Sets the next time of an element if that is earlier than what it waits for already.
    #[inline]
    pub(crate) fn set_earlier(&mut self, element: usize, at: Nanos) {
        if at < self.groups[element / WIDTH].times[element % WIDTH] {
            self.set(element, at);
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
    fn a_queue_grows_and_forgets_nothing() {
        let mut q = EventQueue::new(1);
        for i in 1..100usize {
            q.set(i - 1, 1000 - i as Nanos);
            q.grow(i + 1);
            assert_eq!(q.first(), (1000 - i as Nanos, i - 1));
        }
    }

    proptest! {
        #[test]
        fn the_first_is_always_the_minimum(n in 1usize..70, sets in prop::collection::vec((0usize..70, 0u64..50), 1..200)) {
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
