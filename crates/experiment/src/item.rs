//! Values of axes, and texts that contain their names in braces.

use serde::Deserialize;
use toml::Value;

use crate::source::wrong;

/// Whether a value may be one of an axis: a text, a number, true or false, or a list of texts and numbers.
pub(crate) fn is_item(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| item.is_str() || is_number(item)),
        other => other.is_str() || other.is_bool() || is_number(other),
    }
}

fn is_number(value: &Value) -> bool {
    value.is_integer() || value.is_float()
}

/// Text of a value in the name of a case: the items of a list are separated by slashes.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("/"),
        other => other.to_string(),
    }
}

/// The number, if the value is a finite number.
fn number(value: &Value) -> Option<f64> {
    let number = value.as_float().or(value.as_integer().map(|number| number as f64));
    number.filter(|number| number.is_finite())
}

/// A number of a criterion's file: a literal number, or the name of an axis's value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Amount {
    Fixed(f64),
    Named(String),
}

impl TryFrom<Value> for Amount {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let named = value.as_str().and_then(whole).map(|name| Self::Named(name.to_owned()));
        named.or_else(|| number(&value).map(Self::Fixed)).ok_or_else(|| {
            let help = "write a finite number, or \"{name}\" with a name of an axis's values";
            wrong("wrong-type", "this is no number", help)
        })
    }
}

impl Amount {
    pub(crate) const fn one() -> Self {
        Self::Fixed(1.0)
    }

    /// The name, if the number is given by the name of an axis's value.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Fixed(_) => None,
            Self::Named(name) => Some(name),
        }
    }

    /// The number of this amount, where `value` returns the value of a name.
    ///
    /// # Errors
    /// Returns the name, if it has no value or its value is not a number.
    pub(crate) fn of<'v>(&self, value: impl Fn(&str) -> Option<&'v Value>) -> Result<f64, String> {
        match self {
            Self::Fixed(fixed) => Ok(*fixed),
            Self::Named(name) => value(name).and_then(number).ok_or_else(|| name.clone()),
        }
    }
}

/// The name, if a text consists of one name in braces.
pub(crate) fn whole(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}').filter(|name| !name.contains(['{', '}']))
}

/// Iterates over the names in braces of a text.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// A text with values in place of the names in braces.
///
/// # Errors
/// Returns the first name that has no value.
pub(crate) fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => {
                filled.push_str(&value(name).ok_or_else(|| name.to_owned())?);
                filled.push_str(rest);
            }
            None => {
                filled.push('{');
                filled.push_str(part);
            }
        }
    }
    Ok(filled)
}

/// The items in order, each item only the first time it occurs.
pub(crate) fn first_of_each<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut known, item| {
        if !known.contains(&item) {
            known.push(item);
        }
        known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_replaced_and_nothing_else() {
        let value = |name: &str| (name == "bdp").then(|| "0.5".to_owned());
        assert_eq!(filled("{bdp}bdp", value), Ok("0.5bdp".into()));
        assert_eq!(filled("a {bdp} {bdp}", value), Ok("a 0.5 0.5".into()));
        assert_eq!(filled("{rate}", value), Err("rate".into()));
        assert_eq!(filled("open { brace", value), Ok("open { brace".into()));
        assert_eq!(names("{a} and {b}").collect::<Vec<_>>(), ["a", "b"]);
    }
}
