//! JSON that has the same bytes for the same run.
//!
//! Numbers are rounded to [`DIGITS`] significant digits when written, so that the last bits of a
//! floating-point sum do not matter. `null` means that there is no value: NaN in a series, `None` in a
//! summary.

use serde::de::{Deserialize, Deserializer};
use serde::ser::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// Number of significant digits of every floating-point number, such as 87.3142 Mbit/s: more than
/// measurements have, and fewer than the 15 where the order of summation matters.
pub const DIGITS: usize = 6;

/// Returns `x` rounded to [`DIGITS`] significant digits; a negative zero becomes zero.
#[must_use]
pub fn round(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { 0.0 } else { x };
    }
    // Formatting and parsing are correctly rounded and the same on every platform; powers of ten are neither.
    format!("{x:.*e}", DIGITS - 1).parse().unwrap_or(x)
}

/// Returns indented JSON of a summary, an array of summaries, or a whole [`Run`](crate::Run), with a newline
/// at the end.
///
/// # Errors
/// If `value` has a map whose keys are not strings. No type of this crate has such a map.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Rounded(PrettyFormatter::new())))?;
    out.push(b'\n');
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Returns NaN for the fields of [`Cost`](crate::Cost) that
/// [`Summary::stable_json`](crate::Summary::stable_json) leaves out.
pub(crate) fn unknown() -> f64 {
    f64::NAN
}

/// Returns whether `x` is the value of [`unknown`], NaN.
pub(crate) fn is_unknown(x: &f64) -> bool {
    x.is_nan()
}

/// Reads a series in which `null` is NaN. serde_json itself writes NaN as `null`.
pub(crate) fn nulls<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
    Ok(Vec::<Option<f32>>::deserialize(from)?.into_iter().map(|x| x.unwrap_or(f32::NAN)).collect())
}

/// Reads an array of series in which `null` is NaN ([`nulls`]).
pub(crate) fn nested_nulls<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<f32>>, D::Error> {
    struct Row(Vec<f32>);
    impl<'de> Deserialize<'de> for Row {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Row, D::Error> {
            nulls(from).map(Row)
        }
    }
    Ok(Vec::<Row>::deserialize(from)?.into_iter().map(|row| row.0).collect())
}

