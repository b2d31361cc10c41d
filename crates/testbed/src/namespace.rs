//! The two ends of the testbed: network namespaces that exist only as long as this process holds them.
//!
//! A thread creates a namespace and ends. From then on the descriptors that it opened keep the namespace
//! alive: the TUN device and the sockets. No part has a name in the file system, so when the process ends,
//! for whatever reason, the kernel closes the descriptors and removes device, sockets and namespace. The
//! sockets abort on close (`SO_LINGER` 0), since a connection that closes in order would keep its namespace
//! for minutes.
//!
//! To enter a namespace during a run: `nsenter --net=/proc/PID/fd/FD`, with the FD that
//! `FAIRPACE_LOG=fairpace_testbed=debug` prints.

use crate::{Error, bursts};
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tun_rs::{DeviceBuilder, SyncDevice};

/// The two sides of the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The sending side.
    Sender,
    /// The receiving side.
    Receiver,
}

impl Side {
    /// Returns the side's address, from the block that RFC 2544 reserves for benchmarks.
    pub(crate) const fn address(self) -> Ipv4Addr {
        match self {
            Side::Sender => Ipv4Addr::new(198, 18, 0, 1),
            Side::Receiver => Ipv4Addr::new(198, 18, 0, 2),
        }
    }

    pub(crate) const fn device(self) -> &'static str {
        match self {
            Side::Sender => "fp-send",
            Side::Receiver => "fp-recv",
        }
    }
}

/// Length of the network prefix: both sides are neighbours on one link.
const PREFIX_BITS: u8 = 30;

/// Most packets that wait in the device until the emulator reads them. The kernel's default of 500 is less
/// than one cwnd of a fast flow, and a packet lost here is a loss that the scenario does not have.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;

/// Largest automatic send and receive buffer, bytes. The default of 4-6 MB silently limits a flow of 100
/// Mbit/s and 200 ms of RTT with a standing queue. The kernel counts its own overhead too, so about half of
/// it is data.
const MAX_SOCKET_BUFFER_BYTES: u64 = 64 << 20;

/// The send buffer at the start, bytes: 1 MiB holds 450 packets. The kernel's default of 16 KB grows with
/// cwnd only; then a short flow whose oldest packet is lost cannot write its rest: a limit that the scenario
/// does not have.
const SEND_BUFFER_BYTES: u64 = 1 << 20;

/// When packets have the AccECN option.
const ACCECN_OPTION: &str = "ipv4/tcp_ecn_option";
/// The value of `tcp_ecn` of a host that accepts accurate ECN and the ECN of RFC 3168, and requests neither.
const ACCEPT_ACCURATE_ECN: &str = "5";

/// Settings that all connections of a host have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    /// True if the host sends bursts of packets; if false, each packet by itself.
    pub(crate) tso: bool,
    /// MTU of the host's device, bytes: the largest of all flows.
    pub(crate) mtu_bytes: u16,
    /// True if the host offers and uses selective acknowledgments.
    pub(crate) sack: bool,
    /// Accurate ECN (RFC 9768), which the host accepts then, and whether its packets have the AccECN option;
    /// `None`: it has none.
    pub(crate) accurate_ecn: Option<bool>,
}

/// The device of a side, and a file of its namespace.
pub(crate) struct Device {
    pub(crate) tun: SyncDevice,
    /// The namespace's `/proc/net/dev`: an open file stays in its namespace.
    statistics: File,
    name: &'static str,
}

impl Device {
    /// Returns the number of packets that the kernel dropped since the start because the emulator had not
    /// read them in time.
    pub(crate) fn lost_before_read(&self) -> io::Result<u64> {
        let mut text = vec![0; 4096];
        let length = self.statistics.read_at(&mut text, 0)?;
        let text = String::from_utf8_lossy(&text[..length]);
        transmit_drops(&text, self.name)
            .ok_or_else(|| io::Error::other(format!("no statistics of device {}", self.name)))
    }
}

/// Returns the transmit-drop counter of a device in the format of `/proc/net/dev`: name, then 8 columns for
/// receive and 8 for transmit; the fourth of them has the drops.
fn transmit_drops(table: &str, device: &str) -> Option<u64> {
    let columns = table.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    columns.split_whitespace().nth(8 + 3)?.parse().ok()
}

/// Checks that this process may create namespaces.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::Setup`].
pub(crate) fn probe() -> Result<(), Error> {
    on_own_thread("probe", enter_new)
}

