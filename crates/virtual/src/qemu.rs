//! A QEMU process: how it is started, what it and the guest write, and its end.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::message::{JOB, Line, MEMORY_BYTES};
use crate::monitor::Monitor;
use crate::{Error, Kernel, guest};

/// The program.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";
/// The flags that make it deterministic.
///
/// - An instruction takes 2^0 ns, and the clock jumps to the next timer when the processor is idle.
/// - One processor, one thread: no race between two.
/// - The clock of the day is that of the machine, from a fixed time on.
/// - `-seed` is for the random numbers that QEMU gives to the kernel at boot.
const DETERMINISTIC: [&str; 10] = [
    "-accel",
    "tcg,thread=single",
    "-smp",
    "1",
    "-icount",
    "shift=0,sleep=off",
    "-rtc",
    "clock=vm,base=2026-01-01T00:00:00",
    "-seed",
    "1",
];
/// The machine, without disks and buses, whose devices would work beside the processor. Its watchdog pauses
/// it.
const MACHINE: [&str; 14] = [
    "-nodefaults",
    "-machine",
    "microvm,acpi=on,pit=on,pic=on,rtc=on,isa-serial=on",
    "-nic",
    "none",
    "-display",
    "none",
    "-no-reboot",
    "-device",
    "ib700",
    "-action",
    "watchdog=pause",
    "-qmp",
    "stdio",
];
/// The processor: instructions that give random numbers would be a source that no seed reaches.
const PROCESSOR: &str = "max,-rdrand,-rdseed";
/// After cmpxchg16b, QEMU 7.2 has impossible flags now and then; the series after this one need it
/// (scripts/kernels.sh).
const LAST_WITHOUT_CX16: [u32; 2] = [6, 18];
/// The kernel's command line: its console, an end at a panic, no addresses by chance, neither the processor
/// as a source of random numbers nor a check of the timer by real time, and trust in the counter of the
/// processor, which counts instructions: Linux 7.3 distrusts it, and its timers are then as coarse as its
/// tick. What follows `--` are arguments of the first process.
const COMMAND_LINE: &str = "console=ttyS0 panic=-1 no_timer_check nokaslr random.trust_cpu=off tsc=reliable \
                            quiet rdinit=/init --";
/// Time between two looks at a process that is waited for.
const LOOK: Duration = Duration::from_millis(20);
/// Clock ticks per second in proc_pid_stat(5), which Linux fixes for programs (USER_HZ).
const TICKS_PER_S: u64 = 100;
/// Most lines of QEMU and of the guest's console in an error.
const LAST_LINES: usize = 12;

/// The version of QEMU, such as "7.2.22".
///
/// # Errors
/// [`Error::NoQemu`].
pub(crate) fn version() -> Result<String, Error> {
    let missing = |cause| Error::NoQemu { program: PROGRAM.to_owned(), cause };
    let output = Command::new(PROGRAM).arg("--version").stdin(Stdio::null()).output().map_err(missing)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
    version.map(str::to_owned).ok_or_else(|| missing(io::Error::other("it does not say its version")))
}

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

/// What a machine is made of.
pub(crate) struct Parts<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) image: &'a Path,
    pub(crate) initramfs: &'a Nameless,
}

/// What a process is waited for, and when that is too long.
pub(crate) struct Watch<'a> {
    /// What the guest is to do: "boot".
    pub(crate) stage: &'static str,
    /// Processor time that QEMU may take from one line of the guest to the next: real time would depend on
    /// the load of the host.
    pub(crate) limit: Duration,
    /// Whether the user ended the command.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// A QEMU process, which ends when this is dropped, and also if this process is killed.
pub(crate) struct Qemu {
    child: Child,
    monitor: Monitor,
    lines: Nameless,
    unread: Vec<u8>,
    console: Nameless,
    errors: Nameless,
    /// The processor time at which the last line came.
    since: Duration,
}

