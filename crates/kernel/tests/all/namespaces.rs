//! Network namespaces are found by whatever keeps them.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::thread;

use fairpace_kernel::{LoadOptions, Move, Namespace, Walk, load, move_sockets, namespaces};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::support::{Unload, enter_own_namespace, has_kernel, params, select, selected, suffix};

/// The network namespace of this thread.
const HERE: &str = "/proc/thread-self/ns/net";

fn inode_here() -> u32 {
    Namespace::at(Path::new(HERE)).expect("/proc").inode
}

/// What a thread returns that was in a network namespace of its own, and the inode of that.
fn from_another<T: Send>(work: impl FnOnce() -> T + Send) -> (u32, T) {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may");
        (inode_here(), work())
    };
    thread::scope(|scope| scope.spawn(inside).join().expect("it works"))
}

#[test]
fn a_namespace_is_found_by_its_processes_and_can_be_entered() {
    if !has_kernel() {
        return;
    }
    let own = Namespace::own().expect("/proc").inode;
    enter_own_namespace();
    // a thread's namespace is not its process's: a process of its own is in it
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
    let all = namespaces().expect("/proc").found;
    let inside = all.iter().find(|found| found.inode == inode_here()).map(|found| found.enter(inode_here));
    child.kill().and_then(|()| child.wait()).expect("it ran");
    assert_eq!(all[0].inode, own, "the process's own comes first");
    assert_eq!(inside.expect("it is found").expect("root may enter"), inode_here());
}

#[test]
fn a_namespace_without_a_process_is_found_by_what_keeps_it() {
    if !has_kernel() {
        return;
    }
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let (inode, inodes) = std::sync::mpsc::channel();
    let lives = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may");
        inode.send(inode_here()).expect("it is read");
        let _ = wait.recv();
    });
    let in_thread = inodes.recv().expect("it is sent");
    let (of_file, file) = from_another(|| File::open(HERE).expect("/proc"));
    let (of_socket, socket) = from_another(|| UdpSocket::bind("0.0.0.0:0").expect("a port is free"));
    let (of_tun, tun) = from_another(|| File::open("/dev/net/tun"));
    let mut wanted = vec![
        (in_thread, "the network namespace of process "),
        (of_file, "the network namespace that a descriptor of process "),
        (of_socket, "the network namespace that a descriptor of process "),
    ];
    if tun.is_ok() {
        wanted.push((of_tun, "the network namespace that a descriptor of process "));
    }
    let all = namespaces().expect("/proc");
    for (inode, name) in &wanted {
        let found = all.found.iter().find(|found| found.inode == *inode);
        let found = found.unwrap_or_else(|| panic!("{name}: {:?} {:?}", all.closed, all.unseen));
        assert!(found.to_string().starts_with(name), "{found}");
        assert_eq!(found.enter(inode_here).expect("root may"), *inode);
    }
    drop((all, stop, file, socket, tun));
    lives.join().expect("it ends");
    // another test may hold it open for a moment, having found it
    crate::support::eventually("nothing keeps them", || {
        let left = namespaces().expect("/proc").found;
        wanted.iter().all(|(inode, _)| left.iter().all(|found| found.inode != *inode))
    });
}

/// As a container engine that mounts in a mount namespace of its own.
#[test]
fn a_namespace_that_is_mounted_in_another_mount_namespace_is_found() {
    if !has_kernel() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("a place"); // a space is escaped in mountinfo
    File::create(&place).expect("ours");
    let (inode, mut child) = from_another(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("root may");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("root may");
        mount(Some(HERE), &place, none, MsFlags::MS_BIND, none).expect("root may");
        // only the mount namespace is kept
        let mut sleep = Command::new("nsenter");
        sleep.arg(format!("--net=/proc/{}/ns/net", std::process::id())).args(["sleep", "60"]);
        sleep.spawn().expect("nsenter")
    });
    crate::support::eventually("it is in our network namespace", || {
        let of = |process: u32| fs::read_link(format!("/proc/{process}/ns/net")).ok();
        of(child.id()) == of(std::process::id())
    });
    let all = namespaces().expect("/proc").found;
    child.kill().and_then(|()| child.wait()).expect("it ran");
    let found = all.iter().find(|found| found.inode == inode).expect("it is found");
    assert!(found.to_string().contains("/a place in the mount namespace of process "), "{found}");
    assert_eq!(found.enter(inode_here).expect("root may"), inode);
}

/// What `panic` does with a network namespace that no process is in.
#[test]
fn sockets_of_a_namespace_that_only_they_keep_are_moved() {
    if !has_kernel() {
        return;
    }
    let options = LoadOptions { suffix: suffix(), pin: true };
    let loaded = load(&params("reno"), &options).unwrap_or_else(|e| panic!("{e}"));
    let unload = Unload(loaded.kernel_name().to_owned());
    for walk in [Walk::Iterator, Walk::Descriptors] {
        let (inode, (listener, sender)) = from_another(|| {
            assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip").success());
            let listener = crate::support::listener();
            let (sender, _) = crate::support::connect(&listener, &unload.0);
            (listener, sender)
        });
        let mut all = namespaces().expect("/proc").found;
        all.retain(|found| found.inode == inode);
        assert_eq!(all.len(), 1, "it is found");
        let plan = Move { from: &[&unload.0], to: "cubic", frees: false };
        let moved = move_sockets(&plan, walk, &all).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((moved.moved, moved.failures.len()), (2, 0), "{walk:?}: {:?}", moved.failures);
        assert_eq!([selected(&sender), selected(&listener)], ["cubic", "cubic"], "{walk:?}");
        select(&sender, "reno"); // it is still ours
    }
}
