//! A machine in virtual time: its parts, its boot, and runs that continue from the end of the boot.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairpace_results::{Monitor, Run};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::message::{Job, Line};
use crate::qemu::{self, Nameless, Parts, Qemu, Watch};
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

/// The parts of a machine: QEMU, a kernel, and the initramfs.
pub struct Machine {
    kernel: Kernel,
    image: PathBuf,
    initramfs: Nameless,
    description: String,
}

impl Machine {
    /// Finds the parts: QEMU, the newest kernel of the cache and of this series, and a program, which the
    /// guest runs with [`crate::guest::COMMAND`] as its argument.
    ///
    /// # Errors
    /// [`Error::NoQemu`], [`Error::NoKernel`], [`Error::Read`] and others.
    pub fn find(program: &Path, series: Option<&str>) -> Result<Self, Error> {
        let (version, kernel) = parts(series)?;
        let image = kernel.image()?;
        let compressed = std::fs::read(&image)
            .map_err(|cause| Error::Read { what: image.display().to_string(), cause })?;
        let initramfs = image::build(program, &kernel)?;
        let (of_kernel, of_image) = (hash(&compressed), hash(&initramfs));
        let description = format!(
            "virtual: qemu {version}, Linux {}, kernel {of_kernel}, image {of_image}",
            kernel.version()
        );
        Ok(Self { kernel, image, initramfs: Nameless::with(&initramfs)?, description })
    }

    /// The version of QEMU and of the kernel, and hashes of kernel and initramfs, as results have them.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Boots the kernel. `stop` ends that early.
    ///
    /// # Errors
    /// [`Error::Guest`] if the program in the guest fails, [`Error::Interrupted`], and others.
    pub fn boot(self, stop: &dyn Fn() -> bool) -> Result<Booted, Error> {
        let watch = Watch { stage: "boot", limit: BOOT_LIMIT, stop };
        let mut qemu = Qemu::start(&self.parts(), None)?;
        match qemu.next_line(&watch)? {
            Line::Ready => {}
            Line::Refused(refusal) => return Err(Error::Guest(refusal)),
            line => return Err(unexpected(&line)),
        }
        qemu.wait_for("pause", ("query-status", "status"), &[PAUSED], &watch)?;
        let saved = Nameless::new()?;
        let step = "save the machine";
        qemu.ask(step, ("migrate-set-parameters", json!({ "max-bandwidth": BANDWIDTH_BPS })), &watch)?;
        qemu.ask(step, ("migrate", json!({ "uri": format!("exec:cat > {}", saved.path()) })), &watch)?;
        match qemu.wait_for(step, ("query-migrate", "status"), &TRANSFERRED, &watch)?.as_str() {
            "completed" => Ok(Booted { machine: self, saved }),
            why => Err(Error::Qemu { step, why: why.to_owned() }),
        }
    }

    fn parts(&self) -> Parts<'_> {
        Parts { kernel: &self.kernel, image: &self.image, initramfs: &self.initramfs }
    }
}

/// The version of QEMU, and the newest kernel of the cache and of a series.
pub(crate) fn parts(series: Option<&str>) -> Result<(String, Kernel), Error> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err(Error::Processor);
    }
    Ok((qemu::version()?, Kernel::find(series)?))
}

/// A machine that has booted, and whose state is kept.
pub struct Booted {
    machine: Machine,
    saved: Nameless,
}

impl Booted {
    /// Performs a run in a machine that continues from the end of the boot. Several may run at a time.
    ///
    /// # Errors
    /// [`Error::Guest`] if the program in the guest refuses the scenario, [`Error::Interrupted`] if the
    /// monitor stops the run, and others.
    pub fn run(&self, job: &Job, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        let began = Instant::now();
        let text = serde_json::to_vec(job).map_err(|error| Error::host("write a job")(error.into()))?;
        let job = Nameless::with(&text)?;
        let mut qemu = Qemu::start(&self.machine.parts(), Some((&self.saved, &job)))?;
        self.proceed(&mut qemu, monitor)?;
        let mut run = loop {
            let stop = || monitor.stop();
            let watch = Watch { stage: "run the scenario", limit: RUN_LIMIT, stop: &stop };
            match qemu.next_line(&watch)? {
                Line::Progress(done_s, total_s) => monitor.progress(done_s, total_s),
                Line::Done(run) => break *run,
                Line::Refused(refusal) => return Err(Error::Guest(refusal)),
                line @ Line::Ready => return Err(unexpected(&line)),
            }
        };
        run.summary.on = self.machine.description.clone();
        run.summary.cost.cpu_s = qemu.cpu().as_secs_f64();
        run.summary.cost.wall_s = began.elapsed().as_secs_f64();
        Ok(run)
    }

    /// Lets a machine continue, once its state is read.
    fn proceed(&self, qemu: &mut Qemu, monitor: &dyn Monitor) -> Result<(), Error> {
        let stop = || monitor.stop();
        let watch = Watch { stage: "continue", limit: BOOT_LIMIT, stop: &stop };
        let step = "continue the machine";
        qemu.wait_for(step, ("query-status", "status"), &[PAUSED], &watch)?;
        qemu.ask(step, ("cont", json!({})), &watch)?;
        Ok(())
    }

    /// As [`Machine::description`].
    #[must_use]
    pub fn description(&self) -> &str {
        self.machine.description()
    }
}

fn unexpected(line: &Line) -> Error {
    Error::Qemu { step: "bring the expected line of the guest", why: format!("it is {line:?}") }
}

/// The begin of the SHA-256 of some bytes.
fn hash(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digest[..DIGITS].to_owned()
}
