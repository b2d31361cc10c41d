//! The receive window, rwnd: constant, or autotuned to the data that the application reads in a round trip
//! (dynamic right-sizing, Fisk and Feng 2001; Linux: tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window).
//!
//! A receiver that never limits its sender tunes, too, without advertising it: while rwnd opens, Linux delays
//! no ACKs.

use crate::config::Window;
use crate::time::{Nanos, US};
use crate::wire::timestamp_ms;

/// Memory for data that the application has not read yet, bytes (Linux: the default of `tcp_rmem[1]`).
const START_MEMORY_BYTES: u64 = 131_072;
/// Bytes of a buffer beside the payload: headers and structures (52, 64 and 320). A packet takes a buffer of
/// a power of two and 256 bytes that describe the packet: 2304 for a payload of 1448 (Linux: truesize).
const BUFFER_OVERHEAD_BYTES: u64 = 52 + 64 + 320;
/// Size of the description of a packet, bytes (Linux: struct sk_buff).
const PACKET_OVERHEAD_BYTES: u64 = 256;
/// Denominator of the shares of memory that are payload, in 1/256 (Linux: scaling_ratio).
const WHOLE: u64 = 256;
/// The unit of the window field, bytes: with a largest receive buffer of 64 MiB (Linux:
/// tcp_select_initial_window).
const SCALE: u64 = 2048;
/// The assumed amount of data of the first round, packets (Linux: TCP_INIT_CWND).
const FIRST_ROUND_PKTS: u64 = 10;

/// Returns the memory that a packet of this payload takes, bytes.
fn packet_memory(mss: u64) -> u64 {
    (mss + BUFFER_OVERHEAD_BYTES).next_power_of_two() + PACKET_OVERHEAD_BYTES
}

/// Returns the share of a packet's memory that is payload, in 1/[`WHOLE`].
fn ratio(mss: u64) -> u64 {
    mss * WHOLE / packet_memory(mss)
}

/// The rwnd that a receiver advertises, bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceiveWindow {
    /// A constant rwnd; `None`: rwnd is autotuned. `u64::MAX`: rwnd limits nothing.
    advertised: Option<u64>,
    /// The constant rwnd in whole packets, or the open part of an autotuned one.
    pkts: u32,
    /// The size to which rwnd is open now (Linux: rcv_ssthresh).
    open: u64,
    /// The largest `open` for now (Linux: window_clamp).
    limit: u64,
    /// The largest `limit` of the configuration.
    most: u64,
    mss: u64,
    /// Amount by which a packet that the application has not read yet lowers `limit`.
    unread: u64,
    /// The right edge of rwnd, which never moves back.
    edge: u64,
    rtt: Rtt,
    /// Packet number below which data in order neither opens rwnd nor ends a measurement of the RTT by
    /// window.
    settled_until: u64,
    /// Time when the current round began, and the earliest time when it ends.
    round_start: Nanos,
    round_end: Nanos,
    /// The first packet of the current round.
    round_next: u64,
    /// Most data that the application read in a round (Linux: rcvq_space.space).
    read: u64,
}

/// The receiver's RTT estimate, times 8; 0: no estimate (Linux: rcv_rtt_est).
#[derive(Debug, Clone, Default)]
struct Rtt {
    us_8: u64,
    last_echo_ms: u32,
    /// End of a window of data whose duration is an upper bound of the RTT: one past its last packet.
    measured_end: u64,
    /// Time when this window began.
    measured_start: Nanos,
}

/// Data that arrived in one segment, or in one packet of GRO.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataArrival {
    /// Number of packets that arrived.
    pub(super) pkts: u64,
    /// The next packet in order, before and after the arrival.
    pub(super) prior_next: u64,
    pub(super) next: u64,
    /// Number of packets that waited for a hole before.
    pub(super) waiting_pkts: u64,
}

