//! Internal: only Fairpace's own crates use it. The part in Rust of the Python package `fairpace`: the module
//! `fairpace._fairpace`.
//!
//! The package in `python/fairpace` is what users import. Here is what it needs from the other crates:
//! [`run`] simulates a scenario, [`table`] hands its series and results to data frames through the Arrow C
//! data interface, [`error`] turns errors into exceptions with the words of the command line, [`interrupt`]
//! lets Ctrl-C end a run. [`evaluate`] and [`duels`] perform many runs, with arguments that the parser of the
//! command line reads, and [`gym`] steps environments for reinforcement learning. [`rows`]
//! makes many runs of a sweep, and [`row_table`] puts their results in tables. Python's lock is released
//! while anything is simulated.
//!
//! The package needs no root and no BPF: it has no kernel, and boots one in virtual time only if it is asked
//! to, with the command line's program in it. It computes no metric, and no panic reaches
//! Python: such a panic would be an exception, and a bug. Tests are in Python (`tests`, by `make python`).

#![allow(rustdoc::private_intra_doc_links, reason = "an extension module has no public items")]

mod duels;
mod error;
mod evaluate;
mod gym;
mod interrupt;
mod row_table;
mod rows;
mod run;
mod scenario;
mod table;

/// The module that `python/fairpace` imports.
#[pyo3::pymodule]
mod _fairpace {
    #[pymodule_export]
    use crate::duels::{Duels, duels};
    #[pymodule_export]
    use crate::evaluate::{Evaluation, evaluate};
    #[pymodule_export]
    use crate::gym::{Environments, action_columns, info_columns, observation_columns};
    #[pymodule_export]
    use crate::rows::{
        Cancel, Rows, error_kinds, expected_cost, failed_rows, parquet_metadata, scenario_hashes,
        simulate_rows, table_of_parquet,
    };
    #[pymodule_export]
    use crate::run::{Result, compare_scenarios, result_of_bytes, run, run_all, run_virtual};
    #[pymodule_export]
    use crate::scenario::{
        Checked, algorithms_json, check, check_for_kernel, load_algorithm, load_named_algorithms,
        read_scenario,
    };
    #[pymodule_export]
    use crate::table::{Table, table_of_bytes};

    /// The commit that the package was built from.
    #[pymodule_export]
    const COMMIT: &str = fairpace_cli_core::host::COMMIT;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
