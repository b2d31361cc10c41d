//! Standard output: text and JSON.

use std::io::{self, Write};

use fairpace_scenario::visible;
use serde::Serialize;

use crate::args::Global;
use crate::escape::escape_json;
use crate::failure::{Exit, Failure};

/// Writes a line to standard error, with control characters escaped. It ignores errors of writing, such as a
/// closed pipe.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}

/// Destination of a command's results.
///
/// A reader that closes the pipe (`| head`) is not an error: the rest of the output is dropped.
pub struct Output {
    writer: Box<dyn Write>,
    closed: bool,
}

impl Output {
    /// The process's standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::to(io::stdout().lock())
    }

    /// Any other destination, such as a buffer in a test.
    pub fn to(writer: impl Write + 'static) -> Self {
        Self { writer: Box::new(writer), closed: false }
    }

    /// Writes a record, as JSON if the user asks for JSON, else as text.
    ///
    /// # Errors
    /// Returns an error if the destination cannot be written to ([`Exit::Output`]), or if the record has a
    /// value without a form.
    pub fn record<T: Serialize>(
        &mut self,
        record: &T,
        global: Global,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if global.json { self.json(record) } else { self.text(&text(record)) }
    }

    /// Writes text. Control characters, which can only come from names and titles, are escaped.
    ///
    /// # Errors
    /// Returns an error if the destination cannot be written to ([`Exit::Output`]).
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(&visible(text))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.map_err(|error| {
                let message = format!("cannot write to stdout: {error}");
                Failure::new(Exit::Output, message, "check where it is redirected to")
            }),
        }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Returns the errors of [`Output::text`].
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.text(&format!("{line}\n"))
    }

    /// Writes indented JSON, with numbers rounded as in every file of fairpace.
    ///
    /// # Errors
    /// Returns the errors of [`Output::text`], or an error if the value cannot be represented as JSON
    /// ([`Exit::Internal`]).
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.write(&escape_json(to_json(value)?))
    }
}

/// Indented JSON, with numbers rounded as in every file of fairpace.
///
/// # Errors
/// Returns an error if the value cannot be represented as JSON ([`Exit::Internal`]).
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    fairpace_results::to_json(value).map_err(|error| {
        Failure::new(Exit::Internal, format!("cannot write JSON: {error}"), "please report this")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_without_what_a_terminal_obeys() {
        let path = std::env::temp_dir().join(format!("fairpace-output-{}", std::process::id()));
        let mut out = Output::to(std::fs::File::create(&path).expect("a temporary file"));
        out.line("flow \u{202e}\u{1b}[2J\tx").expect("it is written");
        out.json("\u{202e}").expect("it is written");
        let written = std::fs::read_to_string(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(written.replace('\n', ""), "flow \\u202e\\u001b[2J\tx\"\\u202e\"");
    }
}
