//! The structs and enums of `contract/contract.h` in Rust, with the same fields and layout: a test compares
//! every offset.

#![allow(non_snake_case)] // the names of the C contract, where Bps is bytes and bps bits per second

use bytemuck::{CheckedBitPattern, NoUninit};

/// The ssthresh that means no threshold; the value of Linux's `TCP_INFINITE_SSTHRESH`.
pub const INFINITE: u32 = 0x7fff_ffff;
/// The pacing rate that means no rate: not paced, or no limit.
pub const NO_RATE: u64 = u64::MAX;
/// The value of a field for an RTT that means no sample yet.
pub const NO_RTT: u32 = u32::MAX;
/// The host's own smallest TSO burst, packets: Linux's tcp_min_tso_segs.
pub const MIN_BURST_PKTS: u32 = 2;

/// Loss recovery states of the host, in rising severity: Linux's `TCP_CA_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, NoUninit, CheckedBitPattern)]
#[repr(u8)]
pub enum CaState {
    /// Open: no sign of trouble.
    #[default]
    Open = 0,
    /// Disorder: duplicate ACKs or SACKs, no packet marked lost.
    Disorder = 1,
    /// CWR: the host reduces cwnd after an ECN echo.
    Cwr = 2,
    /// Recovery: fast recovery.
    Recovery = 3,
    /// Loss: after a retransmission timeout.
    Loss = 4,
}

/// Events between ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// An ACK arrived, in any recovery state; only for [`Kind::GrowsCwnd`](crate::Kind), before `on_ack`.
    Sample = 0,
    /// An episode of loss or ECN begins: the algorithm sets ssthresh. The view's `ca_state` is still the old
    /// one.
    Reduce = 1,
    /// The recovery state is about to change to the view's `ca_state`.
    CaState = 2,
    /// The sender sends again with nothing in flight.
    Restart = 3,
    /// The last reduction was spurious: the algorithm sets cwnd.
    Undo = 4,
    /// Packets were marked lost, before `on_ack` of the same ACK; only for algorithms that track sends.
    /// `losses_pkts` is their number; the `sample_` fields and `is_app_limited` describe the transmission of
    /// the last lost packet, and `sample_lost_pkts` includes these losses.
    Lost = 5,
    /// A tail loss probe replaced a lost packet (RFC 8985 section 7.4), without a packet that is marked lost;
    /// only for algorithms that track sends.
    ProbeRepaired = 6,
}

impl Event {
    /// All events, in the order of their numbers.
    pub const ALL: [Event; 7] = [
        Event::Sample,
        Event::Reduce,
        Event::CaState,
        Event::Restart,
        Event::Undo,
        Event::Lost,
        Event::ProbeRepaired,
    ];
}

