//! Reading of what hosts do, and of workloads.

use std::time::Duration;

use crate::check::Complaint;
use crate::quantity::Dimension;
use crate::{Arrivals, Ecn, Receiving, Sending, Sizes, Window, files};

use super::{Part, Reader, path};

impl Reader<'_> {
    pub(super) fn sending(&mut self, part: &Part<'_, '_>) -> Sending {
        let usual = Sending::default();
        let sack = self.truth(part, "sack").unwrap_or(usual.sack);
        let mut truth = |key, usual| self.truth(part, key).unwrap_or(usual);
        let sending = Sending {
            sack,
            rack: truth("rack", usual.rack),
            tlp: truth("tlp", usual.tlp),
            frto: truth("frto", usual.frto),
            undo: truth("undo", usual.undo),
            prr: truth("prr", usual.prr),
            idle_restart: truth("idle_restart", usual.idle_restart),
            tso: truth("tso", usual.tso),
            pacing: self.truth(part, "pacing"),
            ecn: self.choice(part, "ecn").and_then(Ecn::by_name).unwrap_or_default(),
            initial_cwnd_pkts: self
                .integer(part, "initial_cwnd")
                .and_then(|pkts| u32::try_from(pkts).ok())
                .unwrap_or(usual.initial_cwnd_pkts),
        };
        for (key, given) in [("rack", sending.rack), ("tlp", sending.tlp)] {
            if !sack && given {
                self.pointless(part, key, "sack = false", "it works on selective acknowledgments");
            }
        }
        sending
    }

    pub(super) fn receiving(&mut self, part: &Part<'_, '_>) -> Receiving {
        let usual = Receiving::default();
        let fixed = self.quantity(part, "receive_buffer", Dimension::Size).map(Window::Fixed);
        let tuned = self.quantity(part, "receive_buffer_max", Dimension::Size).map(Window::Autotuned);
        self.excludes(part, "receive_buffer", "receive_buffer_max");
        let ack_every = self.integer(part, "ack_every").and_then(|pkts| u32::try_from(pkts).ok());
        let delayed_ack = self.truth(part, "delayed_ack").unwrap_or(usual.delayed_ack);
        if !delayed_ack {
            self.pointless(part, "ack_every", "delayed_ack = false", "each packet is acknowledged at once");
        }
        let later = self.steps(part, "ack_delay_at", Dimension::Time);
        Receiving {
            window: fixed.or(tuned).unwrap_or_default(),
            ack_every: ack_every.unwrap_or(usual.ack_every),
            delayed_ack,
            sack_compression: self.truth(part, "sack_compression").unwrap_or(usual.sack_compression),
            gro: self.time_or_zero(part, "gro"),
            ack_delay: self.time_or_zero(part, "ack_delay"),
            ack_delay_at: later.into_iter().map(|(at, delay)| (at, Duration::from_nanos(delay))).collect(),
        }
    }

    pub(super) fn arrivals(&mut self, part: &Part<'_, '_>) -> Option<Arrivals> {
        let per_s_milli = self.quantity(part, "arrivals", Dimension::Frequency);
        self.both(part, ["arrivals", "sizes"], ["arrivals = \"50/s\"", "sizes = \"websearch\""]);
        let name = self.text(part, "sizes");
        let sizes = match name.as_deref().map(Sizes::built_in) {
            Some(Some(sizes)) => Some(sizes),
            Some(None) => self.file(part, "sizes", Sizes::read),
            None => None,
        };
        Some(Arrivals { per_s_milli: per_s_milli?, sizes: sizes? })
    }

    /// What a file holds that the value of `name` names.
    pub(super) fn file<T>(
        &mut self,
        part: &Part<'_, '_>,
        name: &str,
        read: impl FnOnce(&str, &str) -> Result<T, String>,
    ) -> Option<T> {
        let file = self.text(part, name)?;
        let (key, value) = self.find(part, name)?;
        let complaint = match files::text(&self.folder.join(&file)) {
            Ok(text) => match read(&file, &text) {
                Ok(found) => return Some(found),
                Err(why) => Complaint::new(
                    "file",
                    format!("`{file}` {why}"),
                    format!("docs/reference/scenario.md says what a file for `{name}` holds"),
                ),
            },
            Err(why) => {
                let known = if name == "sizes" {
                    format!("built in are {}; ", Sizes::BUILT_IN.join(", "))
                } else {
                    String::new()
                };
                let help = format!("{known}a file is named by its path from the folder of the scenario file");
                Complaint::new("file", format!("`{name}`: cannot read `{file}`: {why}"), help)
            }
        };
        self.complain(value.span(), &path(key.section, key.name), complaint);
        None
    }

    /// Complains if `key` is given, and not as false, beside something that takes its sense.
    fn pointless(&mut self, part: &Part<'_, '_>, key: &'static str, beside: &str, why: &str) {
        let given = part.table.get(key).is_some_and(|value| value.get_ref().as_bool() != Some(false));
        if given {
            let message = format!("`{key}` says nothing with `{beside}`: {why}");
            let complaint = Complaint::new("impossible", message, format!("leave out `{key}` or `{beside}`"));
            self.complain(self.place(part, key), &path(part.section, key), complaint);
        }
    }
}
