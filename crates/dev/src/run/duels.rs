//! Every algorithm against every other one on one link, and the page with the results.

use std::path::{Path, PathBuf};

use clap::Parser;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::duels::{Duels, Plan};
use fairpace_scenario::hash_of_all;
use serde::Deserialize;

use super::duels_page;
use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page, publish};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    title: String,
    /// The page of the tables, from the top of the checkout.
    page: PathBuf,
    /// The options of [`Duels`] by their names.
    duels: toml::Table,
}

/// The options, as a command line has them.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Options {
    #[command(flatten)]
    duels: Duels,
}

impl File {
    /// Reads a file.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| wrong(path, error.to_string().trim()))
    }

    fn options(&self, path: &Path) -> Result<Duels, Failure> {
        let mut words = Vec::new();
        for (name, value) in &self.duels {
            let values = match value {
                toml::Value::Array(values) => values.iter().collect(),
                one => vec![one],
            };
            let text = |value: &toml::Value| value.as_str().map_or(value.to_string(), str::to_owned);
            words.extend(values.into_iter().map(|value| format!("--{name}={}", text(value))));
        }
        let options = Options::try_parse_from(words);
        Ok(options.map_err(|error| wrong(path, error.to_string().trim()))?.duels)
    }

    /// Measures and shows its tables.
    pub(super) fn run(
        &self,
        path: &Path,
        args: &RunArgs,
        global: Global,
        signals: &Signals,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let mut options = self.options(path)?;
        if args.short {
            options.seeds = 1;
        }
        let names = options.names()?;
        let plan = Plan::new(&options, &names)?;
        let command = format!("run {}", super::named(path, args));
        let page = Page { command: &command, title: &self.title };
        let to = args.dir.join(&self.page);
        if args.check {
            let is_current = MarkedPage::read(&to, page)?.says(&hash_of_all(plan.scenarios()));
            return if is_current { Ok(()) } else { Err(super::stale(&to, path)) };
        }
        let marked = if args.write { Some(MarkedPage::open(&to, page)?) } else { None };
        let mut record = plan.measure(args.jobs, signals, global.quiet)?;
        record.command = format!("fairpace-dev {command}");
        publish(marked, &duels_page::generated(&record), &record, global, out)
    }
}

fn wrong(path: &Path, message: &str) -> Failure {
    let help = "[duels] has options as crates/experiment/src/duels/mod.rs explains them";
    Failure::new(Exit::Usage, format!("{}: {message}", path.display()), help)
}
