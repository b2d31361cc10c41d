//! Tables of numbers that are measured in runs.

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::Output;
use fairpace_papers::measure::{Outcome, Outcomes};
use fairpace_papers::plan::Plan;
use fairpace_papers::shown::Cell;
use fairpace_papers::tables::{Table, Tables};
use fairpace_scenario::{Scenario, Target};
use serde::Serialize;

use super::{Call, Experiment, csv_file, store};

/// The record that `--json` prints for a file.
#[derive(Debug, Serialize)]
struct Record<'a> {
    title: &'a str,
    commit: &'static str,
    /// SHA-256 over everything that was run.
    scenarios_hash: String,
    tables: Vec<Rows<'a>>,
}

/// A table with its rows.
#[derive(Debug, Serialize)]
struct Rows<'a> {
    name: &'a str,
    rows: Vec<Vec<Cell>>,
}

impl Experiment for Tables {
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure> {
        let Call { args, global, .. } = call;
        let chosen = super::chosen(&self.tables, |table| &table.name, &args.table)?;
        let (files, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|table| !table.file.is_empty());
        let files = files.into_iter().map(|table| csv_file::run((self, table), call, out));
        let files: Vec<_> = files.collect::<Result<_, _>>()?;
        if chosen.is_empty() {
            return if global.json { out.json(&files) } else { Ok(()) };
        }
        let mut plan = self.plan(args.short)?;
        let hash = plan.hash();
        // what a table on a page says of the runs behind it
        let source = format!("scenarios `{}`", &hash[..16]);
        let page = |table: &Table| {
            call.page(&self.page, &format!("{} --table {}", call.command(), table.name), &self.title)
        };
        for table in &chosen {
            call.is_checked(page(table)?.as_ref(), &source)?;
        }
        if args.check {
            return Ok(());
        }
        let figure = &self.sheet.figure;
        let is_shown = |run: usize| chosen.iter().any(|table| table.shows(&figure.runs[run].name));
        plan.cases.retain(|case| is_shown(case.run));
        let outcomes = outcomes(&plan, call)?;
        let outcomes = Outcomes { figure, all: &outcomes };
        if global.json {
            let rows = |table: &&'_ Table| (table.name.clone(), table.cells(&outcomes));
            let rows: Vec<_> = chosen.iter().map(rows).collect();
            let tables = rows.iter().map(|(name, rows)| Rows { name, rows: rows.clone() }).collect();
            return out.json(&Record { title: &self.title, commit: COMMIT, scenarios_hash: hash, tables });
        }
        for table in &chosen {
            let text = format!("{}\nCommit `{COMMIT}`, {source}.\n", table.markdown(&outcomes));
            // an earlier table has changed the page
            match page(table)? {
                Some(page) => page.write(&text)?,
                None => out.text(&format!("{text}\n"))?,
            }
        }
        call.report_written(&self.page, out)
    }
}

/// Simulates the runs that are not stored, and returns all outcomes.
fn outcomes(plan: &Plan, call: Call<'_>) -> Result<Vec<Outcome>, Failure> {
    call.simulate(plan.scenarios(), call.folder(), |run| run)?;
    let kept = |scenario: &Scenario| store(call.folder(), scenario).get(scenario, Target::Simulator);
    plan.outcomes(kept).map_err(|message| Failure::new(Exit::Internal, message, ""))
}
