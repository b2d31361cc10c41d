//! `BbrCongestionController` of s2n-quic-core: BBRv2 of draft-cardwell-iccrg-bbr-congestion-control-02,
//! through the trait of its feature `unstable-congestion-controller`. Its publisher tells the state.

use std::collections::BTreeMap;
use std::time::Duration;

use fairpace_conform::Subject;
use fairpace_conform::protocol::{Ack, Answer, Control, Event, Hello, Init, PROTOCOL, Range, State, Support};
use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::{ApplicationSettings, BbrCongestionController};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use s2n_quic_core::time::Timestamp;

use crate::ranges::{merged, numbers};

/// Its clock begins here: it has no time 0.
const EPOCH_US: u64 = 1_000_000;

type PacketInfo = <BbrCongestionController as CongestionController>::PacketInfo;

#[derive(Default)]
pub struct Adaptor(Option<Flow>);

struct Flow {
    controller: BbrCongestionController,
    rtt: RttEstimator,
    sent: BTreeMap<u64, (Timestamp, PacketInfo)>,
    mss_bytes: u64,
    last_lost: Option<u64>,
    random: Random,
    published: Published,
}

/// What the publisher has said last.
struct Published(State);

impl Publisher for Published {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _congestion_window: u32) {}
    fn on_delivery_rate_sampled(&mut self, _rate_sample: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _rate: Bandwidth, _burst_size: u32, _gain: Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, state: BbrState) {
        self.0 = match state {
            BbrState::Startup => State::Startup,
            BbrState::Drain => State::Drain,
            BbrState::ProbeBwDown => State::ProbeBwDown,
            BbrState::ProbeBwCruise => State::ProbeBwCruise,
            BbrState::ProbeBwRefill => State::ProbeBwRefill,
            BbrState::ProbeBwUp => State::ProbeBwUp,
            BbrState::ProbeRtt => State::ProbeRtt,
        };
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl random::Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for chunk in dest.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(bits ^ (bits >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

fn at(time_us: u64) -> Timestamp {
    // SAFETY: it asks for a duration on one clock; this is the only one here
    unsafe { Timestamp::from_duration(Duration::from_micros(EPOCH_US + time_us)) }
}

impl Subject for Adaptor {
    fn hello(&mut self) -> Hello {
        Hello {
            protocol: PROTOCOL.to_owned(),
            name: "s2n-quic-core BBRv2".to_owned(),
            version: "0.91.0".to_owned(),
            supports: vec![Support::Timeout],
        }
    }

    fn init(&mut self, init: &Init) -> Answer {
        let controller = BbrCongestionController::new(init.mss_bytes as u16, ApplicationSettings::default());
        let rtt = RttEstimator::new(Duration::from_millis(333)); // kInitialRtt, RFC 9002 section 6.2.2
        let flow = Flow {
            controller,
            rtt,
            sent: BTreeMap::new(),
            mss_bytes: init.mss_bytes,
            last_lost: None,
            random: Random(init.seed),
            published: Published(State::Startup),
        };
        Answer::Control(self.0.insert(flow).control())
    }

    fn on(&mut self, event: &Event) -> Answer {
        let Some(flow) = &mut self.0 else { return Answer::NotApplicable("no connection".to_owned()) };
        match event {
            Event::Sent(sent) => {
                let (now, bytes) = (at(sent.time_us), sent.bytes as usize);
                let has_room = sent.in_flight_bytes < u64::from(flow.controller.congestion_window());
                let app_limited = !sent.more_data && has_room;
                let Flow { controller, rtt, published, .. } = flow;
                let info = controller.on_packet_sent(now, bytes, Some(app_limited), rtt, published);
                flow.sent.insert(sent.packet, (now, info));
            }
            Event::Ack(ack) => flow.on_ack(ack),
            Event::Timeout(timeout) => flow.lose(&timeout.lost, at(timeout.time_us), true),
            Event::Hello { .. } | Event::Init(_) | Event::Spurious { .. } => {}
        }
        Answer::Control(flow.control())
    }
}

impl Flow {
    /// In the order of its connection: RTT, ACK, losses.
    fn on_ack(&mut self, ack: &Ack) {
        let now = at(ack.time_us);
        let acked: Vec<(Timestamp, PacketInfo)> =
            numbers(&ack.acked).filter_map(|number| self.sent.remove(&number)).collect();
        if let Some((sent, info)) = acked.last().copied() {
            let rtt = Duration::from_micros(ack.rtt_us);
            self.rtt.update_rtt(Duration::ZERO, rtt, now, true, PacketNumberSpace::ApplicationData);
            let Flow { controller, rtt, random, published, .. } = self;
            controller.on_rtt_update(sent, now, rtt, published);
            let bytes = acked.len() * self.mss_bytes as usize;
            controller.on_ack(sent, bytes, info, rtt, random, now, published);
        }
        self.lose(&ack.lost, now, false);
    }

    fn lose(&mut self, lost: &[Range], now: Timestamp, is_persistent: bool) {
        for number in merged(lost, &[]) {
            let Some((_, info)) = self.sent.remove(&number) else { continue };
            let is_new_burst = self.last_lost.is_none_or(|last| last + 1 != number);
            self.last_lost = Some(number);
            let Flow { controller, random, published, .. } = self;
            let bytes = self.mss_bytes as u32;
            controller.on_packet_lost(bytes, info, is_persistent, is_new_burst, random, now, published);
        }
    }

    fn control(&self) -> Control {
        Control {
            cwnd_bytes: u64::from(self.controller.congestion_window()),
            pacing_rate_Bps: Some(self.controller.pacing_rate().as_bytes_per_second()),
            state: Some(self.published.0),
            ..Control::default()
        }
    }
}
