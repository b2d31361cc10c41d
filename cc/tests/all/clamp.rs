//! The bounds of decisions: each at its edges, and what they are for, on any view and decision.
#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

use fairpace_cc::{
    Algorithm, Bounds, CaState, Clamps, Controller, Decision, Event, INFINITE, NO_RATE, Params,
};
use fairpace_cc::{NO_RTT, View};
use proptest::prelude::*;

const OWNS: Bounds = Bounds::from_bits(0);
const GROWS: Bounds = Bounds::GROWS;
const SLOW: Bounds = Bounds::SLOW;

/// A connection with a packet of 1448 bytes in 10 ms, on a path of 40 ms.
fn view() -> View {
    View {
        pacing_rate_Bps: 144_800,
        cwnd_pkts: 10,
        prior_cwnd_pkts: 20,
        srtt_us: 40_000,
        min_rtt_us: 40_000,
        ..View::default()
    }
}

fn decision() -> Decision {
    Decision { pacing_rate_Bps: 144_800, cwnd_pkts: 10, ssthresh_pkts: 20, ..Decision::in_force(&view()) }
}

/// A property is tried in `cases` cases.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What becomes of a decision, and what was counted.
fn clamped(bounds: Bounds, view: &View, change: impl FnOnce(&mut Decision)) -> (Decision, Clamps) {
    let mut decision = decision();
    change(&mut decision);
    let clamps = bounds.clamp(view, &mut decision);
    (decision, clamps)
}

#[test]
fn cwnd_is_a_packet_at_least_and_an_int_with_room_for_one_more_at_most() {
    let one = Clamps { cwnd: 1, ..Clamps::default() };
    let none = Clamps::default();
    for (bounds, decided, cwnd, clamps) in [
        (OWNS, 0, 1, one),
        (OWNS, 1, 1, none),
        (OWNS, 0x7fff_fffe, 0x7fff_fffe, none),
        (OWNS, 0x7fff_ffff, 0x7fff_fffe, one),
        (OWNS, u32::MAX, 0x7fff_fffe, one),
        (GROWS, 0, 1, one),
        (GROWS, 1 << 24, 1 << 24, none),
        (GROWS, (1 << 24) + 1, 1 << 24, one),
        (GROWS, u32::MAX, 1 << 24, one),
    ] {
        let (d, counted) = clamped(bounds, &view(), |d| d.cwnd_pkts = decided);
        assert_eq!((d.cwnd_pkts, counted), (cwnd, clamps), "{decided} {bounds:?}");
    }
}

#[test]
fn ssthresh_is_two_packets_at_least_and_a_reduction_does_not_raise_cwnd() {
    let reduces = GROWS | Bounds::REDUCES;
    let recovery = View { ca_state: CaState::Recovery, ssthresh_pkts: 20, ..view() };
    let restored = View { ssthresh_pkts: INFINITE, ..recovery };
    for (bounds, view, decided, ssthresh) in [
        (OWNS, view(), 0, 2),
        (OWNS, view(), 1, 2),
        (OWNS, view(), 2, 2),
        (OWNS, view(), INFINITE, INFINITE),
        (OWNS, view(), u32::MAX, INFINITE),
        // one that owns cwnd may leave ssthresh infinite
        (Bounds::REDUCES, view(), INFINITE, INFINITE),
        (reduces, view(), 0, 2),
        (reduces, view(), 7, 7),
        (reduces, view(), 10, 10),
        (reduces, view(), 11, 10),
        (reduces, view(), INFINITE, 10),
        (reduces, view(), u32::MAX, 10),
        (reduces, View { cwnd_pkts: 1, ..view() }, 2, 2),
        (GROWS, view(), INFINITE, INFINITE),
        (GROWS, recovery, 40, 40),
        (GROWS, recovery, 41, 40),
        (GROWS, recovery, u32::MAX, 40),
        (GROWS, View { prior_cwnd_pkts: 0, ..recovery }, 41, 2),
        // what an undo has restored stays
        (GROWS, restored, INFINITE, INFINITE),
    ] {
        let (d, counted) = clamped(bounds, &view, |d| d.ssthresh_pkts = decided);
        let clamps = Clamps { ssthresh: u64::from(decided != ssthresh), ..Clamps::default() };
        assert_eq!(
            (d.ssthresh_pkts, counted),
            (ssthresh, clamps),
            "{decided} {bounds:?} {:?}",
            view.ca_state
        );
    }
}

