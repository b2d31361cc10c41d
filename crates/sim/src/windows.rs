//! Windows of time in which flows do not feel each other: senders, then links, then receivers, each for many packets in a row.
//!
//! What a link does to a packet changes nothing at any host before the packet has arrived, so not for as long as the shortest way from a
//! link to a receiver takes: the lookahead. Until then each flow can do all that it has to do at once, while its few kilobytes are in the
//! nearest cache; then the links take what all have sent, in order of time; then each receiver takes what has come. That is the
//! lookahead of conservative parallel simulation (Chandy and Misra 1979), on one thread, for the caches' sake.
//!
//! Results do not depend on where windows begin and end: `tests/all/windows.rs` compares them with those of one event after the other.

use fairpace_netem::{Ecn, Fate, Line, Link, Nanos, Packet, Passed};
use fairpace_results::observer::Observer;
use fairpace_tcp::prefetch;

use crate::engine::Engine;
use crate::parcel::{Leaving, Parcel, ecn, segment_bytes};
use crate::queue::NEVER;

/// About how many packets a window should have, 32 bytes each: so many that of some hundred flows each has a hundred in a row. With
/// 4,096, 500 flows are a tenth faster than with one event after the other, with 16,384 a third, with so many a half, with twice as
/// many little more.
const ROOM_PKTS: usize = 65_536;
/// How many bursts ahead a link asks for segments, which are in the order of flows and not of time: a few hundred instructions.
const AHEAD: usize = 8;

/// A [`Leaving::exit`] of what its link drops, or loses.
const DROPPED: Nanos = NEVER - 1;

pub(crate) struct Windows {
    /// No window is longer.
    lookahead: Nanos,
    /// What the next window takes if nothing else comes before: as long as has lately made for [`ROOM_PKTS`].
    span: Nanos,
    /// What all flows send in a window, flow by flow.
    bursts: Vec<Burst>,
    turns: Vec<Turn>,
    /// The bursts in order of time.
    order: Vec<Key>,
}

/// Segments that a flow sends at one time: those up to this place, from where the burst before ends.
#[derive(Debug, Clone, Copy)]
struct Burst {
    at: Nanos,
    end: usize,
}

/// All that a flow sends in a window: bursts up to this one, from where the turn before ends.
#[derive(Debug, Clone, Copy)]
struct Turn {
    slot: u32,
    end: usize,
}

/// A burst's place in the order of time: when, whose, its first segment and the one after its last, 32 bits each. Bursts at the same time
/// are in the order in which the event queue has their flows, those of a flow as they were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    /// The longest window.
    const MOST_NS: Nanos = u32::MAX as Nanos;

    /// `after_ns` is after the window's begin.
    #[inline]
    fn new(after_ns: u32, slot: u32, begin: u32, end: u32) -> Self {
        Key((u128::from(after_ns) << 96)
            | (u128::from(slot) << 64)
            | (u128::from(begin) << 32)
            | u128::from(end))
    }

    #[inline]
    fn parts(self) -> (u32, u32, u32, u32) {
        ((self.0 >> 96) as u32, (self.0 >> 64) as u32, (self.0 >> 32) as u32, self.0 as u32)
    }
}

impl Windows {
    pub(crate) fn new(lookahead: Nanos) -> Self {
        let lookahead = lookahead.min(Key::MOST_NS);
        let (bursts, turns, order) = (Vec::new(), Vec::new(), Vec::new());
        Windows { lookahead, span: lookahead, bursts, turns, order }
    }

    fn adapt(&mut self, sent_pkts: usize) {
        if sent_pkts > ROOM_PKTS {
            self.span = (self.span / 2).max(1);
        } else if sent_pkts < ROOM_PKTS / 4 {
            self.span = self.span.saturating_mul(2).min(self.lookahead);
        }
    }
}

