//! What a validation measures, as `--json` prints it.

use serde::Serialize;

use super::judge::Quantity;

/// Version of the record that `--json` prints.
pub(super) const SCHEMA: &str = "fairpace.validation/1";

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) schema: &'static str,
    pub(super) commit: &'static str,
    /// Release of the running kernel (`uname -r`).
    pub(super) kernel: String,
    /// Runs of each scenario on the kernel.
    pub(super) kernel_runs: u32,
    /// Simulations of each scenario, with the seeds 1, 2, ...
    pub(super) seeds: u32,
    pub(super) scenarios: Vec<Compared>,
}

/// One scenario on both hosts.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    /// Its file, without folder and ending.
    pub(super) name: String,
    /// Algorithm and settings of a flow that was drawn; left out for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    pub(super) title: String,
    pub(super) hash: String,
    pub(super) window_s: [f64; 2],
    /// Undisturbed runs on the kernel.
    pub(super) runs: u32,
    /// Disturbed runs on the kernel, which were repeated or given up.
    pub(super) disturbed: u32,
    pub(super) quantities: Vec<Quantity>,
}

impl Record {
    /// The number of drawn flows, and of those that agree.
    pub(super) fn drawn(&self) -> (usize, usize) {
        let drawn = || self.scenarios.iter().filter(|scenario| scenario.kind.is_some());
        (drawn().count(), drawn().filter(|scenario| scenario.agrees() == Some(true)).count())
    }
}

impl Compared {
    /// Whether every judged quantity agrees; `None` without an undisturbed run on the kernel.
    pub(super) fn agrees(&self) -> Option<bool> {
        let verdicts = self.quantities.iter().filter(|q| q.allowed.is_some()).map(|q| q.agrees);
        verdicts.collect::<Option<Vec<_>>>().map(|all| all.into_iter().all(|agrees| agrees))
    }
}