#[test]
fn a_burst_is_over_in_a_pause_or_one_and_a_half_rtts() {
    let at = |srtt_us, min_rtt_us| View { pacing_rate_Bps: 0, srtt_us, min_rtt_us, ..view() };
    for (bounds, view, cwnd, least) in [
        // two packets in 200 ms, or in one and a half RTTs
        (OWNS, at(0, NO_RTT), 10, 14_480),
        (OWNS, at(40_000, 40_000), 10, 14_480),
        (OWNS, at(2_000_000, 40_000), 10, 966),
        // on a short path 64 KiB, 32 KiB from 512 us on, and no more than half of cwnd
        (OWNS, at(300, 300), 1000, 327_680),
        (OWNS, at(1000, 512), 1000, 163_840),
        (OWNS, at(300, 300), 12, 43_440),
        (OWNS, View { cwnd_pkts: 1, ..at(300, 300) }, 1, 14_480),
        // that paces below a packet per RTT on purpose: two packets in 77 s
        (SLOW, at(300, 300), 1000, 38),
        (SLOW, at(2_000_000, 40_000), 10, 3),
    ] {
        for (decided, rate) in
            [(0, least), (1, least), (least - 1, least), (least, least), (least + 1, least + 1)]
        {
            let (d, counted) = clamped(bounds, &view, |d| (d.pacing_rate_Bps, d.cwnd_pkts) = (decided, cwnd));
            let clamps = Clamps { pacing_rate: u64::from(decided != rate), ..Clamps::default() };
            assert_eq!((d.pacing_rate_Bps, counted), (rate, clamps), "{decided} {bounds:?} {view:?}");
        }
    }
    // a burst that was formed at a high rate, in the millisecond of tcp_tso_autosize, up to 64 KiB
    for (bounds, before, cwnd, least) in [
        (Bounds::RESTARTS, 10_240_000, 1000, 50_000),
        (Bounds::RESTARTS, NO_RATE, 1000, 327_680),
        (Bounds::RESTARTS, NO_RATE, 4, 36_200),
        (OWNS, NO_RATE, 1000, 14_480),
    ] {
        let view = View { pacing_rate_Bps: before, ..view() };
        let (d, _) = clamped(bounds, &view, |d| (d.pacing_rate_Bps, d.cwnd_pkts) = (0, cwnd));
        assert_eq!(d.pacing_rate_Bps, least, "after {before}; of cwnd in force, 10, and {cwnd} the larger");
    }
    let (d, counted) = clamped(OWNS, &view(), |d| d.pacing_rate_Bps = NO_RATE);
    assert_eq!((d.pacing_rate_Bps, counted), (NO_RATE, Clamps::default()), "no pacing");
    // Linux computes 1.2 packets per RTT after a timeout, and the RTT falls by an eighth with a sample
    for (srtt_us, before_us) in
        [(140_000, 160_000), (157_500, 180_000), (210_000, 240_000), (1_750_000, 2_000_000)]
    {
        let rate = 12 * 1448 * 100_000 / before_us;
        let view = View { pacing_rate_Bps: rate, srtt_us, cwnd_pkts: 1, ..view() };
        let (_, counted) = clamped(GROWS, &view, |d| (d.pacing_rate_Bps, d.cwnd_pkts) = (rate, 1));
        assert_eq!(counted, Clamps::default(), "{srtt_us}");
    }
}

#[test]
fn linuxs_own_pacing_rate_may_be_that_of_the_cwnd_before_an_ack() {
    // a larger cwnd allows longer bursts on a short path
    let before = 12 * 1448 * 2 / 10 * 1_000_000 / 400_000;
    let short = View { pacing_rate_Bps: before, cwnd_pkts: 2, srtt_us: 400_000, min_rtt_us: 300, ..view() };
    for (bounds, decided, cwnd, least) in [
        (GROWS, before, 13, before),
        (GROWS, before, 1000, before),
        (GROWS | Bounds::REDUCES, before, 2, before),
        // the host may send by these before the next ACK
        (GROWS | Bounds::REDUCES, before, 13, 14_480),
        (GROWS | Bounds::RESTARTS, before, 13, 14_480),
        (GROWS, before - 1, 13, 14_480),
    ] {
        let (d, counted) = clamped(bounds, &short, |d| (d.pacing_rate_Bps, d.cwnd_pkts) = (decided, cwnd));
        assert_eq!(
            (d.pacing_rate_Bps, counted.pacing_rate > 0),
            (least, decided != least),
            "{bounds:?} {cwnd}"
        );
    }
}

