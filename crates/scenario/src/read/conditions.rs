//! Reading of what links and flows do beside the usual.

use std::time::Duration;

use crate::check::Complaint;
use crate::conditions::{Burst, Loss, Policer, Reorder, Traffic, WHOLE_PPB, Writes};
use crate::quantity::Dimension;
use crate::{Flow, Line};

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
        let outside = self.quantity(part, "loss_outside_burst", Dimension::Share);
        if pkts.is_none() && outside.is_some() {
            self.needs(part, "loss_outside_burst", "loss_burst", "loss_burst = 5");
        }
        let burst =
            |pkts| Burst { pkts, ppb: within.unwrap_or(WHOLE_PPB), outside_ppb: outside.unwrap_or(0) };
        Loss { ppb, burst: pkts.map(burst) }
    }

    pub(super) fn line(&mut self, part: &Part<'_, '_>) -> Line {
        let line = Line {
            delay: self.time_or_zero(part, "delay"),
            jitter: self.time_or_zero(part, "jitter"),
            reorders: self.truth(part, "reorders").unwrap_or(false),
            duplicate_ppb: self.quantity(part, "duplicate", Dimension::Share).unwrap_or(0),
        };
        if line.reorders {
            self.needs(part, "reorders", "jitter", "jitter = \"5ms\"");
        }
        line
    }

    pub(super) fn policer(&mut self, part: &Part<'_, '_>) -> Option<Policer> {
        let rate_bps = self.quantity(part, "policer_rate", Dimension::Rate);
        let burst_bytes = self.quantity(part, "policer_burst", Dimension::Size);
        self.both(
            part,
            ["policer_rate", "policer_burst"],
            ["policer_rate = \"10mbit\"", "policer_burst = \"100kB\""],
        );
        Some(Policer { rate_bps: rate_bps?, burst_bytes: burst_bytes? })
    }

    fn reorder(&mut self, part: &Part<'_, '_>) -> Option<Reorder> {
        let ppb = self.quantity(part, "reorder", Dimension::Share);
        let delay = self.time(part, "reorder_delay");
        self.both(part, ["reorder", "reorder_delay"], ["reorder = \"1%\"", "reorder_delay = \"5ms\""]);
        Some(Reorder { ppb: ppb?, delay: delay? })
    }

    /// Fills in everything of a flow that is beside the usual.
    pub(super) fn conditions(&mut self, part: &Part<'_, '_>, flow: Flow) -> Flow {
        let rtt_at = self.steps(part, "rtt_at", Dimension::Time);
        Flow {
            route: self.names(part, "route"),
            reverse: self.names(part, "reverse").unwrap_or_default(),
            ends: self.ends(part),
            access_delay: self.time_or_zero(part, "access_delay"),
            sending: self.sending(part),
            receiving: self.receiving(part),
            arrivals: self.arrivals(part),
            traffic: self.traffic(part),
            rtt_at: rtt_at.into_iter().map(|(at, rtt)| (at, Duration::from_nanos(rtt))).collect(),
            reorder: self.reorder(part),
            ack_loss_ppb: self.quantity(part, "ack_loss", Dimension::Share).unwrap_or(0),
            ack_jitter: self.time_or_zero(part, "ack_jitter"),
            ack_aggregation: self.time_or_zero(part, "ack_aggregation"),
            host_jitter: self.time_or_zero(part, "host_jitter"),
            ..flow
        }
    }

    fn traffic(&mut self, part: &Part<'_, '_>) -> Traffic {
        let size_bytes = self.quantity(part, "size", Dimension::Size);
        let (on, off) = (self.time(part, "on"), self.time(part, "off"));
        let rate_bps = self.quantity(part, "write_rate", Dimension::Rate);
        let every = self.time(part, "write_every");
        self.both(part, ["on", "off"], ["on = \"2s\"", "off = \"2s\""]);
        if every.is_some() && rate_bps.is_none() {
            self.needs(part, "write_every", "write_rate", "write_rate = \"5mbit\"");
        }
        let response = self.quantity(part, "response", Dimension::Size);
        let think = self.time(part, "think");
        if think.is_some() && response.is_none() {
            self.needs(part, "think", "response", "response = \"10kB\"");
        }
        for (one, others) in [
            ("on", &["write_rate", "size"][..]),
            ("response", &["size", "on", "write_rate"]),
            ("arrivals", &["size", "on", "write_rate", "response", "count"]),
        ] {
            others.iter().for_each(|other| self.excludes(part, one, other));
        }
        let writes = match (on.zip(off), rate_bps, response) {
            (Some((on, off)), _, _) => Writes::OnOff { on, off },
            (None, Some(rate_bps), _) => {
                Writes::Paced { rate_bps, every: every.unwrap_or(Duration::from_secs(WRITE_EVERY_S)) }
            }
            (None, None, Some(bytes)) => Writes::Responses { bytes, think: think.unwrap_or_default() },
            (None, None, None) => Writes::Always,
        };
        Traffic { size_bytes, writes }
    }

    /// Complains if one of two keys that belong together is missing; with what to add, for each.
    pub(super) fn both(&mut self, part: &Part<'_, '_>, keys: [&'static str; 2], examples: [&str; 2]) {
        for (one, other) in [(0, 1), (1, 0)] {
            if part.table.contains_key(keys[one]) {
                self.needs(part, keys[one], keys[other], examples[other]);
            }
        }
    }

    /// Complains that `key` says nothing without `other`.
    pub(super) fn needs(&mut self, part: &Part<'_, '_>, key: &'static str, other: &str, example: &str) {
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
    pub(super) fn excludes(&mut self, part: &Part<'_, '_>, key: &'static str, other: &'static str) {
        if part.table.contains_key(key) && part.table.contains_key(other) {
            let complaint = Complaint::new(
                "impossible",
                format!("`{key}` and `{other}` exclude each other"),
                format!("leave out `{other}` or `{key}`"),
            );
            self.complain(self.place(part, other), &path(part.section, other), complaint);
        }
    }

    pub(super) fn place(&self, part: &Part<'_, '_>, key: &str) -> std::ops::Range<usize> {
        part.table.get(key).map_or_else(|| part.span.clone(), toml::Spanned::span)
    }
}
