//! The life of an algorithm on a server: enabled, used, replaced, loaded at boot, taken out in panic. In
//! network and mount namespaces of its own, and in a program of its own.
//!
//! `panic` visits all network namespaces of the machine: here it runs in a PID namespace of its own, where
//! `/proc` shows no others. The whole of it runs in guests: `crates/dev/src/kernels`.

#[path = "../all/support/mod.rs"]
#[expect(dead_code, reason = "the other tests need the rest")]
mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};

use support::{Ended, Place, Unload, has_kernel, own_suffix, program};

const BPFFS: &str = "/sys/fs/bpf";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Bytes.
const MB: usize = 1 << 20;

/// Moves this thread, and the processes that it starts, to namespaces of their own, with a BPF file system
/// and a loopback device of their own.
fn enter_own_namespaces() {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("root may");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .expect("root may");
    hide_network_namespaces();
    mount_bpffs();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip").success());
}

/// Those that `ip netns` and container engines have mounted.
fn hide_network_namespaces() {
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").expect("/proc");
    for line in mounts.lines().filter(|line| line.contains(" net:[")) {
        let place = line.split(' ').nth(4).expect("proc_pid_mountinfo(5)");
        umount2(place, MntFlags::MNT_DETACH).expect("root may");
    }
}

fn mount_bpffs() {
    mount(Some("bpf"), BPFFS, Some("bpf"), MsFlags::empty(), Some("mode=700")).expect("root may");
}

fn default() -> String {
    fs::read_to_string(DEFAULT).expect("it is there").trim().to_owned()
}

fn accepted_by(listener: &TcpListener) -> TcpStream {
    let _other = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    listener.accept().expect("it connects").0
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    (sender, listener.accept().expect("it connects").0)
}

/// Sends bytes that differ from place to place, and checks them.
fn transfer((sender, receiver): &mut (TcpStream, TcpStream)) {
    let data: Vec<u8> = (0..MB).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect();
    let mut received = vec![0; MB];
    std::thread::scope(|scope| {
        scope.spawn(|| sender.write_all(&data).expect("it sends"));
        receiver.read_exact(&mut received).expect("it arrives");
    });
    assert!(received == data, "data was changed on the way");
}

fn selected(socket: &impl AsFd) -> String {
    getsockopt(socket, TcpCongestion).expect("it has one").to_string_lossy().trim_end_matches('\0').to_owned()
}

struct Server {
    place: Place,
    config: String,
    name: String,
    suffix: String,
    _unload: Unload,
}

impl Server {
    fn new(letter: char) -> Server {
        let place = Place::new();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let config = place.path().join("fairpace.toml").display().to_string();
        let suffix = format!("{}{letter}", own_suffix());
        let name = format!("fp_reno{suffix}");
        Server { place, config, suffix, _unload: Unload(name.clone()), name }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let mut all = arguments.to_vec();
        if !["default", "restore", "replace", "unload"].contains(&arguments[0]) {
            all.extend(["--config", &self.config]);
        }
        if ["enable", "replace"].contains(&arguments[0]) {
            all.extend(["--suffix", &self.suffix]);
        }
        if arguments[0] != "panic" {
            return self.place.run(&all);
        }
        let alone = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        Command::new("unshare").args(alone).arg(program()).args(&all).output().expect("util-linux").into()
    }

    /// What systemd's journal gets of an `apply` that fails.
    fn apply_in_journal(&self) -> String {
        let path = self.place.path().join("journal");
        let journal = fs::File::create(&path).expect("it is ours");
        let found = journal.metadata().expect("it is open");
        let ended = Command::new(program())
            .args(["apply", "--quiet", "--config", &self.config])
            .env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()))
            .stderr(journal)
            .status()
            .expect("it starts");
        assert!(!ended.success());
        fs::read_to_string(path).expect("it is there")
    }

    fn status(&self) -> serde_json::Value {
        self.run(&["status", "--json"]).succeeds().json()
    }

    /// Sockets by state of the algorithm.
    fn sockets(&self) -> Vec<(String, u64)> {
        let status = self.status();
        let ours = status["algorithms"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|a| a["kernel_name"] == *self.name);
        let mut all: Vec<_> = ours
            .map(|a| {
                (a["status"].as_str().expect("a text").to_owned(), a["sockets"].as_u64().expect("a number"))
            })
            .collect();
        all.sort();
        all
    }
}