#[test]
fn a_floor_is_not_above_the_applications_limit() {
    for (limit, rate) in [(5000, 5000), (50_000, 14_480)] {
        let view = View { max_pacing_rate_Bps: limit, ..view() };
        let (d, counted) = clamped(OWNS, &view, |d| d.pacing_rate_Bps = 1);
        assert_eq!((d.pacing_rate_Bps, counted.pacing_rate), (rate, 1));
        let (d, counted) = clamped(OWNS, &view, |d| d.pacing_rate_Bps = 5000);
        assert_eq!((d.pacing_rate_Bps, counted.total()), (rate, u64::from(limit > 5000)));
    }
}

#[test]
fn bursts_and_application_limited_periods_end() {
    for (decided, burst) in [(0, 1), (1, 1), (2, 2), (3, 2), (u32::MAX, 2)] {
        let (d, counted) = clamped(OWNS, &view(), |d| d.min_burst_pkts = decided);
        assert_eq!((d.min_burst_pkts, counted.total()), (burst, u64::from(decided != burst)));
    }
    // the count wraps
    let view = View { delivered_pkts: u32::MAX - 3, inflight_pkts: 10, ..view() };
    for (decided, until) in [(0, 0), (u32::MAX, u32::MAX), (6, 6), (7, 6), (1 << 30, 6)] {
        let (d, counted) = clamped(OWNS, &view, |d| d.app_limited_until_pkts = decided);
        assert_eq!((d.app_limited_until_pkts, counted.total()), (until, u64::from(decided != until)));
    }
    let view = View { delivered_pkts: u32::MAX, inflight_pkts: 1, ..view };
    assert_eq!(
        clamped(OWNS, &view, |d| d.app_limited_until_pkts = 9).0.app_limited_until_pkts,
        1,
        "not none"
    );
}

/// A host's counters, by the sentence that people read.
#[test]
fn what_was_changed_is_named() {
    let all = Clamps::from_array([1, 2, 0, 0, 3]);
    assert_eq!(all.sentence(), "cwnd once, ssthresh 2 times, application-limited period 3 times");
    assert_eq!((all.total(), Clamps::default().sentence()), (6, String::new()));
}

/// The controller applies the bounds that its algorithm has, to each of its calls.
#[test]
fn a_controller_bounds_what_its_algorithm_decides_and_counts() {
    let mut params = Params::defaults(Algorithm::by_name("fixed_rate").unwrap());
    params.set("rate", "8kbit").unwrap();
    // a packet of 64 kB in 65 s is below the slowest
    let view = View { mss_bytes: 65_000, ..view() };
    let mut decision = Decision::in_force(&view);
    let mut flow = Controller::new(&params, &view, &mut decision);
    assert_eq!((decision.pacing_rate_Bps, flow.clamps().pacing_rate), (1693, 1));
    flow.on_ack(&view, &mut decision);
    flow.on_event(Event::Reduce, &view, &mut decision);
    assert_eq!((decision.pacing_rate_Bps, flow.clamps().pacing_rate), (1693, 3));
    assert_eq!(flow.clamps().total(), 3);
}

fn any_u32() -> impl Strategy<Value = u32> {
    prop_oneof![
        prop::sample::select(vec![0, 1, 2, 0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, u32::MAX]),
        (any::<u32>(), 0u32..32).prop_map(|(bits, shift)| bits >> shift),
    ]
}

fn any_rate() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(NO_RATE),
        (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift)
    ]
}

prop_compose! {
    /// The ssthresh in force is one that was bounded.
    fn any_view()(
        (mss_bytes, cwnd_pkts) in (0u32..65_536, any_u32()),
        (prior_cwnd_pkts, ssthresh_pkts) in (any_u32(), any_u32()),
        (srtt_us, min_rtt_us, delivered_pkts, inflight_pkts) in (any_u32(), any_u32(), any_u32(), any_u32()),
        (pacing_rate_Bps, max_pacing_rate_Bps) in (any_rate(), any_rate()),
        ca_state in prop::sample::select(vec![CaState::Open, CaState::Cwr, CaState::Recovery, CaState::Loss]),
    ) -> View {
        let ssthresh_pkts = ssthresh_pkts.clamp(2, INFINITE);
        View {
            mss_bytes, cwnd_pkts, prior_cwnd_pkts, ssthresh_pkts, srtt_us, min_rtt_us, delivered_pkts,
            inflight_pkts, pacing_rate_Bps, max_pacing_rate_Bps, ca_state, ..View::default()
        }
    }
}

