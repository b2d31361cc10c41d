//! The algorithms from outside: ACK scripts for the states of each one, properties of all of them, and the
//! Rust wrapper.

mod agent;
mod bbq;
mod bbq_firstcut;
mod bbr1;
mod bbr1_49;
mod bbr1_drain;
mod bbr1_drain8;
mod bbr1_events;
mod bbr1_policer;
mod bbr1_rules;
mod bbr2;
mod bbr3_bounds;
mod bbr3_events;
mod bbr3_probe_bw;
mod bbr3_startup;
mod clamp;
mod copa;
mod cubic;
mod dctcp;
mod extremes;
mod fixed;
mod hystart;
mod level;
mod level_bounds;
mod level_competing;
mod nyu;
mod nyu_curve;
mod prague;
mod properties;
mod reno;
mod sends;
mod support;
mod transitions;
mod walks;
mod wrapper;
