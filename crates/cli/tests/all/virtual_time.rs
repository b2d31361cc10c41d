//! Runs on a kernel in virtual time, as users start them. A boot takes ten seconds of processor time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fairpace_test_support::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ended, Place};

/// Time for which a test waits for a process that starts or ends.
const SOON: Duration = Duration::from_secs(300);

/// A command that finds the kernels of the user's cache and of FAIRPACE_UML, where other tests have none.
fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    command.env("XDG_CACHE_HOME", cache.unwrap_or_default());
    if let Some(uml) = std::env::var_os("FAIRPACE_UML") {
        command.env("FAIRPACE_UML", uml);
    }
    command
}

fn run(place: &Place, arguments: &[&str]) -> Ended {
    command(place, arguments).output().unwrap().into()
}

/// Whether this machine has QEMU and a kernel; if not, the test is reported as skipped.
fn can_boot() -> bool {
    is_there("virtual time")
}

/// Whether this machine has User-mode Linux; if not, the test is reported as skipped.
fn has_uml() -> bool {
    is_there("virtual time, UML")
}

/// Whether `doctor` finds what this check is of.
fn is_there(what: &str) -> bool {
    let doctor = run(&Place::new(), &["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["what"] == what).unwrap();
    let can = check["standing"] == "ok";
    if !can {
        skip(&format!("there is no kernel in virtual time: {}: {}", check["found"], check["remedy"]));
    }
    can
}

#[test]
fn what_is_missing_is_named_with_the_command_that_gets_it() {
    let place = Place::with_scenario();
    let virtually = ["sim", "small.toml", "--on", "virtual:qemu"];
    let without_qemu: Ended = place.command(&virtually).env("PATH", "/nonexistent").output().unwrap().into();
    without_qemu.fails(3, "apt-get install qemu-system-x86");
    let has_qemu = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    if has_qemu {
        place.run(&virtually).fails(3, "scripts/fetch-kernel.sh 6.12");
        let of_series = [&virtually[..], &["--kernel", "6.1"]].concat();
        place.run(&of_series).fails(3, "scripts/fetch-kernel.sh 6.1");
        let wrong = [&virtually[..], &["--kernel", "six"]].concat();
        place.run(&wrong).fails(2, "`six` is no series of kernels");
    }
    let uml = ["sim", "small.toml", "--on", "virtual:uml"];
    place.run(&uml).fails(3, "make uml");
    let mut named = place.command(&uml);
    let named: Ended = named.env("FAIRPACE_UML", "/nonexistent").output().unwrap().into();
    named.fails(3, "FAIRPACE_UML names /nonexistent");
    place.run(&[&uml[..], &["--kernel", "6.1"]].concat()).fails(2, "write --on virtual:qemu");
    let doctor = place.command(&["doctor"]).env("PATH", "/nonexistent").output().unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("apt-get install qemu-system-x86"), "{said}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let place = Place::with_scenario();
    place.run(&["sim", "small.toml", "--kernel", "6.12"]).fails(2, "add --on virtual");
    place.run(&["sim", "small.toml", "--on", "kernel", "--repeat", "2"]).fails(2, "write --on virtual");
    let traced = ["sim", "small.toml", "--on", "virtual", "--trace", "events", "--out", "out"];
    place.run(&traced).fails(2, "record simulations");
    place.run(&["guest"]).fails(2, "`guest` is the first process of a kernel in virtual time");
}

/// The text of each file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path()).into_iter().map(|(path, text)| (name.join(path), text))),
            false => drop(all.insert(name, fs::read(entry.path()).unwrap())),
        }
    }
    all
}

/// A kernel's own algorithm, and a header of the user, which the guest loads as eBPF. All run at one time,
/// two for each processor or more, so that each is held up at other moments.
#[test]
fn two_runs_in_qemu_have_the_same_bytes_beside_load() {
    if can_boot() {
        two_runs_have_the_same_bytes("qemu", "kernel:bbr,./mine.h");
    }
}

/// The same, where a run costs little, with more of them.
#[test]
fn two_runs_in_user_mode_linux_have_the_same_bytes_beside_load_and_another_seed_has_others() {
    if has_uml() {
        two_runs_have_the_same_bytes("uml", "kernel:bbr,kernel:cubic,bbr3,level,dctcp");
    }
}

