//! Target for algorithms: every algorithm with any parameters in range, under ACKs and events that need not
//! make sense.

use arbitrary::{Result, Unstructured};
use fairpace_cc::{Algorithm, CaState, Controller, Decision, Event, Kind, NO_RTT, Params, View};

/// Bound of congestion windows, packets in flight and ACKs: 1.5 TB in flight.
const MOST_PKTS: u32 = 1 << 30;
/// Longest silence of a flow, us: 11 hours.
const LONGEST_IDLE_US: u64 = 40_000_000_000;
/// Bound of the gains that algorithms report, in 256ths: they stay below 16.
const MOST_GAIN_256: u32 = 4096;

const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

/// Runs an algorithm on the bytes: the first byte chooses it; then come its parameters, the path and the
/// steps.
pub(crate) fn algorithm(data: &[u8]) {
    // an error: the bytes have ended, and everything before was checked
    let _ = run(&mut Unstructured::new(data));
}

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let params = params(bytes)?;
    let mut view = first_view(bytes)?;
    let mut decision = Decision::in_force(&view);
    let mut flow = Controller::new(&params, &view, &mut decision);
    check(&flow, &view, &decision);
    // behind their end, bytes are zeros for ever
    while !bytes.is_empty() {
        view = in_force(view, &decision);
        decision = Decision { min_burst_pkts: decision.min_burst_pkts, ..Decision::in_force(&view) };
        match bytes.int_in_range(0..=7)? {
            0 => event(&mut flow, &mut view, &mut decision, bytes)?,
            1 => {
                view.now_us += bytes.int_in_range(1..=LONGEST_IDLE_US)?;
                (view.inflight_pkts, view.app_limited) = (0, true);
                flow.on_event(Event::Restart, &view, &mut decision);
                view.app_limited = false;
            }
            kind => {
                if kind == 2 {
                    wild(&mut view, bytes)?
                } else {
                    plausible(&mut view, bytes)?
                }
                ack(&mut flow, &mut view, &mut decision);
            }
        }
        check(&flow, &view, &decision);
    }
    Ok(())
}

fn params(bytes: &mut Unstructured<'_>) -> Result<Params> {
    let number = bytes.int_in_range(0..=Algorithm::all().len() - 1)?;
    let algorithm = Algorithm::all().nth(number).expect("in range");
    let mut params = Params::defaults(algorithm);
    for _ in 0..bytes.int_in_range(0..=4)? {
        if algorithm.parameters().is_empty() {
            break;
        }
        let parameter = bytes.choose(algorithm.parameters())?;
        let raw = bytes.int_in_range(parameter.least..=parameter.most)?;
        params.set(parameter.name, &parameter.unit.format(raw)).expect("a value in range is accepted");
    }
    Ok(params)
}

fn first_view(bytes: &mut Unstructured<'_>) -> Result<View> {
    let rtt_us = bytes.int_in_range(1..=10_000_000)?;
    let is_fresh: bool = bytes.arbitrary()?;
    let now_us = bytes.int_in_range(0..=u64::from(u32::MAX) * 4096)?;
    Ok(View {
        now_us,
        delivered_us: now_us,
        pacing_rate_Bps: u64::MAX,
        max_pacing_rate_Bps: if bytes.arbitrary()? { u64::MAX } else { bytes.int_in_range(100..=1 << 46)? },
        mss_bytes: bytes.int_in_range(0..=65_535)?,
        cwnd_pkts: bytes.int_in_range(1..=MOST_PKTS)?,
        delivered_pkts: bytes.arbitrary()?,
        lost_pkts: bytes.arbitrary()?,
        snd_una: bytes.arbitrary()?,
        srtt_us: if is_fresh { 0 } else { rtt_us },
        min_rtt_us: if is_fresh { NO_RTT } else { rtt_us },
        random: bytes.arbitrary()?,
        pacing_shift: bytes.int_in_range(0..=20)?,
        paced: bytes.arbitrary()?,
        cwnd_limited: bytes.arbitrary()?,
        ecn: bytes.arbitrary()?,
        ..View::default()
    })
}

/// Returns the host's view after a decision.
fn in_force(view: View, decision: &Decision) -> View {
    let mut view = view.without_ack();
    view.cwnd_pkts = decision.cwnd_pkts.min(MOST_PKTS); // as snd_cwnd_clamp does
    view.ssthresh_pkts = decision.ssthresh_pkts;
    view.pacing_rate_Bps = decision.pacing_rate_Bps;
    view
}

fn event(
    flow: &mut Controller,
    view: &mut View,
    decision: &mut Decision,
    bytes: &mut Unstructured<'_>,
) -> Result<()> {
    let event = *bytes.choose(&Event::ALL)?;
    if event == Event::CaState {
        view.ca_state = *bytes.choose(&STATES)?;
    }
    view.prior_cwnd_pkts = view.cwnd_pkts;
    if event == Event::Lost {
        view.losses_pkts = bytes.int_in_range(0..=500)?;
        view.sample_inflight_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
        view.sample_lost_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
    }
    flow.on_event(event, view, decision);
    Ok(())
}

