//! The controls that do nothing, whatever happens.

use crate::support::{Flow, ack, ms, round};
use fairpace_cc::{CaState, Phase};

/// Everything that makes other controls act.
fn everything(f: &mut Flow, mut still: impl FnMut(&Flow)) {
    still(f);
    still(f.on(round(100, ms(10))));
    still(f.on(ack(1).losses(50)));
    still(f.recovery());
    still(f.on(round(10, ms(500))));
    still(f.timeout().on(ack(1)));
    still(f.undo());
    still(f.idle(ms(5000)));
    still(f.ca_state(CaState::Open));
    assert_eq!(f.phase(), Phase::Fixed);
}

#[test]
fn fixed_cwnd_holds_its_window_and_does_not_pace() {
    for (value, cwnd) in [("10", 10), ("1", 1), ("5000", 5000)] {
        let mut f = Flow::start("fixed_cwnd", &[("cwnd_pkts", value)]);
        everything(&mut f, |f| assert_eq!((f.cwnd(), f.pacing()), (cwnd, u64::MAX)));
    }
}

#[test]
fn fixed_rate_holds_its_rate_and_leaves_cwnd_out_of_the_way() {
    let mut f = Flow::start("fixed_rate", &[("rate", "10mbit")]);
    everything(&mut f, |f| assert_eq!((f.cwnd(), f.pacing()), (100_000, 1_250_000)));
    let mut f = Flow::start("fixed_rate", &[("rate", "8kbit"), ("cwnd_pkts", "20")]);
    everything(&mut f, |f| assert_eq!((f.cwnd(), f.pacing()), (20, 1000)));
}

#[test]
fn the_applications_limit_bounds_both() {
    for algorithm in ["fixed_cwnd", "fixed_rate"] {
        let mut f = Flow::start_with(algorithm, &[], |v| v.max_pacing_rate_Bps = 5000);
        everything(&mut f, |f| assert_eq!(f.pacing(), 5000));
    }
}
