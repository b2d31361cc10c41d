//! The simulator from outside: theory, known defects of the algorithms, metrics, determinism.

mod anchors;
mod determinism;
mod epochs;
mod fast_path;
mod faults;
mod found;
mod l4s;
mod laws;
mod level;
mod marks;
mod media;
mod metrics;
mod pathologies_bbr1;
mod pathologies_bbr3;
mod pathologies_cubic;
mod pathologies_loss;
mod pathologies_paths;
mod paths;
mod radio;
mod running;
mod support;
mod swarm;
mod theory;
mod traffic;
mod variants;
mod workloads;
