//! Loading and unloading, interrupted, raced, and where the kernel shows nothing.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ended, Place, Unload, has_kernel, own_suffix, program};

/// Interruptions of each command by each signal. `fairpace-dev abuse` makes hundreds.
const INTERRUPTIONS: u32 = 3;
/// Processes that unload the same name at once.
const RACERS: usize = 6;
/// A process may not have come to catch signals this soon after its start.
const START: Duration = Duration::from_millis(100);

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(program());
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// How many of the names are loaded, as `list` says.
fn loaded(place: &Place, names: &[String]) -> usize {
    let listed = place.run(&["list", "--json"]).succeeds().json();
    let is = |name: &&String| {
        listed.as_array().unwrap().iter().any(|e| e["kernel_name"] == **name && e["status"] == "loaded")
    };
    names.iter().filter(is).count()
}

/// How many of them the kernel offers to sockets.
fn offered(names: &[String]) -> usize {
    let offered = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.iter().filter(|name| offered.split_whitespace().any(|word| word == *name)).count()
}

/// Whether a command that got a signal ended as it should: done, interrupted, or at its start by the signal.
fn is_expected(status: ExitStatus, signal: Signal, is_early: bool) -> bool {
    match (status.code(), status.signal()) {
        (Some(0), _) => true,
        (Some(code), _) => signal != Signal::SIGKILL && code == 128 + signal as i32,
        (None, by) => {
            let may_kill = signal == Signal::SIGKILL || is_early;
            by == Some(signal as i32) && may_kill
        }
    }
}

/// The time that a command takes when nothing interrupts it.
fn duration(place: &Place, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    place.run(arguments).succeeds();
    begun.elapsed()
}

#[test]
fn an_interrupted_load_or_unload_is_whole_and_the_next_command_works() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix() + "i";
    let names = ["fp_reno", "fp_cubic"].map(|name| format!("{name}{suffix}"));
    let _unload = names.clone().map(Unload);
    let load = ["load", "reno", "cubic", "--suffix", &suffix];
    let unload = ["unload", &names[0], &names[1]];
    let (of_load, of_unload) = (duration(&place, &load), duration(&place, &unload));
    for number in 0..INTERRUPTIONS {
        for signal in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM] {
            for (command, of_command) in [(&load[..], of_load), (&unload[..], of_unload)] {
                let before = loaded(&place, &names);
                if (before == 0) == (command[0] == "unload") {
                    let other = if before == 0 { &load[..] } else { &unload[..] };
                    place.run(other).succeeds();
                }
                let begun = Instant::now();
                let mut child = start(command);
                sleep(of_command * (2 * number + 1) / (2 * INTERRUPTIONS));
                let sent_after = begun.elapsed();
                kill(Pid::from_raw(child.id() as i32), signal).unwrap();
                let status = child.wait().unwrap();
                let what = format!("{signal} to {command:?} after {sent_after:?}: {status}");
                // a busy machine is slower, and has made the time of the whole command longer
                let is_early = sent_after < START.max(of_command / 3);
                assert!(is_expected(status, signal, is_early), "{what}");
                let after = loaded(&place, &names);
                let fits = match (status.code(), command[0]) {
                    (Some(0), "load") => &[2][..],
                    (Some(0), _) => &[0],
                    (Some(_), "load") => &[0],
                    _ => &[0, 2],
                };
                assert!(fits.contains(&after), "{after} of 2 names after {what}");
                // the kernel takes out the names of a killed process by itself, a moment later
                let begun = Instant::now();
                while offered(&names) != after && begun.elapsed() < Duration::from_secs(2) {
                    sleep(Duration::from_millis(5));
                }
                assert_eq!(offered(&names), after, "list differs from the kernel after {what}");
                let next = if after == 0 { &load[..] } else { &unload[..] };
                place.run(next).succeeds();
            }
        }
    }
}

#[test]
fn the_next_command_takes_an_interrupted_change_back_or_completes_it_and_says_so() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let cases = [
        ("fairpace_loading", "load", "taken back", 0),
        ("fairpace_load_done", "load", "completed", 2),
        ("fairpace_unloading", "unload", "taken back", 2),
        ("fairpace_unloaded", "unload", "completed", 0),
    ];
    for ((directory, change, done, remaining), letter) in cases.into_iter().zip('w'..) {
        let suffix = format!("{}{letter}", own_suffix());
        let names = ["fp_cubic", "fp_reno"].map(|name| format!("{name}{suffix}"));
        // in a BPF file system that only these processes see, so that no other command repairs it; its pins
        // go with it
        let script = format!(
            "mount -t bpf -o mode=700 bpf /sys/fs/bpf; \"$1\" load reno cubic --suffix {suffix} >/dev/null; \
             cd /sys/fs/bpf/fairpace; mkdir -m 700 {directory}; mv {} {} {directory}; exec \"$@\"",
            names[0], names[1]
        );
        let ended = place.run_in_own_mounts(&script, &["list", "--json"]).succeeds();
        let orders = [[&names[0], &names[1]], [&names[1], &names[0]]];
        let notes = orders.map(|[a, b]| format!("note: an interrupted {change} of {a}, {b} was {done}\n"));
        assert!(notes.contains(&ended.stderr), "{directory}: {}", ended.stderr);
        let listed = ended.json();
        let is_loaded = |name: &&String| {
            listed.as_array().unwrap().iter().any(|e| e["kernel_name"] == **name && e["status"] == "loaded")
        };
        assert_eq!(names.iter().filter(is_loaded).count(), remaining, "{directory}: {listed}");
    }
}