/// The pretty formatter of serde_json with rounded floating-point numbers.
struct Rounded(PrettyFormatter<'static>);

impl Formatter for Rounded {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, x: f64) -> io::Result<()> {
        self.0.write_f64(out, round(x))
    }
    fn write_f32<W: ?Sized + io::Write>(&mut self, out: &mut W, x: f32) -> io::Result<()> {
        self.0.write_f64(out, round(f64::from(x)))
    }
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }
    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }
    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowSeries, LinkSeries, Series, Summary, sample_summary};
    use proptest::prelude::*;
    use serde_json::Value;

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn sorted<const N: usize>(mut names: [&str; N]) -> [&str; N] {
        names.sort_unstable();
        names
    }

    /// Documented fields of a summary.
    #[rustfmt::skip]
    const TOP: [&str; 12] = [
        "schema", "on", "commit", "seed", "scenario", "window_s", "flows", "links", "jain",
        "convergence_s", "max_min_distance", "cost",
    ];
    /// Documented fields of a flow.
    #[rustfmt::skip]
    const FLOW: [&str; 19] = [
        "name", "cc", "base_rtt_ms", "start_s", "completion_s", "failed", "completions",
        "goodput_mbps",
        "share", "sent_pkts", "retransmits", "dropped_pkts", "loss_rate", "marked_pkts",
        "rtt_mean_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms",
    ];
    /// Documented fields of a link.
    #[rustfmt::skip]
    const LINK: [&str; 16] = [
        "name", "queue", "rate_mbps", "utilization", "queue_delay_mean_ms",
        "queue_delay_p50_ms", "queue_delay_p95_ms", "queue_delay_p99_ms", "queue_delay_max_ms",
        "dropped_pkts", "early_dropped_pkts", "loss_rate", "lost", "marked_pkts", "duplicates",
        "backlog_share",
    ];

    /// Checks the fields that users depend on. A field may be added; removing a field needs a new
    /// [`crate::SCHEMA`].
    #[test]
    fn full_json_has_the_documented_fields() {
        let json: Value = serde_json::from_str(&to_json(&sample_summary()).unwrap()).unwrap();
        assert_eq!(sorted_keys(&json), sorted(TOP));
        assert_eq!(sorted_keys(&json["scenario"]), sorted(["title", "hash"]));
        assert_eq!(sorted_keys(&json["flows"][0]), sorted(FLOW));
        assert_eq!(sorted_keys(&json["links"][0]), sorted(LINK));
        assert_eq!(sorted_keys(&json["cost"]), sorted(["wall_s", "cpu_s", "data_packets"]));
        assert_eq!(json["schema"], crate::SCHEMA);
        assert_eq!(json["window_s"].as_array().unwrap().len(), 2);
    }

    fn sorted_keys(value: &Value) -> Vec<&str> {
        let mut names = keys(value);
        names.sort_unstable();
        names
    }

    #[test]
    fn fields_are_written_in_the_documented_order() {
        let text = to_json(&sample_summary()).unwrap();
        let order = [
            "\"schema\"",
            "\"on\"",
            "\"seed\"",
            "\"window_s\"",
            "\"flows\"",
            "\"links\"",
            "\"jain\"",
            "\"cost\"",
        ];
        let places: Vec<usize> = order.iter().map(|key| text.find(key).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn stable_json_does_not_depend_on_what_the_run_cost() {
        let summary = sample_summary();
        let mut slower = summary.clone();
        slower.cost.wall_s *= 3.0;
        slower.cost.cpu_s *= 2.0;
        assert_eq!(summary.stable_json(), slower.stable_json());
        let json: Value = serde_json::from_str(&summary.stable_json()).unwrap();
        assert_eq!(keys(&json["cost"]), ["data_packets"]);
    }

    #[test]
    fn stable_json_can_be_read_back() {
        let summary = sample_summary();
        let mut read: Summary = serde_json::from_str(&summary.stable_json()).unwrap();
        assert!(read.cost.wall_s.is_nan() && read.cost.cpu_s.is_nan());
        read.cost = summary.cost.clone();
        assert_eq!(read, summary);
    }

    #[test]
    fn numbers_are_rounded_when_written() {
        let mut summary = sample_summary();
        summary.flows[0].goodput_mbps = 0.1 + 0.2;
        summary.links[0].utilization = 2.0 / 3.0;
        summary.jain = Some(-0.0);
        let text = summary.stable_json();
        for expected in ["\"goodput_mbps\": 0.3,", "\"utilization\": 0.666667,", "\"jain\": 0.0,"] {
            assert!(text.contains(expected), "{expected} not in {text}");
        }
    }

    #[test]
    fn nothing_to_say_is_null_in_both_directions() {
        let series = Series {
            t_s: vec![0.1, 0.2],
            flows: vec![FlowSeries { rtt_ms: vec![f32::NAN, 12.5], ..FlowSeries::default() }],
            links: vec![LinkSeries { backlog_kb: vec![vec![f32::NAN, 1.5]], ..LinkSeries::default() }],
        };
        let text = serde_json::to_string(&series).unwrap();
        assert!(text.contains("\"rtt_ms\":[null,12.5]"), "{text}");
        let read: Series = serde_json::from_str(&text).unwrap();
        assert!(read.flows[0].rtt_ms[0].is_nan() && read.flows[0].rtt_ms[1] == 12.5);
        assert!(read.links[0].backlog_kb[0][0].is_nan() && read.links[0].backlog_kb[0][1] == 1.5);
    }

    proptest! {
        #[test]
        fn series_survive_json_exactly(values in prop::collection::vec(any::<f32>(), 0..50)) {
            let flow = FlowSeries { goodput_mbps: values.clone(), ..FlowSeries::default() };
            let text = serde_json::to_string(&flow).unwrap();
            let read: FlowSeries = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.goodput_mbps.len(), values.len());
            for (a, b) in read.goodput_mbps.iter().zip(&values) {
                prop_assert!(a == b || (a.is_nan() && !b.is_finite()), "{} became {}", b, a);
            }
        }

        #[test]
        fn a_number_that_is_read_is_the_one_that_was_written(
            x in any::<f64>().prop_filter("finite", |x| x.is_finite()),
        ) {
            let read: f64 = serde_json::from_str(&to_json(&x).unwrap()).unwrap();
            prop_assert_eq!(read.to_bits(), round(x).to_bits());
        }

        #[test]
        fn rounding_is_close_and_idempotent(x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            let once = round(x);
            prop_assert!((once - x).abs() <= x.abs() * 5e-6);
            prop_assert_eq!(once.to_bits(), round(once).to_bits());
        }
    }
}
