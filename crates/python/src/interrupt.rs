//! Ctrl-C in Python while work runs without Python's lock.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::signals::Signals;
use fairpace_results::Monitor;
use pyo3::prelude::*;

use crate::error::raised;

/// Interval at which Python is asked for signals: short for a user, and so long that it costs no time.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Number of the signal that ends work: SIGINT on every Unix.
const SIGINT: i32 = 2;

/// A check for signals of Python. Only Python's main thread gets signals: other threads do not check, because
/// they would have to wait for Python's lock. An interpreter that is being finalised does not answer any
/// more.
///
/// The handler of a signal runs wherever Python next runs code of its own, and raises there. So an exception
/// from any request to Python ends the work.
pub(crate) struct Look {
    is_main: bool,
    ends: bool,
    raised: Option<PyErr>,
}

impl Look {
    /// A check for the present thread.
    pub(crate) fn new() -> Self {
        let mut look = Self { is_main: false, ends: false, raised: None };
        if let Some(is_main) = look.ask(is_main_thread) {
            look.is_main = is_main;
        }
        look
    }

    /// Whether work must end: a handler has raised an exception, now or before.
    pub(crate) fn at_signals(&mut self) -> bool {
        if self.is_main && !self.ends {
            self.ask(|py| py.check_signals());
        }
        self.ends
    }

    /// The exception that Python's handler of the signal raised, such as `KeyboardInterrupt`.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.raised
    }

    /// Sends a request to Python. Without an answer the work ends.
    fn ask<T>(&mut self, question: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        let answer = Python::try_attach(question);
        self.ends = !matches!(answer, Some(Ok(_)));
        match answer? {
            Ok(answer) => Some(answer),
            Err(raised) => {
                self.raised = Some(raised);
                None
            }
        }
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    // not current_thread, which keeps a record of threads that others have started
    threading.call_method0("get_ident")?.eq(main)
}

/// A monitor that ends a run when Python has a signal.
pub(crate) struct Interrupt {
    looked: Instant,
    look: Look,
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        Self { looked: Instant::now(), look: Look::new() }
    }

    /// The exception that Python's handler of the signal raised, such as `KeyboardInterrupt`.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.look.into_raised()
    }
}

impl Monitor for Interrupt {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.look.at_signals();
        }
    }

    fn stop(&self) -> bool {
        self.look.ends
    }
}

/// Performs work of many runs in another thread. Meanwhile this thread checks for signals, and ends the work
/// if there is one.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Signals) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (signals, mut look) = (Signals::default(), Look::new());
    let done = py.detach(|| {
        let (send, receive) = channel();
        thread::scope(|scope| {
            let signals = &signals;
            let perform = move || {
                // sent when the work is done, also if it panics
                let _done: std::sync::mpsc::Sender<()> = send;
                work(signals)
            };
            let worker = thread::Builder::new().spawn_scoped(scope, perform).map_err(|error| {
                Failure::new(Exit::Internal, format!("no thread: {error}"), "end other programs")
            })?;
            loop {
                if look.at_signals() {
                    signals.raise(SIGINT);
                }
                if receive.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    });
    look.into_raised().map_or_else(|| done.map_err(|failure| raised(py, &failure)), Err)
}
