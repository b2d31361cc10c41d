//! Scenarios as plain typed data, and the TOML files that hold them.
//!
//! [`load`] and [`parse`] turn a file into a [`Scenario`] in which every quantity is typed and in its range,
//! and every algorithm is one that exists. Errors ([`Invalid`]) have a place in the file and say what to
//! write. The [canonical form](Scenario::to_toml) of a scenario has a [hash](Scenario::canonical_hash), by
//! which results name it. [`keys`] lists all keys; each is declared beside the field that it sets.
//!
//! The structs are settings for other crates: `fairpace-netem` takes links and queues, `fairpace-tcp` the
//! settings of hosts. This crate runs nothing, and a scenario does not say where it runs: [`Target`] is an
//! argument of the check. [`Random`] gives all crates the random numbers that follow from a
//! seed.
//!
//! ```
//! use fairpace_scenario::{Target, parse};
//!
//! let text = r#"
//!     title = "one flow"
//!     duration = "10s"
//!     [[link]]
//!     rate = "10mbit"
//!     buffer = "1.5bdp"
//!     [[flow]]
//!     cc = "bbr1"
//!     rtt = "20ms"
//! "#;
//! let scenario = parse("one.toml", text, &[], Target::Simulator)?;
//! assert_eq!(scenario.links[0].buffer.bytes(), 37_500);
//!
//! let wrong = text.replace("mbit", "mbps");
//! let problem = parse("one.toml", &wrong, &[], Target::Simulator).unwrap_err().problems.remove(0);
//! assert_eq!((problem.key.as_str(), problem.line), ("link.rate", 5));
//! # Ok::<(), fairpace_scenario::Invalid>(())
//! ```

#![forbid(unsafe_code)]

pub mod keys;
pub mod quantity;

mod built_in;
mod cc;
mod cellular;
mod check;
mod drops;
mod excerpt;
mod fault;
mod field;
mod files;
mod flow;
mod handover;
mod hosts;
mod impairments;
mod key;
mod link;
mod media;
mod print;
mod problem;
mod queue;
mod random;
mod read;
mod relations;
mod routes;
mod row;
mod scenario;
mod sets;
mod size;
mod traffic;
mod value;
mod visible;

use std::path::Path;

pub use cc::{Cc, CcError, Ours};
pub use cellular::Cellular;
pub use drops::{Dropped, Drops, MOST_NUMBER, NotDrops, PacketKind};
pub use files::{OPPORTUNITY_BYTES, Sizes, TimeTable, Trace};
pub use flow::{Flow, View};
pub use handover::Handover;
pub use hosts::{Ecn, Receiving, Sending, Window};
pub use impairments::{Burst, Distribution, JitterShape, Line, Loss, Policer, Reorder, Steps};
pub use link::{Link, Outages};
pub use media::Media;
pub use print::{Bundle, hash_of_all};
pub use problem::{Invalid, Problem};
pub use quantity::{BurstLength, Limit, WHOLE_PPB, ns};
pub use queue::{Codel, DualPi2, FqCodel, Pie, Queue, Red, RedRules};
pub use random::Random;
pub use read::{parse, parse_contained};
pub use routes::Route;
pub use scenario::{MOST_SEED, Scenario};
pub use sets::{NotASet, Set};
pub use traffic::{Arrivals, Traffic, Writes};
pub use visible::{clipped, visible};

/// The host on which a scenario will run; a scenario is checked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The simulator. It does not have the kernel's own algorithms.
    Simulator,
    /// The testbed, on the running kernel.
    Testbed,
}

impl Target {
    /// The target's name in results: `sim` or `kernel`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "sim",
            Self::Testbed => "kernel",
        }
    }
}

/// Largest scenario file, bytes: 26,000 lines of 40 characters. A larger file is not a scenario.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a scenario file, after making the changes in `sets`.
///
/// # Errors
/// A file that cannot be read, or every problem of the scenario, each with its place.
pub fn load(path: &Path, sets: &[Set], target: Target) -> Result<Scenario, Invalid> {
    parse(&path.display().to_string(), &read(path)?, sets, target)
}

/// Reads the text of a scenario file, for [`parse`]: a caller can check the text again with other values,
/// whatever the file then has.
///
/// # Errors
/// A [`Problem`] if the file cannot be read, is no text, or is too large for a scenario.
pub fn read(path: &Path) -> Result<String, Invalid> {
    read_text(path).map_err(|(message, help)| {
        let mut problem = Problem::new("file", String::new(), message, help.to_owned());
        problem.file = path.display().to_string();
        Invalid { problems: vec![problem] }
    })
}

fn read_text(path: &Path) -> Result<String, (String, &'static str)> {
    let why = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; the folder scenarios/ has examples",
            std::io::ErrorKind::IsADirectory => "name one file in it",
            std::io::ErrorKind::InvalidInput => "write the scenario to a file, and name that",
            _ => "check that it is a readable file",
        };
        (format!("cannot read the scenario: {error}"), help)
    };
    let file = files::open(path).map_err(why)?;
    let mut bytes = Vec::new();
    // not the size of the metadata: files of /proc have none
    std::io::Read::read_to_end(&mut std::io::Read::take(file, MOST_BYTES + 1), &mut bytes).map_err(why)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err((
            format!("the scenario is larger than {MOST_BYTES} bytes"),
            "a scenario is a short TOML file; is this the right one?",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        (format!("the scenario is not UTF-8 text, from byte {at} on"), "save it as UTF-8")
    })
}

impl Scenario {
    /// Checks a scenario that a program builds, as a file is checked, and fills in its hash.
    ///
    /// # Errors
    /// Every problem of the scenario.
    pub fn sealed(mut self, target: Target) -> Result<Self, Invalid> {
        self.check(target)?;
        self.hash = self.canonical_hash();
        Ok(self)
    }

    /// Checks that the scenario is right and can run on `target`.
    ///
    /// # Errors
    /// Every problem of the scenario.
    pub fn check(&self, target: Target) -> Result<(), Invalid> {
        let problems: Vec<_> = check::faults(self, target)
            .into_iter()
            .map(|fault| {
                let fault::Fault { section, index, key, complaint, .. } = fault;
                let key = match section {
                    keys::Section::Top | keys::Section::Window => section.path(key),
                    _ => format!("{}.{}.{key}", section.name(), index + 1),
                };
                Problem::new(complaint.kind, key, complaint.message, complaint.help)
            })
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(Invalid { problems }) }
    }
}
