//! The guest's side: the first process of a machine in virtual time.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairpace_results::{Monitor, Run};
use nix::mount::{MsFlags, mount};

use crate::channel::Channel;
use crate::image;
use crate::message::{Header, Job, Line, MEMORY_BYTES, Refusal};

/// The argument with which the program is the first process of a guest.
pub const COMMAND: &str = "guest";
/// File systems: type and place.
const FILE_SYSTEMS: [(&str, &str); 4] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")];
/// Where a job's files are.
const FOLDER: &str = "/tmp/job";
/// Time for which a guest without work sleeps, again and again.
const IDLE: Duration = Duration::from_secs(3600);
/// Some ticks of any kernel: one is 10 ms at most.
const TICKS: Duration = Duration::from_millis(40);
/// Bytes of a page of memory.
const PAGE_BYTES: u64 = 4096;
/// Command of random(4) that makes new random numbers depend on what was written.
const RESEED: libc::c_ulong = 0x5207;
/// Lines of progress of a run, at most.
const PROGRESS_LINES: f64 = 200.0;
/// Exit code of a wrong command line.
const USAGE: i32 = 2;
/// Exit code of what this kernel cannot do.
const UNSUPPORTED: i32 = 3;
/// Exit code of an unexpected failure.
const INTERNAL: i32 = 1;

/// Prepares the guest, performs the job of the host by `run`, which gets the scenario file and the compiled
/// headers that it names, and writes its result. It returns only if this process is not the first one of a
/// guest.
///
/// # Errors
/// This process is another one.
pub fn serve(
    run: impl FnOnce(&Path, Vec<Header>, &mut dyn Monitor) -> Result<Run, Refusal>,
) -> Result<(), Refusal> {
    if std::process::id() != 1 {
        let help = "`--on virtual` starts it".to_owned();
        let message = format!("`{COMMAND}` is the first process of a kernel in virtual time");
        return Err(Refusal { code: USAGE, message, help });
    }
    let mounted = mount_all();
    // without a channel there is no host to write to: the kernel panics at the end of this process, and its
    // console has the reason
    let mut host = Channel::open().map_err(|cause| unexpected("find its channel to the host", &cause))?;
    let job = mounted.and_then(|()| prepared(&mut host));
    let run = |(file, headers): (PathBuf, _)| {
        run(&file, headers, &mut Progress { host: &mut host, written_s: 0.0 })
    };
    let line = match job.and_then(run) {
        Ok(run) => Line::Done(Box::new(run)),
        Err(refusal) => Line::Refused(refusal),
    };
    write(&mut host, &line);
    loop {
        // the host ends the machine
        std::thread::sleep(IDLE);
    }
}

/// Prepares the guest, waits for the job, and returns its scenario file and its headers.
fn prepared(host: &mut Channel) -> Result<(PathBuf, Vec<Header>), Refusal> {
    set_up()?;
    write(host, &Line::Ready);
    let text = host.job().map_err(|cause| unexpected("read the job", &cause))?;
    let job: Job =
        serde_json::from_slice(&text).map_err(|error| unexpected("read the job", &error.into()))?;
    seed(job.seed).map_err(|cause| unexpected("seed the random numbers", &cause))?;
    let file = unpack(&job).map_err(|cause| unexpected("write the files of the scenario", &cause))?;
    Ok((file, job.headers))
}

fn mount_all() -> Result<(), Refusal> {
    for (kind, place) in FILE_SYSTEMS {
        let mounted = mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>);
        mounted.map_err(|errno| unexpected(&format!("mount {place}"), &errno.into()))?;
    }
    Ok(())
}

