//! A number of a condition: written in the file, or a value of an axis.

use crate::item::Item;

/// A number, or the name of an axis's value that is one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Amount {
    Fixed(f64),
    Named(String),
}

impl Amount {
    /// The number.
    ///
    /// # Errors
    /// The name that has no value or no number.
    pub(crate) fn of<'v>(&self, value: impl Fn(&str) -> Option<&'v Item>) -> Result<f64, String> {
        match self {
            Self::Fixed(number) => Ok(*number),
            Self::Named(name) => value(name).and_then(Item::number).ok_or_else(|| name.clone()),
        }
    }
}