#[test]
fn an_administrator_enables_uses_replaces_reboots_and_panics() {
    if !has_kernel() {
        return;
    }
    enter_own_namespaces();
    let server = Server::new('s');
    let before = default();
    let said = server.run(&["enable", "reno", "--default"]).succeeds().stdout;
    assert!(said.contains(&format!("{} is loaded", server.name)), "{said}");
    assert_eq!(default(), server.name);
    let status = server.status();
    assert_eq!(status["next_boot"]["loads"], serde_json::json!([server.name]));
    assert_eq!(status["next_boot"]["default"], *server.name);
    assert_eq!(status["former_default"], *before);
    assert_eq!(status["differences"], serde_json::json!([]));

    let mut first = connection();
    transfer(&mut first);
    assert_eq!(selected(&first.0), server.name);
    // both ends of the connection send by it
    assert_eq!(server.sockets(), [("loaded".to_owned(), 2)]);
    let said = server.run(&["enable", "reno", "--set", "beta=0.6"]).succeeds().stdout;
    assert!(said.contains("is replaced"), "{said}");
    let mut second = connection();
    transfer(&mut second);
    assert_eq!(server.sockets(), [("draining".to_owned(), 2), ("loaded".to_owned(), 2)]);
    assert_eq!(server.status()["differences"], serde_json::json!([]));
    server.run(&["replace", "reno"]).succeeds();
    assert!(server.status()["differences"][0].as_str().expect("one").contains("other parameters"));
    server.run(&["apply"]).succeeds();
    assert_eq!(server.status()["differences"], serde_json::json!([]));
    transfer(&mut first);

    // as after a reboot: no pins, and the system's own default
    fs::write(DEFAULT, &before).expect("root may");
    umount2(BPFFS, MntFlags::MNT_DETACH).expect("root may");
    mount_bpffs();
    let said = server.run(&["apply"]).succeeds().stdout;
    assert!(said.contains(&format!("{} is loaded", server.name)), "{said}");
    assert_eq!(default(), server.name);
    let mut third = connection();
    transfer(&mut third);

    panic_finds_all_but_by_descriptors(&server, &before);
    for connection in [&mut first, &mut second, &mut third] {
        assert!(!selected(&connection.0).starts_with("fp_"), "{}", selected(&connection.0));
        transfer(connection);
    }
    let offered =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("it is there");
    assert!(!offered.contains(&server.name), "{offered}");
    assert!(!fs::exists(format!("{BPFFS}/fairpace")).expect("root may look"), "nothing of ours is left");
    server.run(&["disable", "--all"]).succeeds();
    assert_eq!(server.status()["next_boot"]["loads"], serde_json::json!([]));
}

/// `before`: the default before that of the server, whose algorithm six sockets use.
fn panic_finds_all_but_by_descriptors(server: &Server, before: &str) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    // it does not see the processes of these sockets: it misses all of them, and says so
    let said = server.run(&["panic", "--walk", "descriptors"]);
    assert!(said.code == 1 && said.stdout.contains("not accepted yet"), "{}{}", said.stdout, said.stderr);
    let words = said.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    let missed = format!("6 sockets of this network namespace still use {}", server.name);
    assert!(words.contains(&missed), "{words}");
    assert_eq!((default().as_str(), selected(&listener)), (before, server.name.clone()));
    let said = server.run(&["panic"]).succeeds().stdout;
    assert!(said.contains("the next boot loads"), "{said}");
    assert!(said.contains("left alone, listeners that never chose an algorithm: 1."), "{said}");
    assert!(said.contains(&format!("keep {} in the kernel", server.name)), "{said}");
    assert_eq!(default(), before);
    assert_eq!(selected(&accepted_by(&listener)), before);
    let freed = server.run(&["panic", "--free", "--json"]).succeeds().json();
    assert_eq!((&freed["listeners_moved"], &freed["listeners_left"]), (&1.into(), &0.into()), "{freed}");
    assert_eq!(selected(&listener), before);
}

#[test]
fn disabling_the_default_brings_the_former_one_back() {
    if !has_kernel() {
        return;
    }
    enter_own_namespaces();
    let server = Server::new('d');
    let before = default();
    server.run(&["enable", "reno"]).succeeds();
    assert_eq!(default(), before, "without --default it stays");
    server.run(&["default", &server.name]).succeeds();
    assert_eq!(default(), server.name);
    assert!(server.status()["differences"][0].as_str().expect("one").contains("until the next boot only"));
    let said = server.run(&["restore"]).succeeds().stdout;
    assert!(said.contains(&before) && default() == before, "{said}");
    server.run(&["default", &server.name]).succeeds();
    let said = server.run(&["disable", &server.name]).succeeds().stdout;
    assert!(said.contains("not loaded at boot") && default() == before, "{said}");
    let text = fs::read_to_string(&server.config).expect("it is there");
    assert!(!text.contains("[[load]]"), "{text}");
    server.run(&["disable", &server.name]).fails(6, "is neither loaded nor in");
    // a name of ours that is not loaded is the kernel's own
    assert!(server.run(&["default", "reno"]).succeeds().stdout.contains("is reno"));
    server.run(&["default", "fp_nonesuch"]).fails(6, "offers no congestion control fp_nonesuch");
}

#[test]
fn a_wrong_configuration_changes_nothing_and_is_named_with_its_place() {
    if !has_kernel() {
        return;
    }
    enter_own_namespaces();
    let server = Server::new('w');
    let before = default();
    fs::write(&server.config, "[[load]]\nalgorithm = \"bbr9\"\n").expect("it is ours");
    for command in [&["apply"][..], &["status"], &["enable", "reno", "--default"]] {
        server.run(command).fails(2, "fairpace.toml:2:13");
    }
    let said = server.apply_in_journal();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("fairpace.toml:2:13: there is no algorithm"), "{said}");
    assert!(said.ends_with(&format!("; the default is {before}\n")), "{said}");
    let listed = server.place.run(&["list", "--json"]).succeeds().stdout;
    assert!(default() == before && !listed.contains(&server.name), "{listed}");
    fs::write(&server.config, "").expect("it is ours");
    fs::set_permissions(&server.config, fs::Permissions::from_mode(0o666)).expect("it is ours");
    server.run(&["apply"]).fails(2, "can be changed by others than root");
    // a folder of all users stays one
    fs::set_permissions(server.place.path(), fs::Permissions::from_mode(0o1777)).expect("it is ours");
    let said = server.run(&["apply"]);
    said.fails(2, "such as /etc/fairpace");
    assert!(!said.stderr.contains("chmod"), "{}", said.stderr);
}
