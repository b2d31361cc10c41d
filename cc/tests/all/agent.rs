//! Monitor intervals (`lib/monitor.h`), actions (`lib/action.h`), and the sender that takes them.

use crate::support::{Ack, Flow, MSS, ack, ms};
use fairpace_cc::{Action, ActionError, Algorithm, CaState, FEATURES, Interval, NO_RTT, Phase};
use proptest::prelude::*;

/// An agent with intervals of 10 ms, in the middle of one: the clock is at 100 s and 3 ms.
fn agent() -> Flow {
    start(|_| ())
}

fn start(change: impl FnOnce(&mut fairpace_cc::View)) -> Flow {
    Flow::start_with("agent", &[("interval", "10ms")], |v| {
        v.now_us += ms(3);
        (v.srtt_us, v.min_rtt_us) = (20_000, 20_000);
        change(v);
    })
}

/// The statistics of the interval that ends at this time after 100 s.
fn at(f: &Flow, ends_ms: u64) -> Interval {
    f.cc.interval(100_000_000 + ms(ends_ms)).expect("it is an agent")
}

fn factor(exponent: f32) -> Action {
    Action::Factor { exponent }
}

fn act(f: &mut Flow, action: Action) {
    f.cc.act(action).expect("it is in range");
}

#[test]
fn an_interval_holds_what_its_acks_reported() {
    let mut f = agent();
    f.on(ack(3).after(ms(1)).rtt(21_000).inflight(7)); // 4 ms
    f.on(ack(2).after(ms(4)).rtt(25_000).losses(2).marked(1).inflight(9)); // 8 ms
    f.on(ack(1).after(1_999).inflight(8)); // 9.999 ms, without an RTT
    let expected = Interval {
        rtt_sum_us: 46_000,
        rtt_samples: 2,
        rtt_least_us: 21_000,
        min_rtt_us: 20_000,
        duration_us: 7_000, // from the start at 3 ms
        acks: 3,
        delivered_pkts: 6,
        lost_pkts: 2,
        ce_pkts: 1,
        sent_pkts: 16, // 6 delivered, 2 lost and 8 in flight, none at the start
        inflight_pkts: 8,
        mss_bytes: MSS as u32,
        reserved: 0,
    };
    assert_eq!(at(&f, 10), expected);
    assert_eq!(at(&f, 9), expected, "so far");
}

#[test]
fn the_ack_that_ends_an_interval_counts_in_the_next() {
    let mut f = agent();
    f.on(ack(3).after(ms(6)).rtt(21_000).inflight(7)); // 9 ms
    f.on(ack(5).after(ms(1)).rtt(30_000).inflight(4)); // 10 ms: the grid is half-open
    let second = at(&f, 20);
    assert_eq!((second.acks, second.delivered_pkts, second.duration_us), (1, 5, 10_000));
    assert_eq!((second.rtt_sum_us, second.rtt_least_us), (30_000, 30_000));
    assert_eq!(second.sent_pkts, 2, "5 delivered, and 3 less in flight");
}

#[test]
fn an_interval_without_an_ack_belongs_to_the_next_one() {
    let mut f = agent();
    f.on(ack(3).after(ms(6)).rtt(21_000).inflight(7)); // 9 ms
    for ends_ms in [20, 30] {
        let none = at(&f, ends_ms);
        assert_eq!((none.acks, none.delivered_pkts, none.sent_pkts), (0, 0, 0));
        assert_eq!((none.duration_us, none.rtt_least_us, none.inflight_pkts), (10_000, NO_RTT, 7));
    }
    f.on(ack(6).after(ms(22)).inflight(7)); // 31 ms
    let last = at(&f, 40);
    assert_eq!((last.acks, last.delivered_pkts, last.duration_us), (1, 6, 30_000), "10 to 40 ms");
    assert_eq!(last.rtt_samples, 0);
}

#[test]
fn counters_and_balances_that_wrap_change_nothing() {
    let script: [Ack; 2] = [ack(4).after(ms(2)).losses(1).marked(2).inflight(3), ack(2).inflight(0)];
    let of = |mut f: Flow| {
        for ack in script {
            f.on(ack);
        }
        at(&f, 10)
    };
    let wrapping = start(|v| {
        (v.delivered_pkts, v.lost_pkts, v.delivered_ce_pkts) = (u32::MAX - 1, u32::MAX, u32::MAX);
    });
    assert_eq!(of(wrapping), of(agent()));
    // more left the network than the counters say: not four thousand million packets
    assert_eq!(of(start(|v| v.inflight_pkts = 100)).sent_pkts, 0);
}

