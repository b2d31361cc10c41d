//! The record of a measurement that another program made, to be shown beside runs.

use serde::{Deserialize, Serialize};

use crate::json;

/// Version of the [`Record`] format. The number grows when a field is removed or changes its meaning.
pub const RECORD_SCHEMA: &str = "fairpace.record/1";

/// A measurement of another program, such as iperf3 or flent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format of the record: [`RECORD_SCHEMA`].
    pub schema: String,
    /// Name of the record, for legends.
    pub name: String,
    /// The program that measured, with its version: `iperf 3.16`.
    pub tool: String,
    /// Name of the file that the record was read from.
    pub source: String,
    /// The flows that were measured.
    pub flows: Vec<RecordFlow>,
    /// Remarks on the record: what was left out of it, and what its values mean.
    pub notes: Vec<String>,
}

/// A flow of a [`Record`], or a series of pings. `None`, and NaN in a series, stand for a missing value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordFlow {
    /// Name of the flow.
    pub name: String,
    /// The congestion control.
    pub cc: Option<String>,
    /// Mean goodput of the whole measurement.
    pub goodput_mbps: Option<f64>,
    /// Mean RTT of the whole measurement.
    pub rtt_mean_ms: Option<f64>,
    /// Number of retransmitted segments of the whole measurement.
    pub retransmits: Option<u64>,
    /// The time series.
    pub series: RecordSeries,
}

/// The time series of a [`RecordFlow`]. Each vector has a value per point of `t_s`, or is empty if the
/// program did not measure the quantity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordSeries {
    /// End of each interval, seconds since the start of the measurement.
    pub t_s: Vec<f64>,
    /// Goodput over the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub goodput_mbps: Vec<f32>,
    /// RTT.
    #[serde(deserialize_with = "json::nulls")]
    pub rtt_ms: Vec<f32>,
    /// Congestion window.
    #[serde(deserialize_with = "json::nulls")]
    pub cwnd_pkts: Vec<f32>,
    /// Number of segments retransmitted in the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub retransmits: Vec<f32>,
}

impl Record {
    /// Reads a record from its JSON.
    ///
    /// # Errors
    /// What is wrong with the text, as a sentence that begins after the file's name.
    pub fn read(text: &str) -> Result<Self, String> {
        let record: Record =
            serde_json::from_str(text).map_err(|error| format!("is not a record: {error}"))?;
        if record.schema != RECORD_SCHEMA {
            return Err(format!("has the schema \"{}\", not \"{RECORD_SCHEMA}\"", record.schema));
        }
        record.check()?;
        Ok(record)
    }

    /// Checks that times grow, that no value is negative or infinite, and that series fit their times.
    ///
    /// # Errors
    /// What is wrong, as a sentence that begins after the file's name.
    pub fn check(&self) -> Result<(), String> {
        for (number, flow) in (1..).zip(&self.flows) {
            flow.check().map_err(|wrong| format!("has in flow {number}, \"{}\", {wrong}", flow.name))?;
        }
        if self.flows.is_empty() { Err("has no flow".to_owned()) } else { Ok(()) }
    }
}

impl RecordFlow {
    fn check(&self) -> Result<(), String> {
        let RecordSeries { t_s, .. } = &self.series;
        if t_s.iter().any(|t| !t.is_finite() || *t < 0.0) {
            return Err("a time that is negative or no number".to_owned());
        }
        if let Some(pair) = t_s.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!("the time {} s after {} s", pair[1], pair[0]));
        }
        for (name, values) in self.series.named() {
            if !values.is_empty() && values.len() != t_s.len() {
                return Err(format!("{} values of {name} for {} times", values.len(), t_s.len()));
            }
            if values.iter().any(|value| value.is_infinite() || *value < 0.0) {
                return Err(format!("a value of {name} that is negative or infinite"));
            }
        }
        let means = [("goodput_mbps", self.goodput_mbps), ("rtt_mean_ms", self.rtt_mean_ms)];
        let wrong = means.iter().find(|(_, mean)| mean.is_some_and(|mean| !mean.is_finite() || mean < 0.0));
        wrong.map_or(Ok(()), |(name, _)| Err(format!("a {name} that is negative or no number")))
    }
}

impl RecordSeries {
    /// The series besides the times, with their names.
    fn named(&self) -> [(&'static str, &[f32]); 4] {
        [
            ("goodput_mbps", &self.goodput_mbps),
            ("rtt_ms", &self.rtt_ms),
            ("cwnd_pkts", &self.cwnd_pkts),
            ("retransmits", &self.retransmits),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let series = RecordSeries {
            t_s: vec![1.0, 2.0],
            goodput_mbps: vec![90.0, 94.5],
            rtt_ms: vec![20.5, f32::NAN],
            ..RecordSeries::default()
        };
        let flow = RecordFlow { name: "stream 1".into(), series, ..RecordFlow::default() };
        Record {
            schema: RECORD_SCHEMA.into(),
            name: "lab".into(),
            tool: "iperf 3.16".into(),
            source: "lab.json".into(),
            flows: vec![flow],
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = json::to_json(&sample()).unwrap();
        let read = Record::read(&text).unwrap();
        assert_eq!(json::to_json(&read).unwrap(), text);
        assert!(read.flows[0].series.rtt_ms[1].is_nan());
    }

    #[test]
    fn a_record_that_cannot_be_drawn_is_refused() {
        let refused = |change: fn(&mut Record)| {
            let mut record = sample();
            change(&mut record);
            Record::read(&json::to_json(&record).unwrap()).unwrap_err()
        };
        let flow = "has in flow 1, \"stream 1\", ";
        assert_eq!(refused(|r| r.flows[0].series.t_s[1] = 0.5), format!("{flow}the time 0.5 s after 1 s"));
        let wrong = "1 values of rtt_ms for 2 times";
        assert_eq!(refused(|r| r.flows[0].series.rtt_ms.truncate(1)), format!("{flow}{wrong}"));
        let wrong = "a value of goodput_mbps that is negative or infinite";
        assert_eq!(refused(|r| r.flows[0].series.goodput_mbps[0] = -1.0), format!("{flow}{wrong}"));
        assert_eq!(refused(|r| r.flows.clear()), "has no flow");
        assert!(refused(|r| r.schema = "fairpace.summary/1".into()).contains("fairpace.summary/1"));
        assert!(Record::read("{").unwrap_err().starts_with("is not a record: EOF"));
    }
}
