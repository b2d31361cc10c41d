//! Early end of long calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A function that is called at intervals in the thread of the caller and returns whether to end the call
/// early.
pub type Stop<'a> = &'a mut (dyn FnMut() -> bool + Send);

/// Time between two calls of [`Stop`]: too short for a user to notice, and the steps of thousands of
/// environments are over before.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(50);

/// The check that a simulating thread makes for an early end.
pub(crate) enum Watch<'a, 'stop> {
    /// A flag: the caller's thread waits, and calls [`Stop`] meanwhile.
    Flag(&'a AtomicBool),
    /// A clock: the caller's thread simulates.
    Clock {
        /// The function to call.
        stop: Stop<'stop>,
        /// Time of the last call of `stop`, or of the begin.
        asked: Instant,
        /// The last answer of `stop`.
        stops: bool,
    },
}

impl<'stop> Watch<'_, 'stop> {
    pub(crate) fn clock(stop: Stop<'stop>) -> Self {
        Watch::Clock { stop, asked: Instant::now(), stops: false }
    }

    /// Returns whether the call must end now.
    pub(crate) fn stops(&mut self) -> bool {
        match self {
            Watch::Flag(flag) => flag.load(Ordering::Relaxed),
            Watch::Clock { stop, asked, stops } => {
                if !*stops && asked.elapsed() >= ASK_EVERY {
                    *stops = stop();
                    *asked = Instant::now();
                }
                *stops
            }
        }
    }
}
