//! The failure of a command: an error for people or for programs, and an exit code.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fairpace_cc::UnknownAlgorithm;
use fairpace_scenario::{CcError, Invalid, clipped, visible};
use miette::{Diagnostic, Report};
use serde_json::json;

use crate::escape::escape_json;

/// Most problems that an error shows: more do not fit on a screen, and one mistake often causes many.
const MOST_SHOWN: usize = 20;
/// Most characters of an error's message and of its help. The kernel's answer to a refused program has half
/// as many. Either text may quote an argument, which can have 128 kB.
const MOST_TEXT: usize = 8_000;

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// An unexpected failure: a bug, a failure of the system during a command, or a failed check of
    /// `fairpace-dev`.
    Internal = 1,
    /// The command line or the scenario is wrong.
    Usage = 2,
    /// This machine, or this user on it, cannot perform the command.
    Unsupported = 3,
    /// The machine disturbed a run on the testbed by more than the scenario allows.
    Disturbed = 4,
    /// The results could not be written.
    Output = 5,
    /// A name already exists in the kernel's list of congestion controls, or does not exist there.
    Busy = 6,
    /// A case of `conform` fails, or the adaptor did not follow the protocol.
    Nonconforming = 7,
    /// The user ended the command with Ctrl-C.
    Interrupted = 130,
}

/// The exit codes, as `--help` shows them; docs/reference/exit-codes.md explains them.
pub const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  unexpected failure, or a check of fairpace-dev failed
    2  wrong arguments or scenario
    3  this machine cannot do that: no root, no BTF, no TUN, too old a kernel
    4  the testbed was disturbed: the run has no result
    5  results could not be written
    6  a kernel name is taken or not loaded, or another command is changing that
    7  conform: a case fails, or the adaptor does not follow the protocol
  130  interrupted (Ctrl-C); 143 by SIGTERM";

