//! A QEMU process: how it is started, and the commands that it obeys.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::message::{JOB, MEMORY_BYTES};
use crate::monitor::Monitor;
use crate::process::{LOOK, Nameless, Process, Watch};
use crate::{Error, Kernel, guest};

/// Its name in messages.
const NAME: &str = "QEMU";
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

/// What a machine is made of.
pub(crate) struct Parts<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) image: &'a Path,
    pub(crate) initramfs: &'a Nameless,
}

/// A QEMU process.
pub(crate) struct Qemu {
    process: Process,
    monitor: Monitor,
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
        let process = Process::start(NAME, &mut command, lines, vec![errors, console]);
        let mut process = process.map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => Error::NoQemu { program: PROGRAM.to_owned(), cause },
            _ => Error::host("start QEMU")(cause),
        })?;
        let child = process.child();
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::host("start QEMU")(io::ErrorKind::BrokenPipe.into()));
        };
        let monitor = Monitor::connect(to, from).map_err(Error::host("speak to QEMU"))?;
        Ok(Self { process, monitor })
    }

    /// The process.
    pub(crate) fn process(&mut self) -> &mut Process {
        &mut self.process
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
            self.process.child().wait().map_err(Error::host("wait for QEMU"))?;
            self.process.check(watch)?;
        }
        loop {
            if let Some(answer) = self.monitor.answer(LOOK) {
                return answer.map_err(|why| Error::Emulator { emulator: NAME, step, why });
            }
            self.process.check(watch)?;
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
            self.process.check(watch)?;
        }
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
