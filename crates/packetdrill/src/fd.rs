//! What the application of a script has open, and the system call in which it waits.

use fairpace_tcp::Nanos;

use crate::script::{Arg, Span};

/// A file descriptor of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fd {
    pub(crate) is_listener: bool,
    pub(crate) nonblocking: bool,
}

/// A system call that waits.
#[derive(Debug, Clone)]
pub(crate) struct Blocked {
    /// The most bytes that it reads; `None`: it waits for the handshake.
    pub(crate) reads: Option<u64>,
    pub(crate) name: String,
    /// When the script says that it ends; `None`: it does not say.
    pub(crate) ends: Option<Nanos>,
    /// What the script says that it returns.
    pub(crate) result: Arg,
    pub(crate) span: Span,
}
