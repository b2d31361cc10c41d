//! Prefetch hints for the processor.
//!
//! A connection reads and writes its queues sequentially. With hundreds of connections, the next cache line
//! of a queue has left the cache by the time that it is needed. A prefetch during the event before avoids the
//! miss. It changes no result, and does nothing on architectures without a stable intrinsic.

use std::collections::VecDeque;

/// Distance of the prefetched element: far enough to be needed by a later event, near enough to be in the
/// cache then.
const AHEAD: usize = 3;

/// Prefetches the elements that will soon be at the front.
#[inline]
pub fn front<T>(queue: &VecDeque<T>) {
    if let Some(next) = queue.get(AHEAD) {
        fetch(next);
    }
}

/// Prefetches the memory of elements that will be pushed. It has no effect where the ring buffer wraps, or is
/// empty.
#[inline]
pub fn back<T>(queue: &VecDeque<T>) {
    if let Some(last) = queue.back() {
        fetch(std::ptr::from_ref(last).wrapping_add(1 + AHEAD));
    }
}

/// Prefetches one element.
#[inline]
pub fn one<T>(next: &T) {
    fetch(next);
}

#[inline]
fn fetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; the processor ignores addresses that are not mapped
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
