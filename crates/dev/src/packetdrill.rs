//! `fairpace-dev packetdrill`: scripts of packetdrill against the simulated TCP, one by one or a whole list
//! of public scripts with its page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table;
use fairpace_packetdrill::{Mutant, Outcome, Population, Record, Script, run as perform};
use serde::Serialize;

use crate::args::PacketdrillArgs;
use crate::marked_page::{self, MarkedPage, Page, publish};

const PAGE: Page<'_> = Page { command: "packetdrill", title: "packetdrill" };
/// Share of a list's scripts that must pass, in per cent: what is left is named on the page and in
/// FIDELITY.md.
const LEAST_PERCENT: usize = 90;

/// The record that `--json` prints.
#[derive(Debug, Default, Serialize)]
struct Report {
    passed: usize,
    failed: usize,
    inexpressible: usize,
    scripts: Vec<Record>,
    /// Of a list: scripts that it leaves out, and those that could not be had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    leaves: Vec<LeftOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<LeftOut>,
    /// Of a list: the faults of the sender.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mutants: Vec<Fault>,
}

/// A script of a list that is not run.
#[derive(Debug, Serialize)]
struct LeftOut {
    script: String,
    reason: String,
}

/// A fault of the sender, with the scripts that pass without it and fail with it.
#[derive(Debug, Serialize)]
struct Fault {
    mutant: &'static str,
    found_by: Vec<String>,
}

/// A script with its name and its text.
struct Named {
    name: String,
    path: PathBuf,
    text: String,
}

pub(crate) fn run(args: &PacketdrillArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    match &args.population {
        Some(list) => of_population(args, list, global, out),
        None => of_files(args, global, out),
    }
}

fn of_files(args: &PacketdrillArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let scripts = args.files.iter().map(|path| read(path, path.display().to_string()));
    let scripts = scripts.collect::<Result<Vec<_>, _>>()?;
    let report = Report::of(&scripts, args.mutant.map(|name| name.0));
    out.record(&report, global, |report| text(report, &scripts))?;
    let total = report.scripts.len();
    let help = "the lines above name what was expected, and what the stack did and when";
    match (report.failed, report.inexpressible) {
        (0, 0) => Ok(()),
        (0, n) => {
            let message = format!("{n} of {total} scripts cannot be expressed");
            Err(Failure::new(Exit::Usage, message, "docs/packetdrill.md lists what can be expressed"))
        }
        (n, _) => Err(Failure::new(Exit::Internal, format!("{n} of {total} scripts failed"), help)),
    }
}

fn of_population(
    args: &PacketdrillArgs,
    list: &Path,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let file = list.display().to_string();
    let written = fs::read_to_string(list).map_err(|error| unreadable(list, &error))?;
    let population = Population::parse(&file, &written)
        .map_err(|problem| Failure::from(fairpace_scenario::Invalid { problems: vec![*problem] }))?;
    let marked = args.out.as_deref().map(|page| MarkedPage::open(page, PAGE)).transpose()?;
    let scripts = population.stays().map(|name| read(&below_root(args, name)?, name.clone()));
    let scripts = scripts.collect::<Result<Vec<_>, Failure>>()?;
    let mut report = Report::of(&scripts, args.mutant.map(|name| name.0));
    for (name, mutant) in Mutant::ALL {
        let found = Report::of(&scripts, Some(mutant));
        let pairs = report.scripts.iter().zip(found.scripts);
        let found = pairs.filter(|(without, with)| without.outcome == "passed" && with.outcome != "passed");
        let found_by = found.map(|(_, with)| with.script).collect();
        report.mutants.push(Fault { mutant: name, found_by });
    }
    let left_out = |of: &BTreeMap<String, String>| -> Vec<LeftOut> {
        of.iter().map(|(script, why)| LeftOut { script: script.clone(), reason: why.clone() }).collect()
    };
    (report.leaves, report.absent) = (left_out(&population.leaves), left_out(&population.absent));
    let tables = tables(&report, &population);
    publish(marked, &tables, &report, global, out)?;
    if report.passed * 100 >= report.scripts.len() * LEAST_PERCENT {
        return Ok(());
    }
    let message = format!("{} of {} scripts pass", report.passed, report.scripts.len());
    let help = format!("at least {LEAST_PERCENT} % must: each of the others needs its reason in FIDELITY.md");
    Err(Failure::new(Exit::Internal, message, help))
}

/// The path of a script of a list: its first part is the name of a root.
fn below_root(args: &PacketdrillArgs, name: &str) -> Result<PathBuf, Failure> {
    let (root, rest) = name.split_once('/').unwrap_or(("", name));
    match args.root.iter().find(|known| known.name == root) {
        Some(known) => Ok(known.folder.join(rest)),
        None => {
            let message = format!("there is no root {root:?} for {name}");
            Err(Failure::new(Exit::Usage, message, format!("name its folder with --root {root}=DIR")))
        }
    }
}

