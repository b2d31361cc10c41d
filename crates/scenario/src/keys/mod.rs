//! The registry of scenario keys. A row declares one key: its name, kind, meaning, range and default, where
//! it works, and the field of the typed scenario that it sets. Reading, printing, the checks of typed
//! scenarios, the refusals of the testbed and the reference page (`docs/reference/scenario.md`) all follow
//! from the rows.
//!
//! A row stands beside the struct whose field it sets: `link.rs`, `queue.rs`, `handover.rs`, `flow.rs`,
//! `traffic.rs`, `hosts.rs`, `impairments.rs` and, for the top of the file, `scenario.rs`. This module lists
//! them in the order of the canonical form.

mod reference;

pub use crate::key::{DefaultValue, Key, Kind, RunsOn, Section};
pub use reference::reference;

use crate::flow::Flow;
use crate::link::Link;
use crate::row::{Lens, Row, Within};
use crate::scenario::Scenario;
use crate::value::Value;
use crate::{cellular, flow, handover, hosts, impairments, link, queue, scenario, traffic};

/// The rows of a struct within `P`, as rows of `P`.
fn rows<P: 'static, S: Within<P>>(rows: &'static [Row<S>]) -> impl Iterator<Item = &'static dyn Lens<P>> {
    rows.iter().map(|row| row as &dyn Lens<P>)
}

/// The rows of the top of the file and of `[window]`.
pub(crate) fn of_scenario() -> impl Iterator<Item = &'static dyn Lens<Scenario>> {
    rows(scenario::KEYS)
}

/// The rows of `[[link]]`.
pub(crate) fn of_link() -> impl Iterator<Item = &'static dyn Lens<Link>> {
    rows(link::KEYS)
        .chain(rows(queue::KEYS))
        .chain(rows(link::RATE_KEYS))
        .chain(rows(impairments::POLICER_KEYS))
        .chain(rows(impairments::LOSS_KEYS))
        .chain(rows(link::LOSS_AT_KEYS))
        .chain(rows(impairments::LINE_KEYS))
        .chain(rows(handover::KEYS))
        .chain(rows(cellular::KEYS))
}

/// The rows of `[[flow]]`.
pub(crate) fn of_flow() -> impl Iterator<Item = &'static dyn Lens<Flow>> {
    rows(flow::KEYS)
        .chain(rows(traffic::KEYS))
        .chain(rows(flow::BARRIER_KEYS))
        .chain(rows(traffic::ARRIVAL_KEYS))
        .chain(rows(traffic::MEDIA_KEYS))
        .chain(rows(hosts::WINDOW_KEYS))
        .chain(rows(flow::RTT_KEYS))
        .chain(rows(impairments::REORDER_KEYS))
        .chain(rows(flow::ACK_KEYS))
        .chain(rows(hosts::SENDING_KEYS))
        .chain(rows(hosts::RECEIVING_KEYS))
        .chain(rows(flow::LAST_KEYS))
}

/// All keys, in the order of the canonical form.
pub fn all() -> impl Iterator<Item = &'static Key> {
    let links = of_link().map(|row| row.key());
    let flows = of_flow().map(|row| row.key());
    of_scenario().map(|row| row.key()).chain(links).chain(flows)
}

/// The keys of one section.
pub(crate) fn of(section: Section) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.section == section)
}

/// The key of this name.
#[must_use]
pub fn find(section: Section, name: &str) -> Option<&'static Key> {
    of(section).find(|key| key.name == name)
}

/// Rows, each with the value that its field has in `usual`: what holds without the key.
pub(crate) fn with_usual<P: 'static>(
    rows: impl Iterator<Item = &'static dyn Lens<P>>,
    usual: &P,
) -> Vec<(&'static dyn Lens<P>, Option<Value>)> {
    rows.map(|row| (row, row.get(usual))).collect()
}
