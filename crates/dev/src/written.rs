//! Which files a command has written.

use std::path::Path;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use serde::Serialize;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    written: Vec<String>,
}

/// Shows these files: a line for each, or one record.
pub(crate) fn report(files: &[&Path], global: Global, out: &mut Output) -> Result<(), Failure> {
    let mut names = files.iter().map(|path| path.display().to_string());
    if global.json {
        return out.json(&Record { written: names.collect() });
    }
    if global.quiet {
        return Ok(());
    }
    names.try_for_each(|name| out.line(&format!("{name} is written")))
}
