//! BBRv1's detector of policers (Linux tcp_bbr: bbr_lt_bw_sampling), rule by rule.

use crate::support::bbr::*;
use crate::support::{Ack, Flow, MSS, assert_near, ms, round};
use fairpace_cc::{CaState, Phase};

/// What the policer lets through per round.
const POLICED: u32 = 200;

/// A round of which more than 19.5 % of what is delivered is lost on top.
fn policed(pkts: u32) -> Ack {
    round(pkts, RTT).rtt(RTT + 1000).losses(pkts * 3 / 10).inflight(BDP)
}

fn bw(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64
}

/// Whether bw is a policer's rate: then a faster round does not raise it.
fn in_use(f: &Flow) -> bool {
    bw(f.clone().on(round(BDP, RTT).rtt(RTT + 1000))) < rate(BDP, 256) * 0.9
}

/// A flow that has seen two intervals of loss at one rate, and uses that rate.
fn found_out() -> Flow {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(8, policed(POLICED));
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    f
}

#[test]
fn two_lossy_intervals_of_four_rounds_at_one_rate_reveal_a_policer() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(7, policed(POLICED));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
    f.on(policed(POLICED));
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    assert_eq!(f.gain(), CRUISE);
}

#[test]
fn a_policers_rate_is_used_without_probing_for_48_rounds() {
    let mut f = found_out();
    let lossless = round(BDP, RTT).rtt(RTT + 1000);
    for _ in 0..47 {
        f.on(lossless);
        assert_eq!(f.gain(), CRUISE);
        assert_near(bw(&f), rate(POLICED, 256), 1e4);
        assert_near(f.pacing() as f64, rate(POLICED, 256) * 0.99, 1e4);
    }
    f.on(lossless);
    assert_near(bw(&f), rate(BDP, 256), 1e4);
    let mut gains = std::collections::BTreeSet::new();
    for _ in 0..10 {
        gains.insert(f.on(phase_long()).gain());
    }
    assert!(gains.contains(&UP) && gains.contains(&DOWN));
}

#[test]
fn rates_agree_within_an_eighth() {
    for (second, agree) in [(POLICED * 111 / 100, true), (POLICED * 115 / 100, false)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(4, policed(POLICED)).times(4, policed(second));
        let found = if agree { (POLICED + second) / 2 } else { BDP };
        assert_near(bw(&f), rate(found, 256), 1e4);
    }
}

#[test]
fn less_than_a_fifth_of_loss_is_no_policer() {
    // 50/256 of what is delivered
    for (losses, found) in [(39, false), (40, true)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(8, policed(POLICED).losses(losses));
        assert_eq!(in_use(&f), found, "{losses}");
    }
}

#[test]
fn an_interval_ends_with_a_loss_within_sixteen_rounds() {
    let lossless = policed(POLICED).losses(0);
    for (lossless_rounds, found) in [(14, true), (15, false)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(4, policed(POLICED));
        // the second interval: losses early, enough for all of it, and one at the end
        f.on(policed(POLICED).losses(800)).times(lossless_rounds, lossless);
        assert!(!in_use(&f));
        f.on(policed(POLICED));
        assert_eq!(in_use(&f), found, "{} rounds", lossless_rounds + 2);
    }
}

#[test]
fn an_app_limited_ack_restarts_the_search_for_policers() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(7, policed(POLICED)).on(policed(POLICED).app_limited()).times(7, policed(POLICED));
    assert!(!in_use(&f));
    f.on(policed(POLICED));
    assert!(in_use(&f));
}

#[test]
fn undo_forgets_a_policer() {
    let mut f = found_out();
    f.recovery().undo();
    f.on(round(BDP, RTT).rtt(RTT + 1000));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
}

#[test]
fn a_timeout_counts_as_loss_for_policers() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.timeout(); // opens an interval, as a round
    f.ca_state(CaState::Open);
    f.times(6, policed(POLICED));
    assert!(!in_use(&f));
    f.on(policed(POLICED));
    assert!(in_use(&f));
}

#[test]
fn the_search_for_policers_can_be_switched_off() {
    let mut f = probe_bw_at(CRUISE, &[("lt_bw", "off")]);
    f.times(20, policed(POLICED));
    assert!(!in_use(&f));
}

#[test]
fn without_a_loss_no_interval_opens() {
    let mut f = probe_bw_at(CRUISE, &[]);
    // sixteen rounds and more without loss do not count towards any interval
    f.times(30, policed(POLICED).losses(0)).times(7, policed(POLICED));
    assert!(!in_use(&f));
    assert!(in_use(f.on(policed(POLICED))));
}

