//! Duels, every algorithm against every other one on one link, and the page with the results.

use std::path::PathBuf;

use fairpace_cli_core::args;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_experiment::duels::{Duels, Plan};
use fairpace_scenario::hash_of_all;
use serde::Deserialize;

use super::{Call, Experiment, duels_page};
use crate::marked_page::publish;

/// The content of a file of duels.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    title: String,
    /// Path of the page with the tables, from the root of the checkout.
    page: PathBuf,
    /// The options of [`Duels`] by their names.
    duels: toml::Table,
}

impl Experiment for File {
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure> {
        let mut options = self.options().map_err(|wrong| {
            let help = "[duels] has options as crates/experiment/src/duels/mod.rs explains them";
            Failure::new(Exit::Usage, format!("{}: {wrong}", call.path.display()), help)
        })?;
        if call.args.short {
            options.seeds = 1;
        }
        let plan = Plan::new(&options)?;
        let command = call.command();
        let page = call.page(&self.page, &command, &self.title)?;
        if call.is_checked(page.as_ref(), &hash_of_all(plan.scenarios()))? {
            return Ok(());
        }
        let mut record = plan.measure(call.args.jobs, call.signals, call.global.quiet)?;
        record.command = format!("fairpace-dev {command}");
        publish(page, &duels_page::generated(&record), &record, call.global, out)
    }
}

impl File {
    fn options(&self) -> Result<Duels, Failure> {
        let mut words = Vec::new();
        for (name, value) in &self.duels {
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let text = |value: &toml::Value| value.as_str().map_or(value.to_string(), str::to_owned);
            words.extend(values.iter().map(|value| format!("--{name}={}", text(value))));
        }
        args::parse(&words)
    }
}