prop_compose! {
    fn any_decision()(
        cwnd_pkts in any_u32(),
        ssthresh_pkts in any_u32(),
        pacing_rate_Bps in any_rate(),
        app_limited_until_pkts in any_u32(),
        min_burst_pkts in any_u32(),
    ) -> Decision {
        Decision { pacing_rate_Bps, cwnd_pkts, ssthresh_pkts, app_limited_until_pkts, min_burst_pkts }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn any_decision_comes_within_its_bounds_at_once(
        view in any_view(),
        decided in any_decision(),
        bits in 0u32..16,
    ) {
        let bounds = Bounds::from_bits(bits);
        let grows = bits & GROWS.bits() != 0;
        let mut d = decided;
        let clamps = bounds.clamp(&view, &mut d);
        prop_assert_eq!(clamps.cwnd > 0, d.cwnd_pkts != decided.cwnd_pkts);
        prop_assert_eq!(clamps.ssthresh > 0, d.ssthresh_pkts != decided.ssthresh_pkts);
        prop_assert_eq!(clamps.min_burst > 0, d.min_burst_pkts != decided.min_burst_pkts);
        prop_assert_eq!(clamps.app_limited > 0, d.app_limited_until_pkts != decided.app_limited_until_pkts);
        prop_assert_eq!(clamps.pacing_rate > 0, d.pacing_rate_Bps > decided.pacing_rate_Bps);
        let once = d;
        // but for a rate that Linux computes and that was changed
        if !grows || clamps.pacing_rate == 0 {
            prop_assert_eq!(bounds.clamp(&view, &mut d), Clamps::default());
        }
        prop_assert_eq!(d, once);
        // tcp_snd_cwnd_set, also of one more; tcp_end_cwnd_reduction
        prop_assert!((1..i32::MAX as u32).contains(&d.cwnd_pkts));
        prop_assert!((2..=INFINITE).contains(&d.ssthresh_pkts));
        // tcp_update_pacing_rate at its largest ratio and MSS
        prop_assert!(!grows || u64::from(d.cwnd_pkts).checked_mul(65_535 * 80_000 * 200).is_some());
    }

    /// tcp_cwnd_reduction, as ints: cwnd is between 1 and the largest int, whatever was decided before and
    /// meanwhile.
    #[test]
    fn a_reduction_by_prr_stays_an_int(
        mut view in any_view(),
        decided in prop::collection::vec(any_decision(), 2),
        (in_flight, acked) in (1u32..2_000_000, 1u32..100_000),
    ) {
        let mut d = decided[0];
        GROWS.clamp(&view, &mut d);
        (view.cwnd_pkts, view.prior_cwnd_pkts, view.ca_state) = (d.cwnd_pkts, d.cwnd_pkts, CaState::Open);
        let mut d = Decision { ..decided[0] };
        (GROWS | Bounds::REDUCES).clamp(&view, &mut d);
        (view.ssthresh_pkts, view.ca_state) = (d.ssthresh_pkts, CaState::Recovery);
        for d in [d, decided[1]] {
            let mut d = d;
            GROWS.clamp(&view, &mut d);
            let ssthresh = d.ssthresh_pkts;
            let delta = ssthresh.wrapping_sub(in_flight) as i32;
            let sent = if delta < 0 {
                let whole = u64::from(ssthresh) * u64::from(acked) + u64::from(view.prior_cwnd_pkts) - 1;
                i64::from((whole / u64::from(view.prior_cwnd_pkts)) as i32)
            } else {
                i64::from(delta).min(i64::from(acked) + 1)
            };
            let cwnd = i64::from(in_flight) + sent.max(1);
            prop_assert!((1..i64::from(i32::MAX)).contains(&cwnd), "cwnd {cwnd}, ssthresh {ssthresh}");
            prop_assert!(sent <= 4 * i64::from(acked) + 1, "{sent} for {acked}");
        }
    }
}
