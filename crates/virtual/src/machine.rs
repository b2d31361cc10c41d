//! A machine in virtual time: its parts, its boot, and runs that continue from the end of the boot.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairpace_results::{Monitor, Run};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::message::{Job, Line};
use crate::process::{Nameless, Process, Watch};
use crate::qemu::{self, Parts, Qemu};
use crate::uml::Uml;
use crate::{Error, Kernel, image};

/// Processor time that a boot may take: ten times what it takes on a core of 2.5 GHz.
const BOOT_LIMIT: Duration = Duration::from_secs(100);
/// Processor time that a run may take from one line of progress to the next. There are some hundred lines.
const RUN_LIMIT: Duration = Duration::from_secs(1_000);
/// The state of a machine that its watchdog has paused.
const PAUSED: &str = "watchdog";
/// States in which the transfer of a machine's state ends.
const TRANSFERRED: [&str; 2] = ["completed", "failed"];
/// Bytes per second with which the state may be written; the default is below the speed of a disk.
const BANDWIDTH_BPS: u64 = 10 << 30;
/// Hexadecimal digits of a hash in results.
const DIGITS: usize = 12;

/// What runs the kernel in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulator {
    /// QEMU, whose clock counts instructions, with a stock kernel.
    Qemu,
    /// User-mode Linux, whose time jumps from timer to timer, with a kernel of its own.
    Uml,
}

/// What is asked of a machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The emulator; `None`: QEMU if a series is asked for, else User-mode Linux if it is there, else QEMU.
    pub emulator: Option<Emulator>,
    /// The series of the kernel, such as `6.12`; `None`: the newest one.
    pub series: Option<&'a str>,
}

/// The emulator and its kernel.
enum Kind {
    Qemu { kernel: Kernel, image: PathBuf },
    Uml(Uml),
}

/// A machine: the emulator, a kernel, and the initramfs.
pub struct Machine {
    kind: Kind,
    initramfs: Nameless,
    description: String,
}

impl Machine {
    /// Finds the parts: emulator, kernel, and a program, which the guest runs with [`crate::guest::COMMAND`]
    /// as its argument.
    ///
    /// # Errors
    /// [`Error::NoQemu`], [`Error::NoKernel`], [`Error::NoUml`], [`Error::Read`] and others.
    pub fn find(program: &Path, wanted: Wanted<'_>) -> Result<Self, Error> {
        match parts(wanted)? {
            Found::Qemu(version, kernel) => Self::of_qemu(program, &version, kernel),
            Found::Uml(uml) => Self::of_uml(program, uml),
        }
    }

    fn of_qemu(program: &Path, version: &str, kernel: Kernel) -> Result<Self, Error> {
        let image = kernel.image()?;
        let compressed = std::fs::read(&image)
            .map_err(|cause| Error::Read { what: image.display().to_string(), cause })?;
        let initramfs = image::build(program, Some(&kernel))?;
        let (of_kernel, of_image) = (hash(&compressed), hash(&initramfs));
        let description = format!(
            "virtual: qemu {version}, Linux {}, kernel {of_kernel}, image {of_image}",
            kernel.version()
        );
        let kind = Kind::Qemu { kernel, image };
        Ok(Self { kind, initramfs: Nameless::with(&initramfs)?, description })
    }

    fn of_uml(program: &Path, uml: Uml) -> Result<Self, Error> {
        let initramfs = image::build(program, None)?;
        let (of_kernel, of_image) = (hash(&uml.bytes()?), hash(&initramfs));
        let version = uml.version();
        let description = format!("virtual: uml, Linux {version}, kernel {of_kernel}, image {of_image}");
        Ok(Self { kind: Kind::Uml(uml), initramfs: Nameless::with(&initramfs)?, description })
    }

    /// The emulator, the version of the kernel, and hashes of kernel and initramfs, as results have them.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Boots the kernel, and keeps its state. `stop` ends that early. User-mode Linux boots in each run
    /// instead: it takes a quarter of a second.
    ///
    /// # Errors
    /// [`Error::Guest`] if the program in the guest fails, [`Error::Interrupted`], and others.
    pub fn boot(self, stop: &dyn Fn() -> bool) -> Result<Booted, Error> {
        let saved = match &self.kind {
            Kind::Qemu { kernel, image } => Some(self.boot_qemu(&self.of(kernel, image), stop)?),
            Kind::Uml(_) => None,
        };
        Ok(Booted { machine: self, saved })
    }

    /// The state of a machine in QEMU that has booted.
    fn boot_qemu(&self, parts: &Parts<'_>, stop: &dyn Fn() -> bool) -> Result<Nameless, Error> {
        let watch = Watch { stage: "boot", limit: BOOT_LIMIT, stop };
        let mut qemu = Qemu::start(parts, None)?;
        ready(qemu.process(), &watch)?;
        qemu.wait_for("pause", ("query-status", "status"), &[PAUSED], &watch)?;
        let saved = Nameless::new()?;
        let step = "save the machine";
        qemu.ask(step, ("migrate-set-parameters", json!({ "max-bandwidth": BANDWIDTH_BPS })), &watch)?;
        qemu.ask(step, ("migrate", json!({ "uri": format!("exec:cat > {}", saved.path()) })), &watch)?;
        match qemu.wait_for(step, ("query-migrate", "status"), &TRANSFERRED, &watch)?.as_str() {
            "completed" => Ok(saved),
            why => Err(Error::Emulator { emulator: "QEMU", step, why: why.to_owned() }),
        }
    }

