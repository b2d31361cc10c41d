//! Reading of what links and flows do beside the usual.

use crate::check::Complaint;
use crate::conditions::{Burst, Loss, Traffic, WHOLE_PPB, Writes};
use crate::quantity::Dimension;

use super::{Part, Reader, path};

/// From chunk to chunk of a live stream.
const WRITE_EVERY_S: u64 = 1;

impl Reader<'_> {
    pub(super) fn loss(&mut self, part: &Part<'_, '_>) -> Loss {
        let ppb = self.quantity(part, "loss", Dimension::Share).unwrap_or(0);
        let pkts = self.integer(part, "loss_burst");
        let within = self.quantity(part, "loss_in_burst", Dimension::Share);
        if pkts.is_none() && within.is_some() {
            self.needs(part, "loss_in_burst", "loss_burst", "loss_burst = 5");
        }
        Loss { ppb, burst: pkts.map(|pkts| Burst { pkts, ppb: within.unwrap_or(WHOLE_PPB) }) }
    }

    pub(super) fn traffic(&mut self, part: &Part<'_, '_>) -> Traffic {
        let size_bytes = self.quantity(part, "size", Dimension::Size);
        let (on, off) = (self.time(part, "on"), self.time(part, "off"));
        let rate_bps = self.quantity(part, "write_rate", Dimension::Rate);
        let every = self.time(part, "write_every");
        match (on, off) {
            (Some(_), None) => self.needs(part, "on", "off", "off = \"2s\""),
            (None, Some(_)) => self.needs(part, "off", "on", "on = \"2s\""),
            _ => {}
        }
        if every.is_some() && rate_bps.is_none() {
            self.needs(part, "write_every", "write_rate", "write_rate = \"5mbit\"");
        }
        for (one, other) in [("on", "write_rate"), ("on", "size")] {
            self.excludes(part, one, other);
        }
        let writes = match (on.zip(off), rate_bps) {
            (Some((on, off)), _) => Writes::OnOff { on, off },
            (None, Some(rate_bps)) => Writes::Paced {
                rate_bps,
                every: every.unwrap_or(std::time::Duration::from_secs(WRITE_EVERY_S)),
            },
            (None, None) => Writes::Always,
        };
        Traffic { size_bytes, writes }
    }

    /// Complains that `key` says nothing without `other`.
    fn needs(&mut self, part: &Part<'_, '_>, key: &'static str, other: &str, example: &str) {
        // a wrong `other` is an error already
        if part.table.contains_key(other) {
            return;
        }
        let complaint = Complaint::new(
            "missing-key",
            format!("`{key}` says nothing without `{other}`"),
            format!("add {example}"),
        );
        self.complain(self.place(part, key), &path(part.section, key), complaint);
    }

    /// Complains if both keys are given.
    fn excludes(&mut self, part: &Part<'_, '_>, key: &'static str, other: &'static str) {
        if part.table.contains_key(key) && part.table.contains_key(other) {
            let complaint = Complaint::new(
                "impossible",
                format!("`{key}` and `{other}` exclude each other"),
                format!("leave out `{other}` or `{key}`"),
            );
            self.complain(self.place(part, other), &path(part.section, other), complaint);
        }
    }

    fn place(&self, part: &Part<'_, '_>, key: &str) -> std::ops::Range<usize> {
        part.table.get(key).map_or_else(|| part.span.clone(), toml::Spanned::span)
    }
}
