//! `fairpace algorithms`: the algorithms with their parameters.

use fairpace_cc::Algorithm;
use fairpace_cli_core::algorithms::{AlgorithmRecord, ParameterRecord};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, prose, table};

use crate::args::AlgorithmsArgs;

/// Address of the page that helps to choose an algorithm.
const WHICH: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/which-algorithm.md");

/// Prints a line for each algorithm, or all about the named ones.
pub(crate) fn run(args: &AlgorithmsArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let named = args.names.iter().map(|name| Ok(Algorithm::by_name(name)?.into()));
    let named: Vec<AlgorithmRecord> = named.collect::<Result<_, Failure>>()?;
    let all = if named.is_empty() { AlgorithmRecord::all() } else { Vec::new() };
    if global.json {
        return out.json(if named.is_empty() { &all } else { &named });
    }
    for (index, record) in named.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        out.text(&format!("{gap}{}", page(record)))?;
    }
    if named.is_empty() {
        let mut lines = table(&["name", "what"], 2);
        for record in &all {
            lines.add_row([record.name, record.title]);
        }
        out.text(&table::text(&lines))?;
        out.line("\n`fairpace algorithms NAME` shows the parameters of one.")?;
    }
    if global.quiet {
        return Ok(());
    }
    out.line(&format!("\nFor whom each is, what it harms, and whether to use it in production:\n{WHICH}"))
}

/// All about one algorithm.
fn page(record: &AlgorithmRecord) -> String {
    let AlgorithmRecord { name, kernel_name, title, source, preset, .. } = record;
    let mut heads = table(&["", ""], 2);
    heads.set_header(Vec::<String>::new());
    heads.add_row([*name, *title]);
    heads.add_row(["in the kernel", *kernel_name]);
    heads.add_row(["source", *source]);
    if let (Some(of), Some(preset)) = (record.of(), preset) {
        let set: Vec<_> = preset.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        heads.add_row(["what it is".to_owned(), format!("{of}: {}", set.join(", "))]);
    }
    let mut text = table::text(&heads);
    if record.parameters.is_empty() {
        return format!("{text}\nIt has no parameters.\n");
    }
    text.push_str("\nParameters, their defaults and ranges:\n\n");
    for ParameterRecord { name, default, least, most, meaning, reason, .. } in &record.parameters {
        text.push_str(&prose(&format!("{name} = {default} ({least} to {most})\n    {meaning} ({reason})\n")));
    }
    text
}

/// Text with a paragraph for each algorithm, for the man page.
pub(crate) fn paragraphs() -> String {
    let paragraph = |record: &AlgorithmRecord| {
        let AlgorithmRecord { name, kernel_name, title, source, preset, .. } = record;
        let preset = preset.as_ref().map(|preset| {
            let set: Vec<_> = preset.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!(" It is {} with {}.", preset.algorithm, set.join(", "))
        });
        format!("{name} (in the kernel {kernel_name}): {title}. {source}.{}", preset.unwrap_or_default())
    };
    AlgorithmRecord::all().iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}
