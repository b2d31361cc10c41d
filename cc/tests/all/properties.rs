//! What must hold for every algorithm under any ACKs and events, with any parameters in range.
//!
//! Run it with `--features ubsan` too: then undefined behaviour in the C ends the test with a trap.

use fairpace_cc::{Algorithm, CaState, Controller, Decision, Event, Kind, NO_RTT, Params, View};
use proptest::prelude::*;

/// Windows, inflight and ACKs stay below this: 1.5 TB in flight.
const MOST_PKTS: u32 = 1 << 30;

/// One thing that happens to a flow.
#[derive(Debug, Clone)]
enum Step {
    /// An ACK of a path with this rate and RTT, as a host would report it.
    Plausible {
        acked: u32,
        losses: u32,
        queue_us: u32,
        round: bool,
        app_limited: bool,
        delayed: bool,
        sends: Sends,
    },
    /// An ACK with anything in it.
    Wild { acked: u32, losses: u32, inflight: u32, delivered: i32, interval: i32, rtt: i32, prior: u32 },
    /// An event in this recovery state.
    Event(Event, CaState),
    /// Silence, then sending again.
    Idle(u64),
    /// The host sets the window, as PRR does.
    Window(u32),
}

/// What a host that tracks sends knows of a packet.
#[derive(Debug, Clone, Copy)]
struct Sends {
    /// In flight when it was sent, beyond what this ACK acknowledges; `None`: unknown.
    more_inflight: Option<u32>,
    /// Lost since then, before this ACK.
    lost: u32,
    /// Marked since then.
    marked: u32,
    /// It was a tail loss probe.
    probe: bool,
}

/// A path and where its counters start.
#[derive(Debug, Clone)]
struct Path {
    bytes_per_s: u64,
    rtt_us: u32,
    view: View,
}

/// A number whose order of magnitude is uniform.
fn magnitude(low: u64, high: u64) -> impl Strategy<Value = u64> {
    let (low, high) = ((low as f64).ln(), (high as f64).ln());
    (0.0..=1.0).prop_map(move |x: f64| (low + x * (high - low)).exp() as u64)
}

fn near_wrap() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), any::<u32>(), (0..2000u32).prop_map(|back| u32::MAX - back)]
}

fn path() -> impl Strategy<Value = Path> {
    let rates =
        (magnitude(125, 50_000_000_000), magnitude(10, 10_000_000), magnitude(100, 100_000_000_000_000));
    let counters = (near_wrap(), near_wrap(), near_wrap(), 0..=u64::from(u32::MAX) * 4096);
    let host = (0..=65_535u32, 1..=MOST_PKTS, any::<u32>(), 0..=20u8, any::<[bool; 4]>());
    (rates, counters, host).prop_map(|((bytes_per_s, rtt_us, limit), (delivered, una, lost, now), host)| {
        let (mss_bytes, cwnd_pkts, random, pacing_shift, [paced, fresh, cwnd_limited, ecn]) = host;
        let view = View {
            now_us: now,
            delivered_us: now,
            pacing_rate_Bps: if fresh { u64::MAX } else { limit % 3 },
            max_pacing_rate_Bps: if fresh { u64::MAX } else { limit },
            mss_bytes: if fresh { 1448 } else { mss_bytes },
            cwnd_pkts: if fresh { 10 } else { cwnd_pkts },
            delivered_pkts: delivered,
            snd_una: una,
            lost_pkts: lost,
            srtt_us: if fresh { 0 } else { rtt_us as u32 },
            min_rtt_us: if fresh { NO_RTT } else { rtt_us as u32 },
            random,
            pacing_shift,
            paced,
            cwnd_limited,
            ecn,
            ..View::default()
        };
        Path { bytes_per_s, rtt_us: rtt_us as u32, view }
    })
}

fn ca_state() -> impl Strategy<Value = CaState> {
    use CaState::*;
    prop::sample::select(vec![Open, Open, Open, Disorder, Cwr, Recovery, Loss])
}