fn read(path: &Path, name: String) -> Result<Named, Failure> {
    let text = fs::read(path).map_err(|error| unreadable(path, &error))?;
    Ok(Named { name, path: path.to_owned(), text: String::from_utf8_lossy(&text).into_owned() })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display()), "name another file")
}

impl Report {
    fn of(scripts: &[Named], mutant: Option<Mutant>) -> Report {
        let mut report = Report::default();
        for script in scripts {
            let file = script.path.display().to_string();
            let record = match Script::parse(&file, &script.text) {
                Ok(parsed) => perform(&parsed, mutant).record(&script.name),
                // a text that cannot be read cannot be expressed
                Err(problem) => Outcome::Inexpressible(problem).record(&script.name),
            };
            match record.outcome {
                "passed" => report.passed += 1,
                "failed" => report.failed += 1,
                _ => report.inexpressible += 1,
            }
            report.scripts.push(record);
        }
        report
    }

    fn counts(&self) -> String {
        let Report { passed, failed, inexpressible, .. } = self;
        format!("{passed} passed, {failed} failed, {inexpressible} cannot be expressed")
    }
}

fn text(report: &Report, scripts: &[Named]) -> String {
    let mut rows = table::table(&["script", "outcome"], 2);
    let mut explained = String::new();
    for (record, script) in report.scripts.iter().zip(scripts) {
        rows.add_row([record.script.as_str(), record.outcome]);
        let (Some(message), Some(line)) = (&record.message, record.line) else { continue };
        let written = script.text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim();
        let detail = record.detail.as_deref().unwrap_or("");
        let _ = writeln!(explained, "\n{}:{line}: {message}\n  {written}\n  {detail}", record.script);
    }
    let ignored: Vec<String> = report
        .scripts
        .iter()
        .filter(|record| !record.ignored.is_empty())
        .map(|record| format!("{}: without effect: {}\n", record.script, record.ignored.join(", ")))
        .collect();
    let ignored = ignored.concat();
    let gap = if ignored.is_empty() { "" } else { "\n" };
    format!("{}{explained}{gap}{ignored}\n{}\n", table::text(&rows), report.counts())
}

/// The tables of the page.
fn tables(report: &Report, population: &Population) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let others = report.scripts.iter().filter(|record| record.outcome != "passed").map(|record| {
        let Record { script, outcome, line, message, detail, .. } = record;
        let [message, detail] = [message, detail].map(|text| cell(text.as_deref().unwrap_or("")));
        format!("{script} | {} | {outcome} | {message} | {detail}", line.unwrap_or(0))
    });
    let mutants = report.mutants.iter().map(|fault| {
        let first = fault.found_by.first().map_or("none", String::as_str);
        format!("{} | {} | {first}", fault.mutant, fault.found_by.len())
    });
    let left_out = |of: &LeftOut| format!("{} | {}", of.script, cell(&of.reason));
    [
        marked_page::table(
            "root | scripts | leave | absent | run | passed | failed | cannot be expressed",
            roots(report, population).into_iter(),
        ),
        marked_page::table("script | line | outcome | message | the stack", others),
        marked_page::table("fault of the sender | scripts that find it | the first of them", mutants),
        marked_page::table("script that leaves | feature of its input", report.leaves.iter().map(left_out)),
        marked_page::table("script that is absent | reason", report.absent.iter().map(left_out)),
    ]
    .join("\n")
}

/// A row for each root, and one for all.
fn roots(report: &Report, population: &Population) -> Vec<String> {
    let mut names: Vec<&str> =
        population.scripts.iter().filter_map(|name| name.split_once('/')).map(|(root, _)| root).collect();
    names.dedup();
    let all = names.len() > 1;
    let prefixes = names.iter().map(|name| (*name, format!("{name}/")));
    let prefixes = prefixes.chain(all.then(|| ("all", String::new())));
    prefixes
        .map(|(name, prefix)| {
            let of = |names: &mut dyn Iterator<Item = &String>| {
                names.filter(|name| name.starts_with(&prefix)).count()
            };
            let with = |outcome: &str| {
                let records = report.scripts.iter();
                records.filter(|r| r.script.starts_with(&prefix) && r.outcome.starts_with(outcome)).count()
            };
            let counts = [
                of(&mut population.scripts.iter()),
                of(&mut population.leaves.keys()),
                of(&mut population.absent.keys()),
                with(""),
                with("passed"),
                with("failed"),
                with("cannot"),
            ];
            format!("{name} | {}", counts.map(|count| count.to_string()).join(" | "))
        })
        .collect()
}
