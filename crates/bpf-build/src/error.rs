//! Why an algorithm could not be compiled.

use std::io;
use std::path::PathBuf;

/// Why an algorithm could not be compiled. Each message says what failed, and what to do where that is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no clang, or it cannot be started.
    #[error(
        "clang cannot be started as \"{clang}\": {cause}; install it (Debian: apt-get install clang) \
         or set the environment variable CLANG to its path"
    )]
    NoClang {
        /// The command.
        clang: String,
        /// What the system said.
        cause: io::Error,
    },
    /// clang did not accept the C.
    #[error("clang cannot compile {name} for BPF:\n{messages}")]
    Refused {
        /// The algorithm.
        name: String,
        /// All that clang wrote to standard error.
        messages: String,
    },
    /// The algorithm cannot have this name: it is a part of C names and, after `fp_`, of a congestion control
    /// name, which holds at most 15 characters in Linux.
    #[error(
        "\"{name}\" cannot be an algorithm's name: 1 to 12 characters, a letter first, then a-z A-Z 0-9 _"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// A line of an `algorithms.def` has another form than the list's own comment describes.
    #[error("algorithms.def, line {line}: {what}")]
    BadList {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A folder of compiled objects is not the one that these sources give.
    #[error("the objects in {} cannot be used: {why}", .folder.display())]
    StaleObjects {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        why: String,
    },
    /// A file or folder could not be read or written.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Io { path, cause }
    }
}