fn two_runs_have_the_same_bytes(emulator: &str, algorithms: &str) {
    let place = Place::new();
    run(&place, &["new", "mine"]).succeeds();
    let compare = "compare --rate 10mbit --buffer 100kB --rtt 20ms,40ms \
                   --warmup 1s --stagger 200ms --duration 2s --json --quiet --cc";
    let on = format!("virtual:{emulator}");
    let compare = |of: &str, seed: &str, out: &str| {
        let arguments: Vec<&str> =
            compare.split(' ').chain([of, "--seed", seed, "--on", &on, "--out", out]).collect();
        let summaries = run(&place, &arguments).succeeds().json();
        let summaries = summaries.as_array().unwrap().clone();
        for summary in &summaries {
            let on = summary["on"].as_str().unwrap();
            assert!(on.starts_with(&format!("virtual: {emulator}")) && on.contains(", Linux "), "{on}");
            let goodput: f64 = (0..2).map(|i| summary["flows"][i]["goodput_mbps"].as_f64().unwrap()).sum();
            assert!((5.0..12.0).contains(&goodput), "{summary}");
        }
        (summaries, files(&place.path().join(out)))
    };
    let ((summaries, first), (_, again)) = thread::scope(|scope| {
        let first = scope.spawn(|| compare(algorithms, "1", "first"));
        let again = compare(algorithms, "1", "again");
        (first.join().unwrap(), again)
    });
    assert_eq!(first.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    for (path, bytes) in &first {
        assert!(bytes == &again[path], "{} differs", path.display());
    }
    if emulator == "uml" {
        let (other, _) = compare("kernel:bbr", "2", "other");
        assert_ne!(summaries[0]["flows"], other[0]["flows"], "the seed decides");
    }
}

#[test]
fn what_the_testbed_refuses_in_the_guest_reaches_the_user() {
    if !has_uml() {
        return;
    }
    let place = Place::with_scenario();
    let sim = ["sim", "small.toml", "--on", "virtual:uml", "--quiet", "--set"];
    let unknown = [&sim[..], &["flow.1.cc=kernel:moon"]].concat();
    run(&place, &unknown).fails(2, "this kernel has no congestion control named `moon`");
    run(&place, &["new", "mine"]).succeeds();
    let header = [&sim[..], &["flow.1.cc=./mine.h"]].concat();
    run(&place, &header).fails(3, "write --on virtual:qemu");
}

/// The process ids of the QEMU processes of a run: their files are descriptors of the program.
fn emulators(of: &Child) -> Vec<i32> {
    let mark = format!("/proc/{}/fd/", of.id());
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"qemu") && String::from_utf8_lossy(&line).contains(&mark)
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).collect()
}

/// A run that is booting, and its QEMU process.
fn booting(place: &Place) -> (Child, i32) {
    let mut command = command(place, &["sim", "small.toml", "--on", "virtual:qemu"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while since.elapsed() < SOON {
        if let [qemu] = emulators(&child)[..] {
            return (child, qemu);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("no QEMU starts");
}

fn ends_with_nothing_left(place: &Place, child: Child) -> Ended {
    let mark = child.id();
    let ended: Ended = child.wait_with_output().unwrap().into();
    let gone = |pid: u32| {
        let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
        let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        !lines.map(text).any(|line| line.starts_with("qemu") && line.contains(&format!("/proc/{pid}/fd/")))
    };
    let since = Instant::now();
    while !gone(mark) {
        assert!(since.elapsed() < SOON, "QEMU is left behind");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(place.files(), ["small.toml"]);
    ended
}

#[test]
fn nothing_is_left_behind_by_ctrl_c_and_by_the_end_of_either_process() {
    if !can_boot() {
        return;
    }
    let place = Place::with_scenario();
    let signal = |pid: i32, signal| kill(Pid::from_raw(pid), signal).unwrap();
    let (child, _) = booting(&place);
    signal(child.id().cast_signed(), Signal::SIGINT);
    ends_with_nothing_left(&place, child).fails(130, "interrupted");
    let (child, qemu) = booting(&place);
    signal(qemu, Signal::SIGKILL);
    ends_with_nothing_left(&place, child).fails(1, "QEMU ended while the guest was to boot");
    let (mut child, _) = booting(&place);
    child.kill().unwrap();
    assert_eq!(ends_with_nothing_left(&place, child).code, -1);
}

/// The children of a process.
fn children(of: i32) -> Vec<i32> {
    let parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, after)| after.split(' ').nth(1)?.parse().ok())
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|pid| parent(pid) == Some(of)).collect()
}

/// A run in User-mode Linux that is far from its end, its kernel, and the processes of the guest.
fn running_in_uml(place: &Place) -> (Child, Vec<i32>) {
    let sim = ["sim", "small.toml", "--on", "virtual:uml", "--set", "duration=1000s", "--quiet"];
    let mut command = command(place, &sim);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while since.elapsed() < SOON && child.try_wait().unwrap().is_none() {
        for kernel in children(child.id().cast_signed()) {
            let guest = children(kernel);
            if !guest.is_empty() {
                return (child, [vec![kernel], guest].concat());
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("User-mode Linux does not run: {:?}", child.wait_with_output());
}

#[test]
fn user_mode_linux_leaves_nothing_behind() {
    if !has_uml() {
        return;
    }
    let gone = |processes: Vec<i32>| {
        let since = Instant::now();
        // what has ended and is not waited for has no command line
        let runs = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
        while processes.iter().any(runs) {
            assert!(since.elapsed() < SOON, "User-mode Linux is left behind");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let place = Place::with_scenario();
    let (child, processes) = running_in_uml(&place);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    Ended::from(child.wait_with_output().unwrap()).fails(130, "interrupted");
    gone(processes);
    let (mut child, processes) = running_in_uml(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    gone(processes);
    assert_eq!(place.files(), ["small.toml"]);
}

/// Stops the process again and again, so that no real flow has a result: virtual time does not notice.
#[test]
#[ignore = "takes minutes: in `make nightly`"]
fn a_disturbed_demonstration_goes_on_in_virtual_time() {
    if !has_uml() || !nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let mut demo = command(&place, &["demo", "--duration", "7s", "--quiet"]);
    let mut child = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_raw(child.id().cast_signed());
    while child.try_wait().unwrap().is_none() {
        for (signal, time_ms) in [(Signal::SIGSTOP, 400), (Signal::SIGCONT, 400)] {
            // it may have ended by now, and is not waited for yet
            kill(process, signal).unwrap();
            thread::sleep(Duration::from_millis(time_ms));
        }
    }
    let ended = Ended::from(child.wait_with_output().unwrap()).succeeds();
    for cc in ["bbr1", "bbq", "level", "kernel:bbr"] {
        let said = format!("In virtual time instead of a disturbed run: {cc}, 7s.");
        assert!(ended.stdout.contains(&said), "{}", ended.stdout);
    }
}
