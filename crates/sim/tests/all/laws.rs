//! Laws that are known without simulating: throughput and loss, the stages of BBR, Little's law.

use crate::support::{EFFICIENCY, flow, link, ms, run, scenario};
use fairpace_cc::Phase;
use fairpace_results::Run;
use fairpace_scenario::{Codel, DualPi2, Ecn, FqCodel, Limit, Link, Loss, Pie, Queue, Red, RedRules, Target};
use fairpace_sim::swarm;

/// Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997) and Ott, Kemperman and Mathis (1996): a window of 1.31 /
/// sqrt(p) packets on average, if each packet is lost with probability p and a round adds one packet. 1.31
/// also holds with delayed ACKs here, since Linux's Reno counts what ACKs acknowledge and not ACKs. The ideal
/// process recovers in no time; a real one does not grow for a round after each loss. With a loss every 1 / p
/// packets a loss comes every n = 1 / (1.31 sqrt(p)) rounds, so the constant is at least 1.31 n / (n + 1).
#[test]
fn reno_gets_the_inverse_root_of_the_loss_rate() {
    let constant = |ppm: u64| {
        // no queue, and about a thousand losses: the mean is then known to some 2 %
        let l = Link { loss: Loss { ppb: ppm * 1_000, burst: None }, ..link(1_000, 10_000_000) };
        let r = run(&scenario(vec![l], vec![flow("reno", 100, 0)], 20, 500 + 2_000_000 / ppm));
        let pkts_per_round = r.summary.flows[0].goodput_mbps * 1e6 / 8.0 / 1448.0 * 0.1;
        pkts_per_round * (ppm as f64 / 1e6).sqrt()
    };
    for ppm in [1_000, 2_000, 5_000, 10_000] {
        let rounds = 1.0 / (1.31 * (ppm as f64 / 1e6).sqrt());
        let (least, seen) = (1.31 * rounds / (rounds + 1.0), constant(ppm));
        assert!((0.98 * least..1.02 * 1.31).contains(&seen), "{ppm} ppm: {seen}, at least {least}");
    }
}

/// 100 Mbit/s at 50 ms and room for everything: a BDP of 413 packets.
fn bbr_alone() -> Run {
    bbr_at_intervals(5)
}

fn bbr_at_intervals(interval_ms: u64) -> Run {
    let mut s = scenario(vec![link(100, 20_000_000)], vec![flow("bbr1", 50, 0)], 0, 9);
    s.interval = ms(interval_ms);
    run(&s)
}

/// Points of the series in a phase.
fn points(r: &Run, phase: Phase) -> Vec<usize> {
    let phases = r.series.flows[0].phase.iter().enumerate();
    phases.filter(|(_, p)| **p == phase as i8).map(|(i, _)| i).collect()
}

/// A gain of 2 / ln 2 on the rate that the last round delivered doubles the rate each round (ACM Queue 14(5),
/// 2016, "Startup"), so a BDP of 413 packets takes log2(413 / 10) = 5.4 rounds from the initial window. The
/// first rounds are left out: ten packets that left at once tell a rate of ten packets per round and no more.
#[test]
fn bbr_startup_doubles_what_is_in_flight_each_round() {
    let r = bbr_alone();
    let in_flight = &r.series.flows[0].inflight_pkts;
    // three rounds of ten points; the pipe is full in the last one
    let growth = f64::from(in_flight[69] / in_flight[39]).cbrt();
    assert!((1.85..2.1).contains(&growth), "{growth} per round");
}

/// DRAIN sends at ln 2 / 2 of the rate, so what is queued, 2.89 - 1 BDP, leaves at 1 - 0.347 of it. It ends
/// with a BDP and three bursts in flight, of a millisecond each (Linux: bbr_quantization_budget).
#[test]
fn bbr_drains_what_startup_queued_at_the_inverse_gain() {
    // STARTUP adds 16 packets a millisecond until DRAIN begins, which takes these 3 ms longer
    let r = bbr_at_intervals(1);
    let drain = points(&r, Phase::Drain);
    let in_flight = &r.series.flows[0].inflight_pkts;
    let pkts_per_s = 100e6 / 8.0 / 1514.0;
    let before = f64::from(in_flight[drain[0] - 1]);
    let expected_s = (before - pkts_per_s * (0.05 + 0.003)) / (pkts_per_s * (1.0 - 2f64.ln() / 2.0));
    let seen_s = drain.len() as f64 * 0.001;
    assert!((seen_s - expected_s).abs() < 0.005, "{seen_s} s, expected {expected_s} s");
}

/// A cycle of eight rounds queues 0.25 BDP in its first one, which its second one drains: a triangle over two
/// rounds, 1 / 32 BDP on average. The first goes on until an ACK tells that 1.25 BDP are in flight, which is
/// a round of the RTT that it makes, up to 1.25 as long: 0.31 BDP. On top come bursts of a millisecond, 0.02
/// BDP here: a peak of up to 0.33 and a mean of up to 0.33 / 8 + 0.02 BDP.
#[test]
fn bbr_in_steady_state_queues_what_it_probes_with() {
    let r = bbr_alone();
    let settled = 600..1_800;
    let bdp_kb = 625.0;
    let kb: Vec<f64> =
        r.series.links[0].backlog_kb[0][settled.clone()].iter().map(|kb| f64::from(*kb)).collect();
    let (mean, peak) =
        (kb.iter().sum::<f64>() / kb.len() as f64 / bdp_kb, kb.iter().copied().fold(0.0, f64::max) / bdp_kb);
    assert!((0.25..0.33).contains(&peak), "peak {peak} BDP");
    assert!((1.0 / 32.0..0.062).contains(&mean), "mean {mean} BDP");
    // the pipe does not run dry when the queue is drained
    let rates = &r.series.flows[0].goodput_mbps[settled];
    let used = f64::from(rates.iter().sum::<f32>()) / rates.len() as f64 / (100.0 * EFFICIENCY);
    assert!((0.99..1.001).contains(&used), "{used} of the rate");
}

/// By the checks of the swarm: per flow, from an observer's times of arrival and departure, to six digits.
#[test]
fn littles_law_holds_on_every_queue() {
    let codel = Codel { ecn: true, ..Codel::default() };
    let red = |rules| Queue::Red(Red::between(rules, 20_000, 60_000));
    for queue in [
        Queue::Fifo,
        Queue::Step(Limit::Packets(20)),
        red(RedRules::Linux),
        red(RedRules::Floyd { gentle: false }),
        Queue::Codel(codel),
        Queue::FqCodel(FqCodel { codel, ..FqCodel::default() }),
        Queue::Pie(Pie::default()),
        Queue::DualPi2(DualPi2::default()),
    ] {
        for burst_bytes in [None, Some(30_000)] {
            let mut flows = vec![flow("bbr1", 10, 0), flow("cubic", 50, 1000)];
            flows[1].sending.ecn = Ecn::Classic;
            let l = Link { queue, burst_bytes, ..link(20, 150_000) };
            let s = scenario(vec![l], flows, 5, 20).sealed(Target::Simulator).expect("it is valid");
            let (wrong, data_pkts) = swarm::check(&s);
            assert!(wrong.is_empty(), "{queue:?}: {wrong:?}");
            assert!(data_pkts > 20_000, "{queue:?}: only {data_pkts} packets");
        }
    }
}
