//! Scenarios, and looking from outside at what a run leaves behind.

mod scenarios;
mod witness;

use fairpace_results::{Monitor, Silent};
use fairpace_scenario::{Cc, Flow, Link, Scenario};
use fairpace_test_support::{announce, skip};
use fairpace_testbed::{ATTEMPTS, Disturbance, Error, Options, Outcome, measure};
use nix::sched::{CloneFlags, setns};
pub(crate) use scenarios::{flow, marks, scenario};
use std::fmt::Debug;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use witness::Witness;

/// What holds up the emulator for longer than a run bears, 5 ms or more at a time, holds up a processor for
/// half of that at least.
const MACHINES_FAULT: Duration = Duration::from_micros(2_500);

/// A machine that cannot run the testbed is reported, or is a failure if the kernel is required.
pub(crate) fn skip_or_panic<T: Debug>(result: Result<T, Error>) {
    match result {
        Err(error @ (Error::NotPermitted { .. } | Error::NoTun { .. })) => skip(&error.to_string()),
        // a kernel, but an older one
        Err(error @ Error::NoAccurateEcn) => announce("SKIPPED", &error.to_string()),
        other => panic!("unexpected: {other:?}"),
    }
}

/// A run that the machine did not disturb, of as many as the program itself would try. `None`, after saying
/// why: there was none, which says nothing about us, or this machine cannot run the testbed. A run that is
/// late on a machine that was there all the time is our fault, and a failure.
pub(crate) fn measure_or_skip(scenario: &Scenario) -> Option<Outcome> {
    for _ in 0..ATTEMPTS {
        let witness = Witness::start();
        let measured = measure(scenario, &mut Silent, &Options::default());
        let held_up = witness.held_up();
        let outcome = match measured {
            Ok(outcome) => outcome,
            other => {
                skip_or_panic(other);
                return None;
            }
        };
        // however late packets were, the record is whole
        outcome.run.check().unwrap();
        let Some(why) = &outcome.disturbed else { return Some(outcome) };
        let told = format!("{why}; {}; a processor was held up for {held_up:?}", outcome.lateness);
        let is_late = matches!(why, Disturbance::Late(_));
        assert!(
            !is_late || held_up >= MACHINES_FAULT,
            "the emulator is late, and not for the machine: {told}"
        );
        announce("DISTURBED", &told);
    }
    announce("NOT JUDGED", &format!("the machine disturbed {ATTEMPTS} runs"));
    None
}

/// Whether our algorithms can be loaded here.
pub(crate) fn can_load() -> bool {
    match fairpace_kernel::Features::probe().require() {
        Ok(()) => true,
        Err(error) => {
            skip(&error.to_string());
            false
        }
    }
}

/// The congestion controls in the kernel that a run of process `pid` has loaded.
pub(crate) fn loaded_by(pid: u32) -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let ours = |name: &&str| {
        let tag = name.split_once('.').map_or("", |(_, tag)| tag);
        // The process id in radix 36, and two digits more: LoadOptions::unique.
        name.starts_with("fp_") && u32::from_str_radix(&tag[..tag.len().max(2) - 2], 36) == Ok(pid)
    };
    text.split_whitespace().filter(ours).map(str::to_owned).collect()
}

/// What this process has open and running.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaves {
    descriptors: Vec<String>,
    threads: usize,
}

impl Leaves {
    pub(crate) fn now() -> Self {
        let entries = |path| fs::read_dir(path).unwrap().map(|e| e.unwrap());
        let target = |e: fs::DirEntry| fs::read_link(e.path()).map(|t| t.display().to_string());
        let mut descriptors: Vec<String> = entries("/proc/self/fd").filter_map(|e| target(e).ok()).collect();
        descriptors.retain(|t| !t.ends_with("/fd")); // the listing's own
        descriptors.sort();
        let testbeds = |e: &fs::DirEntry| {
            fs::read_to_string(e.path().join("comm")).is_ok_and(|name| name.starts_with("fp-"))
        };
        Leaves { descriptors, threads: entries("/proc/self/task").filter(testbeds).count() }
    }
}

/// Other network namespaces, held open from outside.
pub(crate) struct Held(Vec<OwnedFd>);

