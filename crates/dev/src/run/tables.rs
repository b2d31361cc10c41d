//! Tables of what runs measure.

use std::path::Path;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::measure::{Outcome, Outcomes};
use fairpace_papers::plan::Plan;
use fairpace_papers::shown::Cell;
use fairpace_papers::tables::{Table, Tables};
use fairpace_scenario::{Scenario, Target};
use serde::Serialize;

use super::{csv_file, simulate, store};
use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page};

/// What `--json` prints of a file.
#[derive(Debug, Serialize)]
struct Record<'a> {
    title: &'a str,
    commit: &'static str,
    /// SHA-256 over everything that was run.
    scenarios_hash: String,
    tables: Vec<Rows<'a>>,
}

/// A table.
#[derive(Debug, Serialize)]
struct Rows<'a> {
    name: &'a str,
    rows: Vec<Vec<Cell>>,
}

pub(super) fn run(
    path: &Path,
    of: &Tables,
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let chosen = super::chosen(&of.tables, |table| &table.name, &args.table)?;
    let (files, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|table| !table.file.is_empty());
    let files = files.into_iter().map(|table| csv_file::run(path, (of, table), args, global, signals, out));
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    if chosen.is_empty() {
        return if global.json { out.json(&files) } else { Ok(()) };
    }
    let mut plan = of.plan(args.short)?;
    let hash = plan.hash();
    // what a table on a page says of the runs behind it
    let source = format!("scenarios `{}`", &hash[..16]);
    let to = args.dir.join(&of.page);
    let named = super::named(path, args);
    let command = |table: &Table| format!("run {named} --table {}", table.name);
    // an unusable page is an error before the long run
    let mut pages = Vec::new();
    for table in chosen.iter().filter(|_| args.write || args.check) {
        let command = command(table);
        let page = Page { command: &command, title: &of.title };
        pages.push(if args.check { MarkedPage::read(&to, page) } else { MarkedPage::open(&to, page) }?);
    }
    if args.check {
        let is_stale = |page: &&MarkedPage| !page.says(&source);
        return pages.iter().find(is_stale).map_or(Ok(()), |page| Err(super::stale(page.path(), path)));
    }
    let figure = &of.sheet.figure;
    let is_shown = |run: usize| chosen.iter().any(|table| table.shows(&figure.runs[run].name));
    plan.cases.retain(|case| is_shown(case.run));
    let outcomes = outcomes(&of.sheet.dir, &plan, args, global, signals)?;
    let outcomes = Outcomes { figure, all: &outcomes };
    if global.json {
        let rows = |table: &&'_ Table| (table.name.clone(), table.cells(&outcomes));
        let rows: Vec<_> = chosen.iter().map(rows).collect();
        let tables = rows.iter().map(|(name, rows)| Rows { name, rows: rows.clone() }).collect();
        return out.json(&Record { title: &of.title, commit: COMMIT, scenarios_hash: hash, tables });
    }
    for table in &chosen {
        let text = format!("{}\nCommit `{COMMIT}`, {source}.\n", table.markdown(&outcomes));
        if !args.write {
            out.text(&format!("{text}\n"))?;
            continue;
        }
        // an earlier table has changed the page
        MarkedPage::open(&to, Page { command: &command(table), title: &of.title })?.write(&text)?;
    }
    match args.write && !global.quiet {
        true => out.line(&format!("the tables are in {}", to.display())),
        false => Ok(()),
    }
}

/// Simulates what is not kept, and reads all of it.
fn outcomes(
    folder: &Path,
    plan: &Plan,
    args: &RunArgs,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Outcome>, Failure> {
    simulate(plan.scenarios(), folder, |run| run, args, global, signals)?;
    let kept = |of: &Scenario| store(folder, of).get(of, Target::Simulator);
    let outcomes = plan.cases.iter().map(|case| case.outcome(kept)).collect::<Result<_, String>>();
    outcomes.map_err(|message| Failure::new(Exit::Internal, message, ""))
}
