//! `fairpace-dev level-evidence`: what LEVEL's mechanisms and parameters are worth, and where other
//! algorithms are better; the tables of docs/level-evidence.md.
//!
//! Five tables count cases of criteria, as `evaluate` does, and share its kept runs: [`ablation`],
//! [`sweep`], [`trade`], [`paths`] and [`better`]. Which parameters there are, their defaults and their
//! ranges come from the algorithm. The other four, [`sheets`], measure the scenarios of
//! `evaluation/level-evidence`.

mod ablation;
mod better;
mod counts;
mod measured;
mod parameters;
mod paths;
mod sheets;
mod sweep;
mod trade;

use std::path::Path;

use fairpace_cc::{Algorithm, Parameter};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Form;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{EvidenceTable, LevelEvidenceArgs};
use crate::marked_page::Page;

/// The algorithm whose evidence it is.
const LEVEL: &str = "level";
const TITLE: &str = "LEVEL: evidence";

/// What all tables need.
struct Context<'a> {
    args: &'a LevelEvidenceArgs,
    global: Global,
    signals: &'a Signals,
}

/// What a table becomes.
struct Made {
    /// In Markdown.
    text: String,
    /// Its rows, as `--json` prints them.
    record: Value,
    /// Names of SVG files beside the page, and their contents.
    pictures: Vec<(String, String)>,
}

pub(crate) fn run(
    args: &LevelEvidenceArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let context = Context { args, global, signals };
    let tables = if args.tables.is_empty() { &EvidenceTable::ALL[..] } else { &args.tables[..] };
    check_page(args, tables)?;
    let mut records = Map::new();
    for table in tables {
        let made = context.make(*table)?;
        match args.out.path() {
            Some(path) => write(path, args, *table, &made)?,
            None if !global.json => out.text(&format!("{}\n", made.text))?,
            None => {}
        }
        records.insert(table.name().replace('-', "_"), made.record);
    }
    match args.out.path() {
        _ if global.json => out.json(&records),
        Some(path) if !global.quiet => out.line(&format!("the tables are in {}", path.display())),
        _ => Ok(()),
    }
}

const fn page(table: EvidenceTable) -> Page<'static> {
    Page { command: table.command(), title: TITLE }
}

/// An unusable page is an error before the long run.
fn check_page(args: &LevelEvidenceArgs, tables: &[EvidenceTable]) -> Result<(), Failure> {
    for table in tables {
        args.out.open(page(*table))?;
    }
    match args.out.path() {
        Some(path) if tables.len() > 1 && !path.exists() => {
            let message = format!("{} is no page with marks for {} tables", path.display(), tables.len());
            let help = "name one table, or a copy of docs/level-evidence.md";
            Err(Failure::new(Exit::Usage, message, help))
        }
        _ => Ok(()),
    }
}

/// Writes a table to its page, which an earlier table may have changed, and its pictures.
fn write(path: &Path, args: &LevelEvidenceArgs, table: EvidenceTable, made: &Made) -> Result<(), Failure> {
    for (name, picture) in &made.pictures {
        let path = path.with_file_name(name);
        new_file::write(&path, picture).map_err(|error| {
            Failure::file("cannot write", &path, &error, "name a page in another folder with --out")
        })?;
    }
    args.out.open(page(table))?.map_or(Ok(()), |marked| marked.write(&made.text))
}

impl Context<'_> {
    fn make(&self, table: EvidenceTable) -> Result<Made, Failure> {
        match table {
            EvidenceTable::Ablation => ablation::make(self),
            EvidenceTable::Sweep => sweep::make(self),
            EvidenceTable::Trade => trade::make(self),
            EvidenceTable::Paths => paths::make(self),
            EvidenceTable::Better => better::make(self),
            EvidenceTable::ShortFlows => sheets::SHORT_FLOWS.make(self),
            EvidenceTable::Neighbours => sheets::NEIGHBOURS.make(self),
            EvidenceTable::Queue => sheets::QUEUE.make(self),
            EvidenceTable::Collapse => sheets::COLLAPSE.make(self),
        }
    }

    /// The form of the cases, if not all of them are too many.
    fn form(&self) -> Form {
        if self.args.quick { Form::Quick } else { Form::Full }
    }

    /// Number of seeds, if the full form has this many.
    fn seeds(&self, full: u32) -> u32 {
        self.args.seeds.unwrap_or(if self.args.quick { 1 } else { full })
    }

    /// What the numbers come from, in a line before the table.
    fn facts(&self, form: Form, seeds: u32, runs: usize) -> String {
        let form = match form {
            Form::Full => "Full form",
            Form::Quick => "Quick form",
        };
        let seeds = if seeds == 1 { "seed 1".to_owned() } else { format!("seeds 1 to {seeds}") };
        let only = match self.args.matching.as_str() {
            "" => String::new(),
            text => format!(", only cases with `{text}` in their name"),
        };
        format!("{form}, {seeds}{only}; {runs} simulations; commit\n`{COMMIT}`.\n\n")
    }
}

/// The parameters of LEVEL.
fn parameters() -> Result<&'static [Parameter], Failure> {
    let level = Algorithm::by_name(LEVEL);
    let level = level.map_err(|error| Failure::new(Exit::Internal, error.to_string(), "see cc/level.h"))?;
    Ok(level.parameters())
}

/// Rows as JSON.
fn record<R: Serialize>(rows: &[R]) -> Result<Value, Failure> {
    serde_json::to_value(rows).map_err(|error| Failure::new(Exit::Internal, error.to_string(), ""))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A call with these folders, which the repository has.
    pub(super) fn arguments() -> LevelEvidenceArgs {
        let folder =
            |name: &str| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation")).join(name);
        let words = ["fairpace-dev", "level-evidence", "queue"];
        let cli: crate::Cli = clap::Parser::try_parse_from(words).unwrap();
        let crate::args::Command::LevelEvidence(args) = cli.command else { panic!("another command") };
        LevelEvidenceArgs { criteria: folder("level"), scenarios: folder("level-evidence"), ..args }
    }

    #[test]
    fn the_page_of_the_repository_has_the_marks_of_every_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/level-evidence.md");
        let text = std::fs::read_to_string(path).unwrap();
        for table in EvidenceTable::ALL {
            let mark = format!("<!-- generated by `fairpace-dev {}`: do not edit below -->", table.command());
            assert!(text.contains(&mark), "{mark}");
        }
    }
}
