//! rwnd: constant, or autotuned to the data that the application reads in a round trip (dynamic right-sizing,
//! Fisk and Feng 2001; Linux: tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window).

use crate::config::Window;
use crate::time::{Nanos, US};
use crate::wire::timestamp_ms;

/// The initial rwnd, bytes: half of Linux's `tcp_rmem[1]`, since the other half is for overhead.
const START_BYTES: u64 = 65_536;
/// What rwnd may grow to before it is tuned, bytes. Linux learns from the first packet how much of the buffer
/// is overhead: a packet of 1448 bytes from a virtual device occupies 2304 (tcp_measure_rcv_mss,
/// scaling_ratio).
const FIRST_LIMIT_BYTES: u64 = 81_920;
/// The assumed amount of data of the first round, packets (Linux: TCP_INIT_CWND).
const FIRST_ROUND_PKTS: u64 = 10;
/// rwnd grows by this number of packets per packet that arrives, up to the limit of autotuning (Linux:
/// tcp_grow_window).
const OPENING_PKTS: u64 = 2;

/// The rwnd that a receiver advertises.
#[derive(Debug, Clone)]
pub(super) struct ReceiveWindow {
    pkts: u64,
    tuning: Option<Tuning>,
}

#[derive(Debug, Clone)]
struct Tuning {
    /// The largest rwnd of the configuration.
    most_pkts: u64,
    /// The largest rwnd for now (Linux: window_clamp).
    limit_pkts: u64,
    rtt: Rtt,
    /// When the current round began.
    round_start: Nanos,
    /// The first packet of the current round.
    round_next: u64,
    /// The most packets that the application read in a round.
    read_pkts: u64,
}

/// The receiver's RTT estimate, times 8; 0: none (Linux: rcv_rtt_est).
#[derive(Debug, Clone, Default)]
struct Rtt {
    us_8: u64,
    last_echo_ms: u32,
    /// The window of data that is measured now.
    measured: Option<MeasuredWindow>,
}

/// A window of data whose duration is an upper bound of the RTT.
#[derive(Debug, Clone, Copy)]
struct MeasuredWindow {
    /// One past its last packet.
    end: u64,
    started: Nanos,
}

/// Data that arrived in one segment, or in one packet of GRO.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataArrival {
    /// Packets that arrived.
    pub(super) pkts: u64,
    /// The next packet in order, before and after.
    pub(super) prior_next: u64,
    pub(super) next: u64,
    /// Distance of the highest packet received out of order from `next`.
    pub(super) ooo_span_pkts: u64,
    /// Packets that are held out of order.
    pub(super) held_pkts: u64,
}

impl ReceiveWindow {
    /// The window of a connection whose full segments have `mss_bytes`.
    pub(super) fn new(config: Window, mss_bytes: u32) -> Self {
        // whole packets, at least one
        let pkts = |bytes: u64| (bytes / u64::from(mss_bytes.max(1))).clamp(1, u64::from(u32::MAX));
        match config {
            Window::Ample => ReceiveWindow { pkts: u64::from(u32::MAX), tuning: None },
            Window::Fixed(bytes) => ReceiveWindow { pkts: pkts(bytes), tuning: None },
            Window::Autotuned(bytes) => {
                let most_pkts = pkts(bytes);
                let start = pkts(START_BYTES).min(most_pkts);
                let tuning = Tuning {
                    most_pkts,
                    limit_pkts: pkts(FIRST_LIMIT_BYTES).min(most_pkts),
                    rtt: Rtt::default(),
                    round_start: 0,
                    round_next: 0,
                    read_pkts: FIRST_ROUND_PKTS.min(start),
                };
                ReceiveWindow { pkts: start, tuning: Some(tuning) }
            }
        }
    }

    /// rwnd in packets from the next in order.
    #[inline]
    pub(super) fn pkts(&self) -> u32 {
        self.pkts as u32 // at most u32::MAX, see new()
    }

    pub(super) fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// Starts the first round, when the connection is established.
    pub(super) fn start(&mut self, now: Nanos) {
        if let Some(t) = &mut self.tuning {
            (t.round_start, t.round_next) = (now, 0);
        }
    }

    /// Autotunes rwnd when data arrives, and returns true if it grew. `echo_ms`: the timestamp that it
    /// echoes. Without `sack`, data out of order must not change rwnd: the ACK would be no duplicate
    /// (Linux: tcp_data_queue_ofo).
    #[inline]
    pub(super) fn on_data(&mut self, now: Nanos, echo_ms: u32, data: DataArrival, sack: bool) -> bool {
        let DataArrival { pkts: arrived, prior_next, next, ooo_span_pkts, held_pkts } = data;
        let Some(t) = &mut self.tuning else { return false };
        let in_order = next > prior_next;
        t.rtt.sample_by_timestamp(now, echo_ms);
        if in_order {
            t.rtt.sample_by_window(now, next, self.pkts);
        }
        // what is held takes room in the buffer, too (Linux: tcp_space)
        let room = t.limit_pkts.saturating_sub(self.pkts + held_pkts);
        let growth = if in_order || sack { room.min(OPENING_PKTS * arrived) } else { 0 };
        self.pkts += growth;
        if in_order {
            t.end_round(now, next, ooo_span_pkts);
        } else {
            t.raise(2 * t.read_pkts + ooo_span_pkts);
        }
        growth > 0
    }
}

impl Tuning {
    /// Once per RTT, sets the limit of rwnd from the data read in it.
    fn end_round(&mut self, now: Nanos, next: u64, ooo_span_pkts: u64) {
        let rtt_us = self.rtt.us_8 >> 3;
        if self.rtt.us_8 == 0 || (now - self.round_start) / US < rtt_us {
            return;
        }
        let read = next - self.round_next;
        (self.round_start, self.round_next) = (now, next);
        if read <= self.read_pkts {
            return;
        }
        // Twice, since rwnd takes effect an RTT later; and the sender may grow by as much as it just did.
        let growth = 2 * read * (read - self.read_pkts) / self.read_pkts;
        self.read_pkts = read;
        self.raise(2 * read + 2 * growth + ooo_span_pkts);
    }

    /// Raises the limit of rwnd (Linux: tcp_rcvbuf_grow).
    fn raise(&mut self, pkts: u64) {
        self.limit_pkts = self.limit_pkts.max(pkts.min(self.most_pkts));
    }
}

impl Rtt {
    /// Samples the time from an ACK to the first segment that echoes it. Samples below the clock's
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
        if let Some(window) = self.measured {
            if next < window.end {
                return;
            }
            let sample_8us = (((now - window.started) / US).max(1)) << 3;
            if self.us_8 == 0 || sample_8us < self.us_8 {
                self.us_8 = sample_8us;
            }
        }
        self.measured = Some(MeasuredWindow { end: next + rwnd_pkts, started: now });
    }
}
