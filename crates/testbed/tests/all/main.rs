//! Flows of this machine's kernel over the emulated path. Each test holds a lock: runs in real time disturb
//! each other.

mod drops;
mod kernel_flows;
mod support;
mod workloads;
