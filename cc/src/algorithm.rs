//! The table of algorithms and their parameters: `algorithms.def`, read from the C once.

use std::fmt;
#[cfg(feature = "plugin")]
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
#[cfg(feature = "plugin")]
use std::sync::OnceLock;

use crate::clamp::Bounds;
use crate::ffi;
use crate::names::nearest;
use crate::value::Unit;

/// The division of the control of cwnd between host and algorithm: `enum cc_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The algorithm alone sets cwnd: `on_ack` runs on every ACK (Linux: `cong_control`).
    OwnsCwnd,
    /// The host reduces cwnd towards ssthresh (PRR) and calls `on_ack` only for growth (Linux: `cong_avoid`);
    /// [`Event::Sample`](crate::Event::Sample) comes before `on_ack`, on every ACK.
    GrowsCwnd,
}

/// A tunable parameter of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter in scenarios and on the command line.
    pub name: &'static str,
    /// Name of the parameter in C, which ends with its unit: `alpha_us` for `alpha`.
    pub c_name: &'static str,
    /// Unit of the raw number, which decides how users write it.
    pub unit: Unit,
    /// The default, a raw number.
    pub default: u32,
    /// The smallest raw number allowed.
    pub least: u32,
    /// The largest raw number allowed.
    pub most: u32,
    /// Effect of the parameter, in a few words.
    pub meaning: &'static str,
    /// Reason for this default and this range.
    pub reason: &'static str,
}

/// A preset: the code of an algorithm with other defaults under a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Name of the algorithm whose code the preset uses.
    pub algorithm: &'static str,
    /// The defaults that differ, as `parameter=value` separated by spaces.
    pub settings: &'static str,
}

// Values of `enum cc_kind`.
const GROWS_CWND: u32 = 1;
const TRACKS_SENDS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    kernel_name: String,
    title: &'static str,
    source: &'static str,
    preset: Option<Preset>,
    kind: Kind,
    tracks_sends: bool,
    bounds: Bounds,
    pub(crate) parameters: Vec<Parameter>,
    state_bytes: usize,
}

static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let entry = |row| entry_of(row).expect("params.h and value.rs list the same units");
    ffi::algorithms().iter().map(entry).collect()
});

/// Returns a row of a table in C; `None`: a parameter has an unknown unit.
pub(crate) fn entry_of(row: &'static ffi::Algorithm) -> Option<Entry> {
    let name = ffi::text(row.name);
    let preset = Preset { algorithm: ffi::text(row.algorithm), settings: ffi::text(row.settings) };
    let mut parameters = ffi::parameters(row).iter().map(parameter).collect::<Option<Vec<_>>>()?;
    for setting in preset.settings.split_whitespace() {
        set_default(&mut parameters, setting).unwrap_or_else(|| {
            panic!("algorithms.def: {name} cannot have the default \"{setting}\"") // a test reads them all
        });
    }
    Some(Entry {
        name,
        kernel_name: format!("fp_{name}"),
        title: ffi::text(row.title),
        source: ffi::text(row.source),
        preset: (preset.algorithm != name).then_some(preset),
        kind: if row.kind == GROWS_CWND { Kind::GrowsCwnd } else { Kind::OwnsCwnd },
        tracks_sends: row.kind == TRACKS_SENDS,
        bounds: Bounds::from_bits(row.bounds),
        parameters,
        state_bytes: row.state_bytes as usize,
    })
}

fn parameter(p: &'static ffi::Parameter) -> Option<Parameter> {
    Some(Parameter {
        name: spoken(ffi::text(p.name)),
        c_name: ffi::text(p.name),
        unit: Unit::from_number(p.unit)?,
        default: p.default,
        least: p.least,
        most: p.most,
        meaning: ffi::text(p.what),
        reason: ffi::text(p.why),
    })
}

/// Applies one `parameter=value` of a preset; `None`: the text is not valid.
fn set_default(parameters: &mut [Parameter], setting: &str) -> Option<()> {
    let (name, value) = setting.split_once('=')?;
    let parameter = parameters.iter_mut().find(|p| p.name == name)?;
    let raw = u32::try_from(parameter.unit.parse(value)?).ok()?;
    parameter.default = Some(raw).filter(|raw| (parameter.least..=parameter.most).contains(raw))?;
    Some(())
}

