//! Time: nanoseconds since the start of the run.

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// One millisecond in [`Nanos`].
pub const MS: Nanos = 1_000_000;