/// Creates the namespace of a side, configures it and runs `work` in it. Returns the device and the result of
/// `work`. The calling thread stays in its own namespace.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::NoAccurateEcn`], [`Error::Setup`], and errors of `work`.
pub(crate) fn create<T: Send>(
    side: Side,
    host: Host,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<(Device, T), Error> {
    let set_up = || {
        enter_new()?;
        configure(Path::new("/proc/sys/net"), host)?;
        let device = open_device(side, host.mtu_bytes)?;
        if !host.tso {
            // before any socket connects: a socket takes the limit of its route's device
            let forbidden = device.tun.if_index().and_then(bursts::forbid);
            forbidden.map_err(Error::setup(format!("forbid TSO bursts on {}", side.device())))?;
        }
        Ok((device, work()?))
    };
    on_own_thread(side.device(), set_up)
}

/// Runs `work` on a thread of its own: a thread that enters a namespace does not leave it, but ends.
fn on_own_thread<T: Send>(name: &str, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn_scoped(scope, work)
            .map_err(Error::setup("start a thread"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn enter_new() -> Result<(), Error> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
        nix::errno::Errno::EPERM => Error::NotPermitted { cause: errno.into() },
        _ => Error::Setup { step: "create a network namespace".into(), cause: errno.into() },
    })
}

/// Configures the calling thread's namespace. `root` is `/proc/sys/net` as that thread sees it.
fn configure(root: &Path, host: Host) -> Result<(), Error> {
    let write = |key: &str, value: &str| {
        fs::write(root.join(key), value).map_err(Error::setup(format!("set net.{}", key.replace('/', "."))))
    };
    for (key, start) in [("ipv4/tcp_rmem", None), ("ipv4/tcp_wmem", Some(SEND_BUFFER_BYTES))] {
        let path = root.join(key);
        let old = fs::read_to_string(&path).map_err(Error::setup(format!("read {}", path.display())))?;
        write(key, &with_sizes(&old, start, MAX_SOCKET_BUFFER_BYTES))?;
    }
    // No metrics of an earlier flow are used.
    write("ipv4/tcp_no_metrics_save", "1")?;
    // SYN and SYN-ACK offer it, or do not (RFC 2018, section 2): each side must agree.
    write("ipv4/tcp_sack", if host.sack { "1" } else { "0" })?;
    if let Some(option) = host.accurate_ecn {
        accept_accurate_ecn(&root.join("ipv4/tcp_ecn"))?;
        if !option {
            write(ACCECN_OPTION, "0")?;
        }
    }
    // Router solicitations would use the bottleneck. A kernel without IPv6 sends none.
    for key in ["ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"] {
        if root.join(key).exists() {
            write(key, "1")?;
        }
    }
    Ok(())
}

/// Makes a namespace accept accurate ECN, if the kernel can. Linux 6.18 has the code, but its setting ends at
/// the values of RFC 3168.
fn accept_accurate_ecn(setting: &Path) -> Result<(), Error> {
    match fs::write(setting, ACCEPT_ACCURATE_ECN) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Err(Error::NoAccurateEcn),
        written => written.map_err(Error::setup("set net.ipv4.tcp_ecn")),
    }
}

/// Sets `net.ipv4.NAME` of the calling thread's namespace. An older kernel may not have it: then only the
/// usual value is possible.
///
/// # Errors
/// [`Error::Setup`].
pub(crate) fn set_ipv4(name: &str, value: u64, usual: u64) -> Result<(), Error> {
    let path = Path::new("/proc/sys/net/ipv4").join(name);
    if value == usual && !path.exists() {
        return Ok(());
    }
    fs::write(path, value.to_string()).map_err(Error::setup(format!("set net.ipv4.{name}")))
}

/// Returns the triple of `tcp_rmem` or `tcp_wmem`, "minimum start maximum", with these sizes. Without
/// `start`, the start stays.
fn with_sizes(triple: &str, start: Option<u64>, maximum: u64) -> String {
    let mut values: Vec<String> = triple.split_whitespace().map(str::to_owned).collect();
    for (place, value) in [(1, start), (2, Some(maximum))] {
        if let (Some(old), Some(new)) = (values.get_mut(place), value) {
            *old = new.to_string();
        }
    }
    values.join(" ")
}

fn open_device(side: Side, mtu_bytes: u16) -> Result<Device, Error> {
    let tun = DeviceBuilder::new()
        .name(side.device())
        .ipv4(side.address(), PREFIX_BITS, None)
        .mtu(mtu_bytes)
        .tx_queue_len(DEVICE_QUEUE_PACKETS)
        .build_sync()
        .and_then(|tun| tun.set_nonblocking(true).map(|()| tun))
        .map_err(Error::setup(format!("create the TUN device {}", side.device())))?;
    let statistics = File::open("/proc/thread-self/net/dev").map_err(Error::setup("read /proc/net/dev"))?;
    tracing::debug!(device = side.device(), fd = tun.as_raw_fd(), "namespace ready");
    Ok(Device { tun, statistics, name: side.device() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_a_buffer_triple_changes_and_its_start_if_it_is_given() {
        let old = "4096\t16384\t4194304\n";
        assert_eq!(with_sizes(old, None, 64 << 20), "4096 16384 67108864");
        assert_eq!(with_sizes(old, Some(1 << 20), 64 << 20), "4096 1048576 67108864");
    }

    #[test]
    fn drops_are_read_from_the_right_column_of_the_right_device() {
        let table = "Inter-|   Receive                        |  Transmit\n\
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n\
                lo:       1       2    3    4    5     6          7         8        9      10   11   12\x20\
             13   14    15         16\n\
             fp-send: 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!(transmit_drops(table, "fp-send"), Some(32));
        assert_eq!(transmit_drops(table, "lo"), Some(12));
        assert_eq!(transmit_drops(table, "fp"), None);
    }

    #[test]
    fn the_two_ends_are_hosts_of_one_subnet() {
        let network = |a: Ipv4Addr| a.to_bits() >> (32 - PREFIX_BITS);
        assert_eq!(network(Side::Sender.address()), network(Side::Receiver.address()));
        assert_ne!(Side::Sender.address(), Side::Receiver.address());
        assert_ne!(Side::Sender.device(), Side::Receiver.device());
    }
}
