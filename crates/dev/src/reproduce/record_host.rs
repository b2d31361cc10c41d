//! Hosts as records name them, and files that cannot be used.

use std::path::Path;

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::Host;
use fairpace_reproduce::record::On;

/// A host as records name it.
pub(super) const fn on(host: Host) -> On {
    match host {
        Host::Sim => On::Sim,
        Host::Kernel => On::Kernel,
    }
}

/// A file or folder of `reproduction/` that cannot be read or written.
pub(super) fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Output,
        format!("{} cannot be used: {error}", path.display()),
        "remove it if it is broken; or name a folder that you may write to with --dir",
    )
}
