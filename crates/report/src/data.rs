//! The values behind the plots, as JSON inside the page. The script shows the values at the cursor.

use crate::panels::LANES;
use crate::path::{columns, mean};
use crate::plot::Panel;
use crate::{Case, Study};
use serde::Serialize;
use std::collections::BTreeMap;

/// The data that the script reads.
#[derive(Serialize)]
struct Data {
    /// End of the time axis, seconds.
    end_s: f64,
    /// Measurement window of the first run, begin and end in seconds.
    window_s: [f64; 2],
    phases: Vec<String>,
    runs: Vec<RunData>,
}

/// The data of a run: times, and the values by panel, readout and series. Missing values are null.
#[derive(Serialize)]
struct RunData {
    t_s: Vec<f64>,
    panels: BTreeMap<String, Vec<Vec<Vec<Option<f32>>>>>,
}

/// The page's data as JSON that is safe inside a script element.
pub(crate) fn json(study: &Study, panels: &[Vec<Panel>]) -> String {
    let phases =
        study.runs.iter().flat_map(|case| &case.run.series.flows).flat_map(|f| &f.phase).copied().max();
    let data = Data {
        end_s: study.time.max,
        window_s: study.runs.first().map_or([0.0; 2], |case| case.run.summary.window_s),
        phases: (0..=phases.unwrap_or(-1)).map(|phase| study.phase_name(phase)).collect(),
        runs: study
            .runs
            .iter()
            .zip(panels)
            .map(|(case, panels)| run_data(study.columns, case, panels))
            .collect(),
    };
    // "</script>" and "<!--" would end or change the element; inside JSON strings an escaped "<" is valid.
    serde_json::to_string(&data).unwrap_or_else(|_| "null".into()).replace('<', "\\u003c")
}

fn run_data(most: usize, case: &Case, panels: &[Panel]) -> RunData {
    let t_s = &case.run.series.t_s;
    let values = |series: &Vec<f32>| -> Vec<Option<f32>> {
        let at = |column: std::ops::Range<usize>| series.get(column).and_then(|column| short(mean(column)));
        columns(t_s.len(), most).map(at).collect()
    };
    let mut all: BTreeMap<String, Vec<Vec<Vec<Option<f32>>>>> = panels
        .iter()
        .map(|panel| {
            let readouts = panel.readouts.iter().map(|readout| readout.series.iter().map(values).collect());
            (panel.key.clone(), readouts.collect())
        })
        .collect();
    let last = |series: &[i8]| -> Vec<Option<f32>> {
        let at = |column: std::ops::Range<usize>| series.get(column.end - 1).map(|phase| f32::from(*phase));
        columns(t_s.len(), most).map(at).collect()
    };
    let lanes = case.run.series.flows.iter().map(|flow| vec![values(&flow.pacing_gain), last(&flow.phase)]);
    all.insert(LANES.into(), lanes.collect());
    let t_s = columns(t_s.len(), most).map(|column| fairpace_results::round(t_s[column.end - 1])).collect();
    RunData { t_s, panels: all }
}

/// Rounds to four significant digits, more than the readout shows. NaN and infinity become null.
fn short(x: f64) -> Option<f32> {
    if x.is_finite() { format!("{x:.3e}").parse().ok() } else { None }
}
