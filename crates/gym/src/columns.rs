//! The columns of observations, actions and ground truth, and the computation of their values.

use fairpace_cc::{Action, FEATURES, Interval, NO_RTT};

/// A column of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Name of the column; the unit is the last word.
    pub name: &'static str,
    /// Unit of the values; empty: a plain number.
    pub unit: &'static str,
    /// The least value.
    pub least: f32,
    /// The largest value.
    pub most: f32,
    /// Meaning of the value.
    pub meaning: &'static str,
}

/// The highest pacing rate of an agent, Mbit/s: the largest number of bytes per second in 32 bits.
const MOST_MBPS: f32 = Action::MOST_BPS as f32 * 8e-6;
/// The lowest pacing rate of an agent, Mbit/s.
const LEAST_MBPS: f32 = Action::LEAST_BPS as f32 * 8e-6;
/// The largest RTT, ms: the largest number of microseconds in 32 bits.
const MOST_RTT_MS: f32 = u32::MAX as f32 * 1e-3;
/// The largest cwnd, packets.
const MOST_PKTS: f32 = Action::MOST_CWND_PKTS as f32;

const fn column(name: &'static str, unit: &'static str, most: f32, meaning: &'static str) -> Column {
    Column { name, unit, least: 0.0, most, meaning }
}

/// The columns of an observation: what an agent sees of its flow in a monitor interval. Rates are those of
/// payload over the interval, which covers intervals without an ACK before it. Without an ACK, all columns
/// but the last four are 0; before the connection is established, all columns are 0.
#[rustfmt::skip]
pub const OBSERVATIONS: [Column; 10 + FEATURES] = [
    column("delivered_mbps", "Mbit/s", MOST_MBPS, "acknowledged, with SACK"),
    column("sending_mbps", "Mbit/s", MOST_MBPS, "sent from ACK to ACK, retransmissions included"),
    column("rtt_ms", "ms", MOST_RTT_MS, "mean of the RTT samples; 0: none"),
    column("min_rtt_ms", "ms", MOST_RTT_MS, "the least RTT of the connection; 0: none"),
    column("loss_share", "", 1.0, "marked lost, of those and the delivered packets"),
    column("ce_share", "", 1.0, "delivered with a congestion mark, of the delivered packets"),
    column("cwnd_pkts", "packets", MOST_PKTS, "cwnd in force at its end"),
    column("pacing_mbps", "Mbit/s", MOST_MBPS, "pacing rate in force at its end"),
    column("inflight_pkts", "packets", MOST_PKTS, "in flight after the last ACK"),
    column("has_ack", "", 1.0, "1: an ACK arrived, so the next action is taken; 0: none, and it is ignored"),
    feature("queue_rtts", 0.0, "queueing delay by the mean RTT, over the least RTT"),
    feature("queue_10ms", 0.0, "the same in units of 10 ms"),
    feature("loss_eighths", 0.0, "8 x loss_share"),
    feature("ce_eighths", 0.0, "8 x ce_share"),
    feature("delivered_ratio", 0.0, "delivered over the pacing rate in force"),
    feature("rate_log4", -8.0, "logarithm to base 4 of the pacing rate in Mbit/s"),
    feature("min_rtt_log4", -8.0, "logarithm to base 4 of the least RTT in ms"),
];

/// Returns the column of a feature that a policy of `lib/policy.h` sees: exact in f32, and at most 8. Without
/// an ACK the feature is 0.
const fn feature(name: &'static str, least: f32, meaning: &'static str) -> Column {
    Column { name, unit: "", least, most: 8.0, meaning }
}

/// The columns of ground truth: what happened to a flow in an interval, whatever its sender knows of it; for
/// rewards.
#[rustfmt::skip]
pub const INFO: [Column; 3] = [
    column("goodput_mbps", "Mbit/s", f32::INFINITY, "in-order payload that reached the application"),
    column("share", "", 1.0, "of the goodput of all flows of the environment; 0 if there was none"),
    column("queue_delay_ms", "ms", f32::INFINITY,
        "mean queueing delay of the packets that left the bottleneck, the link of its route where it is \
         longest; 0: none left"),
];

/// The form of an agent's action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A pacing rate and a cwnd.
    Absolute,
    /// An exponent a: the pacing rate is multiplied by 2^a, and cwnd follows from it.
    Factor,
}

const ABSOLUTE: [Column; 2] = [
    Column {
        name: "pacing_mbps",
        unit: "Mbit/s",
        least: LEAST_MBPS,
        most: MOST_MBPS,
        meaning: "pacing rate of payload",
    },
    Column { name: "cwnd_pkts", unit: "packets", least: 1.0, most: MOST_PKTS, meaning: "cwnd, rounded" },
];
const FACTOR: [Column; 1] = [Column {
    name: "exponent",
    unit: "",
    least: -1.0,
    most: 1.0,
    meaning: "the pacing rate is multiplied by 2 to this power; cwnd is cwnd_gain x rate x smoothed RTT",
}];

impl Form {
    /// The columns of an action.
    #[must_use]
    pub const fn actions(self) -> &'static [Column] {
        match self {
            Form::Absolute => &ABSOLUTE,
            Form::Factor => &FACTOR,
        }
    }

    /// Returns the action of a row whose values are in their ranges.
    pub(crate) fn action(self, row: &[f32]) -> Action {
        match (self, row) {
            (Form::Absolute, &[pacing_mbps, cwnd_pkts, ..]) => {
                let rate = (f64::from(pacing_mbps) / 8e-6).round() as u32; // saturates
                Action::Absolute {
                    pacing_rate_Bps: rate.max(Action::LEAST_BPS),
                    cwnd_pkts: (cwnd_pkts.round() as u32).clamp(1, Action::MOST_CWND_PKTS),
                }
            }
            (_, row) => Action::Factor { exponent: row.first().copied().unwrap_or(0.0) },
        }
    }
}

