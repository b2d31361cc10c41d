//! Loads the algorithms into the running kernel as eBPF struct_ops
