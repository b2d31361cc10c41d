//! Data that applications write, and its times: without end, in chunks, or in frames of audio or video.
//!
//! A [`source`] offers bytes, whatever sender takes them. Connections are not here: drivers decide when the
//! connections of a workload arrive.

pub(crate) mod frames;
pub(crate) mod source;
