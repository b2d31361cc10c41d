//! Values for the parameters of an algorithm, read from and written as text.

use crate::algorithm::{Algorithm, Parameter, did_you_mean};
use crate::ffi::MAX_PARAMETERS;
use crate::names::nearest;

/// Parameters with another name than before: algorithm, old name, new name. The old name gives an error that
/// names the new one. Rows stay, because scenarios and results of users stay.
const RENAMED: [(&str, &str, &str); 1] = [("level", "patience", "detection_drains")];

/// Values for all parameters of an algorithm, in the layout of `struct NAME_params`.
///
/// ```
/// use fairpace_cc::{Algorithm, Params};
///
/// let mut params = Params::defaults(Algorithm::by_name("bbq")?);
/// params.set("alpha", "5ms")?;
/// assert_eq!(params.get("alpha"), Some(5_000)); // microseconds
/// assert!(params.set("alpha", "5").is_err()); // a time needs a unit
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    algorithm: Algorithm,
    values: [u32; MAX_PARAMETERS],
}

/// The reason why a parameter was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The algorithm has no parameter of this name.
    #[error(
        "{algorithm} has no parameter \"{name}\"{}; it has: {}", did_you_mean(.nearest), .known.join(", ")
    )]
    Unknown {
        /// The algorithm of the values.
        algorithm: Algorithm,
        /// The name that was given.
        name: String,
        /// The known name with the most similar spelling, if there is a similar one.
        nearest: Option<&'static str>,
        /// All names that exist.
        known: Vec<&'static str>,
    },
    /// The parameter had this name in an earlier version.
    #[error("{algorithm} has no parameter \"{name}\": it is called \"{new_name}\" now")]
    Renamed {
        /// The algorithm of the values.
        algorithm: Algorithm,
        /// The old name, which was given.
        name: &'static str,
        /// The parameter's name now.
        new_name: &'static str,
    },
    /// The text is not a value of the parameter's unit.
    #[error("{algorithm}: {name} cannot be \"{value}\": it is {noun}, for example \"{example}\"")]
    Malformed {
        /// The algorithm of the values.
        algorithm: Algorithm,
        /// Name of the parameter.
        name: &'static str,
        /// The text that was given.
        value: String,
        /// Noun for a value of the unit.
        noun: &'static str,
        /// A valid value: the default.
        example: String,
    },
    /// The value is outside the parameter's range.
    #[error(
        "{algorithm}: {name} cannot be {value}: it must be from {least} to {most}, for example \"{example}\""
    )]
    OutOfRange {
        /// The algorithm of the values.
        algorithm: Algorithm,
        /// Name of the parameter.
        name: &'static str,
        /// The text that was given.
        value: String,
        /// The smallest value.
        least: String,
        /// The largest value.
        most: String,
        /// A valid value: the default.
        example: String,
    },
}

impl Params {
    /// Returns the defaults of an algorithm.
    pub fn defaults(algorithm: Algorithm) -> Params {
        let mut values = [0; MAX_PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(algorithm.parameters()) {
            *value = parameter.default;
        }
        Params { algorithm, values }
    }

    /// The algorithm that the values belong to.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Sets one parameter from text with its unit: `set("alpha", "3ms")`.
    ///
    /// # Errors
    /// The name is unknown or was replaced, the text is no value of the unit, or the value is out of range.
    /// Nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParamError> {
        let parameters = self.algorithm.parameters();
        let Some(index) = parameters.iter().position(|p| p.name == name) else {
            return Err(self.no_such(name));
        };
        self.values[index] = self.parse(&parameters[index], value)?;
        Ok(())
    }

    fn no_such(&self, name: &str) -> ParamError {
        let algorithm = self.algorithm;
        let code = algorithm.preset().map_or(algorithm.name(), |preset| preset.algorithm);
        if let Some(&(_, name, new_name)) = RENAMED.iter().find(|(of, old, _)| *of == code && *old == name) {
            return ParamError::Renamed { algorithm, name, new_name };
        }
        let known: Vec<_> = algorithm.parameters().iter().map(|p| p.name).collect();
        ParamError::Unknown {
            algorithm,
            name: name.to_owned(),
            nearest: nearest(name, known.iter().copied()),
            known,
        }
    }

    fn parse(&self, parameter: &Parameter, value: &str) -> Result<u32, ParamError> {
        let Parameter { name, unit, default, least, most, .. } = *parameter;
        let (algorithm, example) = (self.algorithm, unit.format(default));
        let Some(raw) = unit.parse(value) else {
            let (value, noun) = (value.to_owned(), unit.noun());
            return Err(ParamError::Malformed { algorithm, name, value, noun, example });
        };
        match u32::try_from(raw) {
            Ok(raw) if (least..=most).contains(&raw) => Ok(raw),
            _ => Err(ParamError::OutOfRange {
                algorithm,
                name,
                value: value.to_owned(),
                least: unit.format(least),
                most: unit.format(most),
                example,
            }),
        }
    }

    /// Returns each parameter with its raw value, in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, u32)> + '_ {
        self.algorithm.parameters().iter().zip(self.values.iter().copied())
    }

    /// The raw value of a parameter; `None`: no parameter has this name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.iter().find(|(p, _)| p.name == name).map(|(_, raw)| raw)
    }

    /// Returns each parameter with its value as text: name, value.
    pub fn formatted(&self) -> Vec<(&'static str, String)> {
        self.iter().map(|(p, raw)| (p.name, p.unit.format(raw))).collect()
    }

    /// The bytes of `struct NAME_params`, the layout that eBPF objects read.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.raw())
    }

    pub(crate) fn raw(&self) -> &[u32] {
        &self.values[..self.algorithm.parameters().len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_parameter_is_gone_and_the_error_says_the_name_that_it_has() {
        for (of, old, new) in RENAMED {
            let mut params = Params::defaults(Algorithm::by_name(of).unwrap());
            assert!(params.get(old).is_none() && params.get(new).is_some(), "{of}: {old}, {new}");
            let said = params.set(old, "1").unwrap_err().to_string();
            assert_eq!(said, format!("{of} has no parameter \"{old}\": it is called \"{new}\" now"));
        }
    }
}
