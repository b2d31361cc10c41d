//! Conversion of a field of a typed scenario to the value of a key, and back.

use std::time::Duration;

use crate::cc::Cc;
use crate::drops::Drops;
use crate::files::Sizes;
use crate::quantity::{BurstLength, Limit, ns};
use crate::value::Value;

/// The type of a field that a key can set.
pub(crate) trait Field {
    /// The value of the field; `None` if nothing is set.
    fn value(&self) -> Option<Value>;
    fn set(&mut self, value: Value);
}

/// Implements [`Field`] for types that [`Value`] has a variant for.
macro_rules! held {
    ($($type:ty = $variant:ident),+ $(,)?) => {
        $(impl Field for $type {
            fn value(&self) -> Option<Value> {
                Some(Value::$variant(self.clone()))
            }
            fn set(&mut self, value: Value) {
                match value {
                    Value::$variant(held) => *self = held,
                    other => other.is_of_another_kind(),
                }
            }
        })+
    };
}

held! {
    bool = Truth,
    String = Text,
    Vec<String> = Names,
    Limit = Limit,
    Sizes = Sizes,
    BurstLength = BurstLength,
    Cc = Cc,
}

impl Field for u64 {
    fn value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }
    fn set(&mut self, value: Value) {
        *self = value.number();
    }
}

impl Field for u32 {
    fn value(&self) -> Option<Value> {
        Some(Value::Number((*self).into()))
    }
    fn set(&mut self, value: Value) {
        *self = u32::try_from(value.number()).unwrap_or(u32::MAX);
    }
}

impl Field for Duration {
    fn value(&self) -> Option<Value> {
        Some(Value::Number(ns(*self)))
    }
    fn set(&mut self, value: Value) {
        *self = value.time();
    }
}

impl Field for Drops {
    fn value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::Drops(self.clone()))
    }
    fn set(&mut self, value: Value) {
        match value {
            Value::Drops(drops) => *self = drops,
            other => other.is_of_another_kind(),
        }
    }
}

/// Steps: each is a time and the value that holds from then on.
impl<T: Field + Default> Field for Vec<(Duration, T)> {
    fn value(&self) -> Option<Value> {
        let step = |(at, value): &(Duration, T)| Some((ns(*at), value.value()?.number()));
        let steps: Vec<_> = self.iter().filter_map(step).collect();
        (!steps.is_empty()).then_some(Value::Steps(steps))
    }
    fn set(&mut self, value: Value) {
        let step = |(at, number)| {
            let mut value = T::default();
            value.set(Value::Number(number));
            (Duration::from_nanos(at), value)
        };
        match value {
            Value::Steps(steps) => *self = steps.into_iter().map(step).collect(),
            other => other.is_of_another_kind(),
        }
    }
}

impl<T: Field + Default> Field for Option<T> {
    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(Field::value)
    }
    fn set(&mut self, value: Value) {
        self.get_or_insert_default().set(value);
    }
}

/// Implements [`Field`] for an enum without fields, whose variants are words in a scenario.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            pub(crate) const NAMES: &[&str] = &[$($word),*];

            /// The word in a scenario.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }

        impl $crate::field::Field for $type {
            fn value(&self) -> Option<$crate::value::Value> {
                Some($crate::value::Value::Word(self.name()))
            }
            fn set(&mut self, value: $crate::value::Value) {
                match value {
                    $($crate::value::Value::Word($word) => *self = $type::$variant,)*
                    other => other.is_of_another_kind(),
                }
            }
        }
    };
}

pub(crate) use words;
