//! A set of packet numbers inside a sliding window, one bit each.

/// Bits for the numbers of a window no longer than the capacity, a power of two.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    words: Vec<u64>,
    mask: u64,
}

impl Bits {
    pub(crate) fn new(capacity: u64) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= 64);
        Bits { words: vec![0; (capacity / 64) as usize], mask: capacity - 1 }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.mask + 1
    }

    fn place(&self, n: u64) -> (usize, u64) {
        (((n & self.mask) / 64) as usize, 1 << (n % 64))
    }

    pub(crate) fn get(&self, n: u64) -> bool {
        let (word, bit) = self.place(n);
        self.words[word] & bit != 0
    }

    pub(crate) fn set(&mut self, n: u64) {
        let (word, bit) = self.place(n);
        self.words[word] |= bit;
    }

    pub(crate) fn clear(&mut self, n: u64) {
        let (word, bit) = self.place(n);
        self.words[word] &= !bit;
    }

    pub(crate) fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// The first number in `from..to` whose bit is `wanted`; 64 at a time.
    fn next(&self, from: u64, to: u64, wanted: bool) -> Option<u64> {
        debug_assert!(to.saturating_sub(from) <= self.capacity());
        let mut n = from;
        while n < to {
            let (word, _) = self.place(n);
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

    /// The same set with room for twice as long a window, of which `window` is in use now.
    pub(crate) fn grow(&mut self, window: std::ops::Range<u64>) {
        let mut grown = Bits::new(self.capacity() * 2);
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
        let mut b = Bits::new(128);
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
    }
}
