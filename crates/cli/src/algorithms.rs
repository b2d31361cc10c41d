//! `fairpace algorithms`: the algorithms with their parameters.

use fairpace_cli_core::algorithms::{AlgorithmRecord, ParameterRecord};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, table};

/// Address of the page that helps to choose an algorithm.
const WHICH: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/which-algorithm.md");

pub(crate) fn list(global: Global, out: &mut Output) -> Result<(), Failure> {
    let records = AlgorithmRecord::all();
    if global.json {
        return out.json(&records);
    }
    let mut lines = table(&["name", "in the kernel", "what", "source"], 4);
    for record in &records {
        lines.add_row([record.name, record.kernel_name, record.title, record.source]);
    }
    out.text(&table::text(&lines))?;
    out.line(&format!("\nFor whom each is, what it harms, and whether to use it in production:\n{WHICH}"))?;
    for record in records.iter().filter(|record| !record.parameters.is_empty()) {
        let mut lines = table(&["", "parameter", "default", "range", "what", "why"], 6);
        for ParameterRecord { name, default, least, most, meaning, reason, .. } in record.own_parameters() {
            let range = format!("{least} to {most}");
            lines.add_row(["", name, default, range.as_str(), meaning, reason]);
        }
        let of = record.of().map(|of| format!(": {of}")).unwrap_or_default();
        out.text(&format!("\n{}{of}\n{}", record.name, table::text(&lines)))?;
    }
    Ok(())
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
