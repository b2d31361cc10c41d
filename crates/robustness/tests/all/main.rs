//! What the crate has for others: hostile headers in the simulator. Tests of its commands are those of
//! `fairpace-dev`.

mod hostile;
