//! Starts the program, performs the events of the case, and measures the result.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{SigHandler, Signal, kill, killpg, signal};
use nix::unistd::{Pid, geteuid};

use super::case::{Act, Case, Entry};
use super::scratch;

/// Bytes of an output that are read for the judgement.
const READ_BYTES: u64 = 4 << 20;
/// Bytes of one output from which a process is killed.
const FLOOD_BYTES: u64 = 64 << 20;
/// Resident memory from which a process is killed, kB, because others work on this machine, too.
const LARGE_KB: u64 = 2_000_000;
/// Time after which the program catches signals. A whole `fairpace list` takes 15 ms.
const START: Duration = Duration::from_millis(100);
/// Time after which the program catches signals on a machine that is busy with other work.
const SLOW_START: Duration = Duration::from_millis(1_000);
/// CPU time up to which a process may not catch signals yet: five ticks of the usual clock.
const START_CPU: Duration = Duration::from_millis(50);
/// The first id of the users that unprivileged invocations run as: ids of no person, each without another
/// process.
const FIRST_USER: u32 = 61_000;
/// Number of these users.
const USERS: u32 = 4_000;

/// Rights of the generator on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rights {
    pub(super) is_root: bool,
    /// Whether file systems can be mounted in a namespace of their own.
    pub(super) can_mount: bool,
    /// Whether invocations can run without root's rights: the generator is not root, or it can drop rights.
    pub(super) can_drop: bool,
}

impl Rights {
    pub(super) fn find() -> Self {
        let works = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let is_root = geteuid().is_root();
        let rights = Self { is_root, can_mount: false, can_drop: false };
        let unshare: Vec<&str> = rights.unshare().split(' ').collect();
        Self {
            can_mount: works(&[&unshare[..], &["mount", "-t", "tmpfs", "none", "/proc"]].concat()),
            can_drop: !is_root
                || works(&["setpriv", "--reuid=61000", "--regid=61000", "--clear-groups", "true"]),
            ..rights
        }
    }

    /// The command that gives a process a mount namespace of its own.
    pub(super) const fn unshare(self) -> &'static str {
        if self.is_root { "unshare -m" } else { "unshare -rm" }
    }
}

/// The reason why an invocation was ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Time,
    Output,
    Memory,
}

/// The observations of an invocation.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) code: Option<i32>,
    /// The signal that ended the program.
    pub(super) signal: Option<i32>,
    /// Signals that were sent before the program ended.
    pub(super) sent: Vec<Signal>,
    /// Those sent signals that may have arrived before the program could catch any.
    pub(super) early: Vec<Signal>,
    /// Observations of the runs that made an earlier result.
    pub(super) before: Vec<Seen>,
    /// Observations of the next start.
    pub(super) again: Option<Box<Seen>>,
    /// Entries that the user created before the program ended.
    pub(super) made: Vec<(PathBuf, Entry)>,
    pub(super) wall: Duration,
    pub(super) over: Option<Over>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Number of bytes of both outputs together.
    pub(super) output_bytes: u64,
    pub(super) peak_kb: i64,
    /// Paths that the program left in its directory.
    pub(super) left: Vec<String>,
    /// Entries of the user that are gone or changed.
    pub(super) lost: Vec<String>,
}

/// The session: the directory of all invocations, and the means to start them.
pub(super) struct Session {
    root: tempfile::TempDir,
    /// Path of a link to the program, so that a build during the run changes nothing.
    pub(super) program: PathBuf,
    pub(super) limit: Duration,
    pub(super) rights: Rights,
    users: AtomicU32,
}

impl Session {
    pub(super) fn begin(program: &Path, limit: Duration) -> io::Result<Self> {
        // a shell lets its background commands ignore SIGQUIT, and invocations would inherit that
        // SAFETY: the default disposition runs no code in this process
        unsafe { signal(Signal::SIGQUIT, SigHandler::SigDfl) }?;
        let root = tempfile::Builder::new().prefix("fairpace-abuse-").tempdir()?;
        // processes of other users pass through
        fs::set_permissions(root.path(), Permissions::from_mode(0o711))?;
        let own = root.path().join("fairpace");
        let original = program.canonicalize()?;
        if fs::hard_link(&original, &own).is_err() {
            fs::copy(&original, &own)?;
        }
        Ok(Self { root, program: own, limit, rights: Rights::find(), users: AtomicU32::new(0) })
    }

