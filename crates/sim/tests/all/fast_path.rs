//! The fast path changes no result: a packet's arrival computed when it is sent is that of one event per hop.

use crate::support::{flow, link, ms, run, scenario};
use fairpace_results::{Run, Silent};
use fairpace_scenario::{Flow, Line, Link, Scenario, Sending};

/// Everything of a run but the time that it took.
fn outcome(run: Run) -> String {
    let mut run = run;
    run.summary.cost.cpu_s = 0.0;
    run.summary.cost.wall_s = 0.0;
    format!("{run:?}")
}

fn same(scenario: &Scenario) {
    let per_hop = fairpace_sim::run_per_hop(scenario, &mut Silent).expect("the scenario is valid");
    assert!(outcome(run(scenario)) == outcome(per_hop), "{}", scenario.title);
}

fn titled(title: &str, links: Vec<Link>, flows: Vec<Flow>) -> Scenario {
    Scenario { title: title.into(), ..scenario(links, flows, 2, 8) }
}

#[test]
fn a_bottleneck_is_the_same_with_and_without_the_fast_path() {
    for cc in ["bbr1", "bbr3", "cubic", "reno"] {
        same(&titled(cc, vec![link(50, 200_000)], vec![flow(cc, 10, 0), flow(cc, 50, 500)]));
    }
}

#[test]
fn jitter_and_propagation_behind_the_link_are_the_same() {
    let line = Line { delay: ms(7), jitter: ms(3), ..Line::default() };
    let links = vec![Link { line, ..link(20, 100_000) }];
    same(&titled("line", links, vec![flow("bbr1", 20, 0), flow("cubic", 40, 100)]));
}

#[test]
fn the_last_of_two_links_is_the_same() {
    let links = vec![Link::new("access", 80_000_000, 60_000), link(50, 200_000)];
    let slow = Flow { access_delay: ms(3), ..flow("cubic", 30, 0) };
    same(&titled("two links", links, vec![slow, flow("bbr1", 30, 0)]));
}

#[test]
fn the_same_packets_are_lost_and_marked() {
    use fairpace_scenario::{Ecn, Limit, Loss, Queue};
    let loss = Loss { ppb: 5_000_000, burst: None };
    let queue = Queue::Step(Limit::Bytes(30_000));
    let links = vec![Link { loss, queue, ..link(50, 200_000) }];
    let sending = Sending { ecn: Ecn::Dctcp, ..Sending::default() };
    let marked = Flow { sending, ..flow("bbr3", 20, 0) };
    same(&titled("loss", links, vec![marked, flow("cubic", 20, 0)]));
}

#[test]
fn the_same_packets_are_lost_in_bursts() {
    use fairpace_scenario::{Burst, BurstLength, Codel, Loss, Queue};
    for length in [BurstLength::Pkts(8), BurstLength::Time(ms(3))] {
        for queue in [Queue::Fifo, Queue::Codel(Codel::default())] {
            let burst = Some(Burst { length, inside_ppb: 700_000_000, outside_ppb: 1_000_000 });
            let links = vec![Link { loss: Loss { ppb: 10_000_000, burst }, queue, ..link(50, 200_000) }];
            same(&titled("bursts", links, vec![flow("bbr3", 20, 0), flow("cubic", 20, 0)]));
        }
    }
}

#[test]
fn packets_that_would_arrive_after_the_end_do_not_count() {
    // five seconds of queue: most packets that are sent in the last seconds arrive too late
    let s = scenario(vec![link(1, 1_000_000)], vec![flow("cubic", 20, 0)], 2, 8);
    let packets = run(&s).summary.cost.data_packets as f64;
    assert!(packets * 1514.0 * 8.0 <= 8.0e6, "{packets}");
    same(&s);
}