fn set_up() -> Result<(), Refusal> {
    let folder = Path::new("/").join(image::MODULES);
    let listed = fs::read_dir(&folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let listed = listed.map_err(|cause| unexpected("list the kernel modules", &cause))?;
    let mut modules: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
    modules.sort();
    for module in modules {
        load(&module).map_err(|cause| unexpected(&format!("load {}", module.display()), &cause))?;
    }
    check_timers()?;
    // Random numbers can be seeded once the kernel has any. This read waits until then: two seconds, before
    // the state of the machine is kept.
    File::open("/dev/random")
        .and_then(|mut random| random.read_exact(&mut [0]))
        .map_err(|cause| unexpected("wait for random numbers", &cause))?;
    // The kernel's limits follow from its memory, and half of this one is for TCP: buffers must not hold a
    // flow back.
    let pages = MEMORY_BYTES / 2 / PAGE_BYTES;
    fs::write("/proc/sys/net/ipv4/tcp_mem", format!("{pages} {pages} {pages}"))
        .map_err(|cause| unexpected("set the memory of TCP", &cause))
}

/// Checks that timers have a resolution of nanoseconds. Where the kernel trusts no clock of the machine they
/// have that of its tick, and a paced flow sends a packet per tick at most: BBR had 5.8 of 50 Mbit/s.
fn check_timers() -> Result<(), Refusal> {
    // the kernel changes to fine timers in a tick, and User-mode Linux has booted before the first one
    std::thread::sleep(TICKS);
    let resolution = nix::time::clock_getres(nix::time::ClockId::CLOCK_MONOTONIC);
    let resolution =
        resolution.map_err(|errno| unexpected("read the resolution of timers", &errno.into()))?;
    if resolution.tv_sec() == 0 && resolution.tv_nsec() == 1 {
        return Ok(());
    }
    Err(Refusal {
        code: UNSUPPORTED,
        message: format!("timers of this kernel have a resolution of {} us", resolution.tv_nsec() / 1000),
        help: "paced flows need nanoseconds: choose another kernel with --kernel, such as 6.12".to_owned(),
    })
}

/// Loads a kernel module; one that is in the kernel already is no error.
fn load(module: &Path) -> io::Result<()> {
    const NO_PARAMETERS: &CStr = c"";
    let file = File::open(module)?;
    // SAFETY: the descriptor is open, and the text ends with a zero.
    let status =
        unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), NO_PARAMETERS.as_ptr(), 0) };
    match io::Error::last_os_error() {
        _ if status == 0 => Ok(()),
        error if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        error => Err(error),
    }
}

/// Makes all random numbers of the kernel from now on depend on the seed, and on nothing of the host.
fn seed(seed: u64) -> io::Result<()> {
    let mut random = OpenOptions::new().write(true).open("/dev/urandom")?;
    random.write_all(&seed.to_le_bytes())?;
    // SAFETY: the command has no argument.
    match unsafe { libc::ioctl(random.as_raw_fd(), RESEED) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes the files of a job; returns the path of the scenario.
fn unpack(job: &Job) -> io::Result<PathBuf> {
    let folder = Path::new(FOLDER);
    let scenario = folder.join("scenario.toml");
    for (name, text) in &job.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    fs::create_dir_all(folder)?;
    fs::write(&scenario, &job.toml)?;
    Ok(scenario)
}

fn write(host: &mut Channel, line: &Line) {
    // no type of a line has keys that are not strings
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    host.write(&text);
}

fn unexpected(step: &str, cause: &io::Error) -> Refusal {
    Refusal {
        code: INTERNAL,
        message: format!("the guest could not {step}: {cause}"),
        help: "please report this with the version of the kernel".to_owned(),
    }
}

/// Writes progress to the host, which ends the machine if the user ends the command.
struct Progress<'a> {
    host: &'a mut Channel,
    written_s: f64,
}

impl Monitor for Progress<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        if done_s - self.written_s >= total_s / PROGRESS_LINES {
            self.written_s = done_s;
            write(self.host, &Line::Progress(done_s, total_s));
        }
    }

    fn stop(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_process_of_a_guest_is_one() {
        let refusal = serve(|_, _, _| unreachable!("there is no job")).expect_err("it is not the first one");
        assert_eq!(refusal.code, 2);
        assert!(refusal.message.contains("`guest` is the first process"), "{}", refusal.message);
    }
}
