//! Tables that are CSV files. A row that the file already has, with the present scenario and seed, is not
//! simulated again.

use std::collections::HashMap;

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_experiment::evaluation::without_series;
use fairpace_papers::csv_file::{CsvFile, Row};
use fairpace_papers::table;
use fairpace_papers::tables::{Table, Tables};
use fairpace_scenario::Target;
use serde_json::{Value, json};

use super::{Call, store};

/// Simulates the rows that the file lacks, and prints or writes all rows. Returns the record that `--json`
/// prints.
pub(super) fn run(
    (of, table): (&Tables, &Table),
    call: Call<'_>,
    out: &mut Output,
) -> Result<Value, Failure> {
    let Call { path, args, global, .. } = call;
    let (dir, to) = (&of.sheet.dir, of.sheet.dir.join(&table.file));
    let file = CsvFile::new(of, table, &args.only, args.short)?;
    if let Some(place) = args.only.iter().find(|place| !file.rows().any(|row| row.on.contains(place))) {
        let message = format!("no row of {} is at {place}", table.file);
        return Err(Failure::new(Exit::Usage, message, "name points of its axes, as rate=1gbit"));
    }
    let kept = if args.fresh { Ok(HashMap::new()) } else { file.kept(&to) };
    let kept = kept.map_err(|error| {
        let message = format!("cannot read {}: {error}", to.display());
        Failure::new(Exit::Usage, message, "repair it, or move it away: it is written anew")
    })?;
    let missing: Vec<Row<'_>> = file.rows().filter(|row| !kept.contains_key(&row.key())).collect();
    let rows = file.rows().count();
    let done = json!({ "name": table.name, "rows": rows, "added": missing.len() });
    if args.check {
        let lines: Vec<_> = file.rows().filter_map(|row| kept.get(&row.key()).cloned()).collect();
        let is_as_written = table::read(&to).is_ok_and(|text| text == file.text(&lines));
        let message = format!("{} lacks {} of {rows} rows, or has others", to.display(), missing.len());
        let help = format!("fairpace-dev run {} --table {} --write", path.display(), table.name);
        let is_current = is_as_written && missing.is_empty();
        return if is_current { Ok(done) } else { Err(Failure::new(Exit::Internal, message, help)) };
    }
    // no column is of time series
    call.simulate(missing.iter().map(|row| row.scenario), dir, without_series)?;
    let line = |row: Row<'_>| {
        let run = || store(dir, row.scenario).get(row.scenario, Target::Simulator);
        kept.get(&row.key()).cloned().or_else(|| Some(file.line(row, &run()?)))
    };
    let lines: Option<Vec<_>> = file.rows().map(line).collect();
    let gone = || Failure::new(Exit::Internal, "a finished run is gone from the store", "run it again");
    let text = file.text(&lines.ok_or_else(gone)?);
    if args.write {
        let written = table::bytes(&to, &text).and_then(|bytes| new_file::write(&to, bytes));
        let help = "check the folder, its permissions and the disk";
        written.map_err(|error| Failure::file("cannot write", &to, &error, help))?;
    }
    match (args.write, global.json || global.quiet) {
        (true, false) => out.line(&format!("{rows} rows are in {}", to.display()))?,
        (false, _) if !global.json => out.text(&text)?,
        _ => {}
    }
    Ok(done)
}
