//! `fairpace algorithms`: the algorithms with their parameters.

use fairpace_cc::{Algorithm, Parameter, Preset};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, table};
use serde::Serialize;

#[derive(Serialize)]
struct AlgorithmRecord {
    name: &'static str,
    kernel_name: &'static str,
    title: &'static str,
    source: &'static str,
    preset: Option<PresetRecord>,
    parameters: Vec<ParameterRecord>,
}

/// The algorithm that a preset is of, and the defaults that differ.
#[derive(Serialize)]
struct PresetRecord {
    algorithm: &'static str,
    set: Vec<(&'static str, &'static str)>,
}

/// Values are strings, as in a scenario.
#[derive(Serialize)]
struct ParameterRecord {
    name: &'static str,
    unit: &'static str,
    default: String,
    least: String,
    most: String,
    meaning: &'static str,
    reason: &'static str,
}

impl From<Preset> for PresetRecord {
    fn from(preset: Preset) -> Self {
        let set = preset.settings.split_whitespace().filter_map(|setting| setting.split_once('='));
        Self { algorithm: preset.algorithm, set: set.collect() }
    }
}

impl From<&Parameter> for ParameterRecord {
    fn from(parameter: &Parameter) -> Self {
        let Parameter { name, c_name: _, unit, default, least, most, meaning, reason } = *parameter;
        let text = |raw| unit.format(raw);
        Self {
            name,
            unit: unit.noun(),
            default: text(default),
            least: text(least),
            most: text(most),
            meaning,
            reason,
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
            preset: algorithm.preset().map(PresetRecord::from),
            parameters: algorithm.parameters().iter().map(ParameterRecord::from).collect(),
        }
    }
}

impl AlgorithmRecord {
    fn all() -> Vec<Self> {
        Algorithm::all().map(Self::from).collect()
    }

    /// All parameters; of a preset, those that differ.
    fn own_parameters(&self) -> impl Iterator<Item = &ParameterRecord> {
        let is_own = |parameter: &&ParameterRecord| match &self.preset {
            Some(preset) => preset.set.iter().any(|(name, _)| *name == parameter.name),
            None => true,
        };
        self.parameters.iter().filter(is_own)
    }

    /// For a preset: "bbr1 with other defaults".
    fn of(&self) -> Option<String> {
        let preset = self.preset.as_ref()?;
        Some(format!("{} with other defaults", preset.algorithm))
    }
}

pub(crate) fn list(global: Global, out: &mut Output) -> Result<(), Failure> {
    let records = AlgorithmRecord::all();
    if global.json {
        return out.json(&records);
    }
    let mut lines = table(&["name", "in the kernel", "what", "source"], 4);
    for record in &records {
        lines.add_row([record.name, record.kernel_name, record.title, record.source]);
    }
    out.text(&table::text(&lines))?;
    for record in records.iter().filter(|record| !record.parameters.is_empty()) {
        let mut lines = table(&["", "parameter", "default", "range", "what", "why"], 6);
        for ParameterRecord { name, default, least, most, meaning, reason, .. } in record.own_parameters() {
            let range = format!("{least} to {most}");
            lines.add_row(["", name, default, range.as_str(), meaning, reason]);
        }
        let of = record.of().map(|of| format!(": {of}")).unwrap_or_default();
        out.text(&format!("\n{}{of}\n{}", record.name, table::text(&lines)))?;
    }
    Ok(())
}

/// A paragraph for each algorithm, for the man page.
pub(crate) fn paragraphs() -> String {
    let paragraph = |record: &AlgorithmRecord| {
        let AlgorithmRecord { name, kernel_name, title, source, preset, .. } = record;
        let preset = preset.as_ref().map(|preset| {
            let set: Vec<_> = preset.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!(" It is {} with {}.", preset.algorithm, set.join(", "))
        });
        format!("{name} (in the kernel {kernel_name}): {title}. {source}.{}", preset.unwrap_or_default())
    };
    AlgorithmRecord::all().iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_shows_what_it_is_of_and_only_what_differs() {
        let preset = Preset { algorithm: "bbq", settings: "alpha=5ms  beta=1%" };
        let bbq = AlgorithmRecord::from(Algorithm::by_name("bbq").unwrap());
        let record = AlgorithmRecord { name: "bbq_5", preset: Some(preset.into()), ..bbq };
        assert_eq!(record.of().unwrap(), "bbq with other defaults");
        let own: Vec<_> = record.own_parameters().map(|parameter| parameter.name).collect();
        assert_eq!(own, ["alpha", "beta"]);
        assert_eq!(record.preset.unwrap().set, [("alpha", "5ms"), ("beta", "1%")]);
    }
}
