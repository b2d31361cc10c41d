//! Two hosts and a link between them: network namespaces of their own with a veth pair.

use std::fs;
use std::io;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::gettid;

use crate::machine::on_own_thread;

/// Settings of [`reorder`] for the link and the slower device behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reordering {
    /// Rate of the link, kbit/s.
    pub(crate) rate_kbit: u32,
    /// Buffer of the link, bytes.
    pub(crate) buffer_bytes: u32,
    /// Rate of the link over the rate of the slower device, which gets 1/32 of the packets: up to 32 the
    /// device carries them all.
    pub(crate) ratio: u32,
}

/// Address of the sending host. It is link-local, so that it never leaves the two namespaces.
pub(crate) const SENDER: &str = "169.254.78.1";
/// Address of the receiving host, link-local, too.
pub const RECEIVER: &str = "169.254.78.2";

/// The device of [`second_link`], on the receiver's host.
pub(crate) const SECOND_LINK: &str = "fp2";

/// The receiving host: the path of its network namespace.
pub struct Receiver(String);

impl Receiver {
    /// Performs work on this host, in a thread that ends with the work.
    ///
    /// # Errors
    /// Returns an error if the namespace cannot be entered, or if the work fails.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let file = std::fs::File::open(&self.0)?;
        on_own_thread(|| {
            setns(&file, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
}

/// Moves this thread, with the processes that it starts, to the sending host, which has a BPF file system of
/// its own.
///
/// # Errors
/// Returns an error if the caller is not root, or if a tool (`ip`) is missing.
pub fn enter() -> io::Result<Receiver> {
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

/// Hides network namespaces that `ip netns` and container engines have mounted, so that `panic` does not find
/// them.
fn hide_mounted_namespaces() -> io::Result<()> {
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
    for line in mounts.lines().filter(|line| line.contains(" net:[")) {
        if let Some(place) = line.split(' ').nth(4) {
            umount2(place, MntFlags::MNT_DETACH)?;
        }
    }
    Ok(())
}

/// Gives the link a rate, and sends 3 % of the packets behind it over a slower device. Packets overtake each
/// other, so senders reduce cwnd and undo the reduction.
///
/// The kernel numbers the packets of a connection in their IP headers; every 32nd packet takes the slower
/// device, and queues there.
pub(crate) fn reorder(receiver: &Receiver, how: Reordering) -> io::Result<()> {
    let Reordering { rate_kbit, buffer_bytes, ratio } = how;
    // one packet at a time: a burst has one number
    ip("link set fp0 gso_max_segs 1")?;
    tc(&format!("qdisc add dev fp0 root tbf rate {rate_kbit}kbit burst 3100 limit {buffer_bytes}"))?;
    let slower_kbit = rate_kbit / ratio;
    second_link(receiver, "u16 0 0x1f at 4")?;
    let queue = format!("tbf rate {slower_kbit}kbit burst 1600 limit 1000000");
    receiver.enter(|| tc(&format!("qdisc add dev {SECOND_LINK} root {queue}")))
}

/// Sends IP packets that match behind the link over a further device, [`SECOND_LINK`]. Packets that its queue
/// drops are lost on the path: a sender whose own device drops a packet would be notified, and wait for its
/// probe timer.
pub(crate) fn second_link(receiver: &Receiver, matched: &str) -> io::Result<()> {
    receiver.enter(|| {
        // what was addressed to fp1 arrives at fp3, too
        let address = "address 02:00:00:00:78:02";
        ip(&format!("link set fp1 {address}"))?;
        ip(&format!("link add {SECOND_LINK} type veth peer name fp3 {address}"))?;
        ip(&format!("link set {SECOND_LINK} up"))?;
        ip("link set fp3 up")?;
        for device in ["all", "fp3"] {
            fs::write(format!("/proc/sys/net/ipv4/conf/{device}/rp_filter"), "0")?;
        }
        tc("qdisc add dev fp1 ingress")?;
        tc(&format!(
            "filter add dev fp1 parent ffff: protocol ip u32 match {matched} action mirred egress redirect \
             dev {SECOND_LINK}"
        ))
    })
}

/// Runs one line of `ip` on the host that this thread is on.
///
/// # Errors
/// Returns an error if `ip` is missing or fails; the error has the output of `ip`.
pub fn ip(line: &str) -> io::Result<()> {
    run("ip", line)
}

pub(crate) fn tc(line: &str) -> io::Result<()> {
    run("tc", line)
}

fn run(program: &str, line: &str) -> io::Result<()> {
    let output = Command::new(program).args(line.split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{program} {line}: {}", said.trim())))
    }
}
