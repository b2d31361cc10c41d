//! Algorithms to compile: a header that follows the contract, and the kind of the algorithm.

use std::path::{Path, PathBuf};

use crate::Error;

/// Longest name: with `fp_` before it, it must fit into the 15 characters of a Linux congestion control name.
const NAME_MAX: usize = 12;

/// Reserved names: words of C, and types of the contract.
const RESERVED: [&str; 36] = [
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "u32", "u64", "u8", "union", "unsigned", "void",
    "while",
];

/// The kind of an algorithm, which says what it expects of its host: `enum cc_kind` in `contract/contract.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `CC_OWNS_CWND`: the algorithm alone sets cwnd, on every ACK (Linux `cong_control`).
    OwnsCwnd,
    /// `CC_TRACKS_SENDS`: like `OwnsCwnd`, and the algorithm reads the packets in flight when each packet was
    /// sent, and each loss.
    TracksSends,
    /// `CC_GROWS_CWND`: the algorithm grows cwnd; Linux reduces it to the algorithm's ssthresh (Linux
    /// `cong_avoid`, PRR).
    GrowsCwnd,
}

impl Kind {
    /// Returns the kind with this name in C.
    pub(crate) fn by_c_name(name: &str) -> Option<Kind> {
        match name {
            "CC_OWNS_CWND" => Some(Kind::OwnsCwnd),
            "CC_TRACKS_SENDS" => Some(Kind::TracksSends),
            "CC_GROWS_CWND" => Some(Kind::GrowsCwnd),
            _ => None,
        }
    }
}

/// An algorithm to compile: one header that follows `contract/contract.h`.
///
/// A header `NAME.h` defines `NAME_parameters`, `struct NAME_params`, `struct NAME`, `NAME_init`,
/// `NAME_on_ack` and `NAME_on_event`. It may include `contract/...`, `lib/...` and any algorithm of
/// fairpace-cc (`bbr1.h`), and files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithm {
    pub(crate) header: PathBuf,
    pub(crate) code: String,
    pub(crate) listed: String,
    pub(crate) kind: Kind,
    /// The defaults that a preset of the list changes: `CC_SETTINGS` of bpf/object.bpf.c, as in clang's -D.
    pub(crate) settings: Option<String>,
}

impl Algorithm {
    /// Returns the algorithm of a header `NAME.h`, by the name of the file.
    ///
    /// # Errors
    /// The name is no C name, or longer than 12 characters.
    pub fn new(header: impl AsRef<Path>, kind: Kind) -> Result<Algorithm, Error> {
        let header = header.as_ref().to_owned();
        let name = header.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        check_name(&name)?;
        Ok(Algorithm { header, listed: name.clone(), code: name, kind, settings: None })
    }

    /// Returns the algorithm, with its defaults, under another kernel name, `fp_NAME`. (A preset of
    /// [`Sources::listed`](crate::Sources::listed) has its own defaults.)
    ///
    /// # Errors
    /// The name is no C name, or longer than 12 characters.
    pub fn listed_as(self, name: &str) -> Result<Algorithm, Error> {
        check_name(name)?;
        Ok(Algorithm { listed: name.to_owned(), ..self })
    }

    /// The algorithm's name: the name of the header, or of the preset.
    pub fn name(&self) -> &str {
        &self.listed
    }

    /// The algorithm's kind: what it expects of its host.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_c = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    if begins && name.len() <= NAME_MAX && name.bytes().all(is_c) && !RESERVED.contains(&name) {
        Ok(())
    } else {
        Err(Error::BadName { name: name.to_owned() })
    }
}