impl Qemu {
    /// Starts a machine: it boots, or continues from `saved` with `job`.
    pub(crate) fn start(parts: &Parts<'_>, from: Option<(&Nameless, &Nameless)>) -> Result<Self, Error> {
        let (lines, console, errors) = (Nameless::new()?, Nameless::new()?, Nameless::new()?);
        let mut command = Command::new(PROGRAM);
        command.args(DETERMINISTIC).args(MACHINE).args(parts.arguments());
        command.args(["-serial", &format!("file:{}", console.path())]);
        command.args(["-chardev", &format!("file,id=lines,path={}", lines.path())]);
        command.args(["-device", &format!("isa-debugcon,iobase={:#x},chardev=lines", crate::ports::CONSOLE)]);
        if let Some((saved, job)) = from {
            command.args(["-incoming", &format!("exec:cat {}", saved.path())]);
            command.args(["-fw_cfg", &format!("name={},file={}", JOB, job.path())]);
        }
        let log = errors.0.try_clone().map_err(Error::host("start QEMU"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // in a group of its own: Ctrl-C of a terminal is for this program, which then ends QEMU
        command.process_group(0);
        // SAFETY: the call is async-signal-safe, and touches no memory.
        unsafe { command.pre_exec(end_with_parent) };
        let mut child = command.spawn().map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => Error::NoQemu { program: PROGRAM.to_owned(), cause },
            _ => Error::host("start QEMU")(cause),
        })?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::host("start QEMU")(io::ErrorKind::BrokenPipe.into()));
        };
        let monitor = Monitor::connect(to, from);
        let mut unconnected = Unconnected(Some(child));
        let monitor = monitor.map_err(Error::host("speak to QEMU"))?;
        let Some(child) = unconnected.0.take() else {
            return Err(Error::host("start QEMU")(io::ErrorKind::NotFound.into()));
        };
        Ok(Self { child, monitor, lines, unread: Vec::new(), console, errors, since: Duration::ZERO })
    }

    /// Performs a command of the monitor; returns its answer.
    pub(crate) fn ask(
        &mut self,
        step: &'static str,
        (command, arguments): (&str, Value),
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        if self.monitor.send(command, &arguments).is_err() {
            // it has closed its input: it ends, or has ended
            self.child.wait().map_err(Error::host("wait for QEMU"))?;
            self.check(watch)?;
        }
        loop {
            if let Some(answer) = self.monitor.answer(LOOK) {
                return answer.map_err(|why| Error::Qemu { step, why });
            }
            self.check(watch)?;
        }
    }

    /// Repeats a command of the monitor until `field` of its answer is one of these values; returns it.
    pub(crate) fn wait_for(
        &mut self,
        step: &'static str,
        (command, field): (&str, &str),
        values: &[&str],
        watch: &Watch<'_>,
    ) -> Result<String, Error> {
        loop {
            let answer = self.ask(step, (command, serde_json::json!({})), watch)?;
            match answer[field].as_str() {
                Some(value) if values.contains(&value) => return Ok(value.to_owned()),
                _ => std::thread::sleep(LOOK),
            }
            self.check(watch)?;
        }
    }

    /// The next line of the guest.
    pub(crate) fn next_line(&mut self, watch: &Watch<'_>) -> Result<Line, Error> {
        loop {
            if let Some(line) = self.written()? {
                self.since = self.cpu();
                return serde_json::from_slice(&line).map_err(|error| {
                    let line = String::from_utf8_lossy(&line);
                    Error::Qemu { step: "bring a line of the guest", why: format!("{error}: {line}") }
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
    fn check(&mut self, watch: &Watch<'_>) -> Result<(), Error> {
        if (watch.stop)() {
            return Err(Error::Interrupted);
        }
        if let Some(status) = self.child.try_wait().map_err(Error::host("wait for QEMU"))? {
            let last = format!("{}{}", self.errors.last_lines(), self.console.last_lines());
            return Err(Error::Ended { stage: watch.stage, status: status.to_string(), last });
        }
        if self.cpu().saturating_sub(self.since) > watch.limit {
            let (stage, seconds) = (watch.stage, watch.limit.as_secs());
            return Err(Error::Stuck { stage, seconds, last: self.console.last_lines() });
        }
        Ok(())
    }

    /// The processor time that it has taken; zero if it has ended.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        Duration::from_millis(ticks(&stat).unwrap_or_default() * 1000 / TICKS_PER_S)
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A process to which there is no connection yet; it ends when this is dropped.
struct Unconnected(Option<Child>);

impl Drop for Unconnected {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

fn end(child: &mut Child) {
    // it may have ended
    let _ = child.kill();
    let _ = child.wait();
}

/// The user and system time in a process's `stat`, in ticks. Its name may have spaces; the state follows it.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after.split(' ').collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Lets the kernel end the calling process when its parent ends, for whatever reason.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: it sets an attribute of this process.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Parts<'_> {
    fn arguments(&self) -> Vec<String> {
        let without = if self.kernel.is_after(LAST_WITHOUT_CX16) { "" } else { ",-cx16" };
        let command_line = format!("{COMMAND_LINE} {}", guest::COMMAND);
        let pairs = [
            ("-cpu", format!("{PROCESSOR}{without}")),
            ("-m", format!("{}M", MEMORY_BYTES >> 20)),
            ("-kernel", self.image.display().to_string()),
            ("-initrd", self.initramfs.path()),
            ("-append", command_line),
        ];
        pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_user_and_system_time() {
        let stat = "12 (a ) b) S 1 12 12 0 -1 4194560 1 2 3 4 70 5 0 0 20 0 3 0 9 8 7";
        assert_eq!(ticks(stat), Some(75));
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
