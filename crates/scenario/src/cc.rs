//! The congestion control of a flow: an algorithm of `fairpace-cc` with its parameters, or one of the running
//! kernel's own algorithms.

use std::fmt;
use std::str::FromStr;

use fairpace_cc::{Algorithm, Kind, ParamError, Params, UnknownAlgorithm};

/// Prefix of the name of a kernel's own algorithm in a scenario.
const KERNEL: &str = "kernel:";
/// Name in a scenario for no congestion control.
const NONE: &str = "none";
/// Longest name of a congestion control: Linux's `TCP_CA_NAME_MAX` (16) without the closing zero.
const KERNEL_NAME_BYTES: usize = 15;

/// The congestion control of a flow, as `cc` and `set` of a scenario name it.
///
/// ```
/// use fairpace_scenario::Cc;
///
/// let mut cc: Cc = "bbq".parse()?;
/// cc.set("alpha", "5ms")?;
/// assert_eq!(cc.to_string(), "bbq");
/// assert!("bbr9".parse::<Cc>().is_err());
/// # Ok::<(), fairpace_scenario::CcError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cc {
    /// An algorithm of `fairpace-cc`. It runs in the simulator and, as eBPF, on the testbed.
    Ours(Ours),
    /// One of the running kernel's own algorithms, by the kernel's name for it. It runs on the testbed only.
    Kernel(String),
    /// No congestion control: audio or video over UDP, whatever the network does to it. It runs in the
    /// simulator only.
    Uncontrolled,
}

/// An algorithm of `fairpace-cc` with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    params: Params,
    /// Parameters that are set, sorted by name, with their values as written: the hash of a scenario covers
    /// this text.
    written: Vec<(&'static str, String)>,
}

/// Error: a congestion control that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CcError {
    /// There is no algorithm of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownAlgorithm),
    /// The kernel cannot have an algorithm of this name.
    #[error("`{KERNEL}{0}` cannot be the name of an algorithm of the kernel")]
    KernelName(String),
    /// The kernel's own algorithms have no parameters that a scenario can set.
    #[error("`{KERNEL}{cc}` has no parameter `{parameter}`")]
    KernelParameter {
        /// The kernel's name of the algorithm.
        cc: String,
        /// The parameter's name.
        parameter: String,
    },
    /// `none` has no parameters.
    #[error("`{NONE}` has no parameter `{parameter}`")]
    NoneParameter {
        /// The parameter's name.
        parameter: String,
    },
    /// The algorithm does not have the parameter, or the parameter cannot have the value.
    #[error(transparent)]
    Parameter(#[from] Box<ParamError>),
}

impl Cc {
    /// Sets one parameter from text in its unit, as in `set("alpha", "3ms")`.
    ///
    /// # Errors
    /// [`CcError::Parameter`] and [`CcError::KernelParameter`]; nothing is changed then.
    pub fn set(&mut self, parameter: &str, value: &str) -> Result<(), CcError> {
        match self {
            Cc::Ours(ours) => ours.set(parameter, value),
            Cc::Kernel(cc) => {
                Err(CcError::KernelParameter { cc: cc.clone(), parameter: parameter.to_owned() })
            }
            Cc::Uncontrolled => Err(CcError::NoneParameter { parameter: parameter.to_owned() }),
        }
    }

    /// Parameters that are set, sorted by name, with their values as written.
    #[must_use]
    pub fn settings(&self) -> &[(&'static str, String)] {
        match self {
            Cc::Ours(ours) => &ours.written,
            Cc::Kernel(_) | Cc::Uncontrolled => &[],
        }
    }

    /// Returns the name as a scenario file has it: for a header of the user its path.
    pub(crate) fn written(&self) -> String {
        match self {
            Cc::Ours(ours) => ours.algorithm().written().to_owned(),
            Cc::Kernel(_) | Cc::Uncontrolled => self.to_string(),
        }
    }

    /// Returns, for a header of the user, the name with a hash of the sources that it is compiled from;
    /// `None` for other algorithms, whose sources the commit identifies.
    pub(crate) fn content(&self) -> Option<String> {
        match self {
            Cc::Ours(ours) => {
                let algorithm = ours.algorithm();
                algorithm.digest().map(|digest| format!("\"{algorithm} sha256:{digest}\""))
            }
            Cc::Kernel(_) | Cc::Uncontrolled => None,
        }
    }

    /// Returns whether the algorithm asks Linux for pacing when it starts. Of the kernel's own algorithms,
    /// `bbr` does (`bbr_init`); of the algorithms of `fairpace-cc`, those that set cwnd themselves.
    pub(crate) fn paces_on_linux(&self) -> bool {
        match self {
            Cc::Ours(ours) => ours.algorithm().kind() == Kind::OwnsCwnd,
            Cc::Kernel(name) => name == "bbr",
            Cc::Uncontrolled => false,
        }
    }

    /// Checks that the kernel could have an algorithm of this name.
    pub(crate) fn check(&self) -> Result<(), CcError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        match self {
            Cc::Kernel(name)
                if name.is_empty() || name.len() > KERNEL_NAME_BYTES || !name.chars().all(allowed) =>
            {
                Err(CcError::KernelName(name.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl Ours {
    /// The algorithm of the congestion control.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.params.algorithm()
    }

    /// All parameters of the algorithm.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), CcError> {
        self.params.set(parameter, value).map_err(Box::new)?;
        let Some((known, _)) = self.params.iter().find(|(known, _)| known.name == parameter) else {
            return Ok(());
        };
        match self.written.binary_search_by(|(name, _)| name.cmp(&known.name)) {
            Ok(at) => value.clone_into(&mut self.written[at].1),
            Err(at) => self.written.insert(at, (known.name, value.to_owned())),
        }
        Ok(())
    }
}

impl From<Algorithm> for Cc {
    /// The algorithm with its defaults.
    fn from(algorithm: Algorithm) -> Self {
        Cc::Ours(Ours { params: Params::defaults(algorithm), written: Vec::new() })
    }
}

impl FromStr for Cc {
    type Err = CcError;

    /// Reads a name as scenarios write it: `bbr1`, `kernel:bbr` or `none`.
    fn from_str(name: &str) -> Result<Self, CcError> {
        let cc = match name.strip_prefix(KERNEL) {
            Some(kernel) => Cc::Kernel(kernel.to_owned()),
            None if name == NONE => Cc::Uncontrolled,
            None => Cc::from(Algorithm::by_name(name)?),
        };
        cc.check()?;
        Ok(cc)
    }
}

impl fmt::Display for Cc {
    /// The name as scenarios write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cc::Ours(ours) => write!(f, "{}", ours.algorithm()),
            Cc::Kernel(name) => write!(f, "{KERNEL}{name}"),
            Cc::Uncontrolled => f.write_str(NONE),
        }
    }
}