#[test]
fn of_several_that_unload_a_name_one_does_and_the_others_report_that_it_is_not_loaded() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix() + "r";
    let name = format!("fp_reno{suffix}");
    let _unload = Unload(name.clone());
    place.run(&["load", "reno", "--suffix", &suffix]).succeeds();
    let racers =
        [(); RACERS].map(|()| place.command(&["unload", &name]).stderr(Stdio::piped()).spawn().unwrap());
    let ended = racers.map(|racer| Ended::from(racer.wait_with_output().unwrap()));
    assert_eq!(ended.iter().filter(|e| e.code == 0).count(), 1);
    for loser in ended.iter().filter(|e| e.code != 0) {
        loser.fails(6, &format!("{name} is not loaded"));
    }
}

#[test]
fn several_names_load_all_or_none() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix() + "n";
    let names = ["fp_reno", "fp_cubic"].map(|name| format!("{name}{suffix}"));
    let _unload = names.clone().map(Unload);
    place.run(&["load", "cubic", "--suffix", &suffix]).succeeds();
    place.run(&["load", "reno", "cubic", "--suffix", &suffix]).fails(6, &format!("{} is taken", names[1]));
    assert_eq!(loaded(&place, &names), 1);
    place.run(&["unload", &names[1], &names[0]]).fails(6, &format!("{} is not loaded", names[0]));
    assert_eq!(loaded(&place, &names), 1);
    place.run(&["unload", &names[1]]).succeeds();
}

#[test]
fn where_the_kernel_shows_nothing_no_command_says_that_nothing_is_loaded() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    for arguments in [&["list"][..], &["unload", "--all"], &["load", "reno"], &["unload", "reno"]] {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).arg(program()).args(arguments).env("NO_COLOR", "1");
        Ended::from(command.output().unwrap()).fails(3, "outside of any user namespace");
        let hidden = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"";
        let ended = place.run_in_own_mounts(hidden, arguments);
        ended.fails(3, "/sys/kernel/btf/vmlinux");
        assert!(!ended.stderr.contains("libbpf:"), "{}", ended.stderr);
    }
    let mut doctor = Command::new("unshare");
    doctor.args(["--user", "--map-root-user"]).arg(program()).arg("doctor");
    let doctor = Ended::from(doctor.output().unwrap());
    assert_eq!(doctor.code, 3, "{}{}", doctor.stdout, doctor.stderr);
    assert!(doctor.stdout.contains("algorithms can be loaded: no"), "{}", doctor.stdout);
}

#[test]
fn a_default_that_refers_to_an_earlier_load_is_named_and_pins_are_roots_alone() {
    if !has_kernel() {
        return;
    }
    let suffix = own_suffix() + "d";
    let _unload = Unload(format!("fp_reno{suffix}"));
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-ec", &format!("umask 0; {script}"), "sh"]).arg(program());
        Ended::from(command.env("NO_COLOR", "1").output().unwrap()).succeeds().stdout
    };
    let name = format!("fp_reno{suffix}");
    let stdout = run(&format!(
        "\"$1\" load reno --suffix {suffix} >/dev/null; stat -c %a /sys/fs/bpf/fairpace; \
         echo {name} > /proc/sys/net/ipv4/tcp_congestion_control; \
         \"$1\" unload {name} >/dev/null; \"$1\" load reno --suffix {suffix} --set beta=0.6; \
         echo FROM HERE unload; \"$1\" unload {name}"
    ));
    assert!(stdout.starts_with("700\n"), "{stdout}");
    let (load, unload) = stdout.split_once("FROM HERE unload").unwrap();
    let note = format!(
        "The default of this network namespace is {name} as it was loaded before: new sockets get its code \
         and parameters until you set it again"
    );
    assert!(load.contains(&note), "{load}");
    let note = format!("net.ipv4.tcp_congestion_control still names {name}");
    assert!(unload.contains(&note), "{unload}");
}
