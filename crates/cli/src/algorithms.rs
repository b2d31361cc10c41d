//! `fairpace algorithms`: what there is.

use fairpace_cc::{Algorithm, Parameter};
use serde::Serialize;

use crate::args::Global;
use crate::failure::Failure;
use crate::output::Output;
use crate::table::{self, table};

#[derive(Serialize)]
struct AlgorithmRecord {
    name: &'static str,
    kernel_name: &'static str,
    title: &'static str,
    source: &'static str,
    parameters: Vec<ParameterRecord>,
}

/// Values are texts, as they are written in a scenario.
#[derive(Serialize)]
struct ParameterRecord {
    name: &'static str,
    unit: &'static str,
    default: String,
    least: String,
    most: String,
    meaning: &'static str,
}

impl From<&Parameter> for ParameterRecord {
    fn from(parameter: &Parameter) -> Self {
        let Parameter { name, unit, default, least, most, meaning } = *parameter;
        let text = |raw| unit.format(raw);
        Self {
            name,
            unit: unit.noun(),
            default: text(default),
            least: text(least),
            most: text(most),
            meaning,
        }
    }
}

impl From<Algorithm> for AlgorithmRecord {
    fn from(algorithm: Algorithm) -> Self {
        Self {
            name: algorithm.name(),
            kernel_name: algorithm.kernel_name(),
            title: algorithm.title(),
            source: algorithm.source(),
            parameters: algorithm.parameters().iter().map(ParameterRecord::from).collect(),
        }
    }
}

pub(crate) fn list(global: Global, out: &mut Output) -> Result<(), Failure> {
    let records: Vec<AlgorithmRecord> = Algorithm::all().map(AlgorithmRecord::from).collect();
    if global.json {
        return out.json(&records);
    }
    let mut lines = table(&["name", "in the kernel", "what", "source"], 4);
    for record in &records {
        lines.add_row([record.name, record.kernel_name, record.title, record.source]);
    }
    out.text(&table::text(&lines))?;
    for record in records.iter().filter(|record| !record.parameters.is_empty()) {
        let mut lines = table(&["", "parameter", "default", "range", "what"], 5);
        for ParameterRecord { name, default, least, most, meaning, .. } in &record.parameters {
            let range = format!("{least} to {most}");
            lines.add_row(["", name, default, range.as_str(), meaning]);
        }
        out.text(&format!("\n{}\n{}", record.name, table::text(&lines)))?;
    }
    Ok(())
}
