//! The errors of this crate, each with a remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use miette::Diagnostic;

/// The holder of a name in the kernel's list of congestion controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The kernel itself or one of its modules.
    Kernel,
    /// An unknown holder: this process has no right to find out.
    Unknown,
    /// A BPF struct_ops that is pinned at this path.
    Pinned(PathBuf),
    /// A BPF struct_ops that a running process holds.
    Process {
        /// Id of the holder's struct_ops map.
        map_id: u32,
        /// Id of the holder's link.
        link_id: u32,
    },
    /// A BPF struct_ops on a kernel before 6.4, which does not record the process behind it.
    Registered {
        /// Id of the holder's struct_ops map.
        map_id: u32,
    },
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Kernel => write!(f, "the kernel's own"),
            Holder::Unknown => write!(f, "only root can find out by what"),
            Holder::Pinned(path) => write!(f, "loaded and pinned at {}", path.display()),
            Holder::Process { map_id, link_id } => {
                write!(f, "held by a running process (BPF map {map_id}, link {link_id})")
            }
            Holder::Registered { map_id } => write!(f, "registered by a process (BPF map {map_id})"),
        }
    }
}

/// The reason why an operation failed. Each message says what, where and why; `help` has the remedy.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// This build has no objects of the listed algorithms.
    #[error("this build contains no kernel objects: {why}")]
    #[diagnostic(code(fairpace::kernel::not_built))]
    NotBuilt {
        /// The reason, with the remedy.
        why: &'static str,
    },
    /// The header of an algorithm does not compile for the kernel.
    #[error("{messages}")]
    #[diagnostic(
        code(fairpace::kernel::not_compiled),
        help("what eBPF lacks: floating point, division of signed numbers, loops without a known end")
    )]
    NotCompiled {
        /// Name of the algorithm.
        name: String,
        /// Messages of the compiler.
        messages: String,
    },
    /// An object lacks a part that the loader needs.
    #[error("the object of {name} lacks {lacks}")]
    #[diagnostic(
        code(fairpace::kernel::bad_object),
        help("compile it with the shim of the same version as this library")
    )]
    BadObject {
        /// Kernel name of the algorithm.
        name: String,
        /// The part that was expected in the object.
        lacks: &'static str,
    },
    /// The bytes are no object that this library can load.
    #[error("these bytes are no algorithm compiled for this library: {why}")]
    #[diagnostic(
        code(fairpace::kernel::not_an_algorithm),
        help("compile the header with fairpace-bpf-build {}", env!("CARGO_PKG_VERSION"))
    )]
    NotAnAlgorithm {
        /// Description of the problem.
        why: String,
    },
    /// The object has no parameter of this name.
    #[error("there is no parameter \"{name}\"; known: {}", .known.join(", "))]
    #[diagnostic(
        code(fairpace::kernel::unknown_parameter),
        help("the names are those of the header, with or without the unit")
    )]
    UnknownParameter {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The process may not load BPF programs.
    #[error(
        "the kernel lets this process neither load nor list congestion controls: it lacks {}",
        .missing.join(", ")
    )]
    #[diagnostic(
        code(fairpace::kernel::not_permitted),
        help("run it as root (sudo); in a container also allow these capabilities")
    )]
    NotPermitted {
        /// The capabilities that the process lacks.
        missing: Vec<&'static str>,
    },
    /// The kernel's type information cannot be read.
    #[error("the kernel's type information (BTF) cannot be read from {}: {cause}", .path.display())]
    #[diagnostic(
        code(fairpace::kernel::no_btf),
        help(
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y; \
             the stock kernels of Debian, Ubuntu, Fedora, RHEL and SUSE have it"
        )
    )]
    NoBtf {
        /// Path of the type information.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// The kernel lacks a feature that the algorithms need.
    #[error("this kernel ({release}) cannot run the algorithms: {what}")]
    #[diagnostic(code(fairpace::kernel::unsupported), help("{remedy}"))]
    Unsupported {
        /// Release of the kernel: `uname -r`.
        release: String,
        /// The missing feature.
        what: String,
        /// Remedy: advice to the user.
        remedy: String,
    },
    /// The verifier did not accept the program.
    #[error("the verifier of this kernel ({release}) refused {name}; the end of its log:\n{log}")]
    #[diagnostic(
        code(fairpace::kernel::refused),
        help("{}", refused_help(*.listed))
    )]
    Refused {
        /// Kernel name of the algorithm.
        name: String,
        /// True for an embedded object, false for an object of a user.
        listed: bool,
        /// Release of the kernel: `uname -r`.
        release: String,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// The name is in use.
    #[error("the congestion control name {name} is taken: {holder}")]
    #[diagnostic(code(fairpace::kernel::name_busy), help("{}", busy_help(.name, .holder)))]
    NameBusy {
        /// The name in use.
        name: String,
        /// The holder of the name.
        holder: Holder,
    },
    /// The kernel would not accept such a name. (The kernel accepts a dot, but the BPF file system, which
    /// holds the pin, does not.)
    #[error("\"{name}\" cannot be a congestion control name: at most 15 characters out of A-Z a-z 0-9 _")]
    #[diagnostic(code(fairpace::kernel::bad_name), help("use a shorter or plainer suffix"))]
    BadName {
        /// The refused name.
        name: String,
    },
    /// The kernel does not offer this congestion control, or not in this network namespace.
    #[error("the kernel offers no congestion control {name} here; it offers {}", .offered.join(", "))]
    #[diagnostic(
        code(fairpace::kernel::not_offered),
        help("load it first; a network namespace of its own takes only one that any user may select")
    )]
    NotOffered {
        /// The name of the congestion control.
        name: String,
        /// Names that the kernel offers.
        offered: Vec<String>,
    },
    /// No algorithm of this name is loaded.
    #[error("{name} is not loaded; {}", known(.loaded))]
    #[diagnostic(code(fairpace::kernel::not_loaded))]
    NotLoaded {
        /// The name that was given.
        name: String,
        /// Names of the loaded algorithms.
        loaded: Vec<String>,
    },
    /// The algorithm is in the kernel, but not pinned by this library.
    #[error("{name} was not loaded to stay, so it cannot be unloaded: {holder}")]
    #[diagnostic(
        code(fairpace::kernel::not_ours),
        help("end the process that holds it, or remove its pin: it leaves the kernel with them")
    )]
    NotOurs {
        /// The name of the algorithm.
        name: String,
        /// The holder of the name.
        holder: Holder,
    },
    /// The kernel still has the name after it was unloaded.
    #[error("{name} was unloaded, but the kernel still offers it")]
    #[diagnostic(
        code(fairpace::kernel::still_there),
        help("another process holds its BPF link; `bpftool link` shows which one")
    )]
    StillThere {
        /// The name of the algorithm.
        name: String,
    },
    /// Another process holds the lock on pins for too long.
    #[error("another process has been loading or unloading algorithms for {} s", .limit.as_secs())]
    #[diagnostic(
        code(fairpace::kernel::locked),
        help("wait for it, or end it: what it has done by then is completed or taken back")
    )]
    Locked {
        /// Time for which this process has waited.
        limit: Duration,
    },
    /// The caller has stopped the operation.
    #[error("interrupted before anything was changed")]
    #[diagnostic(code(fairpace::kernel::interrupted))]
    Interrupted,
    /// Users other than root can change the directory of pins.
    #[error("{} is not a directory that only root can write to", .path.display())]
    #[diagnostic(
        code(fairpace::kernel::untrusted),
        help("look at what is in it, and remove it: whoever can write to it can unload algorithms")
    )]
    Untrusted {
        /// The directory of pins.
        path: PathBuf,
    },
    /// The BPF file system, which keeps loaded algorithms, cannot be used.
    #[error("the BPF file system at {} cannot be used: {cause}", .path.display())]
    #[diagnostic(
        code(fairpace::kernel::bpffs),
        help("mount it (`mount -t bpf -o mode=700 bpf /sys/fs/bpf`); in a container, mount it into it")
    )]
    Bpffs {
        /// The path that failed.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// A call into the kernel's BPF interface failed.
    #[error("{what}: {cause}{}", said(.log))]
    #[diagnostic(code(fairpace::kernel::bpf), help("`Features::probe` lists what this kernel can do"))]
    Bpf {
        /// Description of the attempted call.
        what: String,
        /// Error of the kernel or libbpf.
        cause: io::Error,
        /// The last lines that libbpf printed.
        log: String,
    },
    /// Sockets could not be given another algorithm.
    #[error("{sockets} sockets of {of} keep their algorithm: {cause}")]
    #[diagnostic(
        code(fairpace::kernel::not_moved),
        help(
            "a route with `congctl lock` or a BPF program can forbid it, and so can the right to trace the \
             process; they keep it until they close"
        )
    )]
    NotMoved {
        /// Number of sockets that could not be moved.
        sockets: usize,
        /// Network namespace or process of these sockets.
        of: String,
        /// Error of the system.
        cause: io::Error,
    },
    /// A file of the system could not be read.
    #[error("{}: {cause}", .path.display())]
    #[diagnostic(code(fairpace::kernel::io))]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// The algorithms that are built into the kernel are of other sources than those of this program.
    #[error(
        "the kernel has the algorithms of other sources ({found}) than this program ({})",
        fairpace_cc::SOURCES
    )]
    #[diagnostic(
        code(fairpace::kernel::other_sources),
        help("build it again from the sources of this program: make uml")
    )]
    OtherSources {
        /// The hash that the kernel has.
        found: String,
    },
    /// A socket's state does not have the size that the object declares.
    #[error("the socket's state for {name} has {found} bytes instead of {expected}")]
    #[diagnostic(
        code(fairpace::kernel::foreign_state),
        help("another version loaded it: use that version, or unload and load again")
    )]
    ForeignState {
        /// Kernel name of the algorithm.
        name: String,
        /// Number of bytes expected.
        expected: usize,
        /// Number of bytes found.
        found: usize,
    },
}