impl Held {
    /// All namespaces but ours in which a process has a socket or a TUN device open.
    pub(crate) fn of_process(pid: u32) -> Self {
        // SAFETY: no memory is involved.
        let pidfd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }).unwrap();
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(Result::ok);
        let numbers = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
        let inode = |fd: &OwnedFd| nix::sys::stat::fstat(fd.as_fd()).unwrap().st_ino;
        let mut seen = vec![nix::sys::stat::stat("/proc/self/ns/net").unwrap().st_ino];
        let mut held = Vec::new();
        for namespace in numbers.filter_map(|n| namespace_of(&pidfd, n)) {
            if !seen.contains(&inode(&namespace)) {
                seen.push(inode(&namespace));
                held.push(namespace);
            }
        }
        Held(held)
    }

    /// Our network devices in them.
    pub(crate) fn devices(&self) -> Vec<String> {
        let tables = self.0.iter().map(|ns| inside(ns, || proc_net("dev")));
        let name = |line: &str| line.split_once(':').map(|(name, _)| name.trim().to_owned());
        let mut names: Vec<String> =
            tables.flat_map(|t| t.lines().filter_map(name).collect::<Vec<_>>()).collect();
        names.retain(|n| n.starts_with("fp-"));
        names.sort();
        names
    }

    fn sockets(&self) -> Vec<String> {
        let tables = self.0.iter().map(|ns| inside(ns, || proc_net("tcp")));
        tables.flat_map(|t| t.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Both ends of a run were there, and neither has a device or a socket left: once this handle is
    /// dropped, nothing keeps the namespaces.
    pub(crate) fn assert_empty(self) {
        assert_eq!(self.0.len(), 2, "a run has two namespaces");
        // The kernel tears down after the last descriptor is closed, not while.
        for _ in 0..200 {
            if self.devices().is_empty() && self.sockets().is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("left in the namespaces: {:?} {:?}", self.devices(), self.sockets());
    }
}

/// The namespace of a socket or TUN device that another process has open under this number.
fn namespace_of(pidfd: &OwnedFd, number: i32) -> Option<OwnedFd> {
    /// linux/sockios.h
    const SIOCGSKNS: libc::Ioctl = 0x894c;
    // SAFETY: no memory is involved; the descriptor is open.
    let copy = owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0) })?;
    // SAFETY: this request takes no argument and returns a descriptor.
    owned(i64::from(unsafe { libc::ioctl(copy.as_raw_fd(), SIOCGSKNS) }))
}

/// Looks around inside a namespace.
fn inside<T: Send>(namespace: &OwnedFd, look: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            look()
        });
        thread.join().unwrap()
    })
}

fn proc_net(table: &str) -> String {
    fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap()
}

fn owned(raw: i64) -> Option<OwnedFd> {
    // SAFETY: the system call that returned it has just made this descriptor for us.
    (raw >= 0).then(|| unsafe { OwnedFd::from_raw_fd(raw as i32) })
}

/// Ends a run after some time, by request or by panic, and holds its namespace to look at afterwards.
pub(crate) struct StopAfter {
    seconds: f64,
    panics: bool,
    over: bool,
    pub(crate) held: Option<Held>,
}

impl StopAfter {
    pub(crate) fn request(seconds: f64) -> Self {
        StopAfter { seconds, panics: false, over: false, held: None }
    }

    pub(crate) fn panic(seconds: f64) -> Self {
        StopAfter { panics: true, ..Self::request(seconds) }
    }
}

impl Monitor for StopAfter {
    fn progress(&mut self, done_s: f64, _total_s: f64) {
        if done_s >= self.seconds && !self.over {
            self.over = true;
            self.held = Some(Held::of_process(std::process::id()));
            assert!(!self.panics, "a panic on purpose");
        }
    }

    fn stop(&self) -> bool {
        self.over
    }
}

/// Names the algorithm to [`run_as_helper`].
const HELPER: &str = "FAIRPACE_TEST_HELPER_CC";

/// Starts this test program again as a process with a run of two flows; `None` if this machine cannot run it.
/// Returns in the middle of the run.
pub(crate) fn spawn_run(cc: &str) -> Option<Child> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "support::run_as_helper", "--ignored", "--nocapture"])
        .env(HELPER, cc)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        said.push(line.unwrap());
        if said.last().is_some_and(|l| l == RUNNING) {
            // Into the middle of the transfer.
            std::thread::sleep(Duration::from_secs(2));
            return Some(child);
        }
    }
    child.wait().unwrap();
    skip(&said.join("\n"));
    None
}

/// What the helper process prints when its run has begun.
const RUNNING: &str = "running";

/// Announces the begin of a run on standard error.
struct Announce;

impl Monitor for Announce {
    fn progress(&mut self, done_s: f64, _total_s: f64) {
        if done_s == 0.0 {
            eprintln!("{RUNNING}");
        }
    }

    fn stop(&self) -> bool {
        false
    }
}

/// The process that [`spawn_run`] starts: a minute of two flows with 20 ms on 50 Mbit/s.
#[test]
#[ignore = "another test starts it as a process of its own"]
fn run_as_helper() {
    let Ok(cc) = std::env::var(HELPER) else { return };
    let duration = Duration::from_secs(60);
    let flow = |name: &str, start_s| Flow {
        start: Duration::from_secs(start_s),
        ..Flow::new(name, cc.parse::<Cc>().expect("an algorithm"), Duration::from_millis(20))
    };
    let scenario = Scenario {
        title: "helper".to_owned(),
        why: String::new(),
        seed: 1,
        duration,
        window: (Duration::from_secs(20), duration),
        interval: Duration::from_millis(100),
        links: vec![Link::new("bottleneck", 50_000_000, 500_000)],
        flows: vec![flow("first", 0), flow("second", 5)],
        hash: String::new(),
    };
    if let Err(error) = measure(&scenario, &mut Announce, &Options::default()) {
        eprintln!("{error}");
    }
}

/// Runs on a thread that has given up root (system calls change the thread, libc's wrappers the process).
pub(crate) fn without_privileges<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    /// A user id without rights of its own.
    const UNPRIVILEGED: libc::c_long = 65534;
    let thread = std::thread::spawn(move || {
        // Fails if there was no privilege to begin with, which is as good.
        // SAFETY: no memory is involved; what the process owns stays as it is.
        let _ = unsafe { libc::syscall(libc::SYS_setresuid, UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) };
        work()
    });
    thread.join().unwrap()
}