macro_rules! phases {
    ($($(#[$doc:meta])* $variant:ident = $c_name:literal,)*) => {
        /// Phases as an observer sees them: all algorithms use these names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Phase { $($(#[$doc])* $variant,)* }

        impl Phase {
            /// All phases, in the order of their numbers in C.
            pub const ALL: &[Phase] = &[$(Phase::$variant,)*];

            /// The phase's name in the contract, e.g. `PROBE_BW_UP`.
            pub fn name(self) -> &'static str {
                match self { $(Phase::$variant => $c_name,)* }
            }
        }
    };
}

phases! {
    /// The flow searches exponentially for the bottleneck bandwidth.
    Startup = "STARTUP",
    /// The flow removes the queue that the search built.
    Drain = "DRAIN",
    /// The flow sends faster than the estimate, to find more bandwidth.
    ProbeBwUp = "PROBE_BW_UP",
    /// The flow sends slower than the estimate, to drain the queue of the probe.
    ProbeBwDown = "PROBE_BW_DOWN",
    /// The flow sends at the estimate.
    ProbeBwCruise = "PROBE_BW_CRUISE",
    /// The flow fills the pipe again before a probe.
    ProbeBwRefill = "PROBE_BW_REFILL",
    /// The flow nearly empties the pipe to measure its RTT.
    ProbeRtt = "PROBE_RTT",
    /// The flow doubles cwnd each round.
    SlowStart = "SLOW_START",
    /// The flow grows cwnd slowly.
    Avoidance = "AVOIDANCE",
    /// The flow has a constant cwnd or pacing rate.
    Fixed = "FIXED",
    /// The flow is in slow start at a quarter of the growth, to confirm a sign of a queue (HyStart++, RFC
    /// 9406).
    ConservativeSlowStart = "CONSERVATIVE_SLOW_START",
    /// The flow follows the growth and the reductions of flows that fill the buffer (Copa, section 2.2).
    Competitive = "COMPETITIVE",
}

impl Phase {
    /// Returns the phase with this number in C; `None`: there is no such phase.
    pub fn from_number(number: u32) -> Option<Phase> {
        Phase::ALL.get(number as usize).copied()
    }
}

/// The state of the connection, which the host fills before it calls an algorithm: `struct cc_view`.
///
/// The second part, from `is_app_limited` on, describes an ACK: this part holds for `on_ack` and
/// [`Event::Sample`]; for other events call [`View::without_ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct View {
    /// Time of the host's clock; never goes back.
    pub now_us: u64,
    /// Time when `delivered_pkts` last grew, by the host's clock.
    pub delivered_us: u64,
    /// Pacing rate in force; [`NO_RATE`]: none.
    pub pacing_rate_Bps: u64,
    /// The application's limit of the pacing rate; [`NO_RATE`]: none.
    pub max_pacing_rate_Bps: u64,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Congestion window in force.
    pub cwnd_pkts: u32,
    /// Congestion window before the last reduction by the host.
    pub prior_cwnd_pkts: u32,
    /// Slow start threshold in force; [`INFINITE`]: none.
    pub ssthresh_pkts: u32,
    /// Packets sent and neither acknowledged nor marked lost.
    pub inflight_pkts: u32,
    /// Packets acknowledged or SACKed since the start; wraps.
    pub delivered_pkts: u32,
    /// Packets marked lost since the start; wraps.
    pub lost_pkts: u32,
    /// Packets delivered with a congestion mark (ECN CE) since the start; wraps.
    pub delivered_ce_pkts: u32,
    /// Most packets outstanding during the last cwnd of data.
    pub max_inflight_pkts: u32,
    /// Oldest unacknowledged sequence number, bytes; wraps.
    pub snd_una: u32,
    /// Next sequence number to send, bytes; wraps.
    pub snd_nxt: u32,
    /// Smoothed RTT; 0: no sample yet.
    pub srtt_us: u32,
    /// The host's own minimum RTT; [`NO_RTT`]: no sample yet.
    pub min_rtt_us: u32,
    /// Time from now to the next departure that the pacer has scheduled.
    pub departure_lead_us: u32,
    /// Random bits for the start, with which the algorithm seeds the generator of the flow.
    pub random: u32,
    /// Recovery state.
    pub ca_state: CaState,
    /// Shift of the pacing rate: a TSO burst holds `pacing_rate >> pacing_shift` bytes; Linux: 10.
    pub pacing_shift: u8,
    /// True if the host paces this connection.
    pub paced: bool,
    /// True if cwnd stopped the sender during the last cwnd of data.
    pub cwnd_limited: bool,
    /// True if the application has no more data to send.
    pub app_limited: bool,
    /// True if both ends negotiated ECN.
    pub ecn: bool,
    /// True if the sampled packet was sent in an application-limited period.
    pub is_app_limited: bool,
    /// True if the receiver probably delayed this ACK.
    pub is_ack_delayed: bool,
    /// True if this ACK echoes congestion (ECN).
    pub is_ece: bool,
    /// True if this ACK acknowledges a tail loss probe that was a retransmission.
    pub is_probe_ack: bool,
    /// Keeps the layout free of holes.
    pub reserved: [u8; 2],
    /// Packets delivered since the sampled packet was sent; -1: no valid sample.
    pub sample_delivered_pkts: i32,
    /// Time in which these packets were delivered; -1 or 0: no valid sample.
    pub sample_interval_us: i32,
    /// RTT of the newest packet acknowledged that was not retransmitted; -1: none.
    pub rtt_us: i32,
    /// Value of `delivered_pkts` when the sampled packet was sent.
    pub sample_prior_delivered_pkts: u32,
    /// Value of `inflight_pkts` before this ACK.
    pub prior_inflight_pkts: u32,
    /// Packets newly acknowledged or SACKed by this ACK.
    pub acked_pkts: u32,
    /// Packets newly marked lost on this ACK.
    pub losses_pkts: u32,
    /// Value of `inflight_pkts` just after the sampled packet was sent, itself included; 0: unknown. This and
    /// the following fields are only for algorithms that track sends; in [`Event::Lost`] they describe the
    /// lost packet.
    pub sample_inflight_pkts: u32,
    /// Packets marked lost since the sampled packet was sent.
    pub sample_lost_pkts: u32,
    /// Packets delivered with a congestion mark since the sampled packet was sent.
    pub sample_delivered_ce_pkts: u32,
    /// Sequence number after the last byte of the sampled packet.
    pub sample_end_seq: u32,
    /// Keeps the layout free of holes.
    pub reserved_2: u32,
}

