//! SIGINT, SIGTERM and SIGHUP: the first signal makes a run end, a second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Exit, Failure};

/// Whether this process is a second instance: the first instance passes signals on, and ends the second one
/// when it ends.
static IS_SECOND: AtomicBool = AtomicBool::new(false);

/// Makes this process ignore a second signal, which otherwise ends it at once: see [`crate::supervised`].
pub(crate) fn leave_second_signals_to_another() {
    IS_SECOND.store(true, Ordering::Relaxed);
}

/// Number of the signal that arrived, 0 for none.
#[derive(Debug, Clone, Default)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Catches the three signals from now on.
    ///
    /// # Errors
    /// Returns an error if the system refuses a handler.
    pub fn catch() -> Result<Self, Failure> {
        let signals = Self::default();
        signals.register().map_err(|error| {
            Failure::new(Exit::Internal, format!("cannot catch signals: {error}"), "please report this")
        })?;
        Ok(signals)
    }

    fn register(&self) -> std::io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if IS_SECOND.load(Ordering::Relaxed) {
                // the first instance passes on what this one may have got itself, and ends with a second one
                signal_hook::flag::register_usize(
                    signal,
                    Arc::clone(&self.0),
                    signal.unsigned_abs() as usize,
                )?;
                continue;
            }
            let again = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            signal_hook::flag::register(signal, again)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&self.0), signal.unsigned_abs() as usize)?;
        }
        Ok(())
    }

    /// Records a signal that another thread caught, for example.
    pub fn raise(&self, signal: i32) {
        self.0.store(signal.unsigned_abs() as usize, Ordering::Relaxed);
    }

    /// Number of the signal that arrived; `None` if none did.
    #[must_use]
    pub fn received(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }
}