    /// Performs a case in a directory of this name. `None`: `stop` returned true.
    pub(super) fn perform(
        &self,
        case: &Case,
        name: &str,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Seen>> {
        let place = Place::create(self.root.path().join(name))?;
        let work = place.0.join("work");
        fs::create_dir(&work)?;
        let user = (case.unprivileged && self.rights.is_root)
            .then(|| FIRST_USER + self.users.fetch_add(1, Ordering::Relaxed) % USERS);
        let quiet = |args: &[OsString]| {
            let setup = Case { args: args.to_vec(), ..Case::default() };
            self.run(&setup, user, &place.0, &work, &[], stop)
        };
        scratch::make(&work, &case.files)?;
        give(&work, user)?;
        let mut before = Vec::new();
        for args in &case.before {
            let Some(seen) = quiet(args)? else { return Ok(None) };
            before.push(seen);
        }
        scratch::make(&work, &case.then)?;
        give(&work, user)?;
        let there = scratch::listing(&work);
        let mut own: Vec<(PathBuf, Entry)> = case.files.iter().chain(&case.then).cloned().collect();
        let Some(mut seen) = self.run(case, user, &place.0, &work, &case.during, stop)? else {
            return Ok(None);
        };
        own.append(&mut seen.made);
        seen.before = before;
        if let Some(args) = &case.again {
            let Some(again) = quiet(args)? else { return Ok(None) };
            seen.again = Some(Box::new(again));
        }
        let is_expected = |path: &Path| {
            there.contains(path)
                || case.results.iter().any(|result| is_result(path, result))
                || own.iter().any(|(own, _)| own.starts_with(path))
        };
        let left = scratch::listing(&work).into_iter().filter(|path| {
            let hidden =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".fairpace-"));
            hidden || !is_expected(path)
        });
        seen.left = left.map(|path| path.to_string_lossy().into_owned()).take(10).collect();
        seen.lost = scratch::lost(&work, &own);
        Ok(Some(seen))
    }

    /// Runs the program once.
    fn run(
        &self,
        case: &Case,
        user: Option<u32>,
        place: &Path,
        work: &Path,
        during: &[(Duration, Act)],
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Seen>> {
        let outputs = [place.join("stdout"), place.join("stderr")];
        let words = case.command(self.program.as_os_str(), user);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(work).process_group(0).env_clear().stdin(Stdio::null());
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", place)
            .env("LANG", "C.UTF-8");
        command.stdout(File::create(&outputs[0])?).stderr(File::create(&outputs[1])?);
        let begun = Instant::now();
        let child = spawn(&mut command)?;
        let mut process = Process { pid: Pid::from_raw(child.id().cast_signed()), ended: None };
        let (mut seen, mut due) = (Seen::default(), during.iter().peekable());
        let mut patience = Patience::new(self.limit);
        let mut pause = Duration::from_millis(1);
        while !process.has_ended()? {
            if stop() {
                return Ok(None);
            }
            let elapsed = begun.elapsed();
            while let Some((_, act)) = due.next_if(|(at, _)| *at <= elapsed) {
                if let Act::Signal(signal) = act {
                    if is_early(process.pid, elapsed) {
                        seen.early.push(*signal);
                    }
                    seen.sent.push(*signal);
                    let _ = kill(process.pid, *signal); // it may have ended
                }
                seen.made.extend(scratch::act(work, act));
            }
            if seen.over.is_none() {
                seen.over = patience.over(process.pid, elapsed, &outputs);
                if seen.over.is_some() {
                    process.kill();
                }
            }
            let next = due.peek().map_or(pause, |(at, _)| at.saturating_sub(elapsed));
            std::thread::sleep(pause.min(next));
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        seen.wall = begun.elapsed();
        if let Some((status, peak_kb)) = process.ended {
            (seen.code, seen.signal, seen.peak_kb) = (status.code(), status.signal(), peak_kb);
        }
        seen.output_bytes = outputs.iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum();
        [seen.stdout, seen.stderr] = [head(&outputs[0])?, head(&outputs[1])?];
        Ok(Some(seen))
    }
}

/// Whether a path is in a result: in the named directory, or in one beside it with a number, if the name
/// existed.
fn is_result(path: &Path, result: &Path) -> bool {
    let numbered = |first: &Path| {
        let rest = first.to_str()?.strip_prefix(result.to_str()?)?.strip_prefix('-')?;
        Some(!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let first = path.components().next().map(|first| PathBuf::from(first.as_os_str()));
    path.starts_with(result) || first.and_then(|first| numbered(&first)).unwrap_or(false)
}

fn give(work: &Path, user: Option<u32>) -> io::Result<()> {
    user.map_or(Ok(()), |user| scratch::give(work, user))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Starts a command. It tries again if a process that another thread is starting still holds the program
/// open.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let busy = |error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
    for _ in 0..100 {
        match command.spawn() {
            Err(error) if busy(&error) => std::thread::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
    command.spawn()
}

/// The directory of one invocation. It is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn create(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o711))?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        scratch::remove(&self.0);
    }
}

/// A process in a group of its own. The group is killed when this value is dropped.
struct Process {
    pid: Pid,
    /// Exit status of the process, and its largest resident memory, kB.
    ended: Option<(ExitStatus, i64)>,
}

impl Process {
    /// Whether the process has ended; then its resources are measured.
    fn has_ended(&mut self) -> io::Result<bool> {
        let mut status = 0;
        // SAFETY: all of a rusage's fields are numbers, for which zero is a value
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live variables of the types that wait4(2) writes
        let pid = unsafe { libc::wait4(self.pid.as_raw(), &raw mut status, libc::WNOHANG, &raw mut usage) };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        if pid > 0 {
            self.ended = Some((ExitStatus::from_raw(status), usage.ru_maxrss));
        }
        Ok(pid > 0)
    }

    fn kill(&self) {
        let _ = killpg(self.pid, Signal::SIGKILL); // it may have ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // also what the process itself has started
        self.kill();
        while self.ended.is_none() && self.has_ended().is_ok_and(|ended| !ended) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The time limit of an invocation.
///
/// Other work on the machine takes time from the process, too. So beyond the limit the process may continue
/// while it computes, until it has computed for that long, but no longer than six times the limit.
struct Patience {
    limit: Duration,
    /// Time of the next check of its CPU time, and result of the last one.
    next: Duration,
    cpu: Duration,
    /// Number of successive checks at which the process neither computed nor waited for a CPU.
    idle: u32,
}

impl Patience {
    /// Number of successive checks, 200 ms apart, that show that a process waits for an event.
    const IDLE: u32 = 5;

    fn new(limit: Duration) -> Self {
        Self { limit, next: Duration::from_millis(100), cpu: Duration::ZERO, idle: 0 }
    }

    fn over(&mut self, pid: Pid, elapsed: Duration, outputs: &[PathBuf]) -> Option<Over> {
        if elapsed < self.next {
            return None;
        }
        self.next = elapsed + Duration::from_millis(200);
        let floods = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > FLOOD_BYTES);
        if outputs.iter().any(floods) {
            return Some(Over::Output);
        }
        if resident_kb(pid).is_some_and(|kb| kb > LARGE_KB) {
            return Some(Over::Memory);
        }
        let (is_running, cpu) = computed(pid).unwrap_or_default();
        self.idle = if is_running || cpu > self.cpu { 0 } else { self.idle + 1 };
        self.cpu = cpu;
        let late = elapsed >= self.limit;
        let stuck = self.idle >= Self::IDLE || cpu >= self.limit || elapsed >= 6 * self.limit;
        (late && stuck).then_some(Over::Time)
    }
}

/// Whether a process may not catch signals yet. On a busy machine this takes longer, but no more CPU time.
fn is_early(pid: Pid, elapsed: Duration) -> bool {
    let has_hardly_run = || computed(pid).is_none_or(|(_, cpu)| cpu < START_CPU);
    elapsed < START || (elapsed < SLOW_START && has_hardly_run())
}

/// Whether a process wants a CPU now, and its CPU time.
fn computed(pid: Pid) -> Option<(bool, Duration)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // proc_pid_stat(5), after the name: the state, and as the 12th and 13th the time in both modes
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let ms = (ticks(11)? + ticks(12)?) * 1_000 / clock_ticks();
    Some((matches!(*fields.first()?, "R" | "D"), Duration::from_millis(ms)))
}

/// Resident memory of a process, kB.
fn resident_kb(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Number of units of CPU time in a second.
fn clock_ticks() -> u64 {
    let ticks = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten();
    ticks.and_then(|ticks| u64::try_from(ticks).ok()).filter(|ticks| *ticks > 0).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_at_its_name_or_beside_it_with_a_number() {
        let is = |path: &str| is_result(Path::new(path), Path::new("out"));
        assert!(is("out") && is("out/summary.json") && is("out-2/summary.json"));
        assert!(!is("out-") && !is("outer") && !is("out-2x") && !is("a/out") && !is(".fairpace-out"));
    }
}