#[test]
fn an_interval_shorter_than_its_clock_stays_open() {
    // rounds of 0.1 ms, the first loss 0.1 ms after a tick of the clock of 1 ms: the tenth loss is the
    // first after a tick. To the clock that is 1800 packets in 1 ms; ten rounds later 2000 in the next; bw
    // is the mean.
    let mut f = probe_bw_at(CRUISE, &[]);
    f.on(part(1).after(1000 - f.view.now_us % 1000));
    let quick = policed(POLICED).delivered(BDP, RTT).after(100);
    f.times(19, quick);
    assert_near(bw(&f), rate(BDP, 256), 1e4);
    f.on(quick);
    assert_near(bw(&f), 1900.0 * MSS as f64 * 1e3, 1e4);
    // while the clock stands there is no rate, and after sixteen rounds no interval
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(100, policed(POLICED).delivered(BDP, RTT).after(0));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
}

#[test]
fn rates_that_do_not_agree_leave_the_second_to_be_compared_with_a_third() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(4, policed(POLICED)).times(4, policed(POLICED / 2)).times(3, policed(POLICED / 2));
    assert!(!in_use(&f));
    f.on(policed(POLICED / 2));
    assert_near(bw(&f), rate(POLICED / 2, 256), 1e4);
}

#[test]
fn slow_rates_agree_within_four_kilobit_per_second() {
    // one packet a round, of 500 bytes less the 1 % that pacing keeps back, is 5000 bytes/s at 100 ms; 12
    // packets in 4 rounds of 1.00 and of 1.15 s differ by more than an eighth, but by less than 500 bytes/s
    // below 3.8 kB/s
    for (mss, agree) in [(200, true), (400, false)] {
        let mut f = Flow::start_with("bbr1", &[], |v| v.mss_bytes = mss);
        for pkts in [10, 20, 40, 80, 80, 80, 80] {
            f.on(round(pkts, RTT).inflight(1));
        }
        assert!(!matches!(f.phase(), Phase::Startup | Phase::Drain));
        let slow = |after| round(3, after).losses(1).inflight(8);
        // 9 packets in 3 rounds, then 12 in 4: 15 and 12.5 packets a second, 3000 and 2500 bytes/s of 200
        f.times(4, slow(ms(200))).times(4, slow(ms(240)));
        let found = f.cc.observe().bw_Bps as f64 / f64::from(mss);
        assert_eq!(found < 100.0, agree, "MSS {mss}: {found} packets/s");
        if agree {
            assert_near(found, (15.0 + 12.5) / 2.0, 0.1);
        }
    }
}

/// A departure from Linux, where the difference of two rates, times 256, wraps at 2^32 (16 packets/us: a
/// difference of one packet per us, 12 Gbit/s, is none).
#[test]
fn rates_above_12_gbit_are_compared_without_wrapping() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.on(part(1).after(1000 - f.view.now_us % 1000));
    let fast = |pkts| round(pkts, 1000).rtt(RTT + 1000).losses(pkts / 3).inflight(BDP);
    // 3 and 4 packets a us: they differ by a third, and by exactly 2^24 units
    f.times(4, fast(3000)).times(4, fast(4000));
    assert!(bw(&f) > 3.9e6 * MSS as f64, "bw is the maximum: {}", bw(&f));
    f.times(4, fast(4000));
    let lossless = round(8000, 1000).rtt(RTT + 1000);
    assert_near(bw(f.on(lossless)), 4e6 * MSS as f64, 4e3 * MSS as f64);
}

#[test]
fn the_48_rounds_are_those_of_probe_bw() {
    let mut f = found_out();
    let lossless = round(POLICED, RTT).rtt(RTT + 1000);
    f.times(40, lossless);
    f.on(part(1).after(crate::support::s(11)).rtt(RTT + 1000));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.times(100, round(5, ms(1)).inflight(5)); // rounds, but not of PROBE_BW; 5 in flight: it does not end
    f.on(part(1).inflight(4)).on(round(4, ms(201)).inflight(4));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    // the ACK that ended PROBE_RTT was counted before the mode changed: 7 remain, and one
    f.times(7, lossless);
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    f.on(round(BDP, RTT).rtt(RTT + 1000));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
}

#[test]
fn the_bdp_that_ends_drain_is_that_of_bw_not_of_the_policers_rate() {
    // a policer is found in STARTUP, before three rounds without growth: the losses come early
    let mut f = startup(&[("full_bw_rounds", "9")]);
    f.times(8, policed(POLICED).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    f.on(round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Drain);
    let pacing = f.pacing() as f64;
    assert_near(pacing, rate(POLICED, 88) * 0.99, 1e4); // DRAIN paces by the policer's rate
    let more = 3 * (pacing / 1024.0 / MSS as f64) as u32; // bursts at that rate: 1.6 packets, 2 at least
    let target = (BDP + more.max(6) + 1) & !1;
    f.on(part(1).inflight(target + 1));
    assert_eq!(f.phase(), Phase::Drain);
    assert_ne!(f.on(part(1).inflight(target)).phase(), Phase::Drain);
}
