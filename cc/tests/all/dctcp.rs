//! DCTCP (RFC 8257).

use crate::support::{Flow, ack};
use fairpace_cc::{CaState, INFINITE, Phase};

/// A flow with ECN that fills its window.
fn dctcp(settings: &[(&str, &str)]) -> Flow {
    Flow::start_with("dctcp", settings, |v| (v.cwnd_limited, v.ecn) = (true, true))
}

/// The same in avoidance with a cwnd of `pkts`.
fn avoidance(settings: &[(&str, &str)], pkts: u32) -> Flow {
    let mut f = dctcp(settings);
    (f.view.cwnd_pkts, f.view.ssthresh_pkts) = (pkts, pkts);
    f
}

/// Acknowledges a cwnd of 100 packets of which `marked` were marked, which ends a round.
fn round(f: &mut Flow, marked: u32) {
    f.on(ack(100).marked(marked).inflight(100));
}

/// The cwnd that a mark leaves of 1,000,000 packets.
fn left_of_a_million(f: &Flow) -> f64 {
    let mut f = f.clone();
    f.view.cwnd_pkts = 1_000_000;
    f.on(ack(0).marked(1).inflight(100)).reduce_to(CaState::Cwr);
    f64::from(f.ssthresh())
}

#[test]
fn without_marks_and_losses_it_grows_as_reno() {
    // section 3.4
    let mut f = dctcp(&[]);
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (10, INFINITE, Phase::SlowStart));
    assert_eq!(f.times(10, ack(1)).cwnd(), 20);
    let mut f = avoidance(&[], 20);
    assert_eq!((f.times(19, ack(1)).cwnd(), f.on(ack(1)).cwnd()), (20, 21));
}

#[test]
fn the_first_mark_halves() {
    // section 3.3: alpha starts at 1
    let mut f = dctcp(&[]);
    f.on(ack(1).marked(1).inflight(10)).reduce_to(CaState::Cwr);
    // of 11 packets, rounded up: the first ACK ends a round all of whose packets were marked
    assert_eq!((f.ssthresh(), f.phase()), (6, Phase::Avoidance));
}

#[test]
fn alpha_averages_the_share_of_marks_by_a_sixteenth_per_round() {
    // section 3.3: alpha = (1 - g) alpha + g M, and cwnd (1 - alpha / 2)
    let mut f = avoidance(&[], 100);
    let mut alpha = 1.0;
    round(&mut f, 10); // its end is where it was at the start: the first ACK ends a round
    alpha += (0.1 - alpha) / 16.0;
    for _ in 0..60 {
        let left = left_of_a_million(&f) / 1e6;
        assert!((left - (1.0 - alpha / 2.0)).abs() < 1e-5, "{left} for an alpha of {alpha}");
        round(&mut f, 10);
        alpha += (0.1 - alpha) / 16.0;
    }
    assert!(alpha < 0.12, "it has come near the share: {alpha}");
}

#[test]
fn alpha_is_updated_once_per_window_of_data() {
    let mut f = avoidance(&[("alpha_gain", "1")], 100);
    round(&mut f, 0);
    assert_eq!(left_of_a_million(&f), 1e6, "no packet was marked in the last round");
    // 99 of the 100 packets in flight: the round goes on; with the 100th it has had 20 marks
    for _ in 0..99 {
        f.on(ack(1).inflight(100));
    }
    assert_eq!(left_of_a_million(&f), 1e6);
    f.on(ack(1).marked(20).inflight(100));
    assert!((left_of_a_million(&f) - 9e5).abs() <= 1.0, "alpha is 0.2");
}

#[test]
fn a_loss_halves_whatever_alpha_is() {
    // section 3.5
    let mut f = avoidance(&[("alpha_gain", "1")], 100);
    round(&mut f, 0);
    let mut marked = f.clone();
    f.view.cwnd_pkts = 100;
    f.recovery();
    assert_eq!((f.cwnd(), f.ssthresh()), (50, 50));
    // a loss on an ACK that echoes a mark, and a timeout after one, are losses
    marked.view.cwnd_pkts = 100;
    marked.on(ack(0).marked(1).inflight(100));
    assert_eq!(marked.clone().reduce_to(CaState::Recovery).ssthresh(), 50);
    assert_eq!(marked.clone().reduce_to(CaState::Loss).ssthresh(), 50);
    assert_eq!(marked.reduce_to(CaState::Cwr).ssthresh(), 100, "an alpha of 0");
}

#[test]
fn a_repaired_tail_loss_halves() {
    // RFC 8985, section 7.4.2: the state is CWR, though no packet was marked
    let mut f = avoidance(&[("alpha_gain", "1")], 100);
    round(&mut f, 0);
    f.on(ack(1).inflight(100));
    f.view.cwnd_pkts = 100;
    assert_eq!(f.reduce_to(CaState::Cwr).ssthresh(), 50);
}

#[test]
fn no_reduction_takes_cwnd_below_two_packets() {
    let mut f = avoidance(&[], 2);
    f.on(ack(0).marked(1).inflight(2)).reduce_to(CaState::Cwr);
    assert_eq!(f.ssthresh(), 2);
}
