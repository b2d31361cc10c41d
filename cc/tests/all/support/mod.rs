//! A small language for ACK scripts: a [`Flow`] is a host without a network. A test says which ACK arrives
//! and when, the flow calls the algorithm as a host would and puts its decision into force.

pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod level;

use fairpace_cc::{Algorithm, CaState, Controller, Decision, Event, Kind, Params, Phase, View};

/// Payload of a full segment in all scripts.
pub(crate) const MSS: u64 = 1448;

/// Milliseconds as microseconds.
pub(crate) const fn ms(n: u64) -> u64 {
    n * 1000
}

/// Seconds as microseconds.
pub(crate) const fn s(n: u64) -> u64 {
    n * 1_000_000
}

/// One ACK. Unless said otherwise it acknowledges one packet, without RTT or rate sample, 1 ms after the
/// last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    after_us: u64,
    acked: u32,
    losses: u32,
    rtt_us: Option<u64>,
    sample: Option<(u32, u64)>,
    round: bool,
    inflight: u32,
    prior_inflight: Option<u32>,
    app_limited: bool,
    delayed: bool,
    sent_with: u32,
    lost_since: u32,
    marked: u32,
    probe: bool,
    sent_after: Option<u32>,
}

/// An ACK for `acked` packets.
pub(crate) fn ack(acked: u32) -> Ack {
    Ack {
        after_us: ms(1),
        acked,
        losses: 0,
        rtt_us: None,
        sample: None,
        round: false,
        inflight: 0,
        prior_inflight: None,
        app_limited: false,
        delayed: false,
        sent_with: 0,
        lost_since: 0,
        marked: 0,
        probe: false,
        sent_after: None,
    }
}

/// The single ACK of a whole round: `pkts` delivered in one RTT, as much in flight.
pub(crate) fn round(pkts: u32, rtt_us: u64) -> Ack {
    ack(pkts).after(rtt_us).rtt(rtt_us).delivered(pkts, rtt_us).new_round().inflight(pkts)
}

impl Ack {
    pub(crate) fn after(self, after_us: u64) -> Ack {
        Ack { after_us, ..self }
    }
    pub(crate) fn rtt(self, rtt_us: u64) -> Ack {
        Ack { rtt_us: Some(rtt_us), ..self }
    }
    pub(crate) fn no_rtt(self) -> Ack {
        Ack { rtt_us: None, ..self }
    }
    pub(crate) fn delivered(self, pkts: u32, interval_us: u64) -> Ack {
        Ack { sample: Some((pkts, interval_us)), ..self }
    }
    pub(crate) fn acked(self, acked: u32) -> Ack {
        Ack { acked, ..self }
    }
    /// The sampled packet was sent after the current round began, so that this ACK begins another.
    pub(crate) fn new_round(self) -> Ack {
        Ack { round: true, ..self }
    }
    /// The sampled packet is older than the current round.
    pub(crate) fn same_round(self) -> Ack {
        Ack { round: false, ..self }
    }
    pub(crate) fn losses(self, losses: u32) -> Ack {
        Ack { losses, ..self }
    }
    /// In flight after this ACK; and before, unless `prior_inflight` says otherwise.
    pub(crate) fn inflight(self, inflight: u32) -> Ack {
        Ack { inflight, ..self }
    }
    pub(crate) fn prior_inflight(self, pkts: u32) -> Ack {
        Ack { prior_inflight: Some(pkts), ..self }
    }
    pub(crate) fn app_limited(self) -> Ack {
        Ack { app_limited: true, ..self }
    }
    pub(crate) fn delayed(self) -> Ack {
        Ack { delayed: true, ..self }
    }
    /// Packets in flight when the sampled packet was sent. Default: unknown.
    pub(crate) fn sent_with(self, inflight: u32) -> Ack {
        Ack { sent_with: inflight, ..self }
    }
    /// Packets lost since it was sent.
    pub(crate) fn lost_since(self, lost: u32) -> Ack {
        Ack { lost_since: lost, ..self }
    }
    /// Packets delivered with a congestion mark since then, all by this ACK.
    pub(crate) fn marked(self, marked: u32) -> Ack {
        Ack { marked, ..self }
    }
    /// `delivered_pkts` when the sampled packet was sent, which need not be the start of a round.
    pub(crate) fn sent_after(self, delivered: u32) -> Ack {
        Ack { sent_after: Some(delivered), ..self }
    }
    /// It acknowledges a tail loss probe.
    pub(crate) fn probe(self) -> Ack {
        Ack { probe: true, ..self }
    }
}

/// Packets that were lost. Unless said otherwise not app-limited, and somewhere else than those before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pkts: u32,
    sent_with: u32,
    lost_since: u32,
    app_limited: bool,
    contiguous: bool,
}

