//! The simulator from outside: theory, known defects of the algorithms, metrics, determinism.

mod anchors;
#[path = "../../../dev/src/swarm/check.rs"]
mod check;
mod determinism;
#[path = "../../../dev/src/swarm/draw/mod.rs"]
mod draw;
mod epochs;
mod fast_path;
mod faults;
mod found;
mod laws;
#[path = "../../../dev/src/swarm/ledger.rs"]
mod ledger;
mod marks;
mod metrics;
mod pathologies_bbr1;
mod pathologies_bbr3;
mod pathologies_cubic;
mod pathologies_loss;
mod pathologies_paths;
mod paths;
mod running;
mod support;
mod swarm;
mod theory;
mod traffic;
mod variants;
mod workloads;