    fn of<'a>(&'a self, kernel: &'a Kernel, image: &'a Path) -> Parts<'a> {
        Parts { kernel, image, initramfs: &self.initramfs }
    }
}

/// Waits until the guest has booted.
fn ready(process: &mut Process, watch: &Watch<'_>) -> Result<(), Error> {
    match process.next_line(watch)? {
        Line::Ready => Ok(()),
        Line::Refused(refusal) => Err(Error::Guest(refusal)),
        line => Err(unexpected(&line)),
    }
}

/// An emulator and a kernel that are there.
enum Found {
    /// The version of QEMU, and a kernel.
    Qemu(String, Kernel),
    Uml(Uml),
}

/// What there is of what is wanted.
fn parts(wanted: Wanted<'_>) -> Result<Found, Error> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err(Error::Processor);
    }
    let qemu = || Ok(Found::Qemu(qemu::version()?, Kernel::find(wanted.series)?));
    match (wanted.emulator, wanted.series) {
        (Some(Emulator::Uml), Some(_)) => Err(Error::OwnKernel),
        (Some(Emulator::Uml), None) => Uml::find().map(Found::Uml),
        (None, None) => Uml::find().map(Found::Uml).or_else(|_| qemu()),
        _ => qemu(),
    }
}

/// As [`crate::check`].
pub(crate) fn check(wanted: Wanted<'_>) -> Result<(), Error> {
    parts(wanted).map(drop)
}

/// As [`crate::available`].
pub(crate) fn available(emulator: Emulator) -> Result<String, Error> {
    match parts(Wanted { emulator: Some(emulator), series: None })? {
        Found::Qemu(version, kernel) => Ok(format!("qemu {version}, Linux {}", kernel.version())),
        Found::Uml(uml) => Ok(format!("uml, Linux {}", uml.version())),
    }
}

/// A machine that can run jobs.
pub struct Booted {
    machine: Machine,
    /// The state of QEMU's machine at the end of its boot.
    saved: Option<Nameless>,
}

impl Booted {
    /// Performs a run: in QEMU in a machine that continues from the end of the boot. Several may run at a
    /// time.
    ///
    /// # Errors
    /// [`Error::Guest`] if the program in the guest refuses the scenario, [`Error::Interrupted`] if the
    /// monitor stops the run, and others.
    pub fn run(&self, job: &Job, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        let began = Instant::now();
        let text = serde_json::to_vec(job).map_err(|error| Error::host("write a job")(error.into()))?;
        let job = Nameless::with(&text)?;
        let Self { machine, saved } = self;
        let (mut run, cpu) = match (&machine.kind, saved) {
            (Kind::Uml(uml), _) => {
                let (mut process, _processor) = uml.start(&machine.initramfs, &job)?;
                let stop = || monitor.stop();
                ready(&mut process, &Watch { stage: "boot", limit: BOOT_LIMIT, stop: &stop })?;
                (follow(&mut process, monitor)?, process.cpu())
            }
            (Kind::Qemu { kernel, image }, saved) => {
                let from = saved.as_ref().map(|saved| (saved, &job));
                let mut qemu = Qemu::start(&machine.of(kernel, image), from)?;
                proceed(&mut qemu, monitor)?;
                (follow(qemu.process(), monitor)?, qemu.process().cpu())
            }
        };
        run.summary.on = machine.description.clone();
        run.summary.cost.cpu_s = cpu.as_secs_f64();
        run.summary.cost.wall_s = began.elapsed().as_secs_f64();
        Ok(run)
    }

    /// As [`Machine::description`].
    #[must_use]
    pub fn description(&self) -> &str {
        self.machine.description()
    }
}

/// Waits for the result of a run.
fn follow(process: &mut Process, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    loop {
        let stop = || monitor.stop();
        let watch = Watch { stage: "run the scenario", limit: RUN_LIMIT, stop: &stop };
        match process.next_line(&watch)? {
            Line::Progress(done_s, total_s) => monitor.progress(done_s, total_s),
            Line::Done(run) => return Ok(*run),
            Line::Refused(refusal) => return Err(Error::Guest(refusal)),
            line @ Line::Ready => return Err(unexpected(&line)),
        }
    }
}

/// Lets a machine in QEMU continue, once its state is read.
fn proceed(qemu: &mut Qemu, monitor: &dyn Monitor) -> Result<(), Error> {
    let stop = || monitor.stop();
    let watch = Watch { stage: "continue", limit: BOOT_LIMIT, stop: &stop };
    let step = "continue the machine";
    qemu.wait_for(step, ("query-status", "status"), &[PAUSED], &watch)?;
    qemu.ask(step, ("cont", json!({})), &watch)?;
    Ok(())
}

fn unexpected(line: &Line) -> Error {
    Error::Emulator {
        emulator: "the machine",
        step: "bring the expected line of the guest",
        why: format!("it is {line:?}"),
    }
}

/// The begin of the SHA-256 of some bytes.
fn hash(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digest[..DIGITS].to_owned()
}
