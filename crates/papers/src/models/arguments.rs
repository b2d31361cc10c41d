//! Arguments of models, by name: ranges, defaults and errors.

use std::collections::BTreeMap;

use serde::Serialize;

/// An argument of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Argument {
    /// Its name, which ends in the unit.
    pub name: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// The smallest value that it may have.
    pub least: f64,
    /// The largest value that it may have.
    pub most: f64,
    /// Its value if it is not given.
    pub default: f64,
    /// It takes only whole numbers.
    pub whole: bool,
    /// What it means.
    pub meaning: &'static str,
}

/// Why a model cannot be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No model has this name.
    #[error(
        "there is no model \"{name}\"{}; known: {}",
        did_you_mean(*.nearest), .known.join(", ")
    )]
    UnknownModel {
        /// The name that was requested.
        name: String,
        /// The known name with the most similar spelling.
        nearest: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The model has no argument of this name.
    #[error(
        "the model {model} has no argument \"{name}\"{}; it has: {}",
        did_you_mean(*.nearest), .known.join(", ")
    )]
    UnknownArgument {
        /// The model.
        model: &'static str,
        /// The name that was given.
        name: String,
        /// The known name with the most similar spelling.
        nearest: Option<&'static str>,
        /// All its arguments.
        known: Vec<&'static str>,
    },
    /// The argument cannot have this value.
    #[error(
        "{}={value} is out of range: the model {model} takes {} to {}{}",
        .argument.name, .argument.least, .argument.most, unit(.argument)
    )]
    OutOfRange {
        /// The model.
        model: &'static str,
        /// The argument, with its range.
        argument: Argument,
        /// The value that was given.
        value: f64,
    },
    /// Two arguments contradict each other.
    #[error("{name}={value} is not above {other}={least} in the model {model}")]
    NotAbove {
        /// The model.
        model: &'static str,
        /// The argument that is too small.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The argument that it must exceed.
        other: &'static str,
        /// The value of that argument.
        least: f64,
    },
}

/// Least Jaro-Winkler similarity of a suggestion, from 0 to 1: that of `fairpace_cc::nearest`, which is in a
/// crate that needs a C compiler.
const LEAST_SIMILARITY: f64 = 0.75;

/// The known name with the spelling most similar to `written`, if one is close. Case does not matter.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let similarity = |name: &str| strsim::jaro_winkler(&written, &name.to_lowercase());
    let scored = known.into_iter().map(|name| (similarity(name), name));
    let close = scored.filter(|(similarity, _)| *similarity > LEAST_SIMILARITY);
    close.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

fn did_you_mean(nearest: Option<&'static str>) -> String {
    nearest.map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default()
}

fn unit(argument: &Argument) -> String {
    let whole = if argument.whole { ", a whole number" } else { "" };
    if argument.unit.is_empty() { whole.to_owned() } else { format!(" {}{whole}", argument.unit) }
}

/// The arguments of one evaluation: every argument has a value, and every value is in range.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) model: &'static str,
    values: BTreeMap<&'static str, f64>,
}

impl Checked {
    pub(crate) fn new(
        model: &'static str,
        arguments: &[&'static [Argument]],
        given: &BTreeMap<String, f64>,
    ) -> Result<Self, Error> {
        let arguments = || arguments.iter().flat_map(|group| group.iter());
        let mut values: BTreeMap<_, _> =
            arguments().map(|argument| (argument.name, argument.default)).collect();
        for (name, value) in given {
            let Some(argument) = arguments().find(|argument| argument.name == name) else {
                let known: Vec<_> = arguments().map(|argument| argument.name).collect();
                return Err(Error::UnknownArgument {
                    model,
                    name: name.clone(),
                    nearest: nearest(name, known.iter().copied()),
                    known,
                });
            };
            // NaN fails this comparison, so it is out of range
            let fits = *value >= argument.least && *value <= argument.most;
            if !fits || (argument.whole && value.fract() != 0.0) {
                return Err(Error::OutOfRange { model, argument: *argument, value: *value });
            }
            values.insert(argument.name, *value);
        }
        Ok(Self { model, values })
    }

    /// The value of an argument that the model declares.
    pub(crate) fn get(&self, name: &str) -> f64 {
        let value = self.values.get(name);
        debug_assert!(value.is_some(), "the model {} reads {name}, which it does not declare", self.model);
        value.copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn whole(&self, name: &str) -> u32 {
        self.get(name) as u32
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name) != 0.0
    }

    pub(crate) fn above(&self, name: &'static str, other: &'static str) -> Result<(), Error> {
        let (value, least) = (self.get(name), self.get(other));
        if value > least {
            return Ok(());
        }
        Err(Error::NotAbove { model: self.model, name, value, other, least })
    }
}
