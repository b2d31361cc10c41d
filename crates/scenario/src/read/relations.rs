//! What keys of one part need of each other: the relations that their declarations name.

use super::{Part, Reader};
use crate::fault::Complaint;
use crate::key::{Key, Relation};
use crate::value::{Given, Value};
use crate::{Queue, keys};

impl Reader<'_> {
    /// Complains about keys that say nothing without another one, or exclude each other.
    pub(super) fn relations(&mut self, part: &Part<'_, '_>, given: &Given) {
        for key in keys::of(part.section).filter(|key| part.table.contains_key(key.name)) {
            // a key that is `false` requires no other key
            let is_off = given.get(key.name) == Some(&Value::Truth(false));
            for relation in key.relations {
                match *relation {
                    Relation::Needs(other) if !is_off => self.needs(part, key, other),
                    Relation::Excludes(other) => self.excludes(part, key, other),
                    Relation::NeedsTrue(other, why) if !is_off => {
                        if given.get(other) == Some(&Value::Truth(false)) {
                            self.pointless(part, key, other, why);
                        }
                    }
                    Relation::Needs(_) | Relation::NeedsTrue(..) => {}
                }
            }
        }
    }

    /// Complains about keys that the link's queue does not have, and one that it needs.
    pub(super) fn queue(&mut self, part: &Part<'_, '_>, given: &Given) {
        let queue = match (given.get("queue"), part.table.get("queue")) {
            (Some(Value::Word(name)), _) => name,
            (_, None) => Queue::Fifo.name(),
            // an unknown one is an error already
            _ => return,
        };
        for key in keys::of(part.section).filter(|key| !key.queues.is_empty() && !key.queues.contains(&queue))
        {
            let Some(value) = part.table.get(key.name) else { continue };
            let quoted: Vec<_> = key.queues.iter().map(|name| format!("\"{name}\"")).collect();
            let message = format!(
                "`{}` is for queue = {}; the queue of this link is \"{queue}\"",
                key.name,
                quoted.join(", ")
            );
            let help = format!("write queue = {}, or leave out `{}`", quoted[0], key.name);
            let complaint = Complaint::new("impossible", message, help);
            self.complain(value.span(), &part.section.path(key.name), complaint);
        }
        if let (true, Some(key)) = (queue == "step", keys::find(part.section, "queue")) {
            self.needs(part, key, "mark_above");
        }
    }

    /// Complains that `key` has no effect without `other`.
    fn needs(&mut self, part: &Part<'_, '_>, key: &Key, other: &str) {
        // a wrong `other` is an error already
        if part.table.contains_key(other) {
            return;
        }
        let example = keys::find(part.section, other).map(Key::written_example).unwrap_or_default();
        let complaint = Complaint::new(
            "missing-key",
            format!("`{}` says nothing without `{other}`", key.name),
            format!("add {other} = {example}"),
        );
        self.complain(place(part, key.name), &part.section.path(key.name), complaint);
    }

    fn excludes(&mut self, part: &Part<'_, '_>, key: &Key, other: &str) {
        if part.table.contains_key(other) {
            let complaint = Complaint::new(
                "impossible",
                format!("`{}` and `{other}` exclude each other", key.name),
                format!("leave out `{other}` or `{}`", key.name),
            );
            self.complain(place(part, other), &part.section.path(other), complaint);
        }
    }

    /// Complains that `key` has no effect while `other` is false.
    fn pointless(&mut self, part: &Part<'_, '_>, key: &Key, other: &str, why: &str) {
        let name = key.name;
        let message = format!("`{name}` says nothing with `{other} = false`: {why}");
        let help = format!("leave out `{name}` or `{other} = false`");
        let complaint = Complaint::new("impossible", message, help);
        self.complain(place(part, name), &part.section.path(name), complaint);
    }
}

fn place(part: &Part<'_, '_>, key: &str) -> std::ops::Range<usize> {
    part.table.get(key).map_or_else(|| part.span.clone(), toml::Spanned::span)
}