fn sends() -> impl Strategy<Value = Sends> {
    let few = || prop_oneof![3 => Just(0), 1 => 0..500u32];
    (prop::option::weighted(0.9, 0..5000u32), few(), few(), 0..20u32).prop_map(
        |(more_inflight, lost, marked, probe)| Sends { more_inflight, lost, marked, probe: probe == 0 },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let losses = prop_oneof![9 => Just(0), 1 => 0..500u32];
    let plausible = (1..1000u32, losses, 0..50_000u32, any::<[bool; 2]>(), 0..10u32, sends()).prop_map(
        |(acked, losses, queue_us, [round, delayed], limited, sends)| Step::Plausible {
            acked,
            losses,
            queue_us,
            round,
            app_limited: limited == 0,
            delayed,
            sends,
        },
    );
    let wild = (0..MOST_PKTS, 0..MOST_PKTS, 0..MOST_PKTS, any::<[i32; 3]>(), any::<u32>()).prop_map(
        |(acked, losses, inflight, [delivered, interval, rtt], prior)| Step::Wild {
            acked,
            losses,
            inflight,
            delivered,
            interval,
            rtt,
            prior,
        },
    );
    let events = vec![Event::Reduce, Event::CaState, Event::CaState, Event::Undo, Event::ProbeRepaired];
    prop_oneof![
        20 => plausible,
        1 => wild,
        2 => (prop::sample::select(events), ca_state()).prop_map(|(event, state)| Step::Event(event, state)),
        1 => magnitude(1, 40_000_000_000).prop_map(Step::Idle), // up to 11 hours
        1 => (1..MOST_PKTS).prop_map(Step::Window),
    ]
}

/// An algorithm with random parameters: for each, three in four times the default, else anything in range.
fn params(algorithm: Algorithm) -> impl Strategy<Value = Params> {
    let draws = prop::collection::vec((0..4u8, any::<u64>(), 0..3u8), algorithm.parameters().len());
    draws.prop_map(move |draws| {
        let mut params = Params::defaults(algorithm);
        for (p, (change, x, extreme)) in algorithm.parameters().iter().zip(draws) {
            if change != 0 {
                continue;
            }
            let span = u64::from(p.most - p.least) + 1;
            let raw = [p.least, p.most, p.least + (x % span) as u32][usize::from(extreme)];
            params.set(p.name, &p.unit.format(raw)).expect("a formatted value in range is accepted");
        }
        params
    })
}

/// The ACK of a path with this much delivered.
fn plausible(view: &mut View, path: &Path, step: &Step, round_mark: &mut u32) {
    let Step::Plausible { acked, losses, queue_us, round, app_limited, delayed, sends } = *step else {
        return;
    };
    let before = view.delivered_pkts;
    // up to 34 packets a microsecond, at 400 Gbit/s
    let took_us = u64::from(acked) * u64::from(view.mss_bytes) * 1_000_000 / path.bytes_per_s;
    let took_us = took_us.min(i32::MAX as u64);
    let rtt_us = (path.rtt_us + queue_us) as i32;
    view.now_us += took_us;
    view.delivered_us = view.now_us;
    view.delivered_pkts = before.wrapping_add(acked);
    view.lost_pkts = view.lost_pkts.wrapping_add(losses);
    view.prior_inflight_pkts = view.cwnd_pkts.min(acked * 3);
    view.inflight_pkts = view.prior_inflight_pkts.saturating_sub(acked);
    view.max_inflight_pkts = view.prior_inflight_pkts;
    view.snd_una = view.snd_una.wrapping_add(acked.wrapping_mul(view.mss_bytes));
    view.snd_nxt = view.snd_una.wrapping_add(view.inflight_pkts.wrapping_mul(view.mss_bytes));
    view.srtt_us = rtt_us as u32;
    view.rtt_us = rtt_us;
    view.sample_delivered_pkts = acked as i32;
    view.sample_interval_us = took_us.max(1) as i32;
    view.sample_prior_delivered_pkts = if round { before } else { round_mark.wrapping_sub(1) };
    (view.acked_pkts, view.losses_pkts) = (acked, losses);
    (view.is_app_limited, view.is_ack_delayed) = (app_limited, delayed);
    view.delivered_ce_pkts = view.delivered_ce_pkts.wrapping_add(sends.marked);
    (view.is_ece, view.is_probe_ack) = (sends.marked > 0, sends.probe);
    view.sample_inflight_pkts = sends.more_inflight.map_or(0, |more| acked + more);
    view.sample_lost_pkts = sends.lost + losses;
    view.sample_delivered_ce_pkts = sends.marked;
    view.sample_end_seq = view.snd_una;
    if round {
        *round_mark = view.delivered_pkts;
    }
}

fn wild(view: &mut View, step: &Step) {
    let Step::Wild { acked, losses, inflight, delivered, interval, rtt, prior } = *step else { return };
    view.now_us += 1;
    view.delivered_pkts = view.delivered_pkts.wrapping_add(acked);
    view.prior_inflight_pkts = inflight;
    view.inflight_pkts = inflight;
    view.sample_delivered_pkts = delivered;
    view.sample_interval_us = interval;
    view.rtt_us = rtt;
    view.sample_prior_delivered_pkts = prior;
    (view.acked_pkts, view.losses_pkts) = (acked, losses);
    (view.sample_inflight_pkts, view.sample_lost_pkts) = (prior, losses);
    (view.sample_delivered_ce_pkts, view.sample_end_seq) = (delivered as u32, interval as u32);
}

/// The losses of an ACK, as a host that tracks sends reports them before it.
fn losses(of_ack: &View) -> View {
    View {
        is_app_limited: of_ack.is_app_limited,
        losses_pkts: of_ack.losses_pkts,
        sample_prior_delivered_pkts: of_ack.sample_prior_delivered_pkts,
        sample_inflight_pkts: of_ack.sample_inflight_pkts,
        sample_lost_pkts: of_ack.sample_lost_pkts,
        sample_end_seq: of_ack.sample_end_seq,
        ..of_ack.without_ack()
    }
}

/// Runs the steps and checks every decision; returns the decisions as bytes.
fn run(
    flow: &mut Controller,
    params: &Params,
    path: &Path,
    steps: &[Step],
) -> Result<Vec<u8>, TestCaseError> {
    let mut view = path.view;
    let mut trace = Vec::new();
    let mut round_mark = view.delivered_pkts;
    let grows = flow.algorithm().kind() == Kind::GrowsCwnd;
    let mut decision = Decision::in_force(&view);
    for step in steps {
        let mut on_ack = false;
        match step {
            Step::Plausible { .. } => plausible(&mut view, path, step, &mut round_mark),
            Step::Wild { .. } => wild(&mut view, step),
            Step::Event(event, state) => {
                view.ca_state = if *event == Event::CaState { *state } else { view.ca_state };
                view.prior_cwnd_pkts = view.cwnd_pkts;
                flow.on_event(*event, &view, &mut decision);
            }
            Step::Idle(us) => {
                view.now_us += us;
                view.inflight_pkts = 0;
                view.app_limited = true;
                flow.on_event(Event::Restart, &view, &mut decision);
                view.app_limited = false;
            }
            Step::Window(pkts) => decision.cwnd_pkts = *pkts,
        }
        if matches!(step, Step::Plausible { .. } | Step::Wild { .. }) {
            if grows {
                flow.on_event(Event::Sample, &view, &mut decision);
            }
            if flow.algorithm().tracks_sends() && view.losses_pkts > 0 {
                flow.on_event(Event::Lost, &losses(&view), &mut decision);
                // each call finds in force what the one before decided
                view.cwnd_pkts = decision.cwnd_pkts;
                view.pacing_rate_Bps = decision.pacing_rate_Bps;
            }
            on_ack = !grows || view.ca_state <= CaState::Disorder;
            if on_ack {
                flow.on_ack(&view, &mut decision);
            }
        }
        check(flow, params, &view, &decision, on_ack)?;
        trace.extend_from_slice(decision.as_bytes());
        // the host keeps windows in its range, as snd_cwnd_clamp does
        decision.cwnd_pkts = decision.cwnd_pkts.min(MOST_PKTS);
        view = view.without_ack();
        view.cwnd_pkts = decision.cwnd_pkts;
        view.ssthresh_pkts = decision.ssthresh_pkts;
        view.pacing_rate_Bps = decision.pacing_rate_Bps;
        decision = Decision::in_force(&view);
    }
    Ok(trace)
}

fn check(
    flow: &Controller,
    params: &Params,
    view: &View,
    decision: &Decision,
    on_ack: bool,
) -> Result<(), TestCaseError> {
    prop_assert!(decision.cwnd_pkts >= 1, "cwnd {}", decision.cwnd_pkts);
    prop_assert!(decision.ssthresh_pkts >= 1, "ssthresh {}", decision.ssthresh_pkts);
    prop_assert!((1..=2).contains(&decision.min_burst_pkts), "burst {}", decision.min_burst_pkts);
    if flow.algorithm().kind() == Kind::OwnsCwnd {
        let rate = decision.pacing_rate_Bps;
        prop_assert!(rate > 0 && rate <= view.max_pacing_rate_Bps, "rate {}", rate);
        if let (Some(least), true) = (params.get("min_cwnd_pkts"), on_ack)
            && view.ca_state == CaState::Open
            && view.acked_pkts > 0
        {
            prop_assert!(decision.cwnd_pkts >= least, "cwnd {} in Open", decision.cwnd_pkts);
        }
    }
    let seen = flow.observe();
    prop_assert!(seen.pacing_gain_256 < 4096 && seen.cwnd_gain_256 < 4096);
    Ok(())
}

/// Calls an algorithm in a state that it may never have got into; a build with CC_CHECKS notices when it
/// leaves it by an illegal transition. False: it did.
fn until_illegal(calls: impl FnOnce()) -> bool {
    let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(calls)) else { return true };
    let message = panic.downcast_ref::<String>().map_or("", String::as_str);
    assert!(message.starts_with("an algorithm broke its own rules"), "{message}");
    false
}

