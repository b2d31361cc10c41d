//! Ending early what takes long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Asked now and then, in the thread of the caller, whether to end early what it has called.
pub type Stop<'a> = &'a mut (dyn FnMut() -> bool + Send);

/// How often [`Stop`] is asked: a person waits for less than they notice, and the steps of thousands of
/// environments are over before it.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(50);

/// What a thread that simulates looks at.
pub(crate) enum Watch<'a, 'stop> {
    /// The caller's thread waits, and asks meanwhile.
    Flag(&'a AtomicBool),
    /// The caller's thread simulates.
    Clock {
        /// Asked.
        stop: Stop<'stop>,
        /// When it was asked, or the call began.
        asked: Instant,
        /// What it has answered.
        stops: bool,
    },
}

impl<'stop> Watch<'_, 'stop> {
    pub(crate) fn clock(stop: Stop<'stop>) -> Self {
        Watch::Clock { stop, asked: Instant::now(), stops: false }
    }

    /// Whether to end now.
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
