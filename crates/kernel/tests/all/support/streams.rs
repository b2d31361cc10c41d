//! Made-up streams of views: plausible ones from a crude model of one bottleneck, extreme ones from values at
//! and around every edge. The same seed gives the same stream.

use fairpace_cc::{CaState, Decision, Event, INFINITE, NO_RATE, NO_RTT, View};
use fairpace_test_support::Random;

/// One time of `n`.
fn one_in(random: &mut Random, n: u32) -> bool {
    random.between(1, n) == 1
}

/// Any number, small and large ones equally likely, and often one at an edge.
fn anything(random: &mut Random) -> u64 {
    let edge =
        [0, 1, 2, u32::MAX.into(), u64::from(u32::MAX) - 1, 1 << 31, INFINITE.into(), u64::MAX, 1 << 40];
    match random.between(0, 3) {
        0 => edge[random.between(0, edge.len() as u32 - 1) as usize],
        _ => random.bits() >> random.between(0, 63),
    }
}

/// One call of an algorithm.
#[derive(Debug)]
pub(crate) struct Step {
    /// `None`: an ACK.
    pub(crate) event: Option<Event>,
    pub(crate) view: View,
}

/// A connection that makes views.
pub(crate) struct Stream {
    random: Random,
    view: View,
    plausible: bool,
    /// The crude path: propagation, and the time that the bottleneck takes for a packet.
    base_rtt_us: u32,
    us_per_pkt: u32,
    queue_pkts: u32,
    /// One ACK in `losses_every` brings losses, one packet in `marks_every` a mark; 0: none.
    losses_every: u32,
    marks_every: u32,
    /// Marked lost, before the ACK that reports it.
    lost_pkts: u32,
    /// `delivered_pkts`, `lost_pkts` and `delivered_ce_pkts` about a round ago.
    round: [u32; 3],
}

impl Stream {
    /// A path with a rate, an RTT and a buffer of four BDP, random loss and marks, idle times and RTOs.
    pub(crate) fn plausible(seed: u64) -> Stream {
        let mut random = Random::new(seed);
        let base_rtt_us = random.between(1, 200) * 1_000;
        let us_per_pkt = random.between(1, 2_000);
        let losses_every = [10, 100, 1_000][random.between(0, 2) as usize];
        let marks_every = [0, 0, 2, 10][random.between(0, 3) as usize];
        let view = View {
            ecn: marks_every != 0,
            delivered_ce_pkts: random.bits() as u32,
            now_us: 1_000_000 + u64::from(random.between(0, u32::MAX)),
            random: random.bits() as u32,
            delivered_pkts: random.bits() as u32,
            lost_pkts: random.bits() as u32,
            snd_una: random.bits() as u32,
            srtt_us: if one_in(&mut random, 2) { base_rtt_us } else { 0 },
            ..View::default()
        };
        let view = View { delivered_us: view.now_us, snd_nxt: view.snd_una, ..view };
        let round = [view.delivered_pkts, view.lost_pkts, view.delivered_ce_pkts];
        Stream {
            random,
            view,
            plausible: true,
            base_rtt_us,
            us_per_pkt,
            queue_pkts: 0,
            losses_every,
            marks_every,
            lost_pkts: 0,
            round,
        }
    }

    /// Every field anything that its type allows; only time keeps its direction.
    pub(crate) fn extreme(seed: u64) -> Stream {
        let mut stream = Stream::plausible(seed);
        stream.plausible = false;
        stream.scramble();
        stream
    }

    pub(crate) fn first(&self) -> View {
        self.view.without_ack()
    }

    /// The host does what the algorithm wants.
    pub(crate) fn obey(&mut self, decision: &Decision) {
        self.view.cwnd_pkts = decision.cwnd_pkts.max(1);
        self.view.ssthresh_pkts = decision.ssthresh_pkts;
        self.view.pacing_rate_Bps = decision.pacing_rate_Bps;
    }

