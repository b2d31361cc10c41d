//! `fairpace-dev swarm`.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::resource::{Resource, setrlimit};

use crate::support::{Folder, run};

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Folder::create();
    let with = |jobs: &str| {
        let out = place.file("failed");
        run(&["swarm", "--count", "6", "--seed", "3", "--jobs", jobs, "--out", &out, "--json"])
            .succeeds()
            .json()
    };
    let record = with("1");
    assert_eq!((&record["scenarios"], &record["clean"]), (&6.into(), &6.into()));
    assert!(record["data_packets"].as_u64().unwrap() > 0);
    assert_eq!(record, with("4"));
    assert!(place.files().is_empty(), "no scenario failed");
}

#[test]
fn a_single_scenario_is_stored() {
    let place = Folder::create();
    run(&["swarm", "--count", "1", "--seed", "7", "--out", &place.file("")]).succeeds();
    assert!(place.read("7/scenario.toml").contains("[[flow]]"));
}

/// What the check once took for a fault: two flows whose retransmissions are all dropped by a queue that
/// others keep full, and a classic packet that waits while a dual queue serves L4S.
#[test]
fn a_path_that_keeps_a_flow_waiting_is_no_fault() {
    let place = Folder::create();
    for seed in ["31000736", "31002754", "41001121"] {
        run(&["swarm", "--count", "1", "--seed", seed, "--out", &place.file("")]).succeeds();
    }
}

#[test]
fn a_seed_that_no_scenario_file_can_have_is_refused() {
    run(&["swarm", "--seed", "9223372036854775808"]).fails(2, "a seed is at most");
    run(&["swarm", "--count", "0"]).fails(2, "--count");
    run(&["swarm", "--count", "9000000000000000000"]).fails(2, "--count");
}

/// As a user who has no other process, since a limit of threads does not bind root.
#[test]
fn where_threads_are_refused_fewer_check_the_same_scenarios() {
    const USER: u32 = 54_321; // any without processes
    let arguments = ["swarm", "--count", "4", "--jobs", "4", "--out", "/nonexistent", "--json"];
    // by its descriptor: another user may not enter the folder that it is in
    let program = File::open(env!("CARGO_BIN_EXE_fairpace-dev")).unwrap();
    let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
    command.args(arguments).current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(USER).gid(USER);
    }
    let limit = || Ok(setrlimit(Resource::RLIMIT_NPROC, 1, 1)?);
    // SAFETY: between fork and exec the closure makes one system call, and allocates nothing
    unsafe { command.pre_exec(limit) };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), run(&arguments).succeeds().stdout);
}
