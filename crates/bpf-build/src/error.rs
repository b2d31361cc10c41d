//! Errors of the compilation of an algorithm.

use std::io;
use std::path::PathBuf;

/// The reason why an algorithm could not be compiled. Each message says what failed, and has a remedy where
/// one is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no clang, or it cannot be started.
    #[error(
        "clang cannot be started as \"{clang}\": {cause}; install it (Debian: apt-get install clang) \
         or set the environment variable CLANG to its path"
    )]
    NoClang {
        /// The command that was tried.
        clang: String,
        /// Error of the system.
        cause: io::Error,
    },
    /// clang did not accept the C.
    #[error("clang cannot compile {name}:\n{messages}")]
    Refused {
        /// Name of the algorithm.
        name: String,
        /// All messages that clang wrote to standard error.
        messages: String,
    },
    /// clang took more time than a header can need.
    #[error(
        "clang is still busy with {name}.h after {} s: does it include itself, or a device?", .after.as_secs()
    )]
    Endless {
        /// Name of the algorithm.
        name: String,
        /// Time that clang had.
        after: std::time::Duration,
    },
    /// The files of a header changed while it was used.
    #[error("{name}.h, or a file that it includes, changed while it was used: run the command again")]
    Changed {
        /// Name of the algorithm.
        name: String,
    },
    /// A header includes a file that is not its own.
    #[error(
        "{name}.h includes {}: it may include contract/..., lib/..., the algorithms of Fairpace, and files \
         beside it",
        .file.display()
    )]
    Included {
        /// Name of the algorithm.
        name: String,
        /// Path of the included file.
        file: PathBuf,
    },
    /// Other users may write to the folder of compiled libraries.
    #[error(
        "{} belongs to another user, or others may write to it: libraries from there are not run",
        .folder.display()
    )]
    Writable {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// The algorithm cannot have this name: it is a part of C names and, after `fp_`, of a congestion control
    /// name, which holds at most 15 characters in Linux.
    #[error(
        "\"{name}\" cannot be an algorithm's name: 1 to 12 characters, a letter first, then a-z A-Z 0-9 _, \
         and no word of C"
    )]
    BadName {
        /// The refused name.
        name: String,
    },
    /// A line of an `algorithms.def` has another form than the list's own comment describes.
    #[error("algorithms.def, line {line}: {what}")]
    BadList {
        /// Number of the line, counted from 1.
        line: usize,
        /// Description of the problem.
        what: String,
    },
    /// A folder of compiled objects does not fit these sources.
    #[error("the objects in {} cannot be used: {why}", .folder.display())]
    StaleObjects {
        /// Path of the folder.
        folder: PathBuf,
        /// Description of the difference.
        why: String,
    },
    /// A file or folder could not be read or written.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Io { path, cause }
    }
}