impl Default for View {
    /// Returns a connection at its first packet: Linux's initial window, no RTT sample, no limits.
    fn default() -> View {
        View {
            now_us: 0,
            delivered_us: 0,
            pacing_rate_Bps: NO_RATE,
            max_pacing_rate_Bps: NO_RATE,
            mss_bytes: 1448,
            cwnd_pkts: 10,
            prior_cwnd_pkts: 0,
            ssthresh_pkts: INFINITE,
            inflight_pkts: 0,
            delivered_pkts: 0,
            lost_pkts: 0,
            delivered_ce_pkts: 0,
            max_inflight_pkts: 0,
            snd_una: 0,
            snd_nxt: 0,
            srtt_us: 0,
            min_rtt_us: NO_RTT,
            departure_lead_us: 0,
            random: 0,
            ca_state: CaState::Open,
            pacing_shift: 10,
            paced: true,
            cwnd_limited: false,
            app_limited: false,
            ecn: false,
            is_app_limited: false,
            is_ack_delayed: false,
            is_ece: false,
            is_probe_ack: false,
            reserved: [0; 2],
            sample_delivered_pkts: -1,
            sample_interval_us: -1,
            rtt_us: -1,
            sample_prior_delivered_pkts: 0,
            prior_inflight_pkts: 0,
            acked_pkts: 0,
            losses_pkts: 0,
            sample_inflight_pkts: 0,
            sample_lost_pkts: 0,
            sample_delivered_ce_pkts: 0,
            sample_end_seq: 0,
            reserved_2: 0,
        }
    }
}

impl View {
    /// Returns the view without the part about an ACK, as events other than `Sample` expect it.
    #[must_use]
    pub fn without_ack(self) -> View {
        View {
            is_app_limited: false,
            is_ack_delayed: false,
            is_ece: false,
            is_probe_ack: false,
            sample_delivered_pkts: -1,
            sample_interval_us: -1,
            rtt_us: -1,
            sample_prior_delivered_pkts: 0,
            prior_inflight_pkts: 0,
            acked_pkts: 0,
            losses_pkts: 0,
            sample_inflight_pkts: 0,
            sample_lost_pkts: 0,
            sample_delivered_ce_pkts: 0,
            sample_end_seq: 0,
            ..self
        }
    }

    /// The bytes of `struct cc_view`, for a recording or for the kernel.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    /// Returns the view with these bytes; `None` if the length, a boolean or the recovery state is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<View> {
        bytemuck::checked::try_pod_read_unaligned(bytes).ok()
    }
}

/// The output of an algorithm: `struct cc_decision`. Before each call the host fills it with the values in
/// force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Decision {
    /// Pacing rate; [`NO_RATE`]: the host does not pace.
    pub pacing_rate_Bps: u64,
    /// Congestion window, at least 1.
    pub cwnd_pkts: u32,
    /// Slow start threshold; [`INFINITE`]: none.
    pub ssthresh_pkts: u32,
    /// Value of `delivered_pkts` up to which samples are application-limited; 0: no change.
    pub app_limited_until_pkts: u32,
    /// Least packets of a TSO burst, if they wait and cwnd allows. Before the first decision:
    /// [`MIN_BURST_PKTS`].
    pub min_burst_pkts: u32,
}

impl Decision {
    /// Returns the values in force, with which each call starts. `min_burst_pkts` is not in the view: the
    /// value here is that of a new connection; later keep the value of your last decision, `Decision {
    /// min_burst_pkts: last.min_burst_pkts, ..Decision::in_force(&view) }`.
    pub fn in_force(view: &View) -> Decision {
        Decision {
            pacing_rate_Bps: view.pacing_rate_Bps,
            cwnd_pkts: view.cwnd_pkts,
            ssthresh_pkts: view.ssthresh_pkts,
            app_limited_until_pkts: 0,
            min_burst_pkts: MIN_BURST_PKTS,
        }
    }

