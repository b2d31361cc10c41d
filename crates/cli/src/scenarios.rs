//! `fairpace scenarios`: the scenarios that the program contains, which `sim` and `testbed` run by name.

use std::path::Path;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::table::{self, prose, table};
use fairpace_scenario::{Scenario, Set, Target, parse_contained};
use serde::Serialize;

use crate::args::{ScenariosArgs, ScenariosCommand};

/// The scenarios and the files that they name, with their paths in the repository's folder `scenarios`.
const CONTAINED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
/// The repository's folder of scenarios.
const FOLDER: &str = "scenarios/";
/// End of the name of a scenario's file.
const END: &str = ".toml";

/// A scenario of the program, as `fairpace scenarios --json` prints it.
#[derive(Serialize)]
struct Record {
    name: &'static str,
    title: String,
    why: String,
    /// The text of the file; left out in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    toml: Option<&'static str>,
}

pub(crate) fn run(args: &ScenariosArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    if let Some(ScenariosCommand::Show { name }) = &args.what {
        let (name, text) = contained(name).ok_or_else(|| unknown(name))?;
        let record = Record { toml: Some(text), ..record(name, text)? };
        return out.record(&record, global, |_| text.to_owned());
    }
    let records = all().map(|(name, text)| record(name, text)).collect::<Result<Vec<_>, _>>()?;
    if global.json {
        return out.json(&records);
    }
    let mut lines = table(&["name", "title"], 2);
    for record in &records {
        lines.add_row([record.name, record.title.as_str()]);
    }
    out.text(&table::text(&lines))?;
    if global.quiet {
        return Ok(());
    }
    let what =
        "\n`fairpace sim NAME` runs one, `fairpace scenarios show NAME` prints it: a file to begin with.";
    out.line(&prose(what))
}

/// Name and text of each scenario.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONTAINED.iter().filter_map(|(path, text)| Some((path.strip_suffix(END)?, *text)))
}

fn record(name: &'static str, text: &str) -> Result<Record, Failure> {
    // a scenario for the kernel's own algorithms is one for the testbed only
    let Scenario { title, why, .. } = parse_contained(name, text, &[], Target::Testbed, CONTAINED)
        .or_else(|_| parse_contained(name, text, &[], Target::Simulator, CONTAINED))?;
    Ok(Record { name, title, why, toml: None })
}

/// The scenario that a user names: `parking-lot`, or by the path that it has in the repository.
fn contained(written: &str) -> Option<(&'static str, &'static str)> {
    let name = written.strip_prefix(FOLDER).unwrap_or(written);
    let name = name.strip_suffix(END).unwrap_or(name);
    all().find(|(known, _)| *known == name)
}

/// Reads a scenario: a file, or else the one of that name in the program.
pub(crate) fn load(file: &Path, sets: &[Set], target: Target, global: Global) -> Result<Scenario, Failure> {
    let written = file.to_string_lossy();
    let is_there = file.symlink_metadata().is_ok();
    match contained(&written) {
        Some((name, text)) if !is_there => {
            if name != written && !global.quiet {
                note(&format!("note: there is no file {written}; the scenario {name} of the program runs"));
            }
            Ok(parse_contained(name, text, sets, target, CONTAINED)?)
        }
        Some((name, _)) if name == written => {
            if !global.quiet {
                let other = format!("{name}.toml in another folder, or `fairpace scenarios show {name}`");
                note(&format!("note: the file {name} runs, not the scenario of the program ({other})"));
            }
            Ok(fairpace_scenario::load(file, sets, target)?)
        }
        None if !is_there => {
            let mut invalid = fairpace_scenario::read(file).err().unwrap_or_default();
            invalid.problems.iter_mut().for_each(|problem| problem.help = advice(&written));
            Err(invalid.into())
        }
        _ => Ok(fairpace_scenario::load(file, sets, target)?),
    }
}

fn unknown(name: &str) -> Failure {
    Failure::new(Exit::Usage, format!("the program has no scenario `{name}`"), advice(name))
}

fn advice(written: &str) -> String {
    let meant = fairpace_cc::nearest(written, all().map(|(name, _)| name));
    let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    format!("{meant}name a file by its path, or one of `fairpace scenarios`, which are in the program")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contained_scenario_is_one_and_that_of_the_repository() {
        assert!(all().count() > 15, "{}", all().count());
        for (name, text) in all() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
            assert_eq!(std::fs::read_to_string(&path).expect("it is a file"), text);
            let of_file = fairpace_scenario::load(&path, &[], Target::Simulator);
            let contained = parse_contained(name, text, &[], Target::Simulator, CONTAINED);
            let hash = |scenario: Scenario| scenario.hash;
            assert_eq!(contained.map(hash).ok(), of_file.map(hash).ok(), "{name}");
        }
    }
}
