//! User-mode Linux: a kernel that is a program, in which time jumps from timer to timer. How it is found and
//! started.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::message::MEMORY_BYTES;
use crate::process::{Nameless, Process};
use crate::processor::Processor;
use crate::{Error, guest, kernel, processor};

/// Its name in messages.
const NAME: &str = "User-mode Linux";
/// The variable that names the program.
const VARIABLE: &str = "FAIRPACE_UML";
/// Its name beside the program of Fairpace.
const BESIDE: &str = "fairpace-uml";
/// Folder of the kernels that `scripts/uml.sh` has built, within the user's cache.
const FOLDER: &str = "fairpace-tools/uml";
/// Begin of their names.
const PREFIX: &str = "linux-";
/// Its descriptors for the initramfs, and for the two files of `uml/host.c`. They are high, so that none is
/// one that the start of a process uses, and below the usual limit of 1024.
const DESCRIPTORS: [i32; 3] = [1000, 1001, 1002];
/// The command line, equal in all runs: the kernel's random numbers depend on it, and on the seed. The clock
/// of the day starts at a fixed time. There is no device for a root and no console, and a panic is the end.
/// What follows `--` are arguments of the first process.
const COMMAND_LINE: &str = "time-travel=inf-cpu time-travel-start=1767225600000000000 seed=1 \
                            initrd=/proc/self/fd/1000 root=none console=none panic=-1 quiet rdinit=/init --";
/// A variable of glibc, and a value with which it registers no restartable sequences (rseq(2)): the processes
/// of the guest are children that unmap the memory of the registration, and Linux then ends them.
const NO_RSEQ: (&str, &str) = ("GLIBC_TUNABLES", "glibc.pthread.rseq=0");

/// A kernel for User-mode Linux.
pub(crate) struct Uml {
    program: PathBuf,
    version: String,
}

impl Uml {
    /// Finds the program: the one that FAIRPACE_UML names, else the one beside this program, else the newest
    /// of the cache.
    ///
    /// # Errors
    /// [`Error::NoUml`].
    pub(crate) fn find() -> Result<Self, Error> {
        if let Some(named) = env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from) {
            return Self::of(&named).ok_or(Error::NoUml { named: Some(named) });
        }
        let this = env::current_exe().unwrap_or_default();
        let cache = kernel::cache().unwrap_or_default().join(FOLDER);
        let found = Self::of(&this.with_file_name(BESIDE)).or_else(|| Self::of(&newest(&cache)?));
        found.ok_or(Error::NoUml { named: None })
    }

    /// The program at a path; `None`: it does not run.
    fn of(path: &Path) -> Option<Self> {
        let output = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let is_one = output.status.success() && !version.is_empty();
        is_one.then(|| Self { program: path.to_owned(), version })
    }

    /// The version of the kernel.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The bytes of the program.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Error> {
        let failed = |cause| Error::Read { what: self.program.display().to_string(), cause };
        fs::read(&self.program).map_err(failed)
    }

    /// Boots it with a job, on a processor of its own, if there is one.
    pub(crate) fn start(
        &self,
        initramfs: &Nameless,
        job: &Nameless,
    ) -> Result<(Process, Option<Processor>), Error> {
        let (lines, errors) = (Nameless::new()?, Nameless::new()?);
        let failed = || Error::host("start User-mode Linux");
        // of their own places, beside that of this process
        let opened = || {
            let written = File::options().append(true).open(lines.path())?;
            Ok([File::open(initramfs.path())?, File::open(job.path())?, written])
        };
        let files = opened().map_err(failed())?;
        let sources = files.each_ref().map(AsRawFd::as_raw_fd);
        let mut command = Command::new(&self.program);
        command.args(COMMAND_LINE.split_whitespace().flat_map(|word| match word {
            "--" => vec![format!("mem={}M", MEMORY_BYTES >> 20), word.to_owned(), guest::COMMAND.to_owned()],
            word => vec![word.to_owned()],
        }));
        command.env(NO_RSEQ.0, NO_RSEQ.1);
        let log = |to: &Nameless| to.0.try_clone().map_err(failed());
        command.stdin(Stdio::null()).stdout(log(&errors)?).stderr(log(&errors)?);
        let processor = Processor::take();
        let alone = processor.as_ref().map(Processor::alone);
        let place = move || {
            if let Some(alone) = &alone {
                processor::stay_on(alone);
            }
            // without addresses by chance, on which its memory would depend
            // SAFETY: it sets an attribute of this process.
            if unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } < 0 {
                return Err(io::Error::last_os_error());
            }
            for (source, descriptor) in sources.into_iter().zip(DESCRIPTORS) {
                // SAFETY: both are numbers; the files are open until the process has started.
                if unsafe { libc::dup2(source, descriptor) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: the calls are async-signal-safe, and touch no memory.
        unsafe { command.pre_exec(place) };
        let process = Process::start(NAME, &mut command, lines, vec![errors]).map_err(failed())?;
        Ok((process, processor))
    }
}

/// The newest kernel that was built.
fn newest(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let is_one = |name: &str| name.starts_with(PREFIX) && !name.ends_with(".new");
    let all = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_one));
    let dated = all.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    dated.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_the_one_that_was_built_last() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(newest(folder.path()), None);
        for (name, seconds) in [("linux-2", 1), ("linux-1", 2), ("linux-3.new", 3), ("log", 4)] {
            let file = File::create(folder.path().join(name)).expect("ours");
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(time).expect("ours");
        }
        assert_eq!(newest(folder.path()), Some(folder.path().join("linux-1")));
    }

    #[test]
    fn a_file_that_does_not_run_is_no_kernel() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("linux-1");
        fs::write(&file, "no program").expect("ours");
        assert!(Uml::of(&file).is_none() && Uml::of(Path::new("/nonexistent")).is_none());
    }
}
