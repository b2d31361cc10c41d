//! Meter of the receiver of audio or video: delays of packets, and frames that are late or lost.

use std::collections::VecDeque;

use fairpace_results::MediaSummary;
use fairpace_scenario::{Media, ns};

use crate::meters::flow_meter::MANY;
use crate::meters::percentiles::Percentiles;
use crate::meters::schedule::Schedule;
use crate::time::{Nanos, SECOND};
use crate::traffic::frames::Frames;

/// Time after which a frame that is not complete is lost, and its packets are no longer waited for: a waiting
/// time is part of the definition of loss (RFC 7680, Tmax). 10 s is as long as the longest deadline.
const LOST_AFTER: Nanos = 10 * SECOND;

/// A frame that may still be completed.
#[derive(Debug, Clone, Copy)]
struct Frame {
    written: Nanos,
    /// Number of the frame's first packet, and one past its last.
    pkts: (u64, u64),
    bytes: u64,
    /// Number of packets that have not arrived.
    missing: u64,
    /// Time when the frame's last packet arrived; `None`: it has not arrived.
    complete: Option<Nanos>,
}

/// Returns the bytes of a packet among `pkts` packets of a frame, by its number from 0 on: all packets carry
/// equal parts, rounded.
pub fn part(bytes: u64, pkts: u64, index: u64) -> u64 {
    let until = |index: u64| (u128::from(bytes) * u128::from(index) / u128::from(pkts.max(1))) as u64;
    until(index + 1) - until(index)
}

/// A flow's record of frames and their packets. Packets are numbered from 0 on, over all frames.
///
/// The metrics cover frames that were written in the measurement window, with a deadline before the end of
/// the run, and packets that arrive in the window.
#[derive(Debug, Clone)]
pub struct MediaMeter {
    window: (Nanos, Nanos),
    end: Nanos,
    deadline: Nanos,
    /// Time from one frame to the next.
    interval: Nanos,
    /// Frames that may still be completed, in order, and for each of their packets whether it has arrived.
    frames: VecDeque<Frame>,
    arrived: VecDeque<bool>,
    /// Number one past the last packet of all frames.
    next_pkt: u64,
    pkt_delay: Percentiles,
    frame_delay: Percentiles,
    counted: u64,
    late: u64,
    lost: u64,
    /// Time when the first frame of the present freeze should have been shown.
    frozen_from: Option<Nanos>,
    longest_freeze: Nanos,
}

impl MediaMeter {
    /// Returns an empty record for one of `flows` flows. Percentiles have three digits; with 100 flows and
    /// more they have two.
    pub fn new(media: &Media, schedule: Schedule, flows: usize) -> Self {
        let digits = if flows < MANY { 3 } else { 2 };
        MediaMeter {
            window: schedule.window,
            end: schedule.end,
            deadline: ns(media.deadline),
            interval: Frames::new(*media).after(1),
            frames: VecDeque::new(),
            arrived: VecDeque::new(),
            next_pkt: 0,
            pkt_delay: Percentiles::new(digits),
            frame_delay: Percentiles::new(digits),
            counted: 0,
            late: 0,
            lost: 0,
            frozen_from: None,
            longest_freeze: 0,
        }
    }

    /// Records that the next frame is written at `now`: `bytes` in `pkts` packets. All packets that arrive by
    /// `now` must have been reported. Returns the number of the frame's first packet.
    pub fn written(&mut self, now: Nanos, bytes: u64, pkts: u64) -> u64 {
        while self.frames.front().is_some_and(|frame| frame.written.saturating_add(LOST_AFTER) < now) {
            self.settle();
        }
        let first = self.next_pkt;
        self.next_pkt += pkts;
        let pkts_to = (first, self.next_pkt);
        self.frames.push_back(Frame { written: now, pkts: pkts_to, bytes, missing: pkts, complete: None });
        self.arrived.extend(std::iter::repeat_n(false, pkts as usize));
        first
    }

    /// Counts a packet that crossed the path in `delay_ns`.
    pub fn packet(&mut self, now: Nanos, delay_ns: Nanos) {
        if self.window.0 <= now && now < self.window.1 {
            self.pkt_delay.record(delay_ns);
        }
    }