    /// The bytes of `struct cc_decision`.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    /// Returns the decision with these bytes; `None` if the length is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<Decision> {
        bytemuck::checked::try_pod_read_unaligned(bytes).ok()
    }
}

/// Estimates and phase of a flow, with equal meaning in a simulation trace and in a dump of live sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Estimated bottleneck bandwidth; 0: the algorithm estimates none.
    pub bw_Bps: u64,
    /// Estimated propagation RTT; `None`: the algorithm estimates none, or has no sample yet.
    pub min_rtt_us: Option<u32>,
    /// Pacing gain, 256 is 1.0; 0: the pacing rate does not follow from a gain.
    pub pacing_gain_256: u32,
    /// cwnd gain, 256 is 1.0; 0: none.
    pub cwnd_gain_256: u32,
    /// The phase of the flow.
    pub phase: Phase,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{ABSOLUTE, Action, EXPONENT_UNIT, FACTOR, FEATURES};
    use crate::clamp::{self, Bounds, Clamps};
    use crate::ffi;
    use crate::interval::Interval;
    use crate::value::Unit;
    use std::collections::BTreeMap;
    use std::mem::{offset_of, size_of};

    /// Returns C's side: name to (offset or value, size of the field or 0).
    fn in_c() -> BTreeMap<&'static str, (usize, usize)> {
        let rows = ffi::layout::numbers().iter();
        rows.map(|n| (ffi::text(n.name), (n.value as usize, n.bytes as usize))).collect()
    }

    #[test]
    fn structs_have_the_layout_that_c_gives_them() {
        let mut c = in_c();
        let mut covered = 0;
        macro_rules! check {
            ($rust:ident, $c_name:literal, $($field:ident)*) => {
                let mut end = 0;
                $({
                    let name = concat!($c_name, ".", stringify!($field));
                    let (offset, bytes) = c.remove(name).unwrap_or_else(|| panic!("no {name} in layout.h"));
                    assert_eq!(offset, offset_of!($rust, $field), "{name}");
                    assert_eq!(offset, end, "a field is missing before {name}");
                    end = offset + bytes;
                    covered += 1;
                })*
                let (size, _) = c.remove(concat!("sizeof ", $c_name)).expect("sizeof is listed");
                assert_eq!((size, end), (size_of::<$rust>(), size), "sizeof {}", $c_name);
            };
        }
        check!(View, "cc_view",
            now_us delivered_us pacing_rate_Bps max_pacing_rate_Bps mss_bytes cwnd_pkts prior_cwnd_pkts
            ssthresh_pkts inflight_pkts delivered_pkts lost_pkts delivered_ce_pkts max_inflight_pkts
            snd_una snd_nxt srtt_us min_rtt_us departure_lead_us random ca_state pacing_shift paced
            cwnd_limited app_limited ecn is_app_limited is_ack_delayed is_ece is_probe_ack reserved
            sample_delivered_pkts sample_interval_us rtt_us sample_prior_delivered_pkts
            prior_inflight_pkts acked_pkts losses_pkts sample_inflight_pkts sample_lost_pkts
            sample_delivered_ce_pkts sample_end_seq reserved_2);
        check!(Decision, "cc_decision",
            pacing_rate_Bps cwnd_pkts ssthresh_pkts app_limited_until_pkts min_burst_pkts);
        use ffi::Observation as Observed;
        check!(Observed, "cc_observation", bw_Bps min_rtt_us pacing_gain_256 cwnd_gain_256 phase);
        check!(Interval, "cc_interval",
            rtt_sum_us rtt_samples rtt_least_us min_rtt_us duration_us acks delivered_pkts lost_pkts
            ce_pkts sent_pkts inflight_pkts mss_bytes reserved);
        use ffi::Action as Given;
        check!(Given, "cc_action", form rate_Bps cwnd_pkts exponent);
        let left: Vec<_> = c.keys().filter(|k| k.contains('.') || k.starts_with("sizeof")).collect();
        assert!(left.is_empty() && covered > 40, "C has more than Rust: {left:?}");
    }

    #[test]
    fn enums_have_the_values_that_c_gives_them() {
        let c = in_c();
        let value = |name: &str| c.get(name).unwrap_or_else(|| panic!("{name} is not in layout.h")).0;
        for (name, rust) in [
            ("CC_CA_OPEN", CaState::Open),
            ("CC_CA_DISORDER", CaState::Disorder),
            ("CC_CA_CWR", CaState::Cwr),
            ("CC_CA_RECOVERY", CaState::Recovery),
            ("CC_CA_LOSS", CaState::Loss),
        ] {
            assert_eq!(value(name), rust as usize, "{name}");
        }
        for (name, rust) in [
            ("CC_EVENT_SAMPLE", Event::Sample),
            ("CC_EVENT_REDUCE", Event::Reduce),
            ("CC_EVENT_CA_STATE", Event::CaState),
            ("CC_EVENT_RESTART", Event::Restart),
            ("CC_EVENT_UNDO", Event::Undo),
            ("CC_EVENT_LOST", Event::Lost),
            ("CC_EVENT_PROBE_REPAIRED", Event::ProbeRepaired),
        ] {
            assert_eq!(value(name), rust as usize, "{name}");
        }
        for (number, unit) in Unit::ALL.iter().enumerate() {
            let name = format!("CC_UNIT_{}", format!("{unit:?}").to_uppercase());
            assert_eq!(value(&name), number, "{name}");
        }
        assert_eq!(value("CC_PHASE_COUNT"), Phase::ALL.len());
        for (number, phase) in Phase::ALL.iter().enumerate() {
            assert_eq!(value(&format!("CC_PHASE_{}", phase.name())), number, "{phase:?}");
        }
        let kinds = ["CC_OWNS_CWND", "CC_GROWS_CWND", "CC_TRACKS_SENDS"];
        assert_eq!(kinds.map(value), [0, 1, 2]);
        assert_eq!(value("CC_INFINITE"), INFINITE as usize);
        assert_eq!(value("CC_NO_RTT"), NO_RTT as usize);
        assert_eq!(value("CC_MIN_BURST_PKTS"), MIN_BURST_PKTS as usize);
        let forms = ["CC_ACTION_NONE", "CC_ACTION_ABSOLUTE", "CC_ACTION_FACTOR"];
        assert_eq!(forms.map(value), [0, ABSOLUTE as usize, FACTOR as usize]);
        let bounds = ["GROWS", "SLOW", "REDUCES", "RESTARTS"].map(|name| format!("CC_BOUNDS_{name}"));
        let bits = [Bounds::GROWS, Bounds::SLOW, Bounds::REDUCES, Bounds::RESTARTS];
        assert_eq!(bounds.map(|name| value(&name)), bits.map(|bounds| bounds.bits() as usize));
        assert_eq!(value("CC_MOST_TCP_CWND_PKTS"), clamp::MOST_TCP_CWND_PKTS as usize);
        assert_eq!(value("CC_FLOOR_MOST_BPS"), clamp::FLOOR_MOST_BPS as usize);
        let clamps = ["CWND", "SSTHRESH", "PACING", "BURST", "APP_LIMITED", "COUNT"];
        assert_eq!(clamps.map(|field| value(&format!("CC_CLAMP_{field}"))), [0, 1, 2, 3, 4, Clamps::FIELDS]);
        assert_eq!(value("CC_EXPONENT_UNIT"), EXPONENT_UNIT as usize);
        assert_eq!(value("CC_FEATURES"), FEATURES);
        assert_eq!(value("CC_ACTION_LEAST_BPS"), Action::LEAST_BPS as usize);
        assert_eq!(value("CC_ACTION_MOST_BPS"), Action::MOST_BPS as usize);
        assert_eq!(value("CC_ACTION_MOST_CWND_PKTS"), Action::MOST_CWND_PKTS as usize);
    }

    #[test]
    fn a_view_survives_its_bytes_and_impossible_bytes_are_refused() {
        let view =
            View { now_us: 7, paced: false, ca_state: CaState::Recovery, rtt_us: -1, ..View::default() };
        assert_eq!(View::from_bytes(view.as_bytes()), Some(view));
        assert_eq!(View::from_bytes(&view.as_bytes()[1..]), None);
        let mut bytes = view.as_bytes().to_vec();
        bytes[offset_of!(View, ca_state)] = 5;
        assert_eq!(View::from_bytes(&bytes), None);
        let decision = Decision::in_force(&view);
        assert_eq!(Decision::from_bytes(decision.as_bytes()), Some(decision));
    }
}
