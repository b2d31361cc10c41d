//! The algorithms as records.

use fairpace_cc::{Algorithm, Parameter, Preset};
use serde::Serialize;

/// An algorithm as `fairpace algorithms --json` prints it.
#[derive(Serialize)]
pub struct AlgorithmRecord {
    /// Name of the algorithm in scenarios.
    pub name: &'static str,
    /// Name of the algorithm in the kernel's list of congestion controls.
    pub kernel_name: &'static str,
    /// Description of the algorithm, in a line.
    pub title: &'static str,
    /// Publication that describes the algorithm.
    pub source: &'static str,
    /// The parent and the changed defaults, if the algorithm is a preset.
    pub preset: Option<PresetRecord>,
    /// Parameters of the algorithm.
    pub parameters: Vec<ParameterRecord>,
}

/// What a preset consists of: an algorithm, and defaults that differ.
#[derive(Serialize)]
pub struct PresetRecord {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Parameters with other defaults, and these defaults.
    pub set: Vec<(&'static str, &'static str)>,
}

/// A parameter of an algorithm. Values are strings, as in a scenario.
#[derive(Serialize)]
pub struct ParameterRecord {
    /// Name of the parameter.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Default value.
    pub default: String,
    /// Least permitted value.
    pub least: String,
    /// Largest permitted value.
    pub most: String,
    /// Effect of the parameter.
    pub meaning: &'static str,
    /// Reason for the default and the range.
    pub reason: &'static str,
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
    /// Records of all algorithms.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Algorithm::all().map(Self::from).collect()
    }

    /// Text on what a preset is: "bbr1 with other defaults"; `None` for other algorithms.
    #[must_use]
    pub fn of(&self) -> Option<String> {
        let preset = self.preset.as_ref()?;
        Some(format!("{} with other defaults", preset.algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_shows_what_it_is_of_and_what_differs() {
        let preset = Preset { algorithm: "bbq", settings: "alpha=5ms  beta=1%" };
        let bbq = AlgorithmRecord::from(Algorithm::by_name("bbq").unwrap());
        let record = AlgorithmRecord { name: "bbq_5", preset: Some(preset.into()), ..bbq };
        assert_eq!(record.of().unwrap(), "bbq with other defaults");
        assert_eq!(record.preset.unwrap().set, [("alpha", "5ms"), ("beta", "1%")]);
    }
}