impl<T: Observer> Engine<'_, T> {
    /// Runs all flows from `from` on, which is when the first of them has something to do, up to the window's end. Returns how many
    /// events that were; none, if there are no windows.
    pub(crate) fn run_window(&mut self, from: Nanos) -> u32 {
        let Some(mut windows) = self.windows.take() else { return 0 };
        let until = from.saturating_add(windows.span).min(self.next_stop());
        let events = self.run_senders(&mut windows, from, until);
        self.run_links(&mut windows, from);
        self.run_receivers(&windows);
        windows.adapt(self.outbox.leaving.len());
        self.outbox.leaving.clear();
        self.windows = Some(windows);
        events
    }

    /// What each flow does until then.
    fn run_senders(&mut self, windows: &mut Windows, from: Nanos, until: Nanos) -> u32 {
        let Windows { bursts, turns, order, .. } = windows;
        bursts.clear();
        turns.clear();
        order.clear();
        let mut events = 0;
        loop {
            let (mut at, who) = self.queue.first();
            if at >= until {
                return events;
            }
            let slot = who - self.first_flow; // its entry, too: where there are windows there are no workloads
            let (flow, entry) = (&mut self.flows[slot], &mut self.entries[slot]);
            let link = self.first_links[slot] as usize;
            let (link, line) = (&mut self.links[link], &mut self.lines[link]);
            let (slot, bursts_before) = (slot as u32, bursts.len());
            while at < until {
                let before = self.outbox.leaving.len();
                flow.run(at, link, line, entry, &mut self.outbox, self.observer);
                let end = self.outbox.leaving.len();
                if end > before {
                    order.push(Key::new((at - from) as u32, slot, before as u32, end as u32));
                    bursts.push(Burst { at, end });
                }
                events += 1;
                at = flow.next_event();
            }
            self.queue.set(who, at);
            if bursts.len() > bursts_before {
                turns.push(Turn { slot, end: bursts.len() });
            }
        }
    }

    /// Links take what was sent, in order of time.
    fn run_links(&mut self, windows: &mut Windows, from: Nanos) {
        let order = &mut windows.order;
        order.sort_unstable();
        for (n, key) in order.iter().enumerate() {
            if let Some((.., begin, _)) = order.get(n + AHEAD).map(|key| key.parts()) {
                prefetch::one(&self.outbox.leaving[begin as usize]);
            }
            let (after_ns, slot, begin, end) = key.parts();
            let link = self.first_links[slot as usize] as usize;
            let sent = &mut self.outbox.leaving[begin as usize..end as usize];
            let (link, line) = (&mut self.links[link], &mut self.lines[link]);
            let now = from + Nanos::from(after_ns);
            if !pass_together(now, slot, sent, link, line) {
                pass_one_by_one(now, slot, sent, link, line);
            }
        }
    }

    /// Receivers take what arrives.
    fn run_receivers(&mut self, windows: &Windows) {
        let (mut burst, mut begin) = (0, 0);
        for turn in &windows.turns {
            let slot = turn.slot as usize;
            let (end, entry) = (&mut self.flows[slot].end, &mut self.entries[slot]);
            for &Burst { at, end: last } in &windows.bursts[burst..turn.end] {
                for &Leaving { segment, exit } in &self.outbox.leaving[begin..last] {
                    match exit {
                        DROPPED => entry.counts.dropped_pkts += 1,
                        // behind a link that is down for good: it counts as done with, and nobody ever sees it
                        NEVER => entry.counts.arrived_pkts += 1,
                        _ => end.receive(exit, segment, Parcel::left_at(&segment, at), entry, self.observer),
                    }
                }
                begin = last;
            }
            burst = turn.end;
            self.queue.set_earlier(self.first_flow + slot, end.next_event());
        }
    }
}

/// A flow's burst comes to its link, where nothing can happen to it but that it waits; else false, and nothing has happened.
#[inline]
fn pass_together(
    now: Nanos,
    flow: u32,
    sent: &mut [Leaving],
    link: &mut Link<Parcel>,
    line: &mut Line,
) -> bool {
    let bytes = sent.first().map_or(0, |first| segment_bytes(&first.segment));
    if sent.iter().any(|one| segment_bytes(&one.segment) != bytes) {
        return false;
    }
    let pkts = sent.len();
    let mut exits = sent.iter_mut().map(|one| &mut one.exit);
    link.pass_together(now, flow, bytes, pkts, |at| {
        if let Some(exit) = exits.next() {
            *exit = if at == NEVER { NEVER } else { line.exit(at) };
        }
    })
}

