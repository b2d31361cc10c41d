//! Values of axes, and texts with their names in braces.

use toml::de::DeValue;

/// A value of an axis, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Text(String),
    /// A number as written: "0.5" stays "0.5".
    Number(String),
    Flag(bool),
    List(Vec<String>),
}

impl Item {
    /// A text, a number, true or false, or a list of texts and numbers; `None` for anything else.
    pub(crate) fn of(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::String(text) => Some(Self::Text(text.to_string())),
            DeValue::Integer(number) if number.radix() == 10 => {
                Some(Self::Number(number.as_str().to_owned()))
            }
            DeValue::Float(number) => Some(Self::Number(number.as_str().to_owned())),
            DeValue::Boolean(flag) => Some(Self::Flag(*flag)),
            DeValue::Array(items) => {
                let item = |item: &toml::Spanned<DeValue<'_>>| match Self::of(item.get_ref()) {
                    Some(Self::Text(text) | Self::Number(text)) => Some(text),
                    _ => None,
                };
                items
                    .iter()
                    .map(item)
                    .collect::<Option<Vec<_>>>()
                    .filter(|items| !items.is_empty())
                    .map(Self::List)
            }
            _ => None,
        }
    }

    /// As it is in a case's name: the items of a list with slashes between them.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(items) => items.join("/"),
        }
    }

    /// As a value of TOML, if it is one without quotes.
    pub(crate) fn unquoted(&self) -> Option<String> {
        match self {
            Self::Number(_) | Self::Flag(_) => Some(self.shown()),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }
}

/// The names in braces of a text.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// The text with values in place of the names in braces.
///
/// # Errors
/// The first name that has no value.
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
