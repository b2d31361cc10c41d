//! The event queue: the next time of every element, in a tournament tree.
//!
//! Each element has one entry, so an entry is replaced, never inserted or removed: a walk from the leaf to the root.
//! Among equal times the lower index wins, which makes the order of events a function of the scenario alone.

use fairpace_path::Nanos;

/// The time of an element that waits for nothing.
pub(crate) const NEVER: Nanos = Nanos::MAX;

#[derive(Debug, Clone)]
pub(crate) struct Queue {
    times: Vec<Nanos>,
    /// `winners[1]` is the root; the parent of node n is n / 2; leaf i is node `times.len() + i`.
    winners: Vec<u32>,
}

impl Queue {
    /// A queue for `elements` elements, all of which wait for nothing.
    pub(crate) fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two();
        let mut queue = Queue { times: vec![NEVER; leaves], winners: vec![0; 2 * leaves] };
        for i in 0..leaves {
            queue.winners[leaves + i] = i as u32;
        }
        for node in (1..leaves).rev() {
            queue.winners[node] = queue.winners[2 * node];
        }
        queue
    }

    /// Room for so many elements; new ones wait for nothing. Doubles, so that growing one by one costs little.
    pub(crate) fn grow(&mut self, elements: usize) {
        if elements <= self.times.len() {
            return;
        }
        let mut larger = Queue::new(elements);
        larger.times[..self.times.len()].copy_from_slice(&self.times);
        let leaves = larger.times.len();
        for node in (1..leaves).rev() {
            let (left, right) = (larger.winners[2 * node], larger.winners[2 * node + 1]);
            let right_wins = larger.times[right as usize] < larger.times[left as usize];
            larger.winners[node] = if right_wins { right } else { left };
        }
        *self = larger;
    }

    /// The earliest time and whose it is.
    #[inline]
    pub(crate) fn first(&self) -> (Nanos, usize) {
        let who = self.winners[1] as usize;
        (self.times[who], who)
    }

    /// Sets the next time of an element.
    #[inline]
    pub(crate) fn set(&mut self, element: usize, at: Nanos) {
        if self.times[element] == at {
            return;
        }
        self.times[element] = at;
        let mut node = (self.times.len() + element) / 2;
        while node >= 1 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let right_wins = self.times[right as usize] < self.times[left as usize];
            let winner = if right_wins { right } else { left };
            let before = std::mem::replace(&mut self.winners[node], winner);
            if before as usize != element && winner as usize != element {
                return; // lost as before: nothing changes further up
            }
            node /= 2;
        }
    }

    /// Sets the next time of an element if that is earlier than what it waits for already.
    #[inline]
    pub(crate) fn set_earlier(&mut self, element: usize, at: Nanos) {
        if at < self.times[element] {
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
        let mut q = Queue::new(5);
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
        let mut q = Queue::new(1);
        assert_eq!(q.first(), (NEVER, 0));
        q.set(0, 3);
        assert_eq!(q.first(), (3, 0));
    }

    #[test]
    fn a_queue_grows_and_forgets_nothing() {
        let mut q = Queue::new(1);
        for i in 1..100usize {
            q.set(i - 1, 1000 - i as Nanos);
            q.grow(i + 1);
            assert_eq!(q.first(), (1000 - i as Nanos, i - 1));
        }
    }

    proptest! {
        #[test]
        fn the_first_is_always_the_minimum(n in 1usize..70, sets in prop::collection::vec((0usize..70, 0u64..50), 1..200)) {
            let mut q = Queue::new(n);
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
