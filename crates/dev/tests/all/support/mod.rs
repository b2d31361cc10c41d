//! Runs commands within this process, and files for them.

pub(crate) mod documented;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
pub(crate) use fairpace_test_support::Folder;

/// What a command printed, and how it ended.
pub(crate) struct Ended {
    pub(crate) stdout: String,
    failure: Option<Failure>,
}

impl Ended {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    fn rendered(&self, json: bool) -> String {
        self.failure.as_ref().map(|failure| failure.rendered(json)).unwrap_or_default()
    }

    /// The error as people see it.
    pub(crate) fn message(&self) -> String {
        self.rendered(false)
    }

    /// The error object of `--json`.
    pub(crate) fn error(&self) -> serde_json::Value {
        let error: serde_json::Value =
            serde_json::from_str(&self.rendered(true)).expect("the command failed");
        error["error"].clone()
    }

    /// Asserts the exit code, that the error has this text, and that nothing was printed.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, text: &str) {
        let rendered = self.rendered(false);
        assert_eq!(self.failure.as_ref().map(Failure::code), Some(code), "{}{rendered}", self.stdout);
        let words: Vec<_> = rendered.split_whitespace().filter(|word| *word != "│").collect();
        let message = words.join(" ");
        assert!(message.contains(text), "{text:?} is not in {message:?}");
        assert_eq!(self.stdout, "", "an error belongs to stderr");
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert!(self.failure.is_none(), "{}{}", self.stdout, self.rendered(false));
        self
    }
}

/// A buffer that stays readable while an [`Output`] owns it.
#[derive(Clone, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Performs a command of `fairpace-dev` in this process.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    let buffer = Buffer::default();
    let failure = fairpace_dev::run(arguments, &mut Output::to(buffer.clone())).err();
    let stdout = String::from_utf8(buffer.0.take()).expect("output is UTF-8");
    Ended { stdout, failure }
}

/// The built program.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fairpace-dev"))
}

/// All files in a folder and in the folders below it.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
