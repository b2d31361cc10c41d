//! What the application of a script has open, and the system call in which it waits.

use fairpace_tcp::Nanos;

use crate::script::Span;

/// A file descriptor of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fd {
    pub(crate) is_listener: bool,
    pub(crate) nonblocking: bool,
}

/// A system call that waits.
#[derive(Debug, Clone)]
pub(crate) struct Blocked {
    /// True if it waits for data, false if for the handshake.
    pub(crate) for_data: bool,
    pub(crate) name: String,
    /// When the script says that it ends; `None`: it does not say.
    pub(crate) ends: Option<Nanos>,
    pub(crate) span: Span,
}
