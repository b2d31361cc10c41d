//! Time series as CSV files, in long form: the tables of the Parquet files of fairpace-trace.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{FlowSeries, LinkSeries, Run, csv_text};

/// A table of the time series, as a CSV file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesTable {
    /// A row per flow and point.
    Flows,
    /// A row per link and point. `backlog_kb` is the sum over all flows.
    Links,
    /// A row per link, flow and point.
    Backlog,
}

impl SeriesTable {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Flows, Self::Links, Self::Backlog];

    /// Name of the file with the table.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Flows => "flows.csv",
            Self::Links => "links.csv",
            Self::Backlog => "backlog.csv",
        }
    }
}

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
    /// Writes a table of the series as CSV, flow by flow or link by link. A cell without value is empty. A
    /// name that a spreadsheet would run has an apostrophe in front.
    ///
    /// The text may have gigabytes: it is written row by row and is never in memory as a whole.
    ///
    /// ```python
    /// d = pandas.read_csv("flows.csv")
    /// d.pivot(index="t_s", columns="flow", values="goodput_mbps").plot()
    /// ```
    ///
    /// `phase_name` turns a phase's index into its name; an index without a name gives an empty cell.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_series_csv<W: Write + ?Sized>(
        &self,
        table: SeriesTable,
        out: &mut W,
        phase_name: impl Fn(i8) -> Option<&'static str>,
    ) -> io::Result<()> {
        let flows: Vec<_> = self.summary.flows.iter().map(|flow| csv_text(&flow.name)).collect();
        let links: Vec<_> = self.summary.links.iter().map(|link| csv_text(&link.name)).collect();
        let links = links.iter().zip(&self.series.links);
        match table {
            SeriesTable::Flows => self.write_flows(out, &flows, phase_name),
            SeriesTable::Links => {
                self.row(out, None, &["link", "queue_delay_ms", "backlog_kb", "dropped_pkts"])?;
                for (name, link) in links {
                    for point in 0..self.series.t_s.len() {
                        let drops = link.drops.get(point).map(u32::to_string).unwrap_or_default();
                        let cells = [at(&link.queue_delay_ms, point), backlog(link, point), drops];
                        self.row(out, Some(point), &[name, &cells[0], &cells[1], &cells[2]])?;
                    }
                }
                Ok(())
            }
            SeriesTable::Backlog => {
                self.row(out, None, &["link", "flow", "backlog_kb"])?;
                for (link, series) in links {
                    for (flow, backlog) in flows.iter().zip(&series.backlog_kb) {
                        for point in 0..self.series.t_s.len() {
                            self.row(out, Some(point), &[link, flow, &at(backlog, point)])?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn write_flows<W: Write + ?Sized>(
        &self,
        out: &mut W,
        names: &[Cow<'_, str>],
        phase_name: impl Fn(i8) -> Option<&'static str>,
    ) -> io::Result<()> {
        let columns = FlowSeries::default().columns().map(|(name, _)| name);
        let header: Vec<&str> = ["flow", "cc"].into_iter().chain(columns).chain(["phase"]).collect();
        self.row(out, None, &header)?;
        for ((name, summary), flow) in names.iter().zip(&self.summary.flows).zip(&self.series.flows) {
            let cc = csv_text(&summary.cc);
            for point in 0..self.series.t_s.len() {
                let phase = flow.phase.get(point).copied().and_then(&phase_name);
                let values = flow.columns().map(|(_, values)| at(values, point));
                let cells = [&**name, &cc].into_iter().chain(values.iter().map(String::as_str));
                self.row(out, Some(point), &cells.chain([phase.unwrap_or_default()]).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Writes a row: the time of a point and these cells; without a point the header.
    fn row<W: Write + ?Sized>(&self, out: &mut W, point: Option<usize>, cells: &[&str]) -> io::Result<()> {
        let t_s = point.and_then(|point| self.series.t_s.get(point)).map(|t_s| number(*t_s));
        let mut row = t_s.unwrap_or_else(|| "t_s".to_owned());
        for cell in cells {
            row.push(',');
            row.push_str(cell);
        }
        row.push('\n');
        out.write_all(row.as_bytes())
    }
}

/// The backlog of all flows at a link, or an empty cell.
fn backlog(link: &LinkSeries, point: usize) -> String {
    let flows = link.backlog_kb.iter().map(|flow| flow.get(point).copied().map(f64::from));
    flows.sum::<Option<f64>>().map(|sum| number(f64::from(sum as f32))).unwrap_or_default()
}

fn at(values: &[f32], point: usize) -> String {
    values.get(point).map(|x| number(f64::from(*x))).unwrap_or_default()
}

fn number(x: f64) -> String {
    if x.is_finite() { crate::json::round(x).to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use crate::{FlowSeries, LinkSeries, Run, Series, SeriesTable, sample_summary};

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

    fn csv(run: &Run, table: SeriesTable, phase_name: impl Fn(i8) -> Option<&'static str>) -> String {
        let mut text = Vec::new();
        run.write_series_csv(table, &mut text, phase_name).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn each_table_has_a_row_per_point_and_what_it_is_about() {
        let run = run(["a", "b"]);
        run.check().unwrap();
        let of = |table| csv(&run, table, |phase| (phase == 0).then_some("STARTUP"));
        let flows = "\
t_s,flow,cc,goodput_mbps,rtt_ms,cwnd_pkts,inflight_pkts,pacing_mbps,bw_mbps,min_rtt_ms,pacing_gain,phase
0.1,a,bbr1,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.25,STARTUP
0.2,a,bbr1,,1.5,1.5,1.5,1.5,1.5,1.5,0.75,
0.1,b,bbr1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,1.25,STARTUP
0.2,b,bbr1,,0.1,0.1,0.1,0.1,0.1,0.1,0.75,
";
        assert_eq!(of(SeriesTable::Flows), flows);
        let links = "\
t_s,link,queue_delay_ms,backlog_kb,dropped_pkts
0.1,bottleneck,0.1,4,0
0.2,bottleneck,,6,7
";
        assert_eq!(of(SeriesTable::Links), links);
        let backlog = "\
t_s,link,flow,backlog_kb
0.1,bottleneck,a,1
0.2,bottleneck,a,2
0.1,bottleneck,b,3
0.2,bottleneck,b,4
";
        assert_eq!(of(SeriesTable::Backlog), backlog);
    }

    #[test]
    fn any_name_is_one_cell() {
        let names = ["10 ms, \"short\"", "=cmd|' /C calc'!A0\n<b>"];
        for (table, column) in [(SeriesTable::Flows, 1), (SeriesTable::Backlog, 2)] {
            let text = csv(&run(names), table, |_| None);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let flows: Vec<String> = reader.records().map(|row| row.unwrap()[column].to_owned()).collect();
            assert_eq!(flows.len(), 4);
            let cells = [names[0].to_owned(), format!("'{}", names[1])];
            assert!(flows.iter().all(|name| cells.contains(name)), "{flows:?}");
        }
    }

    #[test]
    fn the_text_is_written_row_by_row_and_a_full_disk_ends_it() {
        /// A writer that has room for this number of bytes and expects pieces of a row.
        struct Small(usize);
        impl std::io::Write for Small {
            fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
                assert!(text.iter().filter(|byte| **byte == b'\n').count() <= 1);
                self.0 = self.0.checked_sub(text.len()).ok_or(std::io::ErrorKind::StorageFull)?;
                Ok(text.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for table in SeriesTable::ALL {
            let error = run(["a", "b"]).write_series_csv(table, &mut Small(60), |_| None).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn vectors_of_the_wrong_length_are_named_and_never_panic() {
        let mut run = run(["a", "b"]);
        run.series.flows[1].cwnd_pkts.pop();
        assert_eq!(run.check().unwrap_err(), "series: cwnd_pkts of flow 1 has 1 entries instead of 2");
        run.series.links[0].backlog_kb.pop();
        assert_eq!(csv(&run, SeriesTable::Flows, |_| None).lines().count(), 1 + 2 * 2);
        assert_eq!(csv(&run, SeriesTable::Backlog, |_| None).lines().count(), 1 + 2);
    }
}
