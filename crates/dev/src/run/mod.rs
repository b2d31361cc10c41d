//! `fairpace-dev run`: experiments that are files.

pub(crate) mod identity;
mod tables;

use std::path::PathBuf;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::tables::Tables;

use crate::args::RunArgs;

pub(crate) fn run(
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    // what is wrong with a later file is an error before the runs of the first
    let files = files(&args.files)?.into_iter().map(|path| Ok((Tables::read(&path)?, path)));
    let files = files.collect::<Result<Vec<_>, Failure>>()?;
    files.iter().try_for_each(|(of, path)| tables::run(path, of, args, global, signals, out))
}

/// The files that are named, and those in the folders that are named.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = |error| Failure::file("cannot read", path, &error, "name a file of an experiment");
        let first = files.len();
        for entry in path.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
        if files.len() == first {
            let message = format!("there is no experiment in {}", path.display());
            return Err(Failure::new(Exit::Usage, message, "experiments are files with the ending .toml"));
        }
        files[first..].sort();
    }
    Ok(files)
}
