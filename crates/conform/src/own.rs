//! The algorithms of Fairpace as a subject: the C of `fairpace-cc` behind this protocol.
//!
//! The subject does the work of a transport for its algorithm: it counts in packets instead of bytes, and
//! keeps the packets in flight when a packet was sent, and Linux's recovery states. The delivery rate sample
//! is the runner's.

use std::collections::BTreeMap;

use fairpace_cc::{Algorithm, CaState, Controller, Decision, Event as Call, Params, Phase, View};

use crate::protocol::{
    Ack, Answer, Control, Event, Hello, Init, PROTOCOL, Range, Sent, State, Subject, Support,
};

/// Time when the connection begins: to Linux's clock 0 is "never".
const EPOCH_US: u64 = 1_000_000;

/// An algorithm, and its flow once there is a connection.
pub struct Own {
    params: Params,
    flow: Option<Flow>,
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct Packet {
    inflight_pkts: u32,
    lost_pkts: u32,
    is_app_limited: bool,
}

struct Flow {
    controller: Controller,
    view: View,
    decision: Decision,
    packets: BTreeMap<u64, Packet>,
    mark_app_limited: bool,
}

impl Own {
    /// Returns an algorithm of `fairpace-cc` with its defaults.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self::with(Params::defaults(algorithm))
    }

    /// Returns an algorithm with these parameters.
    #[must_use]
    pub fn with(params: Params) -> Self {
        Self { params, flow: None }
    }
}

impl Subject for Own {
    fn hello(&mut self) -> Hello {
        Hello {
            protocol: PROTOCOL.to_owned(),
            name: format!("fairpace {}", self.params.algorithm().name()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            supports: vec![Support::Spurious, Support::Timeout],
        }
    }

    fn init(&mut self, init: &Init) -> Answer {
        let flow = self.flow.insert(Flow::new(&self.params, init));
        Answer::Control(flow.control())
    }

    fn on(&mut self, event: &Event) -> Answer {
        let Some(flow) = &mut self.flow else {
            return Answer::NotApplicable("there is no connection".to_owned());
        };
        flow.mark_app_limited = false;
        match event {
            Event::Sent(sent) => flow.on_sent(sent),
            Event::Ack(ack) => flow.on_ack(ack),
            Event::Timeout(timeout) => {
                flow.at(timeout.time_us);
                flow.view.app_limited = timeout.app_limited;
                flow.on_timeout(&timeout.lost);
            }
            Event::Spurious { time_us } => {
                flow.at(*time_us);
                flow.call(|cc, view, decision| cc.on_event(Call::Undo, view, decision));
                flow.become_state(CaState::Open);
            }
            Event::Hello { .. } | Event::Init(_) => {}
        }
        Answer::Control(flow.control())
    }
}

impl Flow {
    fn new(params: &Params, init: &Init) -> Self {
        let view = View {
            now_us: EPOCH_US + init.time_us,
            delivered_us: EPOCH_US + init.time_us,
            mss_bytes: init.mss_bytes as u32,
            cwnd_pkts: (init.initial_cwnd_bytes / init.mss_bytes) as u32,
            random: init.seed as u32,
            ..View::default()
        };
        let mut decision = Decision::in_force(&view);
        let controller = Controller::new(params, &view, &mut decision);
        let mut flow = Self { controller, view, decision, packets: BTreeMap::new(), mark_app_limited: false };
        flow.apply(decision);
        flow
    }

    fn at(&mut self, time_us: u64) {
        self.view.now_us = EPOCH_US + time_us;
    }

    fn pkts(&self, bytes: u64) -> u32 {
        (bytes / u64::from(self.view.mss_bytes)) as u32
    }

    /// Sets `snd_una` and `snd_nxt` of a connection without holes: only their distance and the growth of
    /// `snd_una` matter.
    fn set_sequence(&mut self) {
        self.view.snd_una = self.view.delivered_pkts.wrapping_mul(self.view.mss_bytes);
        let flight = self.view.inflight_pkts.wrapping_mul(self.view.mss_bytes);
        self.view.snd_nxt = self.view.snd_una.wrapping_add(flight);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.at(sent.time_us);
        let inflight_pkts = self.pkts(sent.in_flight_bytes);
        self.view.app_limited = sent.app_limited;
        if inflight_pkts <= 1 {
            self.view.inflight_pkts = 0;
            self.call(|cc, view, decision| cc.on_event(Call::Restart, view, decision));
        }
        let (lost_pkts, is_app_limited) = (self.view.lost_pkts, sent.app_limited);
        self.packets.insert(sent.packet, Packet { inflight_pkts, lost_pkts, is_app_limited });
        self.view.inflight_pkts = inflight_pkts;
        self.view.max_inflight_pkts = self.view.max_inflight_pkts.max(inflight_pkts);
        self.set_sequence();
    }

