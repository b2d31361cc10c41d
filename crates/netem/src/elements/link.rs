//! A link: an optional policer, a queue with a transmitter, and random loss behind it.

use std::collections::VecDeque;

use fairpace_results::{LinkSummary, LossBursts};

use crate::elements::aqm_queue::AqmQueue;
use crate::elements::fifo::{Departure, Fifo};
use crate::elements::loss::Loss;
use crate::elements::policer::Policer;
use crate::meters::link_meter::LinkMeter;
use crate::packet::{Departed, Fate, Packet};
use crate::time::Nanos;

/// A queue with its transmitter, policer and random loss.
///
/// A packet that the policer drops counts like a packet that the queue drops. A packet that is lost behind
/// the queue has waited for the link and used it, like a frame with bit errors.
#[derive(Debug, Clone)]
pub struct Link<T> {
    policer: Option<Box<Policer>>,
    loss: Loss,
    queue: Queue<T>,
}

/// The two kinds of queue, which measure alike.
#[derive(Debug, Clone)]
enum Queue<T> {
    /// A FIFO: departures are known on arrival.
    Fifo {
        fifo: Fifo,
        /// Packets that will be polled, in order of departure.
        carried: VecDeque<Departed<T>>,
    },
    /// An AQM queue: a discipline decides when the link is free.
    Aqm(Box<AqmQueue<T>>),
}

/// The departure of a packet from a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit {
    /// Time when the packet's last bit leaves.
    pub at: Nanos,
    /// Time that the packet waits before its first bit leaves.
    pub waited_ns: Nanos,
    /// The packet's fate.
    pub fate: Fate,
}

impl<T: Copy> Link<T> {
    /// Returns a link with a FIFO, without policer and random loss.
    pub fn new(fifo: Fifo) -> Self {
        Link { policer: None, loss: Loss::never(), queue: Queue::Fifo { fifo, carried: VecDeque::new() } }
    }

    /// Returns a link with an AQM queue, without policer and random loss.
    pub fn with_aqm(queue: AqmQueue<T>) -> Self {
        Link { policer: None, loss: Loss::never(), queue: Queue::Aqm(Box::new(queue)) }
    }

    /// Adds a policer before the queue.
    #[must_use]
    pub fn with_policer(self, policer: Policer) -> Self {
        Link { policer: Some(Box::new(policer)), ..self }
    }

    /// Adds random loss behind the queue.
    #[must_use]
    pub fn with_loss(self, loss: Loss) -> Self {
        Link { loss, ..self }
    }

    /// Returns whether [`Link::transit`] works. It works if all departures are known on arrival. Otherwise
    /// packets must be pushed and polled.
    pub fn has_fast_path(&self) -> bool {
        matches!(self.queue, Queue::Fifo { .. })
    }

    /// Takes a packet that will not be polled and returns its departure, which may be in the future. The
    /// packet may be marked. `None`: the packet was dropped, as is every packet on a link [without a fast
    /// path](Link::has_fast_path).
    #[inline]
    pub fn transit<P>(&mut self, now: Nanos, packet: &mut Packet<P>) -> Option<Transit> {
        let Link { policer, loss, queue: Queue::Fifo { fifo, .. } } = self else { return None };
        if let Some(policer) = policer
            && !policer.conforms(now, packet.bytes)
        {
            fifo.refused(now, packet.flow);
            return None;
        }
        // the loss can be drawn now: packets depart in the order of their arrival, and a burst of a time is
        // one of the time of departure
        let (mut fate, is_lossy) = (Fate::Delivered, loss.is_possible());
        let Departure { at, waited_ns } = fifo.transit(now, packet, |departs, is_cut| {
            if is_cut || is_lossy && loss.loses(departs) {
                fate = Fate::Lost;
            }
            fate == Fate::Lost
        })?;
        Some(Transit { at, waited_ns, fate })
    }

    /// Takes `pkts` packets of a flow that will not be polled and passes the departure time of each to
    /// `leaves`. False: nothing has happened, since a packet might be dropped, marked or lost;
    /// [`transit`](Link::transit) decides on each packet.
    #[inline]
    pub fn transit_burst(
        &mut self,
        now: Nanos,
        flow: u32,
        bytes: u32,
        pkts: usize,
        leaves: impl FnMut(Nanos),
    ) -> bool {
        match &mut self.queue {
            Queue::Fifo { fifo, .. } if self.policer.is_none() && !self.loss.is_possible() => {
                fifo.transit_burst(now, flow, bytes, pkts, leaves)
            }
            _ => false,
        }
    }

