//! A case: one hostile invocation, with the content of its directory, the start of the program, the events
//! during its run, and the permitted exit codes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

/// An entry of the scratch directory before the program starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file with this content.
    File(Vec<u8>),
    /// A file that its owner may not read.
    Locked(Vec<u8>),
    /// An empty directory.
    Dir,
    /// A directory that its owner may not write to.
    LockedDir,
    /// A symbolic link to this target.
    Link(String),
    /// A FIFO to which no process writes.
    Fifo,
}

/// An event while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// The program gets a signal.
    Signal(Signal),
    /// The user writes a file, and creates its directory if there is none.
    Write(PathBuf, Vec<u8>),
    /// The user creates a symbolic link to this target.
    Link(PathBuf, String),
}

/// A hostile invocation of the program.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    /// Description of the case, a few words.
    pub(super) what: String,
    /// Entries of the scratch directory, all of which belong to the user.
    pub(super) files: Vec<(PathBuf, Entry)>,
    /// Arguments of earlier runs that make a result: each run must succeed.
    pub(super) before: Vec<Vec<OsString>>,
    /// Entries that the user creates after the earlier runs: files in their results.
    pub(super) then: Vec<(PathBuf, Entry)>,
    /// Lines of `sh` that run before the program replaces the shell.
    pub(super) shell: Vec<String>,
    /// Whether the program runs as a user without any rights, if root runs the generator.
    pub(super) unprivileged: bool,
    /// The program's arguments.
    pub(super) args: Vec<OsString>,
    /// Permitted exit codes.
    pub(super) fits: Vec<i32>,
    /// Further signals that may end the program.
    pub(super) ends: Vec<Signal>,
    /// Paths that the program may create.
    pub(super) results: Vec<PathBuf>,
    /// Events during the run, each with its time after the start.
    pub(super) during: Vec<(Duration, Act)>,
    /// Arguments of the next start, which removes the files that a killed process left.
    pub(super) again: Option<Vec<OsString>>,
    /// Whether the output is redirected, so that the generator sees none.
    pub(super) mute: bool,
    /// Whether the environment asks for more output.
    pub(super) loud: bool,
}

impl Case {
    /// A case of the program with these arguments. It permits results, refusals, and machines that cannot
    /// perform the command.
    pub(super) fn new<S: Into<OsString>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), fits: vec![0, 2], ..Self::default() }
    }

    /// Adds a file.
    pub(super) fn file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), Entry::File(content.into())));
        self
    }

    /// Adds arguments.
    pub(super) fn arguments<S: Into<OsString>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(more.into_iter().map(Into::into));
        self
    }

    /// Sets the permitted exit codes.
    pub(super) fn fits(mut self, codes: impl Into<Vec<i32>>) -> Self {
        self.fits = codes.into();
        self
    }

    /// Adds a path that the program may create.
    pub(super) fn result(mut self, path: impl Into<PathBuf>) -> Self {
        self.results.push(path.into());
        self
    }

    /// Sets the description.
    pub(super) fn what(mut self, what: impl Into<String>) -> Self {
        self.what = what.into();
        self
    }

    /// Whether this word is one of the arguments.
    pub(super) fn has(&self, word: &str) -> bool {
        self.args.iter().any(|argument| argument == word)
    }

    /// Iterates over the signals that the program gets.
    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + '_ {
        self.during.iter().filter_map(|(_, act)| match act {
            Act::Signal(signal) => Some(*signal),
            _ => None,
        })
    }

    /// The words of the command: program and arguments, within a shell if the case needs one.
    pub(super) fn command(&self, program: &OsStr, user: Option<u32>) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if !self.shell.is_empty() {
            let script = format!("{}\nexec \"$@\"", self.shell.join("\n"));
            words.extend(["sh", "-c", &script, "sh"].map(OsString::from));
        }
        if let Some(user) = user {
            let ids = [format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".into()];
            words.push("setpriv".into());
            words.extend(ids.map(OsString::from));
        }
        words.push(program.into());
        words.extend(self.args.iter().cloned());
        words
    }
}

/// Words quoted for a shell.
pub(super) fn quoted(words: &[OsString]) -> String {
    let word = |word: &OsString| {
        let text = word.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./=,:+%".contains(byte);
        if !text.is_empty() && text.iter().all(plain) {
            return word.to_string_lossy().into_owned();
        }
        let printable = |byte: &u8| (b' '..=b'~').contains(byte) || *byte == b'\n';
        if text.iter().all(printable) {
            return format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
        }
        let escaped: String = text.iter().map(|byte| byte.escape_ascii().to_string()).collect();
        format!("$'{escaped}'")
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["sim", "", "a b", "it's", "\u{1b}[31m", "s.toml"].map(OsString::from);
        assert_eq!(quoted(&words), r"sim '' 'a b' 'it'\''s' $'\x1b[31m' s.toml");
    }
}