impl ReceiveWindow {
    /// Returns the window of a connection whose full segments have `mss_bytes`.
    pub(super) fn new(config: Window, mss_bytes: u32) -> Self {
        let mss = u64::from(mss_bytes.max(1));
        let unread = packet_memory(mss) * ratio(mss) / WHOLE;
        let (advertised, most) = match config {
            Window::Ample => (Some(u64::MAX), u64::MAX),
            Window::Fixed(bytes) => (Some(bytes), 0),
            // beside the packet that arrives last, which is not read yet
            Window::Autotuned(bytes) => (None, bytes.saturating_add(unread)),
        };
        // half of the memory is taken to be payload before the first packet arrives
        let start = START_MEMORY_BYTES / 2;
        let mut window = ReceiveWindow {
            advertised,
            pkts: 0,
            // whole packets, of what the memory holds (Linux: tcp_select_initial_window)
            open: (start / mss * mss).min(most.saturating_sub(unread)),
            // from the first packet on it is known how much payload the memory holds (Linux:
            // tcp_measure_rcv_mss)
            limit: (START_MEMORY_BYTES * ratio(mss) / WHOLE).min(most),
            most,
            mss,
            unread,
            round_end: Nanos::MAX,
            read: FIRST_ROUND_PKTS * mss,
            ..ReceiveWindow::default()
        };
        window.set_pkts();
        window
    }

    /// True if rwnd never changes, so that [`ReceiveWindow::advertise`] may be left out.
    pub(super) fn is_constant(&self) -> bool {
        self.advertised.is_some()
    }

    /// The open part of rwnd in whole packets; at least one, and `u32::MAX` without limit.
    #[inline]
    pub(super) fn pkts(&self) -> u32 {
        self.pkts
    }

    fn set_pkts(&mut self) {
        self.pkts = match self.advertised {
            Some(u64::MAX) => u32::MAX,
            advertised => self.whole_pkts(advertised.unwrap_or(self.open)),
        };
    }

