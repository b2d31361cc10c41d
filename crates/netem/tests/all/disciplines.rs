//! Links with queue disciplines: the same link as with a FIFO when nothing is dropped, and invariants under
//! arbitrary arrivals.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairpace_netem::aqm::{Codel, Discipline, DropReason, DualPi2, FqCodel, Pie, Queue, Red, RedRules, Sink};
use fairpace_netem::{
    AqmQueue, Departed, EcnField, Fate, Fifo, Limit, Link, Loss, MS, Packet, Policer, SECOND, Schedule,
    Transmitter,
};
use fairpace_scenario::Random;
use proptest::prelude::*;

/// The rate of the link behind the queue, bits per second.
const RATE_BPS: u64 = 10_000_000;
/// Flows of each scenario.
const FLOWS: u32 = 6;
/// Connections of each flow.
const CONNECTIONS: u32 = 3;
/// End of each run, ns: later than any event.
const END: u64 = 1 << 40;
const SCHEDULE: Schedule = Schedule { window: (0, END), interval: END, end: END };

fn codels() -> impl Strategy<Value = Codel> {
    let times = (1u64..30 * MS, MS..200 * MS);
    (times, any::<bool>(), prop::option::of(0..20 * MS), any::<bool>()).prop_map(
        |((target_ns, interval_ns), ecn, ce_threshold_ns, ce_threshold_l4s)| Codel {
            target_ns,
            interval_ns,
            ecn,
            ce_threshold_ns,
            ce_threshold_l4s,
        },
    )
}

fn reds() -> impl Strategy<Value = Red> {
    let rules =
        prop_oneof![Just(RedRules::Linux), any::<bool>().prop_map(|gentle| RedRules::Floyd { gentle })];
    (rules, 0u64..50_000, 0u64..100_000, 0u64..1_000_000_000, 0u64..200, any::<bool>()).prop_map(
        |(rules, min_bytes, between, max_ppb, burst_pkts, ecn)| Red {
            rules,
            min_bytes,
            max_bytes: min_bytes + between,
            max_ppb,
            burst_pkts,
            ecn,
        },
    )
}

fn dualpi2s() -> impl Strategy<Value = DualPi2> {
    let times = (1u64..30 * MS, prop::option::of(MS..30 * MS), MS..300 * MS);
    let rest = (0u64..5 * MS, 0u64..5 * MS, 1u32..5, 0u64..1_000_000_000);
    (times, rest).prop_map(
        |((target_ns, update_ns, rtt_max_ns), (ramp_from_ns, ramp_range_ns, coupling, share))| DualPi2 {
            target_ns,
            update_ns,
            rtt_max_ns,
            coupling,
            ramp_from_ns,
            ramp_range_ns,
            classic_share_ppb: share,
        },
    )
}

fn aqms() -> impl Strategy<Value = Queue> {
    prop_oneof![
        reds().prop_map(Queue::Red),
        codels().prop_map(Queue::Codel),
        (codels(), 1u32..20, 1u32..20_000).prop_map(|(codel, buckets, quantum_bytes)| Queue::FqCodel(
            FqCodel { codel, buckets, quantum_bytes }
        )),
        (1u64..30 * MS, MS..30 * MS, any::<bool>()).prop_map(|(target_ns, update_ns, ecn)| Queue::Pie(Pie {
            target_ns,
            update_ns,
            ecn
        })),
        dualpi2s().prop_map(Queue::DualPi2),
    ]
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(0u64..500_000).prop_map(Limit::Bytes), (0u64..300).prop_map(Limit::Packets)]
}

