//! Elements that packets pass on their way, and their parts.
//!
//! An element takes packets and returns them later, or drops, duplicates or reorders them: [`element`] has
//! the list. A [`link`] has a queue ([`fifo`], or [`aqm_queue`] with a discipline of [`aqm`](crate::aqm)), a
//! [`transmitter`], and perhaps a [`policer`] and [`loss`]; a [`delay_line`] has a [`propagation`]. Meters,
//! which links call, are in [`meters`](crate::meters), and routes in [`network`](crate::network).

pub(crate) mod aqm_queue;
pub(crate) mod burst_loss;
pub(crate) mod delay_line;
pub(crate) mod duplication;
pub(crate) mod element;
pub(crate) mod fifo;
pub(crate) mod jitter;
pub(crate) mod link;
pub(crate) mod loss;
pub(crate) mod loss_steps;
pub(crate) mod outages;
pub(crate) mod policer;
pub(crate) mod propagation;
pub(crate) mod reordering;
pub(crate) mod reordering_line;
pub(crate) mod selective_drop;
pub(crate) mod transmitter;
pub(crate) mod wifi;
