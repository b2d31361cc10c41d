//! The time series in long form: one row per point and flow, per point and link, or per point and pair of
//! them.

use std::path::Path;

use fairpace_results::{FlowSeries, Run};

use crate::table::Kind::{Float32, Float64, UInt32, Utf8};
use crate::table::{Column, Named, ParquetFile, Rows};
use crate::{Error, RunInfo};

/// A table of the time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// A table with one row per flow and point.
    Flows,
    /// A table with one row per link and point. `backlog_kb` is the sum over all flows.
    Links,
    /// A table with one row per link, flow and point.
    Backlog,
}

impl Series {
    /// Writes `flows.parquet`, `links.parquet` and `backlog.parquet`, flow by flow: the series may not fit
    /// into memory twice.
    pub(crate) fn write_all(dir: &Path, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
        let files = [
            (Series::Flows, "flows.parquet"),
            (Series::Links, "links.parquet"),
            (Series::Backlog, "backlog.parquet"),
        ];
        for (series, name) in files {
            let mut file = ParquetFile::create(&dir.join(name), &series.columns(), run_info)?;
            series.write(&mut file, run_info, run)?;
            file.finish()?;
        }
        Ok(())
    }

    /// Returns the table of a run in memory.
    ///
    /// # Errors
    /// [`Error::Table`] if vectors of the run differ in length: see [`Run::check`].
    #[cfg(feature = "arrow")]
    pub fn table(self, run_info: &RunInfo, run: &Run) -> Result<crate::ArrowTable, Error> {
        let mut rows = crate::table::Batch::new(&self.columns());
        self.write(&mut rows, run_info, run)?;
        crate::ArrowTable::of(rows, run_info)
    }

    fn columns(self) -> Vec<Named> {
        match self {
            Series::Flows => {
                let names = FlowSeries::default().columns().map(|(name, _)| name);
                let mut columns = vec![("t_s", Float64), ("flow", Utf8), ("cc", Utf8)];
                columns.extend(names.map(|name| (name, Float32)));
                columns.push(("phase", Utf8));
                columns
            }
            Series::Links => vec![
                ("t_s", Float64),
                ("link", Utf8),
                ("queue_delay_ms", Float32),
                ("backlog_kb", Float32),
                ("dropped_pkts", UInt32),
            ],
            Series::Backlog => {
                vec![("t_s", Float64), ("link", Utf8), ("flow", Utf8), ("backlog_kb", Float32)]
            }
        }
    }

    fn write(self, table: &mut impl Rows, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
        match self {
            Series::Flows => flows(table, run_info, run),
            Series::Links => links(table, run),
            Series::Backlog => backlog(table, run),
        }
    }
}

/// Returns a column of numbers; NaN becomes null.
fn floats(values: &[f32]) -> Column {
    Column::Float32(values.iter().map(|x| (!x.is_nan()).then_some(*x)).collect())
}

fn times(t_s: &[f64]) -> Column {
    Column::Float64(t_s.iter().copied().map(Some).collect())
}

fn flows(table: &mut impl Rows, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
    let t_s = &run.series.t_s;
    for (summary, flow) in run.summary.flows.iter().zip(&run.series.flows) {
        let mut columns =
            vec![times(t_s), Column::same(&summary.name, t_s.len()), Column::same(&summary.cc, t_s.len())];
        columns.extend(flow.columns().map(|(_, values)| floats(values)));
        columns.push(Column::texts(flow.phase.iter().map(|phase| run_info.phase(*phase))));
        table.write(columns)?;
    }
    Ok(())
}

fn links(table: &mut impl Rows, run: &Run) -> Result<(), Error> {
    let t_s = &run.series.t_s;
    for (summary, link) in run.summary.links.iter().zip(&run.series.links) {
        let backlog = |point: usize| {
            let flows = link.backlog_kb.iter().map(|flow| f64::from(flow[point]));
            flows.sum::<f64>() as f32
        };
        let backlog: Vec<f32> = (0..t_s.len()).map(backlog).collect();
        table.write(vec![
            times(t_s),
            Column::same(&summary.name, t_s.len()),
            floats(&link.queue_delay_ms),
            floats(&backlog),
            Column::UInt32(link.drops.iter().copied().map(Some).collect()),
        ])?;
    }
    Ok(())
}

fn backlog(table: &mut impl Rows, run: &Run) -> Result<(), Error> {
    let t_s = &run.series.t_s;
    for (summary, link) in run.summary.links.iter().zip(&run.series.links) {
        for (flow, values) in run.summary.flows.iter().zip(&link.backlog_kb) {
            let rows = t_s.len();
            let names = [Column::same(&summary.name, rows), Column::same(&flow.name, rows)];
            table.write([times(t_s)].into_iter().chain(names).chain([floats(values)]).collect())?;
        }
    }
    Ok(())
}