    /// Takes a packet that will be polled.
    ///
    /// # Errors
    /// The packet itself, when the queue or the policer drops it.
    #[inline]
    pub fn push(&mut self, now: Nanos, mut packet: Packet<T>) -> Result<(), Packet<T>> {
        if let Queue::Aqm(queue) = &mut self.queue {
            if let Some(policer) = &mut self.policer
                && !policer.conforms(now, packet.bytes)
            {
                queue.refused(now, packet.flow);
                return Err(packet);
            }
            return queue.push(now, packet);
        }
        match self.transit(now, &mut packet) {
            Some(Transit { at, waited_ns, fate }) => {
                if let Queue::Fifo { carried, .. } = &mut self.queue {
                    carried.push_back(Departed { at, waited_ns, fate, packet });
                }
                Ok(())
            }
            None => Err(packet),
        }
    }

    /// The time to poll next.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        match &self.queue {
            Queue::Fifo { carried, .. } => carried.front().map(|departed| departed.at),
            Queue::Aqm(queue) => queue.next_event(),
        }
    }

    /// Returns the next pushed packet that has departed by `now`, lost or not, or that the queue has dropped;
    /// call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        match &mut self.queue {
            Queue::Fifo { carried, .. } => {
                if carried.front()?.at > now {
                    return None;
                }
                carried.pop_front()
            }
            Queue::Aqm(queue) => {
                let mut departed = queue.poll(now)?;
                if departed.fate == Fate::Delivered && self.loss.loses(departed.at) {
                    queue.lost(departed.at, departed.packet.flow);
                    departed.fate = Fate::Lost;
                }
                Some(departed)
            }
        }
    }

    /// Counts a duplicate of a packet that has departed.
    pub fn duplicated(&mut self, now: Nanos) {
        match &mut self.queue {
            Queue::Fifo { fifo, .. } => fifo.duplicated(now),
            Queue::Aqm(queue) => queue.duplicated(now),
        }
    }

    /// Number of packets that were pushed and not yet polled.
    pub fn len(&self) -> usize {
        match &self.queue {
            Queue::Fifo { carried, .. } => carried.len(),
            Queue::Aqm(queue) => queue.len(),
        }
    }

    /// True when there are no such packets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Backlog in bytes, at `now`; for an AQM queue, after its last event.
    pub fn backlog_bytes(&mut self, now: Nanos) -> u64 {
        match &mut self.queue {
            Queue::Fifo { fifo, .. } => fifo.backlog_bytes(now),
            Queue::Aqm(queue) => queue.backlog_bytes(),
        }
    }

    /// Counts everything up to `now`.
    pub fn settle(&mut self, now: Nanos) {
        match &mut self.queue {
            Queue::Fifo { fifo, .. } => fifo.settle(now),
            Queue::Aqm(queue) => queue.settle(now),
        }
    }

    /// Ends the measurement at `now`.
    pub fn finish(&mut self, now: Nanos) {
        self.loss.finish(now);
        match &mut self.queue {
            Queue::Fifo { fifo, .. } => fifo.finish(now),
            Queue::Aqm(queue) => queue.finish(now),
        }
    }

    /// The measurements so far.
    pub fn meter(&self) -> &LinkMeter {
        match &self.queue {
            Queue::Fifo { fifo, .. } => fifo.meter(),
            Queue::Aqm(queue) => queue.meter(),
        }
    }

    /// Lengths of the bursts of loss of a number of packets in the whole run; `None`: the link has no such
    /// loss.
    pub fn loss_bursts(&self) -> Option<LossBursts> {
        self.loss.bursts()
    }

    /// The metrics of the measurement window, once it has closed.
    pub fn summary(&self, name: &str) -> LinkSummary {
        let summary = match &self.queue {
            Queue::Fifo { fifo, .. } => fifo.summary(name),
            Queue::Aqm(queue) => queue.summary(name),
        };
        LinkSummary { loss_bursts: self.loss_bursts(), ..summary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::transmitter::Transmitter;
    use crate::meters::schedule::Schedule;
    use crate::time::SECOND;
    use fairpace_results::observer::EcnField;
    use fairpace_scenario::Limit;
    use fairpace_scenario::Random;

    const SCHEDULE: Schedule = Schedule { window: (0, SECOND), interval: SECOND / 10, end: SECOND };

    fn link(rate_bps: u64, limit_bytes: u64) -> Link<u32> {
        Link::new(Fifo::new(Transmitter::wire(rate_bps), Limit::Bytes(limit_bytes), 1, SCHEDULE))
    }

    fn stepped(rate_bps: u64, limit_bytes: u64, steps: &[(Nanos, u64)], schedule: Schedule) -> Link<u32> {
        let wire = Transmitter::wire_with_rates(rate_bps, steps);
        Link::new(Fifo::new(wire, Limit::Bytes(limit_bytes), 1, schedule))
    }

    /// Returns the time when the last bit of a packet leaves, if the link accepts the packet.
    fn departs(link: &mut Link<u32>, now: Nanos, packet: Packet<u32>) -> Result<Nanos, Packet<u32>> {
        link.push(now, packet)?;
        let Queue::Fifo { carried, .. } = &link.queue else { unreachable!("these are FIFOs") };
        Ok(carried.back().unwrap().at)
    }

    fn packet(bytes: u32) -> Packet<u32> {
        Packet { flow: 0, connection: 0, bytes, ecn: EcnField::NotEct, payload: 0 }
    }

    #[test]
    fn a_million_packets_leave_at_exactly_the_rate() {
        // 1500 bytes at 7 Mbit/s is 1714285.714... ns: any rounding per packet would show.
        let rate = 7_000_000;
        let mut link = link(rate, u64::MAX);
        let mut last = 0;
        for i in 1..=1_000_000u128 {
            last = departs(&mut link, 0, packet(1500)).unwrap();
            assert_eq!(u128::from(last), i * 12_000 * 1_000_000_000 / u128::from(rate));
        }
        assert_eq!(last, 1_714_285_714_285);
    }

    #[test]
    fn a_packet_that_meets_an_idle_link_departs_after_its_transmission() {
        let mut link = link(100_000_000, 0);
        assert_eq!(departs(&mut link, 500, packet(1250)), Ok(500 + 100_000));
        let d = link.poll(100_500).unwrap();
        assert_eq!((d.at, d.waited_ns), (100_500, 0));
    }

    #[test]
    fn the_packet_in_transmission_does_not_count_against_the_limit() {
        // Room for exactly two waiting packets beside the one on the wire.
        let mut link = link(8_000_000, 2000);
        let fates: Vec<bool> = (0..5).map(|_| departs(&mut link, 0, packet(1000)).is_ok()).collect();
        assert_eq!(fates, [true, true, true, false, false]);
        assert_eq!(link.backlog_bytes(0), 2000);
        // At 1 ms the second packet goes onto the wire and makes room for one more, and only one.
        assert_eq!(link.poll(1_000_000).unwrap().waited_ns, 0);
        assert_eq!(departs(&mut link, 1_000_000, packet(1000)), Ok(4_000_000));
        assert!(departs(&mut link, 1_000_000, packet(1)).is_err());
    }

    #[test]
    fn a_limit_is_reached_but_never_exceeded() {
        let mut link = link(8_000_000, 1500);
        assert!(departs(&mut link, 0, packet(1000)).is_ok());
        assert!(departs(&mut link, 0, packet(1501)).is_err());
        assert!(departs(&mut link, 0, packet(1500)).is_ok());
        assert!(departs(&mut link, 0, packet(1)).is_err());
        assert_eq!(link.backlog_bytes(0), 1500);
    }

    #[test]
    fn a_burst_departs_and_counts_like_single_packets() {
        let steps = [(2_000_000, 3_000_000), (40_000_000, 0), (60_000_000, 9_000_000)];
        let schedule = Schedule { window: (0, SECOND), interval: SECOND / 100, end: SECOND };
        let build = || stepped(8_000_000, 30_000, &steps, schedule);
        let (mut together, mut alone) = (build(), build());
        let (mut refused, mut now) = (0, 0);
        for (i, pkts) in [3usize, 1, 9, 20, 2, 1, 30, 4, 4, 1].into_iter().cycle().take(200).enumerate() {
            let mut left = Vec::new();
            if !together.transit_burst(now, 0, 1000, pkts, |at| left.push(at)) {
                assert!(left.is_empty(), "nothing has happened");
                refused += 1;
                let pass = |_| together.transit(now, &mut packet(1000)).map(|transit| transit.at);
                left.extend((0..pkts).filter_map(pass));
            }
            let pass = |_| alone.transit(now, &mut packet(1000)).map(|transit| transit.at);
            assert_eq!(left, (0..pkts).filter_map(pass).collect::<Vec<_>>());
            now += [0, 700_000, 1_300_001, 9_000_000][i % 4];
        }
        assert!((1..200).contains(&refused), "{refused}");
        for link in [&mut together, &mut alone] {
            link.finish(SECOND);
        }
        assert_eq!(format!("{:?}", together.summary("l")), format!("{:?}", alone.summary("l")));
        assert_eq!(format!("{:?}", together.meter().series()), format!("{:?}", alone.meter().series()));
    }

    #[test]
    fn a_burst_that_may_be_dropped_marked_or_lost_is_refused() {
        let mut full = link(8_000_000, 2_000);
        assert!(!full.transit_burst(0, 0, 1000, 3, |_| unreachable!("nothing has come in")));
        assert!(full.transit_burst(0, 0, 1000, 2, |_| {}));
        let random = || Random::new(1);
        let lossy = link(8_000_000, 9_000).with_loss(Loss::independent(1, random()));
        let policed = link(8_000_000, 9_000).with_policer(Policer::new(8_000_000, 9_000));
        let wire = || Fifo::new(Transmitter::wire(8_000_000), Limit::Bytes(9_000), 1, SCHEDULE);
        let marking = Link::new(wire().with_marking_above(Limit::Bytes(3_000)));
        for mut link in [lossy, policed, marking] {
            assert!(!link.transit_burst(0, 0, 1000, 1, |_| unreachable!("nothing has come in")));
        }
    }

    #[test]
    fn d_d_1_waits_grow_by_service_minus_interarrival() {
        // Service 1 ms, arrivals every 0.8 ms: packet i waits i * 0.2 ms.
        let mut link = link(8_000_000, u64::MAX);
        let mut waits = Vec::new();
        for i in 0..100u64 {
            let now = i * 800_000;
            while let Some(d) = link.poll(now) {
                waits.push(d.waited_ns);
            }
            assert_eq!(departs(&mut link, now, packet(1000)), Ok((i + 1) * 1_000_000));
        }
        waits.extend(std::iter::from_fn(|| link.poll(u64::MAX)).map(|d| d.waited_ns));
        let expected: Vec<u64> = (0..100).map(|i| i * 200_000).collect();
        assert_eq!(waits, expected);
    }

    #[test]
    fn departures_come_in_order_and_only_when_due() {
        let mut link = link(8_000_000, u64::MAX);
        for i in 0..3 {
            departs(
                &mut link,
                0,
                Packet { flow: 0, connection: 0, bytes: 1000, ecn: EcnField::NotEct, payload: i },
            )
            .unwrap();
        }
        assert_eq!(link.next_event(), Some(1_000_000));
        assert_eq!(link.poll(999_999), None);
        let left: Vec<_> = std::iter::from_fn(|| link.poll(2_000_000)).map(|d| d.packet.payload).collect();
        assert_eq!(left, [0, 1]);
        assert_eq!(link.len(), 1);
    }

    #[test]
    fn a_packet_that_meets_a_step_goes_on_at_the_new_rate() {
        // 1000 bytes are 8000 bits. At 8 Mbit/s half of them are out after 0.5 ms; the rest takes 2 ms at 2
        // Mbit/s.
        let mut link = stepped(8_000_000, 10_000, &[(500_000, 2_000_000)], SCHEDULE);
        assert_eq!(departs(&mut link, 0, packet(1000)), Ok(2_500_000));
        assert_eq!(departs(&mut link, 0, packet(1000)), Ok(6_500_000));
    }

    #[test]
    fn an_outage_holds_packets_in_transmission_and_arrivals() {
        let mut link = stepped(8_000_000, 2000, &[(500_000, 0), (10_000_000, 8_000_000)], SCHEDULE);
        assert_eq!(departs(&mut link, 0, packet(1000)), Ok(10_500_000));
        assert_eq!(departs(&mut link, 1_000_000, packet(1000)), Ok(11_500_000));
        assert_eq!(departs(&mut link, 2_000_000, packet(1000)), Ok(12_500_000));
        assert!(departs(&mut link, 3_000_000, packet(1000)).is_err(), "the queue is full");
        assert_eq!(link.poll(11_500_000).map(|d| d.waited_ns), Some(0));
        assert_eq!(link.poll(11_500_000).map(|d| d.waited_ns), Some(9_500_000));
    }

    #[test]
    fn a_link_that_goes_down_for_good_delivers_nothing() {
        let mut link = stepped(8_000_000, 1000, &[(500_000, 0)], SCHEDULE);
        assert_eq!(departs(&mut link, 0, packet(1000)), Ok(Nanos::MAX));
        assert!(
            departs(&mut link, 1_000_000, packet(1000)).is_ok()
                && departs(&mut link, 2_000_000, packet(1000)).is_err()
        );
        assert_eq!(link.poll(SECOND), None);
    }

    #[test]
    fn an_idle_link_has_the_rate_of_its_time() {
        let steps = [(10, 1_000_000), (20, 0), (1_000_000, 4_000_000)];
        let mut link = stepped(8_000_000, 0, &steps, SCHEDULE);
        assert_eq!(departs(&mut link, 2_000_000, packet(1000)), Ok(4_000_000));
    }

    #[test]
    fn utilization_is_relative_to_the_rate_steps() {
        let schedule = Schedule { window: (0, SECOND), interval: SECOND, end: SECOND };
        let mut link = stepped(8_000_000, u64::MAX, &[(SECOND / 2, 800_000)], schedule);
        for _ in 0..550 {
            departs(&mut link, 0, packet(1000)).unwrap();
        }
        while link.poll(SECOND).is_some() {}
        link.finish(SECOND);
        let s = link.summary("l");
        // the last packet leaves when the window has just closed
        assert!((s.utilization - 549.0 / 550.0).abs() < 1e-12, "{}", s.utilization);
        assert_eq!(s.rate_mbps, 8.0);
    }
}
