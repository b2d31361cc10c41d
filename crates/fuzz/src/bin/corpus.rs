//! Adds inputs to the corpus of a target, or packs a folder of inputs:
//!
//!     cargo run -p fairpace-fuzz --bin corpus -- add TARGET FILE...
//!     cargo run -p fairpace-fuzz --bin corpus -- pack TARGET FOLDER
//!
//! Exit codes: 0, the archive is written; 1, it is as before, for the reason on standard error; 2, a wrong
//! command line.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use fairpace_fuzz::{Corpus, TARGETS, Target, add};

/// Writes the archive of a target's inputs, crates/fuzz/corpus/TARGET.tar.gz. `tar -xzf` unpacks it.
#[derive(Debug, Parser)]
#[command(name = "corpus")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Adds inputs, under the names of their files: names that say what an input showed.
    Add {
        #[arg(value_parser = PossibleValuesParser::new(TARGETS.map(|target| target.name)))]
        target: String,
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Replaces all inputs by the files of a folder.
    Pack {
        #[arg(value_parser = PossibleValuesParser::new(TARGETS.map(|target| target.name)))]
        target: String,
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let (Command::Add { target, .. } | Command::Pack { target, .. }) = &command;
    let archive = Target::by_name(target).expect("clap takes names of targets only").archive();
    let written = match &command {
        Command::Add { files, .. } => add(&archive, files),
        Command::Pack { folder, .. } => {
            Corpus::of_folder(folder).and_then(|corpus| corpus.write(&archive).map(|()| corpus))
        }
    };
    match written {
        Ok(corpus) => {
            println!("{}: {} inputs", archive.display(), corpus.inputs.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::FAILURE
        }
    }
}
