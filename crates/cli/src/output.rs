//! stdout: where results go, and what happens when nobody reads them.

use std::io::{self, StdoutLock, Write};

use serde::Serialize;

use crate::failure::{Exit, Failure};

/// stdout. A reader that has gone away (`| head`) is no error: what is left is dropped.
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    closed: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { stdout: io::stdout().lock(), closed: false }
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.map_err(|error| {
                Failure::told(
                    Exit::Output,
                    format!("cannot write to stdout: {error}"),
                    "check where it is redirected to",
                )
            }),
        }
    }

    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.text(&format!("{line}\n"))
    }

    /// Indented JSON, numbers rounded as in every file of fairpace.
    pub(crate) fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let text = fairpace_results::to_json(value).map_err(|error| {
            Failure::told(Exit::Internal, format!("cannot write JSON: {error}"), "please report this")
        })?;
        self.text(&text)
    }
}
