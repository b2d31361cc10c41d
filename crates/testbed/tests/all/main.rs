//! Flows of this machine's kernel over the emulated path, in real time. Each test holds a lock: runs in real
//! time disturb each other. What is not about real time is in the binary `virtual`.

mod kernel_flows;
mod support;