    fn whole_pkts(&self, bytes: u64) -> u32 {
        u32::try_from((bytes / self.mss).max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the window of an ACK of all packets below `next`, with `unread_pkts` packets in memory: in
    /// whole packets, and the low bits of its field. The window of a SYN-ACK is not scaled (RFC 7323, section
    /// 2.2; Linux: tcp_select_window).
    pub(super) fn advertise(&mut self, next: u64, unread_pkts: u64, syn: bool) -> (u32, u8) {
        let next = next * self.mss;
        let free = self.limit.saturating_sub(unread_pkts * self.unread).min(self.open);
        let window = free.max(self.edge.saturating_sub(next));
        let scaled = if syn { window / SCALE } else { window.div_ceil(SCALE) };
        if !syn {
            self.edge = next + scaled * SCALE;
        }
        let pkts = match self.advertised {
            // no rounding beyond what was asked for
            None => self.whole_pkts(window.max(scaled * SCALE).min(self.most - self.unread)),
            Some(_) => self.pkts,
        };
        (pkts, scaled as u8)
    }

    /// Starts the first round, when the connection is established.
    pub(super) fn start(&mut self, now: Nanos) {
        self.round_start = now;
    }

    /// Records a packet in order that makes `next` the next one. Returns true if the packet changes only the
    /// RTT here; otherwise [`ReceiveWindow::on_data`] and [`ReceiveWindow::on_read`] must follow.
    #[inline]
    pub(super) fn is_settled(&mut self, now: Nanos, echo_ms: u32, next: u64) -> bool {
        if echo_ms != self.rtt.last_echo_ms {
            self.sample_by_timestamp(now, echo_ms);
        }
        next < self.settled_until && now < self.round_end
    }

    /// Samples the RTT by timestamp, and so changes the end of the round.
    fn sample_by_timestamp(&mut self, now: Nanos, echo_ms: u32) {
        self.rtt.sample_by_timestamp(now, echo_ms);
        self.end_round_after(self.rtt.us_8 >> 3);
    }

    /// Returns the amount by which rwnd may open further while `unread_pkts` packets are in memory.
    fn room(&self, unread_pkts: u64) -> u64 {
        self.limit.saturating_sub(self.open).saturating_sub(unread_pkts * self.unread)
    }

    /// Records data that arrives and that the application has not read yet. `echo_ms`: the timestamp that the
    /// data echoes. With `opens`, rwnd may open. Returns true if rwnd has opened.
    pub(super) fn on_data(&mut self, now: Nanos, echo_ms: u32, data: DataArrival, opens: bool) -> bool {
        self.sample_by_timestamp(now, echo_ms);
        if data.next > data.prior_next && data.next >= self.rtt.measured_end {
            self.rtt.sample_by_window(now, data.next, self.open / self.mss);
            self.end_round_after(self.rtt.us_8 >> 3);
        }
        // a packet out of order is added to the memory afterwards (Linux: tcp_data_queue_ofo)
        let in_memory = if data.next > data.prior_next { data.pkts } else { 0 };
        let room = self.room(in_memory + data.waiting_pkts);
        let grows = opens && room > 0;
        if grows {
            // Linux: tcp_grow_window
            self.open += room.min(2 * data.pkts * self.mss);
            self.set_pkts();
        }
        self.settle();
        grows
    }

    /// Records that the application reads packets up to `next`, the first of which ends at `first_end`.
    #[inline]
    pub(super) fn on_read(&mut self, now: Nanos, first_end: u64, next: u64, ooo_pkts: u64) {
        if now >= self.round_end {
            self.end_round(now, first_end, next, ooo_pkts);
        }
    }

    fn settle(&mut self) {
        self.settled_until = if self.room(1) == 0 { self.rtt.measured_end } else { 0 };
    }

    fn end_round_after(&mut self, rtt_us: u64) {
        self.round_end = if rtt_us == 0 { Nanos::MAX } else { self.round_start + rtt_us * US };
    }

    /// Sets the limit of rwnd once per RTT, from the data read in it. The round ends with the first packet of
    /// those that are read; data still to be read counts against it (Linux: tcp_rcv_space_adjust).
    fn end_round(&mut self, now: Nanos, first_end: u64, next: u64, ooo_pkts: u64) {
        let read = (first_end - self.round_next).saturating_sub(next - first_end).saturating_mul(self.mss);
        (self.round_start, self.round_next) = (now, first_end);
        self.end_round_after(self.rtt.us_8 >> 3);
        if read > self.read {
            let prior = std::mem::replace(&mut self.read, read);
            self.raise_limit(prior, ooo_pkts);
        }
    }

    /// Raises the limit for packets that wait for a hole: there must be room for them, too.
    pub(super) fn on_disorder(&mut self, ooo_pkts: u64) {
        self.raise_limit(self.read, ooo_pkts);
    }

    /// Raises the limit as Linux's tcp_rcvbuf_grow does.
    fn raise_limit(&mut self, prior_read: u64, ooo_pkts: u64) {
        // twice, since rwnd takes effect an RTT later; and the sender may grow by as much as it just did
        let growth = (2 * self.read).saturating_mul(self.read - prior_read) / prior_read;
        let wanted = 2 * (self.read + growth) + ooo_pkts * self.mss;
        self.limit = self.limit.max(wanted.min(self.most));
        self.settle();
    }
}

impl Rtt {
    /// Samples the time from an ACK to the first segment that echoes its timestamp. Samples below the clock's
    /// millisecond are ignored.
    fn sample_by_timestamp(&mut self, now: Nanos, echo_ms: u32) {
        if echo_ms == self.last_echo_ms {
            return;
        }
        self.last_echo_ms = echo_ms;
        let sample_us = 1000 * u64::from(timestamp_ms(now).wrapping_sub(echo_ms));
        if sample_us == 0 {
            return;
        }
        match self.us_8 {
            0 => self.us_8 = sample_us << 3,
            old if sample_us << 3 < old => self.us_8 = sample_us << 3,
            old => self.us_8 = old - (old >> 3) + sample_us,
        }
    }

    /// Samples the time in which a window of data arrives: at least an RTT.
    fn sample_by_window(&mut self, now: Nanos, next: u64, rwnd_pkts: u64) {
        if self.measured_end > 0 {
            let sample_8us = (((now - self.measured_start) / US).max(1)) << 3;
            if self.us_8 == 0 || sample_8us < self.us_8 {
                self.us_8 = sample_8us;
            }
        }
        (self.measured_end, self.measured_start) = (next + rwnd_pkts.max(1), now);
    }
}
