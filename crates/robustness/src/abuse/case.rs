//! One hostile invocation: what its directory holds, how the program starts, what happens meanwhile, and
//! which exit codes fit.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

/// What is at a path of the scratch directory before the program starts.
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
    /// A pipe with a name, which nothing writes to.
    Fifo,
}

/// What happens while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// The program gets a signal.
    Signal(Signal),
    /// The user writes a file, and makes its directory if there is none.
    Write(PathBuf, Vec<u8>),
    /// The user makes a symbolic link to this target.
    Link(PathBuf, String),
}

/// One invocation.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    /// In a few words.
    pub(super) what: String,
    /// What the scratch directory holds, all of it the user's.
    pub(super) files: Vec<(PathBuf, Entry)>,
    /// Runs that make an earlier result: each must succeed.
    pub(super) before: Vec<Vec<OsString>>,
    /// What the user does after them: files in earlier results.
    pub(super) then: Vec<(PathBuf, Entry)>,
    /// Lines of `sh` before the program takes the shell's place.
    pub(super) shell: Vec<String>,
    /// As a user without any rights, where root runs the generator.
    pub(super) unprivileged: bool,
    /// The program's arguments.
    pub(super) args: Vec<OsString>,
    /// Exit codes that fit.
    pub(super) fits: Vec<i32>,
    /// Further signals that may end it.
    pub(super) ends: Vec<Signal>,
    /// Paths that the program may make.
    pub(super) results: Vec<PathBuf>,
    /// What happens, and how long after the start.
    pub(super) during: Vec<(Duration, Act)>,
    /// Arguments of the next start, which removes what a killed process left.
    pub(super) again: Option<Vec<OsString>>,
    /// The output goes elsewhere, so that it says nothing.
    pub(super) mute: bool,
    /// The environment asks for more output.
    pub(super) loud: bool,
}

impl Case {
    /// The program with these arguments; results, refusals and machines that cannot do it fit.
    pub(super) fn new<S: Into<OsString>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), fits: vec![0, 2], ..Self::default() }
    }

    /// With a file.
    pub(super) fn file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), Entry::File(content.into())));
        self
    }

    /// With more arguments.
    pub(super) fn arguments<S: Into<OsString>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(more.into_iter().map(Into::into));
        self
    }

    /// These codes fit.
    pub(super) fn fits(mut self, codes: impl Into<Vec<i32>>) -> Self {
        self.fits = codes.into();
        self
    }

    /// The program may make this.
    pub(super) fn result(mut self, path: impl Into<PathBuf>) -> Self {
        self.results.push(path.into());
        self
    }

    /// Described so.
    pub(super) fn what(mut self, what: impl Into<String>) -> Self {
        self.what = what.into();
        self
    }

    /// Whether the arguments hold this word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.args.iter().any(|argument| argument == word)
    }

    /// The signals that it gets.
    pub(super) fn signals(&self) -> impl Iterator<Item = Signal> + '_ {
        self.during.iter().filter_map(|(_, act)| match act {
            Act::Signal(signal) => Some(*signal),
            _ => None,
        })
    }

    /// Program and arguments, with the shell around them where it is needed.
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

/// Words as a shell takes them.
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
