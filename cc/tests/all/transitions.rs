//! Changes of state: the algorithms check in debug builds that each is a legal one. Here are flows that are
//! put into a state in which the next change is not, by forging the bytes of their state: the checks must
//! notice. That none fires otherwise is what every other test in this directory shows, properties.rs for
//! arbitrary streams.
#![cfg(debug_assertions)] // release builds do not check

use crate::support::bbr::*;
use crate::support::{Ack, Flow, ack, ms, round, s};
use fairpace_cc::{CaState, Controller, INFINITE, Phase};

const BBRS: [&str; 10] = [
    "bbr1",
    "bbr1_drain",
    "bbr1_drain8",
    "bbq_firstcut",
    "bbq",
    "nyu_latency",
    "nyu_latency8",
    "nyu",
    "nyu8",
    "nyu_curve",
];

/// The same flow with one byte of its state changed.
fn forged(flow: &Flow, offset: usize, byte: u8) -> Flow {
    let mut bytes = flow.cc.state_bytes().to_vec();
    bytes[offset] = byte;
    let mut forged = flow.clone();
    forged.cc = Controller::from_state_bytes(flow.cc.algorithm(), &bytes).unwrap();
    forged
}

/// Where the state has 0, 1, 2, 3 in STARTUP, DRAIN, PROBE_BW, PROBE_RTT: the mode.
fn mode_offset(algorithm: &str) -> usize {
    let startup = startup_of(algorithm, &[]);
    let mut drain = startup.clone();
    drain.times(3, round(BDP, RTT).inflight(2 * BDP));
    let mut probe_bw = drain.clone();
    probe_bw.on(part(1).inflight(BDP));
    let mut probe_rtt = probe_bw.clone();
    probe_rtt.on(part(1).after(s(11)));
    let flows = [&startup, &drain, &probe_bw, &probe_rtt];
    let found: Vec<_> = (0..startup.cc.state_bytes().len())
        .filter(|&i| (0..4).all(|mode| flows[mode].cc.state_bytes()[i] == mode as u8))
        .collect();
    assert_eq!(found.len(), 1, "{algorithm}: {found:?}");
    found[0]
}

/// What the algorithm says about its rules on an ACK; `None`: it has no complaint.
fn complaint(mut flow: Flow, ack: Ack) -> Option<String> {
    let result = std::panic::catch_unwind(move || flow.on(ack).cwnd());
    result.err().map(|panic| panic.downcast_ref::<String>().expect("a formatted message").clone())
}

#[test]
fn a_mode_that_may_not_follow_is_noticed() {
    for algorithm in BBRS {
        let mode = mode_offset(algorithm);
        let startup = startup_of(algorithm, &[]);
        let expire = part(1).after(s(11)).inflight(2 * BDP);
        assert_eq!(
            complaint(startup.clone(), expire),
            None,
            "{algorithm}: any mode is interrupted by PROBE_RTT"
        );
        let found = complaint(forged(&startup, mode, 7), expire).expect(algorithm);
        assert_eq!(found, "an algorithm broke its own rules: bbr1: this mode may not follow the one before");
    }
}

#[test]
fn probe_bw_with_a_pipe_that_was_never_full_is_noticed() {
    for algorithm in BBRS {
        let startup = startup_of(algorithm, &[]);
        let empty = part(1).inflight(1);
        assert_eq!(complaint(startup.clone(), empty), None, "{algorithm}");
        let drain = forged(&startup, mode_offset(algorithm), 1);
        assert_eq!(drain.phase(), Phase::Drain);
        let found = complaint(drain, empty).expect(algorithm);
        assert!(found.contains("STARTUP is for a pipe that is not full"), "{algorithm}: {found}");
    }
}

/// Where the state of a BBRv3 has 0 to 6 in STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT.
fn state_offset(algorithm: &str) -> usize {
    use crate::support::bbr3::{cruise, down, drain, refill, startup, up};
    let due = [("probe_rtt_interval", "5s")];
    let mut probe_rtt = cruise(algorithm, &due);
    probe_rtt.on(crate::support::bbr3::part(1).after(s(6)));
    let make = [startup, drain, down, cruise, refill, up];
    let flows: Vec<_> = make.iter().map(|f| f(algorithm, &due)).chain([probe_rtt]).collect();
    let found: Vec<_> = (0..flows[0].cc.state_bytes().len())
        .filter(|&i| flows.iter().enumerate().all(|(state, f)| f.cc.state_bytes()[i] == state as u8))
        .collect();
    assert_eq!(found.len(), 1, "{algorithm}: {found:?}");
    found[0]
}

#[test]
fn a_state_of_bbrv3_that_may_not_follow_is_noticed() {
    for algorithm in ["bbr2", "bbr3", "bbr3_draft"] {
        let cruise = crate::support::bbr3::cruise(algorithm, &[("probe_rtt_interval", "5s")]);
        let expire = crate::support::bbr3::part(1).after(s(6));
        assert_eq!(complaint(cruise.clone(), expire), None, "{algorithm}: PROBE_RTT interrupts any state");
        let found = complaint(forged(&cruise, state_offset(algorithm), 9), expire).expect(algorithm);
        assert_eq!(found, "an algorithm broke its own rules: bbr3: this state may not follow the one before");
    }
}

