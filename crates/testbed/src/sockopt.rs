//! Socket options and system calls that nix does not wrap.

use fairpace_cc::{Observation, Phase};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Reads an option of a plain structure by `getsockopt`. An older kernel, or a smaller answer, fills only its
/// front; the rest stays zero. Returns the structure and the number of bytes filled.
///
/// # Safety
/// Every bit pattern must be a valid `T`.
unsafe fn get<T>(fd: BorrowedFd<'_>, name: libc::c_int) -> io::Result<(T, usize)> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: by this function's contract all zeros, like any bytes, are a valid T.
    let mut value: T = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values and `length` is the size of `value`.
    let status = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, name, (&raw mut value).cast(), &raw mut length)
    };
    if status == 0 { Ok((value, length as usize)) } else { Err(io::Error::last_os_error()) }
}

/// Returns `TCP_INFO` of a connection.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info consists of integers.
    unsafe { get::<libc::tcp_info>(fd, libc::TCP_INFO) }.map(|(info, _)| info)
}

/// The option `TCP_CC_INFO` of linux/tcp.h.
const TCP_CC_INFO: libc::c_int = 26;

/// `struct tcp_bbr_info` of linux/inet_diag.h: the state of the kernel's own `bbr`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BbrInfo {
    bandwidth_low: u32,
    bandwidth_high: u32,
    /// Estimated propagation RTT; all ones: no estimate yet.
    pub(crate) min_rtt_us: u32,
    /// Pacing gain in 1/256.
    pub(crate) pacing_gain_256: u32,
    /// cwnd gain in 1/256.
    pub(crate) cwnd_gain_256: u32,
}

impl BbrInfo {
    /// The estimated bandwidth, bytes per second.
    pub(crate) fn bandwidth_bytes_per_s(&self) -> u64 {
        u64::from(self.bandwidth_high) << 32 | u64::from(self.bandwidth_low)
    }
}

/// Returns the state of the connection's `bbr`; `None` with another congestion control.
pub(crate) fn bbr_info(fd: BorrowedFd<'_>) -> Option<BbrInfo> {
    cc_info(fd)
}

/// `struct cc_info` of cc/linux/algorithm.c: the state of an algorithm that is built into the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuiltInInfo {
    bw_low: u32,
    bw_high: u32,
    min_rtt_us: u32,
    pacing_gain_256: u32,
    phase: u32,
}

impl BuiltInInfo {
    /// What the algorithm observes; it does not report its cwnd gain. `None`: there is no such phase.
    pub(crate) fn observation(&self) -> Option<Observation> {
        Some(Observation {
            bw_Bps: u64::from(self.bw_high) << 32 | u64::from(self.bw_low),
            min_rtt_us: (self.min_rtt_us != u32::MAX).then_some(self.min_rtt_us),
            pacing_gain_256: self.pacing_gain_256,
            cwnd_gain_256: 0,
            phase: Phase::from_number(self.phase)?,
        })
    }
}

/// Returns the state of an algorithm that is built into the kernel; `None`: the connection has none yet.
pub(crate) fn built_in_info(fd: BorrowedFd<'_>) -> Option<BuiltInInfo> {
    cc_info(fd)
}

/// The state of the connection's congestion control, if it has the size of `T`.
fn cc_info<T: OfIntegers>(fd: BorrowedFd<'_>) -> Option<T> {
    // SAFETY: every bit pattern is a T.
    let (info, length) = unsafe { get::<T>(fd, TCP_CC_INFO) }.ok()?;
    (length == size_of::<T>()).then_some(info)
}

/// A structure of integers.
///
/// # Safety
/// Every bit pattern must be valid.
unsafe trait OfIntegers {}

// SAFETY: it consists of integers.
unsafe impl OfIntegers for BbrInfo {}

// SAFETY: it consists of integers.
unsafe impl OfIntegers for BuiltInInfo {}

/// Sets `TCP_SYNCNT`: the number of retransmissions of a SYN, 1 to 127.
pub(crate) fn set_syn_retries(fd: BorrowedFd<'_>, retries: u32) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, libc::TCP_SYNCNT, retries)
}

/// Sets an integer option by `setsockopt`.
fn set<T: Copy>(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the pointer is to a live value of the given size, which the kernel copies.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets `TCP_NOTSENT_LOWAT`: the socket accepts no more data while it holds `bytes` of unsent data.
pub(crate) fn limit_unsent(fd: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// The largest receive window: a scale of 14 bits is the most (RFC 7323, section 2.3).
const MOST_WINDOW_BYTES: u64 = 1 << 30;

/// Returns a number of bytes of payload as the kernel takes it for a receive window.
fn window(bytes: u64) -> libc::c_int {
    libc::c_int::try_from(bytes.min(MOST_WINDOW_BYTES)).unwrap_or(libc::c_int::MAX)
}

/// Gives a socket that will listen, and what it accepts, a receive buffer that holds at least `bytes` of
/// payload, and which Linux then does not tune: twice as much, of which Linux takes half for its overhead.
pub(crate) fn set_receive_buffer(fd: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    // as root beyond net.core.rmem_max
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, window(bytes.saturating_mul(2)))?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window(bytes))
}

/// Limits the receive window of a connection to `bytes`. Linux sets its own limit when it has measured the
/// memory of full packets, and when it enlarges the buffer (`tcp_measure_rcv_mss`, `tcp_rcvbuf_grow`).
pub(crate) fn limit_window(fd: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    // SAFETY: every bit pattern is a number.
    let (now, _) = unsafe { get::<libc::c_int>(fd, libc::TCP_WINDOW_CLAMP) }?;
    if now > window(bytes) {
        set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window(bytes))
    } else {
        Ok(())
    }
}

/// Makes TCP pace the socket, at the rate that Linux computes from cwnd and RTT for algorithms that set no
/// rate (`tcp_update_pacing_rate`). Any limit of the pacing rate has this effect (`SO_MAX_PACING_RATE`:
/// without the fq queue discipline, `sk_pacing_status` becomes `SK_PACING_NEEDED`); this limit is above every
/// rate. The largest number would mean no limit.
pub(crate) fn pace(fd: BorrowedFd<'_>) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)
}

/// Reads and discards up to `limit` bytes without copying them (`MSG_TRUNC`, tcp(7)); 0 is the end of the
/// stream.
pub(crate) fn discard(fd: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC on a TCP socket nothing is written to the buffer, so it may be null.
    let n = unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), limit, libc::MSG_TRUNC) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Aborts a connection: unsent data is discarded and the peer gets a RST (connect(2) with `AF_UNSPEC`).
/// Unlike close(2), it leaves the descriptor open, which another thread may be using.
pub(crate) fn abort(fd: BorrowedFd<'_>) -> io::Result<()> {
    let no_peer = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    // SAFETY: the pointer is to a live value of the given size.
    let status = unsafe {
        libc::connect(fd.as_raw_fd(), &raw const no_peer, size_of::<libc::sockaddr>() as libc::socklen_t)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
