//! The messages of libbpf, and the cause of a failure that they name.

use std::sync::Mutex;

use libbpf_rs::{PrintLevel, set_print};

use crate::Error;

/// Number of lines of the verifier's log that an error shows: the complaint is at the end.
const LOG_LINES: usize = 25;

/// Lock for libbpf's messages: libbpf prints through one function for the whole process, so one caller at a
/// time collects.
static COLLECTING: Mutex<()> = Mutex::new(());
static PRINTED: Mutex<String> = Mutex::new(String::new());

fn collect(_: PrintLevel, line: String) {
    if let Ok(mut printed) = PRINTED.lock() {
        printed.push_str(&line);
    }
}

/// Runs `work` and returns its result with the messages that libbpf printed meanwhile.
pub(crate) fn with_log<T>(work: impl FnOnce() -> T) -> (T, String) {
    let _one = COLLECTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = set_print(Some((PrintLevel::Warn, collect)));
    let result = work();
    set_print(before);
    let mut printed = PRINTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (result, std::mem::take(&mut *printed))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// Classifies a failure: libbpf's log distinguishes a refusal by the verifier from other failures.
pub(crate) fn explain(error: Error, log: &str, name: &str, listed: bool, release: &str) -> Error {
    let Error::Bpf { what, cause, .. } = error else { return error };
    if log.contains("BEGIN PROG LOAD LOG") {
        return Error::Refused {
            name: name.to_owned(),
            listed,
            release: release.to_owned(),
            log: last_lines(log),
        };
    }
    if cause.kind() == std::io::ErrorKind::PermissionDenied {
        // a container's user namespace can have all capabilities, but only within itself
        return Error::NotPermitted { missing: vec!["the rights of root outside of any container"] };
    }
    Error::Bpf { what, cause, log: last_lines(log) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: std::io::ErrorKind) -> Error {
        Error::bpf("loading")(std::io::Error::from(kind).into())
    }

    #[test]
    fn a_failure_with_a_verifier_log_is_a_refusal_and_shows_its_end() {
        let log: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let log = format!("-- BEGIN PROG LOAD LOG --\n{log}-- END PROG LOAD LOG --\n");
        let error = explain(failed(std::io::ErrorKind::PermissionDenied), &log, "fp_x", true, "6.18");
        let Error::Refused { name, log, .. } = error else { panic!("{error}") };
        assert_eq!(name, "fp_x");
        assert!(log.contains("line 99") && !log.contains("line 50"), "{log}");
    }

    #[test]
    fn a_denial_without_a_log_is_a_lack_of_rights() {
        let error = explain(failed(std::io::ErrorKind::PermissionDenied), "", "fp_x", true, "6.18");
        assert!(matches!(error, Error::NotPermitted { .. }), "{error}");
        let error = explain(failed(std::io::ErrorKind::OutOfMemory), "libbpf: no\n", "fp_x", true, "6.18");
        assert!(matches!(&error, Error::Bpf { log, .. } if log == "libbpf: no"), "{error}");
    }
}
