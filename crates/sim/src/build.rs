//! From a scenario's values to applications.

use fairpace_path::build::nanos;
use fairpace_path::{Nanos, Pattern, Source};
use fairpace_scenario::{Flow, Writes};

/// The flow's application.
pub(crate) fn source(flow: &Flow, start: Nanos) -> Source {
    let pattern = match flow.traffic.writes {
        Writes::Always => Pattern::Always,
        Writes::OnOff { on, off } => Pattern::OnOff { on: nanos(on), off: nanos(off) },
        Writes::Responses { .. } => Pattern::Always,
        Writes::Paced { rate_bps, every } => Pattern::Paced { rate_bps, every: nanos(every) },
    };
    Source::new(pattern, flow.traffic.size_bytes, start)
}
