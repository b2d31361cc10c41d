//! Units of time.

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// Nanoseconds in a microsecond, the resolution of TCP's clock (Linux: tcp_mstamp).
pub(crate) const US: Nanos = 1_000;
