//! The congestion control of a flow: an algorithm of `fairpace-cc` with its parameters, or one of the running
//! kernel's own algorithms.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use fairpace_cc::{Algorithm, Kind, ParamError, Params, UnknownAlgorithm};

/// Prefix of the name of a kernel's own algorithm in a scenario.
const KERNEL: &str = "kernel:";
/// Name in a scenario for no congestion control.
const NONE: &str = "none";
/// End of the path of a header.
pub(crate) const HEADER_END: &str = ".h";
/// Longest name of a congestion control: Linux's `TCP_CA_NAME_MAX` (16) without the closing zero.
const KERNEL_NAME_BYTES: usize = 15;

/// The congestion control of a flow, as `cc` and `set` of a scenario name it.
///
/// A variant, `NAME:KEY=VALUE...`, is an algorithm with changed parameters that has these as its name: flows
/// of one algorithm with different parameters differ by it.
///
/// ```
/// use fairpace_scenario::Cc;
///
/// let mut cc: Cc = "bbq".parse()?;
/// cc.set("alpha", "5ms")?;
/// assert_eq!(cc.to_string(), "bbq");
/// let variant: Cc = "bbq:alpha=5ms".parse()?;
/// assert_eq!(variant.to_string(), "bbq:alpha=5ms");
/// assert_eq!(variant.settings(), cc.settings());
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
    /// Whether the parameters are part of the name.
    is_variant: bool,
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
    /// What follows the name of a variant is no parameter with a value.
    #[error("`{setting}` is not KEY=VALUE")]
    NotASetting {
        /// The name of the algorithm.
        name: String,
        /// The wrong part of the text.
        setting: String,
    },
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

    /// Returns whether both are one algorithm with the same values of all parameters, however these are
    /// written.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Cc::Ours(one), Cc::Ours(another)) => one.params == another.params,
            _ => self == other,
        }
    }

    /// The parameters that are part of the name, as results have them; none for what is no variant.
    #[must_use]
    pub fn named_settings(&self) -> BTreeMap<String, String> {
        let named = self.settings().iter().filter(|_| self.is_variant());
        named.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// Splits a name as users write it: `bbr3:beta=0.5` is `bbr3` with one setting, `kernel:bbr` has none.
    /// The settings are as written, checked for nothing.
    #[must_use]
    pub fn split(text: &str) -> (&str, Vec<&str>) {
        let colon = if text.starts_with(KERNEL) { None } else { text.split_once(':') };
        colon.map_or((text, Vec::new()), |(name, settings)| (name, settings.split(':').collect()))
    }

    /// Returns the name that an algorithm in a file of this folder has outside of the folder: the path of a
    /// header starts from there.
    #[must_use]
    pub fn from_folder(folder: &Path, name: &str) -> String {
        let path = Cc::split(name).0;
        if !path.ends_with(HEADER_END) || folder.as_os_str().is_empty() {
            return name.to_owned();
        }
        let within = Path::new(path).strip_prefix(".").unwrap_or(Path::new(path));
        format!("{}{}", folder.join(within).display(), &name[path.len()..])
    }

    /// Returns the name as a scenario file has it: for a header of the user its path.
    pub(crate) fn written(&self) -> String {
        match self {
            Cc::Ours(ours) => format!("{}{}", ours.algorithm().written(), ours.suffix()),
            Cc::Kernel(_) | Cc::Uncontrolled => self.to_string(),
        }
    }

    /// Returns the name in a scenario whose folder has copies of the user's headers, and these copies: path
    /// and text. A header that includes others has a folder of its own for them.
    pub(crate) fn bundled(&self) -> (String, Vec<(String, String)>) {
        let Cc::Ours(ours) = self else { return (self.to_string(), Vec::new()) };
        let (algorithm, files) = (ours.algorithm(), ours.algorithm().files());
        if files.is_empty() {
            return (self.written(), Vec::new());
        }
        let folder = if files.len() > 1 { format!("{algorithm}/") } else { String::new() };
        let copy = |(name, text): &(String, String)| (format!("{folder}{name}"), text.clone());
        (format!("{folder}{algorithm}.h{}", ours.suffix()), files.iter().map(copy).collect())
    }

    /// Returns whether the parameters are part of the name.
    #[must_use]
    pub fn is_variant(&self) -> bool {
        matches!(self, Cc::Ours(ours) if ours.is_variant)
    }

    /// Returns the name that the hash of a scenario covers, in quotes: without the parameters, which have a
    /// key of their own. That of a header has a hash of the sources that it is compiled from; the commit
    /// identifies those of other algorithms.
    pub(crate) fn content(&self) -> String {
        match self {
            Cc::Ours(ours) => {
                let algorithm = ours.algorithm();
                let digest = algorithm.digest().map(|digest| format!(" sha256:{digest}"));
                format!("\"{algorithm}{}\"", digest.unwrap_or_default())
            }
            Cc::Kernel(_) | Cc::Uncontrolled => format!("\"{self}\""),
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

    /// The parameters as they follow the name of a variant: `:beta=0.5`.
    fn suffix(&self) -> String {
        let settings = self.written.iter().filter(|_| self.is_variant);
        settings.map(|(name, value)| format!(":{name}={value}")).collect()
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
        Cc::Ours(Ours { params: Params::defaults(algorithm), written: Vec::new(), is_variant: false })
    }
}

impl FromStr for Cc {
    type Err = CcError;

    /// Reads a name as scenarios write it: `bbr1`, `bbr3:beta=0.5`, `kernel:bbr` or `none`.
    fn from_str(text: &str) -> Result<Self, CcError> {
        let (name, settings) = Cc::split(text);
        let mut cc = match name.strip_prefix(KERNEL) {
            Some(kernel) => Cc::Kernel(kernel.to_owned()),
            None if name == NONE => Cc::Uncontrolled,
            None => Cc::from(Algorithm::by_name(name)?),
        };
        for setting in settings {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| CcError::NotASetting { name: name.to_owned(), setting: setting.to_owned() })?;
            cc.set(key.trim(), value.trim())?;
        }
        if let Cc::Ours(ours) = &mut cc {
            ours.is_variant = !ours.written.is_empty();
        }
        cc.check()?;
        Ok(cc)
    }
}

impl fmt::Display for Cc {
    /// The name as scenarios write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cc::Ours(ours) => write!(f, "{}{}", ours.algorithm(), ours.suffix()),
            Cc::Kernel(name) => write!(f, "{KERNEL}{name}"),
            Cc::Uncontrolled => f.write_str(NONE),
        }
    }
}