/// Times, packets: mostly in bursts, so that queues build up.
fn arrivals() -> impl Strategy<Value = Vec<(u64, Packet<u32>)>> {
    let gap = prop_oneof![8 => Just(0u64), 8 => 1u64..2 * MS, 1 => 1u64..500 * MS];
    let ecn =
        prop_oneof![Just(EcnField::NotEct), Just(EcnField::Ect0), Just(EcnField::Ect1), Just(EcnField::Ce)];
    prop::collection::vec((gap, 0..FLOWS, 40u32..9000, ecn), 1..400).prop_map(|all| {
        let mut now = 0;
        let packets = (0..).zip(all).map(|(payload, (gap, flow, bytes, ecn))| {
            now += gap;
            (now, Packet { flow, connection: payload % CONNECTIONS, bytes, ecn, payload })
        });
        packets.collect()
    })
}

fn transmitters() -> impl Strategy<Value = Transmitter> {
    let steps = prop::collection::vec((1u64..50 * MS, 0u64..20_000_000), 0..10).prop_map(|steps| {
        let mut at = 0;
        let mut steps: Vec<_> = steps.into_iter().map(|(gap, rate)| (at += gap, (at, rate)).1).collect();
        steps.push((at + 1, 10_000_000)); // an outage ends
        steps
    });
    prop_oneof![
        (1_000_000u64..100_000_000).prop_map(Transmitter::wire),
        steps.prop_map(|steps| Transmitter::wire_with_rates(8_000_000, &steps)),
        (1_000_000u64..100_000_000, 100u64..50_000)
            .prop_map(|(rate, burst)| Transmitter::bucket(rate, burst)),
        prop::collection::vec(0u32..20, 1..30).prop_map(|mut ms| {
            ms.sort_unstable();
            ms.push(20);
            Transmitter::trace(Arc::from(ms))
        }),
    ]
}

/// Everything that leaves a link, or is refused, in order.
fn run(link: &mut Link<u32>, arrivals: &[(u64, Packet<u32>)]) -> (Vec<Departed<u32>>, Vec<Packet<u32>>) {
    let (mut left, mut refused) = (Vec::new(), Vec::new());
    for (now, packet) in arrivals {
        left.extend(std::iter::from_fn(|| link.poll(*now)));
        refused.extend(link.push(*now, *packet).err());
    }
    left.extend(std::iter::from_fn(|| link.poll(END - 1)));
    link.finish(END);
    (left, refused)
}

fn with_aqm(aqm: Queue, limit: Limit, transmitter: Transmitter, seed: u64) -> Link<u32> {
    let discipline = Discipline::new(aqm, RATE_BPS, limit, Random::new(seed)).expect("an AQM");
    Link::with_aqm(AqmQueue::new(discipline, transmitter, FLOWS as usize, SCHEDULE))
}

/// What a discipline recorded.
#[derive(Default)]
struct Recorded {
    dropped: Vec<(u32, DropReason)>,
    marked: Vec<u32>,
}

impl Sink<u32> for Recorded {
    fn dropped(&mut self, packet: Packet<u32>, reason: DropReason) {
        self.dropped.push((packet.payload, reason));
    }