/// Fills the view with an ACK of a path with some rate and queue.
fn plausible(view: &mut View, bytes: &mut Unstructured<'_>) -> Result<()> {
    let acked = bytes.int_in_range(1..=1000)?;
    let took_us: u32 = bytes.int_in_range(0..=200_000)?;
    let rtt_us: u32 = bytes.int_in_range(1..=1_000_000)?;
    let before = view.delivered_pkts;
    view.now_us += u64::from(took_us);
    view.delivered_us = view.now_us;
    view.delivered_pkts = before.wrapping_add(acked);
    view.prior_inflight_pkts = view.cwnd_pkts.min(acked * 3);
    view.inflight_pkts = view.prior_inflight_pkts.saturating_sub(acked);
    view.max_inflight_pkts = view.prior_inflight_pkts;
    view.snd_una = view.snd_una.wrapping_add(acked.wrapping_mul(view.mss_bytes));
    view.snd_nxt = view.snd_una.wrapping_add(view.inflight_pkts.wrapping_mul(view.mss_bytes));
    (view.srtt_us, view.rtt_us) = (rtt_us, rtt_us as i32);
    view.min_rtt_us = view.min_rtt_us.min(rtt_us);
    view.sample_delivered_pkts = acked as i32;
    view.sample_interval_us = took_us.max(1) as i32;
    let is_new_round: bool = bytes.arbitrary()?;
    view.sample_prior_delivered_pkts = if is_new_round { before } else { before.wrapping_sub(1000) };
    view.acked_pkts = acked;
    view.losses_pkts = if bytes.ratio(1, 8)? { bytes.int_in_range(0..=500)? } else { 0 };
    view.lost_pkts = view.lost_pkts.wrapping_add(view.losses_pkts);
    view.sample_lost_pkts = view.losses_pkts;
    view.sample_inflight_pkts = acked + bytes.int_in_range(0..=5000)?;
    (view.is_app_limited, view.is_ack_delayed) = (bytes.ratio(1, 8)?, bytes.ratio(1, 8)?);
    view.is_ece = bytes.ratio(1, 8)?;
    view.sample_delivered_ce_pkts = if view.is_ece { acked } else { 0 };
    view.delivered_ce_pkts = view.delivered_ce_pkts.wrapping_add(view.sample_delivered_ce_pkts);
    view.is_probe_ack = bytes.ratio(1, 16)?;
    view.sample_end_seq = view.snd_una;
    Ok(())
}

/// Fills the view with an ACK of arbitrary values.
fn wild(view: &mut View, bytes: &mut Unstructured<'_>) -> Result<()> {
    view.now_us += 1;
    view.delivered_pkts = bytes.arbitrary()?;
    view.prior_inflight_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
    view.inflight_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
    view.sample_delivered_pkts = bytes.arbitrary()?;
    view.sample_interval_us = bytes.arbitrary()?;
    view.rtt_us = bytes.arbitrary()?;
    view.sample_prior_delivered_pkts = bytes.arbitrary()?;
    view.acked_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
    view.losses_pkts = bytes.int_in_range(0..=MOST_PKTS)?;
    view.sample_inflight_pkts = bytes.arbitrary()?;
    view.sample_lost_pkts = bytes.arbitrary()?;
    view.sample_delivered_ce_pkts = bytes.arbitrary()?;
    view.sample_end_seq = bytes.arbitrary()?;
    Ok(())
}

/// Makes the calls that a host makes for an ACK.
fn ack(flow: &mut Controller, view: &mut View, decision: &mut Decision) {
    let grows = flow.algorithm().kind() == Kind::GrowsCwnd;
    if grows {
        flow.on_event(Event::Sample, view, decision);
    }
    if flow.algorithm().tracks_sends() && view.losses_pkts > 0 {
        let losses = View { losses_pkts: view.losses_pkts, ..view.without_ack() };
        flow.on_event(Event::Lost, &losses, decision);
        view.cwnd_pkts = decision.cwnd_pkts.min(MOST_PKTS);
        view.pacing_rate_Bps = decision.pacing_rate_Bps;
    }
    if !grows || view.ca_state <= CaState::Disorder {
        flow.on_ack(view, decision);
    }
}

fn check(flow: &Controller, view: &View, decision: &Decision) {
    assert!(decision.cwnd_pkts >= 1, "cwnd {}", decision.cwnd_pkts);
    assert!(decision.ssthresh_pkts >= 1, "ssthresh {}", decision.ssthresh_pkts);
    assert!((1..=2).contains(&decision.min_burst_pkts), "burst {}", decision.min_burst_pkts);
    if flow.algorithm().kind() == Kind::OwnsCwnd {
        let rate = decision.pacing_rate_Bps;
        assert!(rate > 0 && rate <= view.max_pacing_rate_Bps, "rate {rate}");
    }
    let seen = flow.observe();
    assert!(seen.pacing_gain_256 < MOST_GAIN_256 && seen.cwnd_gain_256 < MOST_GAIN_256);
}