impl Exit {
    /// The exit code of a number, such as that of a program of ours.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        use Exit::{Busy, Disturbed, Internal, Interrupted, Nonconforming, Output, Unsupported, Usage};
        let all = [Internal, Usage, Unsupported, Disturbed, Output, Busy, Nonconforming, Interrupted];
        all.into_iter().find(|exit| *exit as i32 == code)
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Unsupported => "unsupported",
            Self::Disturbed => "disturbed",
            Self::Output => "output",
            Self::Busy => "busy",
            Self::Nonconforming => "nonconforming",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The failure that ends a command.
#[derive(Debug)]
pub struct Failure {
    code: i32,
    kind: &'static str,
    message: String,
    help: Option<String>,
    /// The library's name for the error, such as `fairpace::testbed::no_tun`.
    label: Option<String>,
    /// Problems of a scenario: at most [`MOST_SHOWN`].
    problems: Vec<fairpace_scenario::Problem>,
    /// Number of problems that are left out: at most [`Invalid::MOST`].
    more: u8,
}

impl Failure {
    /// A failure with a message, and with help for the user.
    pub fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..Self::without_help(exit, message.into()) }
    }

    fn without_help(exit: Exit, message: String) -> Self {
        let (code, kind) = (exit as i32, exit.kind());
        Self { code, kind, message, help: None, label: None, problems: Vec::new(), more: 0 }
    }

    /// A failure from a library's error, which has its own help.
    pub fn of(exit: Exit, error: impl Into<Report>) -> Self {
        let report: Report = error.into();
        Self {
            help: report.help().map(|help| help.to_string()),
            label: report.code().map(|code| code.to_string()),
            ..Self::without_help(exit, report.to_string())
        }
    }

    /// The failure that a file or folder cannot be used: `what` precedes its path in the message, and
    /// `another` says how to name another one.
    #[must_use]
    pub fn file(what: &str, path: &Path, error: &io::Error, another: &str) -> Self {
        let help = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("make room on that file system, or {another}")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!("you may not write there: {another}")
            }
            _ => another.to_owned(),
        };
        Self::new(Exit::Output, format!("{what} {}: {error}", path.display()), help)
    }

    /// The failure that a signal ended the command, which left no file.
    #[must_use]
    pub fn signal(signal: i32) -> Self {
        Self::signal_with(signal, "nothing is left behind, and no result was written")
    }

    /// The failure that a signal ended the command; `help` says what it left.
    pub fn signal_with(signal: i32, help: impl Into<String>) -> Self {
        Self { code: 128 + signal, ..Self::new(Exit::Interrupted, "interrupted", help) }
    }

    /// The failure with another help.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), label: None, ..self }
    }

    /// The failure of a part of the command's work, such as one of several runs: `part` precedes the message.
    #[must_use]
    pub fn of_part(self, part: &str) -> Self {
        Self { message: format!("{part}: {self}"), label: None, ..self }
    }

    /// The failure with a sentence after its help, which says in what state the command left the machine.
    #[must_use]
    pub fn leaving(mut self, state: &str) -> Self {
        let with = |help: &str| if help.is_empty() { state.to_owned() } else { format!("{help}; {state}") };
        self.help = Some(with(self.help.as_deref().unwrap_or_default()));
        if let [only] = &mut self.problems[..] {
            only.help = with(&only.help);
        }
        self
    }

    /// Whether a signal ended the command.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        self.kind == Exit::Interrupted.kind()
    }

    /// Whether the machine disturbed a run on the testbed too much for a verdict.
    #[must_use]
    pub fn is_disturbance(&self) -> bool {
        self.kind == Exit::Disturbed.kind()
    }

    /// What the user can do about it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Writes the failure to stderr; in one line if stderr is systemd's journal, where each line is an entry.
    pub fn report(&self, json: bool) {
        let text = if !json && is_journal(io::stderr()) { self.line() } else { self.rendered(json) };
        // a closed stderr leaves no place for a message
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// The failure in one line: the first of several problems, and the first line of a long message.
    fn line(&self) -> String {
        let mut lines = self.message.lines().filter(|line| !line.trim().is_empty());
        let mut line = lines.next().unwrap_or_default().to_owned();
        if lines.next().is_some() {
            // "...; its log:", which is in the lines that are left out
            let kept = line.strip_suffix(':').and_then(|line| Some(line.rsplit_once("; ")?.0.to_owned()));
            line = format!("{} (the command prints more in a terminal)", kept.unwrap_or(line));
        }
        if let (Some(first), true) = (self.problems.first(), self.problems.len() > 1) {
            line = format!("{line}; the first is {first}; {}", first.help);
        }
        if let Some(help) = self.help.as_deref().filter(|help| !help.is_empty()) {
            line = format!("{line}; {help}");
        }
        format!("error: {}\n", visible(&clipped(&line, MOST_TEXT)).replace('\n', " "))
    }

    /// The text that [`Failure::report`] writes. Control characters of a user's text are escaped in it.
    #[must_use]
    pub fn rendered(&self, json: bool) -> String {
        if !json {
            return format!("{:?}", self.shown());
        }
        let problem = |problem: &fairpace_scenario::Problem| {
            let fairpace_scenario::Problem { kind, file, line, column, key, message, help, .. } = problem;
            let file = clipped(file, MOST_TEXT);
            json!({
                "kind": kind, "file": file, "line": line, "column": column, "key": key, "message": message,
                "help": help,
            })
        };
        let mut record = json!({
            "kind": self.kind,
            "exit_code": self.code,
            "message": clipped(&self.to_string(), MOST_TEXT),
            "help": self.help.as_deref().map(|help| clipped(help, MOST_TEXT)),
        });
        if !self.problems.is_empty() {
            record["problems"] = self.problems.iter().map(problem).collect();
        }
        if self.more > 0 {
            record["more_problems"] = self.more.into();
        }
        format!("{}\n", escape_json(json!({ "error": record }).to_string()))
    }

    /// Kind of the failure, as in JSON: `usage`, `output`, ...
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// The failure in the form that people read.
    fn shown(&self) -> Report {
        // a single problem needs no frame around it, unless it is one of a part of the work
        if let [only] = &self.problems[..]
            && (&only.to_string(), only.help.as_str()) == (&self.message, self.help.as_deref().unwrap_or(""))
        {
            return Report::new(only.clone());
        }
        let safe = |text: &str| visible(&clipped(text, MOST_TEXT)).into_owned();
        Report::new(Shown {
            message: safe(&self.message),
            help: self.help.as_deref().map(safe),
            label: self.label.clone(),
            problems: self.problems.clone(),
        })
    }
}

