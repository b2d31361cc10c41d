//! The record of a validation, as `--json` prints it.

use serde::Serialize;

use super::judge::Quantity;

/// Name and version of the record that `--json` prints.
pub(super) const SCHEMA: &str = "fairpace.validation/2";

/// All results of a validation.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) schema: &'static str,
    pub(super) commit: &'static str,
    /// The kernels. The simulator is judged by the first one.
    pub(super) kernels: Vec<OnKernel>,
    /// Number of simulations of each scenario, with the seeds 1, 2, ...
    pub(super) seeds: u32,
    pub(super) scenarios: Vec<Compared>,
}

/// A kernel that ran all scenarios.
#[derive(Debug, Serialize)]
pub(super) struct OnKernel {
    /// Its name in the heads of tables.
    pub(super) name: String,
    /// Release of the running kernel (`uname -r`), or the description of one in virtual time.
    pub(super) kernel: String,
    /// Number of runs of each scenario.
    pub(super) runs: u32,
}

/// The results of one scenario on all hosts.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    /// Name of the scenario's file, without folder and extension.
    pub(super) name: String,
    /// Algorithm and settings of a drawn flow; left out for other scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    pub(super) title: String,
    pub(super) hash: String,
    pub(super) window_s: [f64; 2],
    /// Number of undisturbed runs on each kernel.
    pub(super) runs: Vec<u32>,
    /// Number of disturbed runs on all kernels, which were repeated or given up.
    pub(super) disturbed: u32,
    pub(super) quantities: Vec<Quantity>,
}

impl Record {
    /// The number of drawn flows, and the number of drawn flows that agree.
    pub(super) fn drawn(&self) -> (usize, usize) {
        let drawn = || self.scenarios.iter().filter(|scenario| scenario.kind.is_some());
        (drawn().count(), drawn().filter(|scenario| scenario.agrees() == Some(true)).count())
    }
}

impl Compared {
    /// Whether every judged quantity agrees; `None` if every run on the first kernel was disturbed.
    pub(super) fn agrees(&self) -> Option<bool> {
        let verdicts = self.quantities.iter().filter(|q| q.allowed.is_some()).map(|q| q.agrees);
        verdicts.collect::<Option<Vec<_>>>().map(|all| all.into_iter().all(|agrees| agrees))
    }
}