/// Returns the name of a parameter for users, who write the unit with the value: "alpha" for `alpha_us`,
/// "rate" for `rate_Bps`.
fn spoken(name: &'static str) -> &'static str {
    name.strip_suffix("_us").or_else(|| name.strip_suffix("_Bps")).unwrap_or(name)
}

/// An algorithm of `algorithms.def`, or of a header that was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Algorithm(u32);

/// Error: no algorithm has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {} \"{name}\"{}; known: {}", noun(.name), meant(self), .known.join(", "))]
pub struct UnknownAlgorithm {
    /// The unknown name.
    pub name: String,
    /// The known name with the most similar spelling, if there is a similar one.
    pub nearest: Option<&'static str>,
    /// All known names.
    pub known: Vec<&'static str>,
}

/// Returns a noun for the name: a path is the header of an algorithm.
fn noun(name: &str) -> &'static str {
    if name.ends_with(".h") { "file" } else { "algorithm" }
}

/// Returns what may be meant by an unknown name, for the middle of a message.
fn meant(error: &UnknownAlgorithm) -> String {
    error.meaning().map_or_else(|| did_you_mean(&error.nearest), |meaning| format!(": {meaning}"))
}

/// Names outside of Fairpace for algorithms that have other names here, and what they mean.
const ELSEWHERE: &[(&str, &str)] = &[(
    "bbr",
    "Linux's `bbr` is `bbr1` here, Google's BBRv3 is `bbr3`, and the kernel's own is `kernel:bbr`",
)];

impl UnknownAlgorithm {
    /// What the name means elsewhere, as a sentence; `None` if it has no such meaning.
    #[must_use]
    pub fn meaning(&self) -> Option<&'static str> {
        let is_it = |(name, _): &&(&str, _)| self.name.eq_ignore_ascii_case(name);
        ELSEWHERE.iter().find(is_it).map(|(_, meaning)| *meaning)
    }
}

pub(crate) fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|n| format!(", did you mean \"{n}\"?")).unwrap_or_default()
}

impl Algorithm {
    /// Returns all algorithms, in the order of `algorithms.def`.
    pub fn all() -> impl ExactSizeIterator<Item = Algorithm> {
        (0..TABLE.len() as u32).map(Algorithm)
    }

    /// Returns the algorithm called `name`, e.g. `bbr1`, or `fp_bbr1` as in the kernel. A loaded header also
    /// has its path as a name. Of a header that was loaded several times, it is the last one.
    ///
    /// # Errors
    /// No algorithm has this name; the error lists all names and the most similar one.
    pub fn by_name(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let is_it = |a: &Algorithm| a.name() == name || a.kernel_name() == name;
        #[cfg(feature = "plugin")]
        if let Some(loaded) = Algorithm::loaded().filter(|a| is_it(a) || a.is_written(name)).last() {
            return Ok(loaded);
        }
        Algorithm::all().find(is_it).ok_or_else(|| UnknownAlgorithm {
            name: name.to_owned(),
            nearest: nearest(name, Algorithm::all().map(Algorithm::name)),
            known: Algorithm::all().map(Algorithm::name).collect(),
        })
    }

    /// The algorithm's name: the name of its header, or of its preset.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The algorithm's name in the kernel: `fp_` and its name, which differs from every name in Linux.
    pub fn kernel_name(self) -> &'static str {
        &self.entry().kernel_name
    }

    /// The algorithm's title, in one line.
    pub fn title(self) -> &'static str {
        self.entry().title
    }

    /// The algorithm's publication.
    pub fn source(self) -> &'static str {
        self.entry().source
    }

    /// The division of the control of cwnd between host and algorithm.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// The properties of the algorithm that the bounds of its decisions depend on.
    pub fn bounds(self) -> Bounds {
        self.entry().bounds
    }

    /// Returns whether the algorithm needs, for each packet, the packets in flight when it was sent, and an
    /// event for each loss (`CC_TRACKS_SENDS`).
    pub fn tracks_sends(self) -> bool {
        self.entry().tracks_sends
    }

    /// The preset; `None` for an algorithm with code of its own.
    pub fn preset(self) -> Option<Preset> {
        self.entry().preset
    }

    /// The algorithm's parameters, in the order of `struct NAME_params`.
    pub fn parameters(self) -> &'static [Parameter] {
        &self.entry().parameters
    }

    /// Size of `struct NAME`, the state of a flow, bytes.
    pub fn state_bytes(self) -> usize {
        self.entry().state_bytes
    }

    pub(crate) fn id(self) -> u32 {
        self.0
    }

    fn entry(self) -> &'static Entry {
        #[cfg(feature = "plugin")]
        if let Some((entry, _)) = self.of_loaded() {
            return entry;
        }
        &TABLE[self.0 as usize]
    }
}