#[test]
fn probe_bw_of_bbrv3_with_a_pipe_that_was_never_full_is_noticed() {
    for algorithm in ["bbr2", "bbr3", "bbr3_draft"] {
        let startup = crate::support::bbr3::startup(algorithm, &[]);
        let empty = crate::support::bbr3::part(1).inflight(1);
        assert_eq!(complaint(startup.clone(), empty), None, "{algorithm}");
        let drain = forged(&startup, state_offset(algorithm), 1);
        assert_eq!(drain.phase(), Phase::Drain);
        let found = complaint(drain, empty).expect(algorithm);
        assert!(found.contains("STARTUP is for a pipe that is not full"), "{algorithm}: {found}");
    }
}

#[test]
fn a_phase_that_slow_start_does_not_have_is_noticed() {
    for algorithm in ["cubic", "reno"] {
        let slow_start = Flow::start_with(algorithm, &[], |v| v.cwnd_limited = true);
        let mut avoidance = slow_start.clone();
        avoidance.recovery().ca_state(CaState::Open).on(ack(1));
        let phase = |f: &Flow, i: usize| f.cc.state_bytes()[i];
        let offsets: Vec<_> = (0..slow_start.cc.state_bytes().len())
            .filter(|&i| {
                phase(&slow_start, i) == Phase::SlowStart as u8
                    && phase(&avoidance, i) == Phase::Avoidance as u8
            })
            .collect();
        assert_eq!(offsets.len(), 1, "{algorithm}: {offsets:?}");
        let grow = ack(1);
        assert_eq!(complaint(slow_start.clone(), grow), None);
        let found = complaint(forged(&slow_start, offsets[0], Phase::Drain as u8), grow).expect(algorithm);
        assert_eq!(
            found,
            "an algorithm broke its own rules: hystart: this phase may not follow the one before"
        );
    }
}

#[test]
fn an_undo_that_restarts_slow_start_may_lead_to_css_at_once() {
    for algorithm in ["cubic", "reno"] {
        let mut f = Flow::start_with(algorithm, &[("hystart", "2")], |v| v.cwnd_limited = true);
        f.times(10, ack(1).rtt(ms(100)).inflight(9)).times(7, ack(1).rtt(ms(150)).inflight(100));
        f.recovery().undo();
        f.view.ssthresh_pkts = INFINITE; // the host takes it back
        assert_eq!(f.phase(), Phase::Avoidance, "{algorithm}: no ACK yet");
        f.on(ack(1).rtt(ms(150)).inflight(100)); // the eighth sample
        assert_eq!(f.phase(), Phase::ConservativeSlowStart, "{algorithm}");
    }
}

#[test]
fn a_mode_of_level_that_may_not_follow_is_noticed() {
    let mut startup = Flow::start("level", &[]);
    startup.on(round(10, RTT)).on(round(20, RTT));
    let mut drain = startup.clone();
    drain.times(3, round(20, RTT));
    let mut steady = drain.clone();
    steady.on(ack(1).after(ms(81)));
    let flows = [(&startup, Phase::Startup), (&steady, Phase::Avoidance), (&drain, Phase::Drain)];
    assert!(flows.iter().all(|(flow, phase)| flow.phase() == *phase));
    let found: Vec<_> = (0..startup.cc.state_bytes().len())
        .filter(|&i| flows.iter().enumerate().all(|(mode, (f, _))| f.cc.state_bytes()[i] == mode as u8))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let ended = ack(1).after(ms(81));
    assert_eq!(complaint(drain.clone(), ended), None);
    let found = complaint(forged(&drain, found[0], 7), ended).expect("a complaint");
    assert_eq!(found, "an algorithm broke its own rules: level: this mode may not follow the one before");
}

#[test]
fn a_mode_of_copa_that_may_not_follow_is_noticed() {
    let mut slow_start = Flow::start_with("copa", &[], |v| v.cwnd_limited = true);
    slow_start.on(round(10, RTT)).on(round(20, RTT));
    let mut default = slow_start.clone();
    default.on(round(40, RTT + ms(20)));
    let mut competitive = default.clone();
    competitive.times(10, round(40, RTT + ms(20)));
    let flows =
        [(&slow_start, Phase::SlowStart), (&default, Phase::Avoidance), (&competitive, Phase::Competitive)];
    assert!(flows.iter().all(|(flow, phase)| flow.phase() == *phase));
    // the last of the places is the mode; what else counts up is before it
    let found: Vec<_> = (0..default.cc.state_bytes().len())
        .filter(|&i| flows.iter().enumerate().all(|(mode, (f, _))| f.cc.state_bytes()[i] == mode as u8))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let lost = |f: Flow| {
        let result = std::panic::catch_unwind(move || f.clone().timeout().cwnd());
        result.err().map(|panic| panic.downcast_ref::<String>().expect("a formatted message").clone())
    };
    assert_eq!(lost(competitive.clone()), None);
    let found = lost(forged(&competitive, found[0], 7)).expect("a complaint");
    assert_eq!(found, "an algorithm broke its own rules: copa: this mode may not follow the one before");
}
