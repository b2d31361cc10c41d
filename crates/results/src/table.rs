//! Time series as one CSV file, in long form.

use crate::{FlowSeries, Run};

/// The columns of [`Run::series_csv`].
const HEADER: [&str; 15] = [
    "t_s",
    "flow",
    "link",
    "goodput_mbps",
    "rtt_ms",
    "cwnd_pkts",
    "inflight_pkts",
    "pacing_mbps",
    "bw_mbps",
    "min_rtt_ms",
    "pacing_gain",
    "phase",
    "queue_delay_ms",
    "drops",
    "backlog_kb",
];

// Index of the first column of flows, of their phase, of the first column of links, and of the column of
// both.
const FLOW_COLUMNS: usize = 3;
const PHASE_COLUMN: usize = 11;
const LINK_COLUMNS: usize = 12;
const BACKLOG_COLUMN: usize = 14;

impl FlowSeries {
    /// Every floating-point vector with its name, in the order of the fields.
    #[must_use]
    pub fn columns(&self) -> [(&'static str, &[f32]); 8] {
        [
            ("goodput_mbps", &self.goodput_mbps),
            ("rtt_ms", &self.rtt_ms),
            ("cwnd_pkts", &self.cwnd_pkts),
            ("inflight_pkts", &self.inflight_pkts),
            ("pacing_mbps", &self.pacing_mbps),
            ("bw_mbps", &self.bw_mbps),
            ("min_rtt_ms", &self.min_rtt_ms),
            ("pacing_gain", &self.pacing_gain),
        ]
    }
}

impl Run {
    /// The series as CSV: a row per time and flow (`link` empty), per time and link (`flow` empty), and per
    /// time, flow and link (the flow's backlog there). A cell without value is empty.
    ///
    /// ```python
    /// d = pandas.read_csv("series.csv")
    /// d[d.link.isna()].pivot(index="t_s", columns="flow", values="goodput_mbps").plot()
    /// ```
    ///
    /// `phase_name` turns a phase's index into its name; an index without a name gives an empty cell.
    #[must_use]
    pub fn series_csv(&self, phase_name: impl Fn(i8) -> Option<&'static str>) -> String {
        let mut table = Table::new();
        for (point, t_s) in self.series.t_s.iter().enumerate() {
            let t_s = number(*t_s);
            for (summary, flow) in self.summary.flows.iter().zip(&self.series.flows) {
                let mut row = Table::row(&t_s, &summary.name, "");
                for (cell, (_, values)) in row[FLOW_COLUMNS..].iter_mut().zip(flow.columns()) {
                    *cell = at(values, point);
                }
                let phase = flow.phase.get(point).copied().and_then(&phase_name);
                row[PHASE_COLUMN] = phase.unwrap_or_default().to_owned();
                table.push(&row);
            }
            for (summary, link) in self.summary.links.iter().zip(&self.series.links) {
                let mut row = Table::row(&t_s, "", &summary.name);
                row[LINK_COLUMNS] = at(&link.queue_delay_ms, point);
                row[LINK_COLUMNS + 1] = link.drops.get(point).map(u32::to_string).unwrap_or_default();
                table.push(&row);
                for (flow, backlog) in self.summary.flows.iter().zip(&link.backlog_kb) {
                    let mut row = Table::row(&t_s, &flow.name, &summary.name);
                    row[BACKLOG_COLUMN] = at(backlog, point);
                    table.push(&row);
                }
            }
        }
        table.finish()
    }
}

/// A CSV file under construction, in memory.
struct Table(csv::Writer<Vec<u8>>);

impl Table {
    fn new() -> Table {
        let mut table = Table(csv::Writer::from_writer(Vec::new()));
        table.push(&HEADER);
        table
    }

    fn row(t_s: &str, flow: &str, link: &str) -> [String; HEADER.len()] {
        let mut row: [String; HEADER.len()] = Default::default();
        row[0] = t_s.to_owned();
        row[1] = flow.to_owned();
        row[2] = link.to_owned();
        row
    }