    /// Processes an ACK as Linux's tcp_ack() does: losses, the recovery state, then the algorithm.
    fn on_ack(&mut self, ack: &Ack) {
        self.at(ack.time_us);
        let before = self.view.delivered_pkts;
        self.view.delivered_pkts = self.pkts(ack.sample.total_delivered_bytes);
        self.view.delivered_us = self.view.now_us;
        self.view.inflight_pkts = self.pkts(ack.in_flight_bytes);
        self.view.app_limited = ack.app_limited;
        self.view.cwnd_limited = ack.cwnd_limited;
        self.set_sequence();
        let rtt_us = ack.rtt_us as u32;
        if rtt_us > 0 {
            let srtt_us = self.view.srtt_us;
            self.view.srtt_us = if srtt_us == 0 { rtt_us } else { (7 * srtt_us + rtt_us) / 8 };
            self.view.min_rtt_us = self.view.min_rtt_us.min(rtt_us);
        }
        numbers(&ack.acked).for_each(|number| _ = self.packets.remove(&number));
        let losses_pkts = self.lose(&ack.lost);
        if losses_pkts > 0 && self.view.ca_state < CaState::Recovery {
            self.reduce();
            self.become_state(CaState::Recovery);
        } else if !ack.in_recovery && self.view.ca_state >= CaState::Recovery {
            self.become_state(CaState::Open);
        }
        let sample = &ack.sample;
        let is_valid = sample.interval_us > 0;
        self.view.sample_delivered_pkts =
            if is_valid { self.pkts(sample.delivered_bytes) as i32 } else { -1 };
        self.view.sample_interval_us = if is_valid { sample.interval_us as i32 } else { -1 };
        self.view.rtt_us = if rtt_us > 0 { rtt_us as i32 } else { -1 };
        self.view.sample_prior_delivered_pkts = self.pkts(sample.prior_delivered_bytes);
        self.view.prior_inflight_pkts = self.pkts(ack.prior_in_flight_bytes);
        self.view.acked_pkts = self.view.delivered_pkts.wrapping_sub(before);
        self.view.losses_pkts = losses_pkts;
        self.view.is_app_limited = sample.app_limited;
        self.view.sample_inflight_pkts = self.pkts(sample.tx_in_flight_bytes);
        self.view.sample_lost_pkts = self.pkts(sample.lost_bytes);
        self.call(Controller::on_ack);
        self.view = self.view.without_ack();
    }

    /// Processes a timeout as Linux's tcp_enter_loss() does: one packet may be sent.
    fn on_timeout(&mut self, lost: &[Range]) {
        self.view.inflight_pkts = 0;
        self.reduce();
        self.lose(lost);
        self.become_state(CaState::Loss);
        self.view.cwnd_pkts = 1;
    }

    /// Reports an event for each lost packet; returns the number of lost packets.
    fn lose(&mut self, lost: &[Range]) -> u32 {
        let mut pkts = 0;
        for number in numbers(lost) {
            let Some(packet) = self.packets.remove(&number) else { continue };
            pkts += 1;
            self.view.lost_pkts = self.view.lost_pkts.wrapping_add(1);
            self.view.losses_pkts = 1;
            self.view.is_app_limited = packet.is_app_limited;
            self.view.sample_inflight_pkts = packet.inflight_pkts;
            self.view.sample_lost_pkts = self.view.lost_pkts.wrapping_sub(packet.lost_pkts);
            self.view.sample_end_seq = (number as u32 + 1).wrapping_mul(self.view.mss_bytes);
            self.call(|cc, view, decision| cc.on_event(Call::Lost, view, decision));
            self.view = self.view.without_ack();
        }
        self.view.losses_pkts = 0;
        pkts
    }

    fn reduce(&mut self) {
        self.view.prior_cwnd_pkts = self.view.cwnd_pkts;
        self.call(|cc, view, decision| cc.on_event(Call::Reduce, view, decision));
    }

    fn become_state(&mut self, state: CaState) {
        self.view.ca_state = state;
        self.call(|cc, view, decision| cc.on_event(Call::CaState, view, decision));
    }

    fn call(&mut self, call: impl FnOnce(&mut Controller, &View, &mut Decision)) {
        let min_burst_pkts = self.decision.min_burst_pkts;
        let mut decision = Decision { min_burst_pkts, ..Decision::in_force(&self.view) };
        call(&mut self.controller, &self.view, &mut decision);
        self.apply(decision);
    }

    fn apply(&mut self, decision: Decision) {
        self.view.cwnd_pkts = decision.cwnd_pkts;
        self.view.ssthresh_pkts = decision.ssthresh_pkts;
        self.view.pacing_rate_Bps = decision.pacing_rate_Bps;
        self.mark_app_limited |= decision.app_limited_until_pkts != 0;
        self.decision = decision;
    }

    fn control(&self) -> Control {
        let seen = self.controller.observe();
        Control {
            cwnd_bytes: u64::from(self.view.cwnd_pkts) * u64::from(self.view.mss_bytes),
            pacing_rate_Bps: (self.view.pacing_rate_Bps != fairpace_cc::NO_RATE)
                .then_some(self.view.pacing_rate_Bps),
            state: state(seen.phase),
            bw_Bps: (seen.bw_Bps > 0).then_some(seen.bw_Bps),
            min_rtt_us: seen.min_rtt_us.map(u64::from),
            mark_app_limited: self.mark_app_limited,
        }
    }
}

fn numbers(ranges: &[Range]) -> impl Iterator<Item = u64> {
    ranges.iter().flat_map(|[first, last]| *first..=*last)
}

fn state(phase: Phase) -> Option<State> {
    Some(match phase {
        Phase::Startup => State::Startup,
        Phase::Drain => State::Drain,
        Phase::ProbeBwDown => State::ProbeBwDown,
        Phase::ProbeBwCruise => State::ProbeBwCruise,
        Phase::ProbeBwRefill => State::ProbeBwRefill,
        Phase::ProbeBwUp => State::ProbeBwUp,
        Phase::ProbeRtt => State::ProbeRtt,
        // no phases of BBR
        _ => return None,
    })
}
