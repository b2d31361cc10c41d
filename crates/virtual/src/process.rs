//! The process of a machine: how it is started and ends, what the guest writes, and files without a name.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use crate::Error;
use crate::message::Line;

/// Time between two looks at a process that is waited for.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// Clock ticks per second in proc_pid_stat(5), which Linux fixes for programs (USER_HZ).
const TICKS_PER_S: u64 = 100;
/// Most lines of the emulator and of the guest's console in an error.
const LAST_LINES: usize = 12;

/// A file without a name, which ends with this process. Another process opens it by [`Nameless::path`].
pub(crate) struct Nameless(pub(crate) File);

impl Nameless {
    pub(crate) fn new() -> Result<Self, Error> {
        tempfile::tempfile().map(Self).map_err(Error::host("create a temporary file"))
    }

    pub(crate) fn with(content: &[u8]) -> Result<Self, Error> {
        let mut file = Self::new()?;
        io::Write::write_all(&mut file.0, content).map_err(Error::host("write a temporary file"))?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// The last lines of text in it, each after a line feed.
    fn last_lines(&self) -> String {
        let mut bytes = Vec::new();
        // what cannot be read is missing in an error
        let _ = (&self.0).seek(SeekFrom::Start(0)).and_then(|_| (&self.0).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| format!("\n{line}")).collect()
    }
}

/// What a process is waited for, and when that is too long.
pub(crate) struct Watch<'a> {
    /// What the guest is to do: "boot".
    pub(crate) stage: &'static str,
    /// Processor time that the emulator may take from one line of the guest to the next: real time would
    /// depend on the load of the host.
    pub(crate) limit: Duration,
    /// Whether the user ended the command.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// A process, which ends when this is dropped, and also if this program is killed.
pub(crate) struct Process {
    /// The emulator, as messages name it.
    emulator: &'static str,
    child: Child,
    lines: Nameless,
    unread: Vec<u8>,
    /// What errors end with: messages of the emulator, and the console of the guest.
    logs: Vec<Nameless>,
    /// The processor time at which the last line came.
    since: Duration,
}

impl Process {
    /// Starts a command in a group of its own: Ctrl-C of a terminal is for this program, which then ends it.
    /// The guest writes to `lines`.
    pub(crate) fn start(
        emulator: &'static str,
        command: &mut Command,
        lines: Nameless,
        logs: Vec<Nameless>,
    ) -> io::Result<Self> {
        command.process_group(0);
        // SAFETY: the call is async-signal-safe, and touches no memory.
        unsafe { command.pre_exec(end_with_parent) };
        let child = command.spawn()?;
        Ok(Self { emulator, child, lines, unread: Vec::new(), logs, since: Duration::ZERO })
    }

    /// The process.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The next line of the guest.
    pub(crate) fn next_line(&mut self, watch: &Watch<'_>) -> Result<Line, Error> {
        loop {
            if let Some(line) = self.written()? {
                self.since = self.cpu();
                return serde_json::from_slice(&line).map_err(|error| {
                    let line = String::from_utf8_lossy(&line);
                    let (emulator, step) = (self.emulator, "bring a line of the guest");
                    Error::Emulator { emulator, step, why: format!("{error}: {line}") }
                });
            }
            // after all that an ended process has written
            self.check(watch)?;
            std::thread::sleep(LOOK);
        }
    }

    /// A line that the guest has written; `None`: there is no complete one.
    fn written(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
        if end(&self.unread).is_none() {
            (&self.lines.0)
                .read_to_end(&mut self.unread)
                .map_err(Error::host("read what the guest writes"))?;
        }
        Ok(end(&self.unread).map(|end| {
            let mut line: Vec<u8> = self.unread.drain(..=end).collect();
            line.pop();
            line
        }))
    }

    /// Checks that it may be waited for any longer.
    pub(crate) fn check(&mut self, watch: &Watch<'_>) -> Result<(), Error> {
        if (watch.stop)() {
            return Err(Error::Interrupted);
        }
        if let Some(status) = self.child.try_wait().map_err(Error::host("wait for the emulator"))? {
            let (emulator, stage, last) = (self.emulator, watch.stage, self.last_lines());
            return Err(Error::Ended { emulator, stage, status: status.to_string(), last });
        }
        if self.cpu().saturating_sub(self.since) > watch.limit {
            let (stage, seconds) = (watch.stage, watch.limit.as_secs());
            return Err(Error::Stuck { stage, seconds, last: self.last_lines() });
        }
        Ok(())
    }

    fn last_lines(&self) -> String {
        self.logs.iter().map(Nameless::last_lines).collect()
    }

    /// The processor time that it has taken, with that of its children; zero if it has ended.
    pub(crate) fn cpu(&self) -> Duration {
        let id = self.child.id();
        // a kernel without this list has QEMU's time all the same, which has no children
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        let all = children.split_whitespace().map(str::to_owned).chain([id.to_string()]);
        let ticks = all.filter_map(|id| ticks(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?));
        Duration::from_millis(ticks.sum::<u64>() * 1000 / TICKS_PER_S)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // it may have ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The user and system time in a process's `stat`, and those of children that have ended, in ticks. Its name
/// may have spaces; the state follows it.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after.split(' ').collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

/// Lets the kernel end the calling process when its parent ends, for whatever reason.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: it sets an attribute of this process.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_user_and_system_time_with_that_of_ended_children() {
        let stat = "12 (a ) b) S 1 12 12 0 -1 4194560 1 2 3 4 70 5 4 1 20 0 3 0 9 8 7";
        assert_eq!(ticks(stat), Some(80));
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn another_process_reads_a_file_without_a_name() {
        let file = Nameless::with(b"one\n\ntwo\n").expect("a file");
        let output = Command::new("cat").arg(file.path()).output().expect("cat");
        assert_eq!(output.stdout, b"one\n\ntwo\n");
        assert_eq!(file.last_lines(), "\none\ntwo");
    }
}
