//! Results of a figure that was just run, and the findings of the quick versions, which CI compares with
//! those on record in `reproduction/results/short.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_cli_core::new_file::write;
use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::draw::pictures;
use crate::figure::{Figure, Stack};
use crate::judge::{self, Rule};
use crate::load::RESULTS;
use crate::measure::{Outcome, Outcomes, round};
use crate::record::{Cost, Finding, Measured, Verdict};
use crate::sheet::Sheet;

/// The measurements of a figure in one place with one stack. `scenarios_hash` is the hash of its plan,
/// `commit` that of the program.
#[must_use]
pub fn measured(
    sheet: &Sheet,
    stack: &Stack,
    on: Target,
    rule: Rule,
    outcomes: &[Outcome],
    scenarios_hash: String,
    commit: &str,
) -> Measured {
    let all = Outcomes { figure: &sheet.figure, all: outcomes };
    let (values, shapes) = judge::numbers(&all, on);
    let runs = || outcomes.iter().flat_map(|outcome| outcome.gave.runs());
    let sum = |of: fn(&fairpace_results::Cost) -> f64| {
        round(runs().map(|run| of(&run.summary.cost)).filter(|cost| cost.is_finite()).sum())
    };
    let named = [Target::Simulator, Target::Testbed].map(Target::name);
    let in_virtual_time = runs().find(|run| !named.contains(&run.summary.on.as_str()));
    let cost = Cost {
        commit: commit.to_owned(),
        kernel: in_virtual_time.map_or_else(String::new, |run| run.summary.on.clone()),
        scenarios_hash,
        runs: u32::try_from(runs().count()).unwrap_or(u32::MAX),
        wall_s: sum(|cost| cost.wall_s),
        cpu_s: sum(|cost| cost.cpu_s),
        packets: runs().map(|run| run.summary.cost.data_packets).sum(),
    };
    let (stack, verdict, pictures) = (stack.name.clone(), Verdict::NotRun, pictures(&all));
    let mut measured = Measured { on, stack, cost, verdict, values, shapes, pictures };
    judge::find(&sheet.figure, rule, &mut measured);
    measured
}

/// Results of the quick versions, by [`Sheet::name_on`].
pub type Short = BTreeMap<String, Quick>;

/// The result of a quick version, judged by means: [`Rule::Mean`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quick {
    /// The verdict on the figure.
    pub verdict: Verdict,
    /// Number of values and shapes that were measured.
    pub measured: usize,
    /// Names of the values and shapes that do not hold.
    pub fails: Vec<String>,
}

impl Quick {
    /// The result of a figure that was just run.
    #[must_use]
    pub fn of(figure: &Figure, measured: &Measured) -> Self {
        let all = figure.checks().map(|(what, ..)| what).zip(measured.findings());
        let all: Vec<_> = all.filter(|(_, finding)| *finding != Finding::NotMeasured).collect();
        let fails = all.iter().filter(|(_, finding)| *finding != Finding::Holds);
        Self {
            verdict: measured.verdict,
            measured: all.len(),
            fails: fails.map(|(what, _)| (*what).to_owned()).collect(),
        }
    }
}

/// Path of the file with the results of the quick versions.
#[must_use]
pub fn short_path(root: &Path) -> PathBuf {
    root.join(RESULTS).join("short.json")
}

/// Loads the recorded results of the quick versions; a missing file gives none.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn load_short(root: &Path) -> io::Result<Short> {
    match std::fs::read_to_string(short_path(root)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Short::new()),
        other => serde_json::from_str(&other?).map_err(io::Error::other),
    }
}

/// Stores the results of the quick versions.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn store_short(root: &Path, short: &Short) -> io::Result<()> {
    write(&short_path(root), &(serde_json::to_string_pretty(short).map_err(io::Error::other)? + "\n"))
}