    fn marked(&mut self, packet: &Packet<u32>) {
        self.marked.push(packet.payload);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A discipline that drops nothing makes the same link as a FIFO: every time, every wait, every
    /// measurement.
    #[test]
    fn a_patient_discipline_is_a_fifo(transmitter in transmitters(), arrivals in arrivals()) {
        let patient = Codel { target_ns: u64::MAX, interval_ns: u64::MAX, ..Codel::default() };
        let room = Limit::Bytes(u64::MAX);
        let mut fifo = Link::new(Fifo::new(transmitter.clone(), room, FLOWS as usize, SCHEDULE));
        let mut codel = with_aqm(Queue::Codel(patient), room, transmitter, 1);
        prop_assert_eq!(run(&mut fifo, &arrivals), run(&mut codel, &arrivals));
        prop_assert_eq!(format!("{:?}", fifo.summary("l")), format!("{:?}", codel.summary("l")));
        for flow in 0..FLOWS {
            prop_assert_eq!(fifo.meter().backlog_byte_ns(flow), codel.meter().backlog_byte_ns(flow));
        }
    }

    /// What comes to a link leaves it, is dropped, or is refused, once; connections keep their order in each
    /// queue; times do not go back; and by Little's law the integral of the backlog is the sum of bytes times
    /// the time in the queue.
    #[test]
    fn nothing_is_lost_or_invented(
        aqm in aqms(), limit in limits(), transmitter in transmitters(), arrivals in arrivals(), seed: u64,
    ) {
        let mut link = with_aqm(aqm, limit, transmitter.clone(), seed);
        let (left, refused) = run(&mut link, &arrivals);
        prop_assert!(link.is_empty());
        let left_or_refused = left.iter().map(|d| d.packet).chain(refused.iter().copied());
        let mut seen: Vec<u32> = left_or_refused.map(|packet| packet.payload).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrivals.len() as u32).collect::<Vec<_>>());
        prop_assert!(left.is_sorted_by_key(|d| d.at));
        let mut area = BTreeMap::<u32, u128>::new();
        for flow in 0..FLOWS {
            let delivered = left.iter().filter(|d| d.fate == Fate::Delivered && d.packet.flow == flow);
            for connection in 0..CONNECTIONS {
                let of_one = delivered.clone().filter(|d| d.packet.connection == connection);
                // DualPI2 has two queues, by the ECN field with which a packet comes
                let came = |d: &Departed<u32>| arrivals[d.packet.payload as usize].1.ecn;
                let is_l = |d: &Departed<u32>| {
                    matches!(aqm, Queue::DualPi2(_)) && matches!(came(d), EcnField::Ect1 | EcnField::Ce)
                };
                prop_assert!(of_one.clone().filter(|d| is_l(d)).is_sorted_by_key(|d| d.packet.payload));
                prop_assert!(of_one.filter(|d| !is_l(d)).is_sorted_by_key(|d| d.packet.payload));
            }
            let meter = link.meter();
            prop_assert_eq!(meter.packets(flow), delivered.count() as u64);
            let dropped = left.iter().filter(|d| d.fate == Fate::Dropped && d.packet.flow == flow).count();
            let refused = refused.iter().filter(|p| p.flow == flow).count();
            prop_assert_eq!(meter.drops(flow), (dropped + refused) as u64);
            prop_assert!(meter.early_drops(flow) <= meter.drops(flow));
        }
        for d in &left {
            let (came, packet) = arrivals[d.packet.payload as usize];
            let inside = if d.fate == Fate::Dropped { d.at - came } else { d.waited_ns };
            prop_assert!(d.at >= came + inside);
            *area.entry(packet.flow).or_default() += u128::from(packet.bytes) * u128::from(inside);
            prop_assert_eq!((packet.flow, packet.bytes), (d.packet.flow, d.packet.bytes));
        }
        for (flow, area) in area {
            prop_assert_eq!(link.meter().backlog_byte_ns(flow), area);
        }
        // and the same again
        prop_assert_eq!((left, refused), run(&mut with_aqm(aqm, limit, transmitter, seed), &arrivals));
    }

    /// What a discipline says it holds is what came and has not left, whenever it is asked; limits hold.
    #[test]
    fn the_backlog_is_what_came_and_has_not_left(
        aqm in aqms(), limit in limits(), arrivals in arrivals(),
        takes in prop::collection::vec(0usize..3, 400), seed: u64,
    ) {
        let mut queue = Discipline::new(aqm, RATE_BPS, limit, Random::new(seed)).expect("an AQM");
        let mut inside = BTreeMap::<u32, u32>::new();
        for ((now, packet), takes) in arrivals.into_iter().zip(takes) {
            let mut recorded = Recorded::default();
            let refused = queue.enqueue(now, packet, &mut recorded).err();
            if refused.is_none() {
                inside.insert(packet.payload, packet.bytes);
            }
            for _ in 0..takes {
                let taken = queue.dequeue(now, &mut recorded);
                if let Some((taken, _)) = &taken {
                    prop_assert!(inside.remove(&taken.payload).is_some());
                }
            }
            for (dropped, _) in &recorded.dropped {
                prop_assert!(inside.remove(dropped).is_some(), "dropped twice, or after it had left");
            }
            prop_assert_eq!(queue.len(), inside.len());
            prop_assert_eq!(queue.backlog_bytes(), inside.values().map(|b| u64::from(*b)).sum::<u64>());
            // FQ-CoDel drops after it has let in, and never more than it has to but in batches
            let over = limit.is_exceeded_by(queue.backlog_bytes(), queue.len() as u64);
            prop_assert!(!over || queue.len() == 1 || matches!(aqm, Queue::FqCodel(_)), "{limit:?}");
        }
    }

    /// Only ECN-capable packets are marked. CoDel and Linux's RED never drop one of them early, at any level.
    #[test]
    fn marks_replace_drops_of_ecn_capable_packets(
        aqm in aqms(), transmitter in transmitters(), arrivals in arrivals(), seed: u64,
    ) {
        let marks_only = match aqm {
            Queue::Red(red) => red.ecn && red.rules == RedRules::Linux,
            Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. }) => codel.ecn,
            Queue::Pie(_) | Queue::DualPi2(_) | Queue::Fifo | Queue::Step(_) => false,
        };
        // even flows can be marked
        let arrivals: Vec<_> = arrivals.into_iter().map(|(now, p)| {
            let ecn = if p.flow % 2 == 0 { EcnField::Ect0 } else { EcnField::NotEct };
            (now, Packet { ecn, ..p })
        }).collect();
        let mut link = with_aqm(aqm, Limit::Bytes(u64::MAX), transmitter, seed);
        let (left, _) = run(&mut link, &arrivals);
        for flow in 0..FLOWS {
            let can = flow % 2 == 0;
            let is_marked = |d: &&Departed<u32>| d.packet.flow == flow && d.packet.ecn == EcnField::Ce;
            let marked = left.iter().filter(is_marked).count() as u64;
            prop_assert!(marked <= link.meter().marks(flow) && (can || link.meter().marks(flow) == 0));
            prop_assert!(left.iter().all(|d| (d.packet.ecn == EcnField::NotEct) == (d.packet.flow % 2 == 1)));
            if can && marks_only {
                prop_assert_eq!(link.meter().drops(flow), 0);
            }
        }
    }
}

