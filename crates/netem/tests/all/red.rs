//! RED decides on arrival, and a wire takes the next packet when the last one is out: so everything is known
//! when a packet comes, and a FIFO with RED at its entry is, packet by packet, the discipline in front of a
//! wire.

use fairpace_netem::aqm::{Discipline, Queue, Red, RedRules};
use fairpace_netem::{
    AqmQueue, Departed, EcnField, Fate, Fifo, Limit, Link, Loss, Nanos, Packet, Purpose, SECOND, Schedule,
    Transmitter,
};
use proptest::prelude::*;

/// Flows of each case.
const FLOWS: usize = 3;
/// End of each run.
const END: Nanos = SECOND / 2;

/// What becomes of packets: refused at a time, or out.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused(Packet<u32>),
    Out(Departed<u32>),
}

#[derive(Debug, Clone)]
struct Case {
    settings: Red,
    limit: Limit,
    rate_bps: u64,
    steps: Vec<(Nanos, u64)>,
    loss_ppb: u64,
    /// Time since the one before, flow, bytes, ECN-capable.
    arrivals: Vec<(Nanos, u32, u32, bool)>,
}

fn case() -> impl Strategy<Value = Case> {
    let rules = prop_oneof![
        Just(RedRules::Linux),
        Just(RedRules::Floyd { gentle: true }),
        Just(RedRules::Floyd { gentle: false }),
    ];
    let limit = prop_oneof![(0..60_000u64).prop_map(Limit::Bytes), (0..40u64).prop_map(Limit::Packets)];
    let gap = prop_oneof![4 => 0..300_000u64, 2 => Just(0), 1 => 0..30_000_000u64];
    let arrival = (gap, 0..FLOWS as u32, prop_oneof![Just(1514), 1..1600u32], any::<bool>());
    let steps = prop::collection::btree_map(1..END, prop_oneof![Just(0), 1_000_000..200_000_000u64], 0..4);
    let settings = (rules, 0..20_000u64, 0..40_000u64, 0..500_000_000u64, 1..40u64, any::<bool>());
    let arrivals = prop::collection::vec(arrival, 1..400);
    (settings, limit, 1_000_000..200_000_000u64, steps, prop_oneof![Just(0), Just(50_000_000)], arrivals)
        .prop_map(
            |(
                (rules, min_bytes, more, max_ppb, burst_pkts, ecn),
                limit,
                rate_bps,
                steps,
                loss_ppb,
                arrivals,
            )| Case {
                settings: Red { rules, min_bytes, max_bytes: min_bytes + more, max_ppb, burst_pkts, ecn },
                limit,
                rate_bps,
                steps: steps.into_iter().collect(),
                loss_ppb,
                arrivals,
            },
        )
}

/// All outcomes in the order of their times, and what the link has measured.
fn run(case: &Case, mut link: Link<u32>) -> (Vec<Outcome>, String) {
    let loss = Loss::new(case.loss_ppb, None, 0, Purpose::LinkLoss.stream(7, 0)).expect("a probability");
    link = link.with_loss(loss);
    let (mut now, mut outcomes) = (0, Vec::new());
    for (number, (gap, flow, bytes, capable)) in (0..).zip(&case.arrivals) {
        now += gap;
        outcomes.extend(std::iter::from_fn(|| link.poll(now)).map(Outcome::Out));
        let ecn = if *capable { EcnField::Ect0 } else { EcnField::NotEct };
        let packet = Packet { flow: *flow, connection: 0, bytes: *bytes, ecn, payload: number };
        outcomes.extend(link.push(now, packet).err().map(Outcome::Refused));
    }
    outcomes.extend(std::iter::from_fn(|| link.poll(END.max(now))).map(Outcome::Out));
    link.finish(END.max(now));
    (outcomes, format!("{:?} {:?}", link.summary("red"), link.meter().series()))
}

proptest! {
    #[test]
    fn a_fifo_with_red_at_its_entry_is_the_discipline(case in case()) {
        let schedule = Schedule { window: (END / 10, END), interval: END / 7, end: END };
        let wire = || Transmitter::wire_with_rates(case.rate_bps, &case.steps);
        let random = || Purpose::Discipline.stream(7, 0);
        let queue = Queue::Red(case.settings);
        let discipline = Discipline::new(queue, case.rate_bps, case.limit, random()).expect("an AQM");
        let queued = Link::with_aqm(AqmQueue::new(discipline, wire(), FLOWS, schedule));
        let fifo = Fifo::new(wire(), case.limit, FLOWS, schedule);
        let fifo = Link::new(fifo.with_red(case.settings, random()));
        let (expected, told) = run(&case, queued);
        let is_dropped_later = |o: &Outcome| matches!(o, Outcome::Out(out) if out.fate == Fate::Dropped);
        prop_assert!(!expected.iter().any(is_dropped_later), "RED drops on arrival only");
        prop_assert_eq!(run(&case, fifo), (expected, told));
    }
}
