//! Two hosts and a link between them: network namespaces of their own with a veth pair.

use std::io;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::gettid;

/// Link-local addresses: they never leave the two namespaces.
pub(crate) const SENDER: &str = "169.254.78.1";
pub(crate) const RECEIVER: &str = "169.254.78.2";

/// Does something on the other host, in a thread that ends with the work.
pub(crate) struct Receiver(String);

impl Receiver {
    pub(crate) fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let file = std::fs::File::open(&self.0)?;
        let inside = || {
            setns(&file, CloneFlags::CLONE_NEWNET)?;
            work()
        };
        thread::scope(|scope| {
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Moves this thread, with what it starts, to the sending host, which has a BPF file system of its own.
pub(crate) fn enter() -> io::Result<Receiver> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let made = unshare(CloneFlags::CLONE_NEWNET);
        let path = format!("/proc/{}/task/{}/ns/net", std::process::id(), gettid());
        let _ = tell.send(made.map(|()| path));
        // the namespace lives as long as the process
        loop {
            thread::park();
        }
    });
    let receiver = told.recv().map_err(|_| io::Error::other("the thread of the receiver ended"))??;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    hide_mounted_namespaces()?;
    mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), Some("mode=700"))?;
    ip(&format!("link add fp0 type veth peer name fp1 netns {receiver}"))?;
    ip(&format!("addr add {SENDER}/30 dev fp0"))?;
    ip("link set fp0 up")?;
    let receiver = Receiver(receiver);
    receiver.enter(|| {
        ip(&format!("addr add {RECEIVER}/30 dev fp1"))?;
        ip("link set fp1 up")
    })?;
    Ok(receiver)
}

/// Network namespaces that `ip netns` and container engines have mounted: here `panic` does not find them.
fn hide_mounted_namespaces() -> io::Result<()> {
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
    for line in mounts.lines().filter(|line| line.contains(" net:[")) {
        if let Some(place) = line.split(' ').nth(4) {
            umount2(place, MntFlags::MNT_DETACH)?;
        }
    }
    Ok(())
}

pub(crate) fn ip(line: &str) -> io::Result<()> {
    let output = Command::new("ip").args(line.split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("ip {line}: {}", said.trim())))
    }
}
