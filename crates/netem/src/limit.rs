//! The size of a buffer.

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

impl Limit {
    /// Would this backlog exceed the limit?
    #[inline]
    pub fn is_exceeded_by(self, bytes: u64, pkts: u64) -> bool {
        match self {
            Limit::Bytes(most) => bytes > most,
            Limit::Packets(most) => pkts > most,
        }
    }
}
