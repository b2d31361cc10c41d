//! The sender of a connection: it obeys cwnd and pacing rate, finds losses, and reports events.
//!
//! A small transport in the way of QUIC: a packet number for each transmission, loss by packet threshold (RFC
//! 9002 section 6.1.1). Of TCP it has the retransmission timeout that declares everything in flight lost (RFC
//! 6298), since the draft's cases have one; QUIC's nearest equivalent is persistent congestion.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{App, Case};
use crate::path::Path;
use crate::protocol::{Ack, Control, Event, Range, Sample, Sent, Timeout};
use crate::sampler::{Acked, Connection, Packet};

/// Number of later packets: a packet is lost when a packet sent this many packets later is acknowledged
/// (kPacketThreshold, RFC 9002 section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// The least timeout beyond the smoothed RTT: Linux's TCP_RTO_MIN, which may be below the 1 s of RFC 6298.
const RTO_MARGIN_US: u64 = 200_000;
/// The timeout before there is an RTT: RFC 6298 section 2.1.
const INITIAL_RTO_US: u64 = 1_000_000;
/// Largest factor to which timeouts double.
const MOST_BACKOFF: u64 = 64;
/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// The condition that stops the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Data,
    Cwnd,
    Pacing,
}

/// The sender of a connection: see the module.
#[derive(Default)]
pub(crate) struct Transport {
    pub(crate) path: Path,
    mss_bytes: u64,
    pub(crate) now_ns: u64,
    /// The control in force.
    pub(crate) control: Control,
    app: App,
    /// Time when the application has its next packet, for [`App::Rate`].
    app_next_ns: u64,
    /// True once [`App::Paused`] has sent one more packet, so that an algorithm can notice with it that it is
    /// the last.
    had_last: bool,
    retransmit_pkts: u64,
    next_packet: u64,
    next_send_ns: u64,
    connection: Connection,
    in_flight: BTreeMap<u64, Packet>,
    /// Packets declared lost and not acknowledged since.
    lost: BTreeMap<u64, Packet>,
    /// Packets of the last episode of losses that are not acknowledged since.
    episode: BTreeSet<u64>,
    /// True if all packets of an episode have been acknowledged with the last ACK.
    is_spurious: bool,
    /// Packet number that ends recovery: an ACK of a packet from this number on.
    recovery_until: Option<u64>,
    /// Packet number from which on losses begin another episode.
    episode_end: u64,
    srtt_us: u64,
    rttvar_us: u64,
    backoff: u64,
    rto_from_ns: u64,
    cwnd_limited_rounds: [bool; 2],
    round_end_bytes: u64,
    pub(crate) rounds: u64,
    pub(crate) lost_packets: u64,
    /// The last delivery rate sample; 0: none yet.
    pub(crate) sample_Bps: u64,
}

impl Transport {
    pub(crate) fn new(case: &Case) -> Self {
        let header = &case.header;
        Self {
            path: Path::new(header.path),
            mss_bytes: header.mss_bytes,
            control: Control { cwnd_bytes: header.initial_cwnd_bytes, ..Control::default() },
            app: header.app,
            backoff: 1,
            ..Self::default()
        }
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.now_ns / 1000
    }

    pub(crate) fn in_flight_bytes(&self) -> u64 {
        self.in_flight.len() as u64 * self.mss_bytes
    }

    pub(crate) fn delivered_bytes(&self) -> u64 {
        self.connection.delivered_bytes
    }

    pub(crate) fn set_app(&mut self, app: App) {
        self.app = app;
        self.had_last = false;
        self.app_next_ns = self.now_ns;
    }

    /// Puts an answer into force.
    pub(crate) fn apply(&mut self, control: Control) {
        self.control = control;
        if control.mark_app_limited {
            self.connection.mark_app_limited(self.in_flight_bytes());
        }
    }

    /// Returns the next event, at `until_ns` at the latest; `None`: no event up to then, and the time is
    /// `until_ns` now.
    pub(crate) fn next(&mut self, until_ns: u64) -> Option<Event> {
        loop {
            let stop = self.stop();
            let Some(stop) = stop else { return Some(self.send()) };
            self.note(stop);
            let at = self.wake_ns(stop).min(until_ns);
            self.now_ns = self.now_ns.max(at);
            let acked = self.path.advance(self.now_ns);
            if !acked.is_empty() {
                return Some(self.on_ack(&acked));
            }
            if self.rto_ns().is_some_and(|rto| rto <= self.now_ns) {
                return Some(self.on_timeout());
            }
            if self.now_ns >= until_ns && self.stop().is_some() {
                return None;
            }
        }
    }