impl Error {
    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Error {
        let what = what.into();
        move |e| Error::Bpf { what, cause: system_error(e), log: String::new() }
    }
}

/// Returns libbpf-rs's error as an error of std: its type is not part of this crate's interface.
pub(crate) fn system_error(error: libbpf_rs::Error) -> io::Error {
    let kind = match error.kind() {
        libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
        libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

fn refused_help(listed: bool) -> &'static str {
    if listed {
        "a listed algorithm must pass on every supported kernel: \
         report the lines above with the checks of `Features::probe`"
    } else {
        "the last lines name the instruction; contract/contract.h lists the rules that eBPF sets"
    }
}

fn busy_help(name: &str, holder: &Holder) -> String {
    match holder {
        Holder::Kernel | Holder::Unknown => "choose another name with a suffix".to_owned(),
        Holder::Pinned(_) | Holder::Registered { .. } => {
            format!("sockets can select {name} now; to replace it, unload it first")
        }
        Holder::Process { .. } => {
            "end the process that holds it, or choose another name with a suffix".to_owned()
        }
    }
}

fn known(loaded: &[String]) -> String {
    if loaded.is_empty() { "nothing is".to_owned() } else { format!("loaded: {}", loaded.join(", ")) }
}

fn said(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; libbpf printed:\n{log}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_asks_for_a_report_of_a_listed_algorithm_only() {
        let help = |listed| {
            let (name, release, log) = ("fp_x".to_owned(), "6.18".to_owned(), String::new());
            let error = Error::Refused { name, listed, release, log };
            error.help().expect("it has help").to_string()
        };
        assert!(help(true).contains("report") && !help(false).contains("report"), "{}", help(false));
        assert!(help(false).contains("contract.h"));
    }
}