/// Most headers that this process can load: a day of changes, each of which is loaded anew.
#[cfg(feature = "plugin")]
pub(crate) const MOST_LOADED: usize = 1024;
/// The least number of a loaded header.
#[cfg(feature = "plugin")]
pub(crate) const FIRST_LOADED: u32 = 1 << 31;

/// Headers that were loaded at run time, in this order. No header is ever removed.
#[cfg(feature = "plugin")]
static LOADED: [OnceLock<(Entry, Origin)>; MOST_LOADED] = [const { OnceLock::new() }; MOST_LOADED];

/// The origin of an algorithm that was loaded at run time.
#[cfg(feature = "plugin")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Path of the header, where it can be found again.
    pub header: PathBuf,
    /// Paths of the header as the user wrote it, in one way or several: [`Algorithm::by_name`] accepts each
    /// as the name, and other paths of the file.
    pub written: Vec<String>,
    /// A hash of all files that the algorithm was compiled from.
    pub digest: String,
    /// The header and the files beside it that it includes: path from the header's folder, and text.
    pub files: Vec<(String, String)>,
}

#[cfg(feature = "plugin")]
impl Algorithm {
    /// The header of an algorithm that was loaded at run time; `None` for algorithms of `algorithms.def`.
    pub fn header(self) -> Option<&'static Path> {
        self.of_loaded().map(|(_, origin)| origin.header.as_path())
    }

    /// The text that gives the algorithm in another process: the header as the user wrote it, or the name of
    /// a listed algorithm.
    pub fn written(self) -> &'static str {
        let first = self.of_loaded().and_then(|(_, origin)| origin.written.first());
        first.map_or_else(|| self.name(), String::as_str)
    }

    /// A hash of the files that a loaded algorithm was compiled from; `None` for algorithms of
    /// `algorithms.def`, which the program's commit identifies.
    pub fn digest(self) -> Option<&'static str> {
        self.of_loaded().map(|(_, origin)| origin.digest.as_str())
    }

    /// The header of a loaded algorithm and the files beside it that it includes: path from the header's
    /// folder, and text. Empty for algorithms of `algorithms.def`.
    pub fn files(self) -> &'static [(String, String)] {
        self.of_loaded().map_or(&[], |(_, origin)| origin.files.as_slice())
    }

    pub(crate) fn loaded() -> impl Iterator<Item = Algorithm> {
        let is_there = |(number, place): (u32, &OnceLock<_>)| place.get().map(|_| Algorithm(number));
        (FIRST_LOADED..).zip(&LOADED).map_while(is_there)
    }

    /// Adds a loaded algorithm; `None`: there are too many.
    pub(crate) fn add(entry: Entry, origin: Origin) -> Option<Algorithm> {
        let (number, place) = (FIRST_LOADED..).zip(&LOADED).find(|(_, place)| place.get().is_none())?;
        place.set((entry, origin)).ok()?;
        Some(Algorithm(number))
    }

    fn is_written(self, text: &str) -> bool {
        let file = |path: &Path| path.canonicalize().ok();
        self.of_loaded().is_some_and(|(_, origin)| {
            origin.written.iter().any(|written| written == text)
                || (text.ends_with(".h")
                    && file(Path::new(text)).is_some_and(|of| Some(of) == file(&origin.header)))
        })
    }

    fn of_loaded(self) -> Option<&'static (Entry, Origin)> {
        LOADED.get(self.0.checked_sub(FIRST_LOADED)? as usize)?.get()
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