/// Whether a stream leads to the journal: systemd names its device and inode in JOURNAL_STREAM
/// (systemd.exec(5)).
fn is_journal(stream: impl AsFd) -> bool {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    let found = stream.as_fd().try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
    found.is_ok_and(|found| named == format!("{}:{}", found.dev(), found.ino()))
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// A failure in the form that miette renders.
#[derive(Debug)]
struct Shown {
    message: String,
    help: Option<String>,
    label: Option<String>,
    problems: Vec<fairpace_scenario::Problem>,
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.label.as_ref().map(|label| Box::new(label) as Box<dyn std::fmt::Display>)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

impl From<Invalid> for Failure {
    fn from(mut invalid: Invalid) -> Self {
        // the library does not name the commands of this program
        for problem in &mut invalid.problems {
            if problem.kind == "unknown-header" {
                let header = problem.message.split('`').nth(1).unwrap_or_default();
                problem.help = format!("{}; {}", problem.help, new_header(header));
            }
            if matches!(problem.kind, "unknown-algorithm" | "unknown-parameter" | "wrong-parameter") {
                let and = if problem.help.is_empty() { "" } else { "; " };
                problem.help.push_str(and);
                problem.help.push_str("`fairpace algorithms` lists all algorithms and parameters");
            }
        }
        let Invalid { mut problems } = invalid;
        let (count, about) = (problems.len(), problems.first().map_or("scenario", |problem| problem.about));
        problems.truncate(MOST_SHOWN);
        let more = (count - problems.len()) as u8;
        // reading stops at that number
        let least = if count >= Invalid::MOST { "at least " } else { "" };
        let (message, help) = match (&problems[..], more) {
            ([only], _) => (only.to_string(), Some(only.help.clone()).filter(|help| !help.is_empty())),
            (_, 0) => (format!("the {about} has {count} errors"), None),
            _ => {
                let message = format!(
                    "the {about} has {least}{count} errors: these {MOST_SHOWN} and {least}{more} more"
                );
                (message, Some(format!("is it the right file, and a {about}?")))
            }
        };
        Self { help, problems, more, ..Self::without_help(Exit::Usage, message) }
    }
}

/// Advice for a header that does not exist.
fn new_header(header: &str) -> String {
    let name = Path::new(header).file_stem().unwrap_or_default().to_string_lossy();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = if is_name { &*name } else { "NAME" };
    format!("`fairpace new {name}` writes one to begin with")
}

impl From<UnknownAlgorithm> for Failure {
    fn from(error: UnknownAlgorithm) -> Self {
        let name = &error.name;
        if name.ends_with(".h") {
            let place = std::path::absolute(name).unwrap_or_else(|_| name.into());
            let help = format!("it was looked for as {}; {}", place.display(), new_header(name));
            return Self::new(Exit::Usage, format!("there is no file \"{name}\""), help);
        }
        let nearest = error.nearest.map(|nearest| format!("did you mean \"{nearest}\"?"));
        let meant = error.meaning().map(|meaning| format!("{meaning}.")).or(nearest);
        let meant = meant.map(|meant| format!("{meant} ")).unwrap_or_default();
        let help = format!("{meant}Known are {}; `fairpace algorithms` lists them", error.known.join(", "));
        Self::new(Exit::Usage, format!("there is no algorithm \"{name}\""), help)
    }
}

impl From<CcError> for Failure {
    fn from(error: CcError) -> Self {
        match error {
            CcError::Unknown(error) => error.into(),
            error => {
                let help = "write NAME:PARAMETER=VALUE, as bbr3:beta=0.5; `fairpace algorithms NAME` shows \
                            the parameters with their ranges";
                Self::new(Exit::Usage, error.to_string(), help)
            }
        }
    }
}

impl From<fairpace_sim::Error> for Failure {
    fn from(error: fairpace_sim::Error) -> Self {
        use fairpace_sim::Error as E;
        let (exit, help) = match &error {
            E::Stopped { .. } => (Exit::Interrupted, "no result was written"),
            _ => (Exit::Usage, "`fairpace algorithms` lists what can be simulated, and its parameters"),
        };
        Self::new(exit, error.to_string(), help)
    }
}

#[cfg(feature = "kernel")]
impl From<fairpace_testbed::Error> for Failure {
    fn from(error: fairpace_testbed::Error) -> Self {
        use fairpace_testbed::Error as E;
        let error = match error {
            E::Kernel(error) => return error.into(),
            E::Invalid(invalid) => return invalid.into(),
            error => error,
        };
        let exit = match &error {
            E::NotPermitted { .. } | E::NoTun { .. } | E::NoAccurateEcn => Exit::Unsupported,
            E::UnknownCongestionControl { .. } | E::TooFast { .. } | E::TooLarge { .. } | E::Network(_) => {
                Exit::Usage
            }
            E::Disturbed { .. } => Exit::Disturbed,
            E::Interrupted => Exit::Interrupted,
            _ => Exit::Internal,
        };
        Self::of(exit, error)
    }
}

#[cfg(feature = "kernel")]
impl From<fairpace_kernel::Error> for Failure {
    fn from(error: fairpace_kernel::Error) -> Self {
        use fairpace_kernel::Error as E;
        let exit = match &error {
            E::NotBuilt { .. }
            | E::NotPermitted { .. }
            | E::NoBtf { .. }
            | E::Unsupported { .. }
            | E::Untrusted { .. }
            | E::OtherSources { .. }
            | E::Bpffs { .. } => Exit::Unsupported,
            E::NameBusy { .. }
            | E::NotOffered { .. }
            | E::NotLoaded { .. }
            | E::NotOurs { .. }
            | E::StillThere { .. }
            | E::Locked { .. } => Exit::Busy,
            E::BadName { .. } | E::NotCompiled { .. } | E::Refused { listed: false, .. } => Exit::Usage,
            E::Interrupted => Exit::Interrupted,
            _ => Exit::Internal,
        };
        // the library does not name the commands of this program
        let help = match &error {
            E::Refused { listed: true, .. } => {
                "this is a bug of fairpace on this kernel: please report it with the output of this command \
                 and of `fairpace doctor`"
            }
            E::NotLoaded { .. } => "`fairpace list` shows what is loaded",
            E::NotOurs { .. } => {
                "`fairpace unload` removes what `fairpace load` has loaded; end the process that holds \
                 this one, or remove its pin"
            }
            E::Bpf { .. } => "`fairpace doctor` checks what this kernel can do",
            _ => return Self::of(exit, error),
        };
        Self::of(exit, error).with_help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_part_keeps_code_and_help() {
        let failure = Failure::new(Exit::Disturbed, "too late", "wait").of_part("the first path");
        assert_eq!((failure.code(), failure.to_string()), (4, "the first path: too late".to_owned()));
        assert!(failure.rendered(true).contains("\"help\":\"wait\""), "{}", failure.rendered(true));
    }

    #[test]
    fn an_error_in_one_line_has_place_remedy_and_what_is_the_case_after_it() {
        let problem = |line: usize, message: &str| {
            let problem = fairpace_scenario::Problem::of("configuration", "syntax", "", message, "fix it");
            problem.within("f.toml", "a\nb\nc\nd\n", 2 * line - 2..2 * line - 1)
        };
        let line = |problems| Failure::from(Invalid { problems }).leaving("the default is cubic").line();
        let first = problem(2, "no such key");
        let expected = "error: f.toml:2:1: no such key; fix it; the default is cubic\n";
        assert_eq!(line(vec![first.clone()]), expected);
        let expected = "error: the configuration has 2 errors; the first is f.toml:2:1: no such key; fix it; \
                        the default is cubic\n";
        assert_eq!(line(vec![first, problem(4, "another")]), expected);
        let refused = Failure::new(Exit::Internal, "refused; its log:\na\nb", "report it").line();
        assert_eq!(refused, "error: refused (the command prints more in a terminal); report it\n");
        assert_eq!(Failure::new(Exit::Usage, "a\u{1b}[2J", "").line(), "error: a\\u001b[2J\n");
    }

    #[cfg(feature = "kernel")]
    #[test]
    fn a_kernel_error_keeps_its_meaning_through_the_testbed() {
        let missing = || fairpace_kernel::Error::NotPermitted { missing: vec!["CAP_BPF"] };
        let through = fairpace_testbed::Error::Kernel(missing());
        assert_eq!(Failure::from(through).code(), Exit::Unsupported as i32);
        assert_eq!(Failure::from(missing()).code(), Exit::Unsupported as i32);
        assert_eq!(Failure::from(fairpace_testbed::Error::Interrupted).code(), 130);
    }

    #[test]
    fn every_exit_code_is_in_the_help_and_in_the_reference() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/exit-codes.md");
        let page = std::fs::read_to_string(path).unwrap();
        use Exit::{Busy, Disturbed, Internal, Interrupted, Nonconforming, Output, Unsupported, Usage};
        for exit in [Internal, Usage, Unsupported, Disturbed, Output, Busy, Nonconforming, Interrupted] {
            let code = exit as i32;
            assert!(page.contains(&format!("| {code} | `{}` |", exit.kind())), "{exit:?} is not documented");
            assert!(EXIT_CODES.contains(&format!(" {code}  ")), "{exit:?} is not in the help");
        }
    }
}