fn any_algorithm() -> impl Strategy<Value = Params> {
    prop::sample::select(Algorithm::all().collect::<Vec<_>>()).prop_flat_map(params)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn decisions_stay_in_range_and_are_reproducible(
        params in any_algorithm(),
        path in path(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let start = || Controller::new(&params, &path.view, &mut Decision::in_force(&path.view));
        let mut path = path.clone();
        let mut first = Decision::in_force(&path.view);
        let mut a = Controller::new(&params, &path.view, &mut first);
        let mut b = start();
        path.view.cwnd_pkts = first.cwnd_pkts;
        path.view.pacing_rate_Bps = first.pacing_rate_Bps;
        path.view.ssthresh_pkts = first.ssthresh_pkts;
        check(&a, &params, &path.view, &first, false)?;
        let one = run(&mut a, &params, &path, &steps)?;
        let two = run(&mut b, &params, &path, &steps)?;
        prop_assert!(one == two && a.state_bytes() == b.state_bytes());
    }

    #[test]
    fn a_flow_resumes_from_its_state_bytes(
        params in any_algorithm(),
        path in path(),
        steps in prop::collection::vec(step(), 2..100),
    ) {
        let mut whole = Controller::new(&params, &path.view, &mut Decision::in_force(&path.view));
        let mut path = path.clone();
        path.view.pacing_rate_Bps = 1;
        run(&mut whole, &params, &path, &steps[..1])?;
        let mut resumed = Controller::from_state_bytes(whole.algorithm(), whole.state_bytes()).unwrap();
        prop_assert_eq!(resumed.observe(), whole.observe());
        run(&mut whole, &params, &path, &steps[1..])?;
        run(&mut resumed, &params, &path, &steps[1..])?;
        prop_assert!(whole.state_bytes() == resumed.state_bytes());
    }

    /// Bytes from a kernel's socket storage, or from a damaged recording, may be anything.
    #[test]
    fn no_state_bytes_are_undefined(
        params in any_algorithm(),
        seed in any::<[u64; 8]>(),
        path in path(),
        steps in prop::collection::vec(step(), 1..20),
    ) {
        let algorithm = params.algorithm();
        let random = seed.iter().flat_map(|s| s.to_le_bytes()).cycle();
        let bytes: Vec<u8> = random.take(algorithm.state_bytes()).collect();
        let mut flow = Controller::from_state_bytes(algorithm, &bytes).unwrap();
        flow.observe();
        let mut decision = Decision::in_force(&path.view);
        for step in &steps {
            let mut view = path.view;
            plausible(&mut view, &path, step, &mut 0);
            wild(&mut view, step);
            let legal = until_illegal(|| {
                flow.on_ack(&view, &mut decision);
                for event in Event::ALL {
                    flow.on_event(event, &view, &mut decision);
                }
            });
            if !legal {
                break;
            }
        }
    }

    /// BBQ's idea lies in one place: without it, it is BBRv1 to the last bit.
    #[test]
    fn bbq_without_its_bound_is_bbr1(path in path(), steps in prop::collection::vec(step(), 1..200)) {
        let mut off = Params::defaults(Algorithm::by_name("bbq").unwrap());
        off.set("until_inflight", "on").unwrap();
        let plain = Params::defaults(Algorithm::by_name("bbr1").unwrap());
        let trace = |params: &Params| {
            let mut path = path.clone();
            let mut first = Decision::in_force(&path.view);
            let mut flow = Controller::new(params, &path.view, &mut first);
            path.view.pacing_rate_Bps = first.pacing_rate_Bps;
            run(&mut flow, params, &path, &steps)
        };
        prop_assert_eq!(trace(&off)?, trace(&plain)?);
    }
}
