//! Memory grows with what is in flight, not with how long a run takes; and packets cost no allocation.
//!
//! A binary of its own: it counts the allocations of the whole process, so nothing else may run in it.

#[allow(dead_code, reason = "the binary `all` uses the rest")]
#[path = "all/support/mod.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use support::{flow, link, ms, run, scenario};

/// The system's allocator, counting.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as required of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as required of the caller.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs two flows for so long: data packets, calls of the allocator, peak of memory in bytes.
fn cost(duration_s: u64) -> (u64, usize, usize) {
    // At most 437 packets are in flight. Near a power of two a ring would double in one of the rare moments
    // in which one flow has them all.
    let mut s =
        scenario(vec![link(50, 350_000)], vec![flow("bbr1", 10, 0), flow("cubic", 50, 0)], 1, duration_s);
    s.interval = ms(duration_s * 1000); // one point: the series is not what is measured here
    let (calls, before) = (CALLS.load(Relaxed), NOW.load(Relaxed));
    PEAK.store(before, Relaxed);
    let packets = run(&s).summary.cost.data_packets;
    (packets, CALLS.load(Relaxed) - calls, PEAK.load(Relaxed) - before)
}

/// By so much a histogram grows where the longest delay doubles: 1,024 counts of 64 bits.
const BUCKET_BYTES: usize = 1_024 * 8;

// One test in this file, as the counters are the whole process's.
#[test]
fn ten_times_the_packets_cost_no_more_memory_and_no_more_allocations() {
    cost(2); // whatever is set up once
    // rings double while windows grow, which CUBIC's does for a minute
    let (packets, calls, peak) = cost(100);
    let (packets_long, calls_long, peak_long) = cost(1000);
    assert!(packets_long > 8 * packets);
    assert!(peak_long <= peak + BUCKET_BYTES, "{peak} bytes in 100 s, {peak_long} in 1000 s");
    assert!(calls_long <= calls + 10, "{calls} allocations in 100 s, {calls_long} in 1000 s");
}
