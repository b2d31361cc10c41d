//! The crate `bbr`, through its trait `Transport`, which follows that of Linux. It shows cwnd and pacing
//! rate, no state.

use std::collections::BTreeMap;

use bbr::v3::{Bbr, BbrConfig, CwndEvent, RateSample, Transport};
use fairpace_conform::Subject;
use fairpace_conform::protocol::{Ack, Answer, Control, Event, Hello, Init, PROTOCOL, Range, Sent, Support};

use crate::ranges::numbers;

#[derive(Default)]
pub struct Adaptor(Option<Flow>);

struct Flow {
    bbr: Bbr,
    connection: Connection,
    /// Of packets in flight: what was in flight after it, and lost before.
    sent: BTreeMap<u64, (u32, u32)>,
}

/// The state of the connection that the trait asks for.
struct Connection {
    now_us: u64,
    delivered: u64,
    in_flight: u32,
    cwnd: u32,
    mss_bytes: u32,
    pacing_rate_Bps: u64,
    is_cwnd_limited: bool,
    srtt_us: Option<u32>,
    in_recovery: bool,
    lost: u32,
    random: u32,
}

impl Transport for Connection {
    fn now_us(&self) -> u64 {
        self.now_us
    }
    fn delivered(&self) -> u64 {
        self.delivered
    }
    fn delivered_ce(&self) -> u64 {
        0
    }
    fn packets_in_flight(&self) -> u32 {
        self.in_flight
    }
    fn cwnd(&self) -> u32 {
        self.cwnd
    }
    fn set_cwnd(&mut self, cwnd: u32) {
        self.cwnd = cwnd;
    }
    fn mss(&self) -> u32 {
        self.mss_bytes
    }
    fn pacing_rate(&self) -> u64 {
        self.pacing_rate_Bps
    }
    fn set_pacing_rate(&mut self, rate: u64) {
        self.pacing_rate_Bps = rate;
    }
    fn max_pacing_rate(&self) -> u64 {
        u64::MAX
    }
    fn ecn_eligible(&self) -> bool {
        false
    }
    fn is_cwnd_limited(&self) -> bool {
        self.is_cwnd_limited
    }
    fn random_below(&self, max: u32) -> u32 {
        self.random % max.max(1)
    }
    fn srtt_us(&self) -> Option<u32> {
        self.srtt_us
    }
    fn rcv_nxt(&self) -> u32 {
        0
    }
    fn in_recovery(&self) -> bool {
        self.in_recovery
    }
    fn lost_out(&self) -> u32 {
        self.lost
    }
}

impl Subject for Adaptor {
    fn hello(&mut self) -> Hello {
        Hello {
            protocol: PROTOCOL.to_owned(),
            name: "crate bbr (v3)".to_owned(),
            version: "0.1.0".to_owned(),
            supports: vec![Support::Spurious, Support::Timeout],
        }
    }

    fn init(&mut self, init: &Init) -> Answer {
        let mut connection = Connection {
            now_us: 1_000_000,
            delivered: 0,
            in_flight: 0,
            cwnd: (init.initial_cwnd_bytes / init.mss_bytes) as u32,
            mss_bytes: init.mss_bytes as u32,
            pacing_rate_Bps: 0,
            is_cwnd_limited: false,
            srtt_us: None,
            in_recovery: false,
            lost: 0,
            random: init.seed as u32,
        };
        let mut bbr = Bbr::new(BbrConfig::default());
        bbr.init(&mut connection);
        Answer::Control(self.0.insert(Flow { bbr, connection, sent: BTreeMap::new() }).control())
    }