    /// The next ACK or event.
    pub(crate) fn next(&mut self) -> Step {
        if !self.plausible {
            self.scramble();
            let event = one_in(&mut self.random, 4).then(|| Event::ALL[self.random.between(0, 6) as usize]);
            return Step { event, view: self.view };
        }
        if self.lost_pkts == 0 && one_in(&mut self.random, self.losses_every) {
            return Step { event: Some(Event::Lost), view: self.loss() };
        }
        if let Some(event) = self.event() {
            return Step { event: Some(event), view: self.view.without_ack() };
        }
        self.ack();
        let event = one_in(&mut self.random, 8).then_some(Event::Sample);
        Step { event, view: self.view }
    }

    /// Packets are found to be lost; they were sent with about as much in flight as now.
    fn loss(&mut self) -> View {
        self.lost_pkts = self.random.between(1, 5);
        let v = &self.view;
        let inflight = v.inflight_pkts + self.random.between(0, 10);
        View {
            is_app_limited: one_in(&mut self.random, 40),
            losses_pkts: self.lost_pkts,
            sample_prior_delivered_pkts: v.delivered_pkts.wrapping_sub(inflight),
            sample_inflight_pkts: if one_in(&mut self.random, 50) { 0 } else { inflight },
            sample_lost_pkts: v.lost_pkts.wrapping_sub(self.round[1]) + self.lost_pkts,
            sample_end_seq: v.snd_una.wrapping_add(self.random.between(1, 9) * v.mss_bytes),
            lost_pkts: v.lost_pkts.wrapping_add(self.lost_pkts),
            ..v.without_ack()
        }
    }

    /// An ACK for some of what is in flight; the window fills up again afterwards.
    fn ack(&mut self) {
        let v = &mut self.view;
        let acked = self.random.between(1, 8);
        // the bottleneck serves at its rate; now and then an ACK is late or a time passes with nothing
        let gap =
            acked * self.us_per_pkt + if one_in(&mut self.random, 500) { self.base_rtt_us * 20 } else { 0 };
        v.now_us += u64::from(gap);
        v.delivered_us = v.now_us;
        v.prior_inflight_pkts = v.inflight_pkts;
        v.delivered_pkts = v.delivered_pkts.wrapping_add(acked);
        v.acked_pkts = acked;
        v.losses_pkts = std::mem::take(&mut self.lost_pkts);
        v.lost_pkts = v.lost_pkts.wrapping_add(v.losses_pkts);
        let bdp = (self.base_rtt_us / self.us_per_pkt).max(1);
        let window = v.cwnd_pkts.min(bdp * 5);
        v.inflight_pkts = window.saturating_sub(self.random.between(0, 3));
        v.max_inflight_pkts = v.inflight_pkts.max(1);
        self.queue_pkts = v.inflight_pkts.saturating_sub(bdp);
        let rtt = self.base_rtt_us + self.queue_pkts * self.us_per_pkt + self.random.between(0, 200);
        v.rtt_us = if one_in(&mut self.random, 50) { -1 } else { rtt as i32 };
        v.min_rtt_us = v.min_rtt_us.min(rtt);
        v.srtt_us = rtt;
        let sampled = v.inflight_pkts.max(1);
        v.sample_delivered_pkts = if one_in(&mut self.random, 200) { -1 } else { sampled as i32 };
        v.sample_interval_us =
            if one_in(&mut self.random, 200) { 0 } else { (sampled * self.us_per_pkt).max(rtt) as i32 };
        v.sample_prior_delivered_pkts = v.delivered_pkts.wrapping_sub(sampled);
        v.is_app_limited = one_in(&mut self.random, 40);
        v.app_limited = one_in(&mut self.random, 40);
        v.is_ack_delayed = one_in(&mut self.random, 30);
        let marked = acked.checked_div(self.marks_every).unwrap_or(0);
        v.delivered_ce_pkts = v.delivered_ce_pkts.wrapping_add(marked);
        v.is_ece = marked > 0;
        v.is_probe_ack = one_in(&mut self.random, 100);
        v.sample_inflight_pkts =
            if one_in(&mut self.random, 50) { 0 } else { sampled + self.random.between(0, 10) };
        v.sample_lost_pkts = v.lost_pkts.wrapping_sub(self.round[1]);
        v.sample_delivered_ce_pkts = v.delivered_ce_pkts.wrapping_sub(self.round[2]);
        v.sample_end_seq = v.snd_una;
        if v.delivered_pkts.wrapping_sub(self.round[0]) > sampled {
            self.round = [v.delivered_pkts, v.lost_pkts, v.delivered_ce_pkts];
        }
        v.cwnd_limited = !one_in(&mut self.random, 5);
        v.departure_lead_us = if one_in(&mut self.random, 2) { self.random.between(0, 1_500) } else { 0 };
        v.snd_una = v.snd_una.wrapping_add(acked * v.mss_bytes);
        v.snd_nxt = v.snd_una.wrapping_add(v.inflight_pkts * v.mss_bytes);
    }