#[test]
fn before_the_first_action_the_initial_cwnd_is_paced_over_the_rtt_of_the_handshake() {
    let mut f = agent();
    let rate = 10 * MSS * 1_000_000 / 20_000;
    let held = |f: &Flow| assert_eq!((f.cwnd(), f.pacing(), f.phase()), (10, rate, Phase::Fixed));
    held(&f);
    held(f.on(ack(10).after(ms(40)).rtt(90_000).inflight(10)));
    held(f.recovery());
    held(f.timeout().on(ack(1)));
    held(f.undo());
    held(f.idle(ms(500)));
    held(f.ca_state(CaState::Open));
    let f = start(|v| v.srtt_us = 0);
    assert_eq!(f.pacing(), 10 * MSS * 1000, "without a sample, 1 ms");
    assert_eq!(start(|v| v.max_pacing_rate_Bps = 5000).pacing(), 5000);
}

#[test]
fn an_action_is_in_force_from_the_first_ack_after_its_interval_on() {
    let mut f = agent();
    let before = f.pacing();
    f.on(ack(1).after(ms(6))); // 9 ms
    act(&mut f, Action::Absolute { pacing_rate_Bps: 50_000, cwnd_pkts: 7 });
    assert_eq!(f.on(ack(1).after(999)).pacing(), before, "still in the interval");
    f.on(ack(1).after(1));
    assert_eq!((f.pacing(), f.cwnd()), (50_000, 7), "the first of the next one, at 10 ms");
    f.on(ack(1).after(ms(10))).on(ack(1).after(ms(10)));
    assert_eq!((f.pacing(), f.cwnd()), (50_000, 7), "without an action it stays");
    // two before an ACK: the later one
    act(&mut f, Action::Absolute { pacing_rate_Bps: 60_000, cwnd_pkts: 8 });
    act(&mut f, Action::Absolute { pacing_rate_Bps: 70_000, cwnd_pkts: 9 });
    f.on(ack(1).after(ms(10)));
    assert_eq!((f.pacing(), f.cwnd()), (70_000, 9));
}

#[test]
fn a_factor_scales_the_rate_and_derives_cwnd_from_it() {
    let mut f = agent();
    f.on(ack(1).after(ms(1)));
    act(&mut f, Action::Absolute { pacing_rate_Bps: 1_000_000, cwnd_pkts: 100 });
    f.on(ack(1).after(ms(10)));
    for (exponent, rate) in [(1.0, 2_000_000), (-1.0, 1_000_000), (0.0, 1_000_000), (0.5, 1_414_213)] {
        act(&mut f, factor(exponent));
        f.on(ack(1).after(ms(10)));
        let off = f.pacing().abs_diff(rate) as f64 / rate as f64;
        assert!(off < 2e-4, "{exponent}: {} is not {rate}", f.pacing());
        let bdp_pkts = f.pacing() as f64 * 0.020 / MSS as f64; // srtt is 20 ms
        assert_eq!(f64::from(f.cwnd()), (2.0 * bdp_pkts).ceil(), "{exponent}");
    }
    assert_eq!(f.cwnd(), 40);
}

#[test]
fn exact_exponents_give_exact_factors() {
    let mut f = agent();
    f.on(ack(1).after(ms(1)));
    act(&mut f, Action::Absolute { pacing_rate_Bps: 1_234_567, cwnd_pkts: 100 });
    f.on(ack(1).after(ms(10)));
    for (exponent, rate) in [(0.0, 1_234_567), (1.0, 2_469_134), (-1.0, 1_234_567), (-1.0, 617_283)] {
        act(&mut f, factor(exponent));
        assert_eq!(f.on(ack(1).after(ms(10))).pacing(), rate);
    }
}

#[test]
fn rates_stay_in_their_range() {
    let mut f = agent();
    f.on(ack(1).after(ms(1)));
    for _ in 0..40 {
        act(&mut f, factor(-1.0));
        f.on(ack(1).after(ms(10)));
    }
    assert_eq!((f.pacing(), f.cwnd()), (u64::from(Action::LEAST_BPS), 4), "BBR.MinPipeCwnd");
    for _ in 0..40 {
        act(&mut f, factor(1.0));
        f.on(ack(1).after(ms(10)));
    }
    assert_eq!(f.pacing(), u64::from(Action::MOST_BPS));
}

#[test]
fn an_action_out_of_range_is_refused_and_changes_nothing() {
    let mut f = agent();
    let before = f.cc.state_bytes().to_vec();
    for (action, error) in [
        (factor(f32::NAN), "the exponent is NaN; it is from -1 to 1"),
        (factor(1.1), "the exponent is 1.1; it is from -1 to 1"),
        (
            Action::Absolute { pacing_rate_Bps: 999, cwnd_pkts: 1 },
            "the pacing rate is 999 B/s; it is from 1000 to 4294967295",
        ),
        (
            Action::Absolute { pacing_rate_Bps: 5_000, cwnd_pkts: 0 },
            "cwnd is 0 packets; it is from 1 to 16777216",
        ),
    ] {
        assert_eq!(f.cc.act(action).unwrap_err().to_string(), error);
        assert_eq!(f.cc.state_bytes(), before);
    }
    let mut other = Flow::start("reno", &[]);
    let reno = Algorithm::by_name("reno").unwrap();
    assert_eq!(other.cc.act(factor(0.0)), Err(ActionError::NotAnAgent(reno)));
    assert_eq!(other.cc.interval(0), None);
}