/// `pkts` packets were lost; when the last of them was sent, `sent_with` were in flight; since then
/// `lost_since` were lost, these included.
pub(crate) fn loss(pkts: u32, sent_with: u32, lost_since: u32) -> Loss {
    Loss { pkts, sent_with, lost_since, app_limited: false, contiguous: false }
}

impl Loss {
    pub(crate) fn app_limited(self) -> Loss {
        Loss { app_limited: true, ..self }
    }
    /// They follow on those lost before.
    pub(crate) fn contiguous(self) -> Loss {
        Loss { contiguous: true, ..self }
    }
}

/// An algorithm on a connection that a script drives.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) cc: Controller,
    pub(crate) view: View,
    /// The last decision.
    pub(crate) decision: Decision,
    round_mark: u32,
    /// Reported lost since the last ACK.
    reported_lost: u32,
    lost_end_seq: u32,
}

impl Flow {
    /// A new connection; see [`View::default`].
    pub(crate) fn start(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
        Flow::start_with(algorithm, settings, |_| ())
    }

    /// The same, after `change` has set up the connection.
    pub(crate) fn start_with(
        algorithm: &str,
        settings: &[(&str, &str)],
        change: impl FnOnce(&mut View),
    ) -> Flow {
        let mut params = Params::defaults(Algorithm::by_name(algorithm).unwrap());
        for (name, value) in settings {
            params.set(name, value).unwrap();
        }
        let mut view = View { now_us: s(100), delivered_us: s(100), random: 0x1234_5678, ..View::default() };
        change(&mut view);
        let mut decision = Decision::in_force(&view);
        let cc = Controller::new(&params, &view, &mut decision);
        let round_mark = view.delivered_pkts;
        let mut flow = Flow { cc, view, decision, round_mark, reported_lost: 0, lost_end_seq: 0 };
        flow.apply(decision);
        flow
    }

    /// An ACK arrives.
    pub(crate) fn on(&mut self, ack: Ack) -> &mut Flow {
        let before = self.view.delivered_pkts;
        let inflight_before = ack.prior_inflight.unwrap_or(ack.inflight);
        let view = &mut self.view;
        view.now_us += ack.after_us;
        view.prior_inflight_pkts = inflight_before;
        view.inflight_pkts = ack.inflight;
        view.delivered_pkts = before.wrapping_add(ack.acked);
        view.snd_una = view.snd_una.wrapping_add(ack.acked.wrapping_mul(MSS as u32));
        view.snd_nxt = view.snd_una.wrapping_add(ack.inflight.wrapping_mul(MSS as u32));
        view.lost_pkts = view.lost_pkts.wrapping_add(ack.losses);
        if ack.acked > 0 {
            view.delivered_us = view.now_us;
        }
        if let Some(rtt) = ack.rtt_us {
            view.srtt_us = if view.srtt_us == 0 { rtt as u32 } else { (view.srtt_us * 7 + rtt as u32) / 8 };
        }
        view.rtt_us = ack.rtt_us.map_or(-1, |r| r as i32);
        view.sample_delivered_pkts = ack.sample.map_or(-1, |s| s.0 as i32);
        view.sample_interval_us = ack.sample.map_or(-1, |s| s.1 as i32);
        let round = if ack.round { before } else { self.round_mark.wrapping_sub(1) };
        view.sample_prior_delivered_pkts = ack.sent_after.unwrap_or(round);
        view.acked_pkts = ack.acked;
        view.losses_pkts = ack.losses + std::mem::take(&mut self.reported_lost);
        view.is_app_limited = ack.app_limited;
        view.is_ack_delayed = ack.delayed;
        view.sample_inflight_pkts = ack.sent_with;
        view.sample_lost_pkts = ack.lost_since;
        view.sample_delivered_ce_pkts = ack.marked;
        view.delivered_ce_pkts = view.delivered_ce_pkts.wrapping_add(ack.marked);
        view.is_ece = ack.marked > 0;
        view.is_probe_ack = ack.probe;
        if ack.round && ack.sample.is_some() {
            self.round_mark = self.view.delivered_pkts;
        }
        let owns = self.cc.algorithm().kind() == Kind::OwnsCwnd;
        if !owns {
            self.call(|cc, v, d| cc.on_event(Event::Sample, v, d));
        }
        if owns || self.view.ca_state <= CaState::Disorder {
            self.call(|cc, v, d| cc.on_ack(v, d));
        }
        self.view = self.view.without_ack();
        self
    }

    /// The same ACK `n` times.
    pub(crate) fn times(&mut self, n: u32, ack: Ack) -> &mut Flow {
        for _ in 0..n {
            self.on(ack);
        }
        self
    }

