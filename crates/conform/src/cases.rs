//! The cases that this crate contains: `conform/bbr` of the repository.

use crate::case::{BadCase, Case};

macro_rules! files {
    ($($name:literal,)*) => {
        /// Names and texts of the case files.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../cases/", $name))),)*];
    };
}

files! {
    "a01-startup-plateau.jsonl",
    "a02-startup-loss.jsonl",
    "a03-drain-inflight.jsonl",
    "a04-drain-time.jsonl",
    "a05-up-plateau.jsonl",
    "a06-up-loss.jsonl",
    "a07-app-limited.jsonl",
    "a08-down-inflight.jsonl",
    "a09-down-time.jsonl",
    "a10-probe-rtt.jsonl",
    "a11-idle.jsonl",
    "a12-startup-aggregation.jsonl",
    "a13-cruise-aggregation.jsonl",
    "a14-sub-packet-bdp.jsonl",
    "a15-bandwidth-up.jsonl",
    "a16-bandwidth-down.jsonl",
    "a17-policer.jsonl",
    "a18-spurious-recovery.jsonl",
    "a19-spurious-timeout.jsonl",
    "a20-probe-rtt-in-startup.jsonl",
    "a21-up-loss-bounded.jsonl",
    "a22-refill-app-limited.jsonl",
}

/// Returns the contained cases, in the order of the draft.
///
/// # Errors
/// None: a test reads all cases.
pub fn contained() -> Result<Vec<Case>, BadCase> {
    FILES.iter().map(|(name, text)| Case::parse(name, text)).collect()
}
