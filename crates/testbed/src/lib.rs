//! Real-time driver: real kernel flows through an emulated bottleneck
