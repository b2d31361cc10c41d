//! Relations of the keys of one part of a file to each other and to the link's queue.

use super::{Part, Reader};
use crate::fault::Complaint;
use crate::value::{Given, Value};
use crate::{Queue, keys, relations};

impl Reader<'_> {
    /// Complains about keys that have no effect without another one, or exclude each other.
    pub(super) fn relations(&mut self, part: &Part<'_, '_>, given: &Given) {
        for (key, complaint) in
            relations::complaints(part.section, given, |name| part.table.contains_key(name))
        {
            self.complain_of(part, key, complaint);
        }
    }

    /// Complains about keys that the link's queue does not have, and about a missing key that it needs.
    pub(super) fn queue(&mut self, part: &Part<'_, '_>, given: &Given) {
        let queue = match (given.get("queue"), part.table.get("queue")) {
            (Some(Value::Word(name)), _) => name,
            (_, None) => Queue::Fifo.name(),
            // an unknown one is an error already
            _ => return,
        };
        for key in keys::of(part.section) {
            let is_written = part.table.contains_key(key.name);
            if is_written && !key.queues.is_empty() && !key.queues.contains(&queue) {
                let quoted: Vec<_> = key.queues.iter().map(|name| format!("\"{name}\"")).collect();
                let message = format!(
                    "`{}` is for queue = {}; the queue of this link is \"{queue}\"",
                    key.name,
                    quoted.join(", ")
                );
                let help = format!("write queue = {}, or leave out `{}`", quoted[0], key.name);
                self.complain_of(part, key.name, Complaint::impossible(message, help));
            }
            if !is_written && key.needed_by_queue == Some(queue) {
                let message = format!("queue = \"{queue}\" needs `{}`", key.name);
                let help = relations::write(part.section, key.name);
                self.complain_of(part, "queue", Complaint::new("missing-key", message, help));
            }
        }
    }

    /// Complains about a key of a part, at its value.
    fn complain_of(&mut self, part: &Part<'_, '_>, key: &str, complaint: Complaint) {
        let span = part.table.get(key).map_or_else(|| part.span.clone(), toml::Spanned::span);
        self.complain(span, &part.section.path(key), complaint);
    }
}