    /// Returns the event after the ACK that acknowledged the last packet of an episode of losses: none of
    /// them was lost.
    pub(crate) fn spurious(&mut self) -> Option<Event> {
        if !std::mem::take(&mut self.is_spurious) {
            return None;
        }
        self.recovery_until = None;
        Some(Event::Spurious { time_us: self.now_us() })
    }

    fn stop(&self) -> Option<Stop> {
        if !self.has_data() {
            return Some(Stop::Data);
        }
        if self.in_flight_bytes() + self.mss_bytes > self.control.cwnd_bytes {
            return Some(Stop::Cwnd);
        }
        (self.next_send_ns > self.now_ns).then_some(Stop::Pacing)
    }

    fn has_data(&self) -> bool {
        self.retransmit_pkts > 0
            || match self.app {
                App::Bulk => true,
                App::Paused => !self.had_last,
                App::Rate(_) => self.app_next_ns <= self.now_ns,
            }
    }

    fn note(&mut self, stop: Stop) {
        match stop {
            Stop::Data if self.in_flight_bytes() < self.control.cwnd_bytes => {
                self.connection.mark_app_limited(self.in_flight_bytes());
            }
            Stop::Cwnd => self.cwnd_limited_rounds[0] = true,
            _ => {}
        }
    }

    /// Returns the time when the sender can act next.
    fn wake_ns(&self, stop: Stop) -> u64 {
        let send = match (stop, self.app) {
            (Stop::Pacing, _) => Some(self.next_send_ns),
            (Stop::Data, App::Rate(_)) => Some(self.app_next_ns),
            _ => None,
        };
        [self.path.next_ns(), self.rto_ns(), send].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn rto_ns(&self) -> Option<u64> {
        if self.in_flight.is_empty() {
            return None;
        }
        let rto_us = match self.srtt_us {
            0 => INITIAL_RTO_US,
            srtt_us => srtt_us + RTO_MARGIN_US.max(4 * self.rttvar_us),
        };
        Some(self.rto_from_ns + rto_us * self.backoff * 1000)
    }

    fn send(&mut self) -> Event {
        if self.retransmit_pkts > 0 {
            self.retransmit_pkts -= 1;
        } else {
            match self.app {
                App::Bulk => {}
                App::Paused => self.had_last = true,
                App::Rate(rate_Bps) => {
                    self.app_next_ns = self.now_ns + self.mss_bytes * SECOND_NS / rate_Bps.max(1);
                }
            }
        }
        if self.in_flight.is_empty() {
            self.rto_from_ns = self.now_ns;
        }
        let (packet, before) = (self.next_packet, self.in_flight_bytes());
        self.next_packet += 1;
        let state = self.connection.on_sent(self.now_us(), packet, before, self.mss_bytes);
        self.in_flight.insert(packet, state);
        self.path.send(self.now_ns, packet, self.mss_bytes);
        let spacing_ns = match self.control.pacing_rate_Bps {
            Some(rate_Bps) => self.mss_bytes * SECOND_NS / rate_Bps.max(1),
            None => 0,
        };
        self.next_send_ns = self.next_send_ns.max(self.now_ns) + spacing_ns;
        Event::Sent(Sent {
            time_us: self.now_us(),
            packet,
            bytes: self.mss_bytes,
            in_flight_bytes: self.in_flight_bytes(),
            more_data: self.has_data(),
            app_limited: self.connection.is_app_limited(),
        })
    }

    fn on_ack(&mut self, packets: &[u64]) -> Event {
        let (now_us, prior_in_flight_bytes) = (self.now_us(), self.in_flight_bytes());
        self.note_app_limited();
        let (mut acked, mut late, mut rate) = (Vec::new(), Vec::new(), Acked::default());
        for number in packets {
            if let Some(state) = self.in_flight.remove(number) {
                acked.push(*number);
                self.connection.on_delivered(now_us, state, self.mss_bytes, &mut rate);
            } else if let Some(state) = self.lost.remove(number) {
                late.push(*number);
                self.connection.on_delivered(now_us, state, self.mss_bytes, &mut rate);
                self.is_spurious |= self.episode.remove(number) && self.episode.is_empty();
            }
        }
        let largest = packets.iter().max().copied().unwrap_or_default();
        let lost: Vec<u64> =
            self.in_flight.range(..(largest + 1).saturating_sub(PACKET_THRESHOLD)).map(|(n, _)| *n).collect();
        self.declare_lost(&lost);
        if self.recovery_until.is_some_and(|until| largest >= until) {
            self.recovery_until = None;
        }
        self.rto_from_ns = self.now_ns;
        self.backoff = 1;
        let (sample, newest) = self.connection.sample(&rate);
        let rtt_us = newest.map_or(0, |packet| now_us - packet.send_time_us);
        self.update_rtt(rtt_us);
        self.update_round(&sample);
        Event::Ack(Ack {
            time_us: now_us,
            acked: ranges(acked),
            lost: ranges(lost),
            late: ranges(late),
            rtt_us,
            prior_in_flight_bytes,
            in_flight_bytes: self.in_flight_bytes(),
            app_limited: self.connection.is_app_limited(),
            cwnd_limited: self.cwnd_limited_rounds.contains(&true),
            in_recovery: self.recovery_until.is_some(),
            sample,
        })
    }

    /// Runs `CheckIfApplicationLimited()` at the beginning of ACK processing (section 4.1.2.4).
    fn note_app_limited(&mut self) {
        if !self.has_data() && self.in_flight_bytes() < self.control.cwnd_bytes {
            self.connection.mark_app_limited(self.in_flight_bytes());
        }
    }

    fn declare_lost(&mut self, lost: &[u64]) {
        let Some(last) = lost.last() else { return };
        let begins = self.recovery_until.is_none() || *last >= self.episode_end;
        if begins {
            self.episode_end = self.next_packet;
            self.episode.clear();
        }
        self.episode.extend(lost);
        self.is_spurious = false;
        // the repairs are sent from now on
        self.recovery_until = Some(self.next_packet);
        for number in lost {
            if let Some(state) = self.in_flight.remove(number) {
                self.lost.insert(*number, state);
            }
        }
        self.connection.lost_bytes += lost.len() as u64 * self.mss_bytes;
        self.lost_packets += lost.len() as u64;
        self.retransmit_pkts += lost.len() as u64;
    }

    fn on_timeout(&mut self) -> Event {
        let prior_in_flight_bytes = self.in_flight_bytes();
        let lost: Vec<u64> = self.in_flight.keys().copied().collect();
        self.declare_lost(&lost);
        self.rto_from_ns = self.now_ns;
        self.backoff = (self.backoff * 2).min(MOST_BACKOFF);
        self.next_send_ns = self.next_send_ns.min(self.now_ns);
        Event::Timeout(Timeout {
            time_us: self.now_us(),
            lost: ranges(lost),
            prior_in_flight_bytes,
            app_limited: self.connection.is_app_limited(),
        })
    }

    /// Updates the RTT estimate: RFC 6298 section 2.
    fn update_rtt(&mut self, rtt_us: u64) {
        if rtt_us == 0 {
            return;
        }
        if self.srtt_us == 0 {
            (self.srtt_us, self.rttvar_us) = (rtt_us, rtt_us / 2);
            return;
        }
        self.rttvar_us = (3 * self.rttvar_us + self.srtt_us.abs_diff(rtt_us)) / 4;
        self.srtt_us = (7 * self.srtt_us + rtt_us) / 8;
    }

    /// Runs `UpdateRound()` of section 5.5.1.
    fn update_round(&mut self, sample: &Sample) {
        let rate_Bps = (sample.delivered_bytes * 1_000_000).checked_div(sample.interval_us);
        self.sample_Bps = rate_Bps.unwrap_or(self.sample_Bps);
        if sample.delivered_bytes > 0 && sample.prior_delivered_bytes >= self.round_end_bytes {
            self.round_end_bytes = sample.total_delivered_bytes;
            self.rounds += 1;
            self.cwnd_limited_rounds = [false, self.cwnd_limited_rounds[0]];
        }
    }
}

/// Returns ascending numbers as ranges.
fn ranges(mut numbers: Vec<u64>) -> Vec<Range> {
    numbers.sort_unstable();
    let mut all: Vec<Range> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some(range) if range[1] + 1 == number => range[1] = number,
            _ => all.push([number, number]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges(vec![5, 1, 2, 3, 7, 6]), [[1, 3], [5, 7]]);
        assert!(ranges(Vec::new()).is_empty());
    }
}
