//! Messages of the kernel during a test, and which of them are faults.
//!
//! Some warnings are not judged on a kernel that skips BPF programs while process 1 runs
//! ([`Features::skips_programs`]). A skipped `ssthresh` or `undo_cwnd` returns an undefined value from the
//! kernel's stack. The kernel uses the value at once or at a later ACK, in whatever task that interrupts, and
//! warns where it sets an invalid cwnd. `docs/notes/skipped-programs.md` has the evidence.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use fairpace_kernel::Features;
use nix::libc;

/// Words of messages that report a fault of the kernel.
const ALARMS: [&str; 8] =
    ["BUG:", "WARNING:", "Oops", "Call Trace", "refcount_t:", "general protection", "KASAN", "hung task"];
/// The last line of a warning's report.
const REPORT_END: &str = "---[ end trace";
/// Functions of Linux, with those that the compiler merges into them, that set cwnd from a value of
/// `ssthresh` or `undo_cwnd`. They warn if cwnd is zero or negative (`tcp_snd_cwnd_set`), or if a reduction
/// began from such a cwnd.
const SETTERS: [&str; 5] = [
    "tcp_undo_cwnd_reduction",
    "tcp_cwnd_reduction",
    "tcp_fastretrans_alert", // tcp_end_cwnd_reduction
    "tcp_process_tlp_ack",   // the same
    "tcp_cwnd_restart",
];

/// The kernel's log from a time on.
pub struct KernelLog(Option<fs::File>);

/// Messages of the kernel that report a fault, a text each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Alarms {
    /// Warnings, bugs and similar messages.
    pub failures: Vec<String>,
    /// Warnings that this kernel's skipping of programs can cause.
    pub not_judged: Vec<String>,
}

impl Alarms {
    /// All messages together, for tests in which a kernel that skips programs counts as a fault.
    #[must_use]
    pub fn all(self) -> Vec<String> {
        [self.failures, self.not_judged].concat()
    }
}

impl KernelLog {
    /// Opens the log at its end. Without the right to read the log, [`alarms`](Self::alarms) reports this.
    #[must_use]
    pub fn open() -> KernelLog {
        use std::io::{Seek, SeekFrom};
        let file = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        KernelLog(file.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    /// Reads the messages since [`open`](Self::open) and returns the alarms.
    #[must_use]
    pub fn alarms(self) -> Alarms {
        let Some(mut file) = self.0 else {
            return Alarms { failures: vec!["the kernel's log cannot be read".into()], ..Alarms::default() };
        };
        let (mut lines, mut record) = (Vec::new(), [0; 8192]);
        let mut overwritten = Vec::new();
        // one record per read, until there is none
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(bytes) => lines.push(String::from_utf8_lossy(&record[..bytes]).trim().to_owned()),
                // what was next has been overwritten; the one that follows is read next (dev-kmsg)
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {
                    overwritten = vec!["the kernel's log: there was more than it holds".to_owned()];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let mut alarms = judged(&lines, Features::probe().skips_programs());
        alarms.failures.append(&mut overwritten);
        alarms
    }
}

/// The alarms among the lines. `skips_programs`: the kernel skips programs.
fn judged(lines: &[String], skips_programs: bool) -> Alarms {
    let mut alarms = Alarms::default();
    let mut in_report = false;
    for line in lines {
        in_report &= !line.contains(REPORT_END);
        // the call trace of a report is no second alarm
        if !ALARMS.iter().any(|alarm| line.contains(alarm)) || in_report && line.contains("Call Trace") {
            continue;
        }
        let text = format!("the kernel's log: {line}");
        if skips_programs && warns_of_cwnd(line) {
            alarms.not_judged.push(text);
            in_report = true;
        } else {
            alarms.failures.push(text);
        }
    }
    alarms
}

/// Whether a line warns of an invalid cwnd: "WARNING: CPU: 0 PID: 74 at ./include/net/tcp.h:1434
/// tcp_cwnd_reduction+0xbd/0xd0".
fn warns_of_cwnd(line: &str) -> bool {
    let is_setter = |word: &str| {
        let rest = SETTERS.iter().find_map(|function| word.strip_prefix(function));
        rest.is_some_and(|rest| rest.starts_with(['+', '.'])) // ".isra.0+0x"
    };
    line.contains("WARNING:") && line.split_whitespace().any(is_setter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(function: &str) -> Vec<String> {
        let first =
            format!("4,1,2,-;WARNING: CPU: 0 PID: 14533 at ./include/net/tcp.h:1434 {function}+0xbd/0xd0");
        let lines =
            [&first, "4,2,3,-;Call Trace:", "4,3,4,-; <IRQ>", "4,4,5,-;---[ end trace 0000000000000000 ]---"];
        lines.map(str::to_owned).to_vec()
    }

    const BUG: &str = "4,9,9,-;BUG: unable to handle page fault";

    #[test]
    fn a_warning_of_a_cwnd_that_a_skipped_program_returned_is_not_judged() {
        for function in SETTERS.into_iter().chain(["tcp_cwnd_restart.isra.0"]) {
            let alarms = judged(&report(function), true);
            assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (0, 1), "{alarms:?}");
            let alarms = judged(&report(function), false);
            assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (2, 0), "it skips none: {alarms:?}");
        }
    }

    #[test]
    fn every_other_warning_is_a_failure() {
        for function in ["tcp_ack", "tcp_cwnd_reduction_", "not_tcp_cwnd_reduction", "bpf_trampoline_6442"] {
            let alarms = judged(&report(function), true);
            assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (2, 0), "{alarms:?}");
        }
        let oops = "1,1,2,-;Oops: 0000 [#1] PREEMPT SMP at tcp_cwnd_reduction+0xbd/0xd0".to_owned();
        assert_eq!(judged(&[oops], true).failures.len(), 1, "no warning");
    }

    #[test]
    fn what_follows_a_report_is_judged() {
        let lines = [report(SETTERS[0]), vec![BUG.to_owned()], report("tcp_ack")].concat();
        let alarms = judged(&lines, true);
        assert_eq!(alarms.failures.len(), 3, "{alarms:?}");
        assert!(alarms.failures[0].ends_with(BUG), "{alarms:?}");
    }

    #[test]
    fn another_alarm_within_a_report_is_judged() {
        let mut lines = report(SETTERS[1]);
        lines.insert(2, BUG.to_owned());
        lines.pop(); // the end of the report is missing
        let alarms = judged(&lines, true);
        assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (1, 1), "{alarms:?}");
    }

    #[test]
    fn usual_messages_are_no_alarms() {
        let lines = ["6,1,2,-;eth0: link up".to_owned()];
        assert_eq!(judged(&lines, true), Alarms::default());
    }
}