/// The values in force at the end of an interval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InForce {
    pub(crate) cwnd_pkts: u32,
    pub(crate) pacing_rate_bytes_per_s: u64,
    /// The features of `lib/policy.h`, in 1/1024.
    pub(crate) features: [i32; FEATURES],
}

/// Returns the observation of an interval.
pub(crate) fn observe(interval: &Interval, in_force: InForce) -> [f32; OBSERVATIONS.len()] {
    let i = interval;
    // bits per microsecond are Mbit/s
    let mbps = |pkts: u32| ratio(f64::from(pkts) * f64::from(i.mss_bytes) * 8.0, f64::from(i.duration_us));
    let share = |pkts: u32, of: f64| ratio(f64::from(pkts), of);
    let (delivered, lost) = (f64::from(i.delivered_pkts), f64::from(i.lost_pkts));
    let values = [
        mbps(i.delivered_pkts),
        mbps(i.sent_pkts),
        ratio(i.rtt_sum_us as f64 / 1e3, f64::from(i.rtt_samples)),
        if i.acks == 0 || i.min_rtt_us == NO_RTT { 0.0 } else { f64::from(i.min_rtt_us) / 1e3 },
        share(i.lost_pkts, delivered + lost),
        share(i.ce_pkts, delivered),
        f64::from(in_force.cwnd_pkts),
        in_force.pacing_rate_bytes_per_s as f64 * 8e-6,
        f64::from(i.inflight_pkts),
        if i.acks > 0 { 1.0 } else { 0.0 },
    ];
    let features =
        in_force.features.map(|feature| if i.acks > 0 { f64::from(feature) / 1024.0 } else { 0.0 });
    std::array::from_fn(|n| {
        let value = values.get(n).copied().unwrap_or_else(|| features[n - values.len()]);
        (value as f32).clamp(OBSERVATIONS[n].least, OBSERVATIONS[n].most)
    })
}

/// Returns `part / whole`; 0 if `whole` is 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(row: [f32; OBSERVATIONS.len()], name: &str) -> f32 {
        row[OBSERVATIONS.iter().position(|column| column.name == name).expect("it exists")]
    }

    #[test]
    fn an_observation_has_the_units_of_its_columns() {
        let interval = Interval {
            rtt_sum_us: 90_000,
            rtt_samples: 3,
            rtt_least_us: 25_000,
            min_rtt_us: 20_000,
            duration_us: 50_000,
            acks: 5,
            delivered_pkts: 100,
            lost_pkts: 25,
            ce_pkts: 10,
            sent_pkts: 125,
            inflight_pkts: 40,
            mss_bytes: 1448,
            reserved: 0,
        };
        let features = [512, 0, 0, 0, 1024, 2048, -1024];
        let row = observe(&interval, InForce { cwnd_pkts: 60, pacing_rate_bytes_per_s: 3_000_000, features });
        for (name, expected) in [
            ("delivered_mbps", 23.168), // 100 x 1448 x 8 bits in 50 ms
            ("sending_mbps", 28.96),
            ("rtt_ms", 30.0),
            ("min_rtt_ms", 20.0),
            ("loss_share", 0.2),
            ("ce_share", 0.1),
            ("cwnd_pkts", 60.0),
            ("pacing_mbps", 24.0),
            ("inflight_pkts", 40.0),
            ("has_ack", 1.0),
            ("queue_rtts", 0.5),
            ("min_rtt_log4", -1.0),
        ] {
            assert!((named(row, name) - expected).abs() < 1e-5, "{name}: {}", named(row, name));
        }
    }

    #[test]
    fn an_observation_is_finite_and_in_its_ranges_whatever_the_interval() {
        let most = u32::MAX;
        let largest = Interval {
            rtt_sum_us: u64::MAX,
            rtt_samples: 1,
            rtt_least_us: most,
            min_rtt_us: most - 1,
            duration_us: 1,
            acks: most,
            delivered_pkts: most,
            lost_pkts: most,
            ce_pkts: most,
            sent_pkts: most,
            inflight_pkts: most,
            mss_bytes: most,
            reserved: 0,
        };
        for interval in [Interval::default(), largest, Interval { delivered_pkts: 0, ..largest }] {
            let features = [8 << 10; FEATURES];
            let in_force = InForce { cwnd_pkts: most, pacing_rate_bytes_per_s: u64::MAX, features };
            for (value, column) in observe(&interval, in_force).into_iter().zip(OBSERVATIONS) {
                assert!((column.least..=column.most).contains(&value), "{}: {value}", column.name);
            }
        }
    }

    #[test]
    fn the_limits_of_actions_are_actions() {
        let limits = |form: Form| {
            let row = |of: fn(&Column) -> f32| form.actions().iter().map(of).collect::<Vec<_>>();
            [form.action(&row(|column| column.least)), form.action(&row(|column| column.most))]
        };
        let absolute = |rate, cwnd_pkts| Action::Absolute { pacing_rate_Bps: rate, cwnd_pkts };
        let [least, most] = limits(Form::Absolute);
        assert_eq!(least, absolute(Action::LEAST_BPS, 1));
        // an f32 has 24 bits
        assert_eq!(most, absolute(Action::MOST_BPS - 10, Action::MOST_CWND_PKTS));
        assert_eq!(limits(Form::Factor), [-1.0, 1.0].map(|exponent| Action::Factor { exponent }));
    }
}
