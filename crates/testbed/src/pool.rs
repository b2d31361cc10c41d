//! Packet buffers, all allocated before the run: the packet path passes indices.

/// A fixed number of buffers, each of one MTU of the devices. The buffer that was freed last is used first,
/// so memory is touched only for as many packets as were ever in flight at once.
pub(crate) struct Pool {
    bytes: Box<[u8]>,
    mtu: usize,
    free: Vec<u32>,
}

impl Pool {
    /// Returns a pool of `count` buffers of `mtu` bytes each.
    pub(crate) fn new(count: u32, mtu: usize) -> Self {
        let bytes = vec![0; count as usize * mtu].into_boxed_slice();
        Pool { bytes, mtu, free: (0..count).rev().collect() }
    }

    /// Returns the buffer that [`Pool::take`] would hand out; `None` when all are in use.
    pub(crate) fn peek(&mut self) -> Option<&mut [u8]> {
        let at = *self.free.last()? as usize * self.mtu;
        self.bytes.get_mut(at..at + self.mtu)
    }

    /// Takes the buffer that [`Pool::peek`] showed.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Returns the first `length` bytes of a taken buffer.
    pub(crate) fn get(&mut self, slot: u32, length: u16) -> &mut [u8] {
        let at = slot as usize * self.mtu;
        &mut self.bytes[at..at + usize::from(length)]
    }

    /// Takes a buffer and copies another one into it; `None` when all are in use.
    pub(crate) fn copy(&mut self, slot: u32) -> Option<u32> {
        let new = self.take()?;
        let at = slot as usize * self.mtu;
        self.bytes.copy_within(at..at + self.mtu, new as usize * self.mtu);
        Some(new)
    }

    /// Frees a buffer.
    pub(crate) fn put(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_pool_returns_none_and_a_freed_buffer_is_used_next() {
        let mut pool = Pool::new(2, 1500);
        pool.peek().unwrap()[0] = 7;
        let a = pool.take().unwrap();
        pool.peek().unwrap()[0] = 8;
        let b = pool.take().unwrap();
        assert!(pool.peek().is_none() && pool.take().is_none());
        assert_eq!((pool.get(a, 1)[0], pool.get(b, 1)[0]), (7, 8));
        pool.put(a);
        assert_eq!((pool.copy(b), pool.get(a, 1)[0]), (Some(a), 8));
        pool.put(a);
        assert_eq!(pool.take(), Some(a));
    }
}
