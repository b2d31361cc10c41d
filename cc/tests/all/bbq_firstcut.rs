//! BBQ's first attempt (paper, section V.A): giving back ends at one BDP and not before; all else is BBRv1.

use crate::support::bbr::*;
use crate::support::ms;

#[test]
fn giving_back_lasts_until_one_bdp_however_long_that_takes() {
    let mut f = probe_bw_at_of("bbq_firstcut", DOWN, &[]);
    let target = quantised(BDP, DOWN);
    for _ in 0..20 {
        assert_eq!(f.on(part(1).after(RTT + 1).prior_inflight(target + 1)).gain(), DOWN);
    }
    assert_eq!(f.on(part(1).after(1).prior_inflight(target)).gain(), CRUISE);
}

#[test]
fn giving_back_may_end_at_once() {
    let mut f = probe_bw_at_of("bbq_firstcut", DOWN, &[]);
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP)).gain(), CRUISE);
}

#[test]
fn the_bdp_is_that_of_the_estimates_of_now() {
    let mut f = probe_bw_at_of("bbq_firstcut", DOWN, &[]);
    let between = quantised(BDP, DOWN) + 50;
    assert_eq!(f.on(part(1).after(1).prior_inflight(between)).gain(), DOWN);
    // a quarter more bandwidth: what was above one BDP is below it now
    assert_eq!(f.on(part(1).after(1).delivered(BDP * 5 / 4, RTT).prior_inflight(between)).gain(), CRUISE);
}

#[test]
fn a_flow_that_is_held_long_enough_forgets_its_bandwidth() {
    // what the paper's figure 12 shows: the estimate expires before the flow gets to cruising
    let mut f = probe_bw_at_of("bbq_firstcut", DOWN, &[]);
    let before = f.cc.observe().bw_Bps;
    f.times(12, crate::support::round(BDP * 3 / 4, RTT).rtt(RTT + ms(20)).prior_inflight(2 * BDP));
    assert_eq!(f.gain(), DOWN);
    assert_near_ratio(f.cc.observe().bw_Bps, before, 0.75);
}

fn assert_near_ratio(found: u64, of: u64, ratio: f64) {
    crate::support::assert_near(found as f64 / of as f64, ratio, 0.001);
}

#[test]
fn probing_and_cruising_are_those_of_bbr() {
    let mut f = probe_bw_at_of("bbq_firstcut", UP, &[]);
    assert_eq!(f.on(part(1).after(RTT).prior_inflight(2 * BDP)).gain(), UP, "one min_rtt at least");
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP)).gain(), UP, "and 1.25 BDP");
    assert_eq!(f.on(part(1).after(1).prior_inflight(2 * BDP)).gain(), DOWN);
    f.on(part(1).after(1).prior_inflight(BDP));
    for _ in 0..6 {
        assert_eq!(f.gain(), CRUISE);
        assert_eq!(f.on(part(1).after(RTT)).gain(), CRUISE);
        f.on(part(1).after(1));
    }
    assert_eq!(f.gain(), UP);
}
