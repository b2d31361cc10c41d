//! Reading of a link's queue.

use crate::check::Complaint;
use crate::keys;
use crate::quantity::Dimension;
use crate::{Codel, FqCodel, Limit, Pie, Queue, Red, RedRules};

use super::{Part, Reader, path};

impl Reader<'_> {
    /// The queue, if its keys are right. `buffer` is what it may hold.
    pub(super) fn queue(&mut self, part: &Part<'_, '_>, buffer: Option<Limit>) -> Option<Queue> {
        let name = match part.table.get("queue") {
            Some(_) => self.choice(part, "queue")?,
            None => Queue::Fifo.name(),
        };
        self.not_of(part, name);
        Some(match name {
            "step" => {
                self.needs(part, "queue", "mark_above", "mark_above = \"100kB\"");
                Queue::Step(self.limit(part, "mark_above")?)
            }
            "red" => Queue::Red(self.red(part, RedRules::Linux, buffer?)),
            "red_floyd" => Queue::Red(self.red(part, RedRules::Floyd, buffer?)),
            "codel" => Queue::Codel(self.codel(part, Codel::default())),
            "fq_codel" => Queue::FqCodel(self.fq_codel(part)),
            "pie" => Queue::Pie(self.pie(part)),
            _ => Queue::Fifo,
        })
    }

    /// Complains about keys that this queue does not have.
    fn not_of(&mut self, part: &Part<'_, '_>, queue: &str) {
        for (key, queues) in keys::of_queues() {
            let Some(value) = part.table.get(key.name).filter(|_| !queues.contains(&queue)) else { continue };
            let quoted: Vec<_> = queues.iter().map(|name| format!("\"{name}\"")).collect();
            let complaint = Complaint::new(
                "impossible",
                format!(
                    "`{}` is for queue = {}; the queue of this link is \"{queue}\"",
                    key.name,
                    quoted.join(", ")
                ),
                format!("write queue = {}, or leave out `{}`", quoted[0], key.name),
            );
            self.complain(value.span(), &path(part.section, key.name), complaint);
        }
    }

    fn red(&mut self, part: &Part<'_, '_>, rules: RedRules, buffer: Limit) -> Red {
        let min = self.quantity(part, "red_min", Dimension::Size);
        let max = self.quantity(part, "red_max", Dimension::Size);
        let usual = match (min, max) {
            (None, None) => Red::before(rules, buffer.bytes()),
            (Some(min), max) => Red::between(rules, min, max.unwrap_or(min.saturating_mul(3))),
            (None, Some(max)) => Red::between(rules, (max / 3).max(1), max),
        };
        Red {
            max_ppb: self.quantity(part, "red_probability", Dimension::Share).unwrap_or(usual.max_ppb),
            burst_pkts: self.integer(part, "red_burst").unwrap_or(usual.burst_pkts),
            gentle: self.truth(part, "red_gentle").unwrap_or(usual.gentle),
            ecn: self.truth(part, "ecn").unwrap_or(usual.ecn),
            ..usual
        }
    }

    fn codel(&mut self, part: &Part<'_, '_>, usual: Codel) -> Codel {
        Codel {
            target: self.time(part, "target").unwrap_or(usual.target),
            interval: self.time(part, "codel_interval").unwrap_or(usual.interval),
            ecn: self.truth(part, "ecn").unwrap_or(usual.ecn),
            ce_threshold: self.time(part, "ce_threshold"),
        }
    }

    fn fq_codel(&mut self, part: &Part<'_, '_>) -> FqCodel {
        let usual = FqCodel::default();
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        FqCodel {
            codel: self.codel(part, usual.codel),
            buckets: small(self.integer(part, "fq_buckets")).unwrap_or(usual.buckets),
            quantum_bytes: small(self.quantity(part, "fq_quantum", Dimension::Size))
                .unwrap_or(usual.quantum_bytes),
        }
    }

    fn pie(&mut self, part: &Part<'_, '_>) -> Pie {
        let usual = Pie::default();
        Pie {
            target: self.time(part, "target").unwrap_or(usual.target),
            update: self.time(part, "pie_update").unwrap_or(usual.update),
            ecn: self.truth(part, "ecn").unwrap_or(usual.ecn),
        }
    }
}