fn pass_one_by_one(now: Nanos, flow: u32, sent: &mut [Leaving], link: &mut Link<Parcel>, line: &mut Line) {
    for Leaving { segment, exit } in sent {
        let (bytes, ecn) = (segment_bytes(segment), ecn(segment));
        let mut packet = Packet { flow, connection: 0, bytes, ecn, payload: () };
        *exit = match link.pass(now, &mut packet) {
            Some(Passed { at: NEVER, .. }) => NEVER,
            Some(Passed { at, fate: Fate::Delivered, .. }) => line.exit(at),
            _ => DROPPED,
        };
        segment.ce = packet.ecn == Ecn::Marked;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairpace_results::observer::NullObserver;
    use fairpace_results::{Run, Silent};
    use fairpace_scenario::{self as scenario, Arrivals, Cc, Codel, Flow, Queue, Scenario, Sending, Sizes};

    use super::*;

    const MS: Nanos = 1_000_000;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn flow(rtt_ms: u64) -> Flow {
        Flow::new("a flow", "bbr1".parse::<Cc>().unwrap(), ms(rtt_ms))
    }

    fn meeting(flows: Vec<Flow>) -> Scenario {
        Scenario {
            title: "test".to_owned(),
            why: String::new(),
            seed: 1,
            duration: ms(1_000),
            window: (ms(300), ms(1_000)),
            interval: ms(35),
            links: vec![scenario::Link::new("bottleneck", 40_000_000, 60_000)],
            flows,
            hash: String::new(),
        }
    }

    fn lookahead(scenario: &Scenario) -> Option<Nanos> {
        let mut observer = NullObserver;
        let engine = Engine::new(scenario, &mut observer, false).expect("it is valid");
        engine.windows.map(|windows| windows.lookahead)
    }

    #[test]
    fn the_lookahead_is_the_shortest_way_to_a_receiver_at_any_time() {
        assert_eq!(lookahead(&meeting(vec![flow(30), flow(10)])), Some(5 * MS));
        let falls = Flow { rtt_at: vec![(ms(100), ms(4)), (ms(200), ms(50))], ..flow(30) };
        assert_eq!(lookahead(&meeting(vec![falls, flow(10)])), Some(2 * MS));
        // 3 ms of the 10 are on the link's line, half of the others behind it
        let mut with_line = meeting(vec![flow(10)]);
        with_line.links[0].line = scenario::Line { delay: ms(3), ..scenario::Line::default() };
        assert_eq!(lookahead(&with_line), Some(6_500_000));
    }

    #[test]
    fn without_a_way_of_their_own_or_with_more_than_a_fifo_between_them_flows_have_no_windows() {
        let sizes = Sizes { name: "one".to_owned(), cdf: [(1_000, 1)].into() };
        let workload = Flow { arrivals: Some(Arrivals { per_s_milli: 1_000, sizes }), ..flow(10) };
        let far = Flow { access_delay: ms(1), ..flow(10) };
        for one in [flow(0), workload, far] {
            assert_eq!(lookahead(&meeting(vec![flow(10), one])), None);
        }
        let mut managed = meeting(vec![flow(10)]);
        managed.links[0].queue = Queue::Codel(Codel::default());
        let mut shared_back = meeting(vec![Flow { reverse: vec!["back".to_owned()], ..flow(10) }]);
        shared_back.links.push(scenario::Link::new("back", 1_000_000, 10_000));
        assert_eq!((lookahead(&managed), lookahead(&shared_back)), (None, None));
    }

    #[test]
    fn a_window_is_as_long_as_has_lately_made_for_enough_packets() {
        let mut windows = Windows::new(1_000);
        windows.adapt(ROOM_PKTS + 1);
        windows.adapt(ROOM_PKTS + 1);
        assert_eq!(windows.span, 250);
        windows.adapt(ROOM_PKTS / 4);
        assert_eq!(windows.span, 250);
        windows.adapt(ROOM_PKTS / 4 - 1);
        assert_eq!(windows.span, 500);
        for sent_pkts in [0, 0, 0] {
            windows.adapt(sent_pkts);
        }
        assert_eq!(windows.span, 1_000, "never more than the lookahead");
    }

    /// Everything that a run says but its cost. As text, because NaN is not equal to itself.
    fn text(run: Run) -> String {
        format!("{}{:?}", run.summary.stable_json(), run.series)
    }

    #[test]
    fn after_a_window_with_too_many_packets_others_are_shorter_and_nothing_else_is_different() {
        // twenty flows send 4,000 each as soon as their SYN is answered, which is in one window
        let sending = Sending { initial_cwnd_pkts: 4_000, ..Sending::default() };
        let flow = |_| Flow { cc: "reno".parse().unwrap(), sending, ..flow(40) };
        let mut scenario = meeting((0..20).map(flow).collect());
        (scenario.duration, scenario.window) = (ms(100), (ms(0), ms(100)));
        scenario.links[0] = scenario::Link::new("bottleneck", 10_000_000_000, 200_000_000);
        let run = |is_patient| {
            let (mut observer, mut shortest) = (NullObserver, Nanos::MAX);
            let mut engine = Engine::new(&scenario, &mut observer, is_patient).expect("it is valid");
            while engine.run_some(1).is_some() {
                shortest = engine.windows.iter().map(|windows| windows.span).fold(shortest, Nanos::min);
            }
            (shortest, text(engine.run(&scenario, &mut Silent).expect("nobody stops it")))
        };
        let ((shortest, in_windows), (_, by_events)) = (run(false), run(true));
        assert_eq!(shortest, 10 * MS, "half of the lookahead");
        assert!(in_windows == by_events);
    }

    #[test]
    fn where_windows_end_changes_nothing() {
        let scenario = meeting(vec![flow(30), flow(10), flow(11)]);
        let run = |longest: Option<Nanos>| {
            let mut observer = NullObserver;
            let mut engine = Engine::new(&scenario, &mut observer, false).expect("it is valid");
            if let Some(longest) = longest {
                engine.windows = Some(Windows::new(longest));
            }
            text(engine.run(&scenario, &mut Silent).expect("nobody stops it"))
        };
        let expected = run(None);
        for longest in [1, 777, 100_000, 1_234_567, 5 * MS] {
            assert!(run(Some(longest)) == expected, "windows of {longest} ns");
        }
    }
}
