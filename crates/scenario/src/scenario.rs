//! The scenario as a whole, with the keys at the top of the file.

use std::path::Path;
use std::time::Duration;

use crate::flow::Flow;
use crate::key::{DAY, Kind, MS, S, TIME};
use crate::link::Link;
use crate::row::{Row, field};

/// The largest seed: the largest integer of TOML.
pub const MOST_SEED: u64 = i64::MAX as u64;

/// A scenario: everything that decides a run, apart from the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The comparison in a few words.
    pub title: String,
    /// The reason for the comparison; may be empty.
    pub why: String,
    /// The source of all randomness.
    pub seed: u64,
    /// Length of the run: from the earliest possible start of a flow to the end.
    pub duration: Duration,
    /// The measurement window: from, to.
    pub window: (Duration, Duration),
    /// Distance of two points in the time series.
    pub interval: Duration,
    /// The links, in the order of the file.
    pub links: Vec<Link>,
    /// The flows, in the order of the file, groups expanded.
    pub flows: Vec<Flow>,
    /// [`Scenario::canonical_hash`]: SHA-256, in hex, of everything that decides the outcome, except the
    /// seed.
    pub hash: String,
}

/// Most characters of a title.
const MOST_TITLE: usize = 200;

/// Returns the title of a scenario whose file, of this name, has none.
pub(crate) fn title_of(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_control() { '_' } else { c };
    let title: String = stem.chars().map(plain).take(MOST_TITLE).collect();
    if title.is_empty() { "scenario".to_owned() } else { title }
}

impl Scenario {
    /// Returns a scenario of this length without links and flows; all other keys have their defaults.
    pub(crate) fn of_length(duration: Duration) -> Self {
        // a third, in whole milliseconds: it is printed
        let third = Duration::from_millis(u64::try_from(duration.as_millis() / 3).unwrap_or(u64::MAX));
        Self {
            title: String::new(),
            why: String::new(),
            seed: 1,
            duration,
            window: (third.min(Duration::from_secs(20)), duration),
            interval: Duration::from_millis(100).min(duration / 10),
            links: Vec::new(),
            flows: Vec::new(),
            hash: String::new(),
        }
    }
}

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Scenario>] = &[
    Row::top("title", Kind::Text, field!(Scenario, title), "What is compared, in a few words.")
        .range(1, MOST_TITLE as u64).example("\"Flows with RTTs of 10 and 50 ms share a deep buffer\"")
        .or("the file's name without its end").always_printed().not_hashed(),
    Row::top("why", Kind::Text, field!(Scenario, why), "Why it is worth running.")
        .range(0, 10_000).or("empty").always_printed().multiline().not_hashed(),
    Row::top("seed", Kind::Integer, field!(Scenario, seed),
        "Source of all randomness: the same seed gives the same simulation.")
        .range(0, MOST_SEED).optional().always_printed().not_hashed(),
    Row::top("duration", TIME, field!(Scenario, duration), "Length of the run.")
        .range(100 * MS, DAY).example("\"60s\""),
    Row::top("interval", TIME, field!(Scenario, interval),
        "Distance of two points in the time series; at most a million points, and ten million over all \
         flows.")
        .range(MS / 10, 3600 * S).or("100ms, or a tenth of a run shorter than 1s").always_printed(),
    Row::window("from", TIME, field!(Scenario, window.0),
        "Start of the measurement window: metrics cover the run from here.")
        .range(0, DAY).or("20s, or a third of a run shorter than 60s").always_printed(),
    Row::window("to", TIME, field!(Scenario, window.1), "End of the measurement window.")
        .range(0, DAY).or("the run's end").always_printed(),
];
