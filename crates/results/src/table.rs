//! Time series as a CSV file, in long form.

use std::io::{self, Write};
use std::iter;

use crate::{FlowSeries, Run, csv_text};

/// The columns of [`Run::write_series_csv`].
const HEADER: &str = "t_s,flow,link,goodput_mbps,rtt_ms,cwnd_pkts,inflight_pkts,pacing_mbps,bw_mbps,\
                      min_rtt_ms,pacing_gain,phase,queue_delay_ms,drops,backlog_kb";

// The number of columns; index of the first column of links, and of the column of both. The columns before
// are of all rows, or of flows.
const COLUMNS: usize = 15;
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
    /// Writes the series as CSV: a row per time and flow (`link` empty), per time and link (`flow` empty),
    /// and per time, flow and link (the flow's backlog there). A cell without value is empty. A name that a
    /// spreadsheet would run has an apostrophe in front.
    ///
    /// The text may have gigabytes: it is written row by row and is never in memory as a whole.
    ///
    /// ```python
    /// d = pandas.read_csv("series.csv")
    /// d[d.link.isna()].pivot(index="t_s", columns="flow", values="goodput_mbps").plot()
    /// ```
    ///
    /// `phase_name` turns a phase's index into its name; an index without a name gives an empty cell.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_series_csv<W: Write + ?Sized>(
        &self,
        out: &mut W,
        phase_name: impl Fn(i8) -> Option<&'static str>,
    ) -> io::Result<()> {
        let flows: Vec<_> = self.summary.flows.iter().map(|flow| csv_text(&flow.name)).collect();
        let links: Vec<_> = self.summary.links.iter().map(|link| csv_text(&link.name)).collect();
        let mut rows = Rows { out, row: HEADER.to_owned(), cells: COLUMNS };
        rows.end()?;
        for (point, t_s) in self.series.t_s.iter().enumerate() {
            let t_s = number(*t_s);
            for (name, flow) in flows.iter().zip(&self.series.flows) {
                rows.begin(&t_s, name, "");
                for (_, values) in flow.columns() {
                    rows.cell(&at(values, point));
                }
                let phase = flow.phase.get(point).copied().and_then(&phase_name);
                rows.cell(phase.unwrap_or_default());
                rows.end()?;
            }
            for (name, link) in links.iter().zip(&self.series.links) {
                rows.begin(&t_s, "", name);
                rows.skip_to(LINK_COLUMNS);
                rows.cell(&at(&link.queue_delay_ms, point));
                rows.cell(&link.drops.get(point).map(u32::to_string).unwrap_or_default());
                rows.end()?;
                for (flow, backlog) in flows.iter().zip(&link.backlog_kb) {
                    rows.begin(&t_s, flow, name);
                    rows.skip_to(BACKLOG_COLUMN);
                    rows.cell(&at(backlog, point));
                    rows.end()?;
                }
            }
        }
        Ok(())
    }
}

/// A writer of rows.
struct Rows<'a, W: ?Sized> {
    out: &'a mut W,
    /// The row under construction.
    row: String,
    /// Number of cells of the row so far.
    cells: usize,
}

impl<W: Write + ?Sized> Rows<'_, W> {
    /// Begins a row with the cells that all rows have.
    fn begin(&mut self, t_s: &str, flow: &str, link: &str) {
        self.row.push_str(t_s);
        self.cells = 1;
        self.cell(flow);
        self.cell(link);
    }

    fn cell(&mut self, text: &str) {
        self.row.push(',');
        self.row.push_str(text);
        self.cells += 1;
    }

    /// Writes empty cells up to the cell with the index `cell`.
    fn skip_to(&mut self, cell: usize) {
        self.row.extend(iter::repeat_n(',', cell.saturating_sub(self.cells)));
        self.cells = cell;
    }

    /// Ends the row with empty cells and writes it.
    fn end(&mut self) -> io::Result<()> {
        self.skip_to(COLUMNS);
        self.row.push('\n');
        self.out.write_all(self.row.as_bytes())?;
        self.row.clear();
        Ok(())
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

    fn csv(run: &Run, phase_name: impl Fn(i8) -> Option<&'static str>) -> String {
        let mut text = Vec::new();
        run.write_series_csv(&mut text, phase_name).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn one_row_per_flow_per_link_and_per_pair() {
        let run = run(["a", "b"]);
        run.check().unwrap();
        let text = csv(&run, |phase| (phase == 0).then_some("STARTUP"));
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
        let names = ["10 ms, \"short\"", "=cmd|' /C calc'!A0\n<b>"];
        let text = csv(&run(names), |_| None);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let flows: Vec<String> =
            reader.records().map(|row| row.unwrap()[1].to_owned()).filter(|name| !name.is_empty()).collect();
        assert_eq!(flows.len(), 8);
        let cells = [names[0].to_owned(), format!("'{}", names[1])];
        assert!(flows.iter().all(|name| cells.contains(name)), "{flows:?}");
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
        let error = run(["a", "b"]).write_series_csv(&mut Small(200), |_| None).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn vectors_of_the_wrong_length_are_named_and_never_panic() {
        let mut run = run(["a", "b"]);
        run.series.flows[1].cwnd_pkts.pop();
        assert_eq!(run.check().unwrap_err(), "series: cwnd_pkts of flow 1 has 1 entries instead of 2");
        run.series.links[0].backlog_kb.pop();
        assert_eq!(csv(&run, |_| None).lines().count(), 1 + 2 * 4);
    }
}
