//! Ctrl-C in Python while its lock is released.

use std::time::{Duration, Instant};

use fairpace_results::Monitor;
use pyo3::prelude::*;

/// How often Python is asked for signals: quick enough for a person, and far apart enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Ends a run when Python has a signal for it. Only Python's main thread gets any.
pub(crate) struct Interrupt {
    looked: Instant,
    raised: Option<PyErr>,
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        Self { looked: Instant::now(), raised: None }
    }

    /// What Python's handler of the signal has raised, such as `KeyboardInterrupt`.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.raised
    }

    fn look(&mut self) {
        if self.raised.is_none() && self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
    }
}

impl Monitor for Interrupt {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {
        self.look();
    }

    fn stop(&self) -> bool {
        self.raised.is_some()
    }
}
