//! A set of packet numbers inside a sliding window, one bit each.

/// A ring of bits. The capacity, a power of two from 64 on or 0 at first, bounds the length of the window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub(crate) fn capacity(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    #[inline]
    fn index(&self, n: u64) -> (usize, u64) {
        ((n / 64) as usize & (self.words.len() - 1), 1 << (n % 64))
    }

    pub(crate) fn get(&self, n: u64) -> bool {
        let (word, bit) = self.index(n);
        self.words[word] & bit != 0
    }

    pub(crate) fn set(&mut self, n: u64) {
        let (word, bit) = self.index(n);
        self.words[word] |= bit;
    }

    pub(crate) fn clear(&mut self, n: u64) {
        let (word, bit) = self.index(n);
        self.words[word] &= !bit;
    }

    pub(crate) fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Returns the first number in `from..to` whose bit is `wanted`; tests 64 bits at a time.
    fn next(&self, from: u64, to: u64, wanted: bool) -> Option<u64> {
        debug_assert!(to.saturating_sub(from) <= self.capacity());
        let mut n = from;
        while n < to {
            let (word, _) = self.index(n);
            let bits = if wanted { self.words[word] } else { !self.words[word] } >> (n % 64);
            if bits != 0 {
                let found = n + u64::from(bits.trailing_zeros());
                return (found < to).then_some(found);
            }
            n = (n / 64 + 1) * 64;
        }
        None
    }

    pub(crate) fn next_set(&self, from: u64, to: u64) -> Option<u64> {
        self.next(from, to, true)
    }

    pub(crate) fn next_clear(&self, from: u64, to: u64) -> Option<u64> {
        self.next(from, to, false)
    }

    /// Returns the number in `from..to` above which exactly `above` other numbers are set; `None` if at most
    /// `above` are set.
    pub(crate) fn nth_set_from_above(&self, from: u64, to: u64, above: u64) -> Option<u64> {
        let (mut end, mut left) = (to, above);
        while end > from {
            let start = ((end - 1) / 64 * 64).max(from);
            let (word, _) = self.index(start);
            let unused = 64 - (end - start);
            let mut bits = self.words[word] >> (start % 64) << unused >> unused;
            let count = u64::from(bits.count_ones());
            if count > left {
                // drop the `left` highest
                for _ in 0..left {
                    bits &= !(1 << (63 - bits.leading_zeros()));
                }
                return Some(start + u64::from(63 - bits.leading_zeros()));
            }
            left -= count;
            end = start;
        }
        None
    }

    /// Clears the set, and frees memory beyond a capacity of `most` numbers.
    pub(crate) fn reset(&mut self, most: u64) {
        self.words.truncate((most / 64) as usize);
        self.words.shrink_to_fit();
        self.words.fill(0);
    }

    /// Doubles the capacity. `window` is the range in use.
    pub(crate) fn grow(&mut self, window: std::ops::Range<u64>) {
        let mut grown = Bits { words: vec![0; (self.words.len() * 2).max(1)] };
        let mut n = window.start;
        while let Some(set) = self.next_set(n, window.end) {
            grown.set(set);
            n = set + 1;
        }
        *self = grown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_set_and_clear_bits_across_words_and_around_the_ring() {
        let mut b = Bits::default();
        b.grow(0..0);
        b.grow(0..0);
        for n in [100, 127, 128, 190, 200] {
            b.set(n);
        }
        let all = |b: &Bits, mut n, to| {
            let mut v = Vec::new();
            while let Some(s) = b.next_set(n, to) {
                v.push(s);
                n = s + 1;
            }
            v
        };
        assert_eq!(all(&b, 100, 228), [100, 127, 128, 190, 200]);
        assert_eq!(all(&b, 101, 200), [127, 128, 190]);
        assert_eq!(b.next_clear(127, 228), Some(129));
        assert_eq!(b.next_clear(127, 129), None);
        b.clear(128);
        assert_eq!(b.next_clear(127, 129), Some(128));
        b.grow(100..228);
        assert_eq!((b.capacity(), all(&b, 100, 300)), (256, vec![100, 127, 190, 200]));
        b.reset(128);
        assert_eq!((b.capacity(), all(&b, 100, 228)), (128, vec![]));
    }

    #[test]
    fn counts_from_above() {
        let mut b = Bits::default();
        b.grow(0..0);
        b.grow(0..0);
        for n in [100, 127, 128, 190, 200] {
            b.set(n);
        }
        let from_above: Vec<_> = (0..6).map(|n| b.nth_set_from_above(100, 228, n)).collect();
        assert_eq!(from_above, [Some(200), Some(190), Some(128), Some(127), Some(100), None]);
        assert_eq!(b.nth_set_from_above(101, 200, 2), Some(127));
        assert_eq!(b.nth_set_from_above(101, 200, 3), None);
    }
}
