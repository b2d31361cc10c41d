//! Relations of keys of one part, as their declarations name them: of a file, and of a typed scenario, in
//! which a key is given if the canonical form has it.

use crate::fault::Complaint;
use crate::key::{Key, Relation, Section};
use crate::keys;
use crate::value::{Given, Value};

/// Returns complaints about keys that have no effect without another key, or exclude each other, with the key
/// that each is about. `written`: is a key there, with a right value or a wrong one?
pub(crate) fn complaints(
    section: Section,
    given: &Given,
    written: impl Fn(&str) -> bool,
) -> Vec<(&'static str, Complaint)> {
    let mut complaints = Vec::new();
    for (key, value) in given.iter() {
        // a key that is `false` requires no other key
        let is_off = *value == Value::Truth(false);
        for relation in key.relations {
            match *relation {
                // a wrong `other` is an error already
                Relation::Needs(other) if !is_off && !written(other) => {
                    complaints.push((key.name, missing(key, section, other)));
                }
                Relation::Excludes(other) if written(other) => {
                    let message = format!("`{}` and `{other}` exclude each other", key.name);
                    let help = format!("leave out `{other}` or `{}`", key.name);
                    complaints.push((other, Complaint::impossible(message, help)));
                }
                Relation::NeedsTrue(other, why)
                    if !is_off && given.get(other) == Some(&Value::Truth(false)) =>
                {
                    let message = format!("`{}` has no effect with `{other} = false`: {why}", key.name);
                    let help = format!("leave out `{}` or `{other} = false`", key.name);
                    complaints.push((key.name, Complaint::impossible(message, help)));
                }
                _ => {}
            }
        }
    }
    complaints
}

fn missing(key: &Key, section: Section, other: &str) -> Complaint {
    let message = format!("`{}` has no effect without `{other}`", key.name);
    Complaint::new("missing-key", message, write(section, other))
}

/// Returns the text that shows how to write a missing key.
pub(crate) fn write(section: Section, name: &str) -> String {
    let example = keys::find(section, name).map(Key::written_example).unwrap_or_default();
    format!("write {name} = {example}")
}
