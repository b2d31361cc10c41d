//! Rows: each row connects the declaration of a key with the field of a struct that the key sets. A row
//! stands beside its struct `S`; `Within` says where the struct lies in a link, a flow or a scenario.

use crate::key::{DefaultValue, Key, Kind, Relation, RunsOn, Section};
use crate::value::{Given, Value};

/// A row: a key that sets a field of `S`.
pub(crate) struct Row<S> {
    key: Key,
    access: Access<S>,
}

/// Functions that get and set the field. `get` returns `None` where the field does not exist, such as the
/// interval of a queue that is not CoDel.
pub(crate) struct Access<S> {
    pub(crate) get: fn(&S) -> Option<Value>,
    /// Sets the field; the other values of the part decide about defaults that depend on them.
    pub(crate) set: fn(&mut S, Value, &Given),
}

impl<S> Access<S> {
    /// Access without a field: only the reader uses the value.
    pub(crate) const NONE: Self = Self { get: |_| None, set: |_, _, _| {} };
}

/// A struct that lies at one place within `P`, as a queue within a link.
pub(crate) trait Within<P> {
    fn of(part: &P) -> &Self;
    fn of_mut(part: &mut P) -> &mut Self;
}

impl<P> Within<P> for P {
    fn of(part: &P) -> &Self {
        part
    }
    fn of_mut(part: &mut P) -> &mut Self {
        part
    }
}

/// A row of `P`, for a field of any struct within `P`.
pub(crate) trait Lens<P> {
    fn key(&self) -> &Key;
    fn get(&self, part: &P) -> Option<Value>;
    fn set(&self, part: &mut P, value: Value, given: &Given);
}

impl<P, S: Within<P>> Lens<P> for Row<S> {
    fn key(&self) -> &Key {
        &self.key
    }
    fn get(&self, part: &P) -> Option<Value> {
        (self.access.get)(S::of(part))
    }
    fn set(&self, part: &mut P, value: Value, given: &Given) {
        (self.access.set)(S::of_mut(part), value, given);
    }
}

/// Declares where structs lie within another struct: `within!(Link { queue: Queue })`.
macro_rules! within {
    ($part:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(impl $crate::row::Within<$part> for $type {
            fn of(part: &$part) -> &Self {
                &part.$field
            }
            fn of_mut(part: &mut $part) -> &mut Self {
                &mut part.$field
            }
        })+
    };
}

/// Access to a plain field: `field!(Sending, sack)`.
macro_rules! field {
    ($type:ident, $($field:tt).+) => {
        $crate::row::Access {
            get: |part: &$type| $crate::field::Field::value(&part.$($field).+),
            set: |part: &mut $type, value, _| $crate::field::Field::set(&mut part.$($field).+, value),
        }
    };
}

/// Access to a field of an optional struct, which a value creates as its `blank`, with the other fields still
/// to be set: `option!(Policer, rate_bps)`. Or `option!(Loss, burst: pkts)` where a field of another struct
/// is the option and its type has a default.
macro_rules! option {
    ($type:ident, $field:tt) => {
        $crate::row::Access {
            get: |part: &Option<$type>| $crate::field::Field::value(&part.as_ref()?.$field),
            set: |part: &mut Option<$type>, value, _| {
                $crate::field::Field::set(&mut part.get_or_insert_with($type::blank).$field, value);
            },
        }
    };
    ($type:ident, $option:ident: $field:tt) => {
        $crate::row::Access {
            get: |part: &$type| $crate::field::Field::value(&part.$option.as_ref()?.$field),
            set: |part: &mut $type, value, _| {
                $crate::field::Field::set(&mut part.$option.get_or_insert_default().$field, value);
            },
        }
    };
}

pub(crate) use {field, option, within};

/// Text of a row: a name or sentences.
type Text = &'static str;

impl<S> Row<S> {
    /// Declares a key at the top of the file. The key must be given, unless `or` or `optional` follows.
    pub(crate) const fn top(name: Text, kind: Kind, access: Access<S>, meaning: Text) -> Self {
        Self { key: Key::new(Section::Top, name, kind, meaning), access }
    }

    /// Declares a key under `[window]`.
    pub(crate) const fn window(name: Text, kind: Kind, access: Access<S>, meaning: Text) -> Self {
        Self { key: Key::new(Section::Window, name, kind, meaning), access }
    }

    /// Declares a key under `[[link]]`.
    pub(crate) const fn link(name: Text, kind: Kind, access: Access<S>, meaning: Text) -> Self {
        Self { key: Key::new(Section::Link, name, kind, meaning), access }
    }

    /// Declares a key under `[[flow]]`.
    pub(crate) const fn flow(name: Text, kind: Kind, access: Access<S>, meaning: Text) -> Self {
        Self { key: Key::new(Section::Flow, name, kind, meaning), access }
    }

    /// Sets the key's smallest and largest value, in stored units; for text, in characters; for lists, in
    /// items.
    pub(crate) const fn range(self, least: u64, most: u64) -> Self {
        Self { key: Key { least, most, ..self.key }, ..self }
    }

    /// Declares that the key must be given unless the key `other` is.
    pub(crate) const fn unless(self, other: &'static str) -> Self {
        Self { key: Key { unless: Some(other), ..self.key }, ..self }
    }

    /// Declares that the key need not be given; the words `default` say what holds then.
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { key: Key { default: DefaultValue::Words(default), ..self.key }, ..self }
    }

    /// Declares that the key need not be given; the field has a default.
    pub(crate) const fn optional(self) -> Self {
        Self { key: Key { default: DefaultValue::OfField, ..self.key }, ..self }
    }

    /// Declares that the testbed refuses the key.
    pub(crate) const fn simulator_only(self) -> Self {
        Self { key: Key { runs_on: RunsOn::Simulator, ..self.key }, ..self }
    }

    /// Declares that the testbed refuses these words as values.
    pub(crate) const fn simulator_only_if(self, words: &'static [&'static str]) -> Self {
        Self { key: Key { runs_on: RunsOn::BothExcept(words), ..self.key }, ..self }
    }

    /// Declares that only these queues have the key.
    pub(crate) const fn of_queues(self, queues: &'static [&'static str]) -> Self {
        Self { key: Key { queues, ..self.key }, ..self }
    }

    /// Declares that this queue, one of those that have the key, needs it.
    pub(crate) const fn needed_by_queue(self, queue: &'static str) -> Self {
        Self { key: Key { needed_by_queue: Some(queue), ..self.key }, ..self }
    }

    /// Sets the relations to other keys of the part: keys that are needed or excluded.
    pub(crate) const fn related(self, relations: &'static [Relation]) -> Self {
        Self { key: Key { relations, ..self.key }, ..self }
    }

    /// Sets the example value that errors show.
    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { key: Key { example: Some(example), ..self.key }, ..self }
    }

    /// Declares that the value is a text of several lines.
    pub(crate) const fn multiline(self) -> Self {
        Self { key: Key { multiline: true, ..self.key }, ..self }
    }

    /// Declares that the hash does not cover the value: it does not decide the outcome, or results name it
    /// beside the hash.
    pub(crate) const fn not_hashed(self) -> Self {
        Self { key: Key { hashed: false, ..self.key }, ..self }
    }

    /// Declares that the canonical form has the key even at its default.
    pub(crate) const fn always_printed(self) -> Self {
        Self { key: Key { always_printed: true, ..self.key }, ..self }
    }
}
