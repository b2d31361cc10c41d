//! The time series as Parquet: `flows.parquet`, `links.parquet`, `backlog.parquet`, each in long form: one
//! row per point and flow, link, or pair of both.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, StringArray, UInt32Array};
use arrow_schema::DataType::{Float32, Float64, UInt32, Utf8};
use fairpace_results::{FlowSeries, Run};

use crate::table::Table;
use crate::{Error, RunInfo};

/// A column of numbers; NaN becomes null.
fn floats<'a>(values: impl Iterator<Item = &'a f32>) -> ArrayRef {
    Arc::new(Float32Array::from_iter(values.map(|x| (!x.is_nan()).then_some(*x))))
}

fn times(t_s: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(t_s.iter().copied()))
}

fn same(name: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(name, rows)))
}

pub(crate) fn write(dir: &Path, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
    flows(dir, run_info, run)?;
    links(dir, run_info, run)?;
    backlog(dir, run_info, run)
}

/// One row per flow and point.
fn flows(dir: &Path, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
    let names = FlowSeries::default().columns().map(|(name, _)| name);
    let mut columns = vec![("t_s", Float64), ("flow", Utf8), ("algorithm", Utf8)];
    columns.extend(names.map(|name| (name, Float32)));
    columns.push(("phase", Utf8));
    let mut table = Table::create(dir, "flows.parquet", &columns, run_info)?;
    let t_s = &run.series.t_s;
    for (summary, flow) in run.summary.flows.iter().zip(&run.series.flows) {
        let mut arrays = vec![times(t_s), same(&summary.name, t_s.len()), same(&summary.cc, t_s.len())];
        arrays.extend(flow.columns().map(|(_, values)| floats(values.iter())));
        arrays.push(Arc::new(StringArray::from_iter(flow.phase.iter().map(|phase| run_info.phase(*phase)))));
        table.write(arrays)?;
    }
    table.finish()
}

/// One row per link and point. `backlog_kb` is the sum over all flows.
fn links(dir: &Path, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
    let columns = [
        ("t_s", Float64),
        ("link", Utf8),
        ("queue_delay_ms", Float32),
        ("backlog_kb", Float32),
        ("drops", UInt32),
    ];
    let mut table = Table::create(dir, "links.parquet", &columns, run_info)?;
    let t_s = &run.series.t_s;
    for (summary, link) in run.summary.links.iter().zip(&run.series.links) {
        let backlog = |point: usize| {
            let flows = link.backlog_kb.iter().map(|flow| f64::from(flow[point]));
            flows.sum::<f64>() as f32
        };
        let backlog: Vec<f32> = (0..t_s.len()).map(backlog).collect();
        table.write(vec![
            times(t_s),
            same(&summary.name, t_s.len()),
            floats(link.queue_delay_ms.iter()),
            floats(backlog.iter()),
            Arc::new(UInt32Array::from_iter_values(link.drops.iter().copied())),
        ])?;
    }
    table.finish()
}

/// One row per link, flow and point.
fn backlog(dir: &Path, run_info: &RunInfo, run: &Run) -> Result<(), Error> {
    let columns = [("t_s", Float64), ("link", Utf8), ("flow", Utf8), ("backlog_kb", Float32)];
    let mut table = Table::create(dir, "backlog.parquet", &columns, run_info)?;
    let t_s = &run.series.t_s;
    for (summary, link) in run.summary.links.iter().zip(&run.series.links) {
        for (flow, values) in run.summary.flows.iter().zip(&link.backlog_kb) {
            let rows = t_s.len();
            table.write(vec![
                times(t_s),
                same(&summary.name, rows),
                same(&flow.name, rows),
                floats(values.iter()),
            ])?;
        }
    }
    table.finish()
}