    /// Recovery, RTO, idle and undo, seldom and in an order that can occur.
    fn event(&mut self) -> Option<Event> {
        let v = &mut self.view;
        let (event, state) = match v.ca_state {
            CaState::Open if one_in(&mut self.random, 150) => (Event::Reduce, CaState::Open),
            CaState::Open if v.prior_cwnd_pkts != 0 && one_in(&mut self.random, 2) => {
                (Event::CaState, CaState::Recovery)
            }
            CaState::Open if one_in(&mut self.random, 400) => (Event::CaState, CaState::Loss),
            CaState::Open if one_in(&mut self.random, 200) => (Event::Restart, CaState::Open),
            CaState::Open if one_in(&mut self.random, 300) => (Event::ProbeRepaired, CaState::Open),
            CaState::Recovery | CaState::Loss if one_in(&mut self.random, 200) => (Event::Undo, v.ca_state),
            CaState::Recovery | CaState::Loss if one_in(&mut self.random, 40) => {
                (Event::CaState, CaState::Open)
            }
            _ => return None,
        };
        v.prior_cwnd_pkts = match event {
            Event::Reduce => v.cwnd_pkts,
            Event::CaState => 0,
            _ => v.prior_cwnd_pkts,
        };
        if event == Event::Restart {
            v.now_us += u64::from(self.random.between(0, 15_000_000));
            v.inflight_pkts = 0;
            v.app_limited = !one_in(&mut self.random, 4);
        }
        v.ca_state = state;
        Some(event)
    }

    fn scramble(&mut self) {
        let random = &mut self.random;
        let mut word = || anything(random) as u32;
        let old = self.view;
        self.view = View {
            mss_bytes: word().clamp(1, 65_535),
            cwnd_pkts: if word() % 4 == 0 { word().max(1) } else { old.cwnd_pkts },
            prior_cwnd_pkts: word(),
            ssthresh_pkts: if word() % 4 == 0 { word() } else { old.ssthresh_pkts },
            inflight_pkts: word(),
            delivered_pkts: word(),
            lost_pkts: word(),
            max_inflight_pkts: word(),
            snd_una: word(),
            snd_nxt: word(),
            srtt_us: word() >> 3, // as wide as Linux keeps it
            min_rtt_us: if word() % 2 == 0 { NO_RTT } else { word() },
            departure_lead_us: word(),
            random: word(),
            pacing_shift: (word() % 32) as u8,
            paced: word() % 2 == 0,
            cwnd_limited: word() % 2 == 0,
            app_limited: word() % 2 == 0,
            is_app_limited: word() % 2 == 0,
            is_ack_delayed: word() % 2 == 0,
            is_ece: word() % 2 == 0,
            is_probe_ack: word() % 2 == 0,
            ecn: word() % 2 == 0,
            delivered_ce_pkts: word(),
            sample_inflight_pkts: word(),
            sample_lost_pkts: word(),
            sample_delivered_ce_pkts: word(),
            sample_end_seq: word(),
            sample_delivered_pkts: word() as i32,
            sample_interval_us: word() as i32,
            rtt_us: word() as i32,
            sample_prior_delivered_pkts: word(),
            prior_inflight_pkts: word(),
            acked_pkts: word(),
            losses_pkts: word(),
            ..old
        };
        self.view.ca_state = match random.between(0, 4) {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        };
        // 2^56 us are 2,000 years: time may leap, but neither go back nor end
        self.view.now_us = (old.now_us + (anything(random) >> 24)).min(1 << 56);
        self.view.delivered_us = self.view.now_us - anything(random).min(self.view.now_us);
        self.view.pacing_rate_Bps = if one_in(random, 2) { NO_RATE } else { anything(random) };
        self.view.max_pacing_rate_Bps = if one_in(random, 2) { NO_RATE } else { anything(random) };
    }
}