#[test]
fn a_policer_and_a_lossy_line_work_with_a_discipline() {
    let codel = Codel { target_ns: 5 * MS, interval_ns: 100 * MS, ..Codel::default() };
    let link = with_aqm(Queue::Codel(codel), Limit::Packets(1000), Transmitter::wire(8_000_000), 1);
    let link = link.with_policer(Policer::new(8_000_000, 100_000));
    let mut link = link.with_loss(Loss::independent(100_000_000, Random::new(2)));
    let packet = |payload| Packet { flow: 0, connection: 0, bytes: 1000, ecn: EcnField::NotEct, payload };
    // twice the policer's rate for 10 s: half of them and the burst pass, at the link's own rate, and a tenth
    // is lost
    let arrivals: Vec<_> = (0..20_000).map(|i| (u64::from(i) * MS / 2, packet(i))).collect();
    let (left, refused) = run(&mut link, &arrivals);
    assert!(refused.len().abs_diff(9900) < 5, "{}", refused.len());
    let count = |fate| left.iter().filter(|d| d.fate == fate).count();
    let (lost, dropped) = (count(Fate::Lost), count(Fate::Dropped));
    assert!(lost.abs_diff((left.len() - dropped) / 10) < 120, "{lost}");
    let s = link.summary("l");
    assert_eq!((s.drops as usize, s.lost as usize), (dropped + refused.len(), lost));
    assert!((1.0 - s.utilization * END as f64 / (10.1 * SECOND as f64)).abs() < 0.02, "{}", s.utilization);
}