    /// Packets are marked lost; the next ACK reports them, too.
    pub(crate) fn lost(&mut self, loss: Loss) -> &mut Flow {
        let gap = if loss.contiguous { 0 } else { MSS as u32 };
        self.lost_end_seq = self.lost_end_seq.wrapping_add(gap + loss.pkts * MSS as u32);
        self.reported_lost += loss.pkts;
        self.view.lost_pkts = self.view.lost_pkts.wrapping_add(loss.pkts);
        self.view.losses_pkts = loss.pkts;
        self.view.is_app_limited = loss.app_limited;
        self.view.sample_inflight_pkts = loss.sent_with;
        self.view.sample_lost_pkts = loss.lost_since;
        self.view.sample_end_seq = self.lost_end_seq;
        self.call(|cc, v, d| cc.on_event(Event::Lost, v, d));
        self.view = self.view.without_ack();
        self
    }

    /// A tail loss probe turns out to have replaced a lost packet.
    pub(crate) fn probe_repaired(&mut self) -> &mut Flow {
        self.call(|cc, v, d| cc.on_event(Event::ProbeRepaired, v, d));
        self
    }

    /// The same ACK until the pacing gain is this; how many it takes.
    #[track_caller]
    pub(crate) fn until_gain(&mut self, gain: u32, ack: Ack) -> u32 {
        for acks in 0..1000 {
            if self.gain() == gain {
                return acks;
            }
            self.on(ack);
        }
        panic!("{:?}: a gain of {gain} never comes", self.phase());
    }

    /// The host enters Recovery; for algorithms that do not own the window it comes down to ssthresh at once.
    pub(crate) fn recovery(&mut self) -> &mut Flow {
        self.reduce();
        self.ca_state(CaState::Recovery);
        if self.cc.algorithm().kind() == Kind::GrowsCwnd {
            self.view.cwnd_pkts = self.view.ssthresh_pkts;
        }
        self
    }

    /// An episode of loss or marks begins: the host enters this state.
    pub(crate) fn reduce_to(&mut self, state: CaState) -> &mut Flow {
        self.reduce();
        self.ca_state(state)
    }

    /// A retransmission timeout: everything in flight is lost, one packet is sent.
    pub(crate) fn timeout(&mut self) -> &mut Flow {
        self.reduce();
        self.ca_state(CaState::Loss);
        self.view.inflight_pkts = 0;
        self.view.cwnd_pkts = 1;
        self
    }

    fn reduce(&mut self) {
        self.view.prior_cwnd_pkts = self.view.cwnd_pkts;
        self.call(|cc, v, d| cc.on_event(Event::Reduce, v, d));
    }

    /// The recovery state changes.
    pub(crate) fn ca_state(&mut self, state: CaState) -> &mut Flow {
        self.view.ca_state = state;
        self.call(|cc, v, d| cc.on_event(Event::CaState, v, d));
        self
    }

    /// The last reduction was spurious; the host goes back to Open.
    pub(crate) fn undo(&mut self) -> &mut Flow {
        self.call(|cc, v, d| cc.on_event(Event::Undo, v, d));
        self.ca_state(CaState::Open)
    }

    /// Nothing in flight for this long, because there was nothing to send; then sending begins again.
    pub(crate) fn idle(&mut self, idle_us: u64) -> &mut Flow {
        self.view.app_limited = true;
        self.restart(idle_us);
        self.view.app_limited = false;
        self
    }

    /// Nothing in flight for this long, whatever the reason; then sending begins again.
    pub(crate) fn restart(&mut self, idle_us: u64) -> &mut Flow {
        self.view.now_us += idle_us;
        self.view.inflight_pkts = 0;
        self.call(|cc, v, d| cc.on_event(Event::Restart, v, d));
        self
    }

    fn call(&mut self, f: impl FnOnce(&mut Controller, &View, &mut Decision)) {
        let mut decision = Decision::in_force(&self.view);
        f(&mut self.cc, &self.view, &mut decision);
        self.apply(decision);
    }

    fn apply(&mut self, decision: Decision) {
        self.view.cwnd_pkts = decision.cwnd_pkts;
        self.view.ssthresh_pkts = decision.ssthresh_pkts;
        self.view.pacing_rate_Bps = decision.pacing_rate_Bps;
        self.decision = decision;
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.view.cwnd_pkts
    }
    pub(crate) fn ssthresh(&self) -> u32 {
        self.view.ssthresh_pkts
    }
    pub(crate) fn phase(&self) -> Phase {
        self.cc.observe().phase
    }
    /// Pacing gain in 1/256.
    pub(crate) fn gain(&self) -> u32 {
        self.cc.observe().pacing_gain_256
    }
    /// Pacing rate in bytes per second.
    pub(crate) fn pacing(&self) -> u64 {
        self.view.pacing_rate_Bps
    }
}

/// Asserts that two numbers differ by at most `tolerance`.
#[track_caller]
pub(crate) fn assert_near(found: impl Into<f64>, expected: impl Into<f64>, tolerance: impl Into<f64>) {
    let (found, expected, tolerance) = (found.into(), expected.into(), tolerance.into());
    assert!((found - expected).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}
