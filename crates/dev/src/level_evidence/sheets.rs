//! The tables of measured scenarios: what is read from a run of each.

use fairpace_results::{FlowSummary, Run};

use super::measured::{Column, Sheet, Verdict};
use crate::args::EvidenceTable;

/// A standing queue is the least one in a time of this many RTTs.
const STANDING_RTTS: f64 = 5.0;

/// Completion times of short flows.
pub(super) const SHORT_FLOWS: Sheet = Sheet {
    table: EvidenceTable::ShortFlows,
    algorithms: &["level", "cubic", "bbr1", "bbr3", "bbq"],
    columns: &[Column { key: "completion_ms", heading: "mean, ms", decimals: 1 }],
    measure: |run| vec![("completion_ms", completion_ms(run, "short"))],
    verdict: Verdict::Less { key: "completion_ms", heading: "faster than level" },
};

/// A CUBIC flow beside one of each algorithm.
pub(super) const NEIGHBOURS: Sheet = Sheet {
    table: EvidenceTable::Neighbours,
    algorithms: &["level", "cubic", "bbr1", "bbr3"],
    columns: &[
        Column { key: "loss_percent", heading: "loss, % beside", decimals: 4 },
        Column { key: "goodput_mbps", heading: "goodput, Mbit/s beside", decimals: 1 },
    ],
    measure: |run| {
        let neighbour = flow(run, "neighbour");
        let loss = neighbour.and_then(|flow| flow.loss_rate).unwrap_or(f64::NAN);
        let goodput = neighbour.map_or(f64::NAN, |flow| flow.goodput_mbps);
        vec![("loss_percent", 100.0 * loss), ("goodput_mbps", goodput)]
    },
    verdict: Verdict::Above { rivals: &["cubic", "bbr1", "bbr3"], keys: &["loss_percent"] },
};

/// The queue of some flows.
pub(super) const QUEUE: Sheet = Sheet {
    table: EvidenceTable::Queue,
    algorithms: &["level", "bbr3"],
    columns: &[
        Column { key: "mean", heading: "mean, ms", decimals: 2 },
        Column { key: "p95", heading: "p95, ms", decimals: 2 },
        Column { key: "standing", heading: "greatest standing, ms", decimals: 2 },
    ],
    measure: |run| {
        let link = run.summary.links.first();
        let mean = link.and_then(|link| link.queue_delay_mean_ms).unwrap_or(f64::NAN);
        let p95 = link.and_then(|link| link.queue_delay_p95_ms).unwrap_or(f64::NAN);
        vec![("mean", mean), ("p95", p95), ("standing", standing_ms(run))]
    },
    verdict: Verdict::Above { rivals: &["bbr3"], keys: &["mean", "p95", "standing"] },
};

/// An overload, and the time after it.
pub(super) const COLLAPSE: Sheet = Sheet {
    table: EvidenceTable::Collapse,
    algorithms: &["level", "cubic", "bbr3"],
    columns: &[
        Column { key: "loss", heading: "loss, %", decimals: 3 },
        Column { key: "queue", heading: "mean queue, ms", decimals: 1 },
        Column { key: "stays_mbps", heading: "flow that stays, Mbit/s", decimals: 2 },
    ],
    measure: |run| {
        let link = run.summary.links.first();
        let loss = link.and_then(|link| link.loss_rate).unwrap_or(f64::NAN);
        let queue = link.and_then(|link| link.queue_delay_mean_ms).unwrap_or(f64::NAN);
        let stays = flow(run, "stays").map_or(f64::NAN, |flow| flow.goodput_mbps);
        vec![("loss", 100.0 * loss), ("queue", queue), ("stays_mbps", stays)]
    },
    verdict: Verdict::Above { rivals: &["cubic", "bbr3"], keys: &["loss", "queue"] },
};

fn flow<'r>(run: &'r Run, name: &str) -> Option<&'r FlowSummary> {
    run.summary.flows.iter().find(|flow| flow.name == name)
}

/// Completion time of a flow; NaN if it did not end within the run.
fn completion_ms(run: &Run, name: &str) -> f64 {
    flow(run, name).and_then(|flow| flow.completion_s).map_or(f64::NAN, |s| 1e3 * s)
}

/// The greatest standing queue of the first link in the measurement window, ms.
fn standing_ms(run: &Run) -> f64 {
    let (Some(link), Some(flow)) = (run.series.links.first(), run.summary.flows.first()) else {
        return f64::NAN;
    };
    let span_s = STANDING_RTTS * flow.rtt_ms / 1e3;
    greatest_least(&run.series.t_s, &link.queue_delay_ms, run.summary.window_s, span_s)
}

/// The greatest of the least values in spans of this length, of which all are within the window. A point
/// without a value, in which no packet left, is an empty queue.
fn greatest_least(times_s: &[f64], values: &[f32], [from_s, to_s]: [f64; 2], span_s: f64) -> f64 {
    let mut least: Vec<f64> = Vec::new();
    for (time_s, value) in times_s.iter().zip(values) {
        // a point is the mean up to its time
        let span = ((time_s - from_s) / span_s - 1e-9).floor();
        if span < 0.0 || from_s + (span + 1.0) * span_s > to_s + 1e-9 {
            continue;
        }
        let value = if value.is_finite() { f64::from(*value) } else { 0.0 };
        let index = span as usize;
        least.resize(least.len().max(index + 1), f64::INFINITY);
        least[index] = least[index].min(value);
    }
    least.into_iter().filter(|value| value.is_finite()).reduce(f64::max).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_queue_is_the_greatest_of_the_least() {
        let times: Vec<f64> = (1..=8).map(|point| 0.1 * f64::from(point)).collect();
        let values = [9.0, 9.0, 5.0, 3.0, 2.0, 8.0, 7.0, 7.0];
        assert_eq!(greatest_least(&times, &values, [0.2, 0.6], 0.2), 3.0);
        assert_eq!(greatest_least(&times, &values, [0.2, 0.8], 0.2), 7.0);
        assert_eq!(
            greatest_least(&times, &values, [0.2, 0.7], 0.2),
            3.0,
            "a span that is cut off does not count"
        );
        assert!(greatest_least(&times, &values, [0.2, 0.3], 0.2).is_nan());
    }

    #[test]
    fn a_point_without_packets_is_an_empty_queue() {
        let values = [4.0, f32::NAN, 5.0, 5.0];
        assert_eq!(greatest_least(&[0.1, 0.2, 0.3, 0.4], &values, [0.0, 0.2], 0.2), 0.0);
        assert_eq!(greatest_least(&[0.1, 0.2, 0.3, 0.4], &values, [0.0, 0.4], 0.2), 5.0);
    }
}
