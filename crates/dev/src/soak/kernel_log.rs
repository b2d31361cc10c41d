//! What the kernel logs while something runs, and which of it is a fault.
//!
//! One kind of warning is not judged. A kernel whose `struct bpf_prog_aux` has a field `init_owned` runs no
//! BPF program of others in the context of process 1: `__bpf_prog_enter` returns 0 there. If an interrupt
//! takes a thread of process 1 and handles an ACK, `undo_cwnd` is skipped with all other hooks, and the
//! trampoline returns what was on its stack. `tcp_undo_cwnd_reduction` warns if that is no cwnd. Linux of
//! kernel.org has no such field. `docs/notes/skipped-programs.md` has the evidence.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

/// What the kernel's log has when something went wrong in it.
const ALARMS: [&str; 8] =
    ["BUG:", "WARNING:", "Oops", "Call Trace", "refcount_t:", "general protection", "KASAN", "hung task"];
/// The last line of a warning's report.
const REPORT_END: &str = "---[ end trace";
/// The function that warns of a cwnd that is none.
const UNDO: &str = "tcp_undo_cwnd_reduction";
/// The field of a kernel that skips programs, as its BTF has it.
const SKIPS_FIELD: &[u8] = b"\0init_owned\0";

/// The kernel's log from a time on.
pub(crate) struct KernelLog(Option<fs::File>);

/// What it has that is no message as usual, a text each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Alarms {
    pub(crate) failures: Vec<String>,
    /// Warnings that follow from this kernel's skipping programs.
    pub(crate) not_judged: Vec<String>,
}

impl Alarms {
    /// Where a kernel that skips programs is a fault itself.
    pub(crate) fn all(self) -> Vec<String> {
        [self.failures, self.not_judged].concat()
    }
}

impl KernelLog {
    /// At its end. Without the right to read it, [`alarms`](Self::alarms) says so.
    pub(crate) fn open() -> KernelLog {
        use std::io::{Seek, SeekFrom};
        let file = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        KernelLog(file.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    pub(crate) fn alarms(self) -> Alarms {
        let Some(mut file) = self.0 else {
            return Alarms { failures: vec!["the kernel's log cannot be read".into()], ..Alarms::default() };
        };
        let (mut lines, mut record) = (Vec::new(), [0; 8192]);
        // one record per read, until there is none
        while let Ok(bytes @ 1..) = file.read(&mut record) {
            lines.push(String::from_utf8_lossy(&record[..bytes]).trim().to_owned());
        }
        if !skips_programs() {
            return judged(&lines, |_| false);
        }
        judged(&lines, |thread| Path::new(&format!("/proc/1/task/{thread}")).exists())
    }
}

/// Does this kernel skip BPF programs in the context of process 1?
fn skips_programs() -> bool {
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    btf.windows(SKIPS_FIELD.len()).any(|window| window == SKIPS_FIELD)
}

/// The alarms among the lines. `is_skipped`: are programs skipped in the context of this thread?
fn judged(lines: &[String], is_skipped: impl Fn(u32) -> bool) -> Alarms {
    let mut alarms = Alarms::default();
    let mut in_report = false;
    for line in lines {
        in_report &= !line.contains(REPORT_END);
        // the call trace of a report is no second alarm
        if !ALARMS.iter().any(|alarm| line.contains(alarm)) || in_report && line.contains("Call Trace") {
            continue;
        }
        let text = format!("the kernel's log: {line}");
        if line.contains(UNDO) && thread(line).is_some_and(&is_skipped) {
            alarms.not_judged.push(text);
            in_report = true;
        } else {
            alarms.failures.push(text);
        }
    }
    alarms
}

/// The thread that a warning interrupted: "WARNING: CPU: 0 PID: 74 at ...".
fn thread(line: &str) -> Option<u32> {
    let (_, after) = line.split_once("PID: ")?;
    after.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(function: &str, thread: u32) -> Vec<String> {
        let first =
            format!("4,1,2,-;WARNING: CPU: 0 PID: {thread} at ./include/net/tcp.h:1434 {function}+0xbd/0xd0");
        let lines =
            [&first, "4,2,3,-;Call Trace:", "4,3,4,-; <IRQ>", "4,4,5,-;---[ end trace 0000000000000000 ]---"];
        lines.map(str::to_owned).to_vec()
    }

    #[test]
    fn a_warning_of_an_undo_that_was_skipped_is_not_judged() {
        let alarms = judged(&report(UNDO, 74), |thread| thread == 74);
        assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (0, 1), "{alarms:?}");
    }

    #[test]
    fn every_other_warning_is_a_failure() {
        for (lines, skipped) in [(report(UNDO, 75), 74), (report("tcp_ack", 74), 74)] {
            let alarms = judged(&lines, |thread| thread == skipped);
            assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (2, 0), "{alarms:?}");
        }
        assert_eq!(judged(&report(UNDO, 74), |_| false).failures.len(), 2, "a kernel that skips none");
    }

    #[test]
    fn what_follows_a_report_is_judged() {
        let bug = "4,9,9,-;BUG: unable to handle page fault".to_owned();
        let lines = [report(UNDO, 74), vec![bug.clone()], report(UNDO, 3)].concat();
        let alarms = judged(&lines, |thread| thread == 74);
        assert_eq!(alarms.failures.len(), 3, "{alarms:?}");
        assert!(alarms.failures[0].ends_with(&bug), "{alarms:?}");
    }

    #[test]
    fn another_alarm_within_a_report_is_judged() {
        let mut lines = report(UNDO, 74);
        lines.insert(2, "4,9,9,-;BUG: unable to handle page fault".to_owned());
        lines.pop(); // the end of the report is missing
        let alarms = judged(&lines, |thread| thread == 74);
        assert_eq!((alarms.failures.len(), alarms.not_judged.len()), (1, 1), "{alarms:?}");
    }

    #[test]
    fn usual_messages_are_no_alarms() {
        let lines = ["6,1,2,-;eth0: link up".to_owned()];
        assert_eq!(judged(&lines, |_| true), Alarms::default());
    }
}
