//! The algorithms as records.

use fairpace_cc::{Algorithm, Parameter, Preset};
use serde::Serialize;

/// An algorithm as `fairpace algorithms --json` prints it.
#[derive(Serialize)]
pub struct AlgorithmRecord {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its name in the kernel's list of congestion controls.
    pub kernel_name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Of a preset: of which algorithm.
    pub preset: Option<PresetRecord>,
    /// Its parameters.
    pub parameters: Vec<ParameterRecord>,
}

/// The algorithm that a preset is of, and the defaults that differ.
#[derive(Serialize)]
pub struct PresetRecord {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Parameters with other defaults, and these.
    pub set: Vec<(&'static str, &'static str)>,
}

/// Values are strings, as in a scenario.
#[derive(Serialize)]
pub struct ParameterRecord {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub unit: &'static str,
    /// Its default.
    pub default: String,
    /// The least value.
    pub least: String,
    /// The largest value.
    pub most: String,
    /// What it does.
    pub meaning: &'static str,
    /// The reason for the default and the range.
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
    /// All algorithms.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Algorithm::all().map(Self::from).collect()
    }

    /// All parameters; of a preset, those that differ.
    pub fn own_parameters(&self) -> impl Iterator<Item = &ParameterRecord> {
        let is_own = |parameter: &&ParameterRecord| match &self.preset {
            Some(preset) => preset.set.iter().any(|(name, _)| *name == parameter.name),
            None => true,
        };
        self.parameters.iter().filter(is_own)
    }

    /// For a preset: "bbr1 with other defaults".
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
