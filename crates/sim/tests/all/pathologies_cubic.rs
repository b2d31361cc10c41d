//! What is known to be wrong with CUBIC, as simulations that show it.

use crate::support::{bdp_bytes, flow, link, ms, run, scenario};
use fairpace_cc::Phase;
use fairpace_results::Run;

/// RFC 9438 section 5.1 and Zhang et al., section III.C: the sign is the opposite of BBRv1's.
#[test]
fn the_short_rtt_wins() {
    for cc in ["cubic", "reno"] {
        let r = run(&scenario(
            vec![link(20, bdp_bytes(20, 50))],
            vec![flow(cc, 10, 0), flow(cc, 50, 1000)],
            20,
            120,
        ));
        assert!(r.summary.flows[0].share.unwrap() > 0.55, "{cc}: {:?}", r.summary.flows[0].share);
    }
}

/// RFC 9438 section 4.6: with a factor of 0.7 the window after slow start's overshoot is still above what the
/// path holds, so the first cut is followed by more loss.
#[test]
fn the_overshoot_of_slow_start_takes_more_than_one_cut() {
    let mut s = scenario(vec![link(50, bdp_bytes(50, 40))], vec![flow("cubic", 40, 0)], 0, 6);
    s.flows[0].cc.set("hystart", "0").unwrap();
    s.interval = ms(40);
    let r = run(&s);
    // from the first loss on, for longer than the two round trips that a cut takes to be felt
    let drops = &r.series.links[0].drops;
    let first = drops.iter().position(|d| *d > 0).expect("the overshoot is lost");
    let later: u32 = drops[first + 4..first + 12].iter().sum();
    let at_first: u32 = drops[first..first + 4].iter().sum();
    assert!(later > at_first / 4, "{at_first} packets, and after the first cut {later}");
}

/// RFC 9438 section 4.7: fast convergence serves several flows; a single one only loses by it.
#[test]
fn fast_convergence_costs_a_single_flow() {
    let used = |on: &str| {
        let mut s = scenario(vec![link(20, bdp_bytes(20, 100) / 10)], vec![flow("cubic", 100, 0)], 20, 120);
        s.flows[0].cc.set("fast_convergence", on).unwrap();
        let r = run(&s);
        r.summary.links[0].utilization
    };
    let (with, without) = (used("1"), used("0"));
    assert!(with < without - 0.01, "utilization {with}, without it {without}");
}

/// RFC 9406 sections 1 and 3: what raises the RTT for a while, such as jitter or a burst of another flow,
/// ends HyStart's slow start for good, far from what the path holds. HyStart++ makes sure first, and goes on
/// when the RTT is back.
#[test]
fn a_passing_queue_ends_slow_start_early_with_hystart_and_not_with_hystart_plus_plus() {
    // 200 packets of another flow wait in the queue for two round trips, 24 ms at this rate; the path holds
    // 830
    let run = |hystart: &str| {
        let mut burst = flow("fixed_cwnd", 1, 350);
        burst.stop = Some(ms(550));
        burst.cc.set("cwnd_pkts", "200").unwrap();
        let mut s = scenario(vec![link(100, bdp_bytes(100, 100))], vec![flow("cubic", 100, 0), burst], 0, 8);
        s.flows[0].cc.set("hystart", hystart).unwrap();
        run(&s)
    };
    let goodput = |r: &Run| r.summary.flows[0].goodput_mbps;
    let (none, hystart, plus_plus) = (run("0"), run("1"), run("2"));
    assert!(goodput(&hystart) < 0.75 * goodput(&none), "{} of {}", goodput(&hystart), goodput(&none));
    assert!(goodput(&plus_plus) > 0.95 * goodput(&none), "{} of {}", goodput(&plus_plus), goodput(&none));
    let in_css = |r: &Run| r.series.flows[0].phase.contains(&(Phase::ConservativeSlowStart as i8));
    assert!(in_css(&plus_plus) && !in_css(&hystart));
}
