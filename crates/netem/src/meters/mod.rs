//! Meters and the times of their measurements.
//!
//! A meter counts the events of packets, frames and transfers by the times of a [`schedule`]. It has no
//! effect on any packet. Metrics that derive from several flows or from the scenario are not here
//! ([`record`](crate::record())).

pub(crate) mod completions;
pub(crate) mod flow_meter;
pub(crate) mod link_meter;
pub(crate) mod media_meter;
pub(crate) mod percentiles;
pub(crate) mod schedule;
