//! What an observer sees of marks, against what the links' meters count.

use fairpace_results::Silent;
use fairpace_results::observer::{EcnField, LinkEvent, Observer, Packet};
use fairpace_scenario::{Codel, Ecn, Flow, Limit, Line, Link, Queue, Sending, Traffic, Writes};

use crate::support::{flow, link, ms, scenario};

/// Marks at each link, and packets that came to it with CE.
#[derive(Debug, Default, PartialEq, Eq)]
struct Marks {
    marked: Vec<u64>,
    came_marked: Vec<u64>,
    /// The packet that was marked last: it leaves next.
    last: Option<(u64, u32)>,
}

impl Observer for Marks {
    fn packet(&mut self, at: u64, link: u32, what: LinkEvent, packet: &Packet) {
        let is_ce = packet.ecn == EcnField::Ce;
        match what {
            LinkEvent::Enqueued | LinkEvent::Refused => self.came_marked[link as usize] += u64::from(is_ce),
            LinkEvent::Marked => {
                assert!(is_ce, "{packet:?}");
                self.marked[link as usize] += 1;
                self.last = Some((at, link));
            }
            LinkEvent::Departed | LinkEvent::Lost | LinkEvent::Dropped => {
                let marked = self.last.take();
                assert!(marked.is_none_or(|marked| marked == (at, link)), "{marked:?}, then {packet:?}");
            }
        }
    }
}

/// Marks at each link of a transfer that ends before the run does. The observer sees as many as the meters.
fn marks(links: Vec<Link>) -> Marks {
    let sending = Sending { ecn: Ecn::Classic, ..Sending::default() };
    let traffic = Traffic { size_bytes: Some(6_000_000), writes: Writes::Always };
    let s = scenario(links, vec![Flow { sending, traffic, ..flow("cubic", 30, 0) }], 0, 20);
    let none = || vec![0; s.links.len()];
    let mut seen = Marks { marked: none(), came_marked: none(), last: None };
    let run = fairpace_sim::run_with(&s, &mut Silent, &mut seen).expect("the scenario is valid");
    assert!(run.summary.flows[0].completion_s.is_some(), "all packets have left");
    assert_eq!(seen.marked, run.summary.links.iter().map(|link| link.marks).collect::<Vec<_>>());
    assert!(seen.marked.iter().all(|marks| *marks > 0), "{seen:?}");
    seen
}

fn step(rate_mbps: u64, above_bytes: u64) -> Link {
    Link { queue: Queue::Step(Limit::Bytes(above_bytes)), ..link(rate_mbps, 200_000) }
}

#[test]
fn an_observer_sees_the_same_marks_with_and_without_the_fast_path() {
    // a line that reorders takes the fast path from the link before it; nothing overtakes within 1 ns
    let line =
        Line { delay: ms(1), jitter: std::time::Duration::from_nanos(1), reorders: true, ..Line::default() };
    let fast = Link { line: Line { reorders: false, ..line }, ..step(20, 30_000) };
    let fast = marks(vec![fast]);
    assert_eq!((&fast, fast.came_marked[0]), (&marks(vec![Link { line, ..step(20, 30_000) }]), 0));
}

#[test]
fn what_a_link_marks_comes_marked_to_the_next_and_is_not_its_mark() {
    let first = Link { name: "first".to_owned(), ..step(100, 4_000) };
    let seen = marks(vec![first, step(5, 6_000)]);
    assert_eq!(seen.came_marked, [0, seen.marked[0]]);
}

#[test]
fn a_discipline_marks_while_it_dequeues() {
    let codel = Codel { ecn: true, ..Codel::default() };
    assert_eq!(marks(vec![Link { queue: Queue::Codel(codel), ..link(20, 200_000) }]).came_marked, [0]);
}