    fn push(&mut self, row: &[impl AsRef<[u8]>; HEADER.len()]) {
        // Writing into memory, with rows of one length by their type: neither of the writer's errors can
        // occur.
        let _ = self.0.write_record(row);
    }

    fn finish(self) -> String {
        String::from_utf8(self.0.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

fn at(values: &[f32], point: usize) -> String {
    values.get(point).map(|x| number(f64::from(*x))).unwrap_or_default()
}

fn number(x: f64) -> String {
    if x.is_finite() { crate::json::round(x).to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use crate::{FlowSeries, LinkSeries, Run, Series, sample_summary};

    fn run(names: [&str; 2]) -> Run {
        let mut summary = sample_summary();
        for (flow, name) in summary.flows.iter_mut().zip(names) {
            flow.name = name.to_owned();
        }
        let flow = |x: f32| FlowSeries {
            goodput_mbps: vec![x, f32::NAN],
            rtt_ms: vec![x, x],
            cwnd_pkts: vec![x, x],
            inflight_pkts: vec![x, x],
            pacing_mbps: vec![x, x],
            bw_mbps: vec![x, x],
            min_rtt_ms: vec![x, x],
            pacing_gain: vec![1.25, 0.75],
            phase: vec![0, -1],
            ..FlowSeries::default()
        };
        let link = LinkSeries {
            queue_delay_ms: vec![0.1, f32::NAN],
            backlog_kb: vec![vec![1.0, 2.0], vec![3.0, 4.0]],
            drops: vec![0, 7],
        };
        let series = Series { t_s: vec![0.1, 0.2], flows: vec![flow(1.5), flow(0.1)], links: vec![link] };
        Run { summary, series, notes: vec![] }
    }

    #[test]
    fn one_row_per_flow_per_link_and_per_pair() {
        let run = run(["a", "b"]);
        run.check().unwrap();
        let text = run.series_csv(|phase| (phase == 0).then_some("STARTUP"));
        let expected = "\
t_s,flow,link,goodput_mbps,rtt_ms,cwnd_pkts,inflight_pkts,pacing_mbps,bw_mbps,min_rtt_ms,pacing_gain,\
phase,queue_delay_ms,drops,backlog_kb
0.1,a,,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.25,STARTUP,,,
0.1,b,,0.1,0.1,0.1,0.1,0.1,0.1,0.1,1.25,STARTUP,,,
0.1,,bottleneck,,,,,,,,,,0.1,0,
0.1,a,bottleneck,,,,,,,,,,,,1
0.1,b,bottleneck,,,,,,,,,,,,3
0.2,a,,,1.5,1.5,1.5,1.5,1.5,1.5,0.75,,,,
0.2,b,,,0.1,0.1,0.1,0.1,0.1,0.1,0.75,,,,
0.2,,bottleneck,,,,,,,,,,,7,
0.2,a,bottleneck,,,,,,,,,,,,2
0.2,b,bottleneck,,,,,,,,,,,,4
";
        assert_eq!(text, expected);
    }

    #[test]
    fn any_name_is_one_cell() {
        let names = ["10 ms, \"short\"", "=cmd\n<b>"];
        let text = run(names).series_csv(|_| None);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let flows: Vec<String> =
            reader.records().map(|row| row.unwrap()[1].to_owned()).filter(|name| !name.is_empty()).collect();
        assert_eq!(flows.len(), 8);
        assert!(flows.iter().all(|name| names.contains(&name.as_str())));
    }

    #[test]
    fn vectors_of_the_wrong_length_are_named_and_never_panic() {
        let mut run = run(["a", "b"]);
        run.series.flows[1].cwnd_pkts.pop();
        assert_eq!(run.check().unwrap_err(), "series: cwnd_pkts of flow 1 has 1 entries instead of 2");
        run.series.links[0].backlog_kb.pop();
        assert_eq!(run.series_csv(|_| None).lines().count(), 1 + 2 * 4);
    }
}
