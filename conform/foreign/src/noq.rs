//! `Bbr3` of noq-proto, through its public trait `Controller`, called in the order of its connection:
//! `on_ack` for each packet, `on_end_acks`, then the losses that the ACK showed.
//!
//! The trait shows cwnd, pacing rate and max_bw, no state.

use std::collections::BTreeMap;
use std::mem::transmute;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairpace_conform::Subject;
use fairpace_conform::protocol::{Ack, Answer, Control, Event, Hello, Init, PROTOCOL, Support, Timeout};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory};

use crate::ranges::{merged, numbers};

#[derive(Default)]
pub struct Adaptor(Option<Flow>);

struct Flow {
    controller: Box<dyn Controller>,
    start: Instant,
    /// Send times in us.
    sent: BTreeMap<u64, u64>,
    mss_bytes: u16,
    srtt_us: u64,
}

/// An estimator that has seen this RTT. It has no public constructor. It is four durations (the last
/// RTT, the smoothed one, its variance, the least), in whatever order, one of them optional; all of them
/// get this value. The controller reads one value of it, at the first ACK.
fn estimator(rtt: Duration) -> RttEstimator {
    // SAFETY: four durations, of which one is an `Option<Duration>`, that has the bits of a `Duration`
    // where it is `Some`; the compiler checks the size, and the version of the crate is exact.
    unsafe { transmute::<[Duration; 4], RttEstimator>([rtt; 4]) }
}

impl Subject for Adaptor {
    fn hello(&mut self) -> Hello {
        Hello {
            protocol: PROTOCOL.to_owned(),
            name: "noq-proto Bbr3".to_owned(),
            version: "1.4.0".to_owned(),
            supports: vec![Support::Spurious, Support::Timeout],
        }
    }

    fn init(&mut self, init: &Init) -> Answer {
        let mut config = Bbr3Config::default();
        config.initial_window(init.initial_cwnd_bytes);
        let (start, mss_bytes) = (Instant::now(), init.mss_bytes as u16);
        let controller = Arc::new(config).build(start, mss_bytes);
        let flow = Flow { controller, start, sent: BTreeMap::new(), mss_bytes, srtt_us: 0 };
        Answer::Control(self.0.insert(flow).control())
    }

    fn on(&mut self, event: &Event) -> Answer {
        let Some(flow) = &mut self.0 else { return Answer::NotApplicable("no connection".to_owned()) };
        match event {
            Event::Sent(sent) => {
                let now = flow.at(sent.time_us);
                flow.sent.insert(sent.packet, sent.time_us);
                flow.controller.on_sent(now, sent.bytes, sent.packet);
                flow.controller.on_packet_sent(now, flow.mss_bytes, sent.packet);
            }
            Event::Ack(ack) => flow.on_ack(ack),
            Event::Timeout(timeout) => flow.on_timeout(timeout),
            Event::Spurious { .. } => flow.controller.on_spurious_congestion_event(),
            Event::Hello { .. } | Event::Init(_) => {}
        }
        Answer::Control(flow.control())
    }
}

impl Flow {
    fn at(&self, time_us: u64) -> Instant {
        self.start + Duration::from_micros(time_us)
    }

    fn on_ack(&mut self, ack: &Ack) {
        let now = self.at(ack.time_us);
        self.srtt_us = if self.srtt_us == 0 { ack.rtt_us } else { (7 * self.srtt_us + ack.rtt_us) / 8 };
        let rtt = estimator(Duration::from_micros(self.srtt_us));
        if ack.cwnd_limited {
            self.controller.on_cwnd_limited();
        }
        let acked: Vec<u64> = numbers(&ack.acked).collect();
        for number in &acked {
            let sent_us = self.sent.remove(number).unwrap_or(ack.time_us);
            let sent = self.at(sent_us);
            let bytes = u64::from(self.mss_bytes);
            self.controller.on_ack(now, sent, bytes, *number, ack.app_limited, &rtt);
        }
        // what its connection calls in flight here still includes the losses of this ACK
        let lost_bytes = numbers(&ack.lost).count() as u64 * u64::from(self.mss_bytes);
        let in_flight = ack.in_flight_bytes + lost_bytes;
        self.controller.on_end_acks(now, in_flight, ack.app_limited, acked.last().copied());
        self.lose(now, &merged(&ack.lost, &[]), false);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let now = self.at(timeout.time_us);
        self.lose(now, &merged(&timeout.lost, &[]), true);
    }

    fn lose(&mut self, now: Instant, lost: &[u64], is_persistent: bool) {
        let Some(largest) = lost.last() else { return };
        let sent_us = self.sent.get(largest).copied().unwrap_or_default();
        for number in lost {
            self.controller.on_packet_lost(self.mss_bytes, *number, now);
            self.sent.remove(number);
        }
        let bytes = lost.len() as u64 * u64::from(self.mss_bytes);
        self.controller.on_congestion_event(now, self.at(sent_us), is_persistent, false, bytes, *largest);
    }

    fn control(&self) -> Control {
        let metrics = self.controller.metrics();
        Control {
            cwnd_bytes: self.controller.window(),
            pacing_rate_Bps: metrics.pacing_rate,
            bw_Bps: metrics.bandwidth_estimate.map(|bits| bits / 8),
            ..Control::default()
        }
    }
}
