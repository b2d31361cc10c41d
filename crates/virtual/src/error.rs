//! The errors of a run in virtual time, and their remedies.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::Refusal;

/// The reason why a run has no result.
#[derive(Debug, Error, Diagnostic)]
pub enum Error {
    /// QEMU is missing.
    #[error("a kernel in virtual time needs QEMU, but {program} cannot be started: {cause}")]
    #[diagnostic(code(fairpace::virtual_time::no_qemu), help("apt-get install qemu-system-x86"))]
    NoQemu {
        /// The program.
        program: String,
        /// Error of the system.
        cause: io::Error,
    },

    /// The kernel for User-mode Linux is missing.
    #[error("there is no User-mode Linux kernel{}", .named.as_ref().map_or_else(String::new, |path| {
        format!(": FAIRPACE_UML names {}, which does not run", path.display())
    }))]
    #[diagnostic(code(fairpace::virtual_time::no_uml), help("build it, without root, by: make uml"))]
    NoUml {
        /// What FAIRPACE_UML names.
        named: Option<PathBuf>,
    },

    /// A kernel series is asked for where there is one kernel only.
    #[error("--kernel chooses a kernel for QEMU, and virtual:uml has one of its own")]
    #[diagnostic(
        code(fairpace::virtual_time::own_kernel),
        help("write --on virtual:qemu, or leave --kernel out")
    )]
    OwnKernel,

    /// The cache has no kernel of the series.
    #[error("there is no kernel{which} to boot in virtual time")]
    #[diagnostic(code(fairpace::virtual_time::no_kernel), help("fetch one, without root, by: {help}"))]
    NoKernel {
        /// The series after a space; empty: any.
        which: String,
        /// The command that fetches it.
        help: String,
    },

    /// What was asked for is no series of kernels.
    #[error("`{text}` is no series of kernels")]
    #[diagnostic(code(fairpace::virtual_time::series), help("write it as 6.12"))]
    Series {
        /// What was asked for.
        text: String,
    },

    /// This processor is not the one of the kernels.
    #[error("this program is not for x86-64, as the kernels are that run in virtual time")]
    #[diagnostic(code(fairpace::virtual_time::processor), help("the simulator runs on this machine"))]
    Processor,

    /// A part of the image cannot be read.
    #[error("the image of the guest needs {what}: {cause}")]
    #[diagnostic(
        code(fairpace::virtual_time::read),
        help("if the kernel is not complete, remove its folder and fetch it again")
    )]
    Read {
        /// The part.
        what: String,
        /// Error of the system.
        cause: io::Error,
    },

    /// A step on the host failed.
    #[error("the host could not {step}: {cause}")]
    #[diagnostic(
        code(fairpace::virtual_time::host),
        help("nothing is left behind. Check free memory and the space for temporary files (TMPDIR)")
    )]
    Host {
        /// The step.
        step: String,
        /// Error of the system.
        cause: io::Error,
    },

    /// The emulator ended before the guest had a result.
    #[error("{emulator} ended while the guest was to {stage}: {status}{last}")]
    #[diagnostic(
        code(fairpace::virtual_time::ended),
        help(
            "no result was written. If another program did not end it, please report this with the scenario"
        )
    )]
    Ended {
        /// The emulator.
        emulator: &'static str,
        /// What the guest did.
        stage: &'static str,
        /// How it ended.
        status: String,
        /// Its last lines and those of the guest's console, after a line feed; or nothing.
        last: String,
    },

    /// The emulator did not obey.
    #[error("{emulator} could not {step}: {why}")]
    #[diagnostic(
        code(fairpace::virtual_time::refused),
        help("please report this with the version that the result of another run names")
    )]
    Emulator {
        /// The emulator.
        emulator: &'static str,
        /// The step.
        step: &'static str,
        /// Its answer.
        why: String,
    },

    /// The guest does not proceed.
    #[error("the guest did not {stage} within {seconds} s of processor time{last}")]
    #[diagnostic(code(fairpace::virtual_time::stuck), help("please report this with the scenario"))]
    Stuck {
        /// What the guest was to do.
        stage: &'static str,
        /// The limit.
        seconds: u64,
        /// The last lines of the guest's console, after a line feed; or nothing.
        last: String,
    },

    /// The program in the guest refused the scenario, or failed.
    #[error("{}", .0.message)]
    #[diagnostic(help("{}", .0.help))]
    Guest(Refusal),

    /// The monitor stopped the run.
    #[error("interrupted")]
    #[diagnostic(
        code(fairpace::virtual_time::interrupted),
        help("nothing is left behind, and no result was written")
    )]
    Interrupted,
}

impl Error {
    pub(crate) fn host(step: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let step = step.into();
        move |cause| Error::Host { step, cause }
    }
}