    /// Records the arrival of the packet with this number, in any order. Returns the packet's part of the
    /// frame in bytes if it is the first copy, and the frame is not lost already.
    pub fn arrives(&mut self, now: Nanos, number: u64) -> Option<u64> {
        if now > self.end {
            return None;
        }
        let first = self.frames.front()?.pkts.0;
        let arrived = self.arrived.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)?;
        if std::mem::replace(arrived, true) {
            return None;
        }
        let index = self.frames.partition_point(|frame| frame.pkts.1 <= number);
        let frame = self.frames.get_mut(index)?;
        if now - frame.written > LOST_AFTER {
            return None;
        }
        frame.missing -= 1;
        if frame.missing == 0 {
            frame.complete = Some(now);
        }
        let Frame { pkts: (first, end), bytes, .. } = *frame;
        self.settle_complete();
        Some(part(bytes, end - first, number - first))
    }

    /// Records the arrival of all packets before the number `next`, in order.
    pub fn delivered(&mut self, now: Nanos, next: u64) {
        if now > self.end {
            return;
        }
        for frame in self.frames.iter_mut().take_while(|frame| frame.pkts.1 <= next) {
            frame.complete = frame.complete.or(Some(now));
        }
        self.settle_complete();
    }

    /// Judges complete frames from the oldest on, up to the first incomplete frame.
    fn settle_complete(&mut self) {
        while self.frames.front().is_some_and(|frame| frame.complete.is_some()) {
            self.settle();
        }
    }

    /// Judges the oldest frame, and removes it.
    fn settle(&mut self) {
        let Some(Frame { written, pkts, complete, .. }) = self.frames.pop_front() else { return };
        self.arrived.drain(..(pkts.1 - pkts.0) as usize);
        let due = written.saturating_add(self.deadline);
        if written < self.window.0 || written >= self.window.1 || due > self.end {
            return;
        }
        self.counted += 1;
        let delay = complete.map(|at| at - written).filter(|delay| *delay <= LOST_AFTER);
        match delay {
            Some(delay) => {
                self.frame_delay.record(delay);
                self.late += u64::from(delay > self.deadline);
            }
            None => self.lost += 1,
        }
        if delay.is_some_and(|delay| delay <= self.deadline) {
            self.frozen_from = None;
        } else {
            let from = *self.frozen_from.get_or_insert(due);
            self.longest_freeze = self.longest_freeze.max(due + self.interval - from);
        }
    }

    /// The metrics of a run that is over.
    pub fn finish(&mut self) -> MediaSummary {
        while !self.frames.is_empty() {
            self.settle();
        }
        self.pkt_delay.settle();
        self.frame_delay.settle();
        let ms = |ns: Nanos| ns as f64 / 1e6;
        let of = |delays: &Percentiles, q: f64| delays.quantile_ns(q).map(ms);
        let least = self.pkt_delay.min_ns().map(ms);
        let frames = self.counted;
        MediaSummary {
            frames,
            late: self.late,
            lost: self.lost,
            late_or_lost: (frames > 0).then(|| (self.late + self.lost) as f64 / frames as f64),
            longest_freeze_ms: ms(self.longest_freeze),
            frame_delay_p50_ms: of(&self.frame_delay, 0.50),
            frame_delay_p95_ms: of(&self.frame_delay, 0.95),
            frame_delay_p99_ms: of(&self.frame_delay, 0.99),
            delay_p50_ms: of(&self.pkt_delay, 0.50),
            delay_p95_ms: of(&self.pkt_delay, 0.95),
            delay_p99_ms: of(&self.pkt_delay, 0.99),
            delay_variation_p99_ms: of(&self.pkt_delay, 0.99).zip(least).map(|(p99, least)| p99 - least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    /// Returns a meter of frames every 100 ms with a deadline of 150 ms; metrics from 1 s to 2 s of 3 s.
    fn meter() -> MediaMeter {
        let media = Media { per_s_milli: 10_000, ..Media::default() };
        let schedule = Schedule { window: (SECOND, 2 * SECOND), interval: SECOND, end: 3 * SECOND };
        MediaMeter::new(&media, schedule, 1)
    }

    /// Returns whether the values are equal to three digits, as percentiles are kept.
    fn near(seen: Option<f64>, ms: f64) -> bool {
        (seen.unwrap() / ms - 1.0).abs() < 1e-3
    }

    #[test]
    fn frames_are_in_time_late_or_lost() {
        let mut meter = meter();
        for frame in 0..30 {
            let now = frame * 100 * MS;
            let first = meter.written(now, 3_000, 3);
            assert_eq!(first, 3 * frame);
            // of the ten in the window, the third lacks a packet and the fifth and sixth are late
            let delay = if frame == 14 || frame == 15 { 151 * MS } else { 150 * MS };
            for number in (first..first + 3).filter(|number| (frame, number - first) != (12, 1)) {
                meter.packet(now + delay, delay);
                assert_eq!(meter.arrives(now + delay, number), (now + delay <= 3 * SECOND).then_some(1_000));
            }
        }
        let MediaSummary { frames, late, lost, late_or_lost, longest_freeze_ms, .. } = meter.finish();
        assert_eq!((frames, late, lost, late_or_lost), (10, 2, 1, Some(0.3)));
        // two frames in a row are missing
        assert_eq!(longest_freeze_ms, 200.0);
    }

    #[test]
    fn a_freeze_lasts_to_the_end_if_nothing_arrives_any_more() {
        let mut meter = meter();
        for frame in 0..30 {
            let first = meter.written(frame * 100 * MS, 500, 1);
            if frame < 17 {
                meter.arrives(frame * 100 * MS + MS, first);
            }
        }
        let summary = meter.finish();
        assert_eq!((summary.frames, summary.lost, summary.longest_freeze_ms), (10, 3, 300.0));
        // those of the complete ones
        assert!(near(summary.frame_delay_p50_ms, 1.0) && summary.delay_p99_ms.is_none(), "{summary:?}");
    }

    #[test]
    fn percentiles_of_packets_cover_the_window_and_their_variation_is_above_the_least() {
        let mut meter = meter();
        for ms in 0..3_000 {
            // 1 ms to 100 ms in the window
            let delay = if (1_000..2_000).contains(&ms) { ms % 100 + 1 } else { 5_000 };
            meter.packet(ms * MS, delay * MS);
        }
        let MediaSummary { delay_p50_ms, delay_p95_ms, delay_p99_ms, delay_variation_p99_ms, .. } =
            meter.finish();
        assert!(near(delay_p50_ms, 50.0) && near(delay_p95_ms, 95.0) && near(delay_p99_ms, 99.0));
        assert!(near(delay_variation_p99_ms, 98.0), "{delay_variation_p99_ms:?}");
    }

    #[test]
    fn a_second_copy_of_a_packet_is_not_counted_and_order_plays_no_part() {
        let mut meter = meter();
        meter.written(SECOND, 2_001, 2);
        meter.written(SECOND, 900, 1);
        assert_eq!(meter.arrives(SECOND + MS, 2), Some(900));
        assert_eq!(meter.arrives(SECOND + MS, 1), Some(1_001));
        assert_eq!(meter.arrives(SECOND + MS, 1), None);
        assert_eq!(meter.arrives(SECOND + 2 * MS, 0), Some(1_000));
        assert_eq!((meter.arrives(SECOND + MS, 0), meter.arrives(SECOND + MS, 7)), (None, None));
        let summary = meter.finish();
        assert_eq!((summary.frames, summary.late, summary.lost), (2, 0, 0));
    }

    #[test]
    fn a_stream_delivers_frames_in_order() {
        let mut meter = meter();
        for frame in 0..3 {
            meter.written(SECOND + frame * 100 * MS, 2_000, 2);
        }
        meter.delivered(SECOND + 10 * MS, 1);
        meter.delivered(SECOND + 200 * MS, 5);
        let summary = meter.finish();
        assert_eq!((summary.frames, summary.late, summary.lost), (3, 1, 1));
        assert_eq!(summary.frame_delay_p50_ms.map(f64::round), Some(100.0));
    }

    #[test]
    fn memory_does_not_grow_with_frames_that_are_lost() {
        let mut meter = meter();
        for frame in 0..10_000 {
            meter.written(frame * 100 * MS, 5_000, 4);
        }
        // 10 s of ten frames per second
        assert!(meter.frames.len() <= 102 && meter.arrived.len() <= 408, "{}", meter.frames.len());
    }
}
