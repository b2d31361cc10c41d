//! The receive window: constant, or tuned to what the application reads in a round trip (dynamic right-sizing, Fisk
//! and Feng 2001; Linux: tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window).

use crate::config::Window;
use crate::wire::timestamp_ms;
use crate::{MSS_BYTES, Nanos, Segment, US};

/// What a connection starts with: half of tcp_rmem[1], as the other half is taken for overhead.
const START_BYTES: u64 = 65_536;
/// What Linux takes for the first round's worth of data, TCP_INIT_CWND.
const FIRST_ROUND_PKTS: u64 = 10;
/// The window opens by so many packets for each one that arrives, until it is what tuning allows.
const OPENING_PKTS: u64 = 2;

/// The window that a receiver advertises.
#[derive(Debug, Clone)]
pub(super) struct ReceiveWindow {
    pkts: u64,
    tuning: Option<Tuning>,
}

#[derive(Debug, Clone)]
struct Tuning {
    /// The window may never become larger.
    most_pkts: u64,
    /// It may grow up to this now (Linux: window_clamp).
    limit_pkts: u64,
    rtt: Rtt,
    /// When the current round of reading began, and with which packet.
    round: (Nanos, u64),
    /// Read in the best round so far.
    read_pkts: u64,
}

/// The RTT as a receiver sees it, times 8; 0: not yet.
#[derive(Debug, Clone, Default)]
struct Rtt {
    us_8: u64,
    last_echo_ms: u32,
    /// A window's worth ends with this packet and began at this time.
    flight: Option<(u64, Nanos)>,
}

/// Whole packets, at least one.
fn pkts(bytes: u64) -> u64 {
    (bytes / u64::from(MSS_BYTES)).clamp(1, u64::from(u32::MAX))
}

impl ReceiveWindow {
    pub(super) fn new(config: Window) -> Self {
        match config {
            Window::Ample => ReceiveWindow { pkts: u64::from(u32::MAX), tuning: None },
            Window::Fixed(bytes) => ReceiveWindow { pkts: pkts(bytes), tuning: None },
            Window::Autotuned(bytes) => {
                let most_pkts = pkts(bytes);
                let start = pkts(START_BYTES).min(most_pkts);
                let tuning = Tuning {
                    most_pkts,
                    limit_pkts: start,
                    rtt: Rtt::default(),
                    round: (0, 0),
                    read_pkts: FIRST_ROUND_PKTS.min(start),
                };
                ReceiveWindow { pkts: start, tuning: Some(tuning) }
            }
        }
    }

    /// Packets beyond the next in order.
    #[inline]
    pub(super) fn pkts(&self) -> u32 {
        self.pkts as u32 // at most u32::MAX, see pkts()
    }

    pub(super) fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// The connection begins.
    pub(super) fn start(&mut self, now: Nanos) {
        if let Some(t) = &mut self.tuning {
            t.round = (now, 0);
        }
    }

    /// `arrived` packets came with `segment` and took what is read up to `next`, from `prior`; of what is beyond,
    /// the last packet is `early` ahead.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Nanos,
        segment: &Segment,
        arrived: u64,
        (prior, next): (u64, u64),
        early: u64,
    ) {
        if let Some(t) = &mut self.tuning {
            t.rtt.sample_by_timestamp(now, segment.echo_ms);
            if next > prior {
                t.rtt.sample_by_window(now, next, self.pkts);
            }
            let room = t.limit_pkts.saturating_sub(self.pkts);
            self.pkts += room.min(OPENING_PKTS * arrived);
            if next > prior {
                t.end_round(now, next, early);
            }
        }
    }
}

impl Tuning {
    /// Once per RTT: what was read in it says what the next window should be.
    fn end_round(&mut self, now: Nanos, next: u64, early: u64) {
        let rtt_us = self.rtt.us_8 >> 3;
        if self.rtt.us_8 == 0 || (now - self.round.0) / US < rtt_us {
            return;
        }
        let read = next - self.round.1;
        self.round = (now, next);
        if read <= self.read_pkts {
            return;
        }
        // The window is one RTT late, hence twice; and it must let the sender grow as much as it just did, again.
        let growth = 2 * read * (read - self.read_pkts) / self.read_pkts;
        self.read_pkts = read;
        self.limit_pkts = self.limit_pkts.max((2 * read + 2 * growth + early).min(self.most_pkts));
    }
}

impl Rtt {
    /// From an ACK to the first segment that echoes it. The clock counts milliseconds; less tells nothing.
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

    /// The time in which a window of data arrived is an RTT, or longer.
    fn sample_by_window(&mut self, now: Nanos, next: u64, rwnd_pkts: u64) {
        if let Some((end, began)) = self.flight {
            if next < end {
                return;
            }
            let sample_8us = (((now - began) / US).max(1)) << 3;
            if self.us_8 == 0 || sample_8us < self.us_8 {
                self.us_8 = sample_8us;
            }
        }
        self.flight = Some((next + rwnd_pkts, now));
    }
}