    fn on(&mut self, event: &Event) -> Answer {
        let Some(flow) = &mut self.0 else { return Answer::NotApplicable("no connection".to_owned()) };
        match event {
            Event::Sent(sent) => flow.on_sent(sent),
            Event::Ack(ack) => flow.on_ack(ack),
            Event::Timeout(timeout) => {
                flow.connection.now_us = 1_000_000 + timeout.time_us;
                flow.connection.in_flight = 0;
                flow.bbr.ssthresh(&flow.connection);
                flow.lose(&timeout.lost);
                flow.connection.in_recovery = true;
                flow.bbr.set_state(&mut flow.connection, true);
                flow.connection.cwnd = 1; // as Linux's tcp_enter_loss() does for its algorithms
            }
            Event::Spurious { time_us } => {
                flow.connection.now_us = 1_000_000 + time_us;
                flow.connection.cwnd = flow.bbr.undo_cwnd();
                flow.connection.in_recovery = false;
                flow.bbr.set_state(&mut flow.connection, false);
            }
            Event::Hello { .. } | Event::Init(_) => {}
        }
        Answer::Control(flow.control())
    }
}

impl Flow {
    fn pkts(&self, bytes: u64) -> u32 {
        (bytes / u64::from(self.connection.mss_bytes)) as u32
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.connection.now_us = 1_000_000 + sent.time_us;
        self.connection.random = self.connection.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let in_flight = self.pkts(sent.in_flight_bytes);
        if in_flight <= 1 && sent.app_limited {
            self.connection.in_flight = 0;
            self.bbr.cwnd_event(&mut self.connection, CwndEvent::TxStart);
        }
        self.connection.in_flight = in_flight;
        self.sent.insert(sent.packet, (in_flight, self.connection.lost));
    }

    /// Losses, recovery, then the ACK: the order of Linux, whose interface this is.
    fn on_ack(&mut self, ack: &Ack) {
        let sample = &ack.sample;
        self.connection.now_us = 1_000_000 + ack.time_us;
        let before = self.connection.delivered;
        self.connection.delivered = u64::from(self.pkts(sample.total_delivered_bytes));
        self.connection.in_flight = self.pkts(ack.in_flight_bytes);
        self.connection.is_cwnd_limited = ack.cwnd_limited;
        let rtt_us = ack.rtt_us as u32;
        self.connection.srtt_us =
            Some(self.connection.srtt_us.map_or(rtt_us, |srtt| (7 * srtt + rtt_us) / 8));
        numbers(&ack.acked).for_each(|number| _ = self.sent.remove(&number));
        let losses = self.lose(&ack.lost);
        if losses > 0 && !self.connection.in_recovery {
            self.bbr.ssthresh(&self.connection);
            self.connection.in_recovery = true;
            self.bbr.set_state(&mut self.connection, true);
        } else if !ack.in_recovery && self.connection.in_recovery {
            self.connection.in_recovery = false;
            self.bbr.set_state(&mut self.connection, false);
        }
        let rate_sample = RateSample {
            delivered: u64::from(self.pkts(sample.delivered_bytes)),
            interval_us: sample.interval_us,
            rtt_us: ack.rtt_us as i64,
            losses,
            acked_sacked: (self.connection.delivered - before) as u32,
            prior_in_flight: self.pkts(ack.prior_in_flight_bytes),
            is_app_limited: sample.app_limited,
            tx_in_flight: self.pkts(sample.tx_in_flight_bytes),
            lost: self.pkts(sample.lost_bytes) as i32,
            prior_delivered: u64::from(self.pkts(sample.prior_delivered_bytes)),
            ..RateSample::default()
        };
        self.bbr.update(&mut self.connection, &rate_sample);
    }

    fn lose(&mut self, lost: &[Range]) -> u32 {
        let mut losses = 0;
        for number in numbers(lost) {
            let Some((in_flight, lost_before)) = self.sent.remove(&number) else { continue };
            losses += 1;
            self.connection.lost += 1;
            let since = (self.connection.lost - lost_before) as i32;
            self.bbr.skb_marked_lost(&self.connection, in_flight, since, 1);
        }
        losses
    }

    fn control(&self) -> Control {
        Control {
            cwnd_bytes: u64::from(self.connection.cwnd) * u64::from(self.connection.mss_bytes),
            pacing_rate_Bps: Some(self.connection.pacing_rate_Bps),
            ..Control::default()
        }
    }
}
