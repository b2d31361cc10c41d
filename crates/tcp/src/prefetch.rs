//! Asks the processor to fetch what will be needed.
//!
//! A flow reads and writes its queues from one end to the other, a line at a time. Of hundreds of flows the next line has left the
//! cache by the time that it is needed, and the visit waits for it. Asked for one visit before, it is there. That changes nothing but
//! the time, and is nothing where stable Rust has no such hint.

use std::collections::VecDeque;

/// Elements ahead: far enough that it is another visit, near enough that it is still cached then.
const AHEAD: usize = 3;

/// The elements that will soon be at the front.
#[inline]
pub fn front<T>(queue: &VecDeque<T>) {
    if let Some(next) = queue.get(AHEAD) {
        fetch(next);
    }
}

/// The room that elements to come will take. At the end of the buffer, from where they go on at its beginning, it is in vain.
#[inline]
pub fn back<T>(queue: &VecDeque<T>) {
    let (first, second) = queue.as_slices();
    let used = if second.is_empty() { first } else { second };
    fetch(used.as_ptr_range().end.wrapping_add(AHEAD));
}

/// What will be asked for soon.
#[inline]
pub fn one<T>(next: &T) {
    fetch(next);
}

#[inline]
fn fetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; of an address that is not mapped the processor takes no notice
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
