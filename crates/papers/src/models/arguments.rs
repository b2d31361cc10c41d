//! Arguments of models, by name: ranges, defaults and errors.

use std::collections::BTreeMap;

use crate::models::model::{Argument, Model};

/// Why a model cannot be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no model or argument of this name. The text is a message with the known names.
    #[error("{0}")]
    Unknown(String),
    /// The value of an argument is out of its range.
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
    /// Two arguments contradict each other: one must exceed the other.
    #[error("{name}={value} is not above {other}={least} in the model {model}")]
    NotAbove {
        /// The model.
        model: &'static str,
        /// The argument that is too small.
        name: &'static str,
        /// The value of the argument that is too small.
        value: f64,
        /// The argument that it must exceed.
        other: &'static str,
        /// The value of that argument.
        least: f64,
    },
}

impl Error {
    /// An error for an unknown name of a model or argument, with the known name of the most similar spelling.
    pub(crate) fn unknown(what: &str, name: &str, has: &str, known: Vec<&str>) -> Self {
        let nearest = fairpace_cc::nearest(name, known.iter().copied());
        let meant = nearest.map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default();
        Self::Unknown(format!("{what} \"{name}\"{meant}; {has}: {}", known.join(", ")))
    }
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
    pub(crate) fn new(of: &'static Model, given: &BTreeMap<String, f64>) -> Result<Self, Error> {
        let Model { name: model, arguments, .. } = of;
        let default = |argument: &Argument| (argument.name, argument.default);
        let mut values: BTreeMap<_, _> = arguments.iter().map(default).collect();
        for (name, value) in given {
            let Some(argument) = arguments.iter().find(|argument| argument.name == name) else {
                let known = arguments.iter().map(|argument| argument.name).collect();
                let what = format!("the model {model} has no argument");
                return Err(Error::unknown(&what, name, "it has", known));
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