proptest! {
    #[test]
    fn any_actions_keep_rate_and_cwnd_in_range(
        steps in prop::collection::vec((-1.0f32..=1.0, 1u32..5_000, 1u64..2_000_000, 0u64..30_000), 1..60)
    ) {
        let mut f = agent();
        for (exponent, acked, rtt_us, after_us) in steps {
            let before = f.pacing();
            act(&mut f, factor(exponent));
            f.on(ack(acked).after(after_us).rtt(rtt_us).inflight(acked));
            let exact = before as f64 * f64::from(exponent).exp2();
            let bounded = exact.clamp(f64::from(Action::LEAST_BPS), f64::from(Action::MOST_BPS));
            let after = f.pacing();
            prop_assert!(after == before || (after as f64 - bounded).abs() <= 2e-4 * bounded + 1.0);
            prop_assert!((4..=Action::MOST_CWND_PKTS).contains(&f.cwnd()));
        }
    }

    #[test]
    fn intervals_are_a_partition_of_the_acks(
        acks in prop::collection::vec((1u32..9, 0u64..25_000, 0u32..3, 0u32..3), 1..80)
    ) {
        let mut f = agent();
        let (mut sums, mut end) = ([0u32; 4], ms(10));
        let mut take = |f: &Flow, end| {
            let i = f.cc.interval(100_000_000 + end).expect("it is an agent");
            let of = [i.acks, i.delivered_pkts, i.lost_pkts, i.ce_pkts];
            sums = std::array::from_fn(|n| sums[n] + of[n]);
        };
        for (acked, after_us, losses, marked) in &acks {
            while f.view.now_us + after_us >= 100_000_000 + end {
                take(&f, end);
                end += ms(10);
            }
            f.on(ack(*acked).after(*after_us).losses(*losses).marked(*marked));
        }
        take(&f, end);
        let sum = |of: fn(&(u32, u64, u32, u32)) -> u32| acks.iter().map(of).sum::<u32>();
        prop_assert_eq!(sums, [acks.len() as u32, sum(|a| a.0), sum(|a| a.2), sum(|a| a.3)]);
    }
}

/// Features in 1/1024 of an interval with these ACKs, at a rate that is set before.
fn features(rate: u32, acks: impl FnOnce(&mut Flow)) -> [i32; FEATURES] {
    let mut f = agent();
    f.on(ack(1).after(ms(1)));
    act(&mut f, Action::Absolute { pacing_rate_Bps: rate, cwnd_pkts: 100 });
    f.on(ack(1).after(ms(7))); // 11 ms: the next interval, and the rate is in force
    acks(&mut f);
    let interval = at(&f, 20);
    f.cc.features(&interval).expect("it is an agent")
}

#[test]
fn features_are_what_lib_policy_says() {
    // 25 ms instead of 20; 10 packets of 1448 bytes in 10 ms are 1,448,000 B/s
    let seen = features(1_448_000, |f| {
        f.on(ack(9).after(ms(2)).rtt(25_000).losses(10).marked(5));
    });
    let [queue_rtts, queue_10ms, loss, ce, delivered, rate, min_rtt] = seen;
    assert_eq!((queue_rtts, queue_10ms), (256, 512));
    assert_eq!((loss, ce), (4 << 10, 4 << 10), "half of each, in eighths");
    assert_eq!(delivered, 1024);
    // log4 of 11.584 and of 20: 1.767 and 2.161, at most 0.043 less
    let is_log4 = |value: i32, x: f64| (-0.044..=0.002).contains(&(f64::from(value) / 1024.0 - x.log(4.0)));
    assert!(is_log4(rate, 11.584) && is_log4(min_rtt, 20.0), "{rate} {min_rtt}");
}

proptest! {
    #[test]
    fn features_are_at_most_8(interval in any_interval(), rate in 1000u32..) {
        let mut f = agent();
        f.on(ack(1).after(ms(1)));
        act(&mut f, Action::Absolute { pacing_rate_Bps: rate, cwnd_pkts: 1 });
        f.on(ack(1).after(ms(7)));
        let seen = f.cc.features(&interval).expect("it is an agent");
        prop_assert!(seen.iter().all(|feature| feature.abs() <= 8 << 10), "{seen:?}");
    }
}

fn any_interval() -> impl Strategy<Value = Interval> {
    let number = || prop_oneof![0u32..100, any::<u32>()];
    let numbers = prop::array::uniform9(number());
    (any::<u64>(), numbers).prop_map(
        |(rtt_sum_us, [rtt_samples, min_rtt_us, duration_us, acks, delivered, lost, ce, sent, mss])| {
            Interval {
                rtt_sum_us,
                rtt_samples,
                rtt_least_us: min_rtt_us,
                min_rtt_us,
                duration_us,
                acks,
                delivered_pkts: delivered,
                lost_pkts: lost,
                ce_pkts: ce,
                sent_pkts: sent,
                inflight_pkts: sent,
                mss_bytes: mss,
                reserved: 0,
            }
        },
    )
}
